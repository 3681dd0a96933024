"""A single training loop for all methods. It runs on one or several processes and resumes after interruption.

A method is a torch module with `encoder`, `collate(rows)` -> batch, `loss(batch)` -> named, already weighted losses,
and `after_step()`. `fit` minimises the sum of the named losses. There is no base class. Where a loss is a mean over
something that rows have more or less of, such as tokens, `counts(batch)` says over how many, by the loss's name.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from sentlab.encoder import Encoder
from sentlab.encoder.inference import own_world, refuse_table
from sentlab.training import checkpoint, randomness
from sentlab.training.checkpoint import Run
from sentlab.training.config import History, Tasks, TrainConfig

LOG_EVERY = 10  # steps over which the recorded losses are averaged


def schedule(step: int, steps: int, warmup: float, decay: float | None = None) -> float:
    """Return the share of the peak learning rate at `step`: it rises over `warmup`, falls to zero over `decay`."""
    rising = max(1, round(warmup * steps))
    falling = steps - rising if decay is None else round(decay * steps)
    down = (steps - step) / falling if falling else 1.0
    return min((step + 1) / rising, max(0.0, down), 1.0)


def batch_indices(step: int, rows: int, config: TrainConfig) -> np.ndarray:
    """Return the row numbers of the batch of `step`.

    Each epoch has a fresh permutation, so the place in the data is a pure function. The rows that do not fill an
    epoch's last batch wait for another epoch's permutation.
    """
    size = min(config.batch_size, rows)
    epoch, place = divmod(step, rows // size)
    order = np.random.default_rng([config.seed, epoch]).permutation(rows)
    return order[place * size : (place + 1) * size]


@torch.enable_grad()
@own_world()
def fit(
    method: Any,
    rows: Iterable[Any],
    config: TrainConfig | None = None,
    dev: Callable[[Encoder], float] | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    on_step: Callable[[int, Any], Mapping[str, float] | None] | None = None,
) -> History:
    """Train `method` on `rows` in place; `method.encoder` is the result.

    The same lines give the same numbers if `sentlab.set_seed` comes before the method is made.

    Args:
        method: one of `sentlab.methods`, or a module like them.
        rows: what `method.collate` takes, in any iterable, a set in sorted order. Of `Tasks`, a batch is of one task.
        dev: encoder -> score, higher is better; must not look at any test set. It is called before the first step too
            where `keep="dev"` or `eval_every` is set. It cannot change the random state or the pooling.
        folder: where `checkpoint.safetensors` and `history.json` go; None: nothing is written.
        resume: go on from the folder's checkpoint if it has one. On a CPU, with as many threads, weights end
            bit-identical. The method must be made anew, by the same lines.
        overwrite: remove the folder's checkpoint and train afresh.
        progress: show a progress bar with the losses.
        on_step: called with (step, method) after each step, to watch it. It must change nothing. What it returns, if
            anything, is kept with the step in the history's `seen` (`sentlab.watch_geometry`).

    Raises:
        ValueError: a folder with a checkpoint but neither resume nor overwrite, or with one of another run.
        FloatingPointError: a loss or dev score is not finite.

    Example:
        >>> method, config = sentlab.methods.SimCSE(sentlab.Encoder.from_pretrained()), sentlab.TrainConfig(steps=4)
        >>> history = sentlab.fit(method, sentences, config, sentlab.dev_score(pairs), progress=False)
    """
    config, rows = config or TrainConfig(), as_rows(rows)
    if method.encoder.post is not None:
        raise ValueError("the encoder's `post` fits its vectors of now: set it to None, and fit it after training")
    if (dev is None and config.keep == "dev") or (resume and folder is None):
        raise ValueError("keep='dev' needs dev=, a function, and resume=True needs folder=, which has the checkpoint")
    if getattr(method, "temperature", 1) <= 0:
        raise ValueError(f"temperature={method.temperature} must be above 0")
    run = _start(method, rows, config, dev, folder, resume, overwrite)
    if hasattr(method, "temperature") or getattr(method, "in_batch", False):
        _warn_of_repeats(rows, config.batch_size)
    history, began = run.history, time.monotonic() - run.history.seconds
    first = run.step == 0 and (config.eval_every or config.keep == "dev")
    unscored = run.step == run.steps and run.steps not in [point["step"] for point in history.dev]  # as its dev failed
    if dev is not None and (first or unscored):
        _evaluate(run, dev)
    hidden = {} if progress and run.processes.is_main_process else {"disable": True}  # else TQDM_DISABLE decides
    bar = tqdm(range(run.step, run.steps), type(method).__name__, initial=run.step, total=run.steps, **hidden)
    for _ in bar:
        norm = _take_step(run, rows)
        last = run.step == run.steps
        log = last or run.step % LOG_EVERY == 0
        evaluate = dev is not None and (last or (config.eval_every and run.step % config.eval_every == 0))
        save = last or run.step % config.checkpoint_every == 0
        if log or evaluate or save:
            _check_finite(run, norm)
        if on_step is not None and (seen := on_step(run.step, method)):
            history.seen.append({"step": run.step, **{name: float(value) for name, value in seen.items()}})
        if log:
            history.losses.append({"step": run.step, **_means(run.window)})
            run.window.clear()
        if evaluate:
            if last:  # a run is not lost with its last score
                checkpoint.save(run)
            _evaluate(run, dev)
        history.seconds = time.monotonic() - began
        if log:
            bar.set_postfix(history.losses[-1] | ({"dev": history.dev[-1]["score"]} if history.dev else {}))
        if save:
            checkpoint.save(run)
    if config.keep == "last":
        history.kept_step = run.step
    elif run.best:
        method.load_state_dict(run.best)
    about = {"data": str(getattr(rows, "name", type(rows).__name__)), "dev": history.dev}
    method.encoder.trainings.append(history.settings | about | {"kept_step": history.kept_step})
    if run.folder is not None and run.processes.is_main_process:
        history.save(run.folder / "history.json")
    method.eval()
    return history


def train_heads_first(
    method: Any, rows: Iterable[Any], config: TrainConfig, *dev: Any, heads: TrainConfig | None = None, **options: Any
) -> tuple[History, History]:
    """Probe, then fine-tune (LP-FT): train the layers outside the encoder, then all; return both histories.

    Random layers would harm the encoder (Kumar et al. 2022). The arguments are those of `fit` for the second training,
    and `heads`, the config of the first, without dev, which a resume repeats. None: `config`, learning rate 0.01.
    """
    rows, heads = as_rows(rows), replace(heads or replace(config, learning_rate=1e-2), keep="last", eval_every=None)
    trained = nn.ParameterList(p for p in method.encoder.parameters() if p.requires_grad)
    method.encoder.requires_grad_(False)
    try:
        first = fit(method, rows, heads, progress=options.get("progress", True))
    finally:
        trained.requires_grad_(True)
    return first, fit(method, rows, config, *dev, **options)


def _start(method: Any, rows: Any, config: TrainConfig, dev: Any, folder: Any, resume: bool, overwrite: bool) -> Run:
    """Make the optimiser, seed the random generators, and go on from a checkpoint where `fit` is asked to."""
    from accelerate import PartialState  # slow to import
    from accelerate.utils import parse_flag_from_env

    processes = PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU"))  # those of a launcher, or this one alone
    settings = {"method": type(method).__name__, **asdict(config), "rows": len(rows)}
    usual = "bfloat16" if method.encoder.device.type == "cuda" else "float32"
    settings["steps"] = config.steps_over(len(rows))
    settings["arithmetic"] = usual if config.precision == "auto" else config.precision
    optimizer = _adamw(method, config)
    module: nn.Module = Losses(method)
    if processes.num_processes > 1:
        method.to(processes.device)
        module = DistributedDataParallel(module, find_unused_parameters=True)  # such as the heads of other tasks
    place = None if folder is None else Path(folder).expanduser()
    run = Run(method, module, config, optimizer, processes, place, History(settings))
    randomness.set_seed(config.seed + processes.process_index)
    checkpoint.start(run, rows, dev, resume, overwrite)
    method.train()
    method.zero_grad()  # what an interrupted run or a look at a gradient has left
    return run


def _take_step(run: Run, rows: Sequence[Any]) -> Any:
    """Make the optimiser step of one batch, add its losses to the window, and return the gradient's norm."""
    method, config, module = run.method, run.config, run.module
    rank, processes = run.processes.process_index, run.processes.num_processes
    for group in run.optimizer.param_groups:
        group["lr"] = config.learning_rate * schedule(run.step, run.steps, config.warmup, config.decay)
    begin, count, number = rows.place(run.step) if isinstance(rows, Tasks) else (0, len(rows), run.step)
    batch_rows = begin + batch_indices(number, count, config)
    if len(batch_rows) % processes:  # which gathering vectors does not allow
        raise ValueError(f"a batch of {len(batch_rows)} does not divide among {processes} processes: change batch_size")
    mine = batch_rows[rank::processes]
    parts = np.array_split(mine, min(config.accumulate, len(mine)))
    bfloat16 = run.history.settings["arithmetic"] == "bfloat16"
    total: dict[str, Tensor] = {}
    batches = [method.collate([rows[int(i)] for i in part]) for part in parts]
    counts = [method.counts(batch) for batch in batches] if len(parts) > 1 and hasattr(method, "counts") else []
    if counts and processes > 1:  # of all processes
        dist.all_reduce(sums := torch.tensor([[*own.values()] for own in counts], device=method.encoder.device))
        counts = [dict(zip(own, row, strict=True)) for own, row in zip(counts, sums.tolist(), strict=True)]
    for i, (part, batch) in enumerate(zip(parts, batches, strict=True)):
        of_rows, own = len(part) / len(mine), counts[i] if counts else {}
        share = {name: count / max(1, sum(other[name] for other in counts)) for name, count in own.items()}
        waits = isinstance(module, DistributedDataParallel) and part is not parts[-1]  # for the last part's gradients
        with module.no_sync() if waits else contextlib.nullcontext():
            with torch.autocast(method.encoder.device.type, torch.bfloat16, enabled=bfloat16):
                losses = {name: share.get(name, of_rows) * value for name, value in module(batch).items()}
            sum(losses.values()).backward()
        for name, value in losses.items():
            total[name] = total.get(name, 0.0) + value.detach().float()
    if processes > 1:  # each has the losses of its own rows
        dist.all_reduce(sums := torch.stack([*total.values()]))
        total = dict(zip(total, sums / processes, strict=True))
    norm = nn.utils.clip_grad_norm_(method.parameters(), config.max_grad_norm)
    run.optimizer.step()
    run.optimizer.zero_grad()
    method.after_step()
    run.step += 1
    run.window.append(total)
    return norm


