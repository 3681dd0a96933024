"""Sweeps and searches: settings are chosen by dev alone, and what was run is never lost, nor taken for another run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import records
from experiments import search as module
from experiments.leaderboard import RowSettings, encoders_of, there, trained_rows
from experiments.records import Notes, NotRun, read_items, write_items
from experiments.run import Measured, RunResults, RunSettings, fingerprint_now
from experiments.search import Trial, label, runs_of, search, sweep, with_values

RUN: dict[str, Any] = {
    "encoder": {"source": "tiny", "pooling": "cls", "max_length": 16}, "method": {"name": "SimCSE", "arguments": {}},
    "data": {"corpus": "toy-sentences"}, "train": {"steps": 4, "batch_size": 8, "learning_rate": 0.001, "keep": "dev"},
    "dev": "toy-sts", "test": ["toy-sts"],
}  # fmt: skip
OVER = {"train.learning_rate": [0.001, 0.01], "dropout": [0.05, 0.1, 0.2]}
SEARCH = {"run": RUN, "over": OVER, "trials": 3, "steps": 2, "finalists": 2, "seeds": [0, 1]}


class Trainer:
    """In the place of `perform`: a run's dev score is made of its settings, and every run is counted."""

    def __init__(self) -> None:
        self.done: list[RunSettings] = []
        self.weights = fingerprint_now("tiny")
        self.stop_after: int | None = None

    @staticmethod
    def score(settings: RunSettings) -> float:
        """Best at dropout 0.1 and a high rate; longer runs are better."""
        train = settings.train or {}
        dropout = settings.dropout or 0.0
        return 50 - 100 * abs(dropout - 0.1) + 100 * train["learning_rate"] + train["steps"] + 0.1 * settings.seed

    def __call__(self, settings: RunSettings, folder: Path, command: str, **_: Any) -> Any:
        if len(self.done) == self.stop_after:
            raise KeyboardInterrupt
        if settings.dropout == 0.9:
            raise FloatingPointError("the weights are no longer finite")
        self.done.append(settings)
        (folder / "encoder").mkdir(parents=True)
        steps, score = (settings.train or {})["steps"], self.score(settings)
        curve = [{"step": 0, "score": score - 1}, {"step": steps, "score": score}]
        measured = Measured(scores={"cls": {"toy-sts-dev": score}})
        results = RunResults(before=measured, after=measured, training={"dev": curve, "kept_step": steps})
        start = {"source": "tiny", "fingerprint": str(self.weights), "dim": 128}
        return results, Notes().provenance(command, 2.0, encoder=start)


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trainer:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "results")
    trainer = Trainer()
    monkeypatch.setattr(module, "perform", trainer)
    return trainer


def write(name: str, kind: str, settings: Mapping[str, Any]) -> Any:
    path = records.FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.loads(path.read_text()) if path.exists() else {"kind": kind}
    path.write_text(json.dumps(content | {"settings": settings}))
    return records.get(name)


def test_a_search_trains_the_setting_with_the_best_dev_score_with_each_seed(trainer: Trainer) -> None:
    record = search(write("toy/simcse", "search", SEARCH))
    assert records.get("toy/simcse") == record
    assert record.done
    short, full = ([trial for trial in record.results.trials if trial.steps == steps] for steps in (2, 4))
    assert len({json.dumps(trial.values) for trial in short}) == 3
    assert [trial.values for trial in full] == [t.values for t in sorted(short, key=Trial.rank, reverse=True)[:2]]
    chosen = record.results.chosen
    assert chosen == max(full, key=Trial.rank).values
    assert all((trial.step, trial.rising, trial.last) == (trial.steps, True, trial.dev) for trial in short + full)
    assert record.source.seconds == 2.0 * 6
    runs = runs_of(record)
    assert [(run.settings.seed, run.settings.dropout) for run in runs] == [(i, chosen["dropout"]) for i in (0, 1)]
    assert not any(settings.test for settings in trainer.done if settings.train["steps"] == 2)
    assert len(trainer.done) == 3 + 2 + 1  # the first seed was a trial in full
    assert [run.name for run in runs] == [f"toy/simcse/{label({**chosen, 'train.seed': seed})}" for seed in (0, 1)]
    assert not list(Path("runs").rglob("encoder"))  # nobody has asked to keep them
    (beaten,) = (trial.values for trial in full if trial.values != chosen)
    assert [run.settings.seed for run in runs_of(record, beaten)] == [0]
    record.attempt({**chosen, "train.learning_rate": 0.1}, 4)  # beyond the grid, and better
    assert (record.results.chosen, record.done) == (chosen, False)
    found = search(record).results
    assert found.chosen == {**chosen, "train.learning_rate": 0.1}
    assert "train.learning_rate" in found.edges
    more = SEARCH["over"] | {"train.batch_size": [8, 16]}  # which no trial in full has set
    assert search(write("toy/simcse", "search", {**SEARCH, "over": more, "trials": 4})).results.chosen


