"""The library that is mined in all ways: what its record holds, that the ways agree, and what it refuses."""

from __future__ import annotations

import importlib.util
import lzma
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from experiments import records

from sentlab import data

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "library.py"
WANTED = "The captain said that there would be a storm at sea before the night was over"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")  # what the program sets is undone at the end
    specification = importlib.util.spec_from_file_location("library", SCRIPT)
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "library", module)  # where dataclasses look for it
    threads = torch.get_num_threads()
    specification.loader.exec_module(module)
    yield module
    torch.set_num_threads(threads)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """Two files: paragraphs of a line each with blank lines between them, compressed, and one book on a single line."""
    sentences = list(data.load("toy-sentences", "train")[:60])
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    paragraphs = [" ".join(sentences[i : i + 2]) for i in range(0, 30, 2)]
    paragraphs[7] = f"{WANTED}, & nobody <b>believed</b> him."
    (shelf / "articles.txt.xz").write_bytes(lzma.compress("\n\n".join(paragraphs).encode()))
    (shelf / "book.txt").write_text(" ".join(sentences[30:]) + "\n", encoding="utf-8")
    (shelf / "notes.md").write_text("no text of the library")
    return shelf


def test_the_ways_are_measured_and_agree(
    library: ModuleType,
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path))
    monkeypatch.setattr(library, "NGRAM_WORDS", 40)
    in_a_process = library.alone

    def alone(way: str, *place: Any) -> dict[str, Any]:  # a process takes seconds to start
        return in_a_process(way, *place) if way == "index" else library.measure(way, *place)

    monkeypatch.setattr(library, "alone", alone)
    out = tmp_path / "results" / "mined.json"
    assert library.main(["--text", str(shelf), "--words", "1200", "--out", str(out)]) == 0
    assert [path.name for path in out.parent.iterdir()] == ["mined.json"]
    (record,) = records.load("mined", out.parent)
    assert isinstance(record, records.LibraryRecord)
    assert record.results
    assert record.source.encoder
    assert record.provenance_line() in capsys.readouterr().out
    assert str(tmp_path) not in out.read_text()

    texts = ["SENTLAB_DATA/shelf/articles.txt.xz", "SENTLAB_DATA/shelf/book.txt"]
    assert record.settings.text == texts
    asked = f"--text {' '.join(texts)} --encoder tiny --words 1200 --out book/results/mined.json"
    assert record.source.command == f"python benchmarks/library.py {asked}"
    assert [about.source for about in record.source.data.values()] == texts
    assert [len(about.fingerprint) for about in record.source.data.values()] == [16, 16]
    assert record.source.encoder.dim == 128

    ways = record.results.ways
    assert list(ways) == ["index", "paragraphs", "bm25", "span vectors", "ngrams"]
    words = sum(about.words for about in record.source.data.values())
    assert [row["words"] for row in ways.values()][:4] == [words] * 4  # so short a text is its own part
    assert 0 < ways["ngrams"]["words"] < words / 3
    for way in ("index", "paragraphs", "bm25", "span vectors"):
        costs = {name: value for name, value in ways[way].items() if name.startswith(("seconds", "bytes"))}
        assert len(costs) >= 6
        assert min(costs.values()) >= 0
    index, plain = ways["index"], ways["span vectors"]
    assert words <= index["words and marks"] <= 1.5 * words
    assert plain["spans"] == index["spans"]
    assert 10 * index["words and marks"] < index["spans"] < 20 * index["words and marks"]
    assert plain["bytes"] == pytest.approx(index["spans"] * 128 * 2, rel=0.01)
    assert index["bytes in float32"] - index["bytes"] == index["words and marks"] * 128 * 2
    assert plain["same best"] == len(record.settings.phrases)

    assert list(record.results.hits) == record.settings.phrases
    found = record.results.hits["a storm at sea"]
    assert len(found.index) == library.HITS
    similarities = [hit.similarity for hit in found.index]
    assert similarities == sorted(similarities, reverse=True)
    assert found.bm25.words.startswith(WANTED)
    assert found.bm25.file == "articles.txt.xz"
    best = found.index[0]
    assert best.words in WANTED
    whole = f"{WANTED}, & nobody <b>believed</b> him."
    assert f"{best.before}{best.words}{best.after}" in whole
    assert len(best.after) == min(60, len(whole) - whole.index(best.words) - len(best.words))
    assert found.paragraphs.words


