"""Runs of records, their scores and tables of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import records, runs, tables
from experiments.run import DevScore, GeometryResult, Measured, RunRecord, RunResults, RunSettings, Training

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
    with pytest.raises(ValueError, match="raw/begun has no results yet"):
        runs.runs("raw/begun")


def test_scores_are_those_of_a_pooling_and_of_a_time(save: Save) -> None:
    save("one", 40.0)
    (run,) = runs.runs("one")
    assert runs.scores(run)["average"] == 40.0
    assert runs.scores(run, "mean")["average"] == 50.0
    assert runs.scores(run, when="before") == {"average": 1.0}
    with pytest.raises(KeyError, match="no scores of 'max'; there is cls, mean"):
        runs.scores(run, "max")
    untrained = run.model_copy(update={"results": RunResults(before=run.results.before)})
    assert runs.scores(untrained) == {"average": 1.0}


def test_averages_are_there_where_all_their_tasks_are(save: Save) -> None:
    save("one", 40.0)
    (run,) = runs.runs("one")
    words = dict(zip(runs.AVERAGES["words"], (1.0, 2.0, 3.0, 4.0, 6.0), strict=True))
    run = run.model_copy(update={"results": RunResults(before=Measured(scores={"cls": words}))})
    assert runs.scores(run) == words | {"words": 3.2, "four word sets": 3.0}


def test_values_bear_the_name_of_their_record(save: Save, seeds: Save) -> None:
    save("one", 40.0)
    seeds("seeds", 50.0, 52.0)
    values = runs.values("seeds")
    assert (values.tolist(), values.name) == ([50.0, 52.0], "seeds")
    first = runs.values(runs.runs("one"), "toy-sts-dev")
    assert (first.tolist(), first.name) == ([-40.0], "one")


def test_dev_chooses_a_run(save: Save) -> None:
    save("rates", 41.0, 40.0, 42.0, over={"train.learning_rate": [0.1, 0.2, 0.3]})
    assert runs.best_on_dev("rates").settings.train["learning_rate"] == 0.2  # whose average is the lowest


def test_a_table_of_records_has_means_with_links(save: Save, seeds: Save) -> None:
    save("one", 40.0)
    seeds("seeds", 50.0, 52.0)
    rows = {
        "one": (runs.runs("one"), "mean"),
        "before": (runs.runs("one"), None, "before"),
        "seeds": (runs.runs("seeds"), None),
    }
    table = runs.recorded(rows, ["average"])
    assert table["average"].tolist() == [
        tables.linked("50.0", "one"),
        tables.linked("1.0", "one"),
        tables.linked("51.0 ± 1.4", "seeds"),
    ]


def test_geometry_is_that_after_training_if_there_is_one(save: Save) -> None:
    save("one", 40.0)
    (run,) = runs.runs("one")
    with pytest.raises(KeyError, match="there is none"):
        runs.geometry_of(run)
    found = {
        name: GeometryResult(corpus="c", alignment=0.1, uniformity=value, mean=[], variance=[], counts=[])
        for name, value in (("cls", -1.0), ("mean", -2.0))
    }
    before, after = (Measured(scores={"cls": {}}, geometry={name: found[name]}) for name in found)
    trained = RunRecord(settings=run.settings, results=RunResults(before=before, after=after), name="one")
    assert runs.geometry_of(trained).uniformity == -2.0
    assert isinstance(trained.settings, RunSettings)
    with pytest.raises(KeyError, match="no geometry of max; there is mean"):
        runs.geometry_of(trained, "max")
    untrained = RunRecord(settings=run.settings, results=RunResults(before=before, after=Measured(scores={"cls": {}})))
    assert runs.geometry_of(untrained).uniformity == -1.0


def test_dev_curves_are_rows_for_a_picture(save: Save) -> None:
    save("one", 40.0)
    (run,) = runs.runs("one")
    assert runs.dev_curve(run) == []
    training = Training(dev=[DevScore(step=0, score=50.0), DevScore(step=10, score=52.0)])
    trained = run.model_copy(update={"results": run.results.model_copy(update={"training": training})})
    assert runs.dev_curve(trained) == [{"step": 0, "score": 50.0}, {"step": 10, "score": 52.0}]
    (dev,) = run.settings.devs
    own = {"before": Measured(scores={"cls": {f"{dev}-dev": 49.0}}), "training": Training(dev=training.dev[1:])}
    later = run.model_copy(update={"results": run.results.model_copy(update=own)})
    assert runs.dev_curve(later) == [{"step": 0, "score": 49.0}, {"step": 10, "score": 52.0}]
