"""The published tables, against the papers' text where it is at hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sentlab import published

PAPERS = Path(__file__).resolve().parents[2] / "shared" / "papers"


def test_paser_table_1_is_what_the_paper_prints() -> None:
    if not PAPERS.is_dir():
        pytest.skip(f"the papers' text is not in {PAPERS}")
    text = (PAPERS / "paser.txt").read_text(encoding="utf-8")
    printed = [tuple(re.findall(r"(?<= )(?:\d+\.\d+|-)(?= |$)", line)) for line in text.splitlines()]
    cells = 0
    for name, row in published.table("paser", 1).iterrows():
        values = tuple("-" if value != value else f"{value:.2f}" for value in row)
        assert values in printed, name
        cells += len(values)
    assert cells >= 30


def test_averages_are_the_mean_of_the_seven_tasks_as_far_as_rounding_goes() -> None:
    table = published.table("paser", 1)
    differences = (table.drop(columns="average").mean(axis=1, skipna=False) - table["average"]).abs().dropna()
    # the paper's own average for PaSeR and CMLM is taken as printed, whether or not it is the mean of its row
    assert (differences < 0.02).sum() >= 9


def test_an_absent_table_is_named() -> None:
    with pytest.raises(KeyError, match="paser 1"):
        published.table("paser", 99)
