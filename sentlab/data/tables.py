"""Your own rows: texts, scored pairs and triples out of a file or a table, which need no code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sentlab.data.readers import files
from sentlab.data.readers.files import Read
from sentlab.data.rows import Corpus, ScoredPair, Triple
from sentlab.extras import need

Kind = Literal["texts", "pairs", "triples"]
Raw = Iterable[tuple[Sequence[Any], str]]  # the columns of a row, and where it is
COLUMNS: dict[str, tuple[str, ...]] = {
    "texts": ("text",),
    "pairs": ("text_a", "text_b", "score"),
    "triples": ("anchor", "positive", "negative"),
}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
FORMATS = ".txt, .csv, .tsv, .jsonl and .parquet, and all but the last packed as .gz or .xz"


def from_file(
    path: str | Path,
    kind: Kind = "texts",
    *,
    columns: str | Sequence[str] | None = None,
    scale: tuple[float, float] = (0.0, 5.0),
    separator: str | None = None,
    quotes: bool = True,
    name: str | None = None,
    split: str = "train",
) -> Corpus[Any]:
    """Read your own rows from a file; its ending says the format.

    A `.txt` has a text a line. `.csv` and `.tsv` have a header row, `.jsonl` an object a line, `.parquet` its columns
    (pip install 'sentlab[hub]'). A text file is UTF-8, and may be packed as `.gz` or `.xz`. Texts lose surrounding
    white space. Rows that lack a text or a score are left out, and `Corpus.left_out` counts them.

    Args:
        path: the file.
        kind: `texts` gives strings, `pairs` ScoredPair rows and `triples` Triple rows.
        columns: their names in the file. None: `text`, or `text_a`, `text_b` and `score`, or `anchor`, `positive`
            and `negative`.
        scale: of pairs: the lowest and the highest possible score. Scores are mapped to 0 to 5, as in STS. A
            correlation does not change by that.
        separator: between columns. None: a comma in `.csv`, a tab in `.tsv`.
        quotes: double quotes stand around fields that hold separators or line breaks. False: a quote is plain text.
        name: of the corpus. None: that of the file.
        split: `train`, `dev` or `test`.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another format, a column that is not there, a value that is no text or no score on the scale, or no
            row at all. The message names the file, the line or row, and the column.
        ImportError: a package that reads Parquet is not installed.

    Example:
        >>> corpus = sentlab.data.from_file("reviews.csv", columns="review")
        >>> dev = sentlab.data.from_file("judged.tsv", "pairs", scale=(1, 7), split="dev")
    """
    path = Path(path).expanduser()
    names = _names(kind, columns)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is {'a folder, not a file' if path.is_dir() else 'not there'}")
    read = _rows(_raw(path, names, separator, quotes), kind, names, scale, str(path))
    if name is None:
        name = Path(path.stem).stem if path.suffix in files.PACKED else path.stem
    return Corpus(name, split, tuple(read.rows), path.name, read.left_out)


def from_table(
    table: Any,
    kind: Kind = "texts",
    *,
    columns: str | Sequence[str] | None = None,
    scale: tuple[float, float] = (0.0, 5.0),
    name: str = "table",
    split: str = "train",
) -> Corpus[Any]:
    """Take your own rows from a pandas DataFrame, a Hugging Face `Dataset`, a pyarrow Table or a dict of columns.

    Args:
        table: the table. None and NaN are missing values.
        kind, columns, scale, split: as in `from_file`.
        name: of the corpus.

    Raises:
        TypeError: something else, such as a `DatasetDict`, of which one split is a table.
        ValueError: as in `from_file`; a row is counted from 0.

    Example:
        >>> corpus = sentlab.data.from_table(datasets.load_dataset("imdb", split="train"))
    """
    names = _names(kind, columns)
    read = _rows(_of_table(table, names, name), kind, names, scale, name)
    return Corpus(name, split, tuple(read.rows), f"a {type(table).__name__}", read.left_out)


def _names(kind: str, columns: str | Sequence[str] | None) -> tuple[str, ...]:
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}, got {kind!r}")
    names = COLUMNS[kind] if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    if len(names) != len(COLUMNS[kind]):
        wanted = ", ".join(COLUMNS[kind])
        raise ValueError(f"columns names {len(names)} columns; {kind} take {len(COLUMNS[kind])}, for {wanted}")
    if len(set(names)) < len(names):
        raise ValueError(f"columns names one of them twice: {', '.join(names)}")
    return names


def _raw(path: Path, names: tuple[str, ...], separator: str | None, quotes: bool) -> Raw:
    """The columns of a file's rows, by its ending."""
    ending = next(iter(path.suffixes[-2:-1] if path.suffix in files.PACKED else path.suffixes[-1:]), "").lower()
    if ending in SEPARATORS:
        return files.csv_columns(path, names, separator or SEPARATORS[ending], quotes=quotes, warn=True)
    if ending == ".jsonl":
        return files.json_columns(path, names)
    if ending == ".parquet" and path.suffix not in files.PACKED:
        return _of_parquet(path, names)
    if ending != ".txt":
        raise ValueError(f"{path}: the ending of its name is no format that is read here: {FORMATS}")
    if len(names) > 1:
        raise ValueError(f"{path}: a .txt holds one text a line, not {', '.join(names)}; use .tsv, .csv or .jsonl")
    return (((line,), f"{path}:{n}") for n, line in enumerate(files.streamed(path), 1))


