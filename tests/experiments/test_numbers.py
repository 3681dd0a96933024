"""Numbers of the front pages come from records."""

from __future__ import annotations

from pathlib import Path

from experiments import numbers

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_has_the_numbers_of_the_records() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(numbers.PLACE.findall(readme)) >= 2
    # else: cd book && python -m experiments.numbers ../README.md
    assert numbers.fill(readme, numbers.front(ROOT / "book" / "results")) == readme


def test_marked_places_are_filled() -> None:
    assert numbers.fill("a <!-- number:x -->1<!-- --> b", {"x": "2.5"}) == "a <!-- number:x -->2.5<!-- --> b"