def test_lines_are_drawn_in_order_and_the_last_one_is_cut(library: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"
    path.write_text("\n\n".join(f"{number}  {number} {number}" for number in range(100)), encoding="utf-8")
    lines = library.drawn_lines(path, 31)
    assert sum(len(line.split()) for line in lines) == 31
    numbers = [int(line.split()[0]) for line in lines]
    assert numbers == sorted(numbers)
    assert numbers != list(range(11))  # they are from all of the file
    assert sorted(len(line.split()) for line in lines) == [1] + [3] * 10
    assert library.drawn_lines(path, 31) == lines
    assert len(library.drawn_lines(path, 10_000)) == 100


def test_the_nearest_vector_is_found_across_chunks(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "CHUNK", 7)
    random = np.random.default_rng(0)
    vectors = library.normalised(random.normal(size=(50, 8))).astype(np.float16)
    queries = random.normal(size=(5, 8)).astype(np.float32)
    cosines = queries @ vectors.T / np.linalg.norm(queries, axis=1, keepdims=True)
    found = [hits[0] for hits in library.nearest(vectors, queries)]
    assert [place for _, place in found] == cosines.argmax(1).tolist()
    assert [cosine for cosine, _ in found] == pytest.approx(cosines.max(1), abs=1e-3)


def test_memory_is_what_is_added_at_most(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    read, looks = library.private_memory, threading.Semaphore(0)

    def counted() -> int:
        bytes_held = read()
        looks.release()
        return bytes_held

    def work() -> None:
        held = np.ones(40 * 2**20, dtype=np.uint8)
        while looks.acquire(blocking=False):
            pass
        # two whole looks: on a busy machine the watching thread may be late, and the first may have begun before
        assert all(looks.acquire(timeout=60) for _ in range(2))
        del held

    monkeypatch.setattr(library, "private_memory", counted)
    assert 39 * 2**20 < library.most_memory(work) < 60 * 2**20
    assert library.most_memory(lambda: None) < 2**20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the texts"),
        (["--text", "gone.txt"], r"no text file gone\.txt; --text takes"),
        (["--text", "bare"], "no text file bare; --text takes"),
        (["--text", "blank.txt"], r"2,000,000 words were to be read of blank\.txt, and none was found"),
        (["--text", "some.txt", "--words", "0"], r"0 words were to be read of some\.txt, and none was found"),
        (["--text", "latin.txt"], r"latin\.txt:1"),
        (["--text", "some.txt", "--encoder", "./gone"], "no folder gone; give"),
    ],
)
def test_errors_say_what_is_wrong(
    library: ModuleType,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bare").mkdir()
    Path("blank.txt").write_text(" \n\n")
    Path("some.txt").write_text("some words")
    Path("latin.txt").write_bytes("café au lait".encode("latin-1"))
    with pytest.raises(SystemExit):
        library.main([*arguments, "--out", "out.json"])
    assert re.search(message, capsys.readouterr().err.splitlines()[-1])
    assert not Path("out.json").exists()


def test_a_record_names_no_place(library: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("SENTLAB_DATA", "../public")
    places = [Path("runs/slice"), tmp_path / "public" / "text" / "a.txt", Path("../public/b.txt"), tmp_path / "c.txt"]
    shown = ["runs/slice", "SENTLAB_DATA/text/a.txt", "SENTLAB_DATA/b.txt", "c.txt"]
    assert [library.without_place(place) for place in places] == shown
    monkeypatch.delenv("SENTLAB_DATA")
    assert library.without_place(places[1]) == "a.txt"
