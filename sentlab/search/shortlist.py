"""Search many texts in two passes. A quick one finds where the best spans can begin, an exact one scores them.

The quick pass multiplies sums of dot products with inverse lengths of spans that were rounded to float16 when the texts
were added. Rounding changes a cosine by less than SLACK. So a span can only be among the best if it begins where the
quick cosine comes that close to those of the best. These places are few, and their spans are scored in float64.

A text's vectors are one a word, (W, D). K is the number of sizes that spans have, from 1 to the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sentlab.search.spans import inverse_lengths, rounded, window

SLACK = 1e-3  # twice what float16 changes of a number, and more than the float32 sums do
SMALLEST, LARGEST = 2.0**-12, 2.0**15  # what float16 keeps to that precision
WORDS = 2**13  # in work at once
QUERIES = 32  # in work at once
WINDOWS = 512  # places that are scored at once
MANY = 2**18  # words from which on a search is worth the second that compiling takes, once on a computer
CACHED = 1024  # starts that the compiled loop works on at once: they stay in the processor's first cache
Edges = tuple[int, int]  # kinds of words, as bits, that no span of a query begins with, and that none ends with


class Part(Protocol):
    """Some of the texts that are searched, such as `sentlab.search.index_files.Segment`."""

    vectors: np.ndarray  # (W, D)
    words: np.ndarray  # (n + 1,), each text's first word, and W
    lengths: np.ndarray  # (K, W), with the scale as `rounded_lengths` gives them
    scale: float
    first_word: int  # its place among all words that are searched

    kinds: np.ndarray  # of each word, as bits, uint8 (W,)


def best_in(
    parts: Sequence[Part],
    queries: Tensor,
    barred: Sequence[Edges],
    k: int,
    min_size: int,
    max_size: int,
    starts: Sequence[np.ndarray] | None = None,
) -> list[list[tuple[float, int, int]]]:
    """Find each query's k best spans (score, start, end) that do not overlap, by falling score.

    Args:
        parts: in the order of their places.
        queries: (Q, D), of length 1 or 0.
        barred: of each query. The quick pass takes neighbours with equal edges together.
        starts: where the spans of each query may begin. None: where the quick pass says.
    """
    shortlist = _Shortlist(queries, barred, k, min_size, max_size, sum(len(part.vectors) for part in parts))
    for part in parts:
        if starts is None:
            shortlist.read(part)
        else:
            shortlist.read_at(part, starts)
    best = []
    for number, query in enumerate(queries):
        places = shortlist.places(number)
        if places is None and starts is not None:
            places = np.unique(starts[number])
        begins, scores = [np.empty(0, np.int64)], [torch.empty(0, max_size - min_size + 1, dtype=torch.float64)]
        for part in parts:
            words = _inside(part, places)
            begins.append(words + part.first_word)
            scores.append(_exact_scores(query, barred[number], part, words, max_size)[:, min_size - 1 :])
        best.append(greedy(np.concatenate(begins), rounded(torch.cat(scores)).float().numpy(), k, min_size))
    return best


def greedy(starts: np.ndarray, scores: np.ndarray, k: int, min_size: int) -> list[tuple[float, int, int]]:
    """Pick the best k spans that do not overlap: from `starts` (M,), rising, with the scores (M, K) of all sizes."""
    values, sizes = scores.ravel(), scores.shape[1]
    hits: list[tuple[float, int, int]] = []
    taken: set[int] = set()
    for i in np.argsort(-values, kind="stable"):  # of equals the first, then the shortest
        if len(hits) == k or values[i] == -np.inf:
            break
        start = int(starts[i // sizes])
        place = range(start, start + min_size + int(i % sizes))
        if taken.isdisjoint(place):
            hits.append((float(values[i]), place.start, place.stop))
            taken.update(place)
    return hits


def rounded_lengths(vectors: np.ndarray, texts: np.ndarray, max_size: int) -> tuple[np.ndarray, float]:
    """Compute one over the length of every span's sum, times a scale: float16 (K, W), and the scale.

    It is 0 for a span of length 0, and for one that crosses the end of its text. It is NaN where only the exact pass
    can tell: the words all but cancel, or the length is far from those of words. `vectors` are (W, D), and `texts`
    (n + 1,) each text's first word, and W.
    """
    words = len(vectors)
    lengths = np.zeros((max_size, words), dtype=np.float16)
    parts = (np.asarray(vectors[first : first + WORDS], np.float32) for first in range(0, words, WORDS))
    norms = np.concatenate([np.zeros(0), *(np.linalg.norm(part, axis=1) for part in parts)])
    scale = float(np.median(norms[norms > 0])) if (norms > 0).any() else 1.0
    for first in range(0, words, WORDS):
        count = min(WORDS, words - first)
        inverse, cancelled = inverse_lengths(window(vectors, first, count, max_size, torch.empty(0)), count, max_size)
        values = inverse.mul_(scale)
        values[cancelled | (values > LARGEST) | ((values < SMALLEST) & (values > 0))] = torch.nan
        starts = np.arange(first, first + count)
        left = torch.from_numpy(texts[np.searchsorted(texts, starts, side="right")] - starts)  # words to the text's end
        values[left <= torch.arange(max_size)[:, None]] = 0.0
        lengths[:, first : first + count] = values.numpy()
    return lengths, scale


class _Shortlist:
    """The places where the best k spans of each query (Q, D) can begin."""

    def __init__(
        self, queries: Tensor, barred: Sequence[Edges], k: int, min_size: int, max_size: int, words: int
    ) -> None:
        if k < 1:
            raise ValueError(f"k must be at least 1, it is {k}")
        self.queries, self.barred, self.sizes = queries, barred, (min_size, max_size)
        self.best = _compiled() if words >= MANY else _best
        # a span overlaps with those of fewer than 2 max_size starts: that many starts a hit hold all hits
        self.kept = (k - 1) * 2 * max_size + 1
        self.least = [-np.inf] * len(queries)  # the quick cosine of the last of them, so far
        self.offered = [(np.empty(0, np.float32), np.empty(0, np.int64)) for _ in queries]  # quick cosines and places

    def read(self, part: Part) -> None:
        """Run the quick pass over all words of a part."""
        min_size, max_size = self.sizes
        reach, queries = WORDS + max_size - 1, self.queries / part.scale
        # new memory for each chunk would take longer than the work on it
        vectors, inverse = torch.empty(reach, self.queries.shape[1]), torch.empty(max_size, WORDS)
        products = torch.empty(min(QUERIES, len(queries)) * reach)
        for begin in range(0, len(part.vectors), WORDS):
            chunk = part.vectors[begin : begin + reach]
            count = min(WORDS, len(part.vectors) - begin)
            vectors[: len(chunk)] = torch.from_numpy(chunk)
            vectors[len(chunk) :] = 0.0
            lengths = inverse[:, :count].copy_(torch.from_numpy(part.lengths[:max_size, begin : begin + count]))
            unsure = lengths[min_size - 1 :].sum(0).isnan()  # a sum with NaN is NaN
            any_unsure = bool(unsure.any())
            if any_unsure:
                lengths.nan_to_num_(0.0)
            here = np.arange(part.first_word + begin, part.first_word + begin + count)
            for row in range(0, len(queries), QUERIES):
                some, words = queries[row : row + QUERIES], vectors[: count + max_size - 1]
                dots = products[: len(some) * len(words)].view(len(some), len(words))
                torch.mm(some, words.T, out=dots)
                for (first, last), rows in groupby(range(row, row + len(some)), self.barred.__getitem__):
                    numbers, allowed = [*rows], lengths
                    if last:
                        ends = torch.zeros(len(words))
                        ends[: len(chunk)] = torch.from_numpy((part.kinds[begin : begin + reach] & last) == 0)
                        allowed = lengths * ends.unfold(0, count, 1)
                    best = self.best(dots[numbers[0] - row : numbers[-1] - row + 1], allowed, min_size)
                    if first:
                        best *= torch.from_numpy((part.kinds[begin : begin + count] & first) == 0)
                    if any_unsure:
                        best.masked_fill_(unsure, torch.nan)
                    self._offer(numbers[0], here, best.numpy())

    def read_at(self, part: Part, starts: Sequence[np.ndarray]) -> None:
        """Run the quick pass over some of a part's words only: those where the spans of each query may begin."""
        (min_size, max_size), last = self.sizes, len(part.vectors) - 1
        for number, query in enumerate(self.queries):
            begins = _inside(part, np.unique(starts[number]))
            words = np.minimum(begins[:, None] + np.arange(max_size), last)  # (M, K)
            read, place = np.unique(words, return_inverse=True)
            dots = np.asarray(part.vectors[read], np.float32) @ (query / part.scale).numpy()
            cosines = dots[place.reshape(words.shape)].cumsum(1) * part.lengths[:max_size, begins].T
            cosines[_barred(part, begins, words, self.barred[number])] = 0.0
            best = cosines[:, min_size - 1 :].max(1, initial=-np.inf)
            self._offer(number, begins + part.first_word, best[None])

    def _offer(self, first: int, where: np.ndarray, best: np.ndarray) -> None:
        """Keep of some queries, from `first` on, the places (c,) whose quick cosines (q, c) come near the best."""
        for query, cosines in enumerate(best, first):
            near = np.flatnonzero(~(cosines < self.least[query] - SLACK))  # NaN is one
            if not len(near):
                continue
            values, places = self.offered[query]
            values, places = np.append(values, cosines[near]), np.append(places, where[near])
            known = values[~np.isnan(values)]
            if len(known) >= self.kept:
                self.least[query] = float(np.partition(known, -self.kept)[-self.kept])
            kept = ~(values < self.least[query] - SLACK)
            self.offered[query] = values[kept], places[kept]

    def places(self, query: int) -> np.ndarray | None:
        """Find where the best spans of a query can begin, rising; None: anywhere, as the quick pass could not tell."""
        if self.least[query] <= SLACK:  # a quick cosine of 0 may be that of no span at all
            return None
        return np.sort(self.offered[query][1])


