"""Training: one plain loop for every method, on one process or several, that can be killed at any step and goes on.

A method is a torch module with `encoder`, `collate(rows)` -> batch, `loss(batch)` -> named, already weighted losses,
and `after_step()`. `fit` minimises the sum of the named losses.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast_object_list, gather_object
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from tqdm import tqdm

from sentlab.encoder import Encoder
from sentlab.files import replacing
from sentlab.training import random_state
from sentlab.training.config import TrainConfig
from sentlab.training.history import History
from sentlab.training.tasks import Tasks

LOG_EVERY = 10  # steps over which the recorded losses are averaged


class Method(Protocol):
    """What `fit` asks of a method (a torch module, by composition: there is no base class)."""

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
    """Row numbers of the batch of `step`: a fresh permutation an epoch, so the place in the data is a pure function.

    The rows that do not fill an epoch's last batch wait for another epoch's permutation.
    """
    size = min(config.batch_size, rows)
    epoch, place = divmod(step, rows // size)
    order = np.random.default_rng([config.seed, epoch]).permutation(rows)
    return order[place * size : (place + 1) * size]


def fit(
    method: Any,
    rows: Sequence[Any],
    config: TrainConfig | None = None,
    dev: Callable[[Encoder], float] | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    on_step: Callable[[int, Any], Mapping[str, float] | None] | None = None,
) -> History:
    """Train `method` on `rows` in place; `method.encoder` is the result.

    Args:
        method: a `Method`, as those of `sentlab.methods`.
        rows: anything with a length and integer indexing whose items `method.collate` takes; of `Tasks`, a batch holds
            rows of one task.
        config: see `TrainConfig`.
        dev: encoder -> score, higher is better; must not look at any test set.
        folder: where `checkpoint.safetensors` and `history.json` go; None: nothing is written.
        resume: go on from the folder's checkpoint if it has one; weights end bit-identical on CPU.
        progress: show a progress bar with the losses.
        on_step: called with (step, method) after each step, to watch what training does; must change nothing. What it
            returns, if anything, is kept with the step in the history's `seen` (`sentlab.watch_geometry`).

    Raises:
        ValueError: no rows; an encoder with a `post`; keep="dev" without dev; a folder with a checkpoint but
            resume=False, or one of another run.
        FloatingPointError: a loss is not finite; names the loss and the step.
    """
    config = config or TrainConfig()
    if len(rows) == 0:
        raise ValueError("no rows to train on")
    if method.encoder.post is not None:
        raise ValueError("the encoder's `post` fits its vectors of now: set it to None, and fit it after training")
    if dev is None and (config.keep == "dev" or config.patience is not None):
        raise ValueError("keep='dev' and patience need a dev function; pass dev=, or keep='last' without patience")
    steps = config.steps or max(1, round(config.epochs * (len(rows) // min(config.batch_size, len(rows)))))
    several = DistributedDataParallelKwargs(find_unused_parameters=True)  # such as the heads of other tasks
    accelerator = Accelerator(device_placement=False, kwargs_handlers=[several])
    if accelerator.num_processes > 1:
        method.to(accelerator.device)
    optimizer = _adamw(method, config)
    module, optimizer = accelerator.prepare(_Losses(method), optimizer)
    bfloat16 = config.precision == "bfloat16" or (config.precision == "auto" and method.encoder.device.type == "cuda")
    run = _Run(method, optimizer, config, len(rows), steps)
    random_state.set_seed(config.seed + accelerator.process_index)
    if folder is not None:
        run.open(Path(folder), resume, accelerator)
    shown = progress and accelerator.is_main_process
    method.train()
    bar = tqdm(total=steps, initial=run.step, desc=type(method).__name__, disable=not shown)
    began = time.monotonic() - run.history.seconds
    window: list[dict[str, Tensor]] = []
    while run.step < steps and not run.history.stopped:
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * schedule(run.step, steps, config.warmup, config.decay)
        first, count, step = rows.place(run.step) if isinstance(rows, Tasks) else (0, len(rows), run.step)
        batch_rows = first + batch_indices(step, count, config)
        mine = batch_rows[accelerator.process_index :: accelerator.num_processes]
        parts = np.array_split(mine, min(config.accumulate, len(mine)))
        for part in parts:
            last = part is parts[-1]
            with contextlib.nullcontext() if last else accelerator.no_sync(module):
                batch = method.collate([rows[int(i)] for i in part])
                with torch.autocast(method.encoder.device.type, torch.bfloat16, enabled=bfloat16):
                    losses = module(batch)
                accelerator.backward(sum(losses.values()) / len(parts))
            window.append({name: value.detach() for name, value in losses.items()})
        accelerator.clip_grad_norm_(method.parameters(), config.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        method.after_step()
        run.step += 1
        bar.update()
        if run.step % LOG_EVERY == 0 or run.step == steps:
            means = _means(window, run.step)
            window.clear()
            run.history.losses.append({"step": run.step, **means})
            bar.set_postfix({**means, **({"dev": run.history.dev[-1]["score"]} if run.history.dev else {})})
        run.history.seconds = time.monotonic() - began
        if on_step is not None and (found := on_step(run.step, method)):
            run.history.seen.append({"step": run.step, **found})
        if dev is not None and (run.step == steps or (config.eval_every and run.step % config.eval_every == 0)):
            run.evaluate(dev, accelerator)
        if folder is not None and (run.step % config.checkpoint_every == 0 or run.step == steps):
            run.save(Path(folder), accelerator)
    bar.close()
    run.finish()
    if folder is not None and accelerator.is_main_process:
        run.history.save(Path(folder) / "history.json")
    method.eval()
    return run.history


class _Losses(nn.Module):
    """The method with its loss as `forward`, which is what a distributed wrapper calls."""

    def __init__(self, method: Any):
        super().__init__()
        self.method = method

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        losses: dict[str, Tensor] = self.method.loss(batch)
        return losses


class _Run:
    """The state of a run: everything that a checkpoint holds."""

    def __init__(self, method: Any, optimizer: Any, config: TrainConfig, rows: int, steps: int):
        self.method, self.optimizer, self.config, self.step = method, optimizer, config, 0
        settings = {"method": type(method).__name__, **asdict(config), "rows": rows, "steps": steps}
        self.history = History(settings)
        self.best: dict[str, Tensor] = {}

    def evaluate(self, dev: Callable[[Encoder], float], accelerator: Accelerator) -> None:
        score = [dev(self.method.encoder) if accelerator.is_main_process else 0.0]
        if accelerator.num_processes > 1:
            broadcast_object_list(score)
        best = self.history.best_dev
        self.history.dev.append({"step": self.step, "score": float(score[0])})
        if best is None or score[0] > best:
            self.history.kept_step = self.step
            if self.config.keep == "dev":
                self.best = _copy(self.method)
        since = [row["step"] for row in self.history.dev].index(self.history.kept_step)
        if self.config.patience is not None and len(self.history.dev) - 1 - since >= self.config.patience:
            self.history.stopped = f"no better dev score in {self.config.patience} evaluations"

    def finish(self) -> None:
        if self.config.keep == "last":
            self.history.kept_step = self.step
        elif self.best:
            self.method.load_state_dict(self.best)
        self.history.stopped = self.history.stopped or "all steps done"

    def save(self, folder: Path, accelerator: Accelerator) -> None:
        """One file for all, so that it holds either the old state or the new one."""
        random_states = gather_object([random_state.read()])
        if not accelerator.is_main_process:
            return
        tensors = {f"method.{name}": value for name, value in _copy(self.method).items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        for number, values in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value.contiguous() for name, value in values.items()}
        about = {
            "step": str(self.step),
            "history": json.dumps(asdict(self.history)),
            "random": json.dumps(random_states),
        }
        with replacing(folder / "checkpoint.safetensors") as temporary:
            save_file(tensors, temporary, metadata=about)
        self.history.save(folder / "history.json")

    def open(self, folder: Path, resume: bool, accelerator: Accelerator) -> None:
        path = folder / "checkpoint.safetensors"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            return
        if not resume:
            raise ValueError(f"{path} is there already: pass resume=True to go on with it, or choose another folder")
        with safe_open(path, "pt") as file:
            about, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        history = History(**json.loads(about["history"]))
        asked = json.loads(json.dumps(self.history.settings))
        differ = [k for k in asked.keys() | history.settings.keys() if asked.get(k) != history.settings.get(k)]
        if differ:
            was = ", ".join(f"{k}: {history.settings.get(k)!r} then, {asked.get(k)!r} now" for k in sorted(differ))
            raise ValueError(f"{path} is of a run with other settings ({was}); choose another folder")
        self.history, self.step = history, int(about["step"])
        self.method.load_state_dict(_under("method.", tensors))
        self.best = _under("best.", tensors)
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in _under("optimizer.", tensors).items():
            number, key = name.split(".", 1)
            state.setdefault(int(number), {})[key] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        random_states = json.loads(about["random"])
        if len(random_states) != accelerator.num_processes:
            raise ValueError(f"{path} is of {len(random_states)} processes, this run has {accelerator.num_processes}")
        random_state.restore(random_states[accelerator.process_index])


def _adamw(method: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    trained = [p for p in method.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, eps=config.eps, fused=True)


def _copy(method: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone().contiguous() for name, value in method.state_dict().items()}


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _means(window: list[dict[str, Tensor]], step: int) -> dict[str, float]:
    values: dict[str, list[Tensor]] = {}
    for losses in window:  # which need not all have the same names: a step is of one task
        for name, value in losses.items():
            values.setdefault(name, []).append(value.float())
    means = {name: float(torch.stack(found).mean()) for name, found in values.items()}
    for name, mean in means.items():
        if not np.isfinite(mean):
            raise FloatingPointError(f"the {name} loss is {mean} by step {step}; try a smaller learning_rate")
    return means
