"""Silence while transformers loads and saves, also in several threads."""

from __future__ import annotations

from transformers.utils import logging

from sentlab.encoder.storage import quiet


def test_threads_that_silence_transformers_at_once_give_back_its_settings() -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    first, second = quiet(), quiet()
    try:
        logging.set_verbosity_warning()
        logging.enable_progress_bar()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (logging.ERROR, False)
        second.__exit__(None, None, None)
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (logging.WARNING, True)
    finally:
        logging.set_verbosity(before[0])
        (logging.enable_progress_bar if before[1] else logging.disable_progress_bar)()
