"""Search many texts in two passes. A quick one finds where the best spans can begin, an exact one scores them.

The quick pass multiplies sums of dot products with inverse lengths of spans that were rounded to float16 when the texts
were added. Rounding changes a cosine by less than SLACK. So a span can only be among the best if it begins where the
quick cosine comes that close to those of the best. These places are few, and their spans are scored in float64.

A text's vectors are one a word, (W, D). K is the number of sizes that spans have, from 1 to the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sentlab.search.spans import greedy, inverse_lengths, rounded

SLACK = 1e-3  # twice what float16 changes of a number, and more than the float32 sums do
SMALLEST, LARGEST = 2.0**-12, 2.0**15  # what float16 keeps to that precision
WORDS = 2**13  # in work at once
QUERIES = 32  # in work at once
WINDOWS = 512  # places that are scored at once
MANY = 2**18  # words from which on a search is worth the second that compiling takes, once on a computer
CACHED = 1024  # starts that the compiled loop works on at once: they stay in the processor's first cache


class Group(NamedTuple):
    """Some queries, and what their spans may begin and end with: true or false for each word, (W,); None: all words."""

    queries: slice
    begins: np.ndarray | None = None
    ends: np.ndarray | None = None


class Texts(NamedTuple):
    """Some texts that are searched.

    Args:
        vectors: (W, D), arrays that slice.
        texts: (n + 1,), each text's first word, and W.
        lengths, scale: as `rounded_lengths` gives them.
        first: the place of the first word among all that is searched.
        groups: they cover all queries.
    """

    vectors: Any
    texts: np.ndarray
    lengths: Any
    scale: float
    first: int
    groups: Sequence[Group]


def best_in(
    texts: Sequence[Texts],
    queries: Tensor,
    k: int,
    min_size: int,
    max_size: int,
    starts: Sequence[np.ndarray] | None = None,
) -> list[list[tuple[float, int, int]]]:
    """Find each query's k best spans (score, start, end) that do not overlap, by falling score.

    Args:
        texts: in the order of their places.
        queries: (Q, D), of length 1 or 0.
        min_size, max_size: words of a span.
        starts: Where the spans of each query may begin. None: where the quick pass says.

    Raises:
        ValueError: k below 1.
    """
    shortlist = _Shortlist(queries, k, min_size, max_size, sum(len(part.vectors) for part in texts))
    for part in texts:
        if starts is None:
            shortlist.read(part)
        else:
            shortlist.read_at(part, starts)
    found = []
    for number, query in enumerate(queries):
        kept = shortlist.places(number)
        if kept is None and starts is not None:
            kept = np.unique(starts[number])
        begins, scores = [np.empty(0, np.int64)], [torch.empty(0, max_size - min_size + 1, dtype=torch.float64)]
        for part in texts:
            words = len(part.vectors)
            own = np.arange(words) if kept is None else kept - part.first
            own = own[(own >= 0) & (own < words)]
            begins.append(own + part.first)
            scores.append(_exact_scores(query, number, part, own, max_size)[:, min_size - 1 :])
        rows = torch.from_numpy(np.concatenate(begins)), rounded(torch.cat(scores)).float()
        found.append(greedy(*rows, k, min_size))
    return found


def rounded_lengths(vectors: np.ndarray, texts: np.ndarray, max_size: int) -> tuple[np.ndarray, float]:
    """Compute one over the length of every span's sum, times a scale: float16 (K, W), and the scale.

    It is 0 for a span of length 0, and for one that crosses the end of its text. It is NaN where only the exact pass
    can tell: the words all but cancel, or the length is far from those of words.

    Args:
        vectors: (W, D).
        texts: (n + 1,), each text's first word, and W.
    """
    words = len(vectors)
    found = np.zeros((max_size, words), dtype=np.float16)
    norms = np.concatenate([np.linalg.norm(part, axis=1) for part in _parts(vectors)]) if words else np.zeros(0)
    scale = float(np.median(norms[norms > 0])) if (norms > 0).any() else 1.0
    for first in range(0, words, WORDS):
        count = min(WORDS, words - first)
        inverse, cancelled = inverse_lengths(vectors, first, count, max_size)
        values = inverse.mul_(scale)
        values[cancelled | (values > LARGEST) | ((values < SMALLEST) & (values > 0))] = torch.nan
        starts = np.arange(first, first + count)
        left = torch.from_numpy(texts[np.searchsorted(texts, starts, side="right")] - starts)  # words to the text's end
        values[left <= torch.arange(max_size)[:, None]] = 0.0
        found[:, first : first + count] = values.numpy()
    return found, scale


class _Shortlist:
    """The places where the best spans of each query can begin.

    Args:
        queries: (Q, D), of length 1 or 0.
        k: spans a query that do not overlap.
        min_size, max_size: words of a span.
        words: of all texts.
    """

    def __init__(self, queries: Tensor, k: int, min_size: int, max_size: int, words: int) -> None:
        if not isinstance(k, int | np.integer):
            raise TypeError(f"k must be a whole number, it is {k!r}")
        if k < 1:
            raise ValueError(f"k must be at least 1, it is {k}")
        self.queries, self.sizes = queries, (min_size, max_size)
        self.best = _compiled() if words >= MANY else _best
        # a span overlaps with those of fewer than 2 max_size starts: that many starts a hit hold all hits
        self.kept = (k - 1) * 2 * max_size + 1
        self.least = [-np.inf] * len(queries)  # the quick cosine of the last of them, so far
        self._found: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in queries]  # quick cosines and places
        self._waiting = [0] * len(queries)  # how many

    def read(self, part: Texts) -> None:
        """Run the quick pass over some texts."""
        min_size, max_size = self.sizes
        reach, queries = WORDS + max_size - 1, self.queries / part.scale
        # new memory for each chunk would take longer than the work on it
        vectors, inverse = torch.empty(reach, self.queries.shape[1]), torch.empty(max_size, WORDS)
        products = torch.empty(min(QUERIES, len(queries)) * reach)
        for begin in range(0, len(part.vectors), WORDS):
            own = part.vectors[begin : begin + reach]
            count = min(WORDS, len(part.vectors) - begin)
            vectors[: len(own)] = torch.from_numpy(own)
            vectors[len(own) :] = 0.0
            lengths = inverse[:, :count].copy_(torch.from_numpy(part.lengths[:max_size, begin : begin + count]))
            unsure = lengths[min_size - 1 :].sum(0).isnan()  # a sum with NaN is NaN
            any_unsure = bool(unsure.any())
            if any_unsure:
                lengths.nan_to_num_(0.0)
            here = np.arange(part.first + begin, part.first + begin + count)
            for row in range(0, len(queries), QUERIES):
                some, words = queries[row : row + QUERIES], vectors[: count + max_size - 1]
                dots = products[: len(some) * len(words)].view(len(some), len(words))
                torch.mm(some, words.T, out=dots)
                for group in part.groups:
                    start, stop, _ = group.queries.indices(len(queries))
                    start, stop = max(start, row), min(stop, row + len(dots))
                    if start >= stop:
                        continue
                    allowed, begins = lengths, None
                    if group.begins is not None and group.ends is not None:
                        begins, ends = torch.from_numpy(group.begins[begin : begin + count]), torch.zeros(reach)
                        ends[: len(own)] = torch.from_numpy(group.ends[begin : begin + reach])
                        allowed = lengths * ends[: count + max_size - 1].unfold(0, count, 1)
                    best = self.best(dots[start - row : stop - row], allowed, min_size)
                    if begins is not None:
                        best *= begins
                    if any_unsure:
                        best.masked_fill_(unsure, torch.nan)
                    self._offer(start, here, best.numpy())

    def read_at(self, part: Texts, starts: Sequence[np.ndarray]) -> None:
        """Run the quick pass over some of the texts' words only: those where the spans of each query may begin."""
        (min_size, max_size), last = self.sizes, len(part.vectors) - 1
        for number, group in ((number, _group(part, number)) for number in range(len(self.queries))):
            own = np.unique(starts[number]) - part.first
            own = own[(own >= 0) & (own <= last)]
            words = np.minimum(own[:, None] + np.arange(max_size), last)  # (M, K)
            read, place = np.unique(words, return_inverse=True)
            dots = np.asarray(part.vectors[read], np.float32) @ (self.queries[number] / part.scale).numpy()
            cosines = dots[place.reshape(words.shape)].cumsum(1) * part.lengths[:max_size, own].T
            if group.begins is not None and group.ends is not None:
                cosines *= group.begins[own][:, None] & group.ends[words]
            best = cosines[:, min_size - 1 :].max(1, initial=-np.inf)
            self._offer(number, own + part.first, best[None])

    def _offer(self, first: int, where: np.ndarray, best: np.ndarray) -> None:
        """The quick cosines (q, c) of some queries, from `first` on, with the places `where` (c,) are known."""
        for query, own in enumerate(best, first):
            places = np.flatnonzero(~(own < self.least[query] - SLACK))  # NaN is one
            if not len(places):
                continue
            self._found[query].append((own[places], where[places]))
            self._waiting[query] += len(places)
            if self._waiting[query] > 4 * self.kept:
                self._prune(query)

    def _prune(self, query: int) -> None:
        values, places = (np.concatenate(parts) for parts in zip(*self._found[query], strict=True))
        known = values[~np.isnan(values)]
        if len(known) >= self.kept:
            self.least[query] = float(np.partition(known, -self.kept)[-self.kept])
        kept = ~(values < self.least[query] - SLACK)
        self._found[query], self._waiting[query] = [(values[kept], places[kept])], int(kept.sum())

    def places(self, query: int) -> np.ndarray | None:
        """Find where the best spans of a query can begin, rising; None: anywhere, as the quick pass could not tell."""
        if self._found[query]:
            self._prune(query)
        if self.least[query] <= SLACK:  # a quick cosine of 0 may be that of no span at all
            return None
        return np.sort(self._found[query][0][1])


