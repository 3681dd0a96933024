"""What a newcomer trains first gets better: a method with its defaults, the bundled encoder, a minute on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from trained import METHODS

import sentlab
from sentlab.encoder.maps import Whitening
from sentlab.training.randomness import dropout_of


def test_the_bundled_encoder_says_a_dropout_that_it_can_bear() -> None:
    """Dropout of 0.1, which it never saw in pre-training, would drown every sentence in noise."""
    encoder = sentlab.Encoder.from_pretrained()
    assert set(dropout_of(encoder).values()) == {0.02}
    assert set(dropout_of(sentlab.methods.PaSeR(encoder, decoder_layers=1).decoder).values()) == {0.02}


def test_the_first_lines_of_the_readme_improve_the_encoder() -> None:
    encoder = sentlab.Encoder.from_pretrained(max_length=32)
    score = sentlab.dev_score(sentlab.data.load("toy-sts", "dev"))
    before = score(encoder)
    sentlab.set_seed(0)
    config = sentlab.TrainConfig(steps=20, learning_rate=1e-4)
    sentlab.fit(sentlab.methods.MoCo(encoder), sentlab.data.load("toy-sentences", "train"), config, progress=False)
    assert score(encoder) > before + 0.5


@pytest.mark.parametrize("name", ["MoCo", "SLICE"])
def test_a_method_made_under_a_map_to_fewer_dimensions_trains_without_it(name: str, small_encoder_folder: Path) -> None:
    pooling, build, rows = METHODS[name]
    encoder = sentlab.Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu")
    encoder.post = Whitening(8).fit(torch.randn(200, encoder.dim))
    method = build(encoder)
    encoder.post = None
    history = sentlab.fit(method, rows, sentlab.TrainConfig(steps=2, batch_size=4), progress=False)
    assert history.kept_step == 2
