"""A paper's claims, held against recorded scores: every verdict is computed, and all stand in one table at the end."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import pandas as pd

COLOURS = {"holds here": "#1b9e77", "the opposite here": "#d95f02"}


class Claims:
    """Collects verdicts. Each says its own when it is made."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def claim(self, where: str, text: str, difference: float, noise: float) -> None:
        """Hold a claim against one difference.

        Args:
            where: the table or figure.
            text: the claim, true where the difference is above 0.
            difference: of two scores.
            noise: what the difference has to exceed, either way, to be one.
        """
        verdict = "too close to call"
        if abs(difference) > noise:
            verdict = "holds here" if difference > 0 else "the opposite here"
        row = {"where": where, "claim": text, "difference": difference, "noise": noise, "recorded": verdict}
        self.rows.append(row)
        print(fill(f"{text}: {difference:+.1f} (noise {noise:.1f}) -> {verdict}", 78, subsequent_indent="    "))

    def compare(self, where: str, text: str, ours: pd.Series, theirs: pd.Series) -> None:
        """Hold "ours are higher than theirs" against the scores of several seeds each.

        The noise is twice the standard error of the difference of the means.

        Args:
            ours, theirs: a score a seed, two or more.
        """
        error = float((ours.var() / len(ours) + theirs.var() / len(theirs)) ** 0.5)
        self.claim(where, text, float(ours.mean() - theirs.mean()), 2 * error)

    def table(self, caption: str) -> Any:
        """All of them, as a page shows them."""

        def colour(verdict: str) -> str:
            return f"font-weight: 600; color: {COLOURS.get(verdict, 'inherit')}"

        shown = pd.DataFrame(self.rows).style.hide().format({"difference": "{:+.1f}", "noise": "{:.1f}"})
        left = [{"selector": "th, td", "props": "text-align: left"}]
        return shown.map(colour, subset=["recorded"]).set_caption(caption).set_table_styles(left)
