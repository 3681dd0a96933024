"""What all readers share: lines, columns and records of files, and an error that names file and line.

Lines are split at line feeds alone. `str.splitlines` would also split at U+2028 and U+0085 inside sentences. A file may
be compressed as `.gz` or `.xz`.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

Row = TypeVar("Row")
RawPair = tuple[str, str, str, str]  # text a, text b, gold as written, where it stands (`file:line`)

_PACKED: dict[str, tuple[str, Callable[[bytes], bytes], Any]] = {
    ".gz": ("gzip", gzip.decompress, gzip.open),
    ".xz": ("xz", lzma.decompress, lzma.open),
}
_NOT_WHOLE = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)


class Read(NamedTuple, Generic[Row]):
    """What a reader found: the rows in file order, and reason -> number of rows left out."""

    rows: list[Row]
    left_out: dict[str, int]


def content(path: str | Path) -> str:
    """A whole file as text, unpacked, without a byte order mark.

    Raises:
        ValueError: the file is no UTF-8 (names the line), or is compressed and not whole.
    """
    packed = Path(path).read_bytes()
    kind, unpack, _ = _PACKED.get(Path(path).suffix, ("", bytes, None))
    try:
        data = unpack(packed)
    except (OSError, *_NOT_WHOLE) as error:
        raise ValueError(f"{path}: not a whole {kind} file ({error})") from error
    return _decoded(data, path).removeprefix("\ufeff")


def lines_of(path: str | Path) -> list[str]:
    """The lines of a file, without their ends. Raises as `content`."""
    found = content(path).split("\n")
    if found[-1] == "":
        found.pop()
    return [line.removesuffix("\r") for line in found]


def streamed(path: str | Path) -> Iterator[str]:
    """What `lines_of` gives, without the whole file in memory."""
    kind, _, opened = _PACKED.get(Path(path).suffix, ("", None, open))
    with opened(path, "rb") as file:
        try:
            for n, line in enumerate(file, 1):
                text = _decoded(line, path, n).removesuffix("\n").removesuffix("\r")
                yield text if n > 1 else text.removeprefix("\ufeff")
        except _NOT_WHOLE as error:
            raise ValueError(f"{path}: not a whole {kind} file ({error})") from error


def lines_together(first: str | Path, second: str | Path, last: str | Path) -> Iterator[RawPair]:
    """The lines of three files that go line by line together, and where each line of the last one stands.

    Raises:
        ValueError: the files differ in length.
    """
    paths = (first, second, last)
    columns = [lines_of(path) for path in paths]
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{path} has {len(column)}" for path, column in zip(paths, columns, strict=True))
        raise ValueError(f"these files must go line by line together, but {counts} lines")
    for n, (a, b, gold) in enumerate(zip(*columns, strict=True), 1):
        yield a, b, gold, f"{last}:{n}"


def csv_columns(
    path: str | Path, names: tuple[str, ...], delimiter: str = ","
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Some columns of real CSV with a header row, stripped, and where each record begins (`file:line`).

    Raises:
        ValueError: no such column, a record of another length, or no valid CSV.
    """
    reader = csv.reader(io.StringIO(content(path), newline=""), delimiter=delimiter, strict=True)
    start = 1  # a quoted field may hold line breaks, so a record is named by its first line
    try:
        header = next(reader, [])
        places = column_places(header, names, path)
        start = reader.line_num + 1
        for record in reader:
            if len(record) != len(header):
                raise ValueError(f"{path}:{start}: expected {len(header)} columns, found {len(record)}")
            yield tuple(record[place].strip() for place in places), f"{path}:{start}"
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}:{start}: not valid CSV ({error})") from error


def tab_columns(path: str | Path, names: tuple[str, str, str]) -> Iterator[RawPair]:
    """Three columns of a tab-separated file with a header row, and where each line stands; quotes are plain text.

    Raises:
        ValueError: no such column, or a line of another length.
    """
    header, *rest = [line.split("\t") for line in lines_of(path)] or [[]]
    a, b, gold = column_places(header, names, path)
    for n, columns in enumerate(rest, 2):
        if len(columns) != len(header):
            raise ValueError(f"{path}:{n}: expected {len(header)} tab-separated columns, found {len(columns)}")
        yield columns[a], columns[b], columns[gold], f"{path}:{n}"


def column_places(header: list[str], names: tuple[str, ...], path: str | Path) -> tuple[int, ...]:
    """Where the named columns are in a header row.

    Raises:
        ValueError: one of them is not there.
    """
    found = [name.strip() for name in header]
    lacking = [name for name in names if name not in found]
    if lacking:
        raise ValueError(f"{path}:1: expected a header row with {', '.join(names)}; no {', '.join(lacking)} in {found}")
    return tuple(found.index(name) for name in names)


def pair_rows(raw: Iterable[RawPair], row: Callable[[str, str, str, str], Row], missing: tuple[str, ...]) -> Read[Row]:
    """Make rows of raw pairs; those without gold, and those with a blank sentence, are left out and counted.

    Args:
        raw: pairs; their texts and gold lose surrounding white space.
        row: makes a row of what is left of a raw pair. A ValueError that it raises names where the pair is.
        missing: what is written where there is no gold.
    """
    rows: list[Row] = []
    left_out: Counter[str] = Counter()
    for text_a, text_b, gold, where in raw:
        text_a, text_b, gold = text_a.strip(), text_b.strip(), gold.strip()
        if gold in missing:
            left_out["no gold"] += 1
        elif not text_a or not text_b:
            left_out["blank sentence"] += 1
        else:
            rows.append(row(text_a, text_b, gold, where))
    return Read(rows, dict(left_out))


def text_rows(texts: Iterable[str]) -> Read[str]:
    """Texts without surrounding white space; blank ones are left out and counted."""
    stripped = [text.strip() for text in texts]
    kept = [text for text in stripped if text]
    blank = len(stripped) - len(kept)
    return Read(kept, {"blank line": blank} if blank else {})


def _decoded(data: bytes, path: str | Path, first: int = 1) -> str:
    """UTF-8 as text; `first` is the number of the first line, for the message."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        raise ValueError(f"{path}:{line}: expected UTF-8, found byte 0x{data[error.start]:02x}") from error
