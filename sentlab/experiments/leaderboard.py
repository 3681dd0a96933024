"""The leaderboard: recorded encoders on one set of tests, and how much of a difference other items might undo.

    python -m sentlab.experiments.leaderboard book/results/NAME.json ... [--again]

Settings:
    rows        name -> [record, pooling]: a record of `python -m sentlab.experiments.run`, or a sweep over seeds whose encoders are
                kept (see `sentlab.experiments.compare`); the pooling is the encoder's own where it is null
    columns     name -> tests, whose scores are averaged: corpora by name, of phrases in contexts with a set-up behind
                it, such as `stsb-context spans`
    beside      names of rows that are shown and tested, and with which no other is compared
    max_length  tokens of a text that every encoder reads
    picture     `file` and `columns`: where to draw which columns; null: nowhere
    resamples   how often items are drawn anew: in each test, and the same ones for all rows
    seed        of what is drawn
    threads     CPU threads

A score is Spearman's correlation x 100 of cosines and gold (all pairs of a set together), Pearson's of phrases in
contexts, the mean average precision of rankings x 100, or the share of labels that are right x 100. Of several seeds it
is the mean. What an encoder gave each item is kept in `runs/leaderboard`, so that a run that was interrupted goes on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata
from tqdm import tqdm

from sentlab import data
from sentlab.data import Corpus, DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair
from sentlab.data.rows import PhraseInContext
from sentlab.encoder import Encoder
from sentlab.encoder.files import locate
from sentlab.evaluation import metrics
from sentlab.evaluation.mining import evaluate_mining
from sentlab.evaluation.probes import evaluate_identification
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval
from sentlab.evaluation.sts import pair_cosines
from sentlab.evaluation.words import evaluate_similarity
from sentlab.experiments import records
from sentlab.experiments.compare import encoders
from sentlab.experiments.run import remember
from sentlab.files import replacing

LEVEL = 0.95  # of the intervals
KEPT = Path("runs/leaderboard")


@dataclass(frozen=True, eq=False)
class Items:
    """What the encoders of a row gave the n items of a test.

    Args:
        values: a cosine, or a score x 100, of each item: (n, S), a column a seed.
        gold: (n,); None where a value is a score by itself.
        rank: whether ranks count, and not values.
    """

    values: np.ndarray
    gold: np.ndarray | None
    rank: bool = True

    def scores(self, drawn: np.ndarray | slice = slice(None)) -> list[float]:
        """x 100, one a seed, over the items that are drawn."""
        values = self.values[drawn].T
        if self.gold is None:
            return [float(column.mean()) for column in values]
        gold = self.gold[drawn]
        if self.rank:  # the gold once for all seeds, which is where a bootstrap's time goes
            values, gold = rankdata(values, axis=1), rankdata(gold)
        return [100 * metrics.pearson(column, gold) for column in values]


def leaderboard(path: Path) -> records.Record:
    """Score all rows on all tests, compare them, and write that into the record.

    `results` is column -> row -> its mean over seeds, their standard deviation, the interval, and the difference from
    the best row with its p. `examples` has `best`: column -> row, `p`: column -> row -> each later row -> p of the two,
    and `tests`: test -> row -> the score of each seed.

    Raises:
        FileNotFoundError: an encoder or a corpus is not there; says how to get it.
    """
    record, began = records.read(path), time.monotonic()
    settings = record.settings
    if settings.get("threads"):
        torch.set_num_threads(settings["threads"])
    tests = list(dict.fromkeys(test for column in settings["columns"].values() for test in column))
    corpora = {name: remember(record, name, "test") for name in dict.fromkeys(test.split()[0] for test in tests)}
    found: dict[str, dict[str, Items]] = {test: {} for test in tests}
    for row, (name, pooling) in tqdm(settings["rows"].items(), desc="rows", unit=" rows"):
        sources = encoders(path.parent / f"{name}.json")
        for test in tests:
            corpus = corpora[test.split()[0]]
            values = [given(source, pooling, test, corpus, settings["max_length"]) for source in sources]
            found[test][row] = Items(np.stack(values, axis=1), gold(corpus), not isinstance(corpus[0], PhraseInContext))
    random, beside = np.random.default_rng(settings["seed"]), settings.get("beside", ())
    record.results = {}  # no column that is asked for no longer
    best: dict[str, str] = {}
    pairs: dict[str, dict[str, dict[str, float]]] = {}
    for column, own in tqdm(settings["columns"].items(), desc="draw", unit=" columns"):
        parts = [found[test] for test in own]
        drawn = resampled(parts, settings["resamples"], random)
        record.results[column], best[column] = column_results(parts, drawn, beside)
        pairs[column] = {row: {b: p_value(drawn, row, b) for b in list(drawn)[i + 1 :]} for i, row in enumerate(drawn)}
    scores = {test: {row: np.round(items.scores(), 2).tolist() for row, items in found[test].items()} for test in tests}
    record.examples = {"best": best, "p": pairs, "tests": scores}
    records.stamp(record, f"python -m sentlab.experiments.leaderboard {path}", time.monotonic() - began)
    record.save(path)
    if picture := settings.get("picture"):
        draw(record, picture["columns"], Path(picture["file"]))
    return record


def draw(record: records.Record, columns: Sequence[str], file: Path) -> None:
    """Some columns as a picture in SVG, the same bytes for the same numbers."""
    from sentlab.report import plots  # brings seaborn, which only this needs

    figure = plots.leaderboard({name: record.results[name] for name in columns}, record.settings.get("beside", ()))
    with replacing(file) as temporary, plots.plt.rc_context({"svg.hashsalt": file.name}):
        figure.savefig(temporary, format="svg", metadata={"Date": None}, bbox_inches="tight")


def resampled(
    tests: Sequence[Mapping[str, Items]], resamples: int, random: np.random.Generator
) -> dict[str, np.ndarray]:
    """Row -> its mean over tests and seeds in each resample, (resamples,).

    Of each test as many items are drawn as it has, with replacement, and the same ones for all rows, so that what makes
    an item easy for two of them cancels out.

    Args:
        tests: each row -> its items, the same rows in all.

    Source: Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation".
    """
    drawn = {row: np.empty(resamples) for row in tests[0]}
    sizes = [len(next(iter(test.values())).values) for test in tests]
    for place in tqdm(range(resamples), desc="resamples", leave=False):
        chosen = [random.integers(n, size=n) for n in sizes]
        for row, values in drawn.items():
            scores = [test[row].scores(own) for test, own in zip(tests, chosen, strict=True)]
            values[place] = np.mean([np.mean(seeds) for seeds in scores])
    return drawn


def p_value(drawn: Mapping[str, np.ndarray], a: str, b: str) -> float:
    """Two-sided p of the difference of two rows: twice the share of resamples in which it has the other sign or none.

    The sample itself counts as a resample, so that p is never 0: Davison and Hinkley (1997), "Bootstrap Methods and
    their Application", section 4.2.
    """
    differences = drawn[a] - drawn[b]
    other = min((differences >= 0).sum(), (differences <= 0).sum())
    return round(min(1.0, 2 * (1 + int(other)) / (1 + len(differences))), 4)


def column_results(
    tests: Sequence[Mapping[str, Items]], drawn: Mapping[str, np.ndarray], beside: Sequence[str] = ()
) -> tuple[dict[str, dict[str, float]], str]:
    """Mean, spread, interval and comparison with the best of each row, over some tests.

    Args:
        tests: each row -> its items.
        drawn: of them, by `resampled`.
        beside: rows that are not looked at for the best.

    Returns:
        Row -> `score`, the mean over tests and seeds; `spread`, the standard deviation of the seeds' means, where there
        are several; `low` and `high`, between which 95% of the resampled scores lie; but for the best row `difference`
        from its score, with `p`. And the best row.
    """
    seeds = {row: np.mean([test[row].scores() for test in tests], axis=0) for row in drawn}
    best = max((row for row in drawn if row not in beside), key=lambda row: seeds[row].mean())
    results = {}
    for row, own in seeds.items():
        low, high = np.quantile(drawn[row], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        values = {"score": own.mean(), "low": low, "high": high}
        if len(own) > 1:
            values["spread"] = own.std(ddof=1)
        if row != best:
            values["difference"] = own.mean() - seeds[best].mean()
        results[row] = {name: round(float(value), 2) for name, value in values.items()}
        if row != best:
            results[row]["p"] = p_value(drawn, row, best)
    return results, best


def given(
    source: Mapping[str, Any], pooling: str | None, test: str, corpus: Corpus[Any], max_length: int
) -> np.ndarray:
    """What an encoder gives each item of a test, (n,): out of `runs/leaderboard`, or made and put there."""
    place, digest = Path(locate(source["source"])), hashlib.sha256(str(source["source"]).encode())
    for file in sorted(file for file in place.rglob("*") if file.is_file()):
        digest.update(file.relative_to(place).as_posix().encode() + file.read_bytes())
    used = f"{digest.hexdigest()[:16]}-{pooling or source.get('pooling', 'own')}-{max_length}"
    path = KEPT / used / f"{test.replace(' ', '-')}-{corpus.fingerprint}.npy"
    if not path.exists():
        encoder = Encoder.from_pretrained(**{**source, "max_length": max_length})
        encoder.pooling = pooling or encoder.pooling
        with replacing(path) as temporary, temporary.open("wb") as stream:
            np.save(stream, per_item(encoder, test, corpus))
    return np.load(path, allow_pickle=False)


def per_item(encoder: Encoder, test: str, corpus: Corpus[Any]) -> np.ndarray:
    """The cosine or the score x 100 of each item, float64 (n,)."""
    kind = corpus[0]
    if isinstance(kind, ScoredPair):
        return pair_cosines(encoder, corpus)
    if isinstance(kind, DuplicateQuestion):
        return evaluate_retrieval(encoder, corpus).precisions
    if isinstance(kind, RankingQuery):
        return evaluate_reranking(encoder, corpus).precisions
    if isinstance(kind, LabelledPair):
        return 100.0 * evaluate_identification(encoder, data.load(corpus.name, "train"), corpus).right
    if isinstance(kind, PhraseInContext):
        return evaluate_mining(encoder, corpus, test.split()[1]).similarities  # type: ignore[arg-type]
    return evaluate_similarity(encoder, corpus).cosines[corpus.name]


def gold(corpus: Corpus[Any]) -> np.ndarray | None:
    """(n,), or None for rankings and labels, whose items are scored one by one."""
    if isinstance(corpus[0], DuplicateQuestion | RankingQuery | LabelledPair):
        return None
    return np.array([row.score for row in corpus])


if __name__ == "__main__":
    records.command_line("sentlab.experiments.leaderboard", __doc__, leaderboard)
