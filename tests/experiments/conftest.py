"""Made-up records: runs and sweeps with the scores that a test wants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from experiments.records import Notes
from experiments.run import Measured, RunRecord, RunResults, RunSettings
from experiments.search import StoredRun, SweepRecord, SweepSettings, combinations, with_values

RUN: dict[str, Any] = {
    "encoder": {"source": "tiny", "pooling": "cls", "max_length": 32}, "method": {"name": "PaSeR", "arguments": {}},
    "data": {"corpus": "toy-sentences"}, "train": {"steps": 2, "batch_size": 4, "learning_rate": 0.001, "seed": 0},
    "dev": "toy-sts", "test": [],
}  # fmt: skip
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
    """Save a run (no `over`) or a sweep with these scores, one for each of its runs; None: of a run, not run yet."""

    def saved(name: str, *scores: float | None, over: dict[str, list[Any]] | None = None) -> None:
        noted = Notes().provenance("python -m experiments run", 60.0)
        if over is None:
            (score,) = scores
            settings = RunSettings.model_validate(RUN)
            record = RunRecord(settings=settings, name=name, folder=results)
            if score is not None:
                record.results, record.provenance = with_score(score), noted
            record.save()
            return
        grid = SweepSettings.model_validate({"run": RUN, "over": over})
        sweep = SweepRecord(settings=grid, name=name, folder=results)
        for values, score in zip(combinations(over), scores, strict=True):
            found: Any = {"results": with_score(score), "provenance": noted}
            fingerprint = with_values(sweep.settings.run, values).fingerprint
            sweep.runs.append(StoredRun(values=values, fingerprint=fingerprint, **found))
        sweep.save()

    return saved


@pytest.fixture
def seeds(save: Save) -> Save:
    """Save a sweep over seeds."""

    def saved(name: str, *scores: float) -> None:
        save(name, *scores, over={"train.seed": list(range(len(scores)))})

    return saved
