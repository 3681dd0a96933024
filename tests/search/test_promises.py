"""A short part of what benchmarks/kills.py, concurrency.py and soak.py try on an index for long."""

from __future__ import annotations

import os

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_kills_of_an_index_that_grows_or_is_saved_lose_nothing() -> None:
    from kills import kill

    assert [row for row in kill(["add", "index"], 1) if not row[2]] == []


def test_processes_share_an_index() -> None:
    from concurrency import share

    assert [row for row in share(minutes=0.05, processes=3, threads=4, rounds=30) if not row[2]] == []


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_searches_leave_memory_flat() -> None:
    from soak import soak

    assert [row for row in soak(0, 150) if not row[2]] == []
