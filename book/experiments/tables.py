"""Tables for a page: recorded numbers as links to their records, and numbers of different origin side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from experiments.scorecard import NOT_RUN, ClaimResult, ScorecardRecord

# a link as `linked` makes it, or what opens a tag that tables do not have: texts of users are in cells, too
LINK = r'<a class="sentlab-record" href="records\.ipynb#record-[^"<>]*" title="[^"<>]*">[^<>]*</a>'
FOREIGN = re.compile(rf"({LINK})|<(?!/?(?:b|br|code|em|mark)>)")
# of verdicts, as in the book's theme, light and dark; elsewhere what reads on white and on black
GOOD, BAD = "var(--pst-color-success, #0f8a5f)", "var(--pst-color-danger, #c8552b)"
COLOURS = {"holds": GOOD, "met": GOOD, "fails": BAD, "missed": BAD}


def linked(text: str, name: str) -> str:
    """Return a recorded number, such as `54.3 ± 0.6`, as a link to its record, in HTML, for the cells of a table.

    It leads to the page of all records, which JupyterLab opens; in the built book the address ends in `.html`.
    """
    address = f"records.ipynb#record-{escape(name)}"
    return f'<a class="sentlab-record" href="{address}" title="record {escape(name)}">{escape(text)}</a>'


def origin(runs: Sequence[Any]) -> str:
    """Return the name that a number of these runs, of one record, links to: the run's own, or that of their sweep."""
    return (len(runs) > 1 and runs[0].sweep) or runs[0].name


def shown(rows: Sequence[Mapping[str, float]], runs: Sequence[Any] = ()) -> pd.Series:
    """Write mean and standard deviation as text, such as `54.3 ± 0.6`, or `54.3` where rows agree or there is one only.

    `rows`: the scores, task -> score, of runs that differ in their seed. `runs`: these, to whose record numbers link.
    """

    def text(task: pd.Series) -> str:
        spread = task.std(skipna=False)
        number = f"{task.mean(skipna=False):.1f}" + (f" ± {spread:.1f}" if spread > 0 else "")
        return linked(number, origin(runs)) if runs else number

    return pd.DataFrame(rows).apply(text)


def side_by_side(parts: Mapping[str, pd.DataFrame], caption: str, *, best: Sequence[str] = ()) -> Any:
    """Make a table for a page in which numbers of different origin stand in separate blocks.

    `parts`: origin, such as `the paper` -> its numbers, with equal names of rows for equal things. Numbers are shown
    with one decimal, text as in `left`, what a part lacks as a dash. `best`: columns whose highest number is bold.
    """
    table = _only_known_tags(pd.concat(parts, axis=1)).rename_axis(index=None)
    for column in [place for place in table if place[-1] in best]:
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
    styled = table.style.format(lambda cell: f"{cell:.1f}" if isinstance(cell, float) else cell, na_rep="–")
    return styled.set_caption(_known(caption)).set_table_styles(look)


def printed(table: pd.DataFrame, caption: str, absent: Mapping[str, str], *, best: Sequence[str] = ()) -> Any:
    """Show a paper's table, as `side_by_side` does. Rows that cannot be had here, `absent`, row -> why, are grey."""
    grey = "; ".join(f"{row}: {reason}" for row, reason in absent.items())
    table = side_by_side({"the paper, BERT-base": table}, f"{caption}. Grey, not here: {grey}", best=best)
    mute = "color: var(--pst-color-text-muted, #6b6b6b)"
    return table.map(lambda _: mute, subset=pd.IndexSlice[list(absent), :])


def left(table: pd.DataFrame, caption: str = "") -> Any:
    """Make a table of text: aligned to the left, with room between the columns.

    Its cells may be `linked`, and hold entities and the tags b, br, code, em and mark. Other tags are shown as text.
    """
    style = [{"selector": "th, td", "props": "text-align: left; vertical-align: top; padding-right: 0.8em"}]
    styled = _only_known_tags(table.rename_axis(index=None)).style.set_table_styles(style)
    return styled.set_caption(_known(caption)) if caption else styled


def claims(record: ScorecardRecord, paper: str) -> list[ClaimResult]:
    """Return the results of the claims of a paper, which the record names, such as `PaSeR`."""
    return [claim for claim in record.results.claims if claim.paper == paper]


def scorecard(record: ScorecardRecord, paper: str, only: Sequence[str] = ()) -> Any:
    """Show a paper's claims: the effect that it prints, and for each encoder ours with its 95% interval, and a verdict.

    `paper`: such as `PaSeR`. `only`: texts of claims, or the tables of the paper that they are about; empty: all.
    """
    results = claims(record, paper)
    if only:
        results = [each for each in results if {each.text, each.where.removeprefix("control of ")} & {*only}]
    encoders = list(dict.fromkeys(encoder for claim in results for encoder in claim.found))
    at_start = {"ours": "first side", "theirs": "other side", "both": "both sides"}  # which its training did not help
    rows = []
    for claim in results:
        printed = "–" if claim.printed is None else f"{claim.printed:+.1f}"
        where = f"{claim.where}; {claim.stand_in}" if claim.stand_in else claim.where
        row = {"claim": f"{claim.text} <em>({where})</em>", "paper": printed}
        for encoder in encoders:
            effect, verdict, test = "–", "–", claim.found.get(encoder)
            if test and test.verdict != NOT_RUN and test.difference is not None:
                effect = linked(f"{test.difference:+.1f}", record.name)
                effect += "" if test.low is None else f" [{test.low:+.1f},\u00a0{test.high:+.1f}]"
            if test or claim.untested:
                kept = f" ({at_start[test.at_start]} at step 0)" if test and test.at_start else ""
                verdict = claim.verdict(encoder) + kept
            row |= {encoder: effect, f"on {encoder}": verdict}
        rows.append(row)
    table = left(pd.DataFrame(rows), f"{paper}: effects, scores × 100").hide(axis="index")
    return table.map(coloured, subset=[f"on {encoder}" for encoder in encoders])


def coloured(verdict: str) -> str:
    """Return the style of a cell with a verdict, to which words in brackets may be added."""
    return f"font-weight: 600; color: {COLOURS.get(verdict.split(' (')[0], 'inherit')}"


def _highest_bold(column: pd.Series) -> pd.Series:
    texts = column.astype(str).str.replace(r"<[^<>]*>", "", regex=True).str.replace("−", "-")
    numbers = texts.str.extract(r"^([-+]?\d+(?:\.\d+)?)", expand=False).astype(float)  # what a cell begins with
    bold = column.map(lambda cell: f"<b>{cell:.1f}</b>" if isinstance(cell, float) else f"<b>{cell}</b>")
    return column.where(numbers != numbers.max(), bold)


def _only_known_tags(table: pd.DataFrame) -> pd.DataFrame:
    return table.map(_known).rename(index=_known, columns=_known)


def _known(cell: Any) -> Any:
    return FOREIGN.sub(lambda tag: tag[1] or "&lt;", cell) if isinstance(cell, str) else cell
