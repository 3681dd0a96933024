"""Sweeps: every combination once, found again by its settings, and a table and a picture of what came out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sentlab.experiments import records
from sentlab.experiments import sweep as module
from sentlab.experiments.sweep import read, sweep

BOOK = Path(__file__).resolve().parents[2] / records.FOLDER
SETTINGS = {
    "encoder": {"source": "", "pooling": "cls", "max_length": 16},
    "method": {"name": "PaSeR", "decoder_layers": 1, "m": 1.0, "view": None},
    "words": "toy",
    "data": "toy-sentences",
    "train": {"steps": 2, "batch_size": 4, "learning_rate": 0.001, "seed": 0},
    "dev": "toy-sts",
    "test": [],
    "threads": 1,
}


@pytest.fixture
def settings(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    return SETTINGS | {"encoder": {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}}


def test_every_combination_is_run_once_and_an_interrupted_sweep_goes_on(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = {"method.decoder_layers": [1, 2], "method.view": [None, ["synonym_replacement", "random_deletion"]]}
    run, calls = module.run, []

    def counted(path: Path, **more: object) -> records.Record:
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(path)
        return run(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        sweep(settings, over, progress=False)
    monkeypatch.setattr(module, "run", lambda path, **more: (calls.append(path), run(path, **more))[1])
    found = sweep(settings, over, progress=False)
    assert len(calls) == len(set(calls)) == 4  # what was finished is not run again
    table = found.table("toy-sts-dev")
    assert table["decoder_layers"].tolist() == [1, 1, 2, 2]
    assert table["view"].tolist() == ["none", "synonym_replacement+random_deletion"] * 2
    assert len(set(table["toy-sts-dev"])) == 4
    assert not list((tmp_path / "runs").glob("PaSeR-*"))  # checkpoints are gone
    sweep(settings | {"method": settings["method"] | {"decoder_layers": 2}}, {"method.view": [None]}, progress=False)
    assert len(calls) == 4  # what another sweep has run is not run again either
    more = sweep(settings | {"max": 1}, {"method.decoder_layers": [1]}, progress=False)  # another setting: another run
    assert len(calls) == 5
    assert len(more.plot("toy-sts-dev").axes) == 1
    with pytest.raises(KeyError, match="toy-sts-dev"):
        found.table("stsb")


def test_a_recorded_sweep_is_read_when_all_its_runs_are_there(settings: dict[str, Any], tmp_path: Path) -> None:
    over = {"train.seed": [0, 1]}
    path = tmp_path / "depth.json"
    path.write_text(json.dumps({"settings": settings, "over": over}))
    with pytest.raises(ValueError, match=r"sweeps.PaSeR-.*python -m sentlab.experiments.sweep"):
        read(path)
    ran = sweep(settings, over, folder=tmp_path / "sweeps", progress=False)
    assert read(path).table("toy-sts-dev").equals(ran.table("toy-sts-dev"))
    path.write_text(json.dumps({"settings": settings}))
    with pytest.raises(ValueError, match="no sweep"):
        read(path)


def test_nothing_to_vary_is_said(settings: dict[str, Any]) -> None:
    for over in ({}, {"train.seed": []}):
        with pytest.raises(ValueError, match="values to try"):
            sweep(settings, over)


def test_the_recorded_sweeps_are_whole_and_nothing_is_left_over() -> None:
    heads = [path for path in BOOK.glob("*.json") if records.read(path).over]
    assert heads
    found = {f"{run.name}.json" for path in heads for run in read(path).records}  # read complains about what is missing
    assert {path.name for path in (BOOK / "sweeps").glob("*.json")} == found
