"""One vector a sentence, from the hidden states of its tokens.

Every function in `POOLINGS` takes the embedding output and the output of each layer, (B, L, D), and a mask (B, L). The
mask is 1 or True where there is a token, special tokens included, 0 or False in padding. The result is (B, D). A row
in which all is masked gives zeros, but for `cls`, which never looks at the mask.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

HiddenStates = tuple[Tensor, ...]
Pooling = Callable[[HiddenStates, Tensor], Tensor]


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


def cls(hidden_states: HiddenStates, mask: Tensor) -> Tensor:
    """Take the first token of the last layer: [CLS], or <s> in the RoBERTa family."""
    return hidden_states[-1][:, 0]


def mean(hidden_states: HiddenStates, mask: Tensor) -> Tensor:
    """Take the mean of the last layer's tokens."""
    return masked_mean(hidden_states[-1], mask)


def max(hidden_states: HiddenStates, mask: Tensor) -> Tensor:
    """Take the maximum of the last layer's tokens, one dimension at a time."""
    return masked_max(hidden_states[-1], mask)


def last2(hidden_states: HiddenStates, mask: Tensor) -> Tensor:
    """Take the mean of the tokens of the last two layers."""
    return masked_mean((hidden_states[-2] + hidden_states[-1]) / 2, mask)


def first_last(hidden_states: HiddenStates, mask: Tensor) -> Tensor:
    """Take the mean of the tokens of the first and the last layer.

    The first LAYER, `hidden_states[1]`, as BERT-whitening and SimCSE describe it ("first-last avg."). Code that takes
    `hidden_states[0]` averages the embedding output instead: that is `embedding_last`, with other scores.
    """
    return masked_mean((hidden_states[1] + hidden_states[-1]) / 2, mask)


def embedding_last(hidden_states: HiddenStates, mask: Tensor) -> Tensor:
    """Take the mean of the tokens of the embedding output and the last layer: what released code calls "first-last"."""
    return masked_mean((hidden_states[0] + hidden_states[-1]) / 2, mask)


POOLINGS: dict[str, Pooling] = {each.__name__: each for each in (cls, mean, max, last2, first_last, embedding_last)}
