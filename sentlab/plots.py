"""Results in, a matplotlib Figure out, all in one style. Figures stand on white, so that they read in dark mode too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

PALETTE = sns.color_palette("colorblind")
STYLE: Any = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 110,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "font.size": 10,
}


@contextmanager
def _panels(count: int, width: float = 3.2, height: float = 3.0) -> Iterator[tuple[Figure, list[Any]]]:
    """A figure with `count` panels side by side, closed (but kept) at the end so that notebooks show it once."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, count, figsize=(max(4.8, width * count), height), sharey=True, squeeze=False)
        yield figure, list(axes[0])
        figure.tight_layout()
        plt.close(figure)


def cosine_by_gold(gold: np.ndarray, cosines: Mapping[str, np.ndarray], levels: Sequence[float] = range(6)) -> Figure:
    """Densities of cosine by gold level, a panel an encoder (PaSeR, Fig. 5; Gao et al. 2021, Fig. 3).

    Args:
        gold: gold similarities, (n,).
        cosines: encoder -> cosines of the same pairs, (n,).
        levels: borders of the levels; the last level includes its upper border.
    """
    with _panels(len(cosines)) as (figure, panels):
        colours = sns.color_palette("viridis", len(levels) - 1)
        level = np.clip(np.digitize(gold, levels) - 1, 0, len(levels) - 2)
        for axes, (name, values) in zip(panels, cosines.items(), strict=True):
            for i, colour in enumerate(colours):
                label = f"{levels[i]:g}–{levels[i + 1]:g}"
                sns.kdeplot(values[level == i], ax=axes, color=colour, label=label, fill=True, alpha=0.2, clip=(-1, 1))
            axes.set(title=name, xlabel="cosine similarity", ylabel="density")
        panels[-1].legend(title="gold", loc="upper left")
    return figure


def cosine_violins(table: pd.DataFrame, group: str, kind: str) -> Figure:
    """Densities of cosine by group, one line a group, with one of two kinds above the line and the other below it.

    Every shape has the same height, so that very narrow and wide ones can stand in one figure.

    Args:
        table: a row a pair, with the columns `cosine`, `group` and `kind`.
        group, kind: names of columns; `kind` holds two values.
    """
    with _panels(1, width=6.4, height=1.0 + 0.55 * table[group].nunique()) as (figure, (axes,)):
        sns.violinplot(
            table, x="cosine", y=group, hue=kind, ax=axes, palette=PALETTE[:2], split=True, density_norm="width",
            inner=None, linewidth=0.8, saturation=1, cut=0, orient="h",
        )  # fmt: skip
        axes.set(xlabel="cosine similarity", ylabel="")
        axes.legend(title=None, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def training_curves(runs: Mapping[str, Sequence[Mapping[str, float]]], ylabel: str) -> Figure:
    """Dev score by step, a line a run; the best of each is marked.

    Args:
        runs: name -> rows with `step` and `score`, as `History.dev`.
    """
    with _panels(1, width=6.4) as (figure, (axes,)):
        for (name, rows), colour in zip(runs.items(), PALETTE, strict=False):
            steps, scores = [row["step"] for row in rows], [row["score"] for row in rows]
            axes.plot(steps, scores, color=colour, label=name, linewidth=1.5)
            best = int(np.argmax(scores))
            axes.plot(steps[best], scores[best], "o", color=colour, markersize=5)
        axes.set(xlabel="step", ylabel=ylabel)
        if len(runs) > 1:
            axes.legend(loc="lower right")
    return figure


def training_losses(losses: Sequence[Mapping[str, float]], name: str, ylabel: str) -> Figure:
    """One loss by step: each recorded mean as a faint dot, and their running mean over 50 as a line.

    Args:
        losses: rows with `step` and the loss, as `History.losses`.
        name: which loss.
    """
    table = pd.DataFrame(losses)
    with _panels(1, width=6.4) as (figure, (axes,)):
        axes.plot(table["step"], table[name], ".", color=PALETTE[0], alpha=0.15, markersize=3)
        axes.plot(table["step"], table[name].rolling(50, min_periods=1).mean(), color=PALETTE[0])
        axes.set(xlabel="step", ylabel=ylabel)
    return figure


def agreement(table: pd.DataFrame, x: str, y: str, hue: str) -> Figure:
    """One labelled point a row: how far two measurements rank the rows alike."""
    with _panels(1, width=6.0, height=4.0) as (figure, (axes,)):
        sns.scatterplot(table, x=x, y=y, hue=hue, style=hue, ax=axes, palette=PALETTE[: table[hue].nunique()], s=60)
        axes.legend(title=None, loc="best")
    return figure
