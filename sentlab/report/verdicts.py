"""A paper's claims checked against recorded scores: every verdict is computed, and one table lists them all."""

from __future__ import annotations

from math import isnan
from textwrap import fill
from typing import Any

import pandas as pd

from sentlab.report import tables

COLOURS = {"holds here": "#1b9e77", "the opposite here": "#d95f02"}


def verdict_of(difference: float, *, significant: bool) -> str:
    """Return the verdict on a claim that says that a difference is above 0."""
    if not significant:
        return "too close to call"
    return "holds here" if difference > 0 else "the opposite here"


class Claims:
    """Collect verdicts; each is printed when it is made.

    Example:
        >>> claims = Claims()
        >>> claims.claim("Table 1", "six layers beat one", difference=2.0, noise=1.3)
        six layers beat one: +2.0 (noise 1.3) -> holds here
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def claim(self, where: str, text: str, difference: float, noise: float, *names: str) -> None:
        """Check a claim against one difference of scores. It holds where the difference exceeds the noise.

        Args:
            where: the table or figure.
            text: the claim; it says that the difference is above 0.
            difference, noise: in the same unit. A difference within the noise, either way, decides nothing.
            names: records that the scores come from; the table links to them.

        Raises:
            ValueError: the difference or the noise is NaN.
        """
        if isnan(difference) or isnan(noise):
            raise ValueError(f"{text!r} ({where}) has the difference {difference} and the noise {noise}: no verdict")
        verdict = verdict_of(difference, significant=abs(difference) > noise)
        row = {"where": where, "claim": text, "difference": difference, "noise": noise, "recorded": verdict}
        row["records"] = tuple(dict.fromkeys(names))
        self.rows.append(row)
        print(fill(f"{text}: {difference:+.1f} (noise {noise:.1f}) -> {verdict}", 78, subsequent_indent="    "))

    def compare(self, where: str, text: str, ours: pd.Series, theirs: pd.Series) -> None:
        """Check the claim that ours are higher than theirs against the scores of several seeds each.

        The noise is twice the standard error of the difference of the means.

        Args:
            ours, theirs: one score per seed, two or more. The name of a Series is that of its record.

        Raises:
            ValueError: a side has fewer than two scores, so that there is no noise to compare with.
        """
        if min(len(ours), len(theirs)) < 2:
            raise ValueError(f"{text!r} ({where}) needs two seeds or more on each side: use `claim` with a noise")
        error = float((ours.var() / len(ours) + theirs.var() / len(theirs)) ** 0.5)
        names = [str(side.name) for side in (ours, theirs) if side.name]
        self.claim(where, text, float(ours.mean() - theirs.mean()), 2 * error, *names)

    def table(self, caption: str) -> Any:
        """Return all verdicts as a styled table with links to the records."""

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
