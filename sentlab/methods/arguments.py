"""Checks of what methods are given. A bad argument fails at once, not steps later as a loss that is NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def check_rows(rows: Sequence[object], kind: type, method: str) -> None:
    """Refuse rows that a method cannot collate.

    Args:
        rows: of one batch.
        kind: the class of every row.
        method: its name, for the error.

    Raises:
        TypeError: one string instead of rows, or a row of another class.
        ValueError: no rows.
    """
    if isinstance(rows, str):
        raise TypeError(f"{method} got one string where rows belong: {rows[:40]!r}; pass a list, [text]")
    if len(rows) == 0:
        raise ValueError(f"{method} got no rows: a batch needs at least one")
    for number, row in enumerate(rows):
        if not isinstance(row, kind):
            raise TypeError(f"{method} learns from {kind.__name__} rows, but row {number} is a {type(row).__name__}")


def _finite(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
