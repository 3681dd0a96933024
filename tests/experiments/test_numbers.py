"""Numbers of the front pages come from records."""

from __future__ import annotations

from pathlib import Path

from experiments import numbers, records

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_has_the_numbers_of_the_records() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(numbers.PLACE.findall(readme)) >= 2
    # else: cd book && python -m experiments.numbers ../README.md
    assert numbers.fill(readme, numbers.front()) == readme


def test_effects_have_their_sign_and_interval() -> None:
    claim = "Synonyms for half of the words help PaSeR"
    (effect,) = (one.found["tiny"] for one in records.get("scorecard/claims").results.claims if one.text == claim)
    texts, turned = numbers.effects({"one": claim}, "+"), numbers.effects({"one": claim}, "+", turned=True)
    assert float(texts["one"].replace("−", "-")) == round(effect.difference, 1)
    assert turned["one"] == f"{-effect.difference:+.1f}"
    assert turned["one_ci"] == f"{-effect.high:.1f} to {-effect.low:.1f}"


def test_a_spread_names_equal_ends_once() -> None:
    assert numbers.spread([2.04, 1.5, 1.0]) == "1.0 to 2.0"
    assert numbers.spread([2.04, 1.96]) == "2.0"