def _exact_scores(query: Tensor, number: int, part: Texts, starts: np.ndarray, max_size: int) -> Tensor:
    """The cosines of a query with the spans of each size from some starts, float64 (M, K); -inf where there is none.

    Args:
        query: (D,), of length 1 or 0.
        number: of the query.
        starts: (M,), words of the part.
    """
    found, last = torch.empty(len(starts), max_size, dtype=torch.float64), max(0, len(part.vectors) - 1)
    sizes, group, exact = np.arange(max_size), _group(part, number), query.double()
    for first in range(0, len(starts), WINDOWS):
        own = starts[first : first + WINDOWS]
        words = np.minimum(own[:, None] + sizes, last)  # (m, K): the last words of the spans
        vectors = part.vectors[words.ravel()].reshape(*words.shape, -1)
        sums = torch.zeros(len(own), len(query), dtype=torch.float64)
        scores, norms = torch.empty(2, *words.shape, dtype=torch.float64)
        for size in sizes:  # a word more each time: the sums of all sizes would not fit into the caches
            sums += torch.from_numpy(vectors[:, size].astype(np.float64))
            norms[:, size] = sums.norm(dim=1)
            scores[:, size] = sums @ exact
        scores = (scores / norms).masked_fill_(norms == 0, 0.0)
        ends = part.texts[np.searchsorted(part.texts, own, side="right")]
        barred = own[:, None] + sizes >= ends[:, None]
        if group.begins is not None and group.ends is not None:
            barred |= ~(group.begins[own][:, None] & group.ends[words])
        found[first : first + WINDOWS] = scores.masked_fill_(torch.from_numpy(barred), -torch.inf)
    return found


