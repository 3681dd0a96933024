"""What a GPU must give: the vectors of a CPU, scores in float32, and trainings that resume. `pytest -m gpu`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate_sts
from sentlab.methods import SimCSE
from sentlab.training import TrainConfig, fit, set_seed

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


@pytest.fixture
def sentences() -> list[str]:
    return list(data.load("toy-sentences", "train"))[:200]


def test_vectors_are_those_of_a_cpu(sentences: list[str]) -> None:
    here, there = (Encoder.from_pretrained("tiny", device=device) for device in ("cpu", "cuda"))
    expected = here.encode(sentences)
    assert np.allclose(there.encode(sentences, precision="float32"), expected, atol=1e-4)
    half = there.encode(sentences)  # bfloat16 unless one asks
    assert np.allclose(half, expected, atol=0.1)
    assert not np.allclose(half, expected, atol=1e-4)


def test_scores_are_those_of_a_cpu() -> None:
    scores = [
        evaluate_sts(Encoder.from_pretrained("tiny", pooling="mean", device=device), ["toy-sts"]).scores["toy-sts"]
        for device in ("cpu", "cuda")
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)


def test_a_training_that_resumes_ends_as_if_uninterrupted(sentences: list[str], tmp_path: Path) -> None:
    def train(folder: Path, steps: int) -> np.ndarray:
        set_seed(0)
        method = SimCSE(Encoder.from_pretrained("tiny", device="cuda"))
        config = TrainConfig(steps=6, batch_size=8, precision="float32", checkpoint_every=3)

        def stop(step: int, _: object) -> None:
            if step == steps:
                raise KeyboardInterrupt

        fit(method, sentences, config, folder=folder, resume=True, progress=False, on_step=stop)
        return method.encoder.encode(sentences, precision="float32")

    whole = train(tmp_path / "whole", 0)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "parts", 5)
    assert np.allclose(train(tmp_path / "parts", 0), whole, atol=1e-4)  # a GPU adds in no fixed order
