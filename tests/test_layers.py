"""The order of the rooms: imports go one way only, the laboratory imports the package, and never the reverse."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sentlab"

# From left to right: a file imports from its own room and from those to its left. `fit` takes any method, so training
# knows none of them, and the methods share its losses.
ROOMS = "files | text data | encoder | training | methods | search spans | evaluation metrics | plots | cli"
RANK = {room: rank for rank, rooms in enumerate(ROOMS.split("|")) for room in rooms.split()}


def imported(path: Path) -> set[str]:
    """The dotted names that a file imports, at its top or later."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_imports_go_one_way() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        for name in imported(path):
            top, _, rest = name.partition(".")
            other = rest.split(".")[0]
            assert top != "experiments", f"{path} imports the laboratory"
            if top == "sentlab" and RANK.get(other, -1) > RANK[room]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {other}, which is to its right")
    assert not wrong


def test_importing_sentlab_is_quick_and_changes_nothing() -> None:
    lines = """
import random, sys, warnings
state, filters = random.getstate(), list(warnings.filters)
import sentlab
assert (random.getstate(), list(warnings.filters)) == (state, filters)
heavy = {"torch", "transformers", "umap", "seaborn", "pandas", "sklearn"} & set(sys.modules)
assert not heavy, heavy
from sentlab import Encoder, PhraseIndex, fit
heavy = {"accelerate", "umap", "seaborn", "sklearn", "datasets", "numba"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", lines], check=True)