def _exact_scores(query: Tensor, barred: Edges, part: Part, starts: np.ndarray, max_size: int) -> Tensor:
    """The cosines of a query (D,) with the spans from some words (M,): float64 (M, K), -inf where there is none."""
    all_scores = torch.empty(len(starts), max_size, dtype=torch.float64)
    sizes, exact, last = np.arange(max_size), query.double(), max(0, len(part.vectors) - 1)
    for first in range(0, len(starts), WINDOWS):
        begins = starts[first : first + WINDOWS]
        words = np.minimum(begins[:, None] + sizes, last)  # (m, K): the last words of the spans
        vectors = part.vectors[words.ravel()].reshape(*words.shape, -1)
        sums = torch.zeros(len(begins), len(query), dtype=torch.float64)
        scores, norms = torch.empty(2, *words.shape, dtype=torch.float64)
        for size in sizes:  # a word more each time: the sums of all sizes would not fit into the caches
            sums += torch.from_numpy(vectors[:, size].astype(np.float64))
            norms[:, size] = sums.norm(dim=1)
            scores[:, size] = sums @ exact
        scores = (scores / norms).masked_fill_(norms == 0, 0.0)
        ends = part.words[np.searchsorted(part.words, begins, side="right")]
        absent = (begins[:, None] + sizes >= ends[:, None]) | _barred(part, begins, words, barred)
        all_scores[first : first + WINDOWS] = scores.masked_fill_(torch.from_numpy(absent), -torch.inf)
    return all_scores


