"""What the speed programs share: contestants take turns, and a missed goal is an exit status."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest
import side_by_side
import torture


@pytest.mark.parametrize(("last", "status"), [(True, 0), (False, 1)])
def test_a_missed_goal_is_an_exit_status(last: bool, status: int, tmp_path: Path) -> None:
    about = {"threads": 1, "unit": "s", "figures": {"sentlab": 0.25}, "goal": "0.3 s"}
    rows = [about | {"work": "import", "met": True}, about | {"work": "search", "met": last}]
    assert side_by_side.report(rows, tmp_path / "rows.json") == status
    assert json.loads((tmp_path / "rows.json").read_text()) == rows


def test_contestants_take_turns_and_the_first_round_does_not_count() -> None:
    order, time = [], itertools.count()
    contestants = {name: lambda name=name: order.append(name) or name.upper() for name in ("a", "b", "c")}
    seconds, results = side_by_side.in_turn(contestants, 2, clock=lambda: float(next(time)))
    assert "".join(order) == "abccbaabc"
    assert seconds == {name: [1.0, 1.0] for name in "abc"}
    assert results == {"a": "A", "b": "B", "c": "C"}


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
