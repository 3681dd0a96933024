"""What all readers share: lines, columns and records of files, and an error that names file and line.

Lines are split at line feeds alone. `str.splitlines` would also split at U+2028 and U+0085 inside sentences. A file may
be compressed as `.gz` or `.xz`.
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import math
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from sentlab.data.rows import added_up

Row = TypeVar("Row")
RawPair = tuple[str, str, str, str]  # text a, text b, gold as written, where it stands (`file:line`)

LONGEST = 2**31 - 1  # characters of a CSV field, where the csv module would take 131,072
PACKED: dict[str, tuple[str, Any]] = {".gz": ("gzip", gzip.open), ".xz": ("xz", lzma.open)}


class Read(NamedTuple, Generic[Row]):
    """What a reader found: the rows in file order, and reason -> number of rows left out."""

    rows: list[Row]
    left_out: dict[str, int]


def streamed(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file one by one, without their ends, unpacked, without a byte order mark.

    Raises:
        ValueError: the file is no UTF-8 (names the line), or is compressed and not whole.
    """
    return (line.removesuffix("\n").removesuffix("\r") for line in _whole_lines(path))


def _whole_lines(path: str | Path) -> Iterator[str]:
    kind, opened = PACKED.get(Path(path).suffix, ("", open))
    with opened(path, "rb") as file:
        try:
            for n, line in enumerate(file, 1):
                yield line.decode("utf-8" if n > 1 else "utf-8-sig")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise ValueError(f"{path}:{n}: expected UTF-8, found byte 0x{byte:02x}") from error
        except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError) as error:
            raise ValueError(f"{path}: not a whole {kind} file ({error})") from error


def columns_of(
    path: str | Path, width: int, expected: str, *, more: bool = False, separator: str | None = "\t"
) -> Iterator[tuple[list[str], str]]:
    """Yield the columns of each line, stripped, and where it stands (`file:line`); there may be `more` than `width`.

    Raises:
        ValueError: a line has another number; `expected` is what the message says up to the word "found".
    """
    for n, line in enumerate(streamed(path), 1):
        columns = [column.strip() for column in line.split(separator)]
        if len(columns) < width or (len(columns) > width and not more):
            found = f"{len(columns)} column{'s' * (len(columns) > 1)}"
            raise ValueError(f"{path}:{n}: expected {expected} found {found}")
        yield columns, f"{path}:{n}"


def csv_columns(
    path: str | Path, names: tuple[str, ...], delimiter: str = ",", *, quotes: bool = True, warn: bool = False
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield some columns of real CSV with a header row, stripped, and where each record begins (`file:line`).

    Blank lines are skipped.
    Without `quotes` a quote is plain text, and a record is a line. With them we `warn` where quotes that are plain text
    may have joined several rows of a file whose columns are separated by tabs.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
    if not quotes:
        yield from _plain_columns(path, names, delimiter)
        return
    plain = "if quotes are plain text in this file, pass quotes=False (--no-quotes)"
    reader = csv.reader(_whole_lines(path), delimiter=delimiter, strict=True)
    start = 1  # a quoted field may hold line breaks, so a record is named by its first line
    try:
        header = next(reader, [])
        places = column_places(header, names, path)
        start = reader.line_num + 1
        for record in reader:
            if not record:  # a blank line
                start = reader.line_num + 1
                continue
            if len(record) != len(header):
                raise ValueError(f"{path}:{start}: expected {len(header)} columns, found {len(record)}")
            several = reader.line_num > start  # lines; commas and line breaks are together in ordinary texts, too
            if warn and several and delimiter == "\t" and any("\t" in field and "\n" in field for field in record):
                what = "a quoted field holds a tab and a line break, so several rows may have become one"
                warnings.warn(f"{path}:{start}: {what}; {plain}", stacklevel=2)
            yield tuple(record[place].strip() for place in places), f"{path}:{start}"
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}:{start}: not valid CSV ({error}); {plain}") from error


