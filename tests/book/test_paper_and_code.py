"""The page "Paper and code": rows cover the docstrings, links and numbers are those of source and records."""

from __future__ import annotations

import html
import importlib
import pkgutil
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from experiments import paper_and_code, published, source_lines, sweep
from experiments.changes import NOT_YET, signed

from sentlab import methods

ROOT = Path(__file__).resolve().parents[2]
BOOK, RESULTS = ROOT / "book", ROOT / "book" / "results"


@pytest.fixture(scope="module")
def page() -> paper_and_code.Page:
    return paper_and_code.read(BOOK / "paper-and-code.toml", RESULTS)


def test_docstrings_and_rows_say_of_the_same_points(page: paper_and_code.Page) -> None:
    for name, system in page.systems.items():
        notes = [note for module in system.modules for _, note in source_lines.notes(module)]
        starts = [start for row in system.rows for start in row.notes]
        assert [note for note in notes if not note.startswith(tuple(starts))] == [], name
        assert [start for start in starts if sum(note.startswith(start) for note in notes) != 1] == [], name


def test_all_methods_are_on_the_page(page: paper_and_code.Page) -> None:
    modules = [f"sentlab.methods.{found.name}" for found in pkgutil.iter_modules(methods.__path__)]
    with_notes = {module for module in modules if source_lines.notes(module)}
    assert len(with_notes) > 5
    there = {module for system in page.systems.values() for module in system.modules}
    assert with_notes - there - set(page.baselines.values()) == set()
    for module in [*there, *page.baselines.values()]:
        assert importlib.import_module(module)


def test_links_lead_to_lines_as_the_files_have_them(page: paper_and_code.Page) -> None:
    listing = page.source()
    shown = dict(re.findall(r'<a id="([^"]+)" name="[^"]+"></a>(.*)', listing))
    assert len(shown) == listing.count("<a id=")  # no anchor is there twice
    lines = {line for system in page.systems.values() for row in system.rows for line in row.lines}
    assert len(lines) > 60
    for line in lines:
        text = html.unescape(re.sub(r"<span class=\"linenos\">.*?</span>|<[^>]+>", "", shown[line.anchor]))
        source = (ROOT / "sentlab" / line.file).read_text(encoding="utf-8").splitlines()
        assert text == source[line.number - 1]
    tables = "".join(map(page.table, page.systems))
    beside = set(re.findall(r'href="#([^"]+)"', tables)) - {line.anchor for line in lines}
    headings = re.findall(r"^#+ (.*)", "\n".join(cell.source for cell in notebook().cells), re.MULTILINE)
    assert beside <= {re.sub(r"\W+", "-", heading.lower()) for heading in headings}


def test_changes_come_from_records(page: paper_and_code.Page) -> None:
    rows = [row for system in page.systems.values() for row in system.rows]
    assert [row.point for row in rows if row.changes is NOT_YET] == []
    for row in rows:
        assert bool(row.changes.records) == bool(re.search(r"[+−]\d", "".join(row.changes.lines))), row.point
    assert sum(bool(row.changes.records) for row in rows) > 20


def test_changes_are_those_of_the_records(page: paper_and_code.Page) -> None:
    told = {(name, row.point): row.changes for name, system in page.systems.items() for row in system.rows}

    one = {"method.arguments.top_phrases": 1}
    sides = sweep.runs_of(RESULTS / "tiny-sts/paser.json"), sweep.runs_of(RESULTS / "tiny-paser/rake.json", one)
    tables = [pd.Series([run.results.after.own["average"] for run in runs]) for runs in sides]
    noise = 2 * (sum(table.var() / 3 for table in tables)) ** 0.5
    many = told["PaSeR", "How many"]
    assert many.lines[0] == f"1 phrase {signed(tables[1].mean() - tables[0].mean())} (noise\u00a0{noise:.1f})"
    assert many.records == ("tiny-sts/paser", "tiny-paser/rake")

    ours, other = (
        sweep.runs_of(RESULTS / "tiny-paser/scales.json", {"method.arguments.m": m, "method.arguments.n": n})
        for m, n in ((10.0, 10.0), (0.1, 1.0))
    )
    means = [sum(run.results.after.own["average"] for run in runs) / len(runs) for runs in (ours, other)]
    assert told["PaSeR", "Scales"].lines[0].startswith(f"m=0.1, n=1 {signed(means[1] - means[0])} (noise")

    guided = {"method.arguments.view": ["srl_guided"]}
    sides = sweep.runs_of(RESULTS / "tiny-wiki/moco.json"), sweep.runs_of(RESULTS / "tiny-wiki/views.json", guided)
    tables = [pd.Series([run.results.after.own["average"] for run in runs]) for runs in sides]
    difference = tables[1].mean() - tables[0].mean()
    noise = 2 * (sum(table.var() / 3 for table in tables)) ** 0.5
    expected = f"MoCo with this view, [CLS] {signed(difference)} (noise\u00a0{noise:.1f})"
    assert told["PT-BERT", "Roles"].lines == (expected,)

    two = {"method.arguments.pair_features": "u,v"}
    sides = (
        sweep.runs_of(RESULTS / "tiny-universal/all.json"),
        sweep.runs_of(RESULTS / "tiny-universal/features.json", two),
    )
    words = [sum(words_of(run.results.after.own) for run in runs) / len(runs) for runs in sides]
    assert told["Universal", "Features"].lines[2].startswith(f"words {signed(words[1] - words[0])} (noise")

    runs = [run for run in sweep.runs_of(RESULTS / "universal/objectives.json") if len(run.settings.data) == 3]
    heads = [run.results.after.own["sick head"] - run.results.after.own["sick"] for run in runs]
    assert told["Universal", "STS-B and SICK-R"].lines[2].startswith(f"SICK-R {signed(sum(heads) / 3)} (noise")


def words_of(found: dict[str, float]) -> float:
    return sum(found[task] for task in ("simlex", "ws353-sim", "ws353-rel", "scws")) / 4


def test_tables_of_paser_repeat_the_row_of_five_phrases() -> None:
    columns = ["sts12-16", "stsb", "sick"]
    five = published.table("paser", 5)[columns].iloc[-1]
    for number in (4, 8, 9):
        assert (published.table("paser", number)[columns] == five).all(axis=1).any()


def test_tables_can_be_read(page: paper_and_code.Page) -> None:
    for name, system in page.systems.items():
        points = [row.point for row in system.rows]
        assert len(set(points)) == len(points)
        for row in system.rows:
            for text in (row.paper, row.code, row.here, " ".join(row.changes.lines)):
                assert 0 < len(text) <= 240, (name, row.point, len(text))
        assert system.code_released or {row.code for row in system.rows} == {"–"}


def notebook() -> nbformat.NotebookNode:
    return nbformat.read(BOOK / "paper-and-code.ipynb", as_version=4)


def test_checks_find_what_the_tables_say() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    with chdir(BOOK):
        for cell in notebook().cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, cell.id, "exec", dont_inherit=True), names)
    checks = names["checks"]
    found = {re.split("[:]", name)[0]: value for name, value in checks.items()}
    gradients = [value for name, value in checks.items() if "gradient of a pseudo token" in name]
    assert gradients[0] == 0.0
    assert gradients[1] > 1e-6
    assert abs(checks["PaSeR: the loss with logits at labels only, minus that with all"]) < 1e-5
    assert 0 < checks["PaSeR: share of positions that have a label"] < 1
    assert found["SLICE"] < 1e-12
