"""TrainConfig refuses what it cannot train with, and names it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sentlab.training import TrainConfig

NAN = math.nan


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("steps", value) for value in (0, -1, 2.5, 3.0, NAN, math.inf)),
        *(("epochs", value) for value in (0, -1, NAN, math.inf)),
        *((name, value) for name in ("batch_size", "accumulate", "checkpoint_every") for value in (0, -1, 1.5, NAN)),
        *(("eval_every", value) for value in (0, -1, 2.5, NAN)),
        *(("learning_rate", value) for value in (0.0, -1e-3, NAN, math.inf)),
        *((name, value) for name in ("warmup", "decay") for value in (-0.1, 1.1, NAN)),
        *((name, value) for name in ("eps", "weight_decay") for value in (-1, NAN, math.inf)),
        *(("max_grad_norm", value) for value in (0, -1, NAN)),
        *(("seed", value) for value in (-1, 0.5, 2**32)),
        *(("betas", value) for value in ((0.9,), (0.9, 1.0), (-0.1, 0.9), (0.9, NAN), 0.9)),
        ("keep", "best"),
        ("precision", "float16"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        TrainConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("steps", "10"), ("epochs", None), ("seed", None), ("batch_size", True), ("betas", ("a", "b"))]
)
def test_what_is_no_number_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=name):
        TrainConfig(**{name: value})


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"warmup=0\.6 and decay=0\.5"):
        TrainConfig(warmup=0.6, decay=0.5)
    with pytest.raises(ValueError, match=r"batch_size 8 .* accumulate=3"):
        TrainConfig(batch_size=8, accumulate=3)


def test_numbers_become_pythons_own() -> None:
    config = TrainConfig(steps=np.int64(3), learning_rate=np.float64(0.1), betas=[0.9, 0.98])  # type: ignore[arg-type]
    assert (type(config.steps), type(config.learning_rate), config.betas) == (int, float, (0.9, 0.98))
    assert TrainConfig(max_grad_norm=math.inf, warmup=1).warmup == 1.0
