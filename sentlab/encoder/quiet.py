"""Loading and saving without the bars and reports of transformers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Lock

_LOCK = Lock()
_FOUND: list[tuple[int, bool]] = []  # transformers' verbosity and bars, as each `quiet` that is open has found them


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' bars and reports on loading and saving: what matters in them is raised as an error here.

    Threads may do so at once: the last gives back what the first has found, and those before it another's silence.
    """
    from transformers.utils import logging as transformers_logging

    with _LOCK:
        _FOUND.append((transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()))
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        with _LOCK:
            verbosity, bars = _FOUND.pop()
            transformers_logging.set_verbosity(verbosity)
            if bars:
                transformers_logging.enable_progress_bar()
