"""The settings of a training run, and the history of what it did."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

from sentlab.files import write_json

Rule = tuple[type, Callable[[Any], bool], str]  # its type, what holds of it, and that in words
AT_LEAST_1: Rule = (int, lambda x: x >= 1, "at least 1")
SEED: Rule = (int, lambda x: 0 <= x < 2**32, "at least 0 and below 2**32")
POSITIVE: Rule = (float, lambda x: 0 < x < math.inf, "finite and above 0")
NOT_NEGATIVE: Rule = (float, lambda x: 0 <= x < math.inf, "finite and at least 0")
SHARE: Rule = (float, lambda x: 0 <= x <= 1, "a share of the steps, from 0 to 1")
ABOVE_0: Rule = (float, lambda x: x > 0, "above 0")
BETA: Rule = (float, lambda x: 0 <= x < 1, "at least 0 and below 1")

RULES: dict[str, Rule] = {
    **dict.fromkeys(("steps", "batch_size", "accumulate", "eval_every", "checkpoint_every"), AT_LEAST_1),
    **dict.fromkeys(("epochs", "learning_rate"), POSITIVE),
    **dict.fromkeys(("eps", "weight_decay"), NOT_NEGATIVE),
    **dict.fromkeys(("warmup", "decay"), SHARE),
    "max_grad_norm": ABOVE_0,
    "seed": SEED,
}
CHOICES = {"keep": ("dev", "last"), "precision": ("auto", "float32", "bfloat16")}


@dataclass(frozen=True)
class TrainConfig:
    """How long, how fast and what to keep. Every setting is written into the history.

    Args:
        steps: optimiser steps; None: as many as `epochs` takes.
        epochs: passes over the rows, used where `steps` is None.

        batch_size: rows a step, over all processes and accumulated parts together. Several processes must be able to
            share it equally. They then have the gradients of one process.

        accumulate: parts that a batch is split into, to save memory. Each part counts by its rows. In-batch negatives
            see their own part only, of all processes.

        learning_rate: the peak, reached after `warmup` (a fraction of all steps).
        decay: the last fraction of the steps, in which the rate falls linearly to zero; None: all that follow `warmup`.

        betas, eps, weight_decay: AdamW's; biases and layer norms are not decayed.
        max_grad_norm: gradients are clipped to this norm; `math.inf`: not clipped.
        eval_every: steps between evaluations on dev; None: only after the last step.

        keep: `dev`: end with the weights of the best evaluation, which may be the one before the first step; `last`:
            with those of the last step.

        seed: of the order of rows and of all that the method draws in `fit`. Weights that a method draws when it is
            made, such as heads and decoders, come before that: call `sentlab.set_seed` before you make it.

        precision: `bfloat16` (autocast), `float32`, or `auto`: bfloat16 on CUDA, else float32. On a CPU bfloat16 needs
            gigabytes of kernels, one for each shape, and is no faster for a small encoder. `fit` refuses it there, but
            for methods that say `few_shapes = True`. The history's `settings["arithmetic"]` says what a run used.

        checkpoint_every: steps between checkpoints, where `fit` is given a folder.

    Raises:
        TypeError: a setting that is not a number where it has to be one.
        ValueError: a number out of range, or a choice that there is not. The message names the setting.

    Example:
        >>> sentlab.TrainConfig(steps=300, learning_rate=3e-4, eval_every=100, keep="dev").steps
        300
    """

    steps: int | None = None
    epochs: float = 1.0
    batch_size: int = 64
    accumulate: int = 1
    learning_rate: float = 3e-5
    warmup: float = 0.1
    decay: float | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    eval_every: int | None = None
    keep: Literal["dev", "last"] = "last"
    seed: int = 0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            value = getattr(self, name)
            if value is not None or getattr(TrainConfig, name) is not None:  # only what is None by default may be
                object.__setattr__(self, name, _number(name, value, rule))
        if not isinstance(self.betas, tuple | list) or len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, got {self.betas!r}")
        object.__setattr__(self, "betas", tuple(_number(f"betas[{i}]", x, BETA) for i, x in enumerate(self.betas)))
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}")
        if self.warmup + (self.decay or 0.0) > 1:
            raise ValueError(f"warmup={self.warmup} and decay={self.decay} take more than all steps together")
        if self.batch_size % self.accumulate:
            raise ValueError(f"batch_size {self.batch_size} does not divide into accumulate={self.accumulate} parts")

    def steps_over(self, rows: int) -> int:
        """Return the number of optimiser steps over so many rows: `steps`, or what `epochs` make, at least one."""
        return self.steps or max(1, round(self.epochs * (rows // min(self.batch_size, rows))))


def _number(name: str, value: Any, rule: Rule) -> Any:
    """Return the value as Python's own int or float, or raise an error that names the setting."""
    of_type, holds, wanted = rule
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if of_type is int and not isinstance(value, Integral):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if not holds(value):  # which nan never does
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return of_type(value)


@dataclass
class History:
    """What a run did.

    Args:
        settings: the `TrainConfig`, the method's name, and how many rows and steps there were.
        losses: every few steps, `step` and the mean of each named loss over the rows since the last entry.

        dev: of each evaluation, `step` and `score`; step 0 is the encoder before training.
        seen: what `on_step` returned, with `step`.
        kept_step: the step whose weights were kept; 0: training found nothing better than its start.

        seconds: of training, over all interruptions.
    """

    settings: dict[str, Any]
    losses: list[dict[str, float]] = field(default_factory=list)
    dev: list[dict[str, float]] = field(default_factory=list)
    seen: list[dict[str, float]] = field(default_factory=list)
    kept_step: int = 0
    seconds: float = 0.0

    @property
    def best_dev(self) -> float | None:
        """The highest dev score, or None without an evaluation."""
        return max((row["score"] for row in self.dev), default=None)

    def table(self) -> Any:
        """Return the dev scores by step as a DataFrame, with the losses at each and whether the step was kept.

        Without an evaluation the losses alone.
        """
        import pandas as pd

        losses, dev = pd.DataFrame(self.losses), pd.DataFrame(self.dev)
        if dev.empty:
            return losses
        table = dev if losses.empty else pd.merge_asof(dev, losses, on="step")
        return table.assign(kept=table["step"] == self.kept_step)

    def save(self, path: str | Path) -> None:
        """Write the history as JSON."""
        write_json(path, asdict(self))
