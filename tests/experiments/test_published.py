"""The published tables: cells that were read in the papers by hand."""

from __future__ import annotations

from experiments import published

SENTENCES = ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick"]
WORDS = ["simlex", "ws353-sim", "ws353-rel", "men", "scws"]
COLUMNS = [*SENTENCES, "sentence average", "ppdb", "semeval", *WORDS, "word average"]


def test_paser_s_cells_by_hand() -> None:
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


def test_universal_s_cells_by_hand() -> None:
    two, three = published.table("universal", 2), published.table("universal", 3)
    assert list(two.columns) == COLUMNS
    assert list(three.columns) == ["block", *COLUMNS]
    full = [
        69.87, 73.68, 72.77, 78.46, 73.61, 84.34, 84.79, 76.79, 70.64, 79.31, 60.75, 71.48, 55.70, 68.47, 62.31, 63.74,
    ]  # fmt: skip
    assert two.loc["BERT-base, fine-tuned"].tolist() == full
    for row in ("NLI+PI+PTC", "MEAN", "[u; v; |u-v|]", "k = 3"):  # the full model, once in each block
        assert three.loc[row, COLUMNS].tolist() == full, row
    cells = [
        (two, "GloVe average", "sts12", 53.28), (two, "FastText average", "word average", 72.21),
        (two, "SkipThought", "ppdb", 37.07), (two, "InferSent-2", "men", 77.40), (two, "GenSen last", "sick", 82.58),
        (two, "BERT-base [CLS]", "ws353-rel", 1.83), (two, "BERT-base max", "semeval", 76.95),
        (two, "BERT-base mean", "ws353-sim", 2.99), (two, "ALBERT-base, fine-tuned", "scws", 63.86),
        (three, "NLI", "stsb", 85.43), (three, "NLI+PI", "scws", 64.39), (three, "NLI+PTC", "ppdb", 76.94),
        (three, "CLS", "sick", 85.04), (three, "MAX", "men", 61.97), (three, "[u; v]", "simlex", 7.82),
        (three, "[|u-v|]", "sts12", 50.96), (three, "[u*v]", "ppdb", 70.22), (three, "[u; v; u*v]", "sts16", 69.30),
        (three, "[|u-v|; u*v]", "ws353-sim", 71.53), (three, "[u; v; |u-v|; u*v]", "sts13", 72.31),
        (three, "k = 1", "sts16", 74.68), (three, "k = 5", "ppdb", 72.25), (three, "k = 7", "word average", 61.26),
    ]  # fmt: skip
    for table, row, column, value in cells:
        assert table.loc[row, column] == value, (row, column)
    one = published.table("universal", 1)
    assert one.loc["hundreds"].tolist() == ["thousands", 0.0, 0.92851, 0.000457, "independent"]
    assert one.loc["the results of the work", "GoogleNgramSim"] == 0.51793  # a number, though printed as "0.51793."


def test_ptbert_s_cells_by_hand() -> None:
    cells = [
        ("1", "sts15", "sub-dataset", 70.27), ("1", "sts15", "original", 80.91), ("2", "average", "SimCSE-64", 75.20),
        ("3", "CLEAR", "sick", 75.60), ("3", "MoCo+reorder", "stsb", 73.99), ("3", "MoCo+deletion", "sts14", 72.8),
        ("3", "CT-BERT", "block", "continuous"), ("3", "MoCo+SRL", "block", "discrete"),
        ("3", "PT-BERT-base", "average", 77.74), ("4", "SimCSE-BERT-base + Deletion", "stsb dev", 75.90),
        ("4", "PT-BERT-base", "stsb dev", 84.50), ("5a", "L-90", "sts16", 79.06), ("5a", "L-360", "average", 75.75),
        ("5b", "Q-320", "sick", 72.85), ("5c", "PT-BERT", "sts12", 72.02), ("5c", "SimCSE", "average", 71.08),
    ]  # fmt: skip
    for number, row, column, value in cells:
        assert published.table("ptbert", number).loc[row, column] == value, (number, row, column)
    hard = published.table("ptbert", "5c")
    assert hard.columns[hard.isna().all()].tolist() == ["stsb", "sick"]
    for number in ("1", "2", "3", "4", "5a", "5b"):
        assert not published.table("ptbert", number).isna().any(axis=None), number


def test_slice_s_cells_by_hand() -> None:
    table = published.table("slice", 1).set_index("setup", append=True)
    assert table.index.is_unique
    assert not table.isna().any(axis=None)
    assert table.groupby("setup", sort=False).size().to_dict() == {
        "baseline": 1, "full context": 6, "forward per n-gram": 5, "single forward pass": 7,
    }  # fmt: skip
    cells = [
        ("BM-25 (Okapi)", "baseline", 0.342, 0.395, "best"), ("BERT", "full context", 0.286, 0.26, "yes"),
        ("SBERT-msmarco", "full context", 0.557, 0.549, "best"), ("SLICE (ours)", "full context", 0.547, 0.535, "no"),
        ("PhraseBERT", "forward per n-gram", 0.731, 0.743, "yes"),
        ("SLICE (ours)", "forward per n-gram", 0.762, 0.757, "best"),
        ("DensePhrases", "single forward pass", 0.562, 0.535, "yes"),
        ("SLICE (ours)", "single forward pass", 0.677, 0.669, "best"),
    ]  # fmt: skip
    for row, setup, *values in cells:
        assert table.loc[(row, setup)].tolist() == values, (row, setup)
    marked = table[table["significant"] == "best"]
    assert marked.index.get_level_values(0).tolist() == ["BM-25 (Okapi)", "SBERT-msmarco", *["SLICE (ours)"] * 2]
    assert table["significant"].value_counts().to_dict() == {"yes": 14, "best": 4, "no": 1}
    assert marked["pearson"].tolist() == table.groupby("setup", sort=False)["pearson"].max().tolist()


def test_averages_are_the_mean_of_their_cells() -> None:
    for number in ("3", "5a", "5b", "5c"):
        table = published.table("ptbert", number)
        assert (table[SENTENCES].mean(axis=1) - table["average"]).abs().max() < 0.0061


def test_a_table_is_a_copy() -> None:
    table = published.table("paser", 1)
    table.loc["BERT-flow", "sts12"] = 0.0
    assert published.table("paser", "1").loc["BERT-flow", "sts12"] == 58.40
