"""set_dropout reaches every dropout: without it, a method's loss of one batch is always the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from sentlab import methods
from sentlab.training.randomness import dropout_of, set_dropout


def losses(method: Any, rows: Sequence[Any]) -> list[float]:
    """Three losses of one batch in training mode."""
    if isinstance(method, methods.ConSERT):
        method.views = ("none", "none")  # which are drawn in the loss
    batch = method.train().collate(rows)
    return [float(sum(method.loss(batch).values()).detach()) for _ in range(3)]


def test_without_dropout_every_method_has_one_loss_for_a_batch(
    case: tuple[Callable[[], Any], Sequence[Any]],
) -> None:
    make, rows = case
    method = make()
    set_dropout(method, 0.0)
    assert len(set(losses(method, rows[:3]))) == 1


def test_with_dropout_every_loss_of_a_batch_is_another(
    case: tuple[Callable[[], Any], Sequence[Any]],
) -> None:
    make, rows = case
    method = make()
    set_dropout(method, 0.3)
    always_without = isinstance(method, methods.ConSERT | methods.ContrastiveTension)
    assert len(set(losses(method, rows[:3]))) == (1 if always_without else 3)


def test_parts_that_keep_the_probability_in_an_attribute_are_reached() -> None:
    module = nn.Sequential(nn.MultiheadAttention(8, 2, dropout=0.1), nn.TransformerDecoderLayer(8, 2, 16, 0.1))
    module.append(nn.Dropout1d(0.1)).append(nn.AlphaDropout(0.1))
    assert set(dropout_of(module).values()) == {0.1}
    assert {"0.dropout", "1.multihead_attn.dropout", "1.dropout1.p", "2.p", "3.p"} <= dropout_of(module).keys()
    set_dropout(module, 0.25)
    assert set(dropout_of(module).values()) == {0.25}
