"""Packages that only some functions need. They are imported there; the error of a missing one says what to install."""

from __future__ import annotations

import importlib
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
