"""The programs beside the book: what the speed programs share, the torture of files, and the library that is mined."""

from __future__ import annotations

import importlib
import itertools
import json
import os
from pathlib import Path
from types import ModuleType

import pytest
import side_by_side
import torch
import torture
from experiments import records

from sentlab import data


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


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")  # what the program sets is undone at the end
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    return importlib.import_module("library")


def test_the_ways_are_measured_and_agree(library: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "book.txt").write_text("\n\n".join(data.load("toy-sentences", "train")[:60]), encoding="utf-8")
    monkeypatch.setattr(library, "NGRAM_WORDS", 40)
    monkeypatch.setattr(library, "CHUNK", 70)  # the best span is found across chunks
    monkeypatch.setattr(library, "alone", library.measure)  # a process takes seconds to start
    out = tmp_path / "results" / "mined.json"
    assert library.main(["--text", str(tmp_path / "book.txt"), "--words", "1200", "--out", str(out)]) == 0
    record = records.get("mined", out.parent)
    assert str(tmp_path) not in out.read_text()
    ways = record.results["ways"]
    assert ways["span vectors"]["spans"] == ways["index"]["spans"]
    assert ways["span vectors"]["same best"] == len(record.settings["phrases"])
