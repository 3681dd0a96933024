"""A batch in parts: rows of like length go through a model together, which saves most of the padding."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS_PER_PART = 64
Rows = Tensor | slice  # which rows of a batch


def in_parts(
    function: Callable[[Rows, int | None], tuple[Tensor, ...]], lengths: Tensor, width: int
) -> tuple[Tensor, ...]:
    """Compute something for every row of a batch, on a CPU for rows of like length at a time.

    A CPU's time grows with the padded tokens. Other devices do one large part faster than several small ones.

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
    order = lengths.argsort(stable=True)
    made = []
    for rows in order.split(ROWS_PER_PART):
        end = max(1, int(lengths[rows].max()))
        made.append([F.pad(x, (0, 0, 0, width - end)) if x.ndim == 3 else x for x in function(rows, end)])
    back = order.argsort()
    return tuple(torch.cat(pieces)[back] for pieces in zip(*made, strict=True))
