"""Search many texts in two passes. A quick one finds where the best spans can begin, an exact one scores them.

The quick pass multiplies sums of dot products with the inverse lengths of spans, which were rounded to float16 when the
texts were added. Rounding changes a cosine by less than SLACK. So a span can only be among the best if it begins where
the quick cosine comes that close to those of the best. These places are few, and their spans are scored in float64.

A place is a word's number among all that are searched. K is the number of sizes of spans, from 1 to the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from sentlab.search.index_files import CHUNK, Segment
from sentlab.search.spans import rounded

SLACK = 1e-3  # twice what float16 changes of a number, and more than the float32 sums do
QUERIES = 32  # in work at once
WINDOWS = 512  # places that are scored at once
CACHED = 1024  # starts that the compiled loop works on at once: they stay in the processor's first cache
Edges = tuple[int, int]  # kinds of words, as bits, that no span of a query begins with, and that none ends with


def best_in(
    segments: Sequence[Segment],
    queries: Tensor,
    barred: Sequence[Edges],
    k: int,
    min_size: int,
    max_size: int,
    starts: Sequence[np.ndarray] | None = None,
) -> list[list[tuple[float, int, int]]]:
    """Find each query's k best spans (score, start, end) that do not overlap, by falling score.

    Segments are in the order of their places, and queries (Q, D) of length 1 or 0. `barred` and `starts`, the places
    where spans may begin, are of each query; None: anywhere.
    """
    shortlist = _Shortlist(queries, barred, k, min_size, max_size)
    for segment in segments:
        shortlist.read(segment) if starts is None else shortlist.read_at(segment, starts)
    best = []
    for number, query in enumerate(queries):
        places = shortlist.places(number)
        if places is None:
            places = np.arange(sum(len(segment.vectors) for segment in segments)) if starts is None else starts[number]
        begins, scores = [np.empty(0, np.int64)], [torch.empty(0, max_size, dtype=torch.float64)]
        for segment in segments:
            inside = _inside(segment, places)
            begins.append(inside + segment.first_word)
            scores.append(_exact_scores(query, barred[number], segment, inside, max_size))
        of_sizes = rounded(torch.cat(scores)[:, min_size - 1 :]).float().numpy()
        best.append(greedy(np.concatenate(begins), of_sizes, k, min_size))
    return best


def greedy(starts: np.ndarray, scores: np.ndarray, k: int, min_size: int) -> list[tuple[float, int, int]]:
    """Pick the best k spans that do not overlap: from `starts` (M,), rising, with the scores (M, K) of all sizes."""
    values, sizes = scores.ravel(), scores.shape[1]
    hits, taken = list[tuple[float, int, int]](), set[int]()
    for i in np.argsort(-values, kind="stable"):  # of equals the first, then the shortest
        if len(hits) >= k or values[i] == -np.inf:
            break
        start = int(starts[i // sizes])
        place = range(start, start + min_size + int(i % sizes))
        if taken.isdisjoint(place):
            hits.append((float(values[i]), place.start, place.stop))
            taken.update(place)
    return hits


class _Shortlist:
    """The places where the best k spans of each query (Q, D) can begin."""

    def __init__(self, queries: Tensor, barred: Sequence[Edges], k: int, min_size: int, max_size: int) -> None:
        self.queries, self.barred, self.sizes = queries, barred, (min_size, max_size)
        self.order = sorted(range(len(queries)), key=barred.__getitem__)  # the quick pass takes equal edges together
        # a span overlaps with those of fewer than 2 max_size starts: that many starts a hit hold all hits
        self.kept = max(0, k - 1) * 2 * max_size + 1
        self.least = [-np.inf] * len(queries)  # the quick cosine of the last of them, so far
        self.offered = [(np.empty(0, np.float32), np.empty(0, np.int64)) for _ in queries]  # quick cosines and places

    def read(self, segment: Segment) -> None:
        """Run the quick pass over all words of a segment."""
        min_size, max_size = self.sizes
        reach, queries = CHUNK + max_size - 1, self.queries[self.order] / segment.scale
        # new memory for each chunk would take longer than the work on it; what is behind the last word counts as 0
        vectors = torch.zeros(reach, queries.shape[1])
        products, memory = torch.empty(min(QUERIES, len(queries)) * reach), torch.empty(max_size, CHUNK)
        for begin in range(0, len(segment.vectors), CHUNK):
            chunk = segment.vectors[begin : begin + reach]
            count = min(CHUNK, len(segment.vectors) - begin)
            vectors[: len(chunk)] = torch.from_numpy(chunk)
            kinds = segment.kinds[begin : begin + reach]
            inverses = memory[:, :count].copy_(torch.from_numpy(segment.inverses[:max_size, begin : begin + count]))
            unsure = inverses[min_size - 1 :].sum(0).isnan()  # a sum with NaN is NaN
            if any_unsure := bool(unsure.any()):
                inverses.nan_to_num_(0.0)
            places = np.arange(begin, begin + count) + segment.first_word
            for row in range(0, len(queries), QUERIES):
                some, tokens = self.order[row : row + QUERIES], vectors[: count + max_size - 1]
                dots = products[: len(some) * len(tokens)].view(len(some), len(tokens))
                torch.mm(queries[row : row + QUERIES], tokens.T, out=dots)
                for (first, last), group in groupby(some, self.barred.__getitem__):
                    numbers, allowed = [*group], inverses.contiguous()
                    if last:
                        ends = torch.zeros(len(tokens))
                        ends[: len(kinds)] = torch.from_numpy((kinds & last) == 0)
                        allowed = inverses * ends.unfold(0, count, 1)
                    best = torch.empty(len(numbers), count)
                    _compiled()(dots[: len(numbers)].numpy(), allowed.numpy(), min_size, best.numpy())
                    dots = dots[len(numbers) :]
                    if first:
                        best *= torch.from_numpy((kinds[:count] & first) == 0)
                    if any_unsure:
                        best.masked_fill_(unsure, torch.nan)
                    for number, cosines in zip(numbers, best.numpy(), strict=True):
                        self._offer(number, places, cosines)

    def read_at(self, segment: Segment, starts: Sequence[np.ndarray]) -> None:
        """Run the quick pass over some of a segment's words only: those where the spans of each query may begin."""
        (min_size, max_size), last = self.sizes, len(segment.vectors) - 1
        for number, query in enumerate(self.queries):
            begins = _inside(segment, starts[number])
            ends = np.minimum(begins[:, None] + np.arange(max_size), last)  # (M, K)
            read, place = np.unique(ends, return_inverse=True)
            dots = np.asarray(segment.vectors[read], np.float32) @ (query / segment.scale).numpy()
            cosines = dots[place.reshape(ends.shape)].cumsum(1) * segment.inverses[:max_size, begins].T
            cosines[_barred(segment, begins, ends, self.barred[number])] = 0.0
            self._offer(number, begins + segment.first_word, cosines[:, min_size - 1 :].max(1, initial=-np.inf))

    def _offer(self, query: int, places: np.ndarray, cosines: np.ndarray) -> None:
        """Keep those of some places (c,) whose quick cosines with a query (c,) come near the best."""
        near = np.flatnonzero(~(cosines < self.least[query] - SLACK))  # NaN is one
        if len(near):
            values, kept = self.offered[query]
            values, kept = np.append(values, cosines[near]), np.append(kept, places[near])
            known = values[~np.isnan(values)]
            if len(known) >= self.kept:
                self.least[query] = float(np.partition(known, -self.kept)[-self.kept])
            still = ~(values < self.least[query] - SLACK)
            self.offered[query] = values[still], kept[still]

    def places(self, query: int) -> np.ndarray | None:
        """Find where the best spans of a query can begin, rising; None: anywhere, as the quick pass could not tell."""
        if self.least[query] <= SLACK:  # a quick cosine of 0 may be that of no span at all
            return None
        return np.sort(self.offered[query][1])


