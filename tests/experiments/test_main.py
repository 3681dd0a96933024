"""The command of records: one for all kinds, with one help, and errors that name file and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiments import __main__ as command
from experiments import __main__ as recorded
from experiments import records


def write(path: Path, settings: dict[str, Any], kind: str = "run", **more: Any) -> str:
    path.write_text(json.dumps({"kind": kind, "settings": settings, **more}))
    return str(path)


@pytest.fixture
def raw(small_encoder_folder: Path) -> dict[str, Any]:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    return {"encoder": encoder, "dev": "toy-sts", "test": [], "threads": 1}


def test_the_help_explains_every_setting_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    for kind, settings in recorded.SETTINGS.items():
        own = told.split(f"Settings of the kind {kind}:")[1]
        assert all(name in own for name in settings.model_fields), kind
    assert set(recorded.SETTINGS) | {"library", "speed"} == set(records.KINDS)


def test_a_record_is_run_once_and_again_when_asked(
    raw: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "raw.json", raw)
    assert command.main(["run", path]) == 0
    assert "toy-sts-dev" in capsys.readouterr().out
    written = Path(path).read_text()
    assert command.main(["run", path]) == 0
    assert capsys.readouterr().out == ""
    assert Path(path).read_text() == written
    called: list[bool] = []
    monkeypatch.setattr(recorded, "run", lambda path, again: called.append(again) or records.read(path))
    assert command.main(["run", path, "--again"]) == 0
    assert command.main(["run", "--again", path]) == 0
    assert called == [True, True]


def test_a_run_that_fails_says_so_in_one_line(
    raw: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "gone.json", raw | {"encoder": {**raw["encoder"], "source": "no/such/folder"}})
    assert command.main(["run", path]) == 1
    *_, told = capsys.readouterr().err.splitlines()
    assert told.startswith(f"{path}: error: ")
    assert "no/such/folder" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sweep", "raw.json"], "raw.json is of the kind run: python -m experiments run raw.json"),
        (["run", "typo.json"], "typo.json: settings.tets: is unknown"),
        (["run", "gone.json"], "gone.json"),
        (["run"], "name the records"),
        (["results", "raw.json"], "results takes no files"),
        (["tarin", "raw.json"], "invalid choice: 'tarin'"),
    ],
)
def test_errors_name_the_file_and_what_to_do(
    arguments: list[str],
    says: str,
    raw: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("raw.json"), raw)
    write(Path("typo.json"), raw | {"tets": []})
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_an_unfinished_sweep_is_run(
    raw: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    raw["dev"] = ["toy-sts", "toy-words"]
    path = write(tmp_path / "both.json", {"run": raw, "over": {"encoder.pooling": ["cls", "mean"]}}, "sweep")
    assert not recorded.finished(records.read(path), Path(path))
    assert command.main(["sweep", path]) == 0
    told = capsys.readouterr().out
    assert "toy-sts-dev" in told
    assert "toy-words-dev" in told
    assert recorded.finished(records.read(path), Path(path))
    next((tmp_path / records.SWEEPS).glob("*.json")).write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        recorded.finished(records.read(path), Path(path))
    assert command.main(["sweep", path]) == 1
    assert "is not JSON" in capsys.readouterr().err.splitlines()[-1]
