"""Searches: settings are chosen by dev alone, grids grow at their ends, and what was tried is never lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentlab import data
from sentlab.experiments import records
from sentlab.experiments import sweep as sweeps
from sentlab.experiments.encoders import encoders_of
from sentlab.experiments.results import Trial
from sentlab.experiments.search import Hunt, beyond, search
from sentlab.experiments.sweep import runs_of


@pytest.fixture
def path(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A search over rate and dropout, in a folder of results."""
    monkeypatch.chdir(tmp_path)
    load = data.load

    def first_rows(name: str, split: str) -> Any:
        corpus = load(name, split)
        return replace(corpus, rows=corpus.rows[:40])

    monkeypatch.setattr(data, "load", first_rows)
    train = {"steps": 4, "batch_size": 8, "learning_rate": 0.0, "eval_every": 2, "keep": "dev"}
    run = {
        "encoder": {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16},
        "method": {"name": "SimCSE", "arguments": {}},
        "words": "toy",
        "data": {"corpus": "toy-sentences"},
        "train": train | {"learning_rate": 0.001},
        "dev": "toy-sts",
        "test": ["toy-sts"],
        "keep": True,
        "threads": 1,
    }
    over = {"train.learning_rate": [0.001, 0.01], "dropout": [0.05, 0.1, 0.2]}
    asked = {"run": run, "over": over, "trials": 3, "steps": 2, "finalists": 2, "seeds": [0, 1]}
    path = tmp_path / "results" / "toy" / "simcse.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"kind": "search", "settings": asked}))
    return path


def test_a_search_trains_the_setting_with_the_best_dev_score_with_each_seed(path: Path) -> None:
    record = search(path)
    assert records.read(path).done
    results = record.results
    assert results
    assert results.chosen
    full = [trial for trial in results.trials if trial.steps == 4]
    short = [trial for trial in results.trials if trial.steps == 2]
    assert len(short) == 3
    assert len({json.dumps(trial.values) for trial in short}) == 3
    finalists = sorted(short, key=lambda trial: -trial.dev)[:2]
    assert [trial.values for trial in full[:2]] == [trial.values for trial in finalists]
    assert results.chosen == max(full, key=lambda trial: trial.dev).values
    runs = runs_of(path)
    assert [run.settings.seed for run in runs] == [0, 1]
    for run in runs:
        assert run.settings.dropout == results.chosen["dropout"]
        assert (run.settings.train or {})["learning_rate"] == results.chosen["train.learning_rate"]
        assert run.results
        assert run.results.training
        curve = [point.score for point in run.results.training.dev]
        assert run.results.last  # the last step, too, beside the one that dev chose
        assert run.results.last.own["toy-sts-dev"] == pytest.approx(curve[-1], abs=0.006)
        assert run.results.after
        assert run.results.after.own["toy-sts-dev"] == pytest.approx(max(curve), abs=0.006)
    assert [Path(own["source"]).is_dir() for own in encoders_of("toy/simcse", path)] == [True, True]


def test_an_interrupted_search_resumes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = sweeps.run, []

    def counted(place: Path, **more: Any) -> Any:
        if len(calls) == 4:
            raise KeyboardInterrupt
        calls.append(place)
        return run(place, **more)

    monkeypatch.setattr(sweeps, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        search(path)
    begun = records.read(path)
    assert not begun.done
    with pytest.raises(ValueError, match="python -m sentlab search"):
        runs_of(path)
    with pytest.raises(FileNotFoundError, match="python -m sentlab search"):
        encoders_of("toy/simcse", path)
    monkeypatch.setattr(sweeps, "run", lambda place, **more: (calls.append(place), run(place, **more))[1])
    record = search(path)
    assert len(calls) == len(set(calls))  # nothing is run twice
    assert record.results
    assert record.results.trials[:4] == begun.results.trials
    before = len(calls)
    search(path)
    assert len(calls) == before


def test_a_grid_grows_where_its_best_value_is_at_an_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up dev score that is best at a rate of 0.1 and at no dropout."""

    def made_up(self: Hunt, values: dict[str, Any], steps: int) -> Trial:
        dev = -abs(values["train.learning_rate"] - 0.1) - values["dropout"]
        found = Trial(values=dict(values), steps=steps, dev=dev, step=0, last=dev, rising=False, seconds=1)
        self.trials.append(found)
        return found

    monkeypatch.setattr(Hunt, "try_out", made_up)
    content = json.loads(path.read_text())
    content["settings"]["over"]["dropout"] = [0.0, 0.05]
    content["settings"]["run"]["method"]["arguments"] = {"view": ["random_deletion"]}  # learns without dropout, too
    content["settings"] |= {"trials": 9, "finalists": 4}
    path.write_text(json.dumps(content))
    results = search(path).results
    assert results
    assert results.chosen == {"train.learning_rate": 0.1, "dropout": 0.0}
    assert results.edges == ["dropout"]  # no way down from 0
    assert max(row.values["train.learning_rate"] for row in results.trials) == 1.0  # one beyond the best


@pytest.mark.parametrize(
    ("grid", "chosen", "grown"),
    [
        ([1e-4, 3e-4, 1e-3], 3e-4, None),
        ([1e-4, 3e-4, 1e-3], 1e-3, 3.33e-3),
        ([1e-4, 3e-4, 1e-3], 1e-4, 3.33e-5),
        ([1, 10], 10, 100),
        ([0.0, 0.1], 0.0, None),
        (["a", "b"], "a", None),
        ([False, True], True, None),
    ],
)
def test_the_next_value_is_beyond_the_end_by_the_ratio_there(grid: list[Any], chosen: Any, grown: Any) -> None:
    found = beyond({"x": grid}, {"x": grid}, {"x": chosen})
    assert (found and found[1]) == grown


def test_a_dropout_grows_to_a_half_at_most() -> None:
    assert beyond({"dropout": [0.1, 0.2]}, {"dropout": [0.1, 0.2]}, {"dropout": 0.2}) == ("dropout", 0.4)
    assert beyond({"dropout": [0.2, 0.4]}, {"dropout": [0.2, 0.4]}, {"dropout": 0.4}) is None


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"finalists": 9}, "9 finalists of 3 trials"),
        ({"over": {}}, "values to try"),
        ({"over": {"train.rate": [1]}}, "train.rate 1: train: rate unknown"),
        ({"seeds": []}, "seeds"),
    ],
)
def test_a_search_that_cannot_be_is_refused_when_it_is_read(path: Path, changed: dict[str, Any], says: str) -> None:
    content = json.loads(path.read_text())
    content["settings"] |= changed
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=says):
        records.read(path)
