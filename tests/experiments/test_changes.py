"""What a choice changes follows from the records, with the noise of the seeds there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from experiments.changes import NOT_MEASURED, NOT_YET, Change, change, noise_of_gap, signed
from experiments.records import WilliamsRecord
from experiments.results_rows import WilliamsResults
from experiments.settings_rows import WilliamsSettings

NOISE = "noise\u00a0"
Save = Callable[..., None]


@pytest.fixture
def scales(results: Path, save: Save, seeds: Save) -> Path:
    over = {"method.arguments.m": [0.1, 10.0], "method.arguments.phrases": [None, ["NP", "VP"]]}
    save("scales", 40.0, 41.0, 42.0, 46.0, over=over)
    seeds("seeds", 50.0, 52.0, 54.0)
    return results


def test_every_setting_is_held_against_ours(scales: Path) -> None:
    entry = {"sweep": "scales", "ours": {"m": 10, "phrases": "none"}, "label": "{}/{}"}
    told = "0.1/none −2.0", "0.1/NP+VP −1.0", "10/NP+VP +4.0", "one seed"
    assert change([entry], scales) == Change(told, ("scales",))
    noise = {"noise": {"record": "seeds"}}
    found = change([{**entry, **noise, "heading": "all", "score": "toy-sts-dev"}], scales)
    assert found.lines == ("all:", "0.1/none +2.0", "0.1/NP+VP +1.0", "10/NP+VP −4.0", f"{NOISE}4.0")


def test_one_vector_and_some_of_the_runs_count(scales: Path) -> None:
    ours, other = {"record": "seeds"}, {"record": "seeds", "vector": "mean", "only": [0]}
    assert change([{"label": "x", "ours": ours, "other": other}], scales).lines == (f"x +8.0 ({NOISE}4.0)",)


def test_sides_with_seeds_are_told_with_the_noise_of_their_difference(scales: Path, seeds: Save) -> None:
    seeds("others", 60.0, 61.0, first=3)
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


def test_longest_spans_are_held_against_one_of_them(results: Path) -> None:
    table = {"setup": "spans"}
    numbers = {"record": "SLICE", "spearman": 1.0, "difference": 0.0, "t": 0.0, "p": 1.0}
    sizes = [table | {"max_size": size, "rows": [numbers | {"pearson": 30.0 + size / 10}]} for size in (5, 20, 35)]
    asked = [table | {"max_size": size, "rows": [{"record": "SLICE"}]} for size in (5, 20, 35)]
    settings = WilliamsSettings.model_validate({"corpus": "toy-sts", "tables": asked})
    WilliamsRecord(settings=settings, results=WilliamsResults.model_validate({"tables": sizes})).save(
        results / "compared.json"
    )
    entry = {"williams": "compared", "row": "SLICE", "ours": 20, "others": [5, 35]}
    assert change([entry], results) == Change(("5 words −1.5", "35 words +1.5", "one seed"), ("compared",))
    WilliamsRecord(settings=settings).save(results / "compared.json")
    assert change([entry], results) is NOT_YET


def test_entries_stand_in_order_and_records_once(scales: Path) -> None:
    gap = {"label": "x", "ours": {"record": "seeds"}, "other": {"record": "seeds", "only": [2]}}
    found = change([{"text": "first"}, gap, {"text": "then"}, gap], scales)
    assert [line.split()[0] for line in found.lines] == ["first", "x", "then", "x"]
    assert found.records == ("seeds",)
    assert change([], scales) is NOT_MEASURED


def test_runs_of_a_sweep_count_before_the_others_are_done(scales: Path, save: Save) -> None:
    save("unfinished", 50.0, None, over={"train.seed": [7, 8]})
    other = {"record": "unfinished", "where": {"train.seed": 7}}
    assert change([{"label": "x", "ours": {"record": "seeds"}, "other": other}], scales).lines[0].startswith("x −2.0")


def test_what_is_not_recorded_is_said(scales: Path, save: Save) -> None:
    save("begun", None)
    save("unfinished", 50.0, None, over={"train.seed": [7, 8]})
    for name in ("absent", "begun", "unfinished"):
        gap = {"label": "x", "ours": {"record": "seeds"}, "other": {"record": name}}
        assert change([{"text": "first"}, gap], scales) is NOT_YET
        assert change([{"sweep": name, "ours": {"seed": 7}}], scales) is NOT_YET


def test_a_broken_record_is_an_error(scales: Path) -> None:
    (scales / "broken.json").write_text("{")
    with pytest.raises(ValueError, match="not JSON"):
        change([{"label": "x", "ours": {"record": "seeds"}, "other": {"record": "broken"}}], scales)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"mean": "seeds"}, "needs one of text, sweep, other, williams"),
        ({"sweep": "scales", "nose": {}}, "nose"),
        (
            {"sweep": "scales", "ours": {"m": 10}},
            r"varies method\.arguments\.m, method\.arguments\.phrases, and `ours` says m",
        ),
    ],
)
def test_entries_that_make_no_sense_are_refused(scales: Path, entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        change([entry], scales)


def test_settings_that_look_alike_are_refused(scales: Path, save: Save) -> None:
    save("first", 40.0, 50.0, 70.0, over={"frozen_first": [None, {"steps": 100}, {"steps": 500}]})
    told = change([{"sweep": "first", "ours": {"frozen_first": "steps=100"}}], scales).lines
    assert told == ("none −10.0", "steps=500 +20.0", "one seed")
    save("corpora", 40.0, 50.0, over={"data": [{"corpus": "toy-sts"}, {"corpus": "toy-sts", "split": "train"}]})
    with pytest.raises(ValueError, match="corpora: several settings are shown as toy-sts"):
        change([{"sweep": "corpora", "ours": {"data": "toy-sts"}}], scales)


def test_signs_are_those_of_print() -> None:
    assert [signed(number) for number in (1.25, -0.3, 0.0)] == ["+1.2", "−0.3", "+0.0"]
