"""Ranking questions by cosine: retrieval from a corpus, reranking of given candidates, and nearest texts to look at.

PaSeR (Wu and Zhao 2022), sections 4.1 and 4.4 and Table 3: on Quora the second questions of all pairs are the corpus
and the first questions with a duplicate are the queries; on AskUbuntu each query brings 20 candidates. Rankings are
exact. Cosines are rounded to nine decimals, so equal vectors tie in whatever order a matrix product adds up.

What the paper leaves open, and what is done here:

- A question that occurs in the corpus several times is there once. Several relevant questions for a query are usual.
- The query's own text in the corpus comes first for every encoder and tells nothing: it is left out of the ranking of
  that query. A query without any other relevant text is left out, and counted.
- A tie counts against the encoder: texts that are not relevant come before relevant ones of the same cosine.
- MAP is over the full ranking, MRR is cut at 10. With one relevant text for a query such a MAP exceeds MRR@10 by 1/11
  at most. Table 3 has 72.15 beside 32.50 for BERT, a distance that takes about 14 relevant texts for a query: its MAP
  on Quora must be another quantity. MRR@10 is the one to compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sentlab import metrics
from sentlab.data.rows import Corpus, DuplicateQuestion, RankingQuery
from sentlab.encoder.inference import strings
from sentlab.evaluation.sts import Evaluation, Rows, TextEncoder, encode_groups, one_corpus

COSINES = 2**24  # in memory at once, 128 MB of them
ROWS = 4096  # of the corpus, scaled to length 1 at once
STEPS = 10**9  # cosines are whole multiples of 1 / STEPS
PLACES = 2**31  # more than a corpus has texts, and STEPS * PLACES fits into 63 bits
AT = 10  # where the reciprocal rank is cut


def evaluate_retrieval(
    encoder: TextEncoder, corpus: Rows = "quora", *, folder: str | Path | None = None, progress: bool | None = None
) -> Evaluation:
    """Search a corpus of DuplicateQuestion rows with those that have a duplicate in it (PaSeR, Table 3, QQP).

    Arguments are as in `evaluate_sts`, for one corpus. A query with no relevant text in the first ten has MRR@10 0.
    """
    corpus = one_corpus(corpus, DuplicateQuestion, folder=folder)
    if any(row.duplicate is not None and not row.duplicate.strip() for row in corpus):
        raise ValueError(f"{corpus.name} has a blank duplicate; where there is none it is None")
    texts = list(dict.fromkeys(row.question if row.duplicate is None else row.duplicate for row in corpus))
    place = {text: i for i, text in enumerate(texts)}
    duplicates: dict[str, set[str]] = {}  # of each question
    for row in corpus:
        if row.duplicate is not None:
            duplicates.setdefault(row.question, set()).add(row.duplicate)
    queries = [query for query, others in duplicates.items() if others != {query}]
    relevant = [[place[text] for text in duplicates[query] - {query}] for query in queries]
    same_text = [[place[query]] if query in place else [] for query in queries]
    vectors, searched = encode_groups(encoder, queries, texts, progress=progress)  # (Q, D), (N, D)
    places = relevant_places(vectors, searched, relevant, same_text)
    return ranking_scores(corpus, places, {"query whose own text alone is relevant": len(duplicates) - len(queries)})


def evaluate_reranking(
    encoder: TextEncoder, corpus: Rows = "askubuntu", *, folder: str | Path | None = None, progress: bool | None = None
) -> Evaluation:
    """Rank the given candidates of each query (PaSeR, Table 3, AskUbuntu).

    Queries without a relevant candidate are left out and counted, as is the custom on AskUbuntu; those to which all
    candidates are relevant are kept. The arguments are those of `evaluate_retrieval`, of RankingQuery rows.
    """
    corpus = one_corpus(corpus, RankingQuery, folder=folder)
    if any(len(row.relevant) != len(row.candidates) for row in corpus):
        raise ValueError(f"{corpus.name}: `relevant` must have True or False for each of the candidates")
    rows = [row for row in corpus if any(row.relevant)]
    groups = [row.candidates for row in rows]
    queries, *candidates = encode_groups(encoder, [row.query for row in rows], *groups, progress=progress)
    places = []
    for row, query, texts in zip(rows, queries, candidates, strict=True):  # query (D,), texts (N, D)
        places += relevant_places(query[None], texts, [np.flatnonzero(row.relevant).tolist()])
    return ranking_scores(corpus, places, {"query without a relevant candidate": len(corpus) - len(rows)})


def nearest(
    encoder: TextEncoder, queries: Sequence[str], corpus: Sequence[str], k: int = 3, *, progress: bool | None = None
) -> pd.DataFrame:
    """Find the k texts nearest to each query by cosine, to be looked at (PaSeR, Table 6).

    Repeated queries and texts count once, and a query never finds its own text. Rows are named by `query` and `rank`
    (from 1), with the columns `text` and `cosine`. `pd.concat({"a": ..., "b": ...}, axis=1)` puts two side by side.

    Example:
        >>> nearest(encoder, ["He plays a guitar."], ["The guitar is old.", "It rains."], k=1)  # doctest: +SKIP
    """
    queries, texts = list(dict.fromkeys(strings(queries))), list(dict.fromkeys(strings(corpus)))
    vectors, searched = encode_groups(encoder, queries, texts, progress=progress)
    cosines, places = top_k(vectors, searched, min(k + 1, len(texts)))  # one more, as it may be the query's own text
    rows = []
    for query, of_query, best in zip(queries, cosines.tolist(), places.tolist(), strict=True):
        others = [(texts[i], cosine) for i, cosine in zip(best, of_query, strict=True) if texts[i] != query][:k]
        rows += [(query, rank, text, cosine) for rank, (text, cosine) in enumerate(others, 1)]
    return pd.DataFrame(rows, columns=["query", "rank", "text", "cosine"]).set_index(["query", "rank"])


def top_k(queries: Any, corpus: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k corpus rows (N, D) with the highest cosine to each query (Q, D), best first; of equals the first.

    Returns cosines (Q, k), float64 rounded to nine decimals, and the rows they belong to (Q, k).
    """
    queries, corpus = metrics.as_rows(queries), metrics.as_rows(corpus)
    cosines, places = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
    for rows, steps in _blocks(queries, corpus):
        # one number that sorts by cosine and then by place: no two are equal, so partitions are unambiguous
        keys = steps.astype(np.int64) * PLACES + (PLACES - 1 - np.arange(len(corpus)))
        best = np.sort(np.partition(keys, -k, axis=1)[:, -k:], axis=1)[:, ::-1]  # (c, k)
        multiples, rest = np.divmod(best, PLACES)
        cosines[rows], places[rows] = multiples / STEPS, PLACES - 1 - rest
    return cosines, places


