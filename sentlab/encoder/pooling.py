"""One vector a sentence, from the hidden states of its tokens.

Every function in `POOLINGS` takes the embedding output and the output of each layer, (B, L, D), and a mask (B, L). The
mask is 1 or True where there is a token, special tokens included, 0 or False in padding. The result is (B, D). A row
in which all is masked gives zeros, but for `cls`, which never looks at the mask.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Pooling = Callable[[tuple[Tensor, ...], Tensor], Tensor]


def masked_mean(tokens: Tensor, mask: Tensor) -> Tensor:
    """Take the mean over the unmasked tokens: (B, L, D), (B, L) -> (B, D); zeros where all is masked.

    Example:
        >>> masked_mean(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[1, 1, 0]]))
        tensor([[2.]])
    """
    kept = tokens.masked_fill(~mask.bool().unsqueeze(-1), 0.0)  # (B, L, D); also hides inf or nan in padding
    count = mask.bool().sum(dim=1, keepdim=True)  # (B, 1)
    return kept.sum(dim=1) / count.clamp(min=1)


def masked_max(tokens: Tensor, mask: Tensor) -> Tensor:
    """Take the maximum over unmasked tokens in each dimension: (B, L, D), (B, L) -> (B, D); zeros if all is masked."""
    padding = ~mask.bool().unsqueeze(-1)  # (B, L, 1)
    highest = tokens.masked_fill(padding, torch.finfo(tokens.dtype).min).amax(dim=1)  # (B, D)
    return highest.masked_fill(padding.all(dim=1), 0.0)


POOLINGS: dict[str, Pooling] = {
    "cls": lambda states, mask: states[-1][:, 0],  # [CLS], or <s> in the RoBERTa family
    "mean": lambda states, mask: masked_mean(states[-1], mask),
    "max": lambda states, mask: masked_max(states[-1], mask),
    "last2": lambda states, mask: masked_mean((states[-2] + states[-1]) / 2, mask),
    # The first LAYER, states[1], as BERT-whitening and SimCSE describe it ("first-last avg."). Released code averages
    # the embedding output, states[0], with the last layer and calls it the same. Its scores differ.
    "first_last": lambda states, mask: masked_mean((states[1] + states[-1]) / 2, mask),
    "embedding_last": lambda states, mask: masked_mean((states[0] + states[-1]) / 2, mask),
}
