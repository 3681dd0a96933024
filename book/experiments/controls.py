"""Variants of SLICE that are our own comparisons: without spans, and with the first and last token for a span."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from sentlab.methods.slice import SLICE, outside
from torch import Tensor


class WholePassage(SLICE):
    """SLICE without spans, as a control: a passage is the mean of all its tokens. Rows and loss stay the same.

    With `in_batch` it decides, beside `SLICE`, what comes from spans and what from negatives. Sizes have no effect.
    """

    def similarities(self, queries: Tensor, tokens: Tensor, units: Tensor) -> Tensor:
        inside = (units >= 0).to(tokens.dtype)  # (G, P, L)
        sums = torch.einsum("gpl,gpld->gpd", inside, tokens)  # which have the cosine of the means
        cosines = F.cosine_similarity(queries.unsqueeze(2), sums.unsqueeze(1), dim=-1)  # (G, Q, P)
        return ((1 + cosines) / 2).masked_fill(~inside.any(-1).unsqueeze(1), 0.0)


class StartEnd(SLICE):
    """SLICE with another span vector, as in DensePhrases: the vectors of its first and its last token side by side.

    Source: Lee et al. (2021), "Learning Dense Representations of Phrases at Scale", section 3; SLICE, section 5.
    """

    def phrase_vectors(self, tokens: Tensor, units: Tensor) -> Tensor:
        first, last = _ends(units >= 0)
        rows = torch.arange(len(tokens), device=tokens.device)
        return torch.cat([tokens[rows, first], tokens[rows, last]], dim=-1)  # (B, 2D)

    def similarities(self, queries: Tensor, tokens: Tensor, units: Tensor) -> Tensor:
        words = torch.arange(int(units.max()) + 1, device=units.device)
        first, last = _ends(units.unsqueeze(-2) == words.unsqueeze(-1))  # (G, P, W) each
        starts, ends = (tokens.take_along_dim(place.unsqueeze(-1), 2) for place in (first, last))  # (G, P, W, D) each
        left, right = F.normalize(queries, dim=-1).chunk(2, dim=-1)  # (G, Q, D) each
        from_start, from_end = torch.einsum("gqd,gpwd->gqpw", left, starts), torch.einsum("gqd,gpwd->gqpw", right, ends)
        start_squares, end_squares = (x.square().sum(-1).unsqueeze(1) for x in (starts, ends))  # (G, 1, P, W) each
        # with a graph, also where no passage has a span
        best = (0.0 * queries[..., :1] - 1.0).expand(-1, -1, units.shape[1])  # (G, Q, P)
        for size in range(self.min_size, min(self.max_size, len(words)) + 1):
            stop = len(words) + 1 - size
            norms = (start_squares[..., :stop] + end_squares[..., size - 1 :]).sqrt()
            cosines = (from_start[..., :stop] + from_end[..., size - 1 :]) / norms.clamp(min=1e-8)
            best = torch.maximum(best, cosines.masked_fill(outside(units, size), -1.0).max(dim=-1).values)
        return (1 + best) / 2


def _ends(inside: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the last true place, (..., L) -> (...) each. They are 0 and L - 1 where nothing is true."""
    found = inside.to(torch.uint8)
    return found.argmax(dim=-1), inside.shape[-1] - 1 - found.flip(-1).argmax(dim=-1)
