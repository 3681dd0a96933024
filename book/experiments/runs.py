"""The runs behind a record and their scores: what every table of a chapter and every claim begins with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from sentlab.data.catalog import YEARS
from sentlab.evaluation.sts import Geometry

from experiments import records, tables
from experiments.records import NotRun
from experiments.run import RunRecord
from experiments.search import runs_of

# averages that papers report -> their tasks; `sentences` and `words` are those of Universal's tables
AVERAGES = {
    "sts12-16": list(YEARS),
    "sentences": [*YEARS, "stsb head", "sick head"],
    "words": ["simlex", "ws353-sim", "ws353-rel", "men", "scws"],
    "four word sets": ["simlex", "ws353-sim", "ws353-rel", "scws"],  # without MEN, half of which is a dev set
}


def runs(name: str, where: Mapping[str, Any] | None = None) -> list[RunRecord]:
    """Read the finished runs behind a record, as `search.runs_of` does; with `where` others need not be finished."""
    every = runs_of(records.get(name), where)
    if waiting := [run.name for run in every if not run.done]:
        raise NotRun(f"{', '.join(waiting)} has no results yet")
    return every


def best_on_dev(name: str) -> RunRecord:
    """Read the run of a sweep that its dev set prefers."""
    return max(runs(name), key=dev_of)


def dev_of(run: RunRecord) -> float:
    """Return the dev score of a run, the mean of its dev sets where it has several."""
    measured = scores(run)
    return sum(measured.get(f"{name}-dev", math.nan) for name in run.settings.devs) / len(run.settings.devs)


def scores(run: RunRecord, pooling: str | None = None, when: str | None = None) -> dict[str, float]:
    """Return the scores of a run, Spearman x 100 where the task does not say otherwise.

    `pooling`: None is the encoder's own. `when`: `before` or `after` training, or its `last` step where dev chose
    another; None is after it. Returns task -> score, and those of `AVERAGES` whose tasks are all there.
    """
    measured = getattr(run.results, when) if when else run.results.final
    by_task = measured.scores[pooling] if pooling else measured.own
    complete = {name: tasks for name, tasks in AVERAGES.items() if all(task in by_task for task in tasks)}
    averages = {name: sum(by_task[task] for task in tasks) / len(tasks) for name, tasks in complete.items()}
    return {**by_task, **averages}


def values(several: str | Sequence[RunRecord], score: str = "average") -> pd.Series:
    """Return one score, a key of `scores`, of some runs or a record's, as a Series named like the record to link to."""
    several = runs(several) if isinstance(several, str) else several
    return pd.Series([scores(run)[score] for run in several], name=tables.origin(several))


def dev_curve(run: RunRecord) -> list[dict[str, float]]:
    """Return the dev scores along a run's training, as rows with `step` and `score` (`plots.training_curves`).

    The first row is the score before training, at step 0.
    """
    training = run.results.training
    rows = list(training["dev"]) if training else []
    if not rows or rows[0]["step"] == 0:
        return rows
    start = [run.results.before.own[f"{name}-dev"] for name in run.settings.devs]
    return [{"step": 0, "score": sum(start) / len(start)}, *rows]


def geometry_of(run: RunRecord, pooling: str | None = None) -> Geometry:
    """Return how a run's vectors lie on the test pairs of its corpus, after training if it trained."""
    by_pooling = run.results.final.geometry or run.results.before.geometry
    measured = by_pooling[pooling or next(iter(by_pooling))]
    length, *rows = measured["counts"]
    known = [(int(first), [int(count) for count in counts.split()]) for first, counts in (r.split(": ") for r in rows)]
    full = [[0] * first + row + [0] * (int(length) - first - len(row)) for first, row in known]
    return Geometry(**{name: value for name, value in measured.items() if name != "corpus"} | {"counts": full})


def recorded(rows: Mapping[str, tuple[Any, ...]], columns: Sequence[str]) -> pd.DataFrame:
    """Return a table of recorded scores: the mean over seeds, with ± its standard deviation, as a link to its record.

    `rows`: name -> runs, a pooling or None, and `before`, `after` or `last` if need be. `columns`: keys of `scores`.
    """
    means = {name: tables.shown([scores(run, *how) for run in seeds], seeds) for name, (seeds, *how) in rows.items()}
    return pd.DataFrame(means).T[list(columns)]
