"""Runs of records, their scores and tables of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import records, runs, tables
from experiments.run import Measured, RunResults

Save = Callable[..., None]


@pytest.fixture(autouse=True)
def found_here(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FOLDER", results)


def test_runs_are_those_of_a_record_or_of_a_sweep(save: Save, seeds: Save) -> None:
    save("raw/one", 40.0)
    seeds("some/seeds", 50.0, 52.0)
    assert [run.name for run in runs.runs("raw/one")] == ["raw/one"]
    assert [run.settings.train["seed"] for run in runs.runs("some/seeds")] == [0, 1]
    (second,) = runs.runs("some/seeds", where={"train.seed": 1})
    assert second.settings.train["seed"] == 1
    save("raw/begun", None)
    with pytest.raises(records.NotRun):
        runs.runs("raw/begun")


def test_scores_are_those_of_a_pooling_and_of_a_time(save: Save) -> None:
    save("one", 40.0)
    (run,) = runs.runs("one")
    assert runs.scores(run)["average"] == 40.0
    assert runs.scores(run, "mean")["average"] == 50.0
    assert runs.scores(run, when="before") == {"average": 1.0}
    untrained = run.model_copy(update={"results": RunResults(before=run.results.before)})
    assert runs.scores(untrained) == {"average": 1.0}


def test_averages_are_there_where_all_their_tasks_are(save: Save) -> None:
    save("one", 40.0)
    (run,) = runs.runs("one")
    words = dict(zip(runs.AVERAGES["words"], (1.0, 2.0, 3.0, 4.0, 6.0), strict=True))
    run = run.model_copy(update={"results": RunResults(before=Measured(scores={"cls": words}))})
    assert runs.scores(run) == words | {"words": 3.2, "four word sets": 3.0}


def test_dev_chooses_a_run(save: Save) -> None:
    save("rates", 41.0, 40.0, 42.0, over={"train.learning_rate": [0.1, 0.2, 0.3]})
    assert runs.best_on_dev("rates").settings.train["learning_rate"] == 0.2  # whose average is the lowest


def test_a_table_of_records_has_means_with_links(save: Save, seeds: Save) -> None:
    save("one", 40.0)
    seeds("seeds", 50.0, 52.0)
    rows = {"before": (runs.runs("one"), None, "before"), "seeds": (runs.runs("seeds"), None)}
    assert runs.recorded(rows, ["average"])["average"].tolist() == [
        tables.linked("1.0", "one"), tables.linked("51.0 ± 1.4", "seeds"),
    ]  # fmt: skip


def test_a_dev_curve_begins_before_training(save: Save) -> None:
    save("one", 40.0)
    (run,) = runs.runs("one")
    assert runs.dev_curve(run) == []
    (dev,) = run.settings.devs
    before = Measured(scores={"cls": {f"{dev}-dev": 49.0}})
    training = {"dev": [{"step": 10, "score": 52.0}]}
    trained = run.model_copy(update={"results": RunResults(before=before, training=training)})
    assert runs.dev_curve(trained) == [{"step": 0, "score": 49.0}, {"step": 10, "score": 52.0}]