def _of_parquet(path: Path, names: tuple[str, ...]) -> Raw:
    pyarrow, parquet = need("pyarrow", "data"), need("pyarrow.parquet", "data")
    try:
        with parquet.ParquetFile(path) as file:
            lacking = [name for name in names if name not in file.schema_arrow.names]
            if lacking:
                raise ValueError(f"{path}: no column {', '.join(lacking)} in {file.schema_arrow.names}")
            row = 0
            for batch in file.iter_batches(columns=list(names)):
                for values in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
                    yield values, f"{path}: row {row}"
                    row += 1
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a whole Parquet file ({str(error).splitlines()[0]})") from error


def _of_table(table: Any, names: tuple[str, ...], where: str) -> Iterator[tuple[Sequence[Any], str]]:
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        known = list(table.columns)
    elif hasattr(table, "column_names") and not isinstance(table, Mapping):  # a Dataset or a pyarrow Table
        known = table.column_names
    elif isinstance(table, Mapping) and not any(hasattr(part, "column_names") for part in table.values()):
        known = list(table)
    else:
        hint = f"; choose one of its splits: {', '.join(map(str, table))}" if isinstance(table, Mapping) else ""
        raise TypeError(
            f"{where}: expected a DataFrame, a Dataset or a dict of columns, got a {type(table).__name__}{hint}"
        )
    if not known or not (isinstance(table, Mapping) or hasattr(table, "__len__")):
        raise TypeError(f"{where}: the {type(table).__name__} is a stream or has no columns; load it whole first")
    if lacking := [name for name in names if name not in known]:
        raise ValueError(f"{where}: no column {', '.join(lacking)} in {known}")
    if twice := [name for name in names if known.count(name) > 1]:
        raise ValueError(f"{where}: more than one column is called {twice[0]}")
    columns = [table[name] for name in names]
    if bare := [name for name, column in zip(names, columns, strict=True) if isinstance(column, str)]:
        raise TypeError(f"{where}: the column {bare[0]} is one string; put it into a list")
    columns = [column.to_pylist() if hasattr(column, "to_pylist") else list(column) for column in columns]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"{where}: the columns {', '.join(names)} are of {[len(column) for column in columns]} rows")
    for row, values in enumerate(zip(*columns, strict=True)):
        yield values, f"{where}: row {row}"


def _rows(raw: Raw, kind: str, names: tuple[str, ...], scale: tuple[float, float], place: str) -> Read[Any]:
    """Make rows of raw columns; what lacks a text or a score is left out and counted."""
    low, high = _scale(scale)
    rows: list[Any] = []
    left_out: Counter[str] = Counter()
    for values, where in raw:
        count = len(names) - (kind == "pairs")
        texts = [_text(value, f"{where}, column {name!r}") for name, value in zip(names[:count], values, strict=False)]
        gold = values[-1] if kind == "pairs" else 0
        if not all(texts):
            left_out["blank text"] += 1
        elif _missing(gold) or gold == "":
            left_out["no score"] += 1
        elif kind == "pairs":
            score = _score(gold, f"{where}, column {names[-1]!r}", low, high)
            rows.append(ScoredPair(texts[0], texts[1], 5 * (score - low) / (high - low)))
        else:
            rows.append(Triple(*texts) if kind == "triples" else texts[0])
    if not rows:
        left = ", ".join(f"{count} left out ({why})" for why, count in left_out.items())
        raise ValueError(f"{place}: it holds no {kind}: {left or 'no rows at all'}")
    return Read(rows, dict(left_out))


def _scale(scale: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"scale must be the lowest and the highest score, such as (0, 5), got {scale!r}")
    return low, high


def _missing(value: Any) -> bool:
    # NaN alone differs from itself; pandas.NA refuses to be a truth value
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and value != value)
    )


def _text(value: Any, where: str) -> str:
    if _missing(value):
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{where}: expected a text, found {value!r:.60} ({type(value).__name__})")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half of a pair, which JSON can escape
        raise ValueError(f"{where}: expected a text, found half of a surrogate pair ({error})") from error
    return value.strip()


def _score(value: Any, where: str, low: float, high: float) -> float:
    if isinstance(value, bool):
        raise ValueError(f"{where}: expected a score, found {value}")
    try:
        return files.score_of(value, where, low, high)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{where}: expected a score from {low:g} to {high:g}, found {value!r:.60}; give its scale if it has another"
        ) from error
