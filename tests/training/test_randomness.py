"""Dropout is set in every place that holds it, and random states come back where there are fewer devices."""

from __future__ import annotations

import pytest
from torch import nn

from sentlab.training import randomness
from sentlab.training.randomness import dropout_of, set_dropout


def test_parts_that_keep_the_probability_in_an_attribute_are_reached() -> None:
    module = nn.Sequential(nn.MultiheadAttention(8, 2, dropout=0.1), nn.TransformerDecoderLayer(8, 2, 16, 0.1))
    module.append(nn.Dropout1d(0.1)).append(nn.AlphaDropout(0.1))
    assert set(dropout_of(module).values()) == {0.1}
    assert {"0.dropout", "1.multihead_attn.dropout", "1.dropout1.p", "2.p", "3.p"} <= dropout_of(module).keys()
    set_dropout(module, 0.25)
    assert set(dropout_of(module).values()) == {0.25}


def test_random_states_of_gpus_that_are_gone_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    state, seen = randomness.read(), []
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setattr("torch.cuda.set_rng_state", lambda known, device: seen.append((known.tolist(), device)))
    randomness.restore(state | {"cuda": [[1, 2], [3, 4]]})
    assert seen == [([1, 2], 0)]
