"""Checks of the methods' arguments. A bad value fails where it is given, not steps later as a loss that is NaN."""

from __future__ import annotations

import math
from numbers import Integral, Real


def check_above_zero(**arguments: float) -> None:
    """Refuse what is not a finite number above 0.

    Raises:
        ValueError: names the argument and its value.
    """
    for name, value in arguments.items():
        if not (_finite(value) and value > 0):
            raise ValueError(f"{name} must be a finite number above 0, got {value!r}")


def check_not_negative(**arguments: float) -> None:
    """Refuse what is not a finite number of at least 0. Raises as `check_above_zero`."""
    for name, value in arguments.items():
        if not (_finite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")


def check_share(**arguments: float) -> None:
    """Refuse what is not a number in [0, 1). Raises as `check_above_zero`."""
    for name, value in arguments.items():
        if not (_finite(value) and 0 <= value < 1):
            raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}")


def check_count(**arguments: int) -> None:
    """Refuse what is not a whole number of at least 1. Raises as `check_above_zero`."""
    for name, value in arguments.items():
        if not (isinstance(value, Integral) and value >= 1):
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def _finite(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
