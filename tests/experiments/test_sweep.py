"""Sweeps: every combination once, found again by its settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from experiments import records
from experiments import run as runs
from experiments import sweep as module
from experiments.results import Measured, RunResults
from experiments.settings_grids import SearchSettings, SweepSettings
from experiments.sweep import run_sweep, runs_of, varied
from experiments.weights import fingerprint_now
from filelock import FileLock
from pydantic import ValidationError

from sentlab.encoder import Encoder
from sentlab.encoder.storage import BUNDLED

BOOK = Path(__file__).resolve().parents[2] / records.FOLDER
SETTINGS = {
    "encoder": {"source": "", "pooling": "cls", "max_length": 16},
    "method": {"name": "PaSeR", "arguments": {"decoder_layers": 1, "m": 1.0, "view": None}},
    "words": "toy",
    "data": {"corpus": "toy-sentences"},
    "train": {"steps": 2, "batch_size": 4, "learning_rate": 0.001, "seed": 0},
    "dev": "toy-sts",
    "test": [],
    "threads": 1,
}


@pytest.fixture
def settings(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    return SETTINGS | {"encoder": {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}}


def of(settings: dict[str, Any], over: dict[str, list[Any]]) -> SweepSettings:
    return SweepSettings.model_validate({"run": settings, "over": over})


def sweep(asked: SweepSettings, *, again: bool = False) -> list[records.RunRecord]:
    """Record a sweep in `results` of the working directory and run it."""
    path = Path("results/own.json")
    records.SweepRecord(settings=asked).save(path)
    return run_sweep(path, again=again)


def dev(run: records.RunRecord) -> float:
    assert run.results
    return run.results.final.own["toy-sts-dev"]


def test_every_combination_is_run_once_and_an_interrupted_sweep_goes_on(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [{"name": "synonym_replacement", "rate": 0.5}, "random_deletion"]
    asked = of(settings, {"method.arguments.decoder_layers": [1, 2], "method.arguments.view": [None, both]})
    run, calls = module.run, []

    def counted(path: Path, **more: object) -> records.Record:
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(path)
        return run(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        sweep(asked)
    monkeypatch.setattr(module, "run", lambda path, **more: (calls.append(path), run(path, **more))[1])
    found = sweep(asked)
    assert len(calls) == len(set(calls)) == 4  # what was finished is not run again
    views = "none", "synonym_replacement 0.5+random_deletion"
    every = [{"decoder_layers": layers, "view": view} for layers in (1, 2) for view in views]
    assert [varied(run.settings, [*asked.over]) for run in found] == every
    assert len(set(map(dev, found))) == 4
    assert not [path for path in (tmp_path / "results" / "sweeps").glob("PaSeR-*") if path.is_dir()]  # no checkpoints
    two = {"name": "PaSeR", "arguments": settings["method"]["arguments"] | {"decoder_layers": 2}}
    sweep(of(settings | {"method": two}, {"method.arguments.view": [None]}))
    assert len(calls) == 4  # what another sweep has run is not run again either
    sweep(of(settings | {"poolings": ["mean"]}, {"method.arguments.decoder_layers": [1]}))
    assert len(calls) == 5  # another setting: another run
    sweep(asked, again=True)
    assert len(calls) == 9


def test_processes_share_a_sweep_and_wait_for_each_others_runs_at_the_end(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, run, order = of(settings, {"train.seed": [0, 1, 2]}), module.run, []
    names = [own.run_name for own in asked.runs()]
    theirs = FileLock(records.LOCKS / f"{names[0]}.lock")  # another process does the first run

    def watched(path: Path, **more: object) -> records.Record:
        order.append(path.stem)
        if path.stem == names[2]:
            theirs.release()  # it was killed
        return run(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "run", watched)
    records.LOCKS.mkdir(parents=True)
    with theirs:
        found = sweep(asked)
    assert order == [names[1], names[2], names[0]]
    assert [record.settings.train["seed"] for record in found] == [0, 1, 2]  # type: ignore[index]


def test_a_recorded_sweep_is_read_when_all_its_runs_are_there(settings: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "results" / "paser" / "seeds.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"kind": "sweep", "settings": {"run": settings, "over": {"train.seed": [0, 1]}}}))
    with pytest.raises(ValueError, match=r"results.sweeps.PaSeR-.*python -m experiments sweep"):
        runs_of(path)
    ran = run_sweep(path)
    assert [run.results for run in runs_of(path)] == [run.results for run in ran]
    assert [(run.sweep, run.name.split("-")[0]) for run in runs_of(path)] == [("paser/seeds", "sweeps/PaSeR")] * 2
    path.write_text(json.dumps({"kind": "run", "settings": settings}))
    with pytest.raises(ValueError, match="of the kind run: python -m experiments run"):
        run_sweep(path)


@pytest.mark.parametrize(
    ("over", "says"),
    [
        ({}, "values to try"),
        ({"train.seed": []}, "values to try"),
        ({"train.seeds": [0]}, "train.seeds 0: train: seeds unknown"),
        ({"trian.seed": [0]}, "trian.seed is unknown"),
        ({"method.arguments.depth": [1]}, "PaSeR takes no depth"),
        ({"method.arguments.view": [["random_walk"]]}, "no view 'random_walk'"),
        ({"method.arguments.view": [[{"name": "random_crop", "rate": 2}]]}, "a rate in .0, 1."),
        ({"method.arguments.view": [[{"name": "srl_guided", "rate": 0.5}]]}, "srl_guided takes no rate"),
        ({"encoder.max_length": ["64"]}, "encoder.max_length: Input should be a valid integer"),
    ],
)
def test_what_cannot_vary_is_refused_when_the_file_is_read(
    over: dict[str, Any], says: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({"kind": "sweep", "settings": {"run": settings, "over": over}}))
    with pytest.raises(ValueError, match=rf"wrong\.json: .*{says}"):
        run_sweep(path)


def runs_named_by(path: Path) -> set[str]:
    """The runs that a record of the book asks for: of a search, its seeds and its trials in full."""
    record = records.read(path)
    if isinstance(record, records.SearchRecord):
        if record.results is None:
            return set()
        settings, full = record.settings, (record.settings.run.train or {})["steps"]
        trials = [trial.values for trial in record.results.trials if trial.steps == full]
        tried = {settings.full(values, settings.seeds[0]).run_name for values in trials}
        return tried | set(record.results.runs)
    assert isinstance(record, records.SweepRecord)
    named = record.settings.chosen_by
    if named is not None and not records.read(records.path_of(named, path)).done:
        return set()
    return {own.run_name for own in record.settings.runs(module.chosen_for(record, path))}


def test_every_recorded_run_began_with_the_bundled_weights_of_today() -> None:
    every = [*map(records.read, (BOOK / "sweeps").glob("*.json")), *records.load(place=BOOK)]
    began = [own for record in every if (own := record.source.encoder) and own.source in BUNDLED]
    assert {own.source for own in began} == set(BUNDLED)
    assert all(own.fingerprint == fingerprint_now(own.source) for own in began)


def test_a_run_that_began_with_other_weights_is_refused(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = {"source": "tiny", "pooling": "cls", "max_length": 16}
    own = {name: settings[name] for name in ("words", "dev", "test", "threads")} | {"encoder": encoder}
    asked = of(own, {"encoder.pooling": ["cls"]})
    (run,) = sweep(asked)
    assert run.source.encoder
    assert run.source.encoder.fingerprint == fingerprint_now("tiny")
    sweep(asked)
    monkeypatch.setattr(module, "fingerprint_now", lambda name: "0" * 16)
    with pytest.raises(ValueError, match=r"\.json began with other weights of tiny than there are now: delete it"):
        sweep(asked)


def test_a_run_is_refused_after_its_start_was_trained_again(settings: dict[str, Any], tmp_path: Path) -> None:
    start = Encoder.from_pretrained(settings["encoder"]["source"], device="cpu")
    start.save(tmp_path / "start")
    encoder = {"source": str(tmp_path / "start"), "pooling": "cls", "max_length": 16}
    own = {name: settings[name] for name in ("words", "dev", "test", "threads")} | {"encoder": encoder}
    asked = of(own, {"encoder.pooling": ["cls"]})
    sweep(asked)
    sweep(asked)
    with torch.no_grad():
        start.word_embeddings.weight.add_(0.1)
    start.save(tmp_path / "start")
    with pytest.raises(ValueError, match="began with other weights"):
        sweep(asked)
    shutil.rmtree(tmp_path / "start")
    sweep(asked)  # what is gone cannot be compared, and the record stays


def test_every_recorded_run_of_a_sweep_belongs_to_a_record() -> None:
    heads = [path for path in records.paths(BOOK) if records.read(path).kind in ("sweep", "search")]
    asked = set().union(*(runs_named_by(path) for path in heads))
    recorded = {path.stem for path in (BOOK / "sweeps").glob("*.json")}
    assert recorded
    assert recorded <= asked


@pytest.mark.parametrize(
    ("where", "seeds"),
    [
        ({"method.name": "SimCSE"}, [2, 3]),
        ({"method.arguments.temperature": 0.05}, [2, 3]),
        ({"method": {"name": "SimCSE", "arguments": {"temperature": 0.05}}}, [2, 3]),
        ({"method.name": "PaSeR", "method.arguments.decoder_layers": 1, "train.seed": 1}, [1]),
        ({"method": None}, [4, 5]),
        ({"dropout": None, "data": {"corpus": "toy-sentences", "split": "train"}}, [0, 1, 2, 3, 4, 5]),  # defaults
        ({"dropout": 2.0}, []),
    ],
)
def test_where_compares_with_what_each_run_has(
    where: dict[str, Any], seeds: list[int], settings: dict[str, Any], tmp_path: Path
) -> None:
    methods = [settings["method"], {"name": "SimCSE", "arguments": {"temperature": 0.05}}, None]
    path = tmp_path / "methods.json"
    asked = {"run": settings, "over": {"method": methods, "train.seed": [0, 1]}}
    path.write_text(json.dumps({"kind": "sweep", "settings": asked}))
    record = records.read_as(records.SweepRecord, path)
    every = record.settings.runs()
    assert [every.index(own) for own in module.runs_with(where, record, path)] == seeds
    for unknown in ("train.sede", "dropuot", "method.arguments.tau"):
        with pytest.raises(ValueError, match=rf"`where` names {unknown}, and no run of methods has"):
            module.runs_with({**where, unknown: 1}, record, path)


def test_processes_of_a_launch_wait_for_what_the_first_one_writes(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = of(settings | {"method": None}, {"encoder.pooling": ["cls"]})
    place = tmp_path / "results" / "sweeps" / f"{asked.runs()[0].run_name}.json"
    calls: list[bool] = []

    def wait() -> None:  # for the first process, which writes between the first time and the second
        if calls:
            record = records.read_as(records.RunRecord, place)
            scores = {"cls": {"toy-sts-dev": 50.0}}
            record.model_copy(update={"results": RunResults(before=Measured(scores=scores))}).save(place)
            place.with_suffix("").mkdir()
        calls.append(place.exists() and records.read(place).done)

    second = SimpleNamespace(is_main_process=False, num_processes=2, wait_for_everyone=wait)
    for program in (runs, module):
        monkeypatch.setattr(program, "Accelerator", lambda: second)
    monkeypatch.setenv("WORLD_SIZE", "2")
    (found,) = sweep(asked)
    assert calls == [False, True]
    assert dev(found) == 50.0
    assert place.with_suffix("").is_dir()  # the first process removes it


def test_results_stay_until_there_are_new_ones(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own,) = of(settings, {"train.seed": [0]}).runs()
    place = tmp_path / "sweeps"
    made = module.run_or_read(own, place)

    def failing(path: Path, **more: object) -> None:
        raise FileNotFoundError("no such corpus")

    monkeypatch.setattr(module, "run", failing)
    with pytest.raises(FileNotFoundError):
        module.run_or_read(own, place, again=True)
    assert records.read(place / f"{own.run_name}.json") == made


def test_settings_that_end_alike_keep_their_names(settings: dict[str, Any]) -> None:
    (own,) = of(settings | {"frozen_first": {"seed": 1}}, {"train.seed": [2]}).runs()
    names = ["train.seed", "encoder.max_length", "frozen_first.seed"]
    assert varied(own, names) == {"train.seed": 2, "max_length": 16, "frozen_first.seed": 1}


def test_a_value_counts_once(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"train\.seed holds 0 more than once"):
        of(settings, {"train.seed": [0, 1, 0]})
    asked = {"run": settings, "over": {"dropout": [0.0]}, "trials": 1, "steps": 1, "finalists": 1}
    with pytest.raises(ValidationError, match="more than once"):
        SearchSettings.model_validate(asked | {"seeds": [0, 0, 0]})
