"""Rows of the user: every format gives the same rows, and every error names the file, the row and the column."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from sentlab.data import ScoredPair, Triple, from_file

PAIRS = [("a dog", 'he said "hi", once', 5.0), ("two\nlines of a\u2028 field", "é 😀\x85!", 0.0), ("NA", "007", 2.5)]
HEADER = ("text_a", "text_b", "score")


def written(path: Path, rows: list[tuple[Any, ...]], names: tuple[str, ...] = HEADER) -> Path:
    """A file of some rows, by its ending."""
    kind = path.suffixes[0]
    if kind == ".parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        parquet.write_table(pyarrow.table(columns), path)
        return path
    if kind == ".jsonl":
        text = "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    else:
        mark = {".csv": ",", ".tsv": "\t"}[kind]
        fields = [mark.join('"' + str(value).replace('"', '""') + '"' for value in row) for row in (names, *rows)]
        text = "\r\n".join(fields) + "\r\n"
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "wb") as file:
        file.write(text.encode("utf-8-sig"))
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.xz"])
def test_formats_give_the_same_rows(tmp_path: Path, ending: str) -> None:
    corpus = from_file(written(tmp_path / f"mine.{ending}", PAIRS), "pairs", split="dev")
    assert corpus.rows == tuple(ScoredPair(*row) for row in PAIRS)
    assert (corpus.name, corpus.split, corpus.source, corpus.left_out) == ("mine", "dev", f"mine.{ending}", {})


def test_texts_triples_and_other_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffA dog.\r\n\r\n  Été\n".encode())
    texts = from_file(tmp_path / "a.txt", name="mine")
    assert (texts.rows, texts.left_out, texts.name) == (("A dog.", "Été"), {"blank text": 1}, "mine")
    path = written(tmp_path / "a.csv", PAIRS, ("x", "y", "z"))
    assert from_file(path, columns="y").rows == tuple(row[1] for row in PAIRS)
    assert from_file(path, "triples", columns=["z", "x", "y"])[0] == Triple("5.0", *PAIRS[0][:2])
    (tmp_path / "b.tsv").write_text('n\ttext\n1\t"Yes" he said\n2\t"no\n')
    assert from_file(tmp_path / "b.tsv", quotes=False).rows == ('"Yes" he said', '"no')
    (tmp_path / "C.CSV").write_text("n;text\n1;a, b\n\n")
    assert from_file(tmp_path / "C.CSV", separator=";").rows == ("a, b",)


def test_a_carriage_return_inside_a_line_begins_no_row(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"first\rpart\nsecond\n")
    assert from_file(tmp_path / "a.txt").rows == ("first\rpart", "second")
    (tmp_path / "b.txt").write_bytes(b"first\rsecond\r")  # which ends all its lines so
    assert from_file(tmp_path / "b.txt").rows == ("first", "second")
    (tmp_path / "a.csv").write_bytes(b"text\nfirst\rpart\nsecond\n")
    for quotes in (True, False):
        with pytest.raises(ValueError, match=r"a\.csv:2: "):  # pandas would read two rows
            from_file(tmp_path / "a.csv", quotes=quotes)
    (tmp_path / "b.csv").write_bytes(b'text,n\r\n"a\rb\nc",1\r\nd\r\n')
    with pytest.raises(ValueError, match=r"b\.csv:4: expected 2 columns, found 1"):
        from_file(tmp_path / "b.csv")


def test_scores_are_mapped_and_gaps_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", [("a", "b", "-1"), ("c", "d", "1"), ("e", "f", ""), ("", "g", "0")])
    corpus = from_file(path, "pairs", scale=(-1, 1))
    assert [row.score for row in corpus] == [0.0, 5.0]
    assert sum(corpus.left_out.values()) == 2


PAIRS_HEADER = b"text_a,text_b,score\n"


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.csv", b"text_a,text_b\n", "a.csv:1: "),
        ("a.csv", b"text_a,text_b,score,score\n", "a.csv:1: "),
        ("a.csv", PAIRS_HEADER + b"a,b,1\nc,d,9\n", "a.csv:3: column 'score': "),
        ("a.csv", PAIRS_HEADER + b"a,b\n", "a.csv:2: "),
        ("a.csv", PAIRS_HEADER + b'"a,b,1\n', "a.csv:2: "),
        ("a.jsonl", b'{"text_a": "a", "text_b": 3, "score": 1}\n', "a.jsonl:1: column 'text_b': "),
        ("a.jsonl", b'{"text_a": "a", "text_b": "b", "score": [1]}\n', "a.jsonl:1: column 'score': "),
        ("a.jsonl", b"\n[1]\n", "a.jsonl:2: "),
        ("a.jsonl", b'{"text": "a"}\n', "no row is left with text_a, text_b, score"),
        ("a.jsonl", b'{"text_a": "\\ud83d", "text_b": "b", "score": 1}\n', "a.jsonl:1: "),
    ],
)
def test_errors_name_the_file_the_row_and_the_column(tmp_path: Path, name: str, content: bytes, place: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError) as raised:  # noqa: PT011  the place is looked for below
        from_file(tmp_path / name, "pairs")
    assert place in str(raised.value)


def test_plain_quotes_of_a_tsv_that_merge_rows_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('note\ttext\n"so he said\tone\nx\ttwo\ny"\tthree\nz\tfour\n')
    with pytest.warns(UserWarning, match=r"a.tsv:2: .*quotes=False"):
        assert from_file(path).rows == ("three", "four")
    assert from_file(path, quotes=False).rows == ("one", "two", "three", "four")


def test_a_field_of_any_length_is_read(tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_text(f'{{"text": "a", "n": {"9" * 5000}}}')
    assert from_file(tmp_path / "long.jsonl").rows == ("a",)
    text = "a long story. " * 20_000
    (tmp_path / "long.csv").write_text(f'text\n"{text}"\nshort\n')
    assert [len(row) for row in from_file(tmp_path / "long.csv")] == [len(text.strip()), 5]


def test_what_spreadsheets_write_is_read_or_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfsep=;\r\ntext_a;text_b;score\r\na, b;c;4.5\r\nd;e;4,5\r\n")
    assert from_file(tmp_path / "a.csv", columns="text_a").rows == ("a, b", "d")
    with pytest.raises(ValueError, match=r"a\.csv:4: column 'score': .*4\.5 for 4,5"):
        from_file(tmp_path / "a.csv", "pairs")
    (tmp_path / "b.csv").write_text("text;n\na;1\n")
    with pytest.raises(ValueError, match="between ','"):
        from_file(tmp_path / "b.csv")
