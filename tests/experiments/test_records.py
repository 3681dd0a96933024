"""Records: what a file may hold, how it is named and found, and errors that name file and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from experiments import plan, records, sweep, tables
from experiments.notes import Notes
from experiments.results import Measured, Provenance, RunResults
from experiments.results_rows import WilliamsResults
from experiments.settings import RunSettings

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / records.FOLDER


def settings(**changes: Any) -> dict[str, Any]:
    return {
        "encoder": {"source": "tiny", "pooling": "cls", "max_length": 32},
        "method": {"name": "PaSeR", "arguments": {"decoder_layers": 1}},
        "data": {"corpus": "toy-sentences"},
        "train": {"steps": 6, "batch_size": 8},
        "dev": "toy-sts",
        "test": [],
        **changes,
    }


def write(folder: Path, name: str, own: dict[str, Any], kind: str = "run", **more: Any) -> Path:
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"kind": kind, "settings": own, **more}))
    return path


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"threds": 1}, "settings.threds: is unknown"),
        ({"dev": None}, "settings.dev: Input should be a valid string"),
        ({"threads": "1"}, "settings.threads: Input should be a valid integer"),
        ({"threads": 0}, "settings.threads: .*greater than 0"),
        (
            {"encoder": {"source": "tiny"}},
            "settings.encoder.pooling: is missing; settings.encoder.max_length: is missing",
        ),
        ({"method": {"name": "PaSer"}}, "settings.method: there is no method 'PaSer'; choose one of .*PaSeR"),
        ({"method": {"name": "PaSeR", "arguments": {"layers": 1}}}, "PaSeR takes no layers, only decoder_layers"),
        ({"method": {"name": "PaSeR", "arguments": {"view": ["shuffle"]}}}, "no view 'shuffle'"),
        ({"method": {"name": "PaSeR", "arguments": {"view": ["Random"]}}}, "no view 'Random'"),
        ({"method": {"name": "PaSeR", "arguments": {"view": "random_crop"}}}, "view is a list of names"),
        (
            {"method": {"name": "PaSeR", "arguments": {"view": [{"name": "random_crop", "rate": "0.4"}]}}},
            "a view is a name, or",
        ),
        ({"train": {"stpes": 1}}, "settings.train: stpes unknown; a TrainConfig has steps"),
        ({"train": {"steps": "6"}}, "settings.train: steps: Input should be a valid integer"),
        ({"train": {"steps": 0}}, "settings.train: .*steps must be"),
        ({"train": None}, "PaSeR is trained, so train is needed"),
        ({"method": {"name": "Whitening"}}, "Whitening is fitted, so train must be null"),
        ({"data": None}, "data is missing"),
        ({"data": "toy-sentences"}, "settings.data: "),
        ({"data": 3}, "settings.data: "),
        ({"data": {"corpus": "wiki1m", "splt": "dev"}}, "settings.data.splt: is unknown"),
        ({"data": {"nli": {"corpus": "nli"}}}, "one corpus for every other method"),
        ({"setups": ["spans 5"]}, "settings.setups.0: "),
        ({"reconstruct": ["stsb"], "method": {"name": "SimCSE"}}, "reconstruct needs PaSeR's decoder"),
        ({"examples": ["paser 6"]}, "settings.examples.0: "),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_file_and_key(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    write(tmp_path, "right", settings())
    assert records.read(tmp_path / "right.json").settings.method.name == "PaSeR"
    with pytest.raises(ValueError, match=rf"wrong\.json: .*{says}"):
        records.read(write(tmp_path, "wrong", settings(**changes)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "kind must be one of run, sweep"),
        ('{"settings": {}}', "kind must be one of run, sweep"),
        ('{"kind": "runs", "settings": {}}', "kind must be one of run, sweep"),
        ('{"kind": "run"}', "settings: is missing"),
        ('{"kind": "run", "settings": {}, "scores": 1}', "scores: is unknown"),
        ('{"kind": "run", "settings": {}, "name": "a"}', "name: is unknown"),
    ],
)
def test_a_file_that_is_no_record_is_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text(text)
    with pytest.raises(ValueError, match=rf"wrong\.json.*{says}"):
        records.read(tmp_path / "wrong.json")


def test_wrong_results_are_refused_too(tmp_path: Path) -> None:
    results = {"before": {"scores": {"cls": {"stsb": "50"}}}}
    with pytest.raises(ValueError, match=r"a\.json: results\.before\.scores\.cls\.stsb"):
        records.read(write(tmp_path, "a", settings(), results=results))


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = write(tmp_path / "results", "paser/one", settings(method={"name": "PaSeR", "arguments": {"m": 10.0}}))
    before = json.loads(path.read_text())
    record = records.read_as(records.RunRecord, path)
    assert (record.name, record.done, record.kind) == ("paser/one", False, "run")
    record.save(path)
    assert json.loads(path.read_text()) == before  # no default was added, and no name
    record.results = RunResults(before=Measured(scores={"cls": {"stsb": 50.12, "sick": 7}}))
    record.provenance = Provenance(command="c", device="d", versions={"torch": "2"}, date="2026-01-01", seconds=60)
    record.save(path)
    again = records.read_as(records.RunRecord, path)
    assert again == record
    assert again.results
    assert again.results.final.own == {"stsb": 50.12, "sick": 7}
    assert again.provenance_line() == "paser/one: c; d; torch 2; 2026-01-01; 1.0 min"
    assert again.provenance
    gone = again.provenance.model_copy(update={"command": "python -m sentlab.run book/results/paser-one.json"})
    older = again.model_copy(update={"provenance": gone})
    assert older.provenance_line().startswith("paser/one: python -m experiments run book/results/paser/one.json; d;")
    with pytest.raises(KeyError, match="nothing was trained"):
        again.results.at("after")
    with pytest.raises(KeyError, match="last step was not measured"):
        again.results.at("last")
    last = Measured(scores={"cls": {"stsb": 1.0}})
    assert again.results.model_copy(update={"last": last}).at("last") is last


def test_names_are_paths_below_the_results(tmp_path: Path) -> None:
    root = tmp_path / "results"
    path = write(root, "paser/depth", settings())
    assert records.name_of(path) == "paser/depth"
    assert records.path_of("raw/tiny", path) == root / "raw" / "tiny.json"
    assert records.get("paser/depth", root).name == "paser/depth"
    alone = write(tmp_path / "mine", "try", settings())
    assert records.name_of(alone) == "try"


def test_only_finished_records_load(tmp_path: Path) -> None:
    done = {"before": {"scores": {"cls": {"stsb": 1.0}}}}
    for name in ("a/seed0", "a/seed1", "b", "sweeps/SimCSE-0"):
        write(tmp_path, name, settings(), results=done)
    write(tmp_path, "a/waiting", settings())
    assert [record.name for record in records.load("*", tmp_path)] == ["seed0", "seed1", "b"]
    assert len(records.load("a/seed?", tmp_path)) == 2
    (tmp_path / "a" / ".seed0.json.0123abcd.new").mkdir()  # another process writes it
    (tmp_path / "a" / ".seed0.json.0123abcd.new" / "seed0.json").write_text('{"kind": "ru')
    assert len(records.load("*", tmp_path)) == 3
    with pytest.raises(FileNotFoundError, match="no finished record 'a/waiting'"):
        records.load("a/waiting", tmp_path)
    with pytest.raises(ValueError, match="of the kind run: python -m experiments run"):
        records.read_as(records.SweepRecord, tmp_path / "b.json")


def recorded() -> list[Path]:
    kept = BOOK / "sweeps"  # the runs, and in folders of their own the encoders that they keep, which are no records
    return [path for path in sorted(BOOK.rglob("*.json")) if path.parent == kept or kept not in path.parents]


def test_all_recorded_files_are_read_and_written_without_a_change(tmp_path: Path) -> None:
    paths = recorded()
    assert len(paths) > 250
    for path in paths:
        records.read(path).save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_text() == path.read_text(), path


def test_a_table_of_williams_is_found_by_set_up_and_longest_span() -> None:
    results = records.get("slice/williams", BOOK).results
    assert isinstance(results, WilliamsResults)
    assert {"bm25", "raw/context words", "tiny-context/span-batch"} <= set(results.table("full").index)
    short, long = (results.table("spans", size).loc["tiny-context/span-batch", "found"] for size in (5, 35))
    assert short < long
    with pytest.raises(KeyError, match="no table of spans with spans of up to 7 words"):
        results.table("spans", 7)


def test_numbers_of_different_origin_stand_in_blocks() -> None:
    rows = [{"a": score, "b": 7.0} for score in (60.0, 62.0, 67.0)]
    assert tables.shown(rows).to_dict() == {"a": "63.0 ± 3.6", "b": "7.0"}  # the sample deviation, 13 ** 0.5
    assert tables.shown(rows[:1])["a"] == "60.0"
    paper = pd.DataFrame({"a": [1.25, 2.0], "b": [3.0, 4.0]}, index=["x", "y"])
    page = tables.side_by_side(
        {"the paper": paper, "here": pd.DataFrame({"a": {"y": "5.0 ± 0.1"}})}, "scores"
    ).to_html()
    for cell in ("1.2", "4.0", "5.0 ± 0.1", "–", "the paper", "scores"):
        assert f">{cell}<" in page, cell
    assert page.count(".col2") == 1  # the line between the blocks


def test_recorded_numbers_link_to_their_record() -> None:
    link = tables.linked("< 0.001", "a&b")
    assert link.startswith('<a class="sentlab-record" href="records.ipynb#record-a&amp;b"')
    assert 'title="record a&amp;b"' in link
    assert link.endswith(">&lt; 0.001</a>")

    rows = [{"stsb": score} for score in (60.0, 62.0, 67.0)]
    own = RunSettings.model_validate(settings())
    runs = [records.RunRecord(settings=own, name=f"sweeps/MoCo-{seed}", sweep="moco") for seed in range(3)]
    assert tables.shown(rows, runs)["stsb"] == tables.linked("63.0 ± 3.6", "moco")
    assert tables.shown(rows[:1], runs[:1])["stsb"] == tables.linked("60.0", "sweeps/MoCo-0")
    parts = {"recorded": tables.shown(rows, runs), "here": pd.Series({"stsb": 1.0})}
    page = tables.side_by_side({name: part.to_frame("score") for name, part in parts.items()}, "scores")
    assert f">{tables.linked('63.0 ± 3.6', 'moco')}<" in page.to_html()
    assert ">1.0<" in page.to_html()


def test_numbers_of_several_runs_link_to_what_is_a_file() -> None:
    whole = [entry for entry in plan.entries(BOOK) if entry.record.kind == "sweep" and entry.state == "done"]
    assert len(whole) > 10
    for entry in whole:
        runs = sweep.runs_of(entry.path)
        assert (BOOK / f"{runs[0].name}.json").is_file()
        assert tables.origin(runs[:1]) == runs[0].name
        assert len(runs) == 1 or tables.origin(runs) == entry.name
    assert tables.origin(records.load("paser/seed?", BOOK)) == "paser/seed0"


def test_a_record_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "wide.json").write_bytes('{"kind": "run"}'.encode("utf-16"))
    with pytest.raises(ValueError, match=r"wide\.json is damaged or cut off: .*utf-8"):
        records.read(tmp_path / "wide.json")


def test_a_run_on_the_cpu_does_not_name_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    notes = Notes()
    assert notes.provenance("c", 1.0).device == "a GPU"
    assert notes.provenance("c", 1.0, on=torch.device("cuda")).device == "a GPU"
    assert notes.provenance("c", 1.0, on="cpu").device.startswith("CPU ")


def test_the_command_of_every_record_names_a_file_that_exists() -> None:
    for path in recorded():
        record = records.read(path)
        if getattr(record, "provenance", None) is None:
            continue
        words = record.source.command.split()
        if words[:3] == ["python", "-m", "sentlab"]:  # the first round's commands name a module that is gone
            files = [word for word in words if word.endswith(".json")]
            missing = [file for file in files if not (BOOK.parents[1] / file).exists()]
            assert not missing, (path, missing)
