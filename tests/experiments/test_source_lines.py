"""Lines are found by public names, and a listing shows them as the files have them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from experiments import source_lines
from experiments.source_lines import Line, find

MODULE = '''"""Some module.

Differs from the paper:
  - One note.
"""

SIZE, COUNT = 3, 4
# of all
RATE = 0.5

TWICE = """
here
here
"""


class Thing:
    """A thing."""

    width: int = 2

    @property
    def area(self):
        def inner():
            return 1

        return inner() * self.width

    async def grow(self):
        pass


def free(text):
    return text.strip()
'''


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one module in place of the real one."""
    root = tmp_path / "sentlab"
    (root / "part").mkdir(parents=True)
    (root / "part" / "__init__.py").write_text("from sentlab.part.module import free\n")
    (root / "part" / "module.py").write_text(MODULE)
    monkeypatch.setattr(source_lines, "PACKAGE", root)
    source_lines._parsed.cache_clear()
    yield root
    source_lines._parsed.cache_clear()


def text_of(line: Line) -> str:
    return MODULE.splitlines()[line.number - 1].strip()


@pytest.mark.parametrize(
    ("name", "holds", "line", "first", "last"),
    [
        ("COUNT", "", "SIZE, COUNT = 3, 4", "SIZE, COUNT", "RATE = 0.5"),
        ("", "RATE", "RATE = 0.5", "SIZE, COUNT", "RATE = 0.5"),
        ("Thing", "", "class Thing:", "class Thing:", "pass"),
        ("Thing.width", "", "width: int = 2", "class Thing:", "pass"),
        ("Thing", "return 1", "return 1", "@property", "return inner() * self.width"),
        ("Thing.area", "", "def area(self):", "@property", "return inner() * self.width"),
        ("Thing.grow", "pass", "pass", "async def grow(self):", "pass"),
        ("free", "strip(", "return text.strip()", "def free(text):", "return text.strip()"),
    ],
)
def test_a_line_and_the_block_around_it(name: str, holds: str, line: str, first: str, last: str) -> None:
    found, lines = find(f"sentlab.part.module.{name}".rstrip("."), holds), MODULE.splitlines()
    assert found.file == "part/module.py"
    assert text_of(found) == line
    assert lines[found.start - 1].strip().startswith(first)
    assert lines[found.end - 1].strip() == last


@pytest.mark.parametrize(
    ("name", "holds", "problem"),
    [
        ("sentlab.part.module.free", "split(", "0 lines of sentlab.part.module.free"),
        ("sentlab.part.module", "here", "2 lines of sentlab.part.module"),
        ("sentlab.part.module.gone", "", "does not define 'gone'"),
        ("sentlab.part.module.free.inner", "", "does not define 'inner'"),
        ("sentlab.part.free", "", "name the module that defines it"),
        ("sentlab.part.module._free", "", "must be a public name"),
        ("numpy.mean", "", "must be a public name"),
        ("sentlab.gone.module", "", "is in no file"),
    ],
)
def test_a_link_without_its_line_is_an_error(name: str, holds: str, problem: str) -> None:
    with pytest.raises(LookupError, match=problem):
        find(name, holds)


def test_a_listing_shows_each_line_once_and_marks_what_is_linked() -> None:
    lines = [
        find("sentlab.part.module.Thing.width"),
        find("sentlab.part.module.Thing.area"),
        find("sentlab.part.module.free"),
    ]
    shown = source_lines.listing(lines)
    rows = dict(re.findall(r'<a id="([^"]+)" name="[^"]+"></a>(.*)', shown))
    assert len(rows) == shown.count("<a id=")
    for line in lines:
        text = html.unescape(re.sub(r'<span class="linenos">.*?</span>|<[^>]+>', "", rows[line.anchor]))
        assert text.strip() == text_of(line)
    assert shown.count('class="hll"') == 3
    assert "RATE" not in shown
    assert shown.count("<details>") == 1


def test_notes_are_read_as_the_docstrings_have_them() -> None:
    docstring = """Some method.

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

What the paper leaves open, and what is done here:

- A list at the margin, which
  goes on.

- After the list.
"""
    assert source_lines.notes_of(docstring) == [
        ("Differs from the paper", "One note, which goes on."),
        ("Differs from the paper", "Another."),
        ("Differs from the released code", "in one thing alone."),
        ("What the paper leaves open, and what is done here", "A list at the margin, which goes on."),
    ]
    assert source_lines.notes("sentlab.part.module") == [("Differs from the paper", "One note.")]
