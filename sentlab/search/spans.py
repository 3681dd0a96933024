"""Every span of a text at once: its cosine with a query, where a span's vector is the mean of its tokens' vectors.

SLICE (`sentlab.methods.slice`) compares a phrase with all spans of min_size to max_size tokens of a passage. A cosine
does not see the length of a vector, so the sum of the tokens x_i ... x_j-1 serves as well as their mean::

    cos(q, [i, j)) = sum of q . x_t / (|q| |x_i + ... + x_j-1|)

The numerators cumulate T dot products a query. The lengths, which all queries share, cumulate the dot products of each
token with the few after it: `|x_i + ... + x_j-1|^2` is the sum of all x_s . x_t within. So no span's vector is made.

It stays exact, to 1e-5 in float32, however long the text: sums grow by one token with each size, so nothing large
cancels. Only the squared length of a span whose own tokens all but cancel would be a small difference of large numbers.
We sum up these rare spans as vectors in float64.

A zero vector, be it the query or the span, has the similarity 0. Of equal similarities the first start counts, and then
the shortest span; similarities that differ by less than about 4e-6 (STEPS) may count as equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from sentlab.encoder.inference import own_world

STEPS = 2**18  # similarities are compared as whole multiples of 1 / STEPS, or equal spans would not tie after rounding
CANCELLED = 0.1  # of the sum of its tokens' squared lengths: spans whose square is less are summed up as vectors
SCORES = 2**20  # in memory at once, 4 MB of them
TOKENS = 8192  # in work at once, at most
QUERIES = 64  # in work at once, at most
BLOCK = 8  # tokens whose dot products with those after them are one matrix product: of 8 to 64 the quickest


class Spans(NamedTuple):
    """Similarities with the spans [start, end) that have them: arrays, or tensors, of one shape."""

    score: Any
    start: Any
    end: Any


@own_world()
def best_spans(queries: Any, tokens: Any, *, min_size: int = 1, max_size: int = 20, boundaries: Any = None) -> Spans:
    """Find the span of a text that is most similar to each query.

    Args:
        queries: (Q, D).
        tokens: (T, D), of one text.
        min_size: tokens, or words, of the shortest span.
        max_size: of the longest; it may exceed the text.
        boundaries: (W + 1,), as `sentlab.text.words.word_boundaries` gives them. Word w is made of the tokens from
            boundaries[w] to boundaries[w + 1], and sizes count words. None: spans of tokens.

    Returns:
        score, start and end, (Q,) each, as the tokens' type and on their device: the cosine, the span's first token and
        the one after its last; 0 where the text has no span of that size.

    Source: SLICE, section 3.1: max over spans(S) of the cosine with the mean of the span's vectors.

    Example:
        >>> tokens = np.eye(4)  # a text of four tokens
        >>> best = sentlab.spans.best_spans(tokens[1:3].sum(0, keepdims=True), tokens)
        >>> int(best.start[0]), int(best.end[0]), round(float(best.score[0]), 4)
        (1, 3, 1.0)
    """
    unit, units, edges = _prepared(queries, tokens, min_size, max_size, boundaries)
    best = unit.new_full((len(unit),), -torch.inf)
    start, end = (torch.zeros_like(best, dtype=torch.int64) for _ in range(2))
    for rows, first, scores in scored(unit, units, min_size, max_size):
        chunk, at = rounded(scores.amax(0)).max(1)  # (q,); the first of equals
        size = rounded(scores[:, torch.arange(len(at)), at]).argmax(0) + min_size  # the shortest of equals
        better = chunk > best[rows]
        for kept, new in ((best, chunk), (start, first + at), (end, first + at + size)):
            kept[rows] = torch.where(better, new, kept[rows])
    best.masked_fill_(best.isneginf(), 0.0)
    if edges is not None:
        start, end = edges[start], edges[end]
    spans = Spans(best, start, end)
    return spans if isinstance(tokens, Tensor) else Spans(*(values.numpy() for values in spans))


def span_scores(query: Any, tokens: Any, *, min_size: int = 1, max_size: int = 20, boundaries: Any = None) -> Any:
    """Compute the similarity of one query (D,) with every span of a text, for a picture of them; see `best_spans`.

    Returns:
        (T, K), K = max_size - min_size + 1: in row i and column k the span of min_size + k tokens from token i on, -inf
        where the text ends before. With boundaries (W, K), of words.

    Example:
        >>> scores = sentlab.spans.span_scores(np.array([1.0, 0.0]), np.eye(2), max_size=2)
        >>> scores.round(4).tolist()  # a row for each first token; no span of two begins at the last one
        [[1.0, 0.7071], [0.0, -inf]]
    """
    unit, units, _ = _prepared(_tensor(query)[None], tokens, min_size, max_size, boundaries)
    all_scores = unit.new_full((len(units), max_size - min_size + 1), -torch.inf)
    for _, first, scores in scored(unit, units, min_size, max_size):
        all_scores[first : first + scores.shape[2], : len(scores)] = scores[:, 0].T
    return all_scores if isinstance(tokens, Tensor) else all_scores.numpy()


def scored(queries: Tensor, tokens: Tensor, min_size: int, max_size: int) -> Iterator[tuple[slice, int, Tensor]]:
    """Yield the similarity of every span of a text (T, D) with every query (Q, D), of length 1 or 0, by chunks.

    Each comes as some queries, the first token of a chunk, and the scores of spans that start in it (K, q, c), or -inf.
    """
    max_size = max(min_size, min(max_size, len(tokens)))
    block = max(1, min(QUERIES, len(queries)))
    chunk = min(TOKENS, max(BLOCK, SCORES // (max_size * block) // BLOCK * BLOCK))
    for first in range(0, len(tokens) - min_size + 1, chunk):
        count = min(chunk, len(tokens) - first)
        part = window(tokens, first, count, max_size)
        inverse, cancelled = inverse_lengths(part, count, max_size)
        any_cancelled = bool(cancelled.any())
        for begin in range(0, len(queries), block):
            rows = slice(begin, min(begin + block, len(queries)))
            dots = queries[rows] @ part[: count + max_size].T  # (q, c + K)
            sums = torch.zeros_like(dots[:, :count])
            scores = sums.new_empty((max_size - min_size + 1, *sums.shape))
            for size in range(1, max_size + 1):
                sums += dots[:, size - 1 : size - 1 + count]
                if size < min_size:
                    continue
                of_size = scores[size - min_size]
                torch.mul(sums, inverse[size - 1], out=of_size)
                if any_cancelled:
                    places = cancelled[size - 1].nonzero()[:, 0]
                    of_size[:, places] = _exactly(queries[rows], part, places, size)
                of_size[:, max(0, len(tokens) - first - size + 1) :] = -torch.inf  # they would end after the text
            yield rows, first, scores


def rounded(scores: Tensor) -> Tensor:
    return (scores * STEPS).round() / STEPS


def check_sizes(min_size: int, max_size: int) -> None:
    if not 1 <= min_size <= max_size:
        raise ValueError(f"sizes must be 1 <= min_size <= max_size; they are {min_size} and {max_size}")


def _prepared(queries: Any, tokens: Any, min_size: int, max_size: int, boundaries: Any) -> tuple[Tensor, Tensor, Any]:
    """Check the input; return queries of length 1 (Q, D), what spans are made of (T or W, D), and boundaries."""
    check_sizes(min_size, max_size)
    tokens = _tensor(tokens)
    tokens = tokens.to(torch.float64 if tokens.dtype == torch.float64 else torch.float32).contiguous()
    queries = F.normalize(_tensor(queries).to(tokens), dim=1, eps=torch.finfo(tokens.dtype).tiny)
    if not queries.isfinite().all():
        raise ValueError("queries holds values that are nan or infinite")
    if boundaries is None:
        return queries, tokens, None
    edges = torch.as_tensor(boundaries, dtype=torch.int64, device=tokens.device)
    if edges[0] != 0 or edges[-1] != len(tokens) or (edges.diff() < 1).any():
        raise ValueError(f"boundaries must rise from 0 to the {len(tokens)} tokens, as word_boundaries gives them")
    places = torch.arange(len(tokens), device=tokens.device)
    return queries, F.embedding_bag(places, tokens, edges[:-1], mode="sum"), edges


def _tensor(values: Any) -> Tensor:
    """Return a tensor as it is, and anything else as one; an array that torch can share is not copied."""
    return values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.require(values, None, ["C", "W"]))


def window(tokens: Tensor, first: int, count: int, sizes: int) -> Tensor:
    """Return all tokens that are looked at for `count` starts, (count + 2 K + BLOCK, D), with zeros behind the last."""
    reach = count + 2 * sizes + BLOCK
    part = tokens[first : first + reach]
    return part if len(part) == reach else F.pad(part, (0, 0, 0, reach - len(part)))


def inverse_lengths(tokens: Tensor, count: int, sizes: int) -> tuple[Tensor, Tensor]:
    """Compute one over the length of each span's sum, and which spans all but cancel, true or false: (K, count) each.

    `tokens` are a `window`, (count + 2 K + BLOCK, D); `count` is that of starts, and the sizes are 1 to K.
    """
    starts = count + sizes - 1
    blocks, width = -(-starts // BLOCK), BLOCK + sizes - 1
    dim = tokens.shape[1]
    windows = tokens.as_strided((blocks, width, dim), (BLOCK * dim, dim, 1))  # each block and the K - 1 tokens after
    products = windows[:, :BLOCK] @ windows.transpose(1, 2)  # (blocks, BLOCK, width)
    # gram[k, i] = x_i . x_i+k: a row of a block's products, from the diagonal on
    strides = (1, BLOCK * width, width + 1)
    gram = products.as_strided((sizes, blocks, BLOCK), strides).reshape(sizes, -1)[:, :starts]
    if not gram[0].isfinite().all():
        raise ValueError("tokens holds values that are nan, infinite or too large to be squared")
    squares = gram.cumsum(0).mul_(2).sub_(gram[0])  # [k, i]: the products of token i with itself and, twice, k others
    total = gram[:1].repeat(sizes, 1)
    for k in range(1, sizes):  # a span is its first token and the span after that, one smaller
        squares[k, :-k] += squares[k - 1, 1 : starts - k + 1]
        total[k, :-k] += total[k - 1, 1 : starts - k + 1]
    squares, total = squares[:, :count], total[:, :count]
    cancelled = squares <= CANCELLED * total
    return squares.rsqrt().masked_fill_(cancelled, 0.0), cancelled & (total > 0)


def _exactly(queries: Tensor, tokens: Tensor, starts: Tensor, size: int) -> Tensor:
    """The cosines (q, n) of the spans of `size` tokens from `starts` (n,), each summed up in float64."""
    places = starts[:, None] + torch.arange(size, device=starts.device)  # (n, size)
    sums = F.embedding_bag(places, tokens.double(), mode="sum")  # (n, D)
    return (queries.double() @ F.normalize(sums, dim=1, eps=1e-300).T).to(queries)
