"""Ranking questions by cosine: retrieval from a corpus, reranking of given candidates, and nearest texts to look at.

PaSeR (Wu and Zhao 2022), sections 4.1 and 4.4 and Table 3: on Quora the second questions of all pairs are the corpus
and the first questions with a duplicate are the queries; on AskUbuntu each query brings 20 candidates. Rankings are
exact, with a few blocks of `CHUNK` x `CHUNK` cosines in memory at once. Cosines are rounded to nine decimals, so equal
vectors tie in whatever order a matrix product adds up.

What the paper leaves open, and what is done here:

- A question that occurs in the corpus several times is there once. Several relevant questions for a query are usual.
- The query's own text in the corpus comes first for every encoder and tells nothing: it is left out of the ranking of
  that query, and counted. A query without any other relevant text is left out, and counted.
- A tie counts against the encoder: texts that are not relevant come before relevant ones of the same cosine.
- MAP is over the full ranking, MRR is cut at 10. With one relevant text for a query such a MAP exceeds MRR@10 by 1/11
  at most. Table 3 has 72.15 beside 32.50 for BERT, a distance that takes about 14 relevant texts for a query: its MAP
  on Quora must be another quantity. MRR@10 is the one to compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sentlab import metrics
from sentlab.data.rows import Corpus, DuplicateQuestion, RankingQuery
from sentlab.encoder.inference import checked
from sentlab.evaluation.sts import Result, Rows, TextEncoder, encode_groups, one_corpus

CHUNK = 1024  # rows of queries, and of the corpus, whose cosines are in memory at once: 8 MB of them
STEPS = 10**9  # cosines are whole multiples of 1 / STEPS
AT = 10  # where the reciprocal rank is cut
PLACES = 2**31  # more than a corpus has texts, and STEPS * PLACES fits into 63 bits


@dataclass(frozen=True, repr=False, eq=False)
class RetrievalResult(Result):
    """What `evaluate_retrieval` or `evaluate_reranking` found.

    Args:
        map: mean average precision over the full ranking, x 100.
        mrr: mean reciprocal rank x 100. A query without a relevant text among the first ten counts 0.
        candidates: texts to rank for each query. In reranking it is the mean number.
        own_text: queries whose own text is in the corpus. Their ranking skips it.
        left_out: reason -> number of rows and queries that are not scored.
        precisions: average precision x 100 of each query that was scored, float64 (Q,), in order.
    """

    name: str
    map: float
    mrr: float
    candidates: float
    own_text: int
    left_out: dict[str, int]
    precisions: np.ndarray

    def _row(self) -> tuple[str, dict[str, Any]]:
        counts = {"queries": len(self.precisions), "candidates": self.candidates}
        return self.name, {"MAP": self.map, f"MRR@{AT}": self.mrr, **counts}


def evaluate_retrieval(
    encoder: TextEncoder, corpus: Rows = "quora", *, folder: str | Path | None = None, progress: bool | None = None
) -> RetrievalResult:
    """Search a corpus of DuplicateQuestion rows with those that have a duplicate in it (PaSeR, Table 3, QQP).

    The arguments are those of `evaluate_sts`, with one corpus.
    """
    corpus = one_corpus(corpus, DuplicateQuestion, folder=folder)
    if any(row.duplicate is not None and not row.duplicate.strip() for row in corpus):
        raise ValueError(f"{corpus.name} has a blank duplicate; where there is none it is None")
    texts = corpus_texts(corpus)
    place = {text: i for i, text in enumerate(texts)}
    duplicates: dict[str, set[str]] = {}  # of each question
    for row in corpus:
        if row.duplicate is not None:
            duplicates.setdefault(row.question, set()).add(row.duplicate)
    queries = [query for query, others in duplicates.items() if others != {query}]
    relevant = [[place[text] for text in duplicates[query] - {query}] for query in queries]
    same_text = [[place[query]] if query in place else [] for query in queries]
    vectors, searched = encode_groups(encoder, queries, texts, progress=progress)  # (Q, D), (N, D)
    places = relevant_places(vectors, searched, relevant, ignored=same_text)
    lost = {"query whose own text alone is relevant": len(duplicates) - len(queries)}
    return _result(corpus, places, len(texts), lost, own_text=sum(map(len, same_text)))


def evaluate_reranking(
    encoder: TextEncoder, corpus: Rows = "askubuntu", *, folder: str | Path | None = None, progress: bool | None = None
) -> RetrievalResult:
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
    lost = {"query without a relevant candidate": len(corpus) - len(rows)}
    return _result(corpus, places, float(np.mean([len(row.candidates) for row in rows])), lost)


def nearest(
    encoder: TextEncoder, queries: Sequence[str], corpus: Sequence[str], k: int = 3, *, progress: bool | None = None
) -> pd.DataFrame:
    """Find the k texts nearest to each query by cosine, to be looked at (PaSeR, Table 6).

    Repeated queries and texts count once, and a query never finds its own text.

    Returns:
        Rows named by `query` and `rank` (from 1), with the columns `text` and `cosine`. Tables of two encoders go side
        by side with `pd.concat({"a": ..., "b": ...}, axis=1)`.

    Example:
        >>> nearest(encoder, ["He plays a guitar."], ["The guitar is old.", "It rains."], k=1)  # doctest: +SKIP
    """
    queries, texts = list(dict.fromkeys(checked(queries))), list(dict.fromkeys(checked(corpus)))
    vectors, searched = encode_groups(encoder, queries, texts, progress=progress)
    cosines, places = top_k(vectors, searched, min(k + 1, len(texts)))  # one more, as it may be the query's own text
    rows = []
    for query, of_query, best in zip(queries, cosines.tolist(), places.tolist(), strict=True):
        others = [(texts[i], cosine) for i, cosine in zip(best, of_query, strict=True) if texts[i] != query][:k]
        rows += [(query, rank, text, cosine) for rank, (text, cosine) in enumerate(others, 1)]
    return pd.DataFrame(rows, columns=["query", "rank", "text", "cosine"]).set_index(["query", "rank"])


def corpus_texts(corpus: Corpus[DuplicateQuestion]) -> list[str]:
    """Return the distinct texts that are searched: all duplicates and all distractors, in order."""
    return list(dict.fromkeys(row.question if row.duplicate is None else row.duplicate for row in corpus))


def top_k(queries: Any, corpus: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k corpus rows (N, D) with the highest cosine to each query (Q, D), best first; of equals the first.

    Returns:
        Cosines (Q, k), float64 rounded to nine decimals, and the rows they belong to (Q, k).
    """
    queries, corpus = metrics.as_rows(queries), metrics.as_rows(corpus)
    cosines, places = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
    for start in range(0, len(queries), CHUNK):
        rows = slice(start, start + CHUNK)
        best = np.empty((len(queries[rows]), 0), np.int64)
        for first, steps in _blocks(metrics.unit_rows(queries[rows]), corpus):
            # one number that sorts by cosine and then by place: no two are equal, so partitions are unambiguous
            keys = steps.astype(np.int64) * PLACES + (PLACES - 1 - first - np.arange(steps.shape[1]))
            best = np.concatenate([best, keys], axis=1)
            if best.shape[1] > k:
                best = np.partition(best, -k, axis=1)[:, -k:]
        steps, rest = np.divmod(np.sort(best, axis=1)[:, ::-1], PLACES)
        cosines[rows], places[rows] = steps / STEPS, PLACES - 1 - rest
    return cosines, places


