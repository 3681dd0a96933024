"""The papers' own tables, as data: what a chapter sets beside its own numbers, and never mixes with them.

Each paper has a file in `book/experiments/assets/published`, named like the paper, with its tables one after the other.
"""

from __future__ import annotations

import csv
import io
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sentlab.extras import need

if TYPE_CHECKING:
    import pandas as pd

ASSETS = Path(__file__).parent / "assets" / "published"
_HEADING = re.compile(r"# Table (\w+):.*\n")


def table(paper: str, number: int | str) -> pd.DataFrame:
    """Return one table of a paper as printed, mostly systems by tasks; nan where the paper has a dash.

    Args:
        paper: `paser`, `universal`, `ptbert` or `slice`.
        number: the table's number in the paper; `5a` for part (a) of table 5.

    Returns:
        Numbers as floats, as printed (STS columns: Spearman x 100; SLICE's correlations: not times 100); the cells of a
        table of examples are strings.

    Raises:
        KeyError: the table is not here; names those that are.
    """
    tables, key = _tables(), (paper, str(number))
    if key not in tables:
        there = ", ".join(f"{name} {what}" for name, what in tables)
        raise KeyError(f"table {number} of {paper!r} is not here; there is {there}")
    return tables[key].copy()


@cache
def _tables() -> dict[tuple[str, str], pd.DataFrame]:
    """Every table of every file, by paper and number."""
    pandas = need("pandas", "data")
    tables = {}
    for file in sorted(ASSETS.glob("*.tsv")):
        _, *parts = _HEADING.split(file.read_text(encoding="utf-8"))  # number, lines, number, lines ...
        for number, lines in zip(parts[::2], parts[1::2], strict=True):
            form = {"sep": "\t", "index_col": 0, "na_values": "-", "keep_default_na": False, "quoting": csv.QUOTE_NONE}
            found = pandas.read_csv(io.StringIO(lines), **form)
            tables[file.stem, number] = found.astype(dict.fromkeys(found.select_dtypes("number"), float))
    return tables
