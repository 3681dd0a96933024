"""A sentence mapped to pseudo tokens and back by one attention: the part of PT-BERT that an encoder keeps.

Tan et al. (2022), "A Sentence is Worth 128 Pseudo Tokens". `methods.PTBERT` trains it; h is the pooling "pseudo".
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sentlab.encoder.inference import own_world
from sentlab.encoder.pooling import POOLINGS


def attention_weights(queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute the softmax of Eq. 2: how much each query attends to each key.

    Of queries (B, N, D), or (N, D) for the same in each sentence, and keys (B, M, D) come weights (B, N, M). Those of a
    query add up to 1, or are all 0 where the mask, (B, M), has 0 for all its keys, as for padding. None: 1 everywhere.

    Example:
        >>> attention_weights(torch.zeros(1, 2), torch.ones(1, 4, 2)).tolist()  # a query that favours no key
        [[[0.25, 0.25, 0.25, 0.25]]]
    """
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(keys.shape[-1])  # (B, N, M)
    if mask is None:
        return scores.softmax(dim=-1)
    padding = ~mask.bool().unsqueeze(1)  # (B, 1, M)
    return scores.masked_fill(padding, torch.finfo(scores.dtype).min).softmax(dim=-1).masked_fill(padding, 0.0)


class PseudoTokens(nn.Module):
    """Pseudo tokens P (m, D) and the attention that maps a sentence Y to them (Eq. 1) and back (Eq. 3), to a vector h.

    Args:
        dim: D of the hidden states.
        count: m, the number of pseudo tokens.
        keys: `tokens`: Y is the last layer's token sequence. `pooled`: Y is one vector, the pooled one behind BERT's
            linear and tanh layer. The softmax is then over a single key, and P has no effect at all (see `PTBERT`).
        pooling: how the token sequence becomes one vector, `cls`, `mean` or `max`. The sequence is Eq. 3's outputs with
            keys="tokens", and the hidden states with keys="pooled".
        heads: of the attention; they divide D. The paper's equations have one, the released code 12.
        bias: of query, key and value, as in the released code.
        dropout: of the attention's weights while training, as in the released code.
    """

    @own_world()
    def __init__(
        self,
        dim: int,
        count: int = 128,
        *,
        keys: str = "tokens",
        pooling: str = "cls",
        heads: int = 1,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        if keys not in ("tokens", "pooled") or pooling not in ("cls", "mean", "max") or dim % heads:
            raise ValueError(f"no pseudo tokens of width {dim} with keys={keys!r}, pooling={pooling!r}, heads={heads}")
        self.settings: dict[str, Any] = {"dim": dim, "count": int(count), "keys": keys, "pooling": pooling}
        self.settings |= {"heads": heads, "bias": bias, "dropout": dropout}
        self.heads, self.dropout = heads, dropout
        self.embedding = nn.Parameter(torch.randn(count, dim))
        self.query, self.key, self.value = (nn.Linear(dim, dim, bias=bias) for _ in range(3))
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.Tanh()) if keys == "pooled" else nn.Identity()

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Compute h of each sentence (Eq. 3) from the last layer's hidden states: (B, L, D), (B, L) -> (B, D)."""
        pool = POOLINGS[self.settings["pooling"]]
        if self.settings["keys"] == "pooled":
            y = self.head(pool((tokens,), mask)).unsqueeze(1)  # (B, 1, D)
            return self.back(y, self.pseudo(y))[:, 0]
        z = self.pseudo(tokens, mask)  # (B, m, D)
        if self.settings["pooling"] == "cls":  # no need for the others
            return self.back(tokens[:, :1], z)[:, 0]
        return pool((self.back(tokens, z),), mask)

    def pseudo(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute Z', what each pseudo token makes of each sentence (Eq. 1): (B, L, D), (B, L) -> (B, m, D)."""
        return self._attend(self.embedding, y, mask)

    def weights(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute how much each pseudo token attends to each token, the mean of all heads (Eq. 2): -> (B, m, L)."""
        return torch.stack(self._weights(self.embedding, y, mask)).mean(dim=0)

    def back(self, y: Tensor, z: Tensor) -> Tensor:
        """Compute Eq. 3, with the same attention: (B, L, D), (B, m, D) -> (B, L, D)."""
        return self._attend(y, z)

    def _attend(self, queries: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend in all heads: (N, D) or (B, N, D), and (B, M, D), (B, M) -> (B, N, D)."""
        values = self.value(y).chunk(self.heads, dim=-1)
        weights = (F.dropout(each, self.dropout, self.training) for each in self._weights(queries, y, mask))
        return torch.cat([each @ value for each, value in zip(weights, values, strict=True)], dim=-1)

    def _weights(self, queries: Tensor, y: Tensor, mask: Tensor | None) -> list[Tensor]:
        """Compute Eq. 2 in each head."""
        parts = (self.query(queries).chunk(self.heads, dim=-1), self.key(y).chunk(self.heads, dim=-1))
        return [attention_weights(query, key, mask) for query, key in zip(*parts, strict=True)]
