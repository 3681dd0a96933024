"""The split into halves that the chapter on the reader's own data defines: it meets files that nobody has seen."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sentlab.data import ScoredPair

CHAPTER = Path(__file__).resolve().parents[2] / "book" / "your-data.ipynb"


@pytest.fixture
def halves() -> Callable[..., Any]:
    """The chapter's function, without running anything else of it but imports."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    names: dict[str, Any] = {}
    exec(compile(tree, str(CHAPTER), "exec"), names)
    return names["halves"]


def test_halves_share_no_text(halves: Callable[..., Any]) -> None:
    chain = [ScoredPair(f"text {i}", f"text {i + 1 + i % 3}", float(i)) for i in range(60)]
    apart = [ScoredPair(f"a {i}", f"b {i}", float(i)) for i in range(100)]
    dev, test, dropped = halves(chain + apart)
    sides = [{text for pair in side for text in (pair.text_a, pair.text_b)} for side in (dev, test)]
    assert not sides[0] & sides[1]
    assert dropped > 0
    assert len({*dev, *test}) + dropped == 160
    assert abs(len(dev) - len(test)) < 20
    assert [len(side) for side in halves(apart)[:2]] == [50, 50]
