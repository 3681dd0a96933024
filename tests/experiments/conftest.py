"""Made-up records: runs and sweeps with the scores that a test wants."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from experiments import records
from experiments.records import RunRecord, SweepRecord
from experiments.results import Measured, RunResults
from experiments.settings import RunSettings
from experiments.settings_grids import SweepSettings

RUN: dict[str, Any] = {
    "encoder": {"source": "tiny", "pooling": "cls", "max_length": 32},
    "method": {"name": "PaSeR", "arguments": {}},
    "words": "toy",
    "data": {"corpus": "toy-sentences"},
    "train": {"steps": 2, "batch_size": 4, "learning_rate": 0.001, "seed": 0},
    "dev": "toy-sts",
    "test": [],
}
Save = Callable[..., None]


def with_score(score: float) -> RunResults:
    """Results with that average before; after, 10 more for the mean, and the same negated on dev."""
    after = {"cls": {"average": score, "toy-sts-dev": -score}, "mean": {"average": score + 10, "toy-sts-dev": -score}}
    return RunResults(before=Measured(scores={"cls": {"average": 1.0}}), after=Measured(scores=after))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """An empty folder of records."""
    return tmp_path / "results"


@pytest.fixture
def save(results: Path) -> Save:
    """Save a run (no `over`) or a sweep with these scores, one for each of its runs; None: not run yet."""

    def saved(name: str, *scores: float | None, over: dict[str, list[Any]] | None = None) -> None:
        path = results / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        if over is None:
            (score,) = scores
            found = with_score(score) if score is not None else None
            RunRecord(settings=RunSettings.model_validate(RUN), results=found).save(path)
            return
        settings = SweepSettings.model_validate({"run": RUN, "over": over})
        SweepRecord(settings=settings).save(path)
        assert len(scores) == len(list(itertools.product(*over.values())))
        for own, score in zip(settings.runs(), scores, strict=True):
            place = results / records.SWEEPS / f"{own.run_name}.json"
            place.parent.mkdir(exist_ok=True)
            RunRecord(settings=own, results=with_score(score) if score is not None else None).save(place)

    return saved


@pytest.fixture
def seeds(save: Save) -> Save:
    """Save a sweep over seeds, from a first one on."""

    def saved(name: str, *scores: float, first: int = 0) -> None:
        save(name, *scores, over={"train.seed": list(range(first, first + len(scores)))})

    return saved
