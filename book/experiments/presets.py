"""Three sizes of the same code: quick (offline, about a minute), real (public data) and paper (the paper's set-up)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from sentlab.data import STS_TASKS
from sentlab.encoder import Encoder
from sentlab.training import TrainConfig

from experiments import records


@dataclass(frozen=True)
class Preset:
    """What a chapter runs on."""

    name: str  # `quick`, `real` or `paper`
    encoder: str  # what `Encoder.from_pretrained` loads
    sentences: str  # corpus to train on
    dev: str  # corpus whose `dev` split chooses the step to keep
    tests: tuple[str, ...]  # corpora whose `test` split is evaluated
    train: TrainConfig  # how long and how fast
    settings: Any = None  # `RunSettings` of the paper
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of the method in the paper

    def __str__(self) -> str:
        cuda = torch.cuda.is_available()
        where = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} CPU thread(s)"
        return f"preset {self.name}: encoder {self.encoder}; methods train on {self.sentences}; {where}"


QUICK = TrainConfig(steps=450, batch_size=64, learning_rate=1e-3, eval_every=150)
LONG = TrainConfig(steps=1000, batch_size=64, learning_rate=2e-3, eval_every=50, keep="dev")
PRESETS = {
    "quick": Preset("quick", "tiny", "toy-sentences", "toy-sts", ("toy-sts",), QUICK),
    "real": Preset("real", "tiny", "sts-unlabelled", "stsb", STS_TASKS, LONG),
}


def preset(name: str | None = None, *, method: str = "paser") -> Preset:
    """Return the preset of that name, or of SENTLAB_PRESET, or `quick`; `paper` is the record `paper-scale/METHOD`."""
    name = name or os.environ.get("SENTLAB_PRESET", "quick")
    if name != "paper":
        return PRESETS[name]
    from experiments.run import arguments_of  # brings all methods

    settings = records.get(f"{records.PAPER_SCALE}{method}").settings
    settings = getattr(settings, "run", settings)  # what the runs of a sweep have in common
    tests, corpus = tuple(task for task in settings.test if task in STS_TASKS), settings.corpora[0].corpus
    train = TrainConfig(**settings.train or {})
    return Preset(name, settings.encoder.source, corpus, settings.dev, tests, train, settings, arguments_of(settings))


def encoder(preset: Preset, pooling: str = "cls", max_length: int = 32) -> Encoder:
    """Load the preset's encoder with a pooling and a maximum length in tokens, in the paper's preset those of it."""
    own = preset.settings and preset.settings.encoder.model_dump(include={"pooling", "max_length"})
    return Encoder.from_pretrained(preset.encoder, **own or {"pooling": pooling, "max_length": max_length})


def config(preset: Preset, *, quick: Mapping[str, Any] = {}, **changes: Any) -> TrainConfig:
    """Return the preset's training, but for that of the paper with changes, or those of `quick`, and no evaluations."""
    if preset.settings:
        return preset.train
    return replace(preset.train, **{"eval_every": None, **changes, **(quick if preset.name == "quick" else {})})
