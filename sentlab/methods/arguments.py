"""Checks of what methods are given. A bad argument fails at once, not steps later as a loss that is NaN.

The checks of numbers raise a ValueError that names the argument and its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

from sentlab.encoder import Encoder


def check_above_zero(**arguments: float) -> None:
    """Refuse what is not a finite number above 0."""
    _check(arguments, lambda x: x > 0, "a finite number above 0")


def check_not_negative(**arguments: float) -> None:
    """Refuse what is not a finite number of at least 0."""
    _check(arguments, lambda x: x >= 0, "a finite number of at least 0")


def check_share(**arguments: float) -> None:
    """Refuse what is not a number in [0, 1)."""
    _check(arguments, lambda x: 0 <= x < 1, "at least 0 and below 1")


def check_count(**arguments: int) -> None:
    """Refuse what is not a whole number of at least 1."""
    _check(arguments, lambda x: isinstance(x, Integral) and int(x) >= 1, "a whole number of at least 1")


def _check(arguments: dict[str, Any], holds: Callable[[Any], bool], wanted: str) -> None:
    for name, value in arguments.items():
        if not (isinstance(value, Real) and math.isfinite(value) and holds(value)):
            raise ValueError(f"{name} must be {wanted}, got {value!r}")


def check_encoder(encoder: object) -> None:
    """Refuse what is no encoder, such as its name."""
    if not isinstance(encoder, Encoder):
        named = f"({encoder!r})" if isinstance(encoder, str) else "(...)"
        raise TypeError(f"a method trains a sentlab.Encoder, got {encoder!r:.60}: pass Encoder.from_pretrained{named}")


def check_rows(rows: Sequence[object], kind: type, method: str) -> None:
    """Refuse rows that a method cannot collate: none (ValueError), one string or other than `kind` (TypeError)."""
    if isinstance(rows, str):
        raise TypeError(f"{method} got one string where rows belong: {rows[:40]!r}; pass a list, [text]")
    if len(rows) == 0:
        raise ValueError(f"{method} got no rows: a batch needs at least one")
    for number, row in enumerate(rows):
        if not isinstance(row, kind):
            raise TypeError(f"{method} learns from {kind.__name__} rows, but row {number} is a {type(row).__name__}")