def test_an_interrupted_search_resumes_and_a_finished_one_is_left_alone(trainer: Trainer) -> None:
    whole = search(write("toy/one", "search", SEARCH))
    trainer.done = []
    for count in range(1, 6):
        trainer.stop_after = count
        with pytest.raises(KeyboardInterrupt):
            search(write("toy/two", "search", {**SEARCH, "run": {**RUN, "threads": 1}}))
        assert not records.get("toy/two").done
    trainer.stop_after = None
    again = search(search(records.get("toy/two")))
    assert len(trainer.done) == 6  # none was run twice
    assert [(t.values, t.dev) for t in again.results.trials] == [(t.values, t.dev) for t in whole.results.trials]
    more = write("toy/two", "search", {**SEARCH, "run": {**RUN, "threads": 1}, "seeds": [0, 1, 2]})
    assert not more.done
    assert search(more).done
    assert len(trainer.done) == 7
    trainer.stop_after = 7 + 4
    with pytest.raises(KeyboardInterrupt):
        search(more, again=True)
    trainer.stop_after = None
    search(records.get("toy/two"))
    assert len(trainer.done) == 7 + 7  # and none of the old runs is among the new ones


def test_trials_and_runs_of_other_common_settings_do_not_count(trainer: Trainer) -> None:
    search(write("toy/simcse", "search", SEARCH))
    mean = {**RUN, "encoder": {**RUN["encoder"], "pooling": "mean"}}
    changed = write("toy/simcse", "search", {**SEARCH, "run": mean})
    assert not changed.done
    trainer.done = []
    record = search(changed)
    assert len(trainer.done) == 6
    assert {run.settings.encoder.pooling for run in runs_of(record)} == {"mean"}
    assert len(record.runs) == 3  # those before are gone


def test_a_trial_that_breaks_off_ranks_last(trainer: Trainer) -> None:
    over = {"train.learning_rate": [0.001], "dropout": [0.9, 0.1]}
    record = search(write("toy/simcse", "search", {**SEARCH, "over": over}))
    assert [trial.values["dropout"] for trial in record.results.trials if trial.failed] == [0.9, 0.9]
    assert record.results.chosen == {"train.learning_rate": 0.001, "dropout": 0.1}
    assert record.results.edges == ["dropout"]


def test_a_sweep_takes_what_a_search_has_chosen(trainer: Trainer) -> None:
    over, name = [{"dropout": [0.3]}, {"dropout": [0.4]}], write("toy/simcse", "search", SEARCH).name
    both = write("toy/rates", "sweep", {"run": RUN, "over": over, "chosen_by": name})
    assert both.needs() == ["toy/simcse"]
    with pytest.raises(NotRun):
        sweep(both)
    chosen = search(records.get("toy/simcse")).results
    runs = runs_of(sweep(both))
    assert [run.settings.dropout for run in runs] == [0.3, 0.4]
    assert {(run.settings.train or {})["learning_rate"] for run in runs} == {chosen and 0.01}
    assert records.get("toy/rates").done


