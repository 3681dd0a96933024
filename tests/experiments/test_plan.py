"""What is missing among the records is found, run in order, and named where it cannot be."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sentlab.experiments import records, results

BOOK = Path(__file__).resolve().parents[2] / records.FOLDER


def settings(**changes: Any) -> dict[str, Any]:
    return {
        "encoder": {"source": "tiny", "pooling": "cls", "max_length": 16},
        "method": None,
        "dev": "toy-sts",
        "test": [],
        "threads": 1,
        **changes,
    }


def write(name: str, own: dict[str, Any], **content: Any) -> None:
    path = records.FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"settings": own, **content}))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENTLAB_DATA", raising=False)
    results._absent.cache_clear()


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["results", *arguments])
    with pytest.raises(SystemExit) as ended:
        results.main()
    return ended.value.code


def test_what_is_missing_is_run_and_what_cannot_be_is_named(
    small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    write("done", settings(), results={"before": {"cls": {"toy-sts-dev": 50.0}}})
    write("to-do", settings(encoder=encoder))
    write("no-data", settings(test=["simlex", "toy-sts"], encoder=encoder))
    write("no-split", settings(test=["wiki1m"], encoder=encoder))
    write("no-encoder", settings(encoder={"source": "runs/gone/encoder"}))
    write("no-gpu", settings(encoder=encoder | {"device": "cuda"}))
    write("wrong", settings(encoder=encoder | {"pooling": "middle"}))
    write("timing", {"words": 1000})
    write("paper-scale/large", settings(encoder=encoder))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    before = (records.FOLDER / "done.json").read_text()
    assert call(monkeypatch) == 1

    said = {line.split(" was ")[0]: line for line in capsys.readouterr().out.splitlines() if " was not run" in line}
    assert said.keys() == {"no-data", "no-split", "no-encoder", "no-gpu", "wrong", "timing"}
    assert "it needs simlex (test) was not found." in said["no-data"]
    assert "wiki1m has no split 'test'" in said["no-split"]
    assert (
        "the encoder of gone is not in runs/gone/encoder: python -m sentlab.experiments.run --again"
        in said["no-encoder"]
    )
    assert said["no-gpu"].endswith("it needs a GPU")
    assert "it needs a program of its own" in said["timing"]
    assert "'middle'" in said["wrong"]
    assert "(python -m sentlab.experiments.run book/results/wrong.json)" in said["wrong"]

    made = records.read(records.FOLDER / "to-do.json")
    assert made.results["before"]["cls"].keys() == {"toy-sts-dev"}
    assert made.command == "python -m sentlab.experiments.run book/results/to-do.json"
    assert (records.FOLDER / "done.json").read_text() == before
    assert not records.read(records.FOLDER / "paper-scale" / "large.json").done


def test_a_sweep_is_run_as_one_record(small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    write("poolings", settings(encoder=encoder), over={"encoder.pooling": ["cls", "mean"]})
    assert results.entries(records.FOLDER)[0].state == "missing"
    assert call(monkeypatch) == 0
    (entry,) = results.entries(records.FOLDER)
    assert [run.settings["encoder"]["pooling"] for run in entry.runs] == ["cls", "mean"]
    assert entry.state == "done"
    next((records.FOLDER / "sweeps").glob("*.json")).unlink()
    assert results.entries(records.FOLDER)[0].runs == ()  # half a sweep is none


def test_records_come_behind_those_that_they_read() -> None:
    write("a", {"williams": {"spans": ["d", "d start_end", "bm25"]}, "test": ["toy-contexts"]})
    write("b", {"compare": [["c", "cls", "e", "cls"]], "test": ["toy-sts"]})
    write("c", settings(encoder={"source": "runs/e/encoder"}), over={"encoder.max_length": [8, 16]})
    write("d", settings())
    write("e", settings())
    entries = results.entries(records.FOLDER)
    assert {entry.name: entry.program for entry in entries} == {
        "a": "compare",
        "b": "compare",
        "c": "sweep",
        "d": "run",
        "e": "run",
    }
    order = [entry.name for entry in results.in_order(entries)]
    assert sorted(order) == list("abcde")
    for later, earlier in (("a", "d"), ("b", "c"), ("b", "e"), ("c", "e")):
        assert order.index(later) > order.index(earlier)


def test_a_comparison_says_whose_encoder_it_lacks() -> None:
    write("both", {"compare": [["trained", "cls", "gone", "cls"]], "test": ["toy-sts"]})
    write("trained", settings(method={"name": "SimCSE"}), results={"after": {"cls": {}}})
    write("gone", settings())
    (records.FOLDER / "gone.json").unlink()
    lacked = results.lacks(results.entries(records.FOLDER)[0])
    assert "the encoder of trained is not in runs/trained/encoder" in lacked[0]
    assert "gone.json" in lacked[1]


def test_a_list_runs_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write("a", settings(), results={"before": {"cls": {}}})
    write("b", settings())
    write("paper-scale/c", settings())
    monkeypatch.setattr(results, "PROGRAMS", {})
    assert call(monkeypatch, "--list") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["done", "a"],
        ["missing", "b", *"python -m sentlab.experiments.run book/results/b.json".split()],
        ["not", "run", "c", *"python -m sentlab.experiments.run book/results/paper-scale/c.json".split()],
        "1 done, 1 missing".split(),
        "not run, at paper scale: c".split(),
    ]


def test_it_must_be_called_where_the_records_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch) == 2


def test_the_books_records_are_all_found() -> None:
    entries = results.entries(BOOK)
    assert {entry.path for entry in entries} == {*BOOK.glob("*.json"), *BOOK.glob("paper-scale/*.json")}
    for entry in entries:
        own = f" {records.FOLDER / entry.path.relative_to(BOOK)}"
        assert entry.command.endswith(own), entry.name
