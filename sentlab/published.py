"""The papers' own tables, as data: what a chapter sets beside its own numbers, and never mixes with them."""

from __future__ import annotations

import pandas as pd

STS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick", "average")
_ABSENT = float("nan")

# (paper, table) -> columns, and row -> values in the paper's order
_TABLES: dict[tuple[str, str], tuple[tuple[str, ...], dict[str, tuple[float, ...]]]] = {
    ("paser", "1"): (
        STS,
        {
            "GloVe embeddings": (55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76, 61.32),
            "BERT-base [CLS]": (21.54, 32.11, 21.28, 37.89, 44.24, 20.29, 42.42, 31.40),
            "BERT-base mean": (30.87, 59.89, 47.73, 60.29, 63.73, 47.29, 58.22, 52.57),
            "BERT-base first-last avg.": (39.70, 59.38, 49.67, 66.03, 66.19, 53.87, 62.06, 56.70),
            "BERT-flow": (58.40, 67.10, 60.85, 75.16, 71.22, 68.66, 64.47, 66.55),
            "BERT-whitening": (57.83, 66.90, 60.90, 75.08, 71.31, 68.24, 63.73, 66.28),
            "CT-BERT-base": (66.86, 70.91, 72.37, 78.55, 77.78, _ABSENT, _ABSENT, _ABSENT),
            "ConSERT-base": (64.64, 78.49, 69.07, 79.72, 75.95, 73.97, 67.31, 72.74),
            "SimCSE-BERT-base + MLM": (44.40, 66.60, 51.27, 67.48, 67.95, 52.44, 59.86, 58.57),
            "SimCSE-BERT-base": (68.40, 82.41, 74.38, 80.91, 78.56, 76.85, 72.23, 76.25),
            "CMLM-BERT-base": (58.20, 61.07, 61.67, 73.32, 74.88, 76.60, 64.80, 67.22),
            "PaSeR-BERT-base": (70.21, 83.88, 73.06, 83.87, 77.60, 79.19, 65.31, 76.16),
        },
    ),
}


def table(paper: str, number: int | str) -> pd.DataFrame:
    """One table of a paper, a row a system, a column a task; nan where the paper has a dash.

    Args:
        paper: `paser`.
        number: the table's number in the paper.

    Raises:
        KeyError: the table is not here; names those that are.
    """
    key = (paper, str(number))
    if key not in _TABLES:
        there = ", ".join(f"{name} {what}" for name, what in _TABLES)
        raise KeyError(f"table {number} of {paper!r} is not here; there is {there}")
    columns, rows = _TABLES[key]
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))
