"""Encoding with dropout on, as a training step does, and the record of what it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments import records
from experiments.dropout import UnderDropout, dropout, masked_lm

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate_sts
from sentlab.training.randomness import dropout_of

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
    torch.manual_seed(3)
    with torch.no_grad():
        expected = own.encoder.train()(batch["input_ids"], batch["attention_mask"])
    assert own.encode(TEXTS[:1]) == pytest.approx(expected.numpy(), abs=1e-6)


def test_a_record_of_dropout_holds_what_the_evaluation_finds(tmp_path: Path) -> None:
    encoder = {"source": "tiny", "pooling": "cls", "max_length": 32}
    settings = {"encoders": {"tiny": encoder}, "poolings": ["cls", "mean"], "rates": [0.0, 0.3], "seeds": [0, 1]}
    settings = {"kind": "dropout", "settings": settings | {"corpus": "toy-sts"}}
    (tmp_path / "start.json").write_text(json.dumps(settings))
    results = dropout(records.get("start", tmp_path)).results
    assert results is not None
    assert records.get("start", tmp_path).results == results
    found = results["encoders"]["tiny"]
    tiny, corpus = Encoder.from_pretrained("tiny", pooling="mean", max_length=32), data.load("toy-sts", "dev")
    expected = evaluate_sts(UnderDropout(tiny, 0.3, seed=1), corpus, progress=False).average
    assert found["scores"]["mean"]["0.3"][1] == pytest.approx(expected, abs=1e-3)
    assert found["scores"]["cls"]["0.0"][0] == found["scores"]["cls"]["0.0"][1] > found["scores"]["cls"]["0.3"][0]
    assert found["masked_lm"][1] == pytest.approx(masked_lm(tiny, list(dict.fromkeys(p.text_a for p in corpus)), 1))
