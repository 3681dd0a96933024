"""The code in solutions of exercises, run after its chapter."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
from nbclient import NotebookClient

BOOK = Path(__file__).resolve().parents[2] / "book"
BLOCK = re.compile(r"^[ ]*```python\n(.*?)^[ ]*```", re.M | re.S)


def solutions(cell: nbformat.NotebookNode) -> list[str]:
    if cell.cell_type != "markdown":
        return []
    _, exercises, solved = cell.source.partition("Exercise")
    return [dedent(block) for block in BLOCK.findall(solved)] if exercises else []


CHAPTERS = [
    path.stem for path in sorted(BOOK.glob("*.ipynb")) if any(map(solutions, nbformat.read(path, as_version=4).cells))
]


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_solutions_run_after_their_chapter(chapter: str) -> None:
    notebook = nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4)
    cells = []
    for cell in notebook.cells:
        cells += [cell, *map(nbformat.v4.new_code_cell, solutions(cell))]
    notebook.cells = cells
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(BOOK)}}).execute()
