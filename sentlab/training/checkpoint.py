"""The state of a training run, in one file that holds either the old state or the new one."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from sentlab.files import clear, replacing
from sentlab.training import randomness
from sentlab.training.config import History, TrainConfig

if TYPE_CHECKING:  # slow to import
    from accelerate import PartialState

FILE = "checkpoint.safetensors"


@dataclass
class Run:
    """What a run trains with, and how far it has come."""

    method: Any
    module: Any  # what computes the method's losses, in all processes together
    config: TrainConfig
    optimizer: torch.optim.Optimizer
    processes: PartialState
    folder: Path | None
    history: History
    made_by: dict[str, Any] = field(default_factory=dict)  # what decides how it goes, see `describe`
    step: int = 0  # optimiser steps done
    best: dict[str, Tensor] = field(default_factory=dict)  # the method's at the best evaluation, if they are to be kept
    window: list[dict[str, Tensor]] = field(default_factory=list)  # losses of each step that the history still lacks

    @property
    def steps(self) -> int:
        return self.history.settings["steps"]


def describe(method: Any, rows: Sequence[Any], settings: Mapping[str, Any], dev: Any, processes: int) -> dict[str, Any]:
    """Describe what decides how a run goes, by name, so that a checkpoint is only taken up by its own run.

    A function, such as a view, counts by its name alone. The weights of heads and decoders do not count, as a
    checkpoint restores them. The encoder counts as it is when the run begins.
    """
    methods = [part for part in method.modules() if hasattr(part, "collate")]  # SupervisedPaSeR holds a PaSeR
    attributes = ((type(part).__name__, *item) for part in methods for item in vars(part).items())
    description = {
        **{name: x for name, x in settings.items() if name != "checkpoint_every"},
        **{f"{kind}.{name}": x for kind, name, x in attributes if name[0] != "_" and name != "training"},
        "tensors": digest((name, x.shape, x.requires_grad) for name, x in method.state_dict(keep_vars=True).items()),
        "dropout": digest(randomness.dropout_of(method).items()),
        "encoder": method.encoder.fingerprint(tokens=True),  # without pseudo tokens, which PT-BERT draws
        "pooling": method.encoder.pooling,
        "rows": f"{len(rows)} rows, {digest(rows[i] for i in range(len(rows)))}",
        "turn": getattr(rows, "turn", None),  # of `Tasks`
        "dev": getattr(dev, "fingerprint", dev is not None),  # what it scores on, if it says so
        "processes": processes,
    }
    return dict(json.loads(json.dumps(description, default=_name)))  # as the file gives it back


def _name(value: Any) -> Any:
    """What the description holds of an attribute that JSON has no words for."""
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if hasattr(value, "tolist"):  # of NumPy or torch
        return value.tolist()
    return getattr(value, "fingerprint", None) or getattr(value, "__qualname__", type(value).__qualname__)


def digest(values: Iterable[Any]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of values: arrays by their bytes, all others by repr."""
    sha = hashlib.sha256()
    for value in values:
        array = np.asarray(value) if isinstance(value, np.ndarray | Tensor) else None
        sha.update(repr(value).encode() if array is None else f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return sha.hexdigest()[:16]


def copy_of(method: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the method's tensors on the CPU."""
    return {name: value.detach().cpu().clone().contiguous() for name, value in method.state_dict().items()}


def save(run: Run) -> None:
    """Write the checkpoint and the history, if there is a folder; the file has the random states of all processes."""
    from accelerate.utils import gather_object

    if run.folder is None:
        return
    random_states = gather_object([randomness.read()])
    if not run.processes.is_main_process:
        return
    tensors = {f"method.{name}": value for name, value in copy_of(run.method).items()}
    tensors |= {f"best.{name}": value for name, value in run.best.items()}
    for number, values in run.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value.contiguous() for name, value in values.items()}
    about = {
        "step": run.step,
        "history": asdict(run.history),
        "made_by": run.made_by,
        "window": [{name: float(value) for name, value in losses.items()} for losses in run.window],
        "random": random_states,
    }
    with replacing(run.folder / FILE) as temporary:
        save_file(tensors, temporary, metadata={name: json.dumps(value) for name, value in about.items()})
    run.history.save(run.folder / "history.json")


def start(run: Run, rows: Sequence[Any], dev: Any, resume: bool, overwrite: bool) -> None:
    """Make the run's folder ready, and go on from its checkpoint if asked to. Refuse one that nobody expects."""
    if run.folder is None:
        return
    path, processes = run.folder / FILE, run.processes
    run.made_by = describe(run.method, rows, run.history.settings, dev, processes.num_processes)
    there = path.exists()
    if there and resume == overwrite:
        raise ValueError(f"{path} is there: pass resume=True to go on with it, or overwrite=True to train afresh")
    processes.wait_for_everyone()  # all have looked
    if processes.is_main_process:
        run.folder.mkdir(parents=True, exist_ok=True)
        for file in (path, run.folder / "history.json"):
            clear(file)
            if overwrite:
                file.unlink(missing_ok=True)
    processes.wait_for_everyone()
    if there and resume:
        _load(run, path)


def _load(run: Run, path: Path) -> None:
    """Put all back to where the checkpoint was written, unless it is of another run (a ValueError that says why)."""
    tensors: dict[str, dict[str, Tensor]] = defaultdict(dict)  # of the method, of the best one, and of the optimiser
    try:
        with safe_open(path, "pt") as file:
            about = {name: json.loads(value) for name, value in file.metadata().items()}
            for name in file.keys():  # noqa: SIM118
                of, rest = name.split(".", 1)
                tensors[of][rest] = file.get_tensor(name)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or cut off ({error}): pass overwrite=True to train afresh") from error
    was, now = about["made_by"], run.made_by
    if other := [f"{name}: {was.get(name)!r} then, {now[name]!r} now" for name in now if was.get(name) != now[name]]:
        raise ValueError(f"{path} is of another run ({'; '.join(other)}): choose another folder, or overwrite=True")
    run.history, run.step = History(**about["history"]), about["step"]
    device = run.method.encoder.device
    run.window = [{name: torch.tensor(x, device=device) for name, x in losses.items()} for losses in about["window"]]
    run.method.load_state_dict(tensors["method"])
    run.best = tensors["best"]
    state: dict[int, dict[str, Tensor]] = defaultdict(dict)
    for name, tensor in tensors["optimizer"].items():
        number, key = name.split(".")
        state[int(number)][key] = tensor
    run.optimizer.load_state_dict(run.optimizer.state_dict() | {"state": dict(state)})
    randomness.restore(about["random"][run.processes.process_index])
