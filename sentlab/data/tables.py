"""Your own rows: texts, scored pairs and triples out of a file or a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sentlab.data import readers
from sentlab.data.readers import Items, LeftOut, Read
from sentlab.data.rows import Corpus, ScoredPair, Triple

if TYPE_CHECKING:
    import pandas

Kind = Literal["texts", "pairs", "triples"]
COLUMNS: dict[str, tuple[str, ...]] = {
    "texts": ("text",),
    "pairs": ("text_a", "text_b", "score"),
    "triples": ("anchor", "positive", "negative"),
}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
PACKED = (".gz", ".xz")


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
    white space and nothing else: `NA` and `007` are texts. Rows that lack a text or a score are left out, and
    `Corpus.left_out` counts them.

    Args:
        kind: `texts` gives strings, `pairs` ScoredPair rows and `triples` Triple rows.
        columns: their names in the file. None: `text`, or `text_a`, `text_b` and `score`, or `anchor`, `positive`
            and `negative`.
        scale: of pairs: the lowest and the highest possible score. Scores are mapped to 0 to 5, as in STS, which
            changes no correlation.
        separator: between columns. None: a comma in `.csv`, a tab in `.tsv`.
        quotes: double quotes stand around fields that hold separators or line breaks. False: a quote is plain text.
        name, split: of the corpus; None: the name of the file.

    Raises:
        ValueError: another format, or rows that are not of this kind; names the file, the line or row, and the column.

    Example:
        >>> corpus = sentlab.data.from_file("reviews.csv", columns="review")
        >>> dev = sentlab.data.from_file("judged.tsv", "pairs", scale=(1, 7), split="dev")
    """
    path = Path(path).expanduser()
    names = _names(kind, columns)
    plain = path.with_suffix("") if path.suffix in PACKED else path
    if plain.suffix in SEPARATORS:
        separator = separator or SEPARATORS[plain.suffix]
        items = readers.csv_records(path, names, separator, quotes=quotes, warn=True)
    elif plain.suffix == ".jsonl":
        items = readers.json_records(path, names=names)
    elif path.suffix == ".parquet":
        import pandas

        try:
            frame = pandas.read_parquet(path)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: not a Parquet file, or damaged: {error}") from error
        items = _of_frame(frame, names, str(path))
    elif plain.suffix == ".txt" and kind == "texts":
        items = (((line,), f"{path}:{n}") for n, line in enumerate(readers.lines_of(path), 1))
    else:
        raise ValueError(f"{path}: expected .csv, .tsv, .jsonl or .parquet, or for texts .txt")
    read = _rows(items, kind, names, scale, str(path))
    return Corpus(plain.stem if name is None else name, split, tuple(read.rows), path.name, read.left_out)


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

    None and NaN are missing values. The other arguments are those of `from_file`.

    Example:
        >>> corpus = sentlab.data.from_table(datasets.load_dataset("imdb", split="train"))
    """
    import pandas

    names = _names(kind, columns)
    frame = table.to_pandas() if hasattr(table, "to_pandas") else pandas.DataFrame(table)
    read = _rows(_of_frame(frame, names, name), kind, names, scale, name)
    return Corpus(name, split, tuple(read.rows), f"a {type(table).__name__}", read.left_out)


def _names(kind: str, columns: str | Sequence[str] | None) -> tuple[str, ...]:
    if kind not in COLUMNS:
        raise ValueError(f"kind must be {', '.join(COLUMNS)}; it is {kind!r}")
    names = COLUMNS[kind] if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    if len(names) != len(COLUMNS[kind]):
        raise ValueError(f"{kind} take {len(COLUMNS[kind])} columns, for {', '.join(COLUMNS[kind])}; got {names}")
    return names


def _of_frame(frame: pandas.DataFrame, names: Sequence[str], place: str) -> Items:
    for name in names:
        if list(frame.columns).count(name) != 1:
            raise ValueError(f"{place}: expected one column {name}, found {list(frame.columns)}")
    values = zip(*(frame[name] for name in names), strict=True)
    return ((row, f"{place}: row {n}") for n, row in enumerate(values))


def _rows(items: Items, kind: str, names: Sequence[str], scale: tuple[float, float], place: str) -> Read[Any]:
    low, high = map(float, scale)
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"scale must be the lowest and the highest score, such as (0, 5), got {scale!r}")

    def row(*values: Any) -> Any:
        count = 2 if kind == "pairs" else len(names)
        texts = [_text(value, name) for value, name in zip(values[:count], names, strict=False)]
        if not all(texts):
            raise LeftOut("blank text")
        if kind != "pairs":
            return Triple(*texts) if kind == "triples" else texts[0]
        if _missing(values[2]) or values[2] == "":
            raise LeftOut("no score")
        try:
            score = readers.number(values[2], low, high)
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {names[2]!r}: {error}; give its scale if it has another") from error
        return ScoredPair(texts[0], texts[1], 5 * (score - low) / (high - low))

    read = readers.rows_of(items, row)
    if not read.rows:
        raise ValueError(f"{place}: it holds no {kind}, only rows without them: {read.left_out}")
    return read


def _missing(value: Any) -> bool:
    import pandas

    return pandas.api.types.is_scalar(value) and bool(pandas.isna(value))


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value.strip()
    if _missing(value):
        return ""
    raise ValueError(f"column {name!r}: expected a text, found {value!r:.60} ({type(value).__name__})")