def _exact_scores(query: Tensor, barred: Edges, segment: Segment, starts: np.ndarray, max_size: int) -> Tensor:
    """The cosines of a query (D,) with the spans from some words (M,): float64 (M, K), -inf where there is none."""
    all_scores = torch.empty(len(starts), max_size, dtype=torch.float64)
    sizes, exact, last = np.arange(max_size), query.double(), max(0, len(segment.vectors) - 1)
    for first in range(0, len(starts), WINDOWS):
        begins = starts[first : first + WINDOWS]
        ends = np.minimum(begins[:, None] + sizes, last)  # (m, K): the last words of the spans
        vectors = segment.vectors[ends.ravel()].reshape(*ends.shape, -1)
        sums = torch.zeros(len(begins), len(query), dtype=torch.float64)
        scores, norms = torch.empty(2, *ends.shape, dtype=torch.float64)
        for size in sizes:  # a word more each time: the sums of all sizes would not fit into the caches
            sums += torch.from_numpy(vectors[:, size].astype(np.float64))
            norms[:, size] = sums.norm(dim=1)
            scores[:, size] = sums @ exact
        scores = (scores / norms).masked_fill_(norms == 0, 0.0)
        behind = segment.first_words[np.searchsorted(segment.first_words, begins, side="right")]  # the words' texts
        absent = (begins[:, None] + sizes >= behind[:, None]) | _barred(segment, begins, ends, barred)
        all_scores[first : first + WINDOWS] = scores.masked_fill_(torch.from_numpy(absent), -torch.inf)
    return all_scores


def _barred(segment: Segment, starts: np.ndarray, ends: np.ndarray, barred: Edges) -> np.ndarray:
    """Return which spans from words `starts` (M,) to `ends` (M, K) have a barred kind of word at an edge: (M, K)."""
    return ((segment.kinds[starts] & barred[0])[:, None] | (segment.kinds[ends] & barred[1])) != 0


def _inside(segment: Segment, places: np.ndarray) -> np.ndarray:
    """Return those of some places that are words of a segment, counted from its first."""
    inside = np.unique(places) - segment.first_word
    return inside[(inside >= 0) & (inside < len(segment.vectors))]


@cache
def _compiled() -> Callable[[np.ndarray, np.ndarray, int, np.ndarray], None]:
    """`_best` as numba compiles it, once on a computer: it reads and writes memory once."""
    import numba  # slow to import

    try:
        return numba.njit(cache=True, fastmath={"nnan"})(_best)
    except RuntimeError:  # there is no folder for the compiled code to stay in
        return numba.njit(fastmath={"nnan"})(_best)


def _best(dots: np.ndarray, inverses: np.ndarray, min_size: int, cosines: np.ndarray) -> None:
    """Write the best quick cosine of each start, over all sizes: (q, c + K - 1), (K, c) -> `cosines` (q, c)."""
    sizes, count = inverses.shape
    sums, best = np.empty(CACHED, np.float32), np.empty(CACHED, np.float32)
    for begin in range(0, count, CACHED):
        starts = min(CACHED, count - begin)
        for query in range(len(dots)):
            sums[:], best[:] = 0.0, -np.inf
            for size in range(sizes):
                products, weights = dots[query, begin + size :], inverses[size, begin:]
                if size + 1 < min_size:
                    for start in range(starts):
                        sums[start] += products[start]
                else:
                    for start in range(starts):
                        sums[start] += products[start]
                        best[start] = max(best[start], sums[start] * weights[start])
            cosines[query, begin : begin + starts] = best[:starts]
