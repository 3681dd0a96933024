"""The global random generators that training draws from: Python's, NumPy's and torch's, as one state."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch


def set_seed(seed: int) -> None:
    """Seed the random generators of Python, NumPy and torch, on all devices.

    Call it before you make a method, which draws its heads then. `TrainConfig(seed=...)` fixes what `fit` draws.

    Args:
        seed: at least 0 and below 2**32.

    Raises:
        ValueError: the seed is out of range.

    Example:
        >>> sentlab.set_seed(0)
        >>> method = sentlab.methods.PaSeR(sentlab.Encoder.from_pretrained())  # its decoder is the same every time
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be at least 0 and below 2**32, got {seed!r}")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  libraries that a method calls may draw from it
    torch.manual_seed(seed)


def read() -> dict[str, Any]:
    """Return the states of all generators, as JSON takes them."""
    numpy_state: dict[str, Any] = np.random.get_state(legacy=False)  # noqa: NPY002
    keys = numpy_state["state"]["key"].tolist()
    cuda = [state.tolist() for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else []
    return {
        "python": random.getstate(),
        "numpy": numpy_state | {"state": numpy_state["state"] | {"key": keys}},
        "torch": torch.get_rng_state().tolist(),
        "cuda": cuda,
    }


def restore(state: dict[str, Any]) -> None:
    """Go on from what `read` returned."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state(state["numpy"])  # noqa: NPY002
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
