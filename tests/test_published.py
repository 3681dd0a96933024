"""The published tables, against the papers' text where it is at hand."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from sentlab import published

PAPERS = Path(__file__).resolve().parents[2] / "shared" / "papers"
NUMBER = re.compile(r"(?<= )(?:\d+\.\d+|-)(?= |$)")
NUMERIC = ("1", "2", "3", "4", "5", "8", "9", "10")


def paper_text(name: str) -> str:
    if not PAPERS.is_dir():
        pytest.skip(f"the papers' text is not in {PAPERS}")
    return (PAPERS / f"{name}.txt").read_text(encoding="utf-8")


def printed_rows(text: str, number: str) -> list[tuple[str, tuple[str, ...]]]:
    """(name, cells) of the rows of numbers that stand right above a table's caption, as the text spells them."""
    above = text[: text.index(f"\nTable {number}: ")].split("\n")
    first = max(i for i, line in enumerate(above) if not line or line.startswith("Table "))
    rows = [(line, tuple(NUMBER.findall(line))) for line in above[first + 1 :]]
    return [(line, cells) for line, cells in rows if cells]


def plain(name: str) -> str:
    """A row's name without what the two spellings differ in: blanks, hyphens, rules, and marks of supervision."""
    return re.sub(r"[^A-Za-z0-9]", "", name.replace("\\hdashline", "").removesuffix(", supervised"))


@pytest.mark.parametrize("number", NUMERIC)
def test_paser_s_numbers_are_what_the_paper_prints(number: str) -> None:
    table = published.table("paser", number)
    printed = printed_rows(re.sub(r"\s/\s", " ", paper_text("paser")), number)  # table 10: two numbers in a cell
    assert [tuple("-" if math.isnan(x) else x for x in row) for row in table.itertuples(index=False)] == [
        tuple("-" if cell == "-" else float(cell) for cell in cells) for _, cells in printed
    ]
    for name, (line, _) in zip(table.index, printed, strict=True):
        assert plain(line).startswith(plain(name)), name


def test_paser_s_examples_are_what_the_paper_prints() -> None:
    lines = paper_text("paser").splitlines()
    nearest = published.table("paser", 6)
    at = [lines.index(f"{simcse} {paser}") for simcse, paser in nearest.itertuples(index=False)]
    first = at[0]
    assert at == [first, first + 1, first + 2, first + 4, first + 5, first + 6]
    assert [lines[first - 1], lines[first + 3]] == [f"Query: {query}" for query in nearest.index.unique()]
    assert list(nearest.index) == [nearest.index[0]] * 3 + [nearest.index[3]] * 3

    said = [" ".join(row) for row in published.table("paser", 7).itertuples()]
    start = lines.index("Raw Sentence Masked version Generate result") + 1
    assert said == lines[start : start + 4]


def test_some_cells_by_hand() -> None:
    cells = [
        ("1", "PaSeR-BERT-base", "sts12", 70.21), ("1", "SimCSE-BERT-base", "average", 76.25),
        ("2", "PaSeR-BERT-base", "average", 82.61), ("2", "SimCSE-BERT-base", "stsb", 84.25),
        ("3", "PaSeR-BERT-base", "qqp mrr@10", 65.07), ("3", "PaSeR-BERT-base, supervised", "askubuntu map", 52.28),
        ("4", "+ SR", "stsb", 79.3), ("5", "RAKE (top3)", "stsb", 79.4), ("5", "NP+VP", "sick", 64.3),
        ("8", "m=10, n=10", "sts12-16", 77.7), ("9", "[CLS]", "sick", 65.4),
        ("10", "4-5", "PaSeR-base variance", 0.003), ("10", "0-1", "SimCSE-base mean", 0.5),
    ]  # fmt: skip
    for number, row, column, value in cells:
        assert published.table("paser", number).loc[row, column] == value, (number, row, column)
    assert published.table("paser", 7).loc["Work with a tool."].tolist() == ["_ with a tool", "Try"]
    assert published.table("paser", 1).loc["CT-BERT-base"].isna().sum() == 3
    assert (
        sum(published.table("paser", number).size for number in range(1, 11))
        == 12 * 8 + 8 * 8 + 6 * 4 + (7 + 9 + 5 + 4) * 3 + 5 * 6 + (6 + 4) * 2
    )


@pytest.mark.parametrize("number", [1, 2])
def test_averages_are_the_mean_of_the_seven_tasks_as_far_as_rounding_goes(number: int) -> None:
    table = published.table("paser", number)
    differences = (table.drop(columns="average").mean(axis=1, skipna=False) - table["average"]).abs().dropna()
    # the paper's own average is taken as printed, whether or not it is the mean of its row
    assert (differences < 0.02).sum() >= len(differences) - 2


def test_a_table_is_a_copy() -> None:
    one = published.table("paser", 1)
    one.loc["BERT-flow", "sts12"] = 0.0
    assert published.table("paser", "1").loc["BERT-flow", "sts12"] == 58.40


def test_an_absent_table_is_named() -> None:
    with pytest.raises(KeyError, match="paser 1, paser 2"):
        published.table("paser", 99)
    with pytest.raises(KeyError, match="'nobody'"):
        published.table("nobody", 1)
