"""The settings of a training run, rows of several tasks in turn, and the history of what a run did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sentlab.files import write_json

ABOVE_ZERO = "steps epochs batch_size accumulate learning_rate max_grad_norm eval_every checkpoint_every".split()


@dataclass(frozen=True)
class TrainConfig:
    """How long, how fast and what to keep. Every setting is written into the history.

    Args:
        steps: optimiser steps; None takes as many as `epochs` needs.
        epochs: passes over the rows, used where `steps` is None. Of `Tasks`, a small task is read more often than that.
        batch_size: rows a step, of all parts and processes, which share them equally. Gradients are as of one process.
        accumulate: parts of a batch, to save memory. Each counts by its rows, and its in-batch negatives are its own.
        learning_rate: the peak. It is reached after `warmup`, a fraction of all steps.
        decay: the last fraction of the steps, in which the rate falls linearly to zero. None: all that follow `warmup`.
        betas, eps, weight_decay: AdamW's. Biases and layer norms are not decayed.
        max_grad_norm: gradients are clipped to this norm. `math.inf`: not clipped.
        eval_every: steps between evaluations on dev. None: only after the last step.
        keep: `dev` ends with the weights of the best evaluation, maybe of step 0. `last` ends with the last ones.
        seed: of the order of rows and of all that the method draws in `fit`. Heads and decoders are drawn before, when
            a method is made: call `sentlab.set_seed` first.
        precision: `bfloat16` (autocast), `float32`, or `auto`: bfloat16 on CUDA, else float32. On a CPU bfloat16 needs
            gigabytes of kernels, one for each shape of a batch, and is no faster for a small encoder. The history's
            `settings["arithmetic"]` says what a run used.
        checkpoint_every: steps between checkpoints, where `fit` is given a folder.
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
        plain = {name: value.item() for name, value in vars(self).items() if hasattr(value, "item")}  # of NumPy
        for name, value in (plain | {"betas": tuple(self.betas)}).items():  # both as JSON takes and gives them back
            object.__setattr__(self, name, value)
        for name in ABOVE_ZERO:
            value = getattr(self, name)
            if value is not None and not value > 0:  # which nan never is
                raise ValueError(f"{name} must be above 0, got {value!r}")
        if not (self.warmup >= 0 and (self.decay or 0.0) >= 0 and self.warmup + (self.decay or 0.0) <= 1):
            raise ValueError(f"warmup={self.warmup} and decay={self.decay} are shares of all steps, together at most 1")
        if self.keep not in ("dev", "last") or self.precision not in ("auto", "float32", "bfloat16"):
            raise ValueError(f"keep={self.keep!r} is dev or last, precision={self.precision!r} auto, float32, bfloat16")

    def steps_over(self, rows: int) -> int:
        """Return the number of optimiser steps over so many rows: `steps`, or what `epochs` make, at least one."""
        if not rows:
            raise ValueError("there are no rows to train on")
        return self.steps or max(1, round(self.epochs * (rows // min(self.batch_size, rows))))


class Tasks(list[Any]):
    """Rows of several tasks, each beside the name of its task: `("nli", LabelledPair(...))`. Each batch is of one task.

    `turn`: the tasks in their order, over and over; each at least once. Source: Universal, section 3.3.
    """

    def __init__(self, turn: Sequence[str], **corpora: Sequence[Any]):
        if not turn or set(turn) != corpora.keys() or not all(len(rows) for rows in corpora.values()):
            raise ValueError(f"every task needs rows and a turn; the turn is {list(turn)}, rows are of {list(corpora)}")
        super().__init__((task, row) for task, rows in corpora.items() for row in rows)
        self.turn, self.corpora = tuple(turn), corpora

    def place(self, step: int) -> tuple[int, int, int]:
        """Return the first of the rows that a step draws from, their number, and how many batches they had before."""
        rounds, at = divmod(step, len(self.turn))
        task = self.turn[at]
        tasks = list(self.corpora)
        first = sum(len(self.corpora[before]) for before in tasks[: tasks.index(task)])
        return first, len(self.corpora[task]), rounds * self.turn.count(task) + self.turn[:at].count(task)


@dataclass
class History:
    """What a run did.

    Args:
        settings: the `TrainConfig`, the method's name, the numbers of rows and steps.
        losses: every few steps, `step` and the mean of each named loss since the last entry.
        dev: of each evaluation, `step` and `score`. Step 0 is the encoder before training.
        seen: what `on_step` returned, with `step`.
        kept_step: the step whose weights were kept. At 0, training found nothing better than its start.
        seconds: of training and evaluations, over all interruptions.
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

    def save(self, path: str | Path) -> None:
        """Write the history as JSON."""
        write_json(path, asdict(self))