def _group(part: Texts, number: int) -> Group:
    """The group that a query is in."""
    return next(own for own in part.groups if number < own.queries.indices(number + 1)[1])


def _best(dots: Tensor, inverse: Tensor, min_size: int) -> Tensor:
    """The best quick cosine of each start over the sizes: (q, c + K - 1), (K, c) -> (q, c)."""
    count = inverse.shape[1]
    sums, best = torch.zeros(len(dots), count), torch.full((len(dots), count), -torch.inf)
    scores = torch.empty_like(sums)
    for size, own in enumerate(inverse, 1):
        sums += dots[:, size - 1 : size - 1 + count]
        if size >= min_size:
            torch.mul(sums, own, out=scores)
            torch.maximum(best, scores, out=best)
    return best


@cache
def _compiled() -> Callable[[Tensor, Tensor, int], Tensor]:
    """`_best` as one loop that numba compiles, which reads and writes memory once; `_best` itself without numba."""
    try:
        import numba
    except ModuleNotFoundError:
        return _best
    options: dict[str, Any] = {"fastmath": {"nnan"}}
    try:
        loop = numba.njit(cache=True, **options)(_loop)
    except RuntimeError:  # there is no folder for the compiled code to stay in
        loop = numba.njit(**options)(_loop)

    def best(dots: Tensor, inverse: Tensor, min_size: int) -> Tensor:
        found = torch.empty(len(dots), inverse.shape[1])
        loop(dots.numpy(), inverse.numpy(), min_size, found.numpy())
        return found

    return best


def _loop(dots: np.ndarray, inverse: np.ndarray, min_size: int, found: np.ndarray) -> None:
    """Write the best quick cosines (q, c) to `found`; the others as for `_best`."""
    sizes, count = inverse.shape
    sums, best = np.empty(CACHED, np.float32), np.empty(CACHED, np.float32)
    for begin in range(0, count, CACHED):
        starts = min(CACHED, count - begin)
        for query in range(len(dots)):
            sums[:], best[:] = 0.0, -np.inf
            for size in range(sizes):
                own, weights = dots[query, begin + size :], inverse[size, begin:]
                if size + 1 < min_size:
                    for start in range(starts):
                        sums[start] += own[start]
                else:
                    for start in range(starts):
                        sums[start] += own[start]
                        best[start] = max(best[start], sums[start] * weights[start])
            found[query, begin : begin + starts] = best[:starts]


def _parts(vectors: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(vectors[i : i + WORDS], np.float32) for i in range(0, len(vectors), WORDS)]
