"""Tables for a page: recorded numbers as links to their records, and numbers of different origin side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from experiments.records import Record

# a link as `linked` makes it, or what opens a tag that tables do not have: texts of users are in cells, too
LINK = r'<a class="sentlab-record" href="records\.ipynb#record-[^"<>]*" title="[^"<>]*">[^<>]*</a>'
# of verdicts, as in the book's theme, light and dark; elsewhere what reads on white and on black
GOOD, BAD = "var(--pst-color-success, #0f8a5f)", "var(--pst-color-danger, #c8552b)"
COLOURS = {"holds": GOOD, "met": GOOD, "fails": BAD, "missed": BAD}
FOREIGN = re.compile(rf"({LINK})|<(?!/?(?:b|br|code|em|mark)>)")


def linked(text: str, name: str) -> str:
    """Return a recorded number as a link to its record, in HTML, as the cells of a table show it.

    It leads to the page of all records, which JupyterLab opens; in the built book the address ends in `.html`.

    Args:
        text: the number as it is shown, such as `54.3 ± 0.6`.
        name: of its record; of its sweep where several runs are behind it.
    """
    shown = "one run of a sweep" if name.startswith("sweeps/") else f"record {name}"  # whose name is a hash
    address = f"records.ipynb#record-{escape(name)}"
    return f'<a class="sentlab-record" href="{address}" title="{escape(shown)}">{escape(text)}</a>'


def origin(runs: Sequence[Record]) -> str:
    """Return the name that a number of these runs links to.

    It is the run's own for one run; for several it is their sweep's, or else the first's.

    Args:
        runs: one or more, of one sweep, or none of a sweep and of names that follow each other.
    """
    sweep = runs[0].sweep if len(runs) > 1 else ""
    return sweep or runs[0].name


def shown(rows: Sequence[Mapping[str, float]], runs: Sequence[Record] = ()) -> pd.Series:
    """Write mean and standard deviation as text, such as `54.3 ± 0.6`, or `54.3` where rows agree or there is one only.

    Args:
        rows: the scores of runs that differ in their seed, each task -> score.
        runs: these runs, where each number is to link to their record, as it does in every table of the book.
    """

    def text(task: pd.Series) -> str:
        number = f"{task['mean']:.1f}" + (f" ± {task['std']:.1f}" if task["std"] > 0 else "")
        return linked(number, origin(runs)) if runs else number

    table = pd.DataFrame(rows)
    return pd.DataFrame({"mean": table.mean(skipna=False), "std": table.std(skipna=False)}).T.apply(text)


def side_by_side(parts: Mapping[str, pd.DataFrame], caption: str, *, best: Sequence[str] | None = None) -> Any:
    """Make a table for a page in which numbers of different origin stand in separate blocks.

    Args:
        parts: origin, such as `the paper` -> its numbers, with equal names of rows for equal things. Numbers are shown
            with one decimal, text as in `left`, and what a part does not have as a dash.
        caption: what the numbers are.

        best: names of columns whose highest number is bold, in each block; None: no column.
    """
    table = _only_known_tags(pd.concat(parts, axis=1))
    for column in [place for place in table if place[-1] in (best or ())]:
        table[column] = _highest_bold(table[column])
    size = "font-size: 0.82em" if table.shape[1] > 8 else "font-size: 0.95em"  # a wide table has to fit the page
    look = [
        {"selector": "th, td", "props": f"white-space: nowrap; text-align: right; padding: 0.3em 0.4em; {size}"},
        {"selector": "th.row_heading", "props": "text-align: left; white-space: normal; min-width: 7em"},
        {"selector": "th.col_heading", "props": "white-space: normal"},
        {"selector": "th.col_heading.level0", "props": "text-align: center"},
    ]
    starts = [i for i in range(1, table.shape[1]) if table.columns[i][0] != table.columns[i - 1][0]]
    look += [{"selector": f".col{i}", "props": "border-left: 1px solid #8888; padding-left: 0.7em"} for i in starts]
    number = "{:.1f}".format
    return (
        table.style.format(lambda cell: number(cell) if isinstance(cell, float) else cell, na_rep="–")
        .set_caption(_known(caption))
        .set_table_styles(look)
    )


def left(table: pd.DataFrame, caption: str = "") -> Any:
    """Make a table of text: aligned to the left, with room between the columns.

    Args:
        table: its cells may be `linked`, and hold entities and the tags b, br, code, em and mark. Other tags are shown
            as text.
        caption: what it shows.
    """
    style = [{"selector": "th, td", "props": "text-align: left; vertical-align: top; padding-right: 0.8em"}]
    shown = _only_known_tags(table.rename_axis(index=None)).style.set_table_styles(style)
    return shown.set_caption(_known(caption)) if caption else shown


def coloured(verdict: str) -> str:
    """Return the style of a cell with a verdict, to which words in brackets may be added."""
    return f"font-weight: 600; color: {COLOURS.get(verdict.split(' (')[0], 'inherit')}"


def _highest_bold(column: pd.Series) -> pd.Series:
    numbers = column.map(_number)
    return column.where(
        numbers != numbers.max(),
        column.map(lambda cell: f"<b>{cell:.1f}</b>" if isinstance(cell, float) else f"<b>{cell}</b>"),
    )


def _number(cell: Any) -> float:
    """Return the number that a cell begins with; NaN where there is none."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return float(cell)
    found = re.match(r"[-+−]?\d+(\.\d+)?", re.sub(r"<[^<>]*>", "", cell)) if isinstance(cell, str) else None
    return float(found[0].replace("−", "-")) if found else float("nan")


def _only_known_tags(table: pd.DataFrame) -> pd.DataFrame:
    return table.map(_known).rename(index=_known, columns=_known)


def _known(cell: Any) -> Any:
    return FOREIGN.sub(lambda found: found[1] or "&lt;", cell) if isinstance(cell, str) else cell
