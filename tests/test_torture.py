"""A short part of what benchmarks/torture.py tries for long: no kill, damage or sharing loses anything."""

from __future__ import annotations

import os

import pytest
import torture

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def broken(promises: list[torture.Promise]) -> list[torture.Promise]:
    return [promise for promise in promises if promise[1]]


@pytest.mark.parametrize(("name", "kills"), [("fit", 2), ("add", 1), ("index", 1), ("encoder", 4)])
def test_kills_lose_nothing(name: str, kills: int) -> None:
    assert broken(torture.kill([name], kills)) == []


def test_damaged_files_and_full_disks_end_in_an_error_that_names_them() -> None:
    assert broken(torture.damage(60, long_line=10**5, seed=1)) == []


def test_processes_share_an_index_and_threads_an_encoder() -> None:
    assert broken(torture.share(minutes=0.05, processes=3, threads=4, rounds=30)) == []
