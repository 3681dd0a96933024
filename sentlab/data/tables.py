"""Your own rows: texts, scored pairs and triples out of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from sentlab.data import readers
from sentlab.data.readers import Items, LeftOut, Read
from sentlab.data.rows import Corpus, ScoredPair, Triple

Kind = Literal["texts", "pairs", "triples"]
COLUMNS = {"texts": ("text",), "pairs": ("text_a", "text_b", "score"), "triples": ("anchor", "positive", "negative")}
SEPARATORS = {".csv": ",", ".tsv": "\t"}


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
    white space and nothing else: `NA` and `007` are texts. `Corpus.left_out` counts rows without a text or a score.

    Args:
        kind: `texts` gives strings, `pairs` ScoredPair rows and `triples` Triple rows.
        columns: their names in the file; None: those in `COLUMNS`, such as `text_a`, `text_b` and `score`.
        scale: of pairs: the lowest and the highest possible score. They become 0 and 5, which changes no correlation.
        separator: between columns. None: a comma in `.csv`, a tab in `.tsv`.
        quotes: double quotes stand around fields that hold separators or line breaks. False: a quote is plain text.
        name, split: of the corpus; None: the name of the file.

    Example:
        >>> corpus = sentlab.data.from_file("reviews.csv", columns="review")
        >>> dev = sentlab.data.from_file("judged.tsv", "pairs", scale=(1, 7), split="dev")
    """
    path = Path(path).expanduser()
    names = (columns,) if isinstance(columns, str) else tuple(columns or COLUMNS[kind])
    if len(names) != len(COLUMNS[kind]):
        raise ValueError(f"{kind} take {len(COLUMNS[kind])} columns, for {', '.join(COLUMNS[kind])}; got {names}")
    plain = path.with_suffix("") if path.suffix.lower() in (".gz", ".xz") else path
    if (kind_of_file := plain.suffix.lower()) in SEPARATORS:
        separator = separator or SEPARATORS[kind_of_file]
        items = readers.csv_records(path, names, separator, quotes=quotes)
    elif kind_of_file == ".jsonl":
        items = readers.json_records(path, names=names)
    elif path.suffix.lower() == ".parquet":
        import pandas

        try:
            frame = pandas.read_parquet(path, columns=list(names)).astype(object)
        except (OSError, ValueError) as error:  # no Parquet file, a damaged one, or one without these columns
            raise ValueError(f"{path}: {type(error).__name__}: {error}") from error
        rows = frame.where(frame.notna(), None).itertuples(index=False, name=None)
        items = ((row, f"{path}: row {n}") for n, row in enumerate(rows))
    elif kind_of_file == ".txt" and kind == "texts":
        lines = list(readers.lines_of(path))
        lines = lines[0].split("\r") if len(lines) == 1 else lines  # as old Macs ended them
        items = (((line,), f"{path}:{n}") for n, line in enumerate(lines, 1))
    else:
        raise ValueError(f"{path}: {kind} are read from .csv, .tsv, .jsonl or .parquet, and only texts from .txt")
    read = _rows(items, kind, names, scale)
    if read.left_out and not read.rows:
        raise ValueError(f"{path}: no row is left with {', '.join(names)}: {read.left_out}")
    return Corpus(plain.stem if name is None else name, split, tuple(read.rows), path.name, read.left_out)


def _rows(items: Items, kind: str, names: Sequence[str], scale: tuple[float, float]) -> Read[Any]:
    low, high = map(float, scale)
    if not low < high:
        raise ValueError(f"scale is {scale}: expected the lowest score and a higher one")

    def row(*values: Any) -> Any:
        values = tuple("" if value is None or value != value else value for value in values)  # None and NaN are missing
        texts = values[:2] if kind == "pairs" else values
        for name, text in zip(names, texts, strict=False):
            if not isinstance(text, str):
                raise ValueError(f"column {name!r}: expected a text, found {text!r:.60} ({type(text).__name__})")
        texts = tuple(text.encode().decode().strip() for text in texts)  # which refuses half a character
        if not all(texts):
            raise LeftOut("blank text")
        if kind != "pairs":
            return Triple(*texts) if kind == "triples" else texts[0]
        if values[2] == "":
            raise LeftOut("no score")
        try:
            score = readers.number(values[2], low, high)
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {names[2]!r}: {error}; write 4.5 for 4,5, and give its scale") from error
        return ScoredPair(texts[0], texts[1], 5 * ((score - low) / (high - low)))

    return readers.rows_of(items, row)