def _plain_columns(path: str | Path, names: tuple[str, ...], delimiter: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The same where a quote is plain text."""
    lines = streamed(path)
    header = next(lines, "").split(delimiter)
    places = column_places(header, names, path)
    for n, line in enumerate(lines, 2):
        if not line:
            continue
        record = line.split(delimiter)
        if len(record) != len(header):
            raise ValueError(f"{path}:{n}: expected {len(header)} columns, found {len(record)}")
        yield tuple(record[place].strip() for place in places), f"{path}:{n}"


def json_columns(path: str | Path, names: tuple[str, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield some entries of each line's JSON object, None where one is lacking, and where the line stands.

    Blank lines are skipped.

    Raises:
        ValueError: a line is no JSON object, or the first one lacks a name.
    """
    first = True
    for n, line in enumerate(streamed(path), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"{path}:{n}: not JSON ({error})") from error
        if not isinstance(item, dict):
            raise ValueError(f"{path}:{n}: expected a JSON object with {', '.join(names)}, found {line!r:.60}")
        if first and (lacking := [name for name in names if name not in item]):
            raise ValueError(f"{path}:{n}: no {', '.join(lacking)} in {list(item)}")
        first = False
        yield tuple(item.get(name) for name in names), f"{path}:{n}"


def column_places(header: list[str], names: tuple[str, ...], path: str | Path) -> tuple[int, ...]:
    """Find the places of the named columns in a header row, all of which must be there."""
    found = [name.strip() for name in header]
    lacking = [name for name in names if name not in found]
    if lacking:
        other = "; if another sign separates the columns, pass separator= (--separator)" if len(found) == 1 else ""
        raise ValueError(
            f"{path}:1: expected a header row with {', '.join(names)}; no {', '.join(lacking)} in {found}{other}"
        )
    if twice := [name for name in names if found.count(name) > 1]:
        raise ValueError(f"{path}:1: more than one column is called {twice[0]}")
    return tuple(found.index(name) for name in names)


def lines_together(first: str | Path, second: str | Path, last: str | Path) -> Iterator[RawPair]:
    """Yield the lines of three files that go line by line together, and where each line of the last one stands."""
    paths = (first, second, last)
    columns = [list(streamed(path)) for path in paths]
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{path} has {len(column)}" for path, column in zip(paths, columns, strict=True))
        raise ValueError(f"these files must go line by line together, but {counts} lines")
    for n, (a, b, gold) in enumerate(zip(*columns, strict=True), 1):
        yield a, b, gold, f"{last}:{n}"


def score_of(text: str, where: str, low: float, high: float, name: str = "score") -> float:
    """Parse a number on its scale. One outside is an error too, for then a column is mistaken."""
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not low <= score <= high:
        raise ValueError(f"{where}: expected a {name} from {low:g} to {high:g}, found {text!r}")
    return score


def pair_rows(raw: Iterable[RawPair], row: Callable[[str, str, str, str], Row], missing: tuple[str, ...]) -> Read[Row]:
    """Make rows of raw pairs; those without gold, and those with a blank sentence, are left out and counted.

    Args:
        raw: pairs; their texts and gold lose surrounding white space.
        row: makes a row of what is left of a raw pair. A ValueError that it raises names where the pair is.
        missing: what is written where there is no gold.
    """
    rows: list[Row] = []
    left_out: Counter[str] = Counter()
    for *parts, where in raw:
        text_a, text_b, gold = (part.strip() for part in parts)
        if gold in missing:
            left_out["no gold"] += 1
        elif not text_a or not text_b:
            left_out["blank sentence"] += 1
        else:
            rows.append(row(text_a, text_b, gold, where))
    return Read(rows, dict(left_out))


def text_rows(texts: Iterable[str]) -> Read[str]:
    """Strip surrounding white space from texts; blank ones are left out and counted."""
    stripped = [text.strip() for text in texts]
    kept = [text for text in stripped if text]
    return Read(kept, added_up({"blank line": len(stripped) - len(kept)}))
