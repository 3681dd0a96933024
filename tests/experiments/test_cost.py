"""What rows cost: measured on a machine that may be busy, so that only what no noise changes is asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentlab.experiments import cost, records
from sentlab.experiments.sweep import sweep

pytestmark = pytest.mark.skipif(not cost.STATUS.exists(), reason="memory is measured on Linux only")


def test_memory_is_what_the_work_adds_at_its_peak() -> None:
    kept = np.ones(2**20)  # 8 MiB that were there before
    seconds, memory = cost._measured(lambda: np.ones(8 * 2**20).sum())
    assert kept.sum() == 2**20
    assert seconds > 0
    assert 60 < memory < 72
    _, after = cost._measured(lambda: None)
    assert after < 8  # an earlier peak is forgotten


def test_rows_have_what_they_cost(small_encoder_folder: Path, tmp_path: Path) -> None:
    own: dict[str, Any] = {
        "encoder": {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16},
        "data": "toy-sentences", "dev": "toy-sts", "test": ["toy-sts"], "poolings": [], "keep": True,
    }  # fmt: skip
    train = {"steps": 2, "batch_size": 8, "learning_rate": 1e-4, "eval_every": 1, "seed": 0}
    trained = {**own, "method": {"name": "SimCSE"}, "train": train}
    fitted = {**own, "method": {"name": "Whitening", "dim": 4}, "train": None, "draw": {"rows": 300, "seed": 0}}
    folder = tmp_path / "sweeps"
    for name, settings, over in (
        ("trained", trained, {"train.seed": [0]}),
        ("fitted", fitted, {"draw.seed": [0]}),
        ("raw", {**own, "method": None, "train": None}, None),
    ):
        if over:
            sweep(settings, over, folder=folder, progress=False)
        records.Record(name, settings, over or {}).save(tmp_path / f"{name}.json")
    path = tmp_path / "cost.json"
    rows = {"trained": ["trained", None], "fitted": ["fitted", None], "raw": ["raw", "mean"]}
    asked = {"rows": rows, "steps": 3, "corpus": "toy-sts", "passes": 2, "threads": 1}
    records.Record("cost", asked).save(path)
    cost.cost(path)
    found = records.read(path)
    assert list(found.results["training"]) == ["trained", "fitted"]  # nothing was trained for the third
    assert list(found.results["encoding"]) == list(rows)
    seconds = found.results["training"]["trained"]["seconds a step"]
    assert found.results["training"]["trained"]["minutes"] == pytest.approx(2 * seconds / 60, abs=0.006)
    assert all(row["sentences a second"] > 0 for row in found.results["encoding"].values())
    assert found.device.endswith("1 thread(s)")
    assert str(sys.version_info.major) in found.versions["python"]


def test_other_systems_are_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "STATUS", tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="on Linux only"):
        cost.cost(tmp_path / "cost.json")
