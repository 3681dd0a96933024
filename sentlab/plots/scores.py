"""Scores of runs: over a setting, over time, against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, product

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from sentlab.plots.style import GREY, PALETTE, canvas


def sweep(table: pd.DataFrame, score: str, reference: tuple[str, float] | None = None) -> Figure:
    """Draw what a setting does to a score: a line over numbers, or dots by name, with the spread over seeds.

    Args:
        table: one row per run, with two columns: the setting, and the score.
        score: the column to show.
        reference: the name and the score of a dashed line.
    """
    (setting,) = (name for name in table.columns if name != score)
    if table[setting].isna().any():  # such as a baseline without a view
        table = table.assign(**{setting: ["none" if pd.isna(value) else str(value) for value in table[setting]]})
    dots = {"errorbar": "sd", "color": PALETTE[0], "markersize": 6, "linewidth": 1.5}
    with canvas(1, width=5.4, height=max(3.0, 0.28 * table[setting].nunique())) as (figure, (axes,)):
        numbers = pd.api.types.is_numeric_dtype(table[setting])
        if numbers:
            sns.pointplot(table, x=setting, y=score, ax=axes, native_scale=True, **dots)
            values = sorted(table[setting].unique())
            scale = "log" if 0 < values[0] < values[-1] < 1 else "linear"  # learning rates lie far apart
            axes.set(xscale=scale, xticks=values, xticklabels=[f"{value:g}" for value in values])
        else:  # names need a line each
            sns.pointplot(table.astype({setting: str}), x=score, y=setting, ax=axes, linestyle="none", **dots)
            axes.set(ylabel="")
            axes.grid(axis="y", alpha=0.3)
        if reference:
            (axes.axhline if numbers else axes.axvline)(reference[1], color=GREY, ls="--", lw=1, label=reference[0])
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1))
    return figure


def training_curves(runs: Mapping[str, Sequence[Mapping[str, float]]], ylabel: str) -> Figure:
    """Draw the dev score by step, one line per run (rows with `step` and `score`, as `History.dev`), and its best."""
    with canvas(1, width=5.4) as (figure, (axes,)):
        for (name, rows), colour in zip(runs.items(), cycle(PALETTE), strict=False):
            steps, scores = [row["step"] for row in rows], [row["score"] for row in rows]
            axes.plot(steps, scores, color=colour, label=name, linewidth=1.5)
            if np.isfinite(scores).any():
                best = int(np.nanargmax(scores))
                axes.plot(steps[best], scores[best], "o", color=colour, markersize=5)
        axes.set(xlabel="step", ylabel=ylabel)
        if len(runs) > 1:
            axes.legend(loc="best")
    return figure


def curves(table: pd.DataFrame, x: str | Sequence[str], ys: Sequence[str], hue: str) -> Figure:
    """Draw a panel for each x and y and a line for each value of `hue`; rows of several seeds form a band."""
    shown = list(product([x] if isinstance(x, str) else x, ys))
    with canvas(len(shown), width=2.7 if len(shown) > 1 else 5.4, sharey=len(ys) == 1) as (figure, panels):
        for axes, (across, y) in zip(panels, shown, strict=True):
            sns.lineplot(
                table, x=across, y=y, hue=hue, style=hue, ax=axes, palette=PALETTE[: table[hue].nunique()],
                errorbar=("sd", 1), legend="full" if axes is panels[0] else False,
            )  # fmt: skip
            axes.set(title=y if len(ys) > 1 else "", ylabel="" if len(ys) > 1 else y)
        handles = panels[0].get_legend_handles_labels()
        panels[0].get_legend().remove()
        figure.legend(*handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=min(3, table[hue].nunique()))
    return figure
