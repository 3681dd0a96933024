"""The house stays small and in order: caps on lines and files, no hashed file names, and imports that go one way."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sentlab"
HASHED = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}")


@pytest.mark.parametrize(
    ("folder", "most"), [("sentlab", 8_000), ("book/experiments", 6_000), ("tests", 12_000), ("benchmarks", 1_800)]
)
def test_folders_have_at_most_so_many_lines(folder: str, most: int) -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py"))
    assert 0 < lines <= most


def test_the_package_has_at_most_60_files() -> None:
    assert len([*PACKAGE.rglob("*.py")]) <= 60


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout of git")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def test_at_most_500_files_are_tracked(tracked: list[Path]) -> None:
    assert len(tracked) <= 500


def test_no_file_has_a_hash_for_a_name(tracked: list[Path]) -> None:
    assert [path for path in tracked if HASHED.search(path.stem)] == []


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
