"""The encoders of a row: those of its own runs, trained or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiments.encoders import encoders_of, trained_rows
from experiments.settings_rows import RowSettings

RAW = {"encoder": {"source": "tiny", "pooling": "mean", "max_length": 16}, "dev": "toy-sts", "test": []}
TRAINED = RAW | {"data": {"corpus": "toy-sentences"}, "train": {"steps": 2}}
SIMCSE = {"name": "SimCSE", "arguments": {}}


def beside(tmp_path: Path, run: dict[str, Any], over: dict[str, Any]) -> Path:
    path = tmp_path / "results" / "swept.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"kind": "sweep", "settings": {"run": run, "over": over}}))
    return path


def test_untrained_runs_of_a_sweep_have_their_own_encoders(tmp_path: Path) -> None:
    path = beside(tmp_path, RAW, {"encoder.source": ["tiny", "small"], "encoder.pooling": ["mean"]})
    small = RowSettings(record="swept", where={"encoder.source": "small"})
    assert [own["source"] for own in encoders_of(small, path)] == ["small"]
    assert [own["source"] for own in encoders_of(RowSettings(record="swept"), path)] == ["tiny", "small"]


def test_the_runs_that_a_row_names_say_whether_it_is_trained(tmp_path: Path) -> None:
    path = beside(tmp_path, TRAINED, {"method": [None, SIMCSE], "train.seed": [0, 1]})
    row = RowSettings(record="swept", where={"method": SIMCSE})
    assert trained_rows({"row": row}, path).keys() == {"row"}
    with pytest.raises(FileNotFoundError, match="the encoder of swept is not in"):
        encoders_of(row, path)
    with pytest.raises(ValueError, match="has trained and untrained runs"):
        encoders_of(RowSettings(record="swept"), path)


@pytest.mark.parametrize("method", [None, {"name": "Whitening"}], ids=["evaluated", "whitened"])
@pytest.mark.parametrize(
    ("place", "trained"),
    [("runs/simcse-{}/encoder", True), ("book/results/sweeps/SimCSE-{}/encoder", True), ("models/bert-{}", False)],
)
def test_what_begins_with_trained_encoders_depends_on_their_seeds(
    method: dict[str, Any] | None, place: str, trained: bool, tmp_path: Path
) -> None:
    run = RAW | {"method": method, "data": {"corpus": "toy-sentences"}}
    path = beside(tmp_path, run, {"encoder.source": [place.format(seed) for seed in range(3)]})
    assert ("row" in trained_rows({"row": RowSettings(record="swept")}, path)) is trained
