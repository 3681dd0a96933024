"""The papers' own tables, as data: what a chapter sets beside its own numbers, and never mixes with them.

Each paper has a file in `book/experiments/assets/published`, named like the paper, with its tables one after the other.
"""

from __future__ import annotations

import csv
import io
import re
from functools import cache
from pathlib import Path

import pandas as pd

ASSETS = Path(__file__).parent / "assets" / "published"


def table(paper: str, number: int | str) -> pd.DataFrame:
    """Return one table of a paper as printed, mostly systems by tasks; nan where the paper has a dash.

    `paper` is `paser`, `universal`, `ptbert` or `slice`; `number` is as in the paper, `5a` for part (a) of table 5.
    Numbers are floats, as printed: SLICE's correlations are not times 100. Cells of a table of examples are strings.

    Example:
        >>> published.table("paser", 1).loc["BERT-flow", "sts12"]
        np.float64(58.4)
    """
    return _tables(paper)[str(number)].copy()


@cache
def _tables(paper: str) -> dict[str, pd.DataFrame]:
    text = (ASSETS / f"{paper}.tsv").read_text(encoding="utf-8")
    _, *parts = re.split(r"# Table (\w+):.*\n", text)  # number, lines, number, lines ...
    tables = {}
    for number, lines in zip(parts[::2], parts[1::2], strict=True):
        form = {"sep": "\t", "index_col": 0, "na_values": "-", "keep_default_na": False, "quoting": csv.QUOTE_NONE}
        printed = pd.read_csv(io.StringIO(lines), **form)
        tables[number] = printed.astype(dict.fromkeys(printed.select_dtypes("number"), float))
    return tables
