"""The published tables, against the papers' text where it is at hand."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from experiments import published

PAPERS = Path(__file__).resolve().parents[3] / "shared" / "papers"
NUMBER = re.compile(r"(?<= )(?:\d+\.\d+|-)(?= |$)")
NUMERIC = ("1", "2", "3", "4", "5", "8", "9", "10")

SENTENCES = ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick"]
WORDS = ["simlex", "ws353-sim", "ws353-rel", "men", "scws"]
COLUMNS = [*SENTENCES, "sentence average", "ppdb", "semeval", *WORDS, "word average"]
HEADER = "STS12 STS13 STS14 STS15 STS16 STS_B SICK-R Avg. PPDB SemEval SimLex WS-sim WS-rel MEN SCWS Avg."
MODELS = {
    "GloVe average": "Avg. GloVe", "FastText average": "Avg. FastText", "SkipThought": "SkipThought",
    "InferSent-2": "InferSent-2", "GenSen last": "GenSen LAST", "BERT-base [CLS]": "BERT CLS",
    "BERT-base max": "BERT MAX", "BERT-base mean": "BERT MEAN", "ALBERT-base, fine-tuned": "ALBERT fine-tune",
    "BERT-base, fine-tuned": "BERT fine-tune",
}  # fmt: skip
BLOCKS = {
    "objectives": "Training Objectives", "pooling": "Pooling Strategies",
    "concatenation": "Concatenation Methods", "negatives": "Negative Sampling",
}  # fmt: skip


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


def printed_cells(text: str, number: str) -> list[list[str]]:
    """The lines of a table whose cells the text parts by tabs, without marks of type (bold, italic, subscript)."""
    above = text[: text.index(f"\n\nTable {number}: ")].rpartition("\n\n")[2]
    lines = re.sub(r"<[^<>]*>", "", above).splitlines()
    return [[cell.strip() for cell in line.split("\t")] for line in lines]


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


@pytest.mark.parametrize(("number", "size"), [("2", 10), ("3", 18)])
def test_universal_s_numbers_are_what_the_paper_prints(number: str, size: int) -> None:
    table = published.table("universal", number)
    lines = printed_cells(paper_text("universal"), number)
    assert " ".join(cell.replace(" ", "_") for cell in lines[1] if cell) == HEADER
    rows, block = [], ""
    for name, *cells in lines[2:]:  # the line of a block has a name and no numbers
        numbers = [float(cell) for cell in cells if cell]
        block = block if numbers else name
        rows += [(name, block, numbers)] if numbers else []
    assert len(table) == len(rows) == size
    for (index, row), (name, block, numbers) in zip(table.iterrows(), rows, strict=True):
        assert row[COLUMNS].tolist() == numbers, index
        if number == "2":
            assert name == MODELS[str(index)]
        else:  # the text has lost the bars of |u-v|
            assert re.sub("[ |]", "", str(index)) == name.replace(" ", "")
            assert block == BLOCKS[row["block"]]


def test_universal_s_examples_are_what_the_paper_prints() -> None:
    table = published.table("universal", 1)
    header, *rows = printed_cells(paper_text("universal"), "1")
    assert [name.lower() for name in (str(table.index.name), *table.columns)] == [name.lower() for name in header]
    for one, (target, paraphrase, *numbers, label) in zip(table.itertuples(), rows, strict=True):
        assert list(one) == [target, paraphrase, *(float(cell.rstrip(".")) for cell in numbers), label]


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


def test_universal_s_tables_have_their_shapes_and_no_gap() -> None:
    one, two, three = (published.table("universal", number) for number in (1, 2, 3))
    assert (one.shape, two.shape, three.shape) == ((6, 5), (10, 16), (18, 17))
    for table in (one, two, three):
        assert table.index.is_unique
        assert not table.isna().any(axis=None)
    assert list(three.groupby("block", sort=False).size().items()) == [
        ("objectives", 4), ("pooling", 3), ("concatenation", 7), ("negatives", 4),
    ]  # fmt: skip
    assert one["entailment label"].tolist() == ["independent"] * 2 + ["entailment"] * 2 + ["equivalence"] * 2


def test_universal_s_averages_that_are_not_the_mean_of_their_cells_stay_as_printed() -> None:
    wrong = {}
    for number in (2, 3):
        table = published.table("universal", number)
        for average, columns in (("sentence average", SENTENCES), ("word average", WORDS)):
            for row, printed, computed in zip(table.index, table[average], table[columns].mean(axis=1), strict=True):
                if abs(printed - computed) > 0.05:
                    wrong[number, row, average] = (printed, round(computed, 2))
    assert wrong == {
        (2, "BERT-base [CLS]", "sentence average"): (60.60, 40.89),  # this and the next, each in the other's row
        (2, "BERT-base mean", "sentence average"): (40.89, 60.60),
        (2, "BERT-base [CLS]", "word average"): (14.44, 15.85),  # and so are these two
        (2, "BERT-base mean", "word average"): (15.85, 14.44),
        (3, "NLI", "word average"): (30.78, 43.09),
        (3, "k = 7", "sentence average"): (75.44, 75.27),
    }


def ptbert_name(printed: str) -> str:
    """A row of PT-BERT's tables as the file names it."""
    return printed.replace("BERT base", "BERT-base").removesuffix("(Ours)")


