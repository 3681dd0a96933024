"""A batch in parts: rows of like length go through a model together, which saves most of the padding."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from sentlab.encoder import Encoder

PLACES_PER_PART = 1024  # rows times length; a longer row is a part of its own
Rows = Tensor | slice  # which rows of a batch


def in_parts(
    function: Callable[[Rows, int | None], tuple[Tensor, ...]], lengths: Tensor, width: int
) -> tuple[Tensor, ...]:
    """Compute something for every row of a batch, on a CPU for rows of like length at a time.

    A CPU's time grows with the padded tokens. Other devices take one large part faster than several small ones.

    Args:
        function: (rows, end) -> tensors for N of the rows, computed from their first `end` places, `x[rows, :end]`.
            Each tensor is (N, D) or (N, end, D).
        lengths: (B,), how many places of each row count.
        width: L, the padded length of the batch.

    Returns:
        The tensors of all rows in the order of the batch, (B, D) or (B, L, D). Places that no part computed are zero.

    Example:
        >>> (states,) = in_parts(lambda rows, end: (model(x[rows, :end]),), lengths, x.shape[1])
    """
    if lengths.device.type != "cpu":
        return function(slice(None), None)
    order, sizes = lengths.argsort(stable=True), [0]
    for length in lengths[order].tolist():
        if sizes[-1] and (sizes[-1] + 1) * length > PLACES_PER_PART:
            sizes.append(0)
        sizes[-1] += 1
    made = []
    for rows in order.split(sizes):
        end = max(1, int(lengths[rows[-1]]))
        made.append([F.pad(x, (0, 0, 0, width - end)) if x.ndim == 3 else x for x in function(rows, end)])
    back = order.argsort()
    return tuple(torch.cat(pieces)[back] for pieces in zip(*made, strict=True))


def encode_in_parts(
    encoder: Encoder, input_ids: Tensor, mask: Tensor, pooling: str | None = None
) -> tuple[Tensor, Tensor]:
    """Encode a batch, on a CPU in parts. With dropout off, the result is that of one padded batch.

    Args:
        encoder: its `post` is left out.
        input_ids, mask: (B, L). The mask is 0 at padding.
        pooling: what makes the vectors. None takes the encoder's own.

    Returns:
        The vectors, (B, D), and the last hidden states, (B, L, D), which may be zero at padding.

    Example:
        >>> vectors, hidden = encode_in_parts(encoder, batch["input_ids"], batch["attention_mask"])
    """
    words = encoder.word_embeddings(input_ids)  # (B, L, D); one look-up, for the gradient of each fills a (V, D) matrix

    def read(rows: Rows, end: int | None) -> tuple[Tensor, Tensor]:
        hidden = encoder.hidden_states(words[rows, :end], mask[rows, :end])
        return encoder.pool(hidden, mask[rows, :end], pooling), hidden[-1]

    vectors, hidden = in_parts(read, mask.sum(1), mask.shape[1])
    return vectors, hidden
