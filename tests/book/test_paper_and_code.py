"""The page "Paper and code": rows cover the docstrings, links and numbers are those of source and records."""

from __future__ import annotations

import ast
import html
import importlib
import pkgutil
import re
from contextlib import chdir
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pandas as pd
import pytest

from sentlab import methods
from sentlab.data import published
from sentlab.experiments import records, sweep

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "book" / "results"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's cells define when they run, and under `outputs` the HTML that each shows."""
    notebook = nbformat.read(ROOT / "book" / "paper-and-code.ipynb", as_version=4)
    names: dict[str, Any] = {"__name__": "page"}
    outputs = {}
    with chdir(ROOT / "book"):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                body = ast.parse(cell.source).body
                shown = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
                exec(compile(ast.Module(body, []), cell.id, "exec", dont_inherit=True), names)
                value = eval(compile(shown, cell.id, "eval", dont_inherit=True), names) if shown else None
                outputs[cell.id] = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    names["outputs"] = outputs
    return names


def notes_without_row(page: dict[str, Any]) -> list[str]:
    return [
        note
        for system, modules in page["MODULES"].items()
        for module in modules
        for _, note in page["notes_of"](module)
        if not any(note.startswith(start) for row in page["SYSTEMS"][system] for start in row.notes)
    ]


def rows_without_note(page: dict[str, Any]) -> list[str]:
    gone = []
    for system, rows in page["SYSTEMS"].items():
        notes = [note for module in page["MODULES"][system] for _, note in page["notes_of"](module)]
        starts = [start for row in rows for start in row.notes]
        gone += [start for start in starts if sum(note.startswith(start) for note in notes) != 1]
    return gone


