"""Three sizes of the same code: quick (offline, about a minute), real (public data) and paper (the paper's set-up)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
from sentlab.data import STS_TASKS
from sentlab.training import TrainConfig


@dataclass(frozen=True)
class Preset:
    """What a chapter runs on.

    Args:
        name: `quick`, `real` or `paper`.
        encoder: what `Encoder.from_pretrained` loads.
        sentences: corpus of unlabelled sentences to train on.
        dev: corpus whose `dev` split chooses the step to keep.
        tests: corpora whose `test` split is evaluated.
        train: how long and how fast.
    """

    name: str
    encoder: str
    sentences: str
    dev: str
    tests: tuple[str, ...]
    train: TrainConfig

    def __str__(self) -> str:
        cuda = torch.cuda.is_available()
        where = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} CPU thread(s)"
        return f"preset {self.name}: encoder {self.encoder}; methods train on {self.sentences}; {where}"


REAL: dict[str, Any] = {"sentences": "sts-unlabelled", "dev": "stsb", "tests": STS_TASKS}
PRESETS = {
    "quick": Preset(
        "quick",
        encoder="tiny",
        sentences="toy-sentences",
        dev="toy-sts",
        tests=("toy-sts",),
        train=TrainConfig(steps=450, batch_size=64, learning_rate=1e-3, eval_every=150),
    ),
    "real": Preset(
        "real",
        encoder="tiny",
        train=TrainConfig(steps=1000, batch_size=64, learning_rate=2e-3, eval_every=50, keep="dev"),
        **REAL,
    ),
    "paper": Preset(
        "paper",
        encoder="bert-base-uncased",
        train=TrainConfig(epochs=5, batch_size=64, learning_rate=3e-5, eval_every=125, keep="dev"),
        **REAL,
    ),
}


def preset(name: str | None = None) -> Preset:
    """Return the preset of that name; None: the one that the variable SENTLAB_PRESET names, else `quick`."""
    return PRESETS[name or os.environ.get("SENTLAB_PRESET", "quick")]
