"""Recorded encoders on one set of tests: what a row names, what its encoders give each item, and what differs.

A score is Spearman's correlation x 100 of cosines and gold (all pairs of a set together), Pearson's of phrases in
contexts, the mean average precision of rankings x 100, or the share of labels that are right x 100. Of several seeds it
is the mean. What an encoder gave each item is kept beside its record, so that an interrupted run resumes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveInt, model_validator
from sentlab.data import Corpus
from sentlab.evaluation import Evaluation, gold_of
from sentlab.evaluation.mining import Setup
from tqdm import tqdm

from experiments.peers import load
from experiments.probes import evaluate
from experiments.records import Notes, Number, Record, Typed, alone, get, read_items, trained_by, write_items
from experiments.run import RunRecord, RunSettings, fingerprint_now
from experiments.search import runs_of
from experiments.significance import Drawn, benjamini_hochberg, estimate, items_of, resample

EVERY = slice(None)  # items


class RowSettings(Typed):
    """A recorded encoder. Of a sweep every run counts as a seed."""

    record: str  # its name
    # of a sweep, setting -> value: only the runs with these values count
    where: dict[str, Any] = Field(default_factory=dict)
    pooling: str | None = None  # null is the encoder's own

    @property
    def trained(self) -> str:
        """Which runs it is of."""
        return " ".join([self.record, *(f"{name}={value}" for name, value in self.where.items())])

    def __str__(self) -> str:
        return f"{self.trained} {self.pooling}" if self.pooling else self.trained


class TestSettings(Typed):
    """A test of a leaderboard: a corpus, and for phrases in contexts a set-up."""

    __test__ = False  # no test of pytest

    corpus: str
    setup: Setup | None = None
    # a corpus. The pairs of its `dev` split are left out of the test: they may have chosen settings.
    without: str | None = None

    @property
    def whole(self) -> str:
        """Its name with nothing left out."""
        return f"{self.corpus} {self.setup}" if self.setup else self.corpus

    def __str__(self) -> str:
        return f"{self.whole} without {self.without} dev" if self.without else self.whole


def settings_of(row: RowSettings, place: Path) -> RunSettings:
    """Return the settings of the first run of a row, with the values that a search has chosen."""
    record = get(row.record, place)
    return record.settings if isinstance(record, RunRecord) else record.planned(row.where)[0]


def encoders_of(row: RowSettings, place: Path) -> list[RunRecord]:
    """Return the runs whose encoders a row names: one, or one for each run of a sweep or search."""
    runs = runs_of(get(row.record, place), row.where)
    untrained = [run for run in runs if run.settings.method is None]
    if untrained and len(untrained) < len(runs):
        raise ValueError(f"{row.record} has trained and untrained runs: choose one kind by `where`")
    if untrained:  # several runs of one encoder count once
        runs = [run for i, run in enumerate(runs) if run.encoder not in [other.encoder for other in runs[:i]]]
    for run in runs:
        run.check_weights()
    return runs


def there(run: RunRecord) -> dict[str, Any]:
    """Return what `load` takes for the encoder of a run. FileNotFoundError where a trained one was not kept."""
    if run.settings.method is not None and not Path(run.encoder["source"]).is_dir():
        again = f"run it again, of a sweep or search with `keep` in its settings: {run.command} --again"
        raise FileNotFoundError(f"the encoder of {run.name} is not in {run.encoder['source']}; {again}")
    return run.encoder


def trained_rows(rows: Mapping[str, RowSettings], place: Path) -> dict[str, str]:
    """Return the rows that depend on a seed, perhaps that of the encoder that they begin with, each with its runs."""
    trained = {}
    for name, row in rows.items():
        first = settings_of(row, place)
        if (first.method is not None and first.method.name != "Whitening") or trained_by(first.encoder.source):
            trained[name] = row.trained
    return trained


def kept_evaluation(
    run: RunRecord, pooling: str | None, test: TestSettings, corpus: Corpus[Any], max_length: int, chosen: Any = EVERY
) -> Evaluation:
    """Read or compute what an encoder gives chosen items of a test; its rank where the score only counts ranks.

    All items are kept beside the run's record. They are enough to compare an encoder that is gone.
    """
    path, begin = run.items
    if run.settings.method is None:  # whatever encoder its settings name now
        source = run.encoder["source"]
        begin += f"{fingerprint_now(source) or source}-"
    name = f"{pooling or run.encoder.get('pooling', 'own')}-{max_length}-{test.whole}-{corpus.fingerprint}"
    name = begin + name.replace(" ", "-")
    gold, correlation = gold_of(corpus)
    items = read_items(path, name)
    if items is None:
        with alone(get(run.home, run.folder) if run.home else run):
            encoder = load({**there(run), "max_length": max_length} | ({"pooling": pooling} if pooling else {}))
            items = evaluate(encoder, corpus, setup=test.setup, progress=False).items
            if correlation == "spearman":
                items = np.unique(items, return_inverse=True)[1]  # a quarter of the bytes, and nothing is lost
            write_items(path, {name: items})
    items = items.astype(float)
    return Evaluation({}, items[chosen], None if gold is None else gold[chosen], correlation)


def score(
    test: TestSettings, rows: Mapping[str, tuple[RowSettings, list[RunRecord]]], max_length: int, notes: Notes
) -> tuple[dict[str, list[Evaluation]], list[Hashable] | None]:
    """Return what the encoders of each row give the items of a test, and what these items are (`items_of`).

    Hard pairs are chosen from all pairs. Items whose pair is in the dev split of `test.without` are left out.
    ValueError where a row has no score, as where all items get the same value.
    """
    corpus = notes.load(test.corpus, "test")
    chosen: np.ndarray | slice = slice(None)
    if test.corpus.endswith("-hard"):
        hard, test = set(corpus), test.model_copy(update={"corpus": test.corpus.removesuffix("-hard")})
        corpus = notes.load(test.corpus, "test")
        chosen = np.flatnonzero([pair in hard for pair in corpus])
    if test.without:
        left_out, items = items_of(notes.load(test.without, "dev")), items_of(corpus)
        if left_out is None or items is None or test.setup or not isinstance(chosen, slice):
            raise ValueError(f"{test}: only pairs with scores can be left out, and only of all such pairs")
        seen = set(left_out)
        chosen = np.flatnonzero([item not in seen for item in items])
    scored = {}
    for name, (row, runs) in rows.items():
        scored[name] = [kept_evaluation(run, row.pooling, test, corpus, max_length, chosen=chosen) for run in runs]
        if not np.isfinite([seed.score() for seed in scored[name]]).all():
            raise ValueError(f"{name} on {test}: all items get the same value, which has no score: leave it out")
    return scored, items_of(corpus, chosen)


class LeaderboardSettings(Typed):
    """Recorded encoders on the same tests, with intervals and p over items and seeds."""

    rows: dict[str, RowSettings]  # name -> record and pooling
    columns: dict[str, Annotated[list[TestSettings], Field(min_length=1)]]  # name -> tests, whose scores are averaged
    # rows that are shown and tested, but are no candidates for the best
    beside: list[str] = Field(default_factory=list)
    max_length: PositiveInt  # tokens of a text that every encoder reads
    resamples: PositiveInt  # how often items are drawn, the same ones for all rows
    seed: int  # of what is drawn
    threads: PositiveInt | None = None  # CPU threads

    @model_validator(mode="after")
    def _check(self) -> LeaderboardSettings:
        if unknown := set(self.beside) - set(self.rows):  # such a row would compete for the best, in silence
            raise ValueError(f"beside names {sorted(unknown)}, and there are no such rows")
        return self


class Apart(Typed):
    """How much one row is above another, with the 95% interval and adjusted p; None where one seed cannot say."""

    value: Number
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None


class BoardRow(Typed):
    """A row of a column: mean over tests and seeds with 95% interval, spread over seeds, difference from the best."""

    score: Number
    low: Number | None = None
    high: Number | None = None
    spread: Number | None = None
    difference: Number | None = None
    p: Number | None = None  # of the difference


class BoardColumn(Typed):
    rows: dict[str, BoardRow]  # row -> score and interval
    best: str  # the row with the highest score
    differences: dict[str, dict[str, Apart]]  # row -> each later row -> how much the first is above the second

    def between(self, a: str, b: str) -> Apart:
        """Return how much row `a` is above row `b`."""
        if b in self.differences[a]:
            return self.differences[a][b]
        apart = self.differences[b][a]
        low, high = (None if end is None else -end for end in (apart.high, apart.low))
        return Apart(value=-apart.value, low=low, high=high, p=apart.p)


class LeaderboardResults(Typed):
    columns: dict[str, BoardColumn]
    tests: dict[str, dict[str, list[Number]]]  # test -> row -> the score of each seed


class LeaderboardRecord(Record):
    settings: LeaderboardSettings
    results: LeaderboardResults | None = None


def leaderboard(record: LeaderboardRecord) -> LeaderboardRecord:
    """Score all rows on all tests, compare them, and write that into the record."""
    notes, settings, place = Notes(record.settings.threads), record.settings, record.folder
    runs = {name: (row, encoders_of(row, place)) for name, row in settings.rows.items()}
    tests = {str(test): test for column in settings.columns.values() for test in column}
    scored = {name: score(test, runs, settings.max_length, notes) for name, test in tqdm(tests.items(), desc="tests")}
    scores = {
        name: {row: np.round([seed.score() for seed in seeds], 2).tolist() for row, seeds in rows.items()}
        for name, (rows, _) in scored.items()
    }
    random, columns, trained = np.random.default_rng(settings.seed), {}, trained_rows(settings.rows, place)
    for name, column in tqdm(settings.columns.items(), desc="resample", unit=" columns"):
        parts, items = zip(*(scored[str(test)] for test in column), strict=True)
        columns[name] = compare_rows(resample(parts, settings.resamples, random, trained, items=items), settings.beside)
    return record.finish(LeaderboardResults(columns=columns, tests=scores), notes)


def compare_rows(drawn: Mapping[str, Drawn], beside: Sequence[str] = ()) -> BoardColumn:
    """Compute the mean, spread and interval of each row of one `resample`, and compare every two rows.

    The method of Benjamini and Hochberg adjusts the p-values of a column for all pairs of rows, since the scores
    themselves say which row is the best one. Rows `beside` are no candidates.
    """
    best = max((row for row in drawn if row not in beside), key=lambda row: drawn[row].seeds.mean())
    pairs = list(combinations(drawn, 2))
    estimates = [estimate(drawn[row], drawn[other]) for row, other in pairs]
    differences: dict[str, dict[str, Apart]] = {row: {} for row in drawn}
    for (row, other), apart, p in zip(pairs, estimates, benjamini_hochberg([one.p for one in estimates]), strict=True):
        value, low, high = apart.rounded()
        differences[row][other] = Apart(value=value, low=low, high=high, p=None if p is None else round(p, 5))
    column = BoardColumn(rows={}, best=best, differences=differences)
    for row, of_row in drawn.items():
        score, low, high = estimate(of_row).rounded()
        cells: dict[str, Any] = {"score": score, "low": low, "high": high}
        if len(of_row.seeds) > 1:
            cells["spread"] = round(float(of_row.seeds.std(ddof=1)), 2)
        if row != best:
            gap = column.between(row, best)
            cells |= {"difference": gap.value, "p": gap.p}
        column.rows[row] = BoardRow(**cells)
    return column
