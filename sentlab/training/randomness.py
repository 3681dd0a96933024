"""What is random in training: the global generators of Python, NumPy and torch, and dropout."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd


def set_seed(seed: int) -> None:
    """Seed the random generators of Python, NumPy and torch, on all devices, with a seed from 0 to 2**32 - 1.

    Call it before you make a method, which draws its heads then. `TrainConfig(seed=...)` fixes what `fit` draws.
    """
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  libraries that a method calls may draw from it
    torch.manual_seed(seed)


def read() -> dict[str, Any]:
    """Return the states of all generators, as JSON takes them."""
    name, keys, *rest = cast(Any, np.random.get_state())  # noqa: NPY002
    return {
        "python": random.getstate(),
        "numpy": [name, keys.tolist(), *rest],
        "torch": torch.get_rng_state().tolist(),
        "cuda": [state.tolist() for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else [],
    }


def restore(state: dict[str, Any]) -> None:
    """Go on from what `read` returned."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state(tuple(state["numpy"]))  # noqa: NPY002
    torch.set_rng_state(torch.tensor(state["torch"], dtype=torch.uint8))
    for device, known in enumerate(state["cuda"][: torch.cuda.device_count()]):  # there may be fewer than there were
        torch.cuda.set_rng_state(torch.tensor(known, dtype=torch.uint8), device)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Give all generators back the state that they had, when the block ends."""
    state = read()
    try:
        yield
    finally:
        restore(state)


def set_dropout(module: nn.Module, p: float) -> None:
    """Set the probability of every dropout within `module`, such as a method, to `p` in [0, 1).

    It also reaches parts that keep the probability in an attribute, such as `nn.MultiheadAttention`. A saved encoder
    loads with the dropout that its configuration names, which stays as it was.
    """
    for _, part, attribute in _places(module):
        setattr(part, attribute, float(p))


def dropout_of(module: nn.Module) -> dict[str, float]:
    """Return the probability of every dropout within `module`, by the dotted name of its attribute."""
    return {f"{path}.{name}".lstrip("."): float(getattr(part, name)) for path, part, name in _places(module)}


def _places(module: nn.Module) -> Iterator[tuple[str, nn.Module, str]]:
    """Each part that applies dropout, with its path and the attribute that holds the probability."""
    for path, part in module.named_modules():
        if isinstance(part, _DropoutNd):
            yield path, part, "p"
        for name, value in vars(part).items():
            if "dropout" in name and isinstance(value, float | int) and not isinstance(value, bool):
                yield path, part, name