def as_rows(rows: Iterable[Any]) -> Sequence[Any]:
    """Return the rows as something with a length that takes whole numbers as indices."""
    refuse_table(rows, "rows")
    if isinstance(rows, set | frozenset):
        rows = sorted(rows, key=repr)  # a set's own order changes from one process to the next
    if not hasattr(rows, "__len__") or not hasattr(rows, "__getitem__") or hasattr(rows, "iloc"):
        rows = list(rows)
    return cast("Sequence[Any]", rows)


def _warn_of_repeats(rows: Sequence[Any], size: int) -> None:
    """Warn where a batch, whose rows are negatives of each other, holds on average a pair of equal texts or more."""
    columns = zip(*((getattr(row, "anchor", row), getattr(row, "positive", row)) for row in rows), strict=True)
    counts = (Counter(map(repr, column)).values() for column in columns)  # a method of yours may take other rows
    pairs = max(sum(count * (count - 1) / 2 for count in each) for each in counts)
    if (expected := pairs * min(size / len(rows), 1.0) ** 2) >= 1:
        what = f"texts repeat, so that a batch holds about {expected:.0f} pairs of equal ones"
        warnings.warn(f"{what}, which count as negatives of each other: leave repeats out", stacklevel=5)


def _adamw(method: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    trained = [p for p in method.parameters() if p.requires_grad]
    if not trained:
        raise ValueError("nothing would be trained: no parameter of the method requires a gradient")
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, eps=config.eps, fused=True)


