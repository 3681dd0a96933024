"""The library that is mined in all ways: its record, and that the plain way finds what the index finds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from experiments import records

from sentlab import data

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "library.py"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")  # what the program sets is undone at the end
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    specification = importlib.util.spec_from_file_location("library", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "library", module)  # where dataclasses look for it
    specification.loader.exec_module(module)
    return module


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
