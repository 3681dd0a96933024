"""Dropout, set in one place for all parts of a module."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn
from torch.nn.modules.dropout import _DropoutNd


def set_dropout(module: nn.Module, p: float) -> None:
    """Set the probability of every dropout within `module`.

    It also reaches parts that keep the probability in an attribute, such as `nn.MultiheadAttention`. A saved encoder
    loads with the dropout that its configuration names, which stays as it was.

    Args:
        module: a method, an encoder or any other module; changed in place.
        p: the probability that an element is zeroed, at least 0 and below 1; 0 turns dropout off.

    Raises:
        ValueError: p is out of range.

    Example:
        >>> method = sentlab.methods.PaSeR(sentlab.Encoder.from_pretrained())
        >>> set_dropout(method, 0.02)
        >>> set(dropout_of(method).values())
        {0.02}
    """
    if not 0 <= p < 1:
        raise ValueError(f"p must be at least 0 and below 1, got {p!r}")
    for part, name in _places(module):
        setattr(part, name, float(p))


def dropout_of(module: nn.Module) -> dict[str, float]:
    """Return the probability of every dropout within `module`, by the dotted name of its attribute."""
    names = {part: name for name, part in module.named_modules()}
    return {f"{names[part]}.{name}".lstrip("."): float(getattr(part, name)) for part, name in _places(module)}


def _places(module: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Each part that applies dropout, with the attribute that holds the probability."""
    for part in module.modules():
        if isinstance(part, _DropoutNd):
            yield part, "p"
        for name, value in vars(part).items():
            if "dropout" in name and isinstance(value, float | int) and not isinstance(value, bool):
                yield part, name
