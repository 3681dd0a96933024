"""The state of a training run, in one file that holds either the old state or the new one."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.files import clear, naming, replacing
from sentlab.training import randomness
from sentlab.training.config import History
from sentlab.training.tasks import Tasks

if TYPE_CHECKING:  # importing it takes a third of a second, which `import sentlab` need not wait for
    from accelerate import Accelerator

FILE = "checkpoint.safetensors"


@dataclass
class Run:
    """How far a run has come."""

    history: History
    made_by: dict[str, Any] = field(default_factory=dict)  # what decides how it goes, see `describe`
    step: int = 0  # optimiser steps done
    best: dict[str, Tensor] = field(default_factory=dict)  # the method's at the best evaluation, if they are to be kept
    window: list[dict[str, Tensor]] = field(default_factory=list)  # losses of each step that the history still lacks


def describe(method: Any, rows: Sequence[Any], settings: Mapping[str, Any], dev: Any, processes: int) -> dict[str, Any]:
    """Describe what decides how a run goes, by name, so that a checkpoint is only taken up by its own run.

    A function, such as a view, counts by its name alone. The weights of heads and decoders, which a checkpoint
    restores, do not count. The encoder counts as it is when the run begins.
    """
    shapes = [f"{name} {tuple(p.shape)} {p.requires_grad}" for name, p in method.named_parameters()]
    description = {
        **settings,
        **{f"method.{name}": _plain(value) for name, value in _arguments(method)},
        "parameters": digest(shapes),
        "dropout": digest(randomness.dropout_of(method).items()),
        "encoder": method.encoder.fingerprint(tokens=True),  # without pseudo tokens, which PT-BERT draws
        "pooling": method.encoder.pooling,
        "rows": f"{len(rows)} rows, {digest(rows[i] for i in range(len(rows)))}",
        "turn": rows.turn if isinstance(rows, Tasks) else None,
        "dev": getattr(dev, "fingerprint", dev is not None),  # what it scores on, if it says so
        "processes": processes,
    }
    return dict(json.loads(json.dumps(description)))  # as the file gives it back


def digest(values: Any) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of values: arrays by their bytes, all others by repr."""
    sha = hashlib.sha256()
    for value in values:
        array = np.asarray(value) if isinstance(value, np.ndarray | Tensor) else None
        sha.update(repr(value).encode() if array is None else f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return sha.hexdigest()[:16]


def _arguments(method: nn.Module) -> Iterator[tuple[str, Any]]:
    """The public attributes of a method and of its parts, but for those of encoders and of torch's own layers."""
    encoders = tuple(f"{path}." for path, part in method.named_modules() if isinstance(part, Encoder))
    for path, part in method.named_modules():
        if not (f"{path}.".startswith(encoders) or type(part).__module__.startswith(("torch.", "transformers."))):
            for name, value in vars(part).items():
                if not name.startswith("_") and name != "training":
                    yield f"{path}.{name}".lstrip("."), value


def _plain(value: Any) -> Any:
    """What JSON can hold of an attribute; a function or an object is its name, or its fingerprint."""
    if isinstance(value, functools.partial):
        return [_plain(value.func), _plain(value.args), _plain(value.keywords)]
    if isinstance(value, Mapping):
        return {str(key): _plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "fingerprint", None) or getattr(value, "__qualname__", type(value).__qualname__)


def copy_of(method: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the method's tensors on the CPU."""
    return {name: value.detach().cpu().clone().contiguous() for name, value in method.state_dict().items()}


def save(run: Run, folder: Path, method: nn.Module, optimizer: Any, accelerator: Accelerator) -> None:
    """Write the checkpoint and the history; the random states of all processes go into the one file."""
    from accelerate.utils import gather_object

    random_states = gather_object([randomness.read()])
    if not accelerator.is_main_process:
        return
    tensors = {f"method.{name}": value for name, value in copy_of(method).items()}
    tensors |= {f"best.{name}": value for name, value in run.best.items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value.contiguous() for name, value in values.items()}
    about = {
        "step": run.step,
        "history": asdict(run.history),
        "made_by": run.made_by,
        "window": [{name: float(value) for name, value in losses.items()} for losses in run.window],
        "random": random_states,
    }
    with replacing(folder / FILE) as temporary:
        save_file(tensors, temporary, metadata={name: json.dumps(value) for name, value in about.items()})
    run.history.save(folder / "history.json")


def prepare(folder: Path, resume: bool, overwrite: bool, accelerator: Accelerator) -> bool:
    """Make the folder ready, and tell whether it has a checkpoint to go on from. Refuse one that nobody expects."""
    path = folder / FILE
    there = path.exists()
    if there and resume == overwrite:
        raise ValueError(f"{path} is there: pass resume=True to go on with it, or overwrite=True to train afresh")
    accelerator.wait_for_everyone()  # all have looked
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        for file in (path, folder / "history.json"):
            clear(file)
            if overwrite:
                file.unlink(missing_ok=True)
    accelerator.wait_for_everyone()
    return there and resume


def load(run: Run, folder: Path, method: Any, optimizer: Any, accelerator: Accelerator) -> None:
    """Put all back to where the checkpoint was written, unless it is damaged or of another run (a ValueError)."""
    path = folder / FILE
    with naming(path), safe_open(path, "pt") as file:
        about = {name: json.loads(value) for name, value in file.metadata().items()}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    was, now = about["made_by"], run.made_by
    if other := [
        f"{name}: {was.get(name)!r} then, {now.get(name)!r} now" for name in now if was.get(name) != now[name]
    ]:
        raise ValueError(f"{path} is of another run ({'; '.join(other)}): choose another folder, or overwrite=True")
    run.history, run.step = History(**about["history"]), about["step"]
    device = method.encoder.device
    run.window = [{name: torch.tensor(x, device=device) for name, x in losses.items()} for losses in about["window"]]
    weights: dict[str, Tensor] = {}
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        part, key = name.split(".", 1)
        if part == "optimizer":
            number, key = key.split(".", 1)
            state.setdefault(int(number), {})[key] = tensor
        else:
            (weights if part == "method" else run.best)[key] = tensor
    method.load_state_dict(weights)
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
    randomness.restore(about["random"][accelerator.process_index])
