"""Recorded encoders that other experiments compare: what a row names, and what its encoders give the items of tests."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field
from sentlab.data import Corpus
from sentlab.evaluation import Evaluation, gold_of
from sentlab.evaluation.mining import Setup

from experiments.peers import load
from experiments.probes import evaluate
from experiments.records import Notes, Typed, alone, get, read_items, trained_by, write_items
from experiments.run import RunRecord, RunSettings, fingerprint_now
from experiments.search import runs_of
from experiments.significance import items_of


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
    if isinstance(record, RunRecord):
        return record.settings
    settings: RunSettings = record.planned(row.where)[0]
    return settings


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
    run: RunRecord,
    pooling: str | None,
    test: TestSettings,
    corpus: Corpus[Any],
    max_length: int,
    *,
    chosen: np.ndarray | slice = slice(None),
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
        encoder = load({**there(run), "max_length": max_length} | ({"pooling": pooling} if pooling else {}))
        items = evaluate(encoder, corpus, setup=test.setup, progress=False).items
        if correlation == "spearman":
            items = np.unique(items, return_inverse=True)[1]  # a quarter of the bytes, and nothing is lost
        with alone(get(run.home, run.folder) if run.home else run):
            write_items(path, {name: items})
    items = items.astype(float)
    return Evaluation({}, items[chosen], None if gold is None else gold[chosen], correlation)


def score(
    test: TestSettings, rows: Mapping[str, tuple[RowSettings, list[RunRecord]]], max_length: int, notes: Notes
) -> tuple[dict[str, list[Evaluation]], list[Hashable] | None]:
    """Return what the encoders of each row give the items of a test, and what these items are (`items_of`).

    Items whose pair is in the dev split of `test.without` are left out. ValueError where a row has no score, as where
    all items get the same value.
    """
    corpus = notes.load(test.corpus, "test")
    chosen: np.ndarray | slice = slice(None)
    if test.without:
        left_out, items = items_of(notes.load(test.without, "dev")), items_of(corpus)
        if left_out is None or items is None:
            raise ValueError(f"{test}: only pairs with scores can be left out, and only of such pairs")
        seen = set(left_out)
        chosen = np.flatnonzero([item not in seen for item in items])
    scored = {}
    for name, (row, runs) in rows.items():
        scored[name] = [kept_evaluation(run, row.pooling, test, corpus, max_length, chosen=chosen) for run in runs]
        if not np.isfinite([seed.score() for seed in scored[name]]).all():
            raise ValueError(f"{name} on {test}: all items get the same value, which has no score: leave it out")
    return scored, items_of(corpus, chosen)
