"""The house stays small: caps on lines and files, and no hashed file names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HASHED = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}")


@pytest.mark.parametrize(
    ("folder", "most"),
    [
        ("sentlab", 8_000),
        ("book/experiments", 6_000),
        ("tests", 12_000),
        ("benchmarks", 1_800),
    ],
)
def test_folders_have_at_most_so_many_lines(folder: str, most: int) -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py"))
    assert 0 < lines <= most


def test_the_package_has_at_most_60_files() -> None:
    assert len([*(ROOT / "sentlab").rglob("*.py")]) <= 60


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