def test_a_run_that_two_experiments_share_is_run_once(trainer: Trainer) -> None:
    chosen = search(write("toy/simcse", "search", SEARCH)).results.chosen
    trainer.done = []
    common = with_values(RunSettings.model_validate(RUN), chosen).model_dump(exclude_unset=True)
    asked = {"run": common, "over": {"train.seed": [0, 1, 2]}}
    record = sweep(write("toy/seeds", "sweep", asked))
    assert [run.at for run in record.runs] == ["toy/simcse", "toy/simcse", None]
    assert len(trainer.done) == 1
    runs = runs_of(records.get("toy/seeds"))
    assert [run.home for run in runs] == ["toy/simcse", "toy/simcse", "toy/seeds"]
    assert {run.sweep for run in runs} == {"toy/seeds"}
    own = records.get("toy/seeds")
    (records.FOLDER / "toy/simcse.json").rename("elsewhere.json")
    assert own.finished() == runs[2:]
    assert [run.results.final.own["toy-sts-dev"] for run in runs] == [trainer.score(run.settings) for run in runs]


def test_an_interrupted_sweep_resumes_and_where_takes_some_of_its_runs(trainer: Trainer) -> None:
    over = {"dropout": [0.1, None], "train.seed": [0, 1]}
    record = write("toy/both", "sweep", {"run": RUN | {"keep": True}, "over": over})
    trainer.stop_after = 3
    with pytest.raises(KeyboardInterrupt):
        sweep(record)
    record = records.get("toy/both")
    assert (record.done, record.state) == (False, "begun")
    assert len(record.finished()) == 3
    with pytest.raises(NotRun):
        runs_of(record)
    first = RowSettings(record="toy/both", where={"dropout": 0.1})
    runs = encoders_of(first, records.FOLDER)
    assert [run.settings.seed for run in runs] == [0, 1]
    assert there(runs[1])["source"] == "runs/toy/both/dropout=0.1,seed=1/encoder"
    trainer.stop_after = None
    sweep(record)
    assert len(trainer.done) == 4
    last = RowSettings(record="toy/both", where={"dropout": None})
    assert len(set(trained_rows({"a": first, "b": last}, records.FOLDER).values())) == 2  # their seeds are no pairs
    with pytest.raises(ValueError, match="no run"):
        runs_of(records.get("toy/both"), {"train.sed": 1})
    (Path(runs[0].encoder["source"])).rmdir()
    with pytest.raises(FileNotFoundError, match="--again"):
        there(runs[0])


def test_a_run_again_drops_what_its_encoder_gave_tests(trainer: Trainer) -> None:
    record = sweep(write("toy/seeds", "sweep", {"run": RUN, "over": {"train.seed": [0, 1]}}))
    path = record.path.with_suffix(".npz")
    write_items(path, {f"seed={seed}/own": np.arange(3) for seed in (0, 1)})
    record.train({"train.seed": 0}, again=True)
    assert read_items(path, "seed=0/own") is None
    assert read_items(path, "seed=1/own") is not None


def test_a_run_that_began_with_other_weights_is_refused(trainer: Trainer) -> None:
    sweep(write("toy/seeds", "sweep", {"run": RUN, "over": {"train.seed": [0]}}))
    trainer.weights = "0" * 16
    with pytest.raises(ValueError, match="other weights of tiny"):
        sweep(write("toy/more", "sweep", {"run": RUN, "over": {"train.seed": [1]}}))
    with pytest.raises(ValueError, match="other weights of tiny"):
        encoders_of(RowSettings(record="toy/more"), records.FOLDER)


def test_searches_that_would_mislead_are_refused(trainer: Trainer) -> None:
    last = {**RUN, "train": {**RUN["train"], "keep": "last"}}
    for wrong in ({"seeds": [0, 0]}, {"over": {"dropout": [0.1, 0.1]}}, {"over": {"dropout": []}}, {"run": last}):
        with pytest.raises(ValueError, match=r"toy\.json"):
            write("toy", "search", {**SEARCH, **wrong})
    twice = [{"train.seed": [0]}, {"method.arguments.seed": [0]}]
    with pytest.raises(ValueError, match="one name"):
        sweep(write("toy/twice", "sweep", {"run": RUN, "over": twice}))
