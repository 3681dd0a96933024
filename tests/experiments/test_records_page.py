"""The list of all records."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import plan, records, records_page
from experiments.notes import Notes
from experiments.records import RunRecord
from experiments.results import Training

Save = Callable[..., None]


@pytest.fixture
def place(results: Path, save: Save, seeds: Save) -> Path:
    """A run, two sweeps that share a run, and a run that waits; all finished ones with a provenance."""
    save("raw/one", 40.0)
    seeds("paser/seeds", 50.0, 52.0)
    save("paser/rates", 50.0, 55.0, over={"train.learning_rate": [0.001, 0.1]})
    save("paper-scale/big", None)
    for path in results.rglob("*.json"):
        record = records.read(path)
        if isinstance(record, RunRecord) and record.results:
            trained = record.results.model_copy(update={"training": Training(kept_step=0)})
            noted = Notes().provenance("python -m experiments run", 60.0)
            record.model_copy(update={"results": trained, "provenance": noted}).save(path)
    return results


def test_a_training_may_leave_its_length_to_the_default(results: Path, save: Save) -> None:
    save("short", 50.0)
    path = results / "short.json"
    record = records.read_as(RunRecord, path)
    trained = record.settings.model_copy(update={"train": {"learning_rate": 0.001}})
    noted = Notes().provenance("python -m experiments run", 60.0)
    record.model_copy(update={"settings": trained, "provenance": noted}).save(path)
    assert "epochs: 1.0 × 64" in records_page.listing(plan.entries(results), results)


def test_every_record_and_run_has_one_anchor(place: Path) -> None:
    page = records_page.listing(plan.entries(place), place)
    ids = re.findall(r'id="record-([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {"raw/one", "paser/seeds", "paser/rates", "paper-scale/big"} <= set(ids)
    assert len(ids) == 7  # the two sweeps have three runs
    assert page.count("<li") == 4
    assert all((place / link).is_file() for link in re.findall(r'href="results/([^"]+)"', page))


def test_rows_say_what_was_found(place: Path) -> None:
    page = records_page.listing(plan.entries(place), place)
    rows = dict(re.findall(r"id=\"record-([^\"]+)\"><tr>(.*?)</tr>", page))
    assert "51.0 ± 1.4<br>average" in rows["paser/seeds"]
    assert "seed 0, 1" in rows["paser/seeds"]
    assert "50.0 to 55.0<br>average" in rows["paser/rates"]
    assert "over learning_rate" in rows["paser/rates"]
    assert "step 0" in rows["raw/one"]
    assert "NOT RUN" in rows["paper-scale/big"]
    assert ">learning_rate=0.1</a>: dev -55.0 (step 0), average 55.0, 1 min" in page
    heads = re.findall(r"<th colspan='5'>([^<]+)", page)
    assert heads == ["PaSeR", "At the papers&#x27; scale"]


def test_runs_count_once(place: Path) -> None:
    made = records_page.machines(plan.entries(place))
    assert made["runs"].tolist() == [4, 4]  # one device, and all
    assert made["hours"].tolist() == [pytest.approx(4 / 60)] * 2


def test_kinds_are_counted(place: Path) -> None:
    kinds = records_page.kinds(plan.entries(place))
    assert kinds.loc["run", ["records", "with results"]].tolist() == [2, 1]
    assert kinds.loc["sweep", ["records", "with results", "runs"]].tolist() == [2, 2, 3]
    assert set(kinds.index) == set(records.KINDS)


def test_a_search_is_listed_before_and_after_its_runs(place: Path) -> None:
    sweep = records.read_as(records.SweepRecord, place / "paser/seeds.json")
    run = sweep.settings.run.model_dump(mode="json", exclude_unset=True)
    run["train"] = {name: value for name, value in run["train"].items() if name != "seed"}
    run["train"] |= {"steps": 10, "keep": "dev"}
    asked = {"run": run, "over": {"train.learning_rate": [0.1]}, "trials": 1, "steps": 5, "finalists": 1}
    record = records.SearchRecord(settings=asked | {"seeds": [3, 4]})  # type: ignore[arg-type]
    record.save(place / "paser/searched.json")
    page = records_page.listing(plan.entries(place), place)
    row = dict(re.findall(r"id=\"record-([^\"]+)\"><tr>(.*?)</tr>", page))["paser/searched"]
    assert "seed 3, 4" in row
    assert "no results yet" in row


def test_a_begun_sweep_says_how_many_of_its_runs_are_done(place: Path) -> None:
    first = records.read_as(records.SweepRecord, place / "paser/rates.json").settings.runs()[0]
    (place / "sweeps" / f"{first.run_name}.json").unlink()
    (entry,) = (entry for entry in plan.entries(place) if entry.name == "paser/rates")
    assert entry.state == "begun"
    page = records_page.listing([entry], place)
    assert "<summary>1 of 2 runs</summary>" in page
    assert "55.0<br>average" in page
