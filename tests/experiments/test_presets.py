"""The presets: one code path in three sizes, and the same training for the same call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from experiments import presets
from experiments.presets import PRESETS, preset

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.methods import SimCSE


def test_quick_is_the_default_and_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENTLAB_PRESET", raising=False)
    assert preset().name == "quick"
    monkeypatch.setenv("SENTLAB_PRESET", "real")
    assert preset().name == "real"
    assert preset("paper").encoder == "bert-base-uncased"


def test_presets_name_corpora_that_exist_and_quick_needs_nothing_from_outside() -> None:
    quick, known = PRESETS["quick"], set(data.corpora().index)
    assert quick.encoder == "tiny"
    assert {quick.sentences, quick.dev, *quick.tests} <= set(data.toy.NAMES)
    for one in PRESETS.values():
        assert {one.sentences, one.dev, *one.tests} <= known


def test_the_same_call_gives_the_same_encoder(small_encoder_folder: Path) -> None:
    config = replace(PRESETS["quick"].train, steps=2, batch_size=4, eval_every=None)
    vectors = []
    for _ in range(2):
        torch.rand(3)  # what was drawn before has no part in it
        encoder = Encoder.from_pretrained(str(small_encoder_folder))
        method, history = presets.train(SimCSE, encoder, ["a dog", "a cat", "a car", "men"], config, temperature=0.1)
        assert history.losses
        vectors.append(method.encoder.encode(["a dog runs"]))
    assert (vectors[0] == vectors[1]).all()
