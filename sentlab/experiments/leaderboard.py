"""The leaderboard: recorded encoders on one set of tests, and how much of a difference other items might undo.

    python -m sentlab leaderboard book/results/NAME.json ... [--again]

A score is Spearman's correlation x 100 of cosines and gold (all pairs of a set together), Pearson's of phrases in
contexts, the mean average precision of rankings x 100, or the share of labels that are right x 100. Of several seeds it
is the mean. What an encoder gave each item is kept in `runs/items`, so that an interrupted run resumes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from sentlab import data
from sentlab.data import Corpus, DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair
from sentlab.data.rows import PhraseInContext
from sentlab.encoder import Encoder
from sentlab.encoder.files import locate
from sentlab.evaluation.mining import evaluate_mining
from sentlab.evaluation.probes import evaluate_identification
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval
from sentlab.evaluation.sts import pair_cosines
from sentlab.evaluation.words import evaluate_similarity
from sentlab.experiments import records
from sentlab.experiments import results as found
from sentlab.experiments.bootstrap import Items, interval, means, p_value, resample
from sentlab.experiments.encoders import encoders_of
from sentlab.experiments.records import LeaderboardRecord, Notes
from sentlab.experiments.settings import TestSettings
from sentlab.files import replacing

KEPT = Path("runs/items")


def leaderboard(path: Path) -> LeaderboardRecord:
    """Score all rows on all tests, compare them, and write that into the record.

    Raises:
        FileNotFoundError: an encoder or a corpus is not there; says how to get it.
    """
    record, notes, began = records.read_as(LeaderboardRecord, path), Notes(), time.monotonic()
    settings = record.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    tests = {str(test): test for column in settings.columns.values() for test in column}
    corpora = {name: notes.load(name, "test") for name in dict.fromkeys(test.corpus for test in tests.values())}
    items: dict[str, dict[str, Items]] = {name: {} for name in tests}
    for row, of_row in tqdm(settings.rows.items(), desc="rows", unit=" rows"):
        sources = encoders_of(of_row.record, path)
        for name, test in tests.items():
            corpus = corpora[test.corpus]
            values = [kept_items(source, of_row.pooling, test, corpus, settings.max_length) for source in sources]
            rank = not isinstance(corpus[0], PhraseInContext)
            items[name][row] = Items(np.stack(values, axis=1), gold(corpus), rank)
    random, columns = np.random.default_rng(settings.seed), {}
    for column, own in tqdm(settings.columns.items(), desc="resample", unit=" columns"):
        parts = [items[str(test)] for test in own]
        columns[column] = compare_rows(parts, resample(parts, settings.resamples, random), settings.beside)
    scores = {name: {row: np.round(own.scores(), 2).tolist() for row, own in items[name].items()} for name in tests}
    record.results = found.LeaderboardResults(columns=columns, tests=scores)
    record.provenance = notes.provenance(f"python -m sentlab leaderboard {path}", time.monotonic() - began)
    record.save(path)
    return record


def compare_rows(
    tests: Sequence[Mapping[str, Items]], drawn: Mapping[str, np.ndarray], beside: Sequence[str] = ()
) -> found.BoardColumn:
    """Mean, spread, interval and comparison with the best of each row, over some tests.

    Args:
        tests: each row -> its items.
        drawn: of them, by `resample`.
        beside: rows that are no candidates for the best.
    """
    seeds = means(tests)
    best = max((row for row in drawn if row not in beside), key=lambda row: seeds[row].mean())
    rows = {}
    for row, own in seeds.items():
        low, high = interval(drawn[row])
        values = {"score": own.mean(), "low": low, "high": high}
        if len(own) > 1:
            values["spread"] = own.std(ddof=1)
        if row != best:
            values["difference"] = own.mean() - seeds[best].mean()
        rounded = {name: round(float(value), 2) for name, value in values.items()}
        rows[row] = found.BoardRow(**rounded, p=p_value(drawn, row, best) if row != best else None)
    p = {row: {other: p_value(drawn, row, other) for other in list(drawn)[i + 1 :]} for i, row in enumerate(drawn)}
    return found.BoardColumn(rows=rows, best=best, p=p)


def kept_items(
    source: Mapping[str, Any], pooling: str | None, test: TestSettings, corpus: Corpus[Any], max_length: int
) -> np.ndarray:
    """What an encoder gives each item of a test, (n,): from `runs/items`, or computed and put there."""
    place, digest = Path(locate(source["source"])), hashlib.sha256(str(source["source"]).encode())
    for file in sorted(file for file in place.rglob("*") if file.is_file()):
        digest.update(file.relative_to(place).as_posix().encode() + file.read_bytes())
    used = f"{digest.hexdigest()[:16]}-{pooling or source.get('pooling', 'own')}-{max_length}"
    path = KEPT / used / f"{str(test).replace(' ', '-')}-{corpus.fingerprint}.npy"
    if not path.exists():
        encoder = Encoder.from_pretrained(**{**source, "max_length": max_length})
        encoder.pooling = pooling or encoder.pooling
        with replacing(path) as temporary, temporary.open("wb") as stream:
            np.save(stream, per_item(encoder, test, corpus))
    return np.load(path, allow_pickle=False)


def per_item(encoder: Encoder, test: TestSettings, corpus: Corpus[Any]) -> np.ndarray:
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
        return evaluate_mining(encoder, corpus, test.setup or "spans").similarities
    return evaluate_similarity(encoder, corpus).cosines[corpus.name]


def gold(corpus: Corpus[Any]) -> np.ndarray | None:
    """(n,), or None for rankings and labels, whose items are scored one by one."""
    if isinstance(corpus[0], DuplicateQuestion | RankingQuery | LabelledPair):
        return None
    return np.array([row.score for row in corpus])
