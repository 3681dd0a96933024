"""Three sizes of the same code: quick (offline, about a minute), real (public data) and paper (the paper's set-up).

And what a chapter trains while it runs: the preset's encoder, for few steps if quick.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from sentlab.data import STS_TASKS
from sentlab.encoder import Encoder
from sentlab.training import History, TrainConfig, fit, set_seed


@dataclass(frozen=True)
class Preset:
    """What a chapter runs on."""

    name: str  # `quick`, `real` or `paper`
    encoder: str  # what `Encoder.from_pretrained` loads
    sentences: str  # corpus of unlabelled sentences to train on
    dev: str  # corpus whose `dev` split chooses the step to keep
    tests: tuple[str, ...]  # corpora whose `test` split is evaluated
    train: TrainConfig  # how long and how fast

    def __str__(self) -> str:
        cuda = torch.cuda.is_available()
        where = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} CPU thread(s)"
        return f"preset {self.name}: encoder {self.encoder}; methods train on {self.sentences}; {where}"


TOY = ("toy-sentences", "toy-sts", ("toy-sts",))
REAL = ("sts-unlabelled", "stsb", STS_TASKS)
QUICK = TrainConfig(steps=450, batch_size=64, learning_rate=1e-3, eval_every=150)
LONG = TrainConfig(steps=1000, batch_size=64, learning_rate=2e-3, eval_every=50, keep="dev")
PAPER = TrainConfig(epochs=5, batch_size=64, learning_rate=3e-5, eval_every=125, keep="dev")
PRESETS = {
    "quick": Preset("quick", "tiny", *TOY, QUICK),
    "real": Preset("real", "tiny", *REAL, LONG),
    "paper": Preset("paper", "bert-base-uncased", *REAL, PAPER),
}


def preset(name: str | None = None) -> Preset:
    """Return the preset of that name; None: the one that the variable SENTLAB_PRESET names, else `quick`."""
    return PRESETS[name or os.environ.get("SENTLAB_PRESET", "quick")]


def encoder(preset: Preset, pooling: str = "cls", max_length: int = 32) -> Encoder:
    """Load the preset's encoder with a pooling and a maximum length in tokens."""
    return Encoder.from_pretrained(preset.encoder, pooling=pooling, max_length=max_length)


def config(preset: Preset, *, quick: Mapping[str, Any] = {}, **changes: Any) -> TrainConfig:
    """Return the preset's training with other fields, without evaluations; `quick` are more changes if it is quick."""
    return replace(preset.train, **{"eval_every": None, **changes, **(quick if preset.name == "quick" else {})})


def train(
    kind: Callable[..., Any],
    encoder: Encoder,
    rows: Any,
    config: TrainConfig,
    dev: Callable[[Encoder], float] | None = None,
    *,
    on_step: Callable[[int, Any], Mapping[str, float] | None] | None = None,
    **arguments: Any,
) -> tuple[Any, History]:
    """Make a method of this kind with the arguments, and train it and the encoder in place, as `sentlab.fit` does.

    The seed of the config is set before the method's heads are drawn, so that the same call gives the same.
    """
    set_seed(config.seed)
    method = kind(encoder, **arguments)
    return method, fit(method, rows, config, dev, on_step=on_step)
