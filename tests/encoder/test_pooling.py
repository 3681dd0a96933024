"""The poolings against a slow literal loop, and what they do with padding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sentlab.encoder.pooling import POOLINGS

LAYERS = {"mean": (-1,), "max": (-1,), "last2": (-2, -1), "first_last": (1, -1), "embedding_last": (0, -1)}


@pytest.fixture
def states() -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(3, 5, 4, generator=generator, dtype=torch.float64) for _ in range(4))


MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]])


@pytest.mark.parametrize("name", LAYERS)
def test_equals_a_loop_over_tokens(name: str, states: tuple[Tensor, ...]) -> None:
    pooled = POOLINGS[name](states, MASK)
    for row in range(3):
        tokens = [
            torch.stack([states[layer][row, i] for layer in LAYERS[name]]).mean(0) for i in range(5) if MASK[row, i]
        ]
        expected = torch.stack(tokens).max(0).values if name == "max" else torch.stack(tokens).mean(0)
        torch.testing.assert_close(pooled[row], expected)


@pytest.mark.parametrize("name", POOLINGS)
def test_what_is_in_the_padding_never_shows(name: str, states: tuple[Tensor, ...]) -> None:
    for garbage in (1e30, -1e30, float("inf"), float("nan")):
        spoilt = tuple(layer.masked_fill((MASK == 0).unsqueeze(-1), garbage) for layer in states)
        assert torch.equal(POOLINGS[name](states, MASK), POOLINGS[name](spoilt, MASK.bool()))


@pytest.mark.parametrize("name", LAYERS)
def test_all_masked_gives_zeros_and_finite_gradients(name: str, states: tuple[Tensor, ...]) -> None:
    leaves = tuple(layer.clone().requires_grad_() for layer in states)
    pooled = POOLINGS[name](leaves, torch.zeros(3, 5, dtype=torch.long))
    assert torch.equal(pooled, torch.zeros(3, 4, dtype=torch.float64))
    pooled.sum().backward()
    assert all(leaf.grad is None or leaf.grad.isfinite().all() for leaf in leaves)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_its_type_and_stays_finite(
    name: str, dtype: torch.dtype, states: tuple[Tensor, ...]
) -> None:
    half = tuple(layer.to(dtype) for layer in states)
    pooled = POOLINGS[name](half, MASK)
    assert pooled.dtype is dtype
    torch.testing.assert_close(pooled.double(), POOLINGS[name](states, MASK), atol=0.05, rtol=0.05)
