"""The tables of the chapter "Paper and code": what paper, released code and sentlab make of a point, read from TOML.

[systems.PaSeR]
modules = ["sentlab.methods.paser"]      # a row covers every note of their docstrings
code_released = true

[[systems.PaSeR.rows]]
point = "Scales"
paper = "10 and 10 (Appendix A)."
code = "1 and 1."                        # absent: a dash
here = "10 and 10."
lines = [{ name = "sentlab.methods.paser.PaSeR", holds = "m: float = 10.0" }]
notes = ["It takes m"]                   # how the notes on it begin
changes = [{ ... }]                      # see `experiments.changes`

[baselines]
SimCSE = "sentlab.methods.simcse"        # the notes of its docstring are a table of their own
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments import changes, records, source_lines, tables
from experiments.source_lines import Line

KEYS = {"point", "paper", "code", "here", "lines", "notes", "changes"}
REQUIRED = ("point", "paper", "here", "lines")
STYLE = """<style>
table.points { table-layout: fixed; width: 100%; min-width: 52em;
  font-size: 0.78em; }
table.points th, table.points td { text-align: left; vertical-align: top;
  white-space: normal; overflow-wrap: break-word; line-height: 1.4;
  padding: 0.4em 0.5em; border-bottom: 1px solid #8884; }
table.points tr, table.points tr:nth-child(n) { background: none; }
table.points code { font-size: 0.95em; padding: 0; border: 0;
  background: none; color: inherit; }
table.points .record { white-space: nowrap; opacity: 0.8; }
</style>"""
# column -> its width in percent
RELEASED = {"point": 11, "the paper": 23, "released code": 20, "here": 24, "what it changes, recorded": 22}
UNRELEASED = {"point": 11, "the paper": 27, "released code": 9, "here": 28, "what it changes, recorded": 25}


@dataclass(frozen=True)
class Row:
    """A point: what the paper, the released code and this package make of it."""

    point: str
    paper: str
    code: str
    here: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    changes: changes.Change

    @property
    def open(self) -> bool:
        """Whether the paper leaves something open."""
        return "Open" in self.paper


@dataclass(frozen=True)
class System:
    """One paper: its modules and its rows."""

    name: str
    modules: tuple[str, ...]
    code_released: bool
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Page:
    """What the chapter shows: systems by name, and baseline -> module."""

    systems: Mapping[str, System]
    baselines: Mapping[str, str]

    def table(self, system: str) -> str:
        """Return the rows of a system as HTML, with links to lines and records."""
        found = self.systems[system]
        rows = "".join(_row(row, found, first=row is found.rows[0]) for row in found.rows)
        return _table(RELEASED if found.code_released else UNRELEASED, rows)

    def baseline_notes(self) -> str:
        """Return how the baselines differ from their papers and code, in the words of their docstrings, as HTML."""
        rows = (
            f"<tr><th>{name}</th><td>{heading.removeprefix('Differs from the ')}</td><td>{marked(note)}</td></tr>"
            for name, module in self.baselines.items()
            for heading, note in source_lines.notes(module)
        )
        return _table({"method": 16, "differs from": 16, "how": 68}, "".join(rows))

    def source(self) -> str:
        """Return the definitions that the tables link to, as HTML."""
        return source_lines.listing(
            line for system in self.systems.values() for row in system.rows for line in row.lines
        )

    def counts(self) -> pd.DataFrame:
        """Count the points of each system, and those for which a record says what they change."""
        counted = {
            name: {
                "points": len(system.rows),
                "the paper leaves something open": sum(row.open for row in system.rows),
                "of these measured": sum(row.open and bool(row.changes.records) for row in system.rows),
                "measured in all": sum(bool(row.changes.records) for row in system.rows),
            }
            for name, system in self.systems.items()
        }
        return pd.DataFrame(counted).T


def read(path: str | Path, results: str | Path | None = None) -> Page:
    """Read the rows, find the lines that they link to, and compute from records what each choice changes.

    Args:
        path: a TOML file, as explained above.
        results: the folder of records; None: `records.folder()`.

    Raises:
        ValueError: the file is no such TOML; names every row with what is wrong with it.

    Example:
        >>> page = read("paper-and-code.toml")                                                 # doctest: +SKIP
        >>> IPython.display.HTML(page.table("PaSeR"))                                          # doctest: +SKIP
    """
    path, results = Path(path), Path(results or records.folder())
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        entries = {name: dict(entry) for name, entry in content["systems"].items()}
    except (tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is not TOML with a table `systems`: {error}") from None
    systems, problems = {}, []
    for name, entry in entries.items():
        rows = []
        for row in entry.get("rows", []):
            try:
                rows.append(_read_row(row, results))
            except (LookupError, ValueError, TypeError) as error:
                problems.append(f"{path}: {name}, row {row.get('point')!r}: {error}")
        systems[name] = System(name, tuple(entry["modules"]), bool(entry["code_released"]), tuple(rows))
    if problems:
        raise ValueError("\n".join(problems))
    return Page(systems, content.get("baselines", {}))


def marked(text: str) -> str:
    """Convert text with `code` and [links](#) to HTML."""
    text = re.sub("`(.+?)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"\[([^]]+)\]\((#.+?)\)", r'<a href="\2">\1</a>', text)


def _read_row(row: Mapping[str, Any], results: Path) -> Row:
    if missing := [key for key in REQUIRED if not row.get(key)]:
        raise ValueError(f"it needs {', '.join(missing)}")
    if unknown := sorted(row.keys() - KEYS):
        raise ValueError(f"it may hold {', '.join(sorted(KEYS))}, and not {', '.join(unknown)}")
    point, paper, code, here = (" ".join(row.get(key, "–").split()) for key in ("point", "paper", "code", "here"))
    return Row(
        point,
        paper,
        code,
        here,
        tuple(source_lines.find(**line) for line in row["lines"]),
        tuple(row.get("notes", ())),
        changes.change(row.get("changes", ()), results),
    )


def _row(row: Row, system: System, *, first: bool) -> str:
    code = f"<td>{marked(row.code)}</td>"
    if not system.code_released:  # one cell for all rows
        code = f'<td rowspan="{len(system.rows)}">none released</td>' if first else ""
    changed = [marked(line) for line in row.changes.lines]
    changed += [f'<code class="record">{tables.linked(name, name)}</code>' for name in row.changes.records]
    links = ", ".join(
        f'<a href="#{line.anchor}">{line.file.rsplit("/", 1)[-1]}:{line.number}</a>' for line in row.lines
    )
    return (
        f"<tr><th>{marked(row.point)}</th><td>{marked(row.paper)}</td>{code}"
        f"<td>{marked(row.here)}<br>{links}</td><td>{'<br>'.join(changed)}</td></tr>"
    )


def _table(columns: Mapping[str, int], rows: str) -> str:
    widths = "".join(f'<col style="width: {width}%">' for width in columns.values())
    heads = "".join(f"<th>{name}</th>" for name in columns)
    return (
        f'{STYLE}<table class="points"><colgroup>{widths}</colgroup>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
