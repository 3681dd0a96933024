"""The command of records: one for all kinds; and what is missing is run in order, and named where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiments import __main__ as command
from experiments import records


@pytest.fixture
def raw(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a run without training; records are in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "results")
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    return {"encoder": encoder, "dev": "toy-words", "test": [], "threads": 1}


def write(name: str, settings: dict[str, Any], kind: str = "run") -> Path:
    path = records.FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"kind": kind, "settings": settings}))
    return path


def test_a_record_is_run_once_and_again_when_asked(raw: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    path = write("raw/one", raw)
    assert command.main(["run", "raw/one"]) == 0
    assert str(path) in capsys.readouterr().out
    first = path.read_text()
    assert command.main(["run", "results/raw/one.json"]) == 0
    assert (capsys.readouterr().out, path.read_text()) == ("", first)
    path.write_text(first.replace('"toy-words-dev": ', '"toy-words-dev": 1'))
    assert command.main(["run", "raw/one", "--again"]) == 0
    assert json.loads(path.read_text())["results"] == json.loads(first)["results"]


def test_what_is_missing_is_run_in_order_and_what_cannot_be_is_named(
    raw: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SENTLAB_DATA", raising=False)
    write("b", raw)
    write("no-data", raw | {"test": ["simlex"]})
    write("no-encoder", raw | {"encoder": raw["encoder"] | {"source": "runs/b/encoder"}})
    write("paper-scale/large", raw)
    columns = {"words": [{"corpus": "toy-words"}]}
    board = {"rows": {"b": {"record": "b"}, "mean": {"record": "b", "pooling": "mean"}}, "columns": columns}
    write("a", board | {"max_length": 8, "resamples": 10, "seed": 0}, "leaderboard")
    every = records.every()
    assert (every[-1].name, every[-1].state) == ("paper-scale/large", "not run")
    order = [record.name for record in command.in_order(every)]
    assert order.index("a") > order.index("b") < order.index("no-encoder")
    assert command.main(["results", "--list"]) == 0
    assert not records.get("b").done
    assert command.main(["results"]) == 1
    said = {line.split(" was ")[0] for line in capsys.readouterr().out.splitlines() if " was not run" in line}
    assert said == {"no-data", "no-encoder"}
    assert records.get("a").done
    assert not records.get("paper-scale/large").done
