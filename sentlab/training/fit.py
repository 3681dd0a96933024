"""A single training loop for all methods. It runs on one or several processes and resumes after interruption.

A method is a torch module with `encoder`, `collate(rows)` -> batch, `loss(batch)` -> named, already weighted losses,
and `after_step()`. `fit` minimises the sum of the named losses.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from sentlab.encoder import Encoder
from sentlab.encoder.card import training_note
from sentlab.training import checkpoint, randomness
from sentlab.training.arguments import as_rows, check_arguments, check_shares
from sentlab.training.checkpoint import Run
from sentlab.training.config import History, TrainConfig
from sentlab.training.made_by import made_by
from sentlab.training.tasks import Tasks

if TYPE_CHECKING:  # importing it takes a third of a second, which `import sentlab` need not wait for
    from accelerate import Accelerator

LOG_EVERY = 10  # steps over which the recorded losses are averaged


class Method(Protocol):
    """What `fit` asks of a method (a torch module, by composition: there is no base class).

    A method may say `few_shapes = True`: its batches come in a few shapes only, see `TrainConfig.precision`.
    """

    encoder: Encoder

    def collate(self, rows: Sequence[Any]) -> dict[str, Tensor]: ...
    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]: ...
    def after_step(self) -> None: ...


def schedule(step: int, steps: int, warmup: float, decay: float | None = None) -> float:
    """Return the share of the peak learning rate at `step` (from 0).

    It rises linearly over `warmup` of all steps and falls linearly to zero over the last `decay` of them.
    """
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

    The same lines give the same numbers if `sentlab.set_seed` comes before the method is made: it draws its heads
    and its decoder then. `TrainConfig(seed=...)` fixes all that is drawn here.

    Args:
        method: a `Method`, as those of `sentlab.methods`.

        rows: what `method.collate` takes, in any iterable: a list, a `Corpus`, a pandas Series, a generator. A set is
            taken in sorted order. Of `Tasks`, a batch holds rows of one task.
        config: see `TrainConfig`.

        dev: encoder -> score, higher is better; must not look at any test set. It is called before the first step too
            where `keep="dev"` or `eval_every` is set. It cannot change the random state or the pooling.

        folder: where `checkpoint.safetensors` and `history.json` go; None: nothing is written.
        resume: go on from the folder's checkpoint if it has one; weights end bit-identical on CPU. The method must be
            made anew, by the same lines.

        overwrite: remove the folder's checkpoint and train afresh.
        progress: show a progress bar with the losses.

        on_step: called with (step, method) after each step, to watch what training does; must change nothing. What it
            returns, if anything, is kept with the step in the history's `seen` (`sentlab.watch_geometry`).

    Returns:
        What the run did.

    Raises:
        TypeError: `method`, `rows`, `config` or `dev` is something else, such as an encoder or one string.
        ValueError: no rows; an encoder with a `post`; keep="dev" without dev; a batch that several
            processes cannot share; bfloat16 on a CPU; a folder with a checkpoint but neither resume nor overwrite. Also
            a checkpoint of another run: the message names the method, argument, encoder, row or setting that differs.
        FloatingPointError: a loss or dev score is not finite; names it and the step.

    Example:
        >>> method = sentlab.methods.SimCSE(sentlab.Encoder.from_pretrained())
        >>> config = sentlab.TrainConfig(steps=4, batch_size=8, eval_every=2, keep="dev")

        >>> history = sentlab.fit(method, sentences, config, sentlab.dev_score(pairs), progress=False)
        >>> [point["step"] for point in history.dev]  # Step 0 is a candidate.
        [0, 2, 4]
    """
    config, rows = config or TrainConfig(), as_rows(rows)
    check_arguments(method, config, dev, resume, overwrite)
    steps = config.steps_over(len(rows))
    accelerator = _accelerator()
    rank, processes = accelerator.process_index, accelerator.num_processes
    check_shares(rows, config, processes)
    if processes > 1:
        method.to(accelerator.device)
    bfloat16 = _in_bfloat16(method, config)
    settings = {"method": type(method).__name__, **asdict(config), "rows": len(rows), "steps": steps}
    settings["arithmetic"] = "bfloat16" if bfloat16 else "float32"
    run = Run(History(settings), {})
    if folder is not None:
        run.made_by = made_by(method, rows, config, dev, processes) | {"arithmetic": settings["arithmetic"]}
    optimizer = _adamw(method, config)
    module = accelerator.prepare(_Losses(method))  # not the optimiser: an accumulation elsewhere would hold its steps
    randomness.set_seed(config.seed + rank)
    folder = None if folder is None else Path(folder).expanduser()
    if folder is not None and checkpoint.prepare(folder, resume, overwrite, accelerator):
        checkpoint.load(run, folder, method, optimizer, accelerator)
    method.train()
    began = time.monotonic() - run.history.seconds
    first = run.step == 0 and (config.eval_every or config.keep == "dev")
    unscored = run.step == steps and steps not in [point["step"] for point in run.history.dev]  # as its dev failed
    if dev is not None and (first or unscored):
        _evaluate(run, method, config, dev, accelerator)
    hidden = {} if progress and accelerator.is_main_process else {"disable": True}  # else TQDM_DISABLE decides
    bar = tqdm(total=steps, initial=run.step, desc=type(method).__name__, **hidden)
    while run.step < steps:
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * schedule(run.step, steps, config.warmup, config.decay)
        begin, count, step = rows.place(run.step) if isinstance(rows, Tasks) else (0, len(rows), run.step)
        mine = (begin + batch_indices(step, count, config))[rank::processes]
        parts = np.array_split(mine, min(config.accumulate, len(mine)))
        total: dict[str, Tensor] = {}
        for part in parts:
            share = len(part) / len(mine)
            with contextlib.nullcontext() if part is parts[-1] else accelerator.no_sync(module):
                batch = _collated(method, rows, part)
                with torch.autocast(method.encoder.device.type, torch.bfloat16, enabled=bfloat16):
                    losses = module(batch)
                accelerator.backward(share * sum(losses.values()))
            for name, value in losses.items():
                total[name] = total.get(name, 0.0) + share * value.detach().float()
        if processes > 1:  # each has the losses of its own rows
            total = dict(zip(total, accelerator.reduce(torch.stack([*total.values()]), "mean"), strict=True))
        norm = accelerator.clip_grad_norm_(method.parameters(), config.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        method.after_step()
        run.step += 1
        run.window.append(total)
        bar.update()
        last = run.step == steps
        log = last or run.step % LOG_EVERY == 0
        evaluate = dev is not None and (last or (config.eval_every and run.step % config.eval_every == 0))
        save = last or run.step % config.checkpoint_every == 0
        if log or evaluate or save:
            _check_finite(run, norm)
        run.history.seconds = time.monotonic() - began
        if on_step is not None and (found := on_step(run.step, method)):
            run.history.seen.append({"step": run.step, **{name: float(value) for name, value in found.items()}})
        if log:
            means = _means(run.window)
            run.history.losses.append({"step": run.step, **means})
            run.window.clear()
        if evaluate:
            if last and folder is not None:  # a run is not lost with its last score
                checkpoint.save(run, folder, method, optimizer, accelerator)
            _evaluate(run, method, config, dev, accelerator)
        if log:
            bar.set_postfix(means | ({"dev": run.history.dev[-1]["score"]} if run.history.dev else {}))
        if save and folder is not None:
            checkpoint.save(run, folder, method, optimizer, accelerator)
    bar.close()
    if config.keep == "last":
        run.history.kept_step = run.step
    elif run.best:
        method.load_state_dict(run.best)
    method.encoder.trainings.append(training_note(settings, rows, run.history.dev, run.history.kept_step))
    if folder is not None and accelerator.is_main_process:
        run.history.save(folder / "history.json")
    method.eval()
    return run.history


def _accelerator() -> Accelerator:
    from accelerate import Accelerator
    from accelerate.utils import DistributedDataParallelKwargs

    several = DistributedDataParallelKwargs(find_unused_parameters=True)  # such as the heads of other tasks
    accelerator = Accelerator(device_placement=False, kwargs_handlers=[several])
    accelerator.gradient_accumulation_steps = 1  # `config` says it all, whatever a launcher's own file says
    if accelerator.mixed_precision != "no":
        raise ValueError(
            f"accelerate's own settings ask for mixed_precision={accelerator.mixed_precision!r}: set it to 'no' there, "
            "and choose TrainConfig(precision=...)"
        )
    return accelerator


def _collated(method: Any, rows: Sequence[Any], part: np.ndarray) -> Any:
    """The batch of some rows; an error names them by their places in the data."""
    try:
        return method.collate([rows[int(i)] for i in part])
    except (TypeError, ValueError) as error:
        error.add_note(f"This batch holds the rows {', '.join(map(str, part))} of the data, in this order.")
        raise


class _Losses(nn.Module):
    """The method with its loss as `forward`, which is what a distributed wrapper calls."""

    def __init__(self, method: Any):
        super().__init__()
        self.method = method

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        losses: dict[str, Tensor] = self.method.loss(batch)
        return losses


def _evaluate(run: Run, method: Any, config: TrainConfig, dev: Any, accelerator: Accelerator) -> None:
    """Score the encoder, and keep it where it is the best so far."""
    found: list[Any] = [None]
    if accelerator.is_main_process:
        pooling = method.encoder.pooling
        with randomness.kept():
            found = [dev(method.encoder)]
        method.encoder.pooling = pooling  # whatever vector dev has looked at
    if accelerator.num_processes > 1:
        from accelerate.utils import broadcast_object_list

        broadcast_object_list(found)
    method.train()  # whatever mode dev left it in
    try:
        score = float(found[0])
    except TypeError:
        raise TypeError(f"dev must return a number, got a {type(found[0]).__name__} at step {run.step}") from None
    if not math.isfinite(score):
        raise FloatingPointError(f"dev returned {score} at step {run.step}: check the dev function and its rows")
    history, best = run.history, run.history.best_dev
    history.dev.append({"step": run.step, "score": score})
    if best is None or score > best:
        history.kept_step = run.step
        run.best = checkpoint.copy_of(method) if config.keep == "dev" else {}


def _in_bfloat16(method: Any, config: TrainConfig) -> bool:
    device = method.encoder.device.type
    if config.precision == "bfloat16" and device == "cpu" and not getattr(method, "few_shapes", False):
        # oneDNN keeps 2 x 1,024 of these kernels
        raise ValueError(
            'precision="bfloat16" would fill gigabytes of memory on a CPU, a kernel for each shape of a batch: pass '
            '"auto" or "float32", or set `few_shapes = True` on a method whose batches come in a few shapes only'
        )
    return config.precision == "bfloat16" or (config.precision == "auto" and device == "cuda")


def _adamw(method: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    trained = [p for p in method.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, eps=config.eps, fused=True)


def _check_finite(run: Run, norm: Any) -> None:
    """Raise FloatingPointError for the first loss that is not finite; blame the learning rate if it once was."""
    once_finite = {name for row in run.history.losses for name in row}
    for step, losses in enumerate(run.window, run.step - len(run.window) + 1):
        for name, value in zip(losses, torch.stack([*losses.values()]).tolist(), strict=True):
            if not math.isfinite(value):
                where = "learning_rate, try a smaller one" if name in once_finite else "method's arguments and the rows"
                raise FloatingPointError(f"the {name} loss is {value} at step {step}: check the {where}")
            once_finite.add(name)
    if not math.isfinite(norm):
        raise FloatingPointError(f"the gradient's norm is {norm} at step {run.step}, the weights are lost")


def _means(window: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
    """The mean of each loss over the steps that have it: a step of `Tasks` has that of one task."""
    names = dict.fromkeys(name for losses in window for name in losses)
    return {name: float(torch.stack([x[name] for x in window if name in x]).mean()) for name in names}
