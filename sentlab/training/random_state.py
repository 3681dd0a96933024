"""The global random generators that training draws from: Python's, NumPy's and torch's, as one state."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def seed(number: int) -> None:
    """Start all of them anew."""
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  libraries that a method calls may draw from it
    torch.manual_seed(number)


def read() -> dict[str, Any]:
    """Their states, as JSON takes them."""
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
    """Go on from what `read` gave."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state(state["numpy"])  # noqa: NPY002
    torch.set_rng_state(torch.tensor(state["torch"], dtype=torch.uint8))
    if state["cuda"]:
        torch.cuda.set_rng_state_all([torch.tensor(s, dtype=torch.uint8) for s in state["cuda"]])
