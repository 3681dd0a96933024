"""The leaderboard: recorded encoders on one set of tests, and which differences are significant.

    python -m experiments leaderboard book/results/NAME.json ... [--again]

A score is Spearman's correlation x 100 of cosines and gold (all pairs of a set together), Pearson's of phrases in
contexts, the mean average precision of rankings x 100, or the share of labels that are right x 100. Of several seeds it
is the mean. What an encoder gave each item is kept, so that an interrupted run resumes: in `runs/items`, or beside an
encoder of a sweep or search in `items`. The items are enough to compare an encoder that is gone.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentlab.data import Corpus
from sentlab.encoder.storage import locate
from sentlab.evaluation import Evaluation, gold_of, scores_over
from sentlab.files import replacing
from tqdm import tqdm

from experiments import records
from experiments import results_rows as found
from experiments.encoders import encoders_of, items_beside, trained_rows
from experiments.notes import Notes
from experiments.probes import evaluate
from experiments.records import ITEMS, LeaderboardRecord
from experiments.settings_rows import TestSettings
from experiments.significance import Drawn, estimate, holm, items_of, resample
from experiments.static import WORDS, load

KEPT = Path("runs/items")


def leaderboard(path: Path) -> LeaderboardRecord:
    """Score all rows on all tests, compare them, and write that into the record.

    Raises:
        FileNotFoundError: an encoder or a corpus is not there; says how to get it.
        ValueError: a row has no score on a test.
    """
    record, notes, began = records.read_as(LeaderboardRecord, path), Notes(), time.monotonic()
    settings = record.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    tests = {str(test): test for column in settings.columns.values() for test in column}
    corpora = {name: notes.load(name, "test") for name in dict.fromkeys(test.corpus for test in tests.values())}
    kept = {name: kept_places(test, corpora[test.corpus], notes) for name, test in tests.items()}
    scored: dict[str, dict[str, list[Evaluation]]] = {name: {} for name in tests}
    for row, of_row in tqdm(settings.rows.items(), desc="rows", unit=" rows"):
        sources = encoders_of(of_row, path, or_items=True)
        for name, test in tests.items():
            corpus = corpora[test.corpus]
            asked = of_row.pooling, test, corpus, settings.max_length
            scored[name][row] = [kept_evaluation(source, *asked, chosen=kept[name]) for source in sources]
    scores = {
        name: {row: np.round(finite(seeds, f"{path}: {row} on {name}"), 2).tolist() for row, seeds in rows.items()}
        for name, rows in scored.items()
    }
    random, columns, trained = np.random.default_rng(settings.seed), {}, trained_rows(settings.rows, path)
    for column, own in tqdm(settings.columns.items(), desc="resample", unit=" columns"):
        parts = [scored[str(test)] for test in own]
        items = [items_of(corpora[test.corpus], kept[str(test)]) for test in own]
        drawn = resample(parts, settings.resamples, random, trained, items=items)
        columns[column] = compare_rows(drawn, settings.beside)
    record.results = found.LeaderboardResults(columns=columns, tests=scores)
    record.provenance = notes.provenance(records.command_of(record, path), time.monotonic() - began)
    record.save(path)
    return record


def compare_rows(drawn: Mapping[str, Drawn], beside: Sequence[str] = ()) -> found.BoardColumn:
    """Compute the mean, spread and interval of each row, and compare every two rows.

    Holm's method adjusts the p-values of a column for all pairs of rows, since the scores themselves say which row is
    the best one. With R resamples and n pairs no p is below 2n / (R + 1).

    Args:
        drawn: the rows, from one `resample`.
        beside: rows that are no candidates for the best.
    """
    best = max((row for row in drawn if row not in beside), key=lambda row: drawn[row].seeds.mean())
    pairs = list(combinations(drawn, 2))
    estimates = [estimate(drawn[row], drawn[other]) for row, other in pairs]
    differences: dict[str, dict[str, found.Apart]] = {row: {} for row in drawn}
    for (row, other), apart, p in zip(pairs, estimates, holm([one.p for one in estimates]), strict=True):
        low, high = (None if end is None else round(end, 2) for end in (apart.low, apart.high))
        differences[row][other] = found.Apart(value=round(apart.value, 2), low=low, high=high, p=rounded_p(p))
    column = found.BoardColumn(rows={}, best=best, differences=differences)
    rows = {}
    for row, own in drawn.items():
        score = estimate(own)
        values = {"score": score.value, "low": score.low, "high": score.high}
        if len(own.seeds) > 1:
            values["spread"] = float(own.seeds.std(ddof=1))
        rounded: dict[str, Any] = {name: None if value is None else round(value, 2) for name, value in values.items()}
        if row != best:
            gap = column.between(row, best)
            rounded |= {"difference": gap.value, "p": gap.p}
        rows[row] = found.BoardRow(**rounded)
    return column.model_copy(update={"rows": rows})


def finite(seeds: Sequence[Evaluation], what: str) -> np.ndarray:
    """Return the score of each seed.

    Args:
        what: names them in the error.

    Raises:
        ValueError: a score is not a finite number, with which nothing can be compared.
    """
    scores = scores_over(seeds)
    if not np.isfinite(scores).all():
        lost = scores[~np.isfinite(scores)][0]
        raise ValueError(f"{what}: the score is {lost}, as where all items get the same value: leave it out")
    return scores


def kept_places(test: TestSettings, corpus: Corpus[Any], notes: Notes) -> np.ndarray | slice:
    """Find the items of a test that are scored: those whose pair the dev split of `test.without` does not have."""
    if test.without is None:
        return slice(None)
    known, own = items_of(notes.load(test.without, "dev")), items_of(corpus)
    if known is None or own is None:
        raise ValueError(f"{test}: only pairs with scores can be left out, and only of such pairs")
    left_out = set(known)
    return np.flatnonzero([item not in left_out for item in own])


def rounded_p(p: float | None) -> float | None:
    """Round a p-value as a record keeps it."""
    return None if p is None else round(p, 5)


def kept_evaluation(
    source: Mapping[str, Any],
    pooling: str | None,
    test: TestSettings,
    corpus: Corpus[Any],
    max_length: int,
    *,
    chosen: np.ndarray | slice = slice(None),
) -> Evaluation:
    """Load or compute what an encoder gives each item of a test; its rank where the score only counts ranks.

    Args:
        chosen: which items to return. Those of the whole test are computed and kept.
    """
    name = f"{pooling or source.get('pooling', 'own')}-{max_length}-{test.whole}-{corpus.fingerprint}.npy"
    path = kept_items(source) / name.replace(" ", "-")
    gold, correlation = gold_of(corpus)
    if not path.exists():
        if path.parent.name == ITEMS and not Path(source["source"]).is_dir():
            raise FileNotFoundError(
                f"{path.parent} has no {test} for {pooling or 'its own pooling'}, and the encoder is gone: "
                f"train it again with `python -m experiments run --again {path.parents[1]}.json`"
            )
        encoder = load({**source, "max_length": max_length} | ({"pooling": pooling} if pooling else {}))
        items = evaluate(encoder, corpus, setup=test.setup, progress=False).items
        if correlation == "spearman":
            ranks = np.unique(items, return_inverse=True)[1]
            items = ranks.astype(np.min_scalar_type(ranks.max()))  # a quarter of the bytes, and nothing is lost
        with replacing(path) as temporary, temporary.open("wb") as stream:
            np.save(stream, items)
    items = np.load(path, allow_pickle=False).astype(float)
    return Evaluation({}, items[chosen], None if gold is None else gold[chosen], correlation)


def kept_items(source: Mapping[str, Any]) -> Path:
    """Return the folder that keeps what an encoder gives the items of tests."""
    if beside := items_beside(source):
        return beside
    digest = hashlib.sha256(str(source["source"]).encode())
    if source["source"] == WORDS:
        return KEPT / digest.hexdigest()[:16]
    place = Path(locate(source["source"]))
    for file in sorted(file for file in place.rglob("*") if file.is_file()):
        digest.update(file.relative_to(place).as_posix().encode() + file.read_bytes())
    return KEPT / digest.hexdigest()[:16]
