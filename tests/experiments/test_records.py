"""Records: what a file may hold, how it is named and found, and the arrays beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import records, records_page
from experiments.records import Provenance, read_items, smallest, write_items
from experiments.run import Measured, RunResults, packed
from experiments.runs import geometry_of
from experiments.search import Experiment, label, with_values

SETTINGS: dict[str, Any] = {
    "encoder": {"source": "tiny", "pooling": "cls", "max_length": 32},
    "method": {"name": "PaSeR", "arguments": {"m": 10.0}}, "data": {"corpus": "toy-sentences"},
    "train": {"steps": 6, "batch_size": 8}, "dev": "toy-sts", "test": [],
}  # fmt: skip


def write(place: Path, name: str, **changes: Any) -> None:
    path = place / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"kind": "run", "settings": SETTINGS} | changes))


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "right")
    assert records.get("right", tmp_path).settings.method.name == "PaSeR"
    for changes in (
        {"kind": "runs"},
        {"settings": SETTINGS | {"threds": 1}},
        {"settings": SETTINGS | {"threads": "1"}},
        {"settings": SETTINGS | {"train": {"stpes": 1}}},
        {"settings": SETTINGS | {"train": None}},
        {"settings": SETTINGS | {"method": {"name": "PaSer"}}},
        {"results": {"before": {"scores": {"cls": {"stsb": "50"}}}}},
    ):
        write(tmp_path, "wrong", **changes)
        with pytest.raises(ValueError, match=r"wrong\.json"):
            records.get("wrong", tmp_path)


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path, "paser/one")
    record = records.get("paser/one", tmp_path)
    assert (record.name, record.done, record.command) == ("paser/one", False, "python -m experiments run paser/one")
    before = json.loads(record.path.read_text())
    record.save()
    assert json.loads(record.path.read_text()) == before  # no default was added, and no name
    counts = [[0, 0, 3, 0, 1, 0], [0, 0, 0, 0, 0, 0]]
    geometry = {"alignment": 0.1, "uniformity": -1.0, "mean": [0.5], "variance": [0.1], "counts": packed(counts)}
    record.results = RunResults(before=Measured(scores={"cls": {"stsb": 50.12, "sick": 7}}, geometry={"cls": geometry}))
    record.provenance = Provenance(command="c", device="d", versions={"torch": "2"}, date="2026-01-01", seconds=60)
    record.save()
    again = records.get("paser/one", tmp_path)
    assert again == record
    assert geometry_of(again).counts == counts
    assert again.provenance_line() == "paser/one: python -m experiments run paser/one; d; torch 2; 2026-01-01; 1.0 min"


def test_records_that_are_being_written_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    for name in ("paper-scale/x", "a/seed0", "a/seed1", "b"):
        write(tmp_path, name)
    (tmp_path / "a" / ".seed0.json.0123abcd.new").mkdir()  # another process writes it
    (tmp_path / "a" / ".seed0.json.0123abcd.new" / "seed0.json").write_text('{"kind": "ru')
    assert [record.name for record in records.every()] == ["a/seed0", "a/seed1", "b", "paper-scale/x"]
    assert len(records.every("a/seed?")) == 2


def test_arrays_are_kept_exactly_in_few_and_equal_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {"b/ranks": np.arange(300), "a/map": rng.random(50), "a/half": np.array([0.5, np.nan]), "c": np.ones(3)}
    write_items(tmp_path / "one.npz", arrays)
    for name in ("c", "a/half", "b/ranks", "a/map"):  # another order, and one by one
        write_items(tmp_path / "two.npz", {name: arrays[name]})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    for name, array in arrays.items():
        np.testing.assert_array_equal(read_items(tmp_path / "one.npz", name), array)
    kinds = [smallest(arrays[name]).dtype for name in ("b/ranks", "a/map", "a/half")]
    assert kinds == [np.uint16, np.float64, np.float32]
    assert smallest(np.array([-1, 200])).dtype == np.int16
    write_items(tmp_path / "one.npz", {"a/new": np.ones(1)}, drop="a/")
    assert np.load(tmp_path / "one.npz").files == ["a/new", "b/ranks", "c"]
    assert read_items(tmp_path / "one.npz", "a/map") is None
    write_items(tmp_path / "one.npz", {}, drop="")
    assert not (tmp_path / "one.npz").exists()


@pytest.fixture(scope="module")
def every() -> list[Any]:
    return records.every()


def test_all_recorded_files_are_written_again_without_a_change(every: list[Any], tmp_path: Path) -> None:
    assert len(every) > 100
    for record in every:
        copy = record.model_copy(update={"folder": tmp_path})
        copy.save()
        assert copy.path.read_bytes() == record.path.read_bytes(), record.name


def test_every_recorded_run_has_the_settings_of_its_fingerprint(every: list[Any]) -> None:
    experiments = [record for record in every if isinstance(record, Experiment)]
    for record in experiments:
        for run in record.runs:
            stored = record.run_with(with_values(record.settings.run, run.values))
            assert stored is not None
            assert stored.results is not None
            assert (run.results is None) == (run.at is not None)
        made = [run.provenance.data.items() for run in record.runs if run.provenance]
        read = {(name, note["fingerprint"]) for data in made for name, note in data}
        if record.name not in ("tiny-wiki/moco", "tiny-wiki/simcse", "tiny-wiki/views"):  # the scorecard's page says so
            assert len(read) == len(dict(read)), f"{record.name}: its runs learned from different rows"
        if record.kind == "search" and record.results:
            assert record.done
            trial_of = record.settings.trial
            assert all(trial_of(one.values, one.steps).fingerprint == one.fingerprint for one in record.results.trials)
    assert sum(len(record.runs) for record in experiments) > 300


def test_items_belong_to_recorded_runs(every: list[Any]) -> None:
    experiments = [record for record in every if isinstance(record, Experiment)]
    labels = {
        (record.path.with_suffix(".npz"), f"{label(run.values)}/") for record in experiments for run in record.runs
    }
    for path in records.FOLDER.rglob("*.npz"):
        assert path.with_suffix(".json").exists()
        with np.load(path, allow_pickle=False) as arrays:
            begins = {(path, f"{name.rpartition('/')[0]}/") for name in arrays.files if "/" in name}
        assert begins <= labels


@pytest.fixture(scope="module")
def page(every: list[records.Record]) -> str:
    return records_page.listing(every)


def test_every_record_and_run_has_one_anchor_and_a_file(page: str, every: list[records.Record]) -> None:
    ids = re.findall(r'id="record-([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {name for record in every for name in (record.name, *(run.name for run in record.finished()))} == set(ids)
    assert all((records.FOLDER / link).is_file() for link in re.findall(r'href="results/([^"#]+)', page))


def test_runs_count_once(every: list[records.Record]) -> None:
    made = records_page.machines(every)
    names = {run.name for record in every for run in record.finished()}
    assert made["runs"].iloc[-1] == len(names)
    assert made["runs"].iloc[:-1].sum() == len(names)
