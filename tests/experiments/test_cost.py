"""What rows cost: measured on a machine that may be busy, so that only what no noise changes is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import cost, records
from experiments.settings import RunSettings

pytestmark = pytest.mark.skipif(not cost.STATUS.exists(), reason="memory is measured on Linux only")


def test_memory_is_what_the_work_adds_at_its_peak() -> None:
    kept = np.ones(2**20)  # 8 MiB that were there before
    seconds, memory = cost._measured(lambda: np.ones(8 * 2**20).sum())
    assert kept.sum() == 2**20
    assert seconds > 0
    assert 60 < memory < 72
    _, after = cost._measured(lambda: None)
    assert after < 8  # an earlier peak is forgotten


def write(folder: Path, name: str, kind: str, settings: dict[str, Any]) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"kind": kind, "settings": settings}))
    return path


def test_rows_have_what_they_cost_also_before_they_are_trained(small_encoder_folder: Path, tmp_path: Path) -> None:
    own: dict[str, Any] = {
        "encoder": {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16},
        "data": {"corpus": "toy-sentences"}, "dev": "toy-sts", "test": ["toy-sts"], "poolings": [], "keep": True,
    }  # fmt: skip
    train = {"steps": 2, "batch_size": 8, "learning_rate": 1e-4, "eval_every": 1, "seed": 0}
    trained = {**own, "method": {"name": "SimCSE"}, "train": train}
    fitted = {
        **own,
        "method": {"name": "Whitening", "arguments": {"dim": 4}},
        "data": {"corpus": "toy-sentences", "split": "dev"},
        "train": None,
    }
    for name, settings, over in (("trained", trained, "train.seed"), ("fitted", fitted, "method.arguments.dim")):
        write(tmp_path, name, "sweep", {"run": settings, "over": {over: [4]}})
    write(tmp_path, "raw", "run", {**own, "method": None, "train": None})
    rows = {"trained": {"record": "trained"}, "fitted": {"record": "fitted"}}
    rows["raw"] = {"record": "raw", "pooling": "mean"}
    asked = {"rows": rows, "steps": 3, "corpus": "toy-sts", "passes": 2, "threads": 1}
    path = write(tmp_path, "cost", "cost", asked)
    made = cost.cost(path)
    found = records.read_as(records.CostRecord, path).results
    assert found
    assert found == made.results
    assert list(found.training) == ["trained", "fitted"]  # nothing was trained for the third
    assert list(found.encoding) == list(rows)
    seconds = found.training["trained"].seconds_a_step
    assert seconds
    assert found.training["trained"].minutes == pytest.approx(2 * seconds / 60, abs=0.006)
    assert found.training["fitted"].seconds_a_step is None
    assert all(row.sentences_a_second > 0 for row in found.encoding.values())
    assert made.source.device.endswith("1 thread(s)")


def test_the_training_of_heads_counts(small_encoder_folder: Path) -> None:
    own: dict[str, Any] = {
        "encoder": {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16},
        "method": {"name": "PaSeR", "arguments": {"decoder_layers": 1}}, "words": "toy",
        "data": {"corpus": "toy-sentences"}, "dev": "toy-sts", "test": [],
        "train": {"steps": 2, "batch_size": 8, "learning_rate": 1e-4, "seed": 0},
        "frozen_first": {"steps": 20_000},
    }  # fmt: skip
    found = cost.training(RunSettings.model_validate(own), 3, 1)
    assert found.seconds_a_step
    assert found.minutes > 100 * 2 * found.seconds_a_step / 60


def test_other_systems_are_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "STATUS", tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="on Linux only"):
        cost.cost(tmp_path / "cost.json")
