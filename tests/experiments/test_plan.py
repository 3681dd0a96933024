"""What is missing among the records is found, run in order, and named where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiments import __main__ as command
from experiments import __main__ as recorded
from experiments import plan, records
from filelock import FileLock

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


def write(name: str, own: dict[str, Any], kind: str = "run", **content: Any) -> None:
    path = records.FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"kind": kind, "settings": own, **content}))


SCORED = {"before": {"scores": {"cls": {"toy-sts-dev": 50.0}}}}


LIBRARY = {
    "encoder": settings()["encoder"], "text": ["a.txt"], "words": 1000, "seed": 0, "phrases": ["a storm"],
    "max_size": 20, "dtype": "float16", "threads": 1,
}  # fmt: skip


def board(**rows: str) -> dict[str, Any]:
    columns = {"STS": [{"corpus": "toy-sts"}]}
    return {
        "rows": {name: {"record": record} for name, record in rows.items()}, "columns": columns,
        "max_length": 8, "resamples": 10, "seed": 0,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENTLAB_DATA", raising=False)
    plan._absent.cache_clear()


def test_what_is_missing_is_run_and_what_cannot_be_is_named(
    small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    write("done", settings(), results=SCORED)
    write("to-do", settings(encoder=encoder))
    write("no-data", settings(test=["simlex", "toy-sts"], encoder=encoder))
    write("no-split", settings(test=["wiki1m"], encoder=encoder))
    write("no-encoder", settings(encoder=encoder | {"source": "runs/paser/gone/encoder"}))
    write("no-gpu", settings(encoder=encoder | {"device": "cuda"}))
    write("wrong", settings(encoder=encoder | {"pooling": "middle"}))
    write("timing", LIBRARY, "library")
    write("paper-scale/large", settings(encoder=encoder))
    over = {"encoder.pooling": ["cls", "mean"]}
    write("paper-scale/sweep", {"run": settings(encoder=encoder), "over": over}, "sweep")
    begun = records.read_as(records.SweepRecord, records.FOLDER / "paper-scale" / "sweep.json").settings.runs()[0]
    write(f"sweeps/{begun.run_name}", begun.model_dump(exclude_unset=True), results=SCORED)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    before = (records.FOLDER / "done.json").read_text()
    assert command.main(["results"]) == 1

    said = {line.split(" was ")[0]: line for line in capsys.readouterr().out.splitlines() if " was not run" in line}
    assert said.keys() == {"no-data", "no-split", "no-encoder", "no-gpu", "wrong", "timing"}
    assert "it needs simlex (test) was not found." in said["no-data"]
    assert "wiki1m has no split 'test'" in said["no-split"]
    assert (
        "the encoder of paser/gone is not in runs/paser/gone/encoder: "
        "python -m experiments run --again book/results/paser/gone.json" in said["no-encoder"]
    )
    assert said["no-gpu"].endswith("it needs a GPU")
    assert "it needs a program of its own: python benchmarks/library.py" in said["timing"]
    assert "'middle'" in said["wrong"]
    assert "(python -m experiments run book/results/wrong.json)" in said["wrong"]

    made = records.read_as(records.RunRecord, records.FOLDER / "to-do.json")
    assert made.results
    assert made.results.before.own.keys() == {"toy-sts-dev"}
    assert made.source.command == "python -m experiments run book/results/to-do.json"
    assert (records.FOLDER / "done.json").read_text() == before
    assert not records.read(records.FOLDER / "paper-scale" / "large.json").done
    assert plan.entries(records.FOLDER)[-1].state == "begun"  # by a run that another sweep has, too


def test_a_sweep_is_run_as_one_record(small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    write("poolings", {"run": settings(encoder=encoder), "over": {"encoder.pooling": ["cls", "mean"]}}, "sweep")
    assert plan.entries(records.FOLDER)[0].state == "missing"
    assert command.main(["results"]) == 0
    (entry,) = plan.entries(records.FOLDER)
    assert [run.settings.encoder.pooling for run in entry.runs] == ["cls", "mean"]
    assert entry.state == "done"
    next((records.FOLDER / "sweeps").glob("*.json")).unlink()
    (entry,) = plan.entries(records.FOLDER)
    assert (len(entry.runs), entry.asked, entry.state) == (1, 2, "begun")
    assert command.main(["results"]) == 0  # the other run is made again
    assert plan.entries(records.FOLDER)[0].state == "done"


def test_records_come_behind_those_that_they_read() -> None:
    rows = [{"record": "d"}, {"record": "d", "setup": "start_end"}, {"vectors": "bm25"}]
    write("a", {"tables": [{"setup": "spans", "rows": rows}], "corpus": "toy-contexts"}, "williams")
    write("b", board(one="c", two="x/e"), "leaderboard")
    trained = settings(encoder={"source": "runs/x/e/encoder", "pooling": "cls", "max_length": 8})
    write("c", {"run": trained, "over": {"encoder.max_length": [8, 16]}}, "sweep")
    write("d", settings())
    write("x/e", settings())
    entries = plan.entries(records.FOLDER)
    order = [entry.name for entry in plan.in_order(entries)]
    assert sorted(order) == ["a", "b", "c", "d", "x/e"]
    for later, earlier in (("a", "d"), ("b", "c"), ("b", "x/e"), ("c", "x/e")):
        assert order.index(later) > order.index(earlier)


def test_a_leaderboard_says_whose_encoder_it_lacks() -> None:
    write("both", board(one="trained", two="gone"), "leaderboard")
    trained = settings(method={"name": "SimCSE"}, data={"corpus": "toy-sentences"}, train={"steps": 1})
    write("trained", trained, results=SCORED)
    write("gone", settings())
    (records.FOLDER / "gone.json").unlink()
    lacked = plan.lacks(plan.entries(records.FOLDER)[0])
    assert "the encoder of trained is not in runs/trained/encoder" in lacked[0]
    assert "gone.json" in lacked[1]


def test_a_record_lacks_only_the_encoders_that_its_rows_take() -> None:
    train = {"steps": 1, "batch_size": 4, "seed": 0}
    run = settings(method={"name": "SimCSE"}, data={"corpus": "toy-sentences"}, train=train, keep=True)
    write("seeds", {"run": run, "over": {"train.seed": [0, 1]}}, "sweep")
    sweep = records.read_as(records.SweepRecord, records.FOLDER / "seeds.json")
    kept = [records.FOLDER / records.SWEEPS / own.run_name for own in sweep.settings.runs()]
    (kept[0] / records.ENCODER).mkdir(parents=True)

    row, one = {"record": "seeds"}, {"record": "seeds", "where": {"train.seed": 0}}
    board = {"columns": {"STS": [{"corpus": "toy-sts"}]}, "max_length": 8, "resamples": 2, "seed": 0}
    umap = {"topics": ["kitchen"], "scenes": 2, "wordings": 2, "seed": 0, "umap": {}, "neighbours": 1}
    table = {"setup": "full", "rows": [{"record": "seeds"}, {"vectors": "bm25"}]}
    write("board", board | {"rows": {"a": row}}, "leaderboard")
    write("board-one", board | {"rows": {"a": one}}, "leaderboard")
    write("map", umap | {"rows": {"a": row}}, "map")
    write("cost", {"rows": {"a": row}, "steps": 1, "corpus": "toy-sts", "passes": 1, "threads": 1}, "cost")
    write("williams", {"tables": [table], "corpus": "toy-contexts"}, "williams")
    write("williams-short", {"tables": [table | {"max_size": 5}], "corpus": "toy-contexts"}, "williams")

    def lacking() -> list[str]:
        return [entry.name for entry in plan.entries(records.FOLDER) if entry.name != "seeds" and plan.lacks(entry)]

    assert lacking() == ["board"]  # which alone needs both seeds
    (kept[0] / records.ENCODER).rename(kept[0] / records.ITEMS)
    assert lacking() == ["board", "cost", "map", "williams-short"]
    (kept[1] / records.ITEMS).mkdir(parents=True)
    assert lacking() == ["cost", "map", "williams-short"]


def test_a_list_runs_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write("a", settings(), results=SCORED)
    write("b", settings())
    write("paper-scale/c", settings())
    monkeypatch.setattr(recorded, "execute", lambda *_: pytest.fail("it was run"))
    assert command.main(["results", "--list"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["done", "a"],
        ["missing", "b", *"python -m experiments run book/results/b.json".split()],
        ["not", "run", "paper-scale/c", *"python -m experiments run book/results/paper-scale/c.json".split()],
        "1 done, 0 begun, 1 missing".split(),
        "not run, at paper scale: paper-scale/c".split(),
    ]


def test_it_must_be_called_where_the_records_are() -> None:
    with pytest.raises(SystemExit):
        command.main(["results"])


def test_the_books_records_are_all_found() -> None:
    entries = plan.entries(BOOK)
    every = {path for path in BOOK.rglob("*.json") if "sweeps" not in path.relative_to(BOOK).parts}
    assert {entry.path for entry in entries} == every
    for entry in entries:
        own = f" {records.FOLDER / entry.path.relative_to(BOOK)}"
        assert entry.command.endswith(own), entry.name
    assert all(plan.runs_asked(entry.record) for entry in entries if entry.record.kind in ("run", "sweep"))  # type: ignore[arg-type]


def test_a_record_that_another_process_runs_is_left_to_it(small_encoder_folder: Path) -> None:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    write("mine", settings(encoder=encoder))
    write("theirs/now", settings(encoder=encoder))
    ran: list[str] = []
    with FileLock(records.LOCKS / "theirs-now.lock"):
        refused = plan.fill(records.FOLDER, lambda record, path: ran.append(record.name))
    assert (ran, refused) == (["mine"], {"theirs/now": "another process runs it"})


def test_a_record_that_another_process_has_run_is_not_run_again(small_encoder_folder: Path) -> None:
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    write("a", settings(encoder=encoder))
    write("b", settings(encoder=encoder))
    ran: list[str] = []

    def execute(record: records.AnyRecord, path: Path) -> None:
        ran.append(record.name)
        write("b", settings(encoder=encoder), results=SCORED)

    assert plan.fill(records.FOLDER, execute) == {}
    assert ran == ["a"]
