"""Packages and data that only some functions need: the error of missing ones says what to install."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


def need(package: str, extra: str) -> ModuleType:
    """Import a package, such as `scipy.stats`, that an extra of `pyproject.toml`, such as `eval`, brings.

    Raises:
        ImportError: the package is not installed; says how to install the extra.
    """
    name = package.partition(".")[0]
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name:
            raise  # the package is there, and something that it needs is not
        raise ImportError(f"this needs {name}, which is not installed: pip install 'sentlab[{extra}]'") from error


@contextmanager
def nltk_data(name: str, instead: str) -> Iterator[None]:
    """Say how to get the data of NLTK that the block asks for, and what to do `instead`, where they are missing.

    Raises:
        LookupError: the block raised one.
    """
    try:
        yield
    except LookupError:
        raise LookupError(
            f"NLTK's {name} is not on this computer: run nltk.download({name!r}), set NLTK_DATA to a folder that has "
            f"it before Python starts, or {instead}"
        ) from None
