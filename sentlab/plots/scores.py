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
    means = table.groupby(setting, sort=False)[score].agg(["mean", "std"])
    with canvas(1, width=5.4, height=max(3.0, 0.28 * len(means))) as (figure, (axes,)):  # names need a line each
        if pd.api.types.is_numeric_dtype(table[setting]):
            axes.errorbar(means.index, means["mean"], means["std"].fillna(0.0), marker="o", color=PALETTE[0], capsize=3)
            axes.set(xlabel=setting, ylabel=score, xticks=list(means.index))
            mark = axes.axhline
        else:
            names = means.index.astype(str)
            axes.errorbar(means["mean"], names, xerr=means["std"].fillna(0.0), fmt="o", color=PALETTE[0], capsize=3)
            axes.invert_yaxis()
            axes.grid(axis="y", alpha=0.3)
            axes.set(xlabel=score)
            mark = axes.axvline
        if reference:
            mark(reference[1], color=GREY, ls="--", lw=1, label=reference[0])
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


def training_losses(losses: Sequence[Mapping[str, float]], names: Sequence[str], ylabel: str) -> Figure:
    """Draw some of `History.losses` by step: each recorded mean as a faint dot, and their running mean as a line."""
    table = pd.DataFrame(losses)
    window = max(5, len(table) // 10)
    with canvas(1, width=5.4) as (figure, (axes,)):
        for name, colour in zip(names, cycle(PALETTE), strict=False):
            axes.plot(table["step"], table[name], ".", color=colour, alpha=0.15, markersize=3)
            axes.plot(table["step"], table[name].rolling(window, min_periods=1).mean(), color=colour, label=name)
        axes.set(xlabel="step", ylabel=ylabel)
        if len(names) > 1:
            axes.legend()
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
