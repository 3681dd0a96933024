"""The functions that the chapter on the reader's own data defines: they meet files that nobody has seen."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from sentlab.data import ScoredPair

CHAPTER = Path(__file__).resolve().parents[2] / "book" / "your-data.ipynb"


@pytest.fixture(scope="module")
def chapter() -> SimpleNamespace:
    """The chapter's imports and functions, without running anything else of it."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    names: dict = {}
    exec(compile(tree, str(CHAPTER), "exec"), names)
    return SimpleNamespace(**names)


def test_texts_of_a_table_stay_what_they_are(chapter: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text('id,text\n1,NA\n2,007\n3,\n4\n5,"two\nlines, quoted"\n', encoding="utf-8-sig")
    assert chapter.read_texts(path, "text") == ["NA", "007", "", "", "two\nlines, quoted"]
    assert chapter.read_texts(path, "id")[0] == "1"  # the mark that a spreadsheet puts first is no part of a name


def test_a_text_file_has_a_text_a_line(chapter: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes("A dog.\r\n\r\nÉté, 'quoted\".\n".encode("utf-8-sig"))
    assert chapter.read_texts(path, "unused") == ["A dog.", "", "Été, 'quoted\"."]


def test_a_missing_column_is_named_beside_those_that_are_there(chapter: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("id;text\n1;A dog.\n")
    with pytest.raises(ValueError, match=r"has no column text; it has: id;text"):
        chapter.read_texts(path, "text")
    with pytest.raises(ValueError, match=r"has no column score, text_a, text_b"):
        chapter.read_pairs(path)


def test_pairs_have_scores_on_any_scale_and_may_be_unfinished(chapter: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("text_b,score,text_a\nb,-3,a\nd,,c\n,1,e\nh,98.5,g\n")
    rows, left_out = chapter.read_pairs(path)
    assert rows == [ScoredPair("a", "b", -3.0), ScoredPair("g", "h", 98.5)]
    assert left_out == {"no gold": 1, "blank sentence": 1}
    path.write_text("text_a,text_b,score\na,b,1\nc,d,high\n")
    with pytest.raises(ValueError, match=r"pairs\.csv, row 2: expected a gold score .* 'high'"):
        chapter.read_pairs(path)


def test_halves_share_no_text(chapter: SimpleNamespace) -> None:
    chain = [ScoredPair(f"text {i}", f"text {i + 1 + i % 3}", float(i)) for i in range(60)]
    apart = [ScoredPair(f"a {i}", f"b {i}", float(i)) for i in range(100)]
    dev, test, dropped = chapter.halves(chain + apart)
    sides = [{text for pair in side for text in (pair.text_a, pair.text_b)} for side in (dev, test)]
    assert not sides[0] & sides[1]
    assert dropped > 0
    assert sorted(dev + test, key=repr) == sorted({*dev, *test}, key=repr)
    assert len(dev) + len(test) + dropped == 160
    assert abs(len(dev) - len(test)) < 20


def test_halves_of_pairs_apart_are_even_and_drop_nothing(chapter: SimpleNamespace) -> None:
    pairs = [ScoredPair(f"a {i}", f"b {i}", float(i)) for i in range(101)]
    dev, test, dropped = chapter.halves(pairs)
    assert (len(dev), len(test), dropped) == (51, 50, 0)
    assert {*dev, *test} == {*pairs}
    assert chapter.halves(pairs) == (dev, test, dropped)
    assert chapter.halves(pairs, seed=1)[0] != dev