def relevant_places(
    queries: Any, corpus: Any, relevant: Sequence[Sequence[int]], *, ignored: Sequence[Sequence[int]] | None = None
) -> list[np.ndarray]:
    """Find the places, from 1 and ascending, that each query's relevant rows take in its ranking of the corpus.

    Of equal cosines, rows that are not relevant come first. Nothing is sorted: a relevant row's place is one more than
    the number of rows before it.

    Args:
        queries, corpus: (Q, D) and (N, D).
        relevant: for each query the different rows of the corpus that are relevant.
        ignored: for each query rows that are left out of its ranking, none of them relevant.
    """
    queries, corpus = metrics.as_rows(queries), metrics.as_rows(corpus)
    ignored = ignored or [()] * len(queries)
    counts = list(map(len, relevant))
    owners = np.repeat(np.arange(len(queries)), counts)  # (P,), a pair of a query and a row relevant to it
    wanted = np.fromiter(chain(*relevant), np.int64)  # (P,)
    before = np.zeros(len(wanted), np.int64)
    for start in range(0, len(wanted), CHUNK):
        rows = slice(start, start + CHUNK)
        unit = metrics.unit_rows(queries[owners[rows]])  # (c, D)
        cosines = np.rint(STEPS * np.einsum("pd,pd->p", unit, metrics.unit_rows(corpus[wanted[rows]])))  # (c,)
        skipped = [[*relevant[owner], *ignored[owner]] for owner in owners[rows]]
        skipped_rows = np.repeat(np.arange(len(unit)), list(map(len, skipped)))
        skipped_columns = np.fromiter(chain(*skipped), np.int64)
        for first, steps in _blocks(unit, corpus):
            here = (skipped_columns >= first) & (skipped_columns < first + steps.shape[1])
            steps[skipped_rows[here], skipped_columns[here] - first] = -np.inf
            before[rows] += (steps >= cosines[:, None]).sum(1)
    # `before` counts no relevant rows; in ascending order the j-th has j - 1 of them before it
    return [np.sort(part) + np.arange(1, len(part) + 1) for part in np.split(before, np.cumsum(counts)[:-1])]


def _result(
    corpus: Corpus[Any], places: Sequence[np.ndarray], candidates: float, lost: dict[str, int], own_text: int = 0
) -> RetrievalResult:
    """Means over the queries; `places` tells for each query which places, from 1, hold a relevant text."""
    flags = [np.bincount(of_query)[1:] for of_query in places]  # to the last relevant one is far enough
    precisions = 100 * np.array([metrics.average_precision(ranking) for ranking in flags])
    return RetrievalResult(
        name=corpus.name,
        map=float(precisions.mean()),
        mrr=100 * float(np.mean([metrics.reciprocal_rank(ranking, AT) for ranking in flags])),
        candidates=candidates,
        own_text=own_text,
        left_out={**corpus.left_out, **{why: n for why, n in lost.items() if n}},
        precisions=precisions,
    )


def _blocks(unit: np.ndarray, corpus: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """For `CHUNK` rows of the corpus at a time, the first one's place and all cosines as multiples of 1 / STEPS."""
    for first in range(0, len(corpus), CHUNK):
        cosines = unit @ metrics.unit_rows(corpus[first : first + CHUNK]).T  # (c, n)
        cosines *= STEPS
        yield first, np.rint(cosines, out=cosines)
