"""What a chapter trains while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.experiments import records
from sentlab.experiments.presets import PRESETS
from sentlab.methods import SimCSE
from sentlab.report import live

Save = Callable[..., None]


def test_the_configuration_is_the_presets_at_the_rate_of_a_record(
    save: Save, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "folder", lambda: results)
    save("some/run", 40.0)
    real, quick = PRESETS["real"], PRESETS["quick"]
    assert live.config(real, quick={"steps": 3}) == replace(real.train, eval_every=None)
    found = live.config(quick, "some/run", keep="last", steps=500, quick={"steps": 3})
    assert found == replace(quick.train, eval_every=None, learning_rate=0.001, keep="last", steps=3)


def test_the_same_call_gives_the_same_encoder(small_encoder_folder: Path) -> None:
    config = replace(PRESETS["quick"].train, steps=2, batch_size=4, eval_every=None)
    vectors = []
    for _ in range(2):
        torch.rand(3)  # what was drawn before has no part in it
        encoder = Encoder.from_pretrained(str(small_encoder_folder))
        method, history = live.train(SimCSE, encoder, ["a dog", "a cat", "a car", "men"], config, temperature=0.1)
        assert history.losses
        vectors.append(method.encoder.encode(["a dog runs"]))
    assert (vectors[0] == vectors[1]).all()
