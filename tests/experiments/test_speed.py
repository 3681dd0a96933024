"""The tables of the speed page: what was measured, and which goals were missed."""

from __future__ import annotations

import pytest
from experiments import speed_tables as speed
from experiments.notes import Notes
from experiments.records import SpeedRecord
from experiments.results_rows import SpeedResults, SpeedRow
from experiments.settings_rows import SpeedSettings

ROWS = [
    SpeedRow(
        work="Encode 10 sentences",
        threads=2,
        unit="sentences/s",
        figures={"sentlab": 1234.5, "another": 500.0},
        ratio=2.469,
        goal="3 times as fast",
        met=False,
        memory=41.6,
    ),
    SpeedRow(work="import", threads=1, unit="s", figures={"sentlab": 0.25}, goal="0.3 s", met=True),
]


def record(rows: list[SpeedRow] | None) -> SpeedRecord:
    results = None if rows is None else SpeedResults(rows=rows)
    made = SpeedRecord(settings=SpeedSettings(programs=["encode.py"], data=False), results=results, name="speed/cpu")
    made.provenance = Notes().provenance("python benchmarks/speed.py", 1.0)
    return made


def test_a_row_says_what_was_measured_and_whether_the_goal_was_met() -> None:
    styled = speed.table(record([*ROWS[:1], *ROWS]), "Encode")
    assert styled.to_html().count(">Encode 10 sentences</th>") == 2
    shown = styled.data
    assert shown.iloc[0].to_dict() == {
        "threads": "2",
        "sentlab": "1,234 sentences/s",
        "beside it": "another: 500",
        "times as fast as the first beside it": "2.5",
        "memory, MiB": "42",
        "verdict": "missed",
        "goal": "3 times as fast",
    }
    both = speed.table(record(ROWS), "Encode", "import").data
    assert both["verdict"].tolist() == ["missed", "met"]
    assert both["goal"].tolist() == ["3 times as fast", "0.3 s"]
    assert both["memory, MiB"].tolist() == ["42", "–"]


def test_what_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="no row of speed/cpu begins with Fly; there are Encode, import"):
        speed.table(record(ROWS), "Fly")
    with pytest.raises(ValueError, match="no results yet"):
        speed.table(record(None), "Encode")
