"""A paper's claims, held against recorded scores: every verdict is computed, and all stand in one table at the end."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import pandas as pd

from sentlab.report import tables

COLOURS = {"holds here": "#1b9e77", "the opposite here": "#d95f02"}


class Claims:
    """Collects verdicts. Each says its own when it is made."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def claim(self, where: str, text: str, difference: float, noise: float, *names: str) -> None:
        """Hold a claim against one difference.

        Args:
            where: the table or figure.
            text: the claim, true where the difference is above 0.
            difference: of two scores.
            noise: what the difference has to exceed, either way, to be one.
            names: of the records that these scores are from; the table links to them.
        """
        verdict = "too close to call"
        if abs(difference) > noise:
            verdict = "holds here" if difference > 0 else "the opposite here"
        row = {"where": where, "claim": text, "difference": difference, "noise": noise, "recorded": verdict}
        row["records"] = tuple(dict.fromkeys(names))
        self.rows.append(row)
        print(fill(f"{text}: {difference:+.1f} (noise {noise:.1f}) -> {verdict}", 78, subsequent_indent="    "))

    def compare(self, where: str, text: str, ours: pd.Series, theirs: pd.Series) -> None:
        """Hold "ours are higher than theirs" against the scores of several seeds each.

        The noise is twice the standard error of the difference of the means.

        Args:
            ours, theirs: a score a seed, two or more; the name of the Series is that of their record.
        """
        error = float((ours.var() / len(ours) + theirs.var() / len(theirs)) ** 0.5)
        names = [str(side.name) for side in (ours, theirs) if side.name]
        self.claim(where, text, float(ours.mean() - theirs.mean()), 2 * error, *names)

    def table(self, caption: str) -> Any:
        """All of them, as a page shows them, with links to the records: a difference comes from more than one."""

        def colour(verdict: str) -> str:
            return f"font-weight: 600; color: {COLOURS.get(verdict, 'inherit')}"

        def links(names: tuple[str, ...]) -> str:
            return "<br>".join(tables.linked(name, name) for name in names)

        formats = {"difference": "{:+.1f}", "noise": "{:.1f}", "records": links}
        shown = pd.DataFrame(self.rows).style.hide().format(formats)
        look = [
            {"selector": "th, td", "props": "text-align: left; font-size: 0.85em"},
            {"selector": "td:last-child", "props": "font-size: 0.75em"},
        ]
        return shown.map(colour, subset=["recorded"]).set_caption(caption).set_table_styles(look)