@pytest.mark.parametrize(("number", "shape"), [("1", (5, 2)), ("2", (1, 3)), ("4", (9, 1))])
def test_ptbert_s_small_tables_are_what_the_paper_prints(number: str, shape: tuple[int, int]) -> None:
    table = published.table("ptbert", number)
    header, *rows = printed_cells(paper_text("ptbert"), number)
    columns = {"1": ["sub-dataset", "original"], "2": ["SimCSE-32", "SimCSE-64", "SimCSE-128"], "4": ["stsb dev"]}
    names = {"1": str.lower, "2": lambda name: name.replace("Avg.", "average"), "4": ptbert_name}
    assert table.shape == shape
    assert list(table.columns) == columns[number]
    assert [plain(name).lower() for name in header[1:]] == [plain(name).lower() for name in columns[number]]
    assert list(table.index) == [names[number](name) for name, *_ in rows]
    assert table.to_numpy().tolist() == [[float(cell) for cell in cells] for _, *cells in rows]


@pytest.mark.parametrize(
    ("table", "blocks"), [("3", {"discrete": 6, "continuous": 3}), ("5", {"(a)": 5, "(b)": 3, "(c)": 2})]
)
def test_ptbert_s_sts_tables_are_what_the_paper_prints(table: str, blocks: dict[str, int]) -> None:
    header, *rows = printed_cells(paper_text("ptbert"), table)
    assert header[1:] == ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "Avg."]
    printed: dict[str, list[tuple[str, list[float]]]] = {}
    for name, *cells in rows:  # the line of a block has a name and no numbers
        if any(cells):
            numbers = [math.nan if cell == "-" else float(cell) for cell in cells]
            printed[list(printed)[-1]].append((ptbert_name(name), numbers))
        else:
            printed[name.split()[0].lower()] = []
    assert {block: len(found) for block, found in printed.items()} == blocks
    for block, found in printed.items():
        ours = published.table("ptbert", f"5{block[1]}" if table == "5" else "3")
        if table == "3":
            ours = ours[ours["block"] == block].drop(columns="block")
        assert list(ours.columns) == [*SENTENCES, "average"]
        assert list(ours.index) == [name for name, _ in found]
        np.testing.assert_array_equal(ours.to_numpy(), [numbers for _, numbers in found])


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


def test_ptbert_s_tables_repeat_each_other() -> None:
    one, three, hard = (published.table("ptbert", number) for number in ("1", "3", "5c"))
    assert one["sub-dataset"].tolist() == hard.loc["SimCSE", SENTENCES[:5]].tolist()
    assert one["original"].tolist() == three.loc["SimCSE-BERT-base", SENTENCES[:5]].tolist()
    own = three.loc["PT-BERT-base", [*SENTENCES, "average"]].tolist()
    assert published.table("ptbert", "5a").loc["L-128"].tolist() == own
    assert published.table("ptbert", "5b").loc["Q-256"].tolist() == own


def test_paser_s_simcse_is_that_of_ptbert_s_paper_as_the_scorecard_says() -> None:
    paser, ptbert = (published.table(name, number) for name, number in (("paser", 1), ("ptbert", 3)))
    row = "SimCSE-BERT-base"
    assert paser.loc[row].to_dict() == ptbert.loc[row].drop("block").to_dict()


def test_ptbert_s_averages_are_all_the_mean_of_their_cells() -> None:
    wrong = {}
    for number in ("3", "5a", "5b", "5c"):
        table = published.table("ptbert", number)
        computed = table[SENTENCES].mean(axis=1)  # of those that are there: five in 5c
        wrong |= {
            (number, row): table["average"][row] for row in table.index[(computed - table["average"]).abs() > 0.006]
        }
    assert wrong == {}


def test_slice_s_numbers_are_what_the_paper_prints() -> None:
    setups = {
        "Baseline": "baseline", "Full Context": "full context",
        "N-grams - Forward Pass per N-gram": "forward per n-gram",
        "N-grams - Single Forward Pass": "single forward pass",
    }  # fmt: skip
    text = paper_text("slice")
    header, *lines = text[text.index("Model | Pearson") : text.index("\n\nTable 1: ")].splitlines()
    assert header == "Model | Pearson | Spearman"
    printed, setup = [], ""
    for line in filter(None, lines):  # the line of a set-up has no numbers; a star is before both numbers of a row
        if line in setups:
            setup = setups[line]
            continue
        found = re.fullmatch(r"(.+?)(?: \[\d+\])?(?: \|)? (\* )?(0\.\d+)(?: \|)? (\* )?(0\.\d+)", line)
        assert found, line
        name, star, pearson, both, spearman = found.groups()
        assert star == both
        printed.append((name, setup, float(pearson), float(spearman), bool(star)))
    table = published.table("slice", 1)
    assert list(table.columns) == ["setup", "pearson", "spearman", "significant"]
    assert [(*row[:-1], row[-1] == "no") for row in table.itertuples()] == printed


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


def test_a_table_is_a_copy() -> None:
    one = published.table("paser", 1)
    one.loc["BERT-flow", "sts12"] = 0.0
    assert published.table("paser", "1").loc["BERT-flow", "sts12"] == 58.40


def test_an_absent_table_is_named() -> None:
    with pytest.raises(KeyError, match="paser 1, paser 2"):
        published.table("paser", 99)
    with pytest.raises(KeyError, match="'nobody'"):
        published.table("nobody", 1)
