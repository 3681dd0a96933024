"""Code of chapters: solutions of exercises run after their chapter, and the split of the reader's own data holds."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from sentlab.data import ScoredPair

BOOK = Path(__file__).resolve().parents[2] / "book"
YOUR_DATA = BOOK / "your-data.ipynb"
BLOCK = re.compile(r"^[ ]*```python\n(.*?)^[ ]*```", re.M | re.S)


def solutions(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """For each cell, its blocks of Python, from the heading of the exercises on: code may stand between exercises."""
    found, exercises = [], ""
    for cell in notebook.cells:
        text = cell.source if cell.cell_type == "markdown" else ""
        if not exercises:
            _, exercises, text = text.partition("Exercise")
        found.append([dedent(block) for block in BLOCK.findall(text)])
    return found


CHAPTERS = [path.stem for path in sorted(BOOK.glob("*.ipynb")) if any(solutions(nbformat.read(path, as_version=4)))]


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_solutions_run_after_their_chapter(chapter: str) -> None:
    notebook = nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4)
    cells = []
    for cell, solved in zip(notebook.cells, solutions(notebook), strict=True):
        cells += [cell, *map(nbformat.v4.new_code_cell, solved)]
    notebook.cells = cells
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(BOOK)}}).execute()


@pytest.fixture
def halves() -> Callable[..., Any]:
    """The chapter's function, without running anything else of it but imports."""
    cells = json.loads(YOUR_DATA.read_text(encoding="utf-8"))["cells"]
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    names: dict[str, Any] = {}
    exec(compile(tree, str(YOUR_DATA), "exec"), names)
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