def test_docstrings_and_rows_say_of_the_same_points(page: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert notes_without_row(page) == []
    assert rows_without_note(page) == []
    changed = page["ptbert"].__doc__.replace("It is evaluated on the plain [CLS]", "Plain [CLS] is evaluated")
    monkeypatch.setattr(page["ptbert"], "__doc__", changed)
    assert [note[:24] for note in notes_without_row(page)] == ["Plain [CLS] is evaluated"]
    assert rows_without_note(page) == ["It is evaluated on the plain"]


def test_all_methods_are_on_the_page(page: dict[str, Any]) -> None:
    modules = [
        importlib.import_module(f"sentlab.methods.{found.name}") for found in pkgutil.iter_modules(methods.__path__)
    ]
    with_notes = {module.__name__ for module in modules if page["notes_of"](module)}
    there = {module.__name__ for group in page["MODULES"].values() for module in group}
    baselines = {module.__name__ for module in page["BASELINES"].values()}
    assert with_notes - there - baselines == set()
    for module in page["BASELINES"].values():
        for _, note in page["notes_of"](module):
            assert page["marked"](note) in page["outputs"]["baselines"]


def test_notes_are_read_as_the_docstrings_have_them(page: dict[str, Any]) -> None:
    module = ModuleType("some")
    module.__doc__ = """Some method.

    - It is a list: of other things.

    Differs from the paper:
      - One note, which
        goes on.
      - Another.

    Differs from SentEval:
      - Not a note.

    Differs from the released code: in one thing
    alone.

    The end.
    """
    assert page["notes_of"](module) == [
        ("Differs from the paper", "One note, which goes on."),
        ("Differs from the paper", "Another."),
        ("Differs from the released code", "in one thing alone."),
    ]


def test_links_lead_to_lines_as_the_files_have_them(page: dict[str, Any]) -> None:
    listing = page["outputs"]["lines"]
    shown = dict(re.findall(r'<a id="([^"]+)" name="[^"]+"></a>(.*)', listing))
    assert len(shown) == listing.count("<a id=")  # no anchor is there twice
    lines = {line for rows in page["SYSTEMS"].values() for row in rows for line in row.lines}
    assert len(lines) > 60
    for line in lines:
        text = html.unescape(re.sub(r"<span class=\"linenos\">.*?</span>|<[^>]+>", "", shown[line.anchor]))
        source = (ROOT / "sentlab" / line.file).read_text(encoding="utf-8").splitlines()
        assert text == source[line.number - 1]
        assert line.start <= line.number <= line.end
    tables = "".join(page["outputs"][f"{name}-rows"] for name in ("paser", "universal", "ptbert", "slice"))
    assert set(re.findall(r'href="#([^"]+)"', tables)) == {line.anchor for line in lines} | {page["CHECKS"]}


def test_a_link_without_its_line_is_an_error(page: dict[str, Any]) -> None:
    at, signal = page["at"], page["paser"].decoding_signal
    assert at(signal, "torch.stack(").file == "methods/paser.py"
    with pytest.raises(LookupError, match="0 lines of decoding_signal"):
        at(signal, "torch.no_such_function(")
    with pytest.raises(LookupError, match="lines of decoding_signal"):
        at(signal, "e_masked")
    constant = at(page["mining"], "MAX_SIZE = 20")
    source = (ROOT / "sentlab" / "mining.py").read_text(encoding="utf-8").splitlines()
    paragraph = source[constant.start - 1 : constant.end]
    assert all(paragraph)
    assert not source[constant.start - 2]
    assert not source[constant.end]


def test_changes_come_from_records(page: dict[str, Any]) -> None:
    rows = [row for rows in page["SYSTEMS"].values() for row in rows]
    for row in rows:
        for name in row.changes.records:
            assert page["finished"](name), name
        assert bool(row.changes.records) == bool(re.search(r"[+−]\d", "".join(row.changes.lines))), row.point
    assert sum(bool(row.changes.records) for row in rows) > 20


def test_changes_are_those_of_the_records(page: dict[str, Any]) -> None:
    told = {(system, row.point): row.changes for system, rows in page["SYSTEMS"].items() for row in rows}

    def signed(number: float) -> str:
        return f"{number:+.1f}".replace("-", "−")

    table = sweep.read(RESULTS / "paser-pooling.json").table().set_index("pooling")["average"]
    noise = 2 * sweep.read(RESULTS / "paser-seeds.json").table()["average"].std()
    pooling = told["PaSeR", "Pooling"]
    assert pooling.lines[0] == f"mean {signed(table['mean'] - table['cls'])}"
    assert pooling.lines[-1] == f"noise\u00a0{noise:.1f}"
    assert pooling.records == ("paser-pooling",)

    table = sweep.read(RESULTS / "paser-scales.json").table().set_index(["m", "n"])["average"]
    best = table.idxmax()
    expected = f"best: m={best[0]:g}, n={best[1]:g}, {signed(table.max() - table[10, 10])}"
    assert told["PaSeR", "Scales"].lines[0] == expected

    tables = [sweep.read(RESULTS / f"{name}.json").table()["average"] for name in ("moco", "moco-srl")]
    difference = tables[1].mean() - tables[0].mean()
    noise = 2 * (sum(table.var() / 3 for table in tables)) ** 0.5
    expected = f"MoCo with this view, [CLS] {signed(difference)} (noise\u00a0{noise:.1f})"
    assert told["PT-BERT", "Roles"].lines == (expected,)

    runs = sweep.read(RESULTS / "universal-features.json").records
    words = {run.settings["method"]["pair_features"]: words_of(run) for run in runs}
    best, score = max(((name, score) for name, score in words.items() if name != "u,v,|u-v|"), key=lambda item: item[1])
    expected = f"`{best}`, words {signed(score - words['u,v,|u-v|'])} (noise"
    assert told["Universal", "Features"].lines[2].startswith(expected)

    runs = [run for run in sweep.read(RESULTS / "universal-objectives.json").records if len(run.settings["data"]) == 3]
    heads = [run.results["after"]["mean"]["sick head"] - run.results["after"]["mean"]["sick"] for run in runs]
    assert told["Universal", "STS-B and SICK-R"].lines[2].startswith(f"SICK-R {signed(sum(heads) / 3)} (noise")


def test_noise_is_of_the_seeds_there_are(page: dict[str, Any]) -> None:
    three, spread, one = (pd.Series(values, dtype=float) for values in ([1, 2, 3], [10, 20, 30], [5]))
    gap = page["gap"]
    assert gap("x", three, spread).lines == (f"x +18.0 (noise\u00a0{2 * ((1 + 100) / 3) ** 0.5:.1f})",)
    assert gap("x", three, one).lines == ("x +3.0 (noise\u00a02.0)",)
    assert gap("x", one, three).lines == ("x −3.0 (noise\u00a02.0)",)
    assert gap("x", one, one).lines == ("x +0.0 (one seed)",)


def words_of(run: records.Record) -> float:
    found = run.results["after"]["mean"]
    return sum(found[task] for task in ("simlex", "ws353-sim", "ws353-rel", "men", "scws")) / 5


def test_what_is_not_recorded_is_said(page: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(page, "results", tmp_path)
    for name, score in (("a", 40.0), ("b", 42.5)):
        tasks = {"stsb-context spans pearson": score, "stsb-context start_end pearson": score + 1}
        records.Record(name, {}, results={"after": {"mean": tasks}}).save(tmp_path / f"{name}.json")
    records.Record("begun", {}).save(tmp_path / "begun.json")
    for name in ("absent", "begun"):
        assert page["finished"](name) == []
        assert page["of_records"]("other", name, "a") is page["NOT_YET"]
        assert page["of_records"]("other", "a", name) is page["NOT_YET"]
    assert page["by_longest_span"]("a") is page["NOT_YET"]
    assert page["by_rate"]("absent", 0.1) is page["NOT_YET"]

    found = page["of_records"]("other", "a", "b")
    assert (found.lines, found.records) == (("other +2.5 (one seed)",), ("a", "b"))
    assert page["of_records"]("other", "a", "b", "stsb-context start_end pearson").lines[0].startswith("other +3.5")
    by_setup = {f"spans {size}": {"a": {"pearson": 30.0 + size / 10}} for size in (5, 10, 15, 20, 35)}
    records.Record("compare-slice", {}, results=by_setup).save(tmp_path / "compare-slice.json")
    longest = page["by_longest_span"]("a")
    assert longest.lines == ("in the search:", "5 words −1.5", "10 words −1.0", "35 words +1.5", "one seed")


def test_tables_of_paser_repeat_the_row_of_five_phrases() -> None:
    columns = ["sts12-16", "stsb", "sick"]
    five = published.table("paser", 5)[columns].iloc[-1]
    for number in (4, 8, 9):
        assert (published.table("paser", number)[columns] == five).all(axis=1).any()


def test_tables_can_be_read(page: dict[str, Any]) -> None:
    for system, rows in page["SYSTEMS"].items():
        points = [row.point for row in rows]
        assert len(set(points)) == len(points)
        for row in rows:
            assert row.lines, row.point
            for text in (row.paper, row.code, row.here, " ".join(row.changes.lines)):
                assert 0 < len(text) <= 240, (system, row.point, len(text))
    released = {name: page["outputs"][f"{name}-rows"].count("none released") for name in ("paser", "ptbert")}
    assert released == {"paser": 0, "ptbert": 0}
    for name, system in (("universal", "Universal"), ("slice", "SLICE")):
        assert {row.code for row in page["SYSTEMS"][system]} == {"–"}
        assert page["outputs"][f"{name}-rows"].count("none released") == 1


def test_checks_find_what_the_tables_say(page: dict[str, Any]) -> None:
    found = {re.split("[:]", name)[0]: value for name, value in page["checks"].items()}
    gradients = [value for name, value in page["checks"].items() if "gradient of a pseudo token" in name]
    assert gradients[0] == 0.0
    assert gradients[1] > 1e-6
    assert abs(page["checks"]["PaSeR: the loss with logits at labels only, minus that with all"]) < 1e-5
    assert 0 < page["checks"]["PaSeR: share of positions that have a label"] < 1
    assert found["SLICE"] < 1e-12
