"""What a choice changes follows from the records, with the noise of the seeds there are."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sentlab.experiments import records, sweep
from sentlab.report.changes import NOT_MEASURED, NOT_YET, Change, change, noise_of_gap, signed

NOISE = "noise\u00a0"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path


def save(results: Path, name: str, over: dict[str, list[Any]], scores: list[dict[str, float]]) -> None:
    """A sweep and its finished runs."""
    settings: dict[str, Any] = {"method": {"name": "some"}, "train": {}}
    records.Record(name, settings, over=over).save(results / f"{name}.json")
    for values, found in zip(itertools.product(*over.values()), scores, strict=True):
        own: dict[str, Any] = {"method": {"name": "some"}, "train": {}}
        for key, value in zip(over, values, strict=True):
            group, last = key.split(".")
            own[group][last] = value
        path = results / sweep.FOLDER / sweep._file(own)
        vectors = {"cls": found, "mean": {task: score + 10 for task, score in found.items()}}
        records.Record(path.stem, own, results={"before": {"cls": {"average": 1.0}}, "after": vectors}).save(path)


def seeds(results: Path, name: str, *scores: float, first: int = 0) -> None:
    over = {"train.seed": list(range(first, first + len(scores)))}
    save(results, name, over, [{"average": score, "dev": 2 * score} for score in scores])


@pytest.fixture
def scales(results: Path) -> Path:
    over = {"method.m": [0.1, 10.0], "method.n": [None, ["a", "b"]]}
    save(results, "scales", over, [{"average": score, "dev": -score} for score in (40.0, 41.0, 42.0, 46.0)])
    seeds(results, "seeds", 50.0, 52.0, 54.0)
    return results


def test_every_setting_is_held_against_ours(scales: Path) -> None:
    entry = {"sweep": "scales", "ours": {"m": 10, "n": "none"}, "label": "{}/{}"}
    assert change([entry], scales) == Change(("0.1/none −2.0", "0.1/a+b −1.0", "10/a+b +4.0", "one seed"), ("scales",))
    noise = {"noise": {"record": "seeds"}}
    found = change([{**entry, **noise, "show": "extremes", "heading": "all"}], scales)
    assert found.lines == ("all:", "best: 10/a+b, +4.0", "worst: 0.1/none, −2.0", f"{NOISE}4.0")
    assert change([{**entry, **noise, "show": "best", "score": "dev"}], scales).lines == (
        f"0.1/none +2.0 ({NOISE}8.0)",
    )


def test_settings_are_held_against_another_record(scales: Path) -> None:
    save(scales, "few", {"method.view": [["swap"], ["drop"]]}, [{"average": 53.0}, {"average": 51.5}])
    entry = {"sweep": "few", "against": {"record": "seeds"}, "names": {"drop": "dropped", "swap": "swapped"}}
    assert change([entry], scales) == Change(("dropped −0.5", "swapped +1.0", "one seed"), ("few", "seeds"))
    against = {"record": "seeds", "vector": "mean", "only": [0]}
    assert change([{**entry, "against": against}], scales).lines[0] == "dropped −8.5"


def test_sides_with_seeds_are_told_with_the_noise_of_their_difference(scales: Path) -> None:
    seeds(scales, "others", 60.0, 61.0, first=3)
    entry = {"label": "x", "ours": {"record": "seeds"}, "other": {"record": "others"}}
    noise = 2 * (4 / 3 + 0.5 / 2) ** 0.5
    assert change([entry], scales) == Change((f"x +8.5 ({NOISE}{noise:.1f})",), ("seeds", "others"))
    by_vector = {"label": "mean", "ours": {"record": "seeds"}, "other": {"record": "seeds", "vector": "mean"}}
    assert change([{**by_vector, "paired": True}], scales) == Change((f"mean +10.0 ({NOISE}0.0)",), ("seeds",))
    untrained = {"record": "seeds", "when": "before", "only": [0]}
    assert change([{"label": "y", "ours": untrained, "other": untrained}], scales).lines == ("y +0.0",)


def test_noise_is_of_the_seeds_there_are() -> None:
    three, spread, one = (pd.Series(values, dtype=float) for values in ([1, 2, 3], [10, 20, 30], [5]))
    assert noise_of_gap(three, spread) == pytest.approx(2 * ((1 + 100) / 3) ** 0.5)
    assert noise_of_gap(three, one) == noise_of_gap(one, three) == 2.0
    assert noise_of_gap(one, one) is None
    assert noise_of_gap(three, spread, paired=True) == pytest.approx(2 * 9 / 3**0.5)


def test_results_of_a_comparison_are_held_against_one_of_them(results: Path) -> None:
    by_setup = {f"up to {size}": {"SLICE": {"pearson": 30.0 + size / 10}} for size in (5, 20, 35)}
    records.Record("compared", {}, results=by_setup).save(results / "compared.json")
    names = {"up to 5": "5 words", "up to 35": "35 words"}
    entry = {"comparison": "compared", "row": "SLICE", "score": "pearson", "ours": "up to 20", "names": names}
    assert change([entry], results) == Change(("5 words −1.5", "35 words +1.5", "one seed"), ("compared",))


def test_entries_stand_in_order_and_records_once(scales: Path) -> None:
    gap = {"label": "x", "ours": {"record": "seeds"}, "other": {"record": "seeds", "only": [2]}}
    found = change([{"text": "first"}, gap, {"text": "then"}, gap], scales)
    assert [line.split()[0] for line in found.lines] == ["first", "x", "then", "x"]
    assert found.records == ("seeds",)
    assert change([], scales) is NOT_MEASURED


def test_what_is_not_recorded_is_said(scales: Path) -> None:
    records.Record("begun", {}).save(scales / "begun.json")
    records.Record("unfinished", {"train": {}}, over={"train.seed": [7]}).save(scales / "unfinished.json")
    for name in ("absent", "begun", "unfinished"):
        gap = {"label": "x", "ours": {"record": "seeds"}, "other": {"record": name}}
        assert change([{"text": "first"}, gap], scales) is NOT_YET
        assert change([{"sweep": name, "ours": {"seed": 7}}], scales) is NOT_YET


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"mean": "seeds"}, "needs one of text, sweep, other, comparison"),
        ({"sweep": "scales", "nose": {}}, "nose"),
        ({"sweep": "scales", "ours": {"m": 10}}, r"varies method\.m, method\.n, and `ours` says m"),
        ({"sweep": "scales", "ours": {"m": 10, "n": "none"}, "label": "{}{}", "show": "first"}, "must be all, best"),
    ],
)
def test_entries_that_make_no_sense_are_refused(scales: Path, entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        change([entry], scales)


def test_signs_are_those_of_print() -> None:
    assert [signed(number) for number in (1.25, -0.3, 0.0)] == ["+1.2", "−0.3", "+0.0"]
