"""What a chapter trains while it runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from experiments import live
from experiments.presets import PRESETS

from sentlab.encoder import Encoder
from sentlab.methods import SimCSE


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
