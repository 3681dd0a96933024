"""What rows cost: only what no noise of the machine changes is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import cost, records

on_linux = pytest.mark.skipif(not cost.STATUS.exists(), reason="memory is measured on Linux only")


def write(place: Path, name: str, kind: str, settings: dict[str, Any]) -> Any:
    (place / f"{name}.json").write_text(json.dumps({"kind": kind, "settings": settings}))
    return records.get(name, place)


@on_linux
def test_memory_is_what_the_work_adds_at_its_peak() -> None:
    kept = np.ones(2**20)  # 8 MiB that were there before
    seconds, memory = cost._measured(lambda: np.ones(8 * 2**20).sum())
    assert kept.sum() == 2**20
    assert seconds > 0
    assert 60 < memory < 72
    _, after = cost._measured(lambda: None)
    assert after < 8  # an earlier peak is forgotten


@pytest.fixture
def settings(small_encoder_folder: Path) -> dict[str, Any]:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    return {"encoder": encoder, "data": {"corpus": "toy-sentences", "split": "dev"}, "dev": "toy-sts", "test": []}


@on_linux
@pytest.mark.slow
def test_rows_have_what_they_cost_also_before_they_are_trained(settings: dict[str, Any], tmp_path: Path) -> None:
    train = {"steps": 60_000, "batch_size": 8, "learning_rate": 1e-4, "eval_every": 1, "seed": 0}
    whitening = {"method": {"name": "Whitening", "arguments": {"dim": 4}}}
    write(tmp_path, "trained", "run", settings | {"method": {"name": "SimCSE"}, "train": train})
    write(tmp_path, "fitted", "sweep", {"run": settings | whitening, "over": {"method.arguments.dim": [4]}})
    write(tmp_path, "raw", "run", settings)
    rows = {"trained": {"record": "trained"}, "fitted": {"record": "fitted"}}
    rows["raw"] = {"record": "raw", "pooling": "mean"}
    asked = {"rows": rows, "steps": 3, "corpus": "toy-sts", "passes": 2, "threads": 1}
    made = cost.cost(write(tmp_path, "cost", "cost", asked))
    found = records.get("cost", tmp_path).results
    assert found == made.results
    assert list(found["training"]) == ["trained", "fitted"]  # nothing was trained for the third
    assert list(found["encoding"]) == list(rows)
    seconds = found["training"]["trained"]["seconds_a_step"]
    assert found["training"]["trained"]["minutes"] == pytest.approx(1000 * seconds, rel=0.01)
    assert "seconds_a_step" not in found["training"]["fitted"]
    assert all(row["sentences_a_second"] > 0 for row in found["encoding"].values())
