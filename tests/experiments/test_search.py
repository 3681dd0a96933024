"""Searches: settings are chosen by dev alone, grids grow at their ends, and what was tried is never lost."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import records
from experiments import sweep as sweeps
from experiments.__main__ import main
from experiments.encoders import encoders_of, trained_rows
from experiments.leaderboard import kept_evaluation
from experiments.notes import Notes
from experiments.records import RunRecord, SearchRecord
from experiments.results import DevScore, Measured, RunResults, SearchResults, Training, Trial
from experiments.runs import dev_of
from experiments.search import Hunt, beyond, search
from experiments.settings_rows import RowSettings, TestSettings
from experiments.sweep import runs_of
from filelock import FileLock

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate


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
    finalists = sorted(short, key=Trial.rank, reverse=True)[:2]
    assert [trial.values for trial in full[:2]] == [trial.values for trial in finalists]
    assert results.chosen == max(full, key=Trial.rank).values
    runs = runs_of(path)
    assert [run.settings.seed for run in runs] == [0, 1]
    for run in runs:
        assert run.provenance
        assert run.provenance.command == f"python -m experiments run results/sweeps/{run.name.split('/')[-1]}.json"
        assert run.settings.dropout == results.chosen["dropout"]
        assert (run.settings.train or {})["learning_rate"] == results.chosen["train.learning_rate"]
        assert run.results
        assert run.results.training
        curve = [point.score for point in run.results.training.dev]
        assert run.results.last  # the last step, too, beside the one that dev chose
        assert run.results.last.own["toy-sts-dev"] == pytest.approx(curve[-1], abs=0.006)
        assert run.results.after
        assert run.results.after.own["toy-sts-dev"] == pytest.approx(max(curve), abs=0.006)
    assert [Path(own["source"]).is_dir() for own in encoders_of(RowSettings(record="toy/simcse"), path)] == [True, True]


def test_a_sweep_takes_what_a_search_has_chosen(path: Path) -> None:
    run = json.loads(path.read_text())["settings"]["run"]
    own = path.with_name("rates.json")
    asked = {"run": run, "over": {"dropout": [0.3, 0.4], "train.seed": [0, 1]}, "chosen_by": "toy/simcse"}
    own.write_text(json.dumps({"kind": "sweep", "settings": asked}))
    for early in (sweeps.run_sweep, runs_of):
        with pytest.raises(ValueError, match=r"rates.json waits for the search toy.simcse: python -m sentlab search"):
            early(own)
    found = search(path).results
    assert found
    assert found.chosen
    ran = sweeps.run_sweep(own)
    for record in ran:
        assert (record.settings.train or {})["learning_rate"] == found.chosen["train.learning_rate"]
    assert [record.settings.dropout for record in runs_of(own)] == [0.3, 0.3, 0.4, 0.4]
    some = RowSettings(record="toy/rates", where={"dropout": 0.4})
    assert [Path(one["source"]).parent.name for one in encoders_of(some, own)] == [
        record.name.split("/")[-1] for record in ran[2:]
    ]
    rows = {"0.3": RowSettings(record="toy/rates", where={"dropout": 0.3}), "0.4": some}
    assert len(set(trained_rows(rows, own).values())) == 2  # their seeds are no pairs
    with pytest.raises(ValueError, match=r"no run of toy/rates has dropout=0.5"):
        encoders_of(RowSettings(record="toy/rates", where={"dropout": 0.5}), own)
    with pytest.raises(ValueError, match="kind search, and `where` is for sweeps"):
        encoders_of(RowSettings(record="toy/simcse", where={"dropout": 0.3}), own)


def test_an_encoder_is_compared_by_what_it_gave_each_item_once_it_is_gone(path: Path) -> None:
    search(path)
    row, test, corpus = RowSettings(record="toy/simcse"), TestSettings(corpus="toy-sts"), data.load("toy-sts", "test")
    first, second = encoders_of(row, path)
    before = kept_evaluation(first, "mean", test, corpus, 16)
    encoder = Encoder.from_pretrained(first["source"], pooling="mean", max_length=16)
    drawn = np.random.default_rng(0).integers(len(corpus), size=len(corpus))
    assert before.score(drawn) == pytest.approx(evaluate(encoder, corpus).score(drawn))
    for source in (second, first):
        kept_evaluation(source, "mean", test, corpus, 16)
        shutil.rmtree(source["source"])
        if source is second:
            assert encoders_of(row, path, first=True) == [first]
    with pytest.raises(FileNotFoundError, match="run it again with `keep`"):
        encoders_of(row, path)
    found = [kept_evaluation(own, "mean", test, corpus, 16) for own in encoders_of(row, path, or_items=True)]
    assert found[0].items.tolist() == before.items.tolist() != found[1].items.tolist()
    with pytest.raises(FileNotFoundError, match=r"no toy-sts for cls, and the encoder is gone: .*`(.*)`") as missing:
        kept_evaluation(first, "cls", test, corpus, 16)
    (told,) = re.findall("`python -m sentlab (.*)`", str(missing.value))
    assert main(told.split()) == 0
    assert Path(first["source"]).is_dir()
    assert not Path(first["source"]).with_name(records.ITEMS).exists()  # they were of the encoder before
    again = kept_evaluation(first, "mean", test, corpus, 16)
    assert again.items.tolist() == before.items.tolist()


def test_several_dev_sets_choose_by_the_mean_of_their_scores(path: Path) -> None:
    content = json.loads(path.read_text())
    content["settings"]["run"]["dev"] = ["toy-sts", "toy-words"]
    path.write_text(json.dumps(content))
    for run in (search(path), *runs_of(path))[1:]:
        assert run.results
        assert run.results.training
        assert run.results.after
        own = run.results.after.own
        best = max(point.score for point in run.results.training.dev)
        assert (own["toy-sts-dev"] + own["toy-words-dev"]) / 2 == pytest.approx(best, abs=0.011)
        assert dev_of(run) == pytest.approx(best, abs=0.011)


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
        encoders_of(RowSettings(record="toy/simcse"), path)
    monkeypatch.setattr(sweeps, "run", lambda place, **more: (calls.append(place), run(place, **more))[1])
    record = search(path)
    assert len(calls) == len(set(calls))  # nothing is run twice
    assert record.results
    assert record.results.trials[:4] == begun.results.trials
    before = len(calls)
    search(path)
    assert len(calls) == before


def test_processes_share_the_trials_of_a_search_and_wait_for_each_others_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, order = sweeps.run, []
    alone = [trial.run for trial in search(path).results.trials if trial.steps == 2]  # type: ignore[union-attr]
    path.write_text(
        json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "results"})
    )
    shutil.rmtree(path.parents[1] / "sweeps")
    shutil.rmtree("runs/trials")
    theirs = FileLock(records.LOCKS / f"{alone[0]}.lock")  # another process does the first trial

    def watched(place: Path, **more: Any) -> Any:
        order.append(place.stem)
        if place.stem == alone[-1]:
            theirs.release()  # it was killed
        return run(place, **more)

    monkeypatch.setattr(sweeps, "run", watched)
    with theirs:
        search(path)
    assert order[:3] == [*alone[1:], alone[0]]


def test_a_process_that_shares_a_search_keeps_what_others_have_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up(monkeypatch, lambda train: train["learning_rate"])
    begun = Hunt(records.read_as(SearchRecord, path), path, again=False)
    other = Hunt(records.read_as(SearchRecord, path), path, again=False)
    first, second, third = begun.record.settings.drawn()
    mine, theirs = begun.try_out(first, 2), other.try_out(second, 2)
    results = records.read_as(SearchRecord, path).results
    assert results
    assert {trial.run for trial in results.trials} == {mine.run, theirs.run}
    search(path)
    done = path.read_text()
    begun.try_out(third, 2)
    assert path.read_text() == done


def test_a_search_whose_settings_have_changed_tries_again(path: Path) -> None:
    search(path)
    content = json.loads(path.read_text())
    content["settings"]["run"]["train"]["batch_size"] = 4
    path.write_text(json.dumps(content))
    before = {trial["run"] for trial in content["results"]["trials"]}
    after = search(path).results
    assert after
    assert {trial.run for trial in after.trials}.isdisjoint(before)
    for trial in (trial for trial in after.trials if trial.steps == 4):
        run = records.read_as(RunRecord, path.parents[1] / "sweeps" / f"{trial.run}.json")
        assert (run.settings.train or {})["batch_size"] == 4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("SimCSE", {}, {"dropout": [0.1]}), ("SimCSE", {}, {"dropout": [0.1], "train.warmup": [0.1]})),
        (("PaSeR", {"decoder_layers": 1}, {"method.arguments.m": [1.0]}), ("SimCSE", {}, {"dropout": [0.1]})),
    ],
    ids=["one setting more", "another method"],
)
def test_a_search_over_other_settings_tries_again(path: Path, before: Any, after: Any) -> None:
    for name, arguments, over in (before, after):
        content = json.loads(path.read_text())
        content["settings"] |= {"over": over, "trials": 1, "finalists": 1}
        content["settings"]["run"]["method"] = {"name": name, "arguments": arguments}
        path.write_text(json.dumps(content))
        assert not records.read(path).done
        found = search(path).results
        assert found
        assert all(trial.values.keys() == over.keys() for trial in found.trials)
        assert records.read(path).done


@pytest.mark.parametrize(
    "changed",
    [
        {"over": {"train.learning_rate": [0.001, 0.01, 0.1], "dropout": [0.05, 0.1, 0.2]}},
        {"trials": 4},
        {"finalists": 3},
        {"seeds": [0, 2]},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_finished_search_that_is_asked_for_more_is_no_longer_done(path: Path, changed: dict[str, Any]) -> None:
    search(path)
    content = json.loads(path.read_text())
    content["settings"] |= changed
    path.write_text(json.dumps(content))
    record = records.read_as(SearchRecord, path)
    assert not record.done
    assert main(["search", str(path)]) == 0
    after = records.read_as(SearchRecord, path)
    assert after.done
    assert after.results
    assert {json.dumps(trial.values) for trial in after.results.trials} >= {
        json.dumps(values) for values in record.settings.drawn()
    }
    assert [run.settings.seed for run in runs_of(path)] == record.settings.seeds


def test_a_trial_without_a_score_ranks_last_and_says_why(path: Path) -> None:
    content = json.loads(path.read_text())
    content["settings"]["over"] = {"train.learning_rate": [0.001, 1e30]}
    content["settings"] |= {"trials": 2, "finalists": 1, "steps": 3}
    path.write_text(json.dumps(content))
    results = search(path).results
    assert results
    lost = [trial for trial in results.trials if trial.failed]
    assert {trial.values["train.learning_rate"] for trial in lost} >= {1e30}
    assert [(trial.dev, trial.last) for trial in lost] == [(-100, -100)] * len(lost)
    assert results.chosen
    assert results.chosen["train.learning_rate"] < 1


def test_a_grid_grows_where_its_best_value_is_at_an_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up dev score that is best at a rate of 0.1 and at no dropout."""

    def made_up(self: Hunt, values: dict[str, Any], steps: int, *, wait: bool = True) -> Trial:
        dev = -abs(values["train.learning_rate"] - 0.1) - values["dropout"]
        run = self.record.settings.of(values, steps).run_name
        found = Trial(values=dict(values), steps=steps, dev=dev, step=0, last=dev, rising=False, seconds=1, run=run)
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