def relevant_places(
    queries: Any, corpus: Any, relevant: Sequence[Sequence[int]], ignored: Sequence[Sequence[int]] | None = None
) -> list[np.ndarray]:
    """Find the places, from 1 and ascending, that the relevant rows of each query (Q, D) take in the corpus (N, D).

    Of equal cosines, rows that are not relevant come first. Nothing is sorted: we count the rows before a relevant one.
    `relevant` are different rows for each query, and `ignored` other ones that are left out of its ranking.
    """
    queries, corpus = metrics.as_rows(queries), metrics.as_rows(corpus)
    ignored = ignored or [()] * len(queries)
    places = []
    for rows, steps in _blocks(queries, corpus):
        for cosines, wanted, skipped in zip(steps, relevant[rows], ignored[rows], strict=True):  # cosines (N,)
            of_wanted = cosines[[*wanted]]  # (R,), a copy
            cosines[[*wanted, *skipped]] = -np.inf
            before = (cosines >= of_wanted[:, None]).sum(1)  # of the rows that are not relevant
            places.append(np.sort(before) + np.arange(1, len(before) + 1))  # j - 1 relevant ones are before the j-th
    return places


def ranking_scores(corpus: Corpus[Any], places: Sequence[np.ndarray], lost: dict[str, int]) -> Evaluation:
    """Average over the queries, x 100; `places` tells for each query which places, from 1, hold a relevant text."""
    flags = [np.bincount(of_query)[1:] for of_query in places]  # to the last relevant one is far enough
    precisions = 100 * np.array([metrics.average_precision(ranking) for ranking in flags])
    mrr = 100 * float(np.mean([metrics.reciprocal_rank(ranking, AT) for ranking in flags]))
    scores = {f"{corpus.name} map": float(precisions.mean()), f"{corpus.name} mrr@{AT}": mrr}
    return Evaluation(scores, precisions, None, None, {**corpus.left_out, **{why: n for why, n in lost.items() if n}})


def _blocks(queries: np.ndarray, corpus: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Some queries at a time, and their cosines with the whole corpus as multiples of 1 / STEPS, (c, N)."""
    size = max(1, COSINES // len(corpus))
    for first in range(0, len(queries), size):
        unit = metrics.unit_rows(queries[first : first + size])
        steps = np.empty((len(unit), len(corpus)))
        for start in range(0, len(corpus), ROWS):
            steps[:, start : start + ROWS] = unit @ metrics.unit_rows(corpus[start : start + ROWS]).T
        steps *= STEPS
        yield slice(first, first + len(unit)), np.rint(steps, out=steps)
