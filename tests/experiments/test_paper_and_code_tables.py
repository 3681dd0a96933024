"""Tables of rows: read from TOML, with every problem named, and shown as HTML."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import paper_and_code, source_lines

PAGE = """
[systems.PaSeR]
modules = ["sentlab.methods.paser"]
code_released = true

[[systems.PaSeR.rows]]
point = "Scales"
paper = \"\"\"Open: how
large `m` is.\"\"\"
code = "1 < 2."
here = "10."
lines = [{ name = "sentlab.methods.paser.PaSeR" }]
notes = ["It takes"]
changes = [{ text = "see the [checks](#here)" }]

[[systems.PaSeR.rows]]
point = "Depth"
paper = "Six."
here = "Six."
lines = [{ name = "sentlab.methods.paser.PaSeR.loss" }, { name = "sentlab.methods.paser.decoding_signal" }]
notes = ["It takes", "It repeats"]

[baselines]
SimCSE = "sentlab.methods.simcse"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "page.toml"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_rows_are_shown_with_their_links(path: Path) -> None:
    table = paper_and_code.read(path, path.parent).table("PaSeR")
    assert "<td>Open: how large <code>m</code> is.</td><td>1 &lt; 2.</td><td>10.<br>" in table
    assert '<a href="#here">checks</a>' in table
    signal = source_lines.find("sentlab.methods.paser.decoding_signal")
    assert f'<a href="#{signal.anchor}">paser.py:{signal.number}</a>' in table
    assert "<td>–</td>" in table
    assert "not measured" in table


def test_code_that_was_not_released_is_one_cell(path: Path) -> None:
    path.write_text(PAGE.replace("code_released = true", "code_released = false"), encoding="utf-8")
    table = paper_and_code.read(path, path.parent).table("PaSeR")
    assert table.count('<td rowspan="2">none released</td>') == table.count("none released") == 1
    assert "1 &lt; 2" not in table


def test_baselines_are_told_in_the_words_of_their_docstrings(path: Path) -> None:
    page = paper_and_code.read(path, path.parent)
    notes = source_lines.notes("sentlab.methods.simcse")
    assert notes
    assert all(paper_and_code.marked(note) in page.baseline_notes() for _, note in notes)


def test_points_are_counted(path: Path) -> None:
    assert paper_and_code.read(path, path.parent).counts().loc["PaSeR"].tolist() == [2, 1, 0, 0]


@pytest.mark.parametrize(
    ("was", "now", "problem"),
    [
        ('here = "10."', "", r"page\.toml: PaSeR, row 'Scales': it needs here"),
        ('here = "10."', 'hear = "10."\nhere = "10."', r"'Scales': it may hold .*, and not hear"),
        (".decoding_signal", ".signal", r"'Depth': .*does not define 'signal'"),
        ("text =", "texts =", r"'Scales': an entry needs one of text"),
        ("[systems.PaSeR]", "systems.PaSeR]", r"page\.toml is not TOML"),
        ("systems.PaSeR", "system.PaSeR", r"page\.toml is not TOML with a table `systems`"),
    ],
)
def test_problems_of_the_file_are_named(path: Path, was: str, now: str, problem: str) -> None:
    path.write_text(PAGE.replace(was, now), encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        paper_and_code.read(path, path.parent)


def test_all_problems_are_named_at_once(path: Path) -> None:
    path.write_text(PAGE.replace('here = "10."', "").replace(".decoding_signal", ".signal"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"(?s)'Scales'.*\n.*'Depth'"):
        paper_and_code.read(path, path.parent)
