"""Readers give back texts of any characters as they were written, and name the file where its bytes are no rows."""

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
    "nli.jsonl": ((TEXTS, TEXTS, LABELS), lambda rows: objects(rows, NLI), readers.read_nli_jsonl, labelled),
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
    "en.trainSet": (
        (WORDS, WORDS, WORDS, FLAGS),
        lambda rows: "".join(f"{a}\tJ\n{b}\tN\n{c}\n{flag}\n" for a, b, c, flag in rows),
        readers.read_semeval_5a,
        lambda rows: [LabelledPair(f"{a} {b}", c, ("dissimilar", "similar")[int(flag)]) for a, b, c, flag in rows],
    ),
    "triples.tsv": ((TEXTS, TEXTS, TEXTS), lines, readers.read_msmarco, triples),
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


def together(read: Callable[..., Any]) -> Callable[[Path], Any]:
    """Read three files that go line by line together, the first of which is the one that is drawn."""

    def reader(path: Path) -> Any:
        others = path.with_name("second.txt"), path.with_name("third.txt")
        for other, line in zip(others, ("a b c\n", "1\n"), strict=True):
            other.write_text(line, encoding="utf-8")
        return read(path, *others)

    return reader


def askubuntu(path: Path) -> Any:
    (path.with_name("text.txt")).write_text("1\ta\t\n2\tb\t\n", encoding="utf-8")
    return readers.read_askubuntu(path.with_name("text.txt"), path)


def year(path: Path) -> Any:
    (path.with_name("STS.gs.y.txt")).write_text("1\n", encoding="utf-8")
    return readers.read_sts_texts(path.parent), readers.read_sts_year(path.parent)


READERS: dict[str, Callable[[Path], Any]] = {
    **{name: read for name, (_, _, read, _) in ROUND_TRIPS.items()},
    "STS.input.y.txt": year,
    "s1.dev": together(readers.read_snli),
    "dev.txt": askubuntu,
    "quora.tsv": readers.read_quora,
    "ratings.txt": readers.read_scws,
    "ppdb-2.0": readers.read_ppdb,
    "sentences.txt": readers.read_sentences,
    "articles.txt": readers.read_articles,
    "mine.csv.gz": lambda path: from_file(path, "pairs"),
    "mine.jsonl.xz": from_file,
    "mine.parquet": from_file,
}
MARKS = ["\t", ",", '"', "\n", "\r", "\0", " ||| ", "<b>", "1", "nan", "{}", "[", "text", "\u2028"]
PIECES = st.sampled_from([b"\xff", b"\xe9", *map(str.encode, MARKS)])
CONTENT = st.one_of(st.binary(max_size=40), st.lists(PIECES, max_size=30).map(b"".join))


@pytest.mark.parametrize("name", READERS)
@quick
@given(content=CONTENT)
def test_any_bytes_are_rows_or_an_error_that_names_the_file(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    try:
        READERS[name](tmp_path / name)
    except ValueError as error:
        message = str(error)
    else:
        return
    assert str(tmp_path / name) in message or "third.txt" in message
