"""The published tables: cells that were read in the papers by hand."""

from __future__ import annotations

import pytest
from experiments import published

SENTENCES = ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick"]
WORDS = ["simlex", "ws353-sim", "ws353-rel", "men", "scws"]
COLUMNS = [*SENTENCES, "sentence average", "ppdb", "semeval", *WORDS, "word average"]
CELLS = {
    "paser": [
        ("1", "PaSeR-BERT-base", "sts12", 70.21), ("1", "SimCSE-BERT-base", "average", 76.25),
        ("2", "PaSeR-BERT-base", "average", 82.61), ("2", "SimCSE-BERT-base", "stsb", 84.25),
        ("3", "PaSeR-BERT-base", "qqp mrr@10", 65.07), ("3", "PaSeR-BERT-base, supervised", "askubuntu map", 52.28),
        ("4", "+ SR", "stsb", 79.3), ("5", "RAKE (top3)", "stsb", 79.4), ("5", "NP+VP", "sick", 64.3),
        ("8", "m=10, n=10", "sts12-16", 77.7), ("9", "[CLS]", "sick", 65.4),
        ("10", "4-5", "PaSeR-base variance", 0.003), ("10", "0-1", "SimCSE-base mean", 0.5),
    ],
    "universal": [
        ("1", "the results of the work", "GoogleNgramSim", 0.51793),  # a number, though printed as "0.51793."
        ("2", "GloVe average", "sts12", 53.28), ("2", "FastText average", "word average", 72.21),
        ("2", "BERT-base [CLS]", "ws353-rel", 1.83), ("2", "BERT-base mean", "ws353-sim", 2.99),
        ("2", "ALBERT-base, fine-tuned", "scws", 63.86), ("3", "NLI", "stsb", 85.43), ("3", "NLI+PTC", "ppdb", 76.94),
        ("3", "MAX", "men", 61.97), ("3", "[|u-v|]", "sts12", 50.96), ("3", "[u; v; u*v]", "sts16", 69.30),
        ("3", "k = 1", "sts16", 74.68), ("3", "k = 7", "word average", 61.26),
    ],
    "ptbert": [
        ("1", "sts15", "sub-dataset", 70.27), ("1", "sts15", "original", 80.91), ("2", "average", "SimCSE-64", 75.20),
        ("3", "CLEAR", "sick", 75.60), ("3", "MoCo+deletion", "sts14", 72.8), ("3", "MoCo+SRL", "block", "discrete"),
        ("3", "PT-BERT-base", "average", 77.74), ("4", "PT-BERT-base", "stsb dev", 84.50),
        ("5a", "L-90", "sts16", 79.06), ("5b", "Q-320", "sick", 72.85), ("5c", "PT-BERT", "sts12", 72.02),
    ],
}  # fmt: skip


@pytest.mark.parametrize("paper", CELLS)
def test_cells_by_hand(paper: str) -> None:
    for number, row, column, value in CELLS[paper]:
        assert published.table(paper, number).loc[row, column] == value, (number, row, column)


def test_dashes_are_nan_and_texts_are_texts() -> None:
    assert published.table("paser", 1).loc["CT-BERT-base"].isna().sum() == 3
    assert published.table("paser", 7).loc["Work with a tool."].tolist() == ["_ with a tool", "Try"]
    hard = published.table("ptbert", "5c")
    assert hard.columns[hard.isna().all()].tolist() == ["stsb", "sick"]


def test_universal_s_full_model_is_once_in_each_block() -> None:
    two, three = published.table("universal", 2), published.table("universal", 3)
    full = [
        69.87, 73.68, 72.77, 78.46, 73.61, 84.34, 84.79, 76.79, 70.64, 79.31, 60.75, 71.48, 55.70, 68.47, 62.31, 63.74,
    ]  # fmt: skip
    assert two.loc["BERT-base, fine-tuned", COLUMNS].tolist() == full
    for row in ("NLI+PI+PTC", "MEAN", "[u; v; |u-v|]", "k = 3"):
        assert three.loc[row, COLUMNS].tolist() == full, row


def test_slice_s_cells_by_hand() -> None:
    table = published.table("slice", 1).set_index("setup", append=True)
    assert table.index.is_unique
    cells = [
        ("BM-25 (Okapi)", "baseline", 0.342, 0.395, "best"), ("BERT", "full context", 0.286, 0.26, "yes"),
        ("SLICE (ours)", "full context", 0.547, 0.535, "no"),
        ("SLICE (ours)", "forward per n-gram", 0.762, 0.757, "best"),
        ("SLICE (ours)", "single forward pass", 0.677, 0.669, "best"),
    ]  # fmt: skip
    for row, setup, *values in cells:
        assert table.loc[(row, setup)].tolist() == values, (row, setup)
    best = table[table["significant"] == "best"]
    assert best["pearson"].tolist() == table.groupby("setup", sort=False)["pearson"].max().tolist()


def test_averages_are_the_mean_of_their_cells() -> None:
    for number in ("3", "5a", "5b", "5c"):
        table = published.table("ptbert", number)
        assert (table[SENTENCES].mean(axis=1) - table["average"]).abs().max() < 0.0061


def test_a_table_is_a_copy() -> None:
    table = published.table("paser", 1)
    table.loc["BERT-flow", "sts12"] = 0.0
    assert published.table("paser", "1").loc["BERT-flow", "sts12"] == 58.40