def test_a_grid_that_has_grown_stays_so_after_an_interruption(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up dev score that rises with the rate to 1, and then with less dropout, each of which takes a growth."""
    tried: list[dict[str, Any]] = []
    left = {"before": 999}

    def made_up(self: Hunt, values: dict[str, Any], steps: int, *, wait: bool = True) -> Trial:
        for trial in self.trials:
            if (trial.values, trial.steps) == (values, steps):
                return trial
        if not left["before"]:
            raise KeyboardInterrupt
        left["before"] -= 1
        dev = -abs(values["train.learning_rate"] - 1) - abs(values["dropout"] - 0.025)
        run = self.record.settings.of(values, steps).run_name
        made = Trial(values=dict(values), steps=steps, dev=dev, step=0, last=dev, rising=False, seconds=1, run=run)
        self.trials.append(made)
        self.record.results = SearchResults(trials=self.trials)
        self.record.save(self.path)
        tried.append(values | {"steps": steps})
        return self.trials[-1]

    monkeypatch.setattr(Hunt, "try_out", made_up)
    content = json.loads(path.read_text())
    content["settings"]["over"] = {"train.learning_rate": [0.01, 0.1], "dropout": [0.05, 0.1]}
    content["settings"] |= {"trials": 4, "finalists": 2}
    path.write_text(json.dumps(content))
    search(path)
    whole, kept = list(tried), path.read_text()
    assert {row["train.learning_rate"] for row in whole} > {1.0, 10.0}
    assert {row["dropout"] for row in whole} > {0.025, 0.0125}
    for before in range(6, len(whole)):  # in the growth
        path.write_text(json.dumps(content))
        tried.clear()
        left["before"] = before
        with pytest.raises(KeyboardInterrupt):
            search(path)
        left["before"] = 999
        search(path)
        assert tried == whole
        assert json.loads(path.read_text())["results"] == json.loads(kept)["results"]


def made_up(monkeypatch: pytest.MonkeyPatch, score: Callable[[dict[str, Any]], float]) -> None:
    """Let trials and runs in full have a made-up dev score."""

    def run(path: Path, **_: Any) -> None:
        record = records.read_as(RunRecord, path)
        train = record.settings.train or {}
        curve = [DevScore(step=train["steps"], score=score(train))]
        record.results = RunResults(before=Measured(scores={"cls": {}}), training=Training(dev=curve))
        record.provenance = Notes().provenance("made up", 1.0)
        record.save(path)

    monkeypatch.setattr(sweeps, "run", run)


@pytest.mark.parametrize(("name", "grid"), [("decay", [0.3, 0.6]), ("warmup", [0.2, 0.4])])
def test_a_grid_ends_where_the_settings_refuse_what_comes_next(
    name: str, grid: list[float], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up(monkeypatch, lambda train: train[name])
    content = json.loads(path.read_text())
    content["settings"] |= {"over": {f"train.{name}": grid}, "trials": 2}
    if name == "warmup":
        content["settings"]["run"]["train"]["decay"] = 0.5  # and 0.8 + 0.5 would be more than all steps
    path.write_text(json.dumps(content))
    results = search(path).results
    assert results
    assert results.chosen == {f"train.{name}": grid[1]}
    assert results.edges == [f"train.{name}"]
    assert records.read(path).done


def test_a_grid_that_was_narrowed_does_not_choose_what_it_has_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch, lambda train: -abs(train["learning_rate"] - 0.05))
    content = json.loads(path.read_text())
    for grid, chosen in (([0.01, 0.05, 0.2], 0.05), ([0.01, 0.2], 0.01)):
        content["settings"] |= {"over": {"train.learning_rate": grid}, "trials": len(grid), "finalists": len(grid)}
        path.write_text(json.dumps(content))
        assert not records.read(path).done
        results = search(path).results
        assert results
        assert results.chosen == {"train.learning_rate": chosen}
        content = json.loads(path.read_text())
        assert records.read(path).done


def test_values_that_a_grid_has_gained_count_until_the_grid_is_another(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up(monkeypatch, lambda train: train["learning_rate"])
    content = json.loads(path.read_text())
    content["settings"] |= {"over": {"train.learning_rate": [0.001, 0.003]}, "trials": 2}
    path.write_text(json.dumps(content))
    results = search(path).results
    assert results
    assert results.chosen == {"train.learning_rate": 0.081}  # 0.009, 0.027, 0.081
    assert records.read(path).done
    assert search(path).results == results
    content = json.loads(path.read_text())
    content["settings"]["over"] = {"train.learning_rate": [0.001, 0.002]}
    path.write_text(json.dumps(content))
    assert not records.read(path).done


@pytest.mark.parametrize(
    ("grid", "chosen", "grown"),
    [
        ([1e-4, 3e-4, 1e-3], 3e-4, None),
        ([1e-4, 3e-4, 1e-3], 1e-3, 3.33e-3),
        ([1e-4, 3e-4, 1e-3], 1e-4, 3.33e-5),
        ([1, 10], 10, 100),
        ([2, 3], 3, 4),  # whole numbers stay whole
        ([2, 3], 2, 1),
        ([1, 2], 1, None),
        ([0.0, 0.1], 0.1, 0.2),
        ([0.0, 0.1], 0.0, None),
        (["a", "b"], "a", None),
        ([False, True], True, None),
    ],
)
def test_the_next_value_is_beyond_the_end_by_the_ratio_there(grid: list[Any], chosen: Any, grown: Any) -> None:
    found = beyond({"x": grid}, {"x": grid}, {"x": chosen})
    assert (found and found[1]) == grown


def test_of_trials_that_all_keep_step_0_the_least_harmed_goes_on() -> None:
    far, near = (
        Trial(values={"rate": rate}, steps=500, dev=50.4, step=0, last=last, rising=False, seconds=1.0, run="x")
        for rate, last in ((1e-3, 16.6), (3e-5, 42.7))
    )
    better = near.model_copy(update={"dev": 50.5, "last": 10.0})
    assert sorted([far, near, better], key=Trial.rank, reverse=True) == [better, near, far]


def test_a_decoder_grows_to_twelve_layers_at_most() -> None:
    grid = {"method.arguments.decoder_layers": [2, 6]}
    assert beyond(grid, grid, {"method.arguments.decoder_layers": 6}) is None


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
        ({"run.train.keep": "last"}, "run.train.keep must be"),
        ({"over": {"train.keep": ["dev", "last"]}}, "run.train.keep must be"),
        ({"run.method": None}, "run.method is missing"),
        ({"over": {"method": [{"name": "SimCSE", "arguments": {}}, None]}}, "run.method is missing"),
    ],
)
def test_a_search_that_cannot_be_is_refused_when_it_is_read(path: Path, changed: dict[str, Any], says: str) -> None:
    content = json.loads(path.read_text())
    for name, value in changed.items():
        *parents, last = name.split(".")
        reduce(dict.__getitem__, parents, content["settings"])[last] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=says):
        records.read(path)