class Losses(nn.Module):
    """The method with its loss as `forward`, which is what a distributed wrapper calls."""

    def __init__(self, method: Any):
        super().__init__()
        self.method, self.forward = method, method.loss


def _evaluate(run: Run, dev: Any) -> None:
    """Score the encoder, and keep it where it is the best so far."""
    from accelerate.utils import broadcast_object_list

    scores: list[Any] = [None]
    encoder = run.method.encoder
    if run.processes.is_main_process:
        pooling = encoder.pooling
        with randomness.kept():
            scores = [dev(encoder)]
        encoder.pooling = pooling  # whatever vector dev has looked at
    score = float(broadcast_object_list(scores)[0])
    run.method.train()  # whatever mode dev left it in
    if not math.isfinite(score):
        raise FloatingPointError(f"dev returned {score} at step {run.step}: check the dev function and its rows")
    best = run.history.best_dev
    run.history.dev.append({"step": run.step, "score": score})
    if best is None or score > best:
        run.history.kept_step = run.step
        run.best = checkpoint.copy_of(run.method) if run.config.keep == "dev" else {}


def _check_finite(run: Run, norm: Any) -> None:
    """Raise FloatingPointError for the first loss since the last entry of the history that is not finite."""
    bad = []
    for step, losses in enumerate(run.window, run.step - len(run.window) + 1):
        values = zip(losses, torch.stack([*losses.values()]).tolist(), strict=True)
        bad += [f"the {name} loss is {x} at step {step}" for name, x in values if not math.isfinite(x)]
    if bad or not math.isfinite(norm):
        run.method.load_state_dict(run.best or run.method.state_dict())  # the last weights are lost
        what = bad[0] if bad else f"the gradient's norm is {norm} at step {run.step}"
        raise FloatingPointError(f"{what}: try a smaller learning_rate")


def _means(window: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
    """The mean of each loss over the steps that have it: a step of `Tasks` has that of one task."""
    names = dict.fromkeys(name for losses in window for name in losses)
    return {name: float(torch.stack([x[name] for x in window if name in x]).mean()) for name in names}
