"""The state of a training run, in one file that holds either the old state or the new one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from sentlab.files import clear, naming, replacing
from sentlab.training import randomness
from sentlab.training.config import History
from sentlab.training.made_by import differences

if TYPE_CHECKING:  # importing it takes a third of a second, which `import sentlab` need not wait for
    from accelerate import Accelerator

FILE = "checkpoint.safetensors"
NAMED = 6  # differences that an error names


@dataclass
class Run:
    """How far a run has come."""

    history: History
    made_by: dict[str, Any]  # what decides how it goes, see `made_by.made_by`; empty where nothing is written
    step: int = 0  # optimiser steps done
    best: dict[str, Tensor] = field(default_factory=dict)  # the method's at the best evaluation, if they are to be kept
    window: list[dict[str, Tensor]] = field(default_factory=list)  # losses of each step that the history still lacks


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
    if there and not (resume or overwrite):
        raise ValueError(
            f"{path} is there already: pass resume=True to go on with it, overwrite=True to train afresh, or choose "
            "another folder"
        )
    accelerator.wait_for_everyone()  # all have looked
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        clear(path)
        clear(folder / "history.json")
        if overwrite:
            path.unlink(missing_ok=True)
            (folder / "history.json").unlink(missing_ok=True)
    accelerator.wait_for_everyone()
    return there and resume


def load(run: Run, folder: Path, method: Any, optimizer: Any, accelerator: Accelerator) -> None:
    """Put all back to where the checkpoint was written, unless it is damaged or of another run (a ValueError)."""
    path = folder / FILE
    with naming(path), safe_open(path, "pt") as file:
        about = {name: json.loads(value) for name, value in file.metadata().items()}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    afresh = "choose another folder, or pass overwrite=True to train afresh"
    if "made_by" not in about:
        raise ValueError(f"{path} does not say what made it, as older versions of sentlab wrote it: {afresh}")
    if found := differences(about["made_by"], run.made_by):
        more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise ValueError(f"{path} belongs to another run ({'; '.join(found[:NAMED])}{more}): {afresh}")
    about["history"].pop("stopped", None)  # of older versions
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
