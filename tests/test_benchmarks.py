"""What the speed programs share: contestants take turns, and a missed goal is an exit status."""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path

import pytest
import side_by_side
from experiments.cost import SpeedRow


def row(work: str, met: bool) -> SpeedRow:
    return SpeedRow(work=work, threads=1, unit="s", figures={"sentlab": 0.25}, goal="0.3 s", met=met)


@pytest.mark.parametrize(("last", "status"), [(True, 0), (False, 1)])
def test_a_missed_goal_is_an_exit_status(
    last: bool, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row("import", True), row("search", last)]
    asked = argparse.Namespace(rows=tmp_path / "rows.json")
    assert side_by_side.told(iter(rows), asked) == status
    assert capsys.readouterr().out.count("MISSED") == status
    assert [SpeedRow(**own) for own in json.loads(asked.rows.read_text())] == rows


def test_contestants_take_turns_and_the_first_round_does_not_count() -> None:
    order, time = [], itertools.count()
    contestants = {name: lambda name=name: order.append(name) or name.upper() for name in ("a", "b", "c")}
    seconds, results = side_by_side.in_turn(contestants, 2, clock=lambda: float(next(time)))
    assert "".join(order) == "abccbaabc"
    assert seconds == {name: [1.0, 1.0] for name in "abc"}
    assert results == {"a": "A", "b": "B", "c": "C"}
