"""The library that is mined in all ways: its record, and that the plain way finds what the index finds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
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
    monkeypatch.setattr(library, "alone", library.measure)  # a process takes seconds to start
    out = tmp_path / "results" / "mined.json"
    assert library.main(["--text", str(tmp_path / "book.txt"), "--words", "1200", "--out", str(out)]) == 0
    (record,) = records.load("mined", out.parent)
    assert str(tmp_path) not in out.read_text()
    ways = record.results.ways
    assert ways["span vectors"]["spans"] == ways["index"]["spans"]
    assert ways["span vectors"]["same best"] == len(record.settings.phrases)


def test_lines_are_drawn_in_order_and_the_last_one_is_cut(library: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"
    path.write_text("\n\n".join(f"{number}  {number} {number}" for number in range(100)), encoding="utf-8")
    lines = library.drawn_lines(path, 31)
    numbers = [int(line.split()[0]) for line in lines]
    assert numbers == sorted(numbers)
    assert numbers != list(range(11))  # they are from all of the file
    assert sorted(len(line.split()) for line in lines) == [1] + [3] * 10
    assert len(library.drawn_lines(path, 10_000)) == 100


def test_the_nearest_vector_is_found_across_chunks(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "CHUNK", 7)
    random = np.random.default_rng(0)
    vectors = library.normalised(random.normal(size=(50, 8))).astype(np.float16)
    queries = random.normal(size=(5, 8)).astype(np.float32)
    cosines = queries @ vectors.T / np.linalg.norm(queries, axis=1, keepdims=True)
    nearest = [hits[0] for hits in library.nearest(vectors, queries)]
    assert [place for _, place in nearest] == cosines.argmax(1).tolist()
    assert [cosine for cosine, _ in nearest] == pytest.approx(cosines.max(1), abs=1e-3)
