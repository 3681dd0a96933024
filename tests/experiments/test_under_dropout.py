"""Encoding with dropout on, as a training step does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from experiments.under_dropout import UnderDropout

from sentlab.encoder import Encoder
from sentlab.training.randomness import dropout_of, set_dropout

TEXTS = ["A man plays a guitar.", "It rains.", "Two dogs run over a wide green field in the sun.", "It rains."]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.from_pretrained("tiny", pooling="cls")


def test_without_dropout_it_is_the_encoder(encoder: Encoder) -> None:
    found = UnderDropout(encoder, 0.0).encode(TEXTS)
    assert found == pytest.approx(np.asarray(encoder.encode(TEXTS, progress=False)), abs=1e-5)


def test_more_dropout_moves_vectors_further_and_a_seed_fixes_them(encoder: Encoder) -> None:
    still = UnderDropout(encoder, 0.0).encode(TEXTS)
    far = [np.linalg.norm(UnderDropout(encoder, p).encode(TEXTS) - still) for p in (0.01, 0.1, 0.5)]
    assert far == sorted(far)
    assert far[0] > 0.01
    again = UnderDropout(encoder, 0.1)
    assert (again.encode(TEXTS) == again.encode(TEXTS)).all()
    assert (again.encode(TEXTS) != UnderDropout(encoder, 0.1, seed=1).encode(TEXTS)).any()
    assert (again.encode(TEXTS)[1] != again.encode(TEXTS)[3]).any()  # one text, two masks


def test_the_encoder_and_the_random_numbers_stay(encoder: Encoder) -> None:
    encoder.eval()
    before, state = dropout_of(encoder), torch.get_rng_state()
    UnderDropout(encoder, 0.3).encode(TEXTS)
    assert dropout_of(encoder) == before
    assert not encoder.training
    assert torch.equal(torch.get_rng_state(), state)


def test_one_step_of_training_sees_the_same_vectors(encoder: Encoder) -> None:
    own = UnderDropout(encoder, 0.1, seed=3)
    batch = encoder.tokenize(TEXTS[:1])
    set_dropout(own.encoder, 0.1)
    torch.manual_seed(3)
    with torch.no_grad():
        expected = own.encoder.train()(batch["input_ids"], batch["attention_mask"])
    assert own.encode(TEXTS[:1]) == pytest.approx(expected.numpy(), abs=1e-6)
