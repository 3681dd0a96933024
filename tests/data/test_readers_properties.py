"""Readers give back texts of any characters as they were written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sentlab.data import from_file, readers
from sentlab.data.rows import LabelledPair, ScoredPair, Triple, WordPair

quick = settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\t\r\n\ufeff")
TEXTS = st.text(CHARACTERS, min_size=1, max_size=12).map(str.strip).filter(bool)
WORDS = st.text(st.characters(categories=("L",)), min_size=1, max_size=8)
SCORES = st.integers(0, 5)
FLAGS, LABELS = st.sampled_from(["0", "1"]), st.sampled_from(readers.NLI_LABELS)


def lines(rows: Sequence[Sequence[Any]], separator: str = "\t", header: str = "") -> str:
    return header + "".join(separator.join(map(str, row)) + "\n" for row in rows)


def quoted(rows: Sequence[Sequence[Any]], names: Sequence[str], separator: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows([names, *rows])
    return out.getvalue()


def objects(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


PAIR, TRIPLE = ("text_a", "text_b", "score"), ("anchor", "positive", "negative")
NLI = ("sentence1", "sentence2", "gold_label")
SICK = ("sentence_A", "sentence_B", "relatedness_score")
Rows = list[tuple[Any, ...]]


def scored(rows: Rows) -> list[Any]:
    return [ScoredPair(a, b, float(score)) for a, b, score in rows]


def labelled(rows: Rows) -> list[Any]:
    return [LabelledPair(*row) for row in rows]


def triples(rows: Rows) -> list[Any]:
    return [Triple(*row) for row in rows]


RoundTrip = tuple[tuple[Any, ...], Callable[[Rows], str], Callable[[Path], Any], Callable[[Rows], list[Any]]]
# name of the file -> columns of a row, how they are written, how they are read, and the rows that are expected
ROUND_TRIPS: dict[str, RoundTrip] = {
    "sts-dev.csv": (
        (TEXTS, TEXTS, SCORES),
        lambda rows: lines([("g", "f", "y", "1", score, a, b) for a, b, score in rows]),
        readers.read_stsb,
        scored,
    ),
    "SICK.txt": (
        (TEXTS, TEXTS, st.integers(1, 5)),
        lambda rows: lines(rows, header="\t".join(SICK) + "\n"),
        readers.read_sick,
        scored,
    ),
    "mnli.csv": (
        (TEXTS, TEXTS, LABELS),
        lambda rows: quoted(rows, ("premise", "hypothesis", "label")),
        readers.read_mnli_csv,
        labelled,
    ),
    "words.txt": (
        (WORDS, WORDS, SCORES),
        lines,
        readers.read_word_pairs,
        lambda rows: [WordPair(a, b, float(score)) for a, b, score in rows],
    ),
    "mine.txt": ((TEXTS,), lines, from_file, lambda rows: [text for (text,) in rows]),
    "mine.csv": (
        (TEXTS, TEXTS, SCORES),
        lambda rows: quoted(rows, PAIR),
        lambda path: from_file(path, "pairs"),
        scored,
    ),
    "mine.tsv": (
        (TEXTS, TEXTS, TEXTS),
        lambda rows: quoted(rows, TRIPLE, "\t"),
        lambda path: from_file(path, "triples"),
        triples,
    ),
    "mine.jsonl": (
        (TEXTS, TEXTS, SCORES),
        lambda rows: objects(rows, PAIR),
        lambda path: from_file(path, "pairs"),
        scored,
    ),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
@quick
@given(data=st.data())
def test_what_is_written_is_read(tmp_path: Path, name: str, data: st.DataObject) -> None:
    columns, write, read, expected = ROUND_TRIPS[name]
    rows = data.draw(st.lists(st.tuples(*columns), min_size=1, max_size=4))
    path = tmp_path / name
    ends = data.draw(st.sampled_from(["\n", "\r\n"]))
    path.write_bytes(data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + write(rows).replace("\n", ends).encode())
    assert list(read(path).rows) == expected(rows)
