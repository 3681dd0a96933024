"""What a chapter trains while it runs: the preset's encoder, for few steps if quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sentlab.encoder import Encoder
from sentlab.training import History, TrainConfig, fit, set_seed

from experiments.presets import Preset


def encoder(preset: Preset, pooling: str = "cls", max_length: int = 32) -> Encoder:
    """Load the preset's encoder with a pooling and a maximum length in tokens."""
    return Encoder.from_pretrained(preset.encoder, pooling=pooling, max_length=max_length)


def config(preset: Preset, *, quick: Mapping[str, Any] = {}, **changes: Any) -> TrainConfig:
    """Return the preset's training, without evaluations on the way.

    Args:
        preset: of the chapter.
        quick: more changes where the preset is `quick`.
        changes: fields of `TrainConfig`.
    """
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
    """Make a method and train it: the seed is set before its heads are drawn, so that the same call gives the same.

    Args:
        kind, arguments: the class of the method, and what it takes.
        encoder: is trained in place.
        config: its seed counts for the method, too.
        rows, dev, on_step: as of `sentlab.fit`.
    """
    set_seed(config.seed)
    method = kind(encoder, **arguments)
    return method, fit(method, rows, config, dev, on_step=on_step)