def _barred(part: Part, starts: np.ndarray, ends: np.ndarray, barred: Edges) -> np.ndarray:
    """Return which spans from words `starts` (M,) to `ends` (M, K) have a barred kind of word at an edge: (M, K)."""
    if not any(barred):
        return np.zeros(ends.shape, dtype=bool)
    return ((part.kinds[starts] & barred[0])[:, None] | (part.kinds[ends] & barred[1])) != 0


def _inside(part: Part, places: np.ndarray | None) -> np.ndarray:
    """Return those of some places, or of all, that are words of a part, counted from its first."""
    words = np.arange(len(part.vectors)) if places is None else places - part.first_word
    return words[(words >= 0) & (words < len(part.vectors))]


def _best(dots: Tensor, inverse: Tensor, min_size: int) -> Tensor:
    """The best quick cosine of each start over the sizes: (q, c + K - 1), (K, c) -> (q, c)."""
    count = inverse.shape[1]
    sums, best = torch.zeros(len(dots), count), torch.full((len(dots), count), -torch.inf)
    scores = torch.empty_like(sums)
    for size, of_size in enumerate(inverse, 1):
        sums += dots[:, size - 1 : size - 1 + count]
        if size >= min_size:
            torch.mul(sums, of_size, out=scores)
            torch.maximum(best, scores, out=best)
    return best


@cache
def _compiled() -> Callable[[Tensor, Tensor, int], Tensor]:
    """`_best` as one loop that numba compiles, which reads and writes memory once."""
    import numba  # slow to import

    try:
        loop = numba.njit(cache=True, fastmath={"nnan"})(_loop)
    except RuntimeError:  # there is no folder for the compiled code to stay in
        loop = numba.njit(fastmath={"nnan"})(_loop)

    def best(dots: Tensor, inverse: Tensor, min_size: int) -> Tensor:
        cosines = torch.empty(len(dots), inverse.shape[1])
        loop(dots.numpy(), inverse.numpy(), min_size, cosines.numpy())
        return cosines

    return best


def _loop(dots: np.ndarray, inverse: np.ndarray, min_size: int, cosines: np.ndarray) -> None:
    """Write the best quick cosines (q, c) to `cosines`; the others as for `_best`."""
    sizes, count = inverse.shape
    sums, best = np.empty(CACHED, np.float32), np.empty(CACHED, np.float32)
    for begin in range(0, count, CACHED):
        starts = min(CACHED, count - begin)
        for query in range(len(dots)):
            sums[:], best[:] = 0.0, -np.inf
            for size in range(sizes):
                products, weights = dots[query, begin + size :], inverse[size, begin:]
                if size + 1 < min_size:
                    for start in range(starts):
                        sums[start] += products[start]
                else:
                    for start in range(starts):
                        sums[start] += products[start]
                        best[start] = max(best[start], sums[start] * weights[start])
            cosines[query, begin : begin + starts] = best[:starts]
