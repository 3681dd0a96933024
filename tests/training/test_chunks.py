"""A batch in parts: the same results, in the same order, from fewer padded places."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sentlab.training import chunks
from sentlab.training.chunks import Rows, in_parts

LENGTHS = torch.tensor([3, 7, 1, 0, 5, 7, 2])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_parts_give_what_the_whole_batch_gives(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(chunks, "ROWS_PER_PART", size)
    torch.manual_seed(0)
    mask = torch.arange(8) < LENGTHS.unsqueeze(1)  # (7, 8)
    x = torch.randn(7, 8, 4, requires_grad=True)
    shapes = []

    def function(rows: Rows, end: int | None) -> tuple[Tensor, Tensor]:
        part = x[rows, :end] * mask[rows, :end].unsqueeze(-1)
        shapes.append(part.shape[:2])
        return part.sum(1), part.square()

    sums, squares = in_parts(function, LENGTHS, 8)
    whole = x * mask.unsqueeze(-1)
    torch.testing.assert_close(sums, whole.sum(1))
    torch.testing.assert_close(squares, whole.square())
    for got, want in ((sums, whole.sum(1)), (squares, whole.square())):
        torch.testing.assert_close(*(torch.autograd.grad((y**2).sum(), x, retain_graph=True) for y in (got, want)))
    assert all(rows <= size for rows, _ in shapes)
    # each part ends with its longest row
    ordered = LENGTHS.sort().values.split(size)
    assert [end for _, end in shapes] == [max(1, int(part.max())) for part in ordered]
