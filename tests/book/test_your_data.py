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
