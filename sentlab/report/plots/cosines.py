"""How the cosines of pairs spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from sentlab.evaluation.sts import BINS, LEVELS, Geometry
from sentlab.report.plots.style import PALETTE, canvas


def cosine_by_gold(geometries: Mapping[str, Geometry]) -> Figure:
    """Draw the density of cosines at each gold level, one panel per encoder (PaSeR, Fig. 5; Gao et al. 2021, Fig. 3).

    Args:
        geometries: encoder -> its `geometry` on one corpus.
    """
    with canvas(len(geometries)) as (figure, panels):
        for axes, (name, found) in zip(panels, geometries.items(), strict=True):
            draw_densities(axes, found)
            axes.set(title=name, xlabel="cosine similarity", ylabel="density")
        panels[-1].legend(title="gold", loc="upper left")
    return figure


def draw_densities(axes: Any, found: Geometry) -> None:
    """Draw the density of cosines at each gold level into one panel."""
    edges = np.linspace(-1.0, 1.0, BINS + 1)
    centres = (edges[:-1] + edges[1:]) / 2
    for i, (counts, colour) in enumerate(
        zip(np.array(found.counts), sns.color_palette("viridis", LEVELS), strict=True)
    ):
        held = counts > 0  # empty bins would stretch the picture over the whole range
        if held.sum() > 1:  # one bin has no density
            sns.kdeplot(
                x=centres[held], weights=counts[held], ax=axes, color=colour,
                label=f"{i}–{i + 1}", fill=True, alpha=0.2, clip=(-1, 1),
            )  # fmt: skip


def cosine_ridges(geometries: Mapping[str, Geometry]) -> Figure:
    """Draw the density of cosines at each gold level, one line per encoder, all on one scale of cosines.

    Args:
        geometries: encoder -> its `geometry` on one corpus. Each line has the same height.
    """
    with canvas(len(geometries), width=6.8, height=0.8, columns=1, sharex=True, sharey=False) as (figure, panels):
        for axes, (name, found) in zip(panels, geometries.items(), strict=True):
            draw_densities(axes, found)
            axes.set(yticks=[], ylabel="")
            axes.spines["left"].set_visible(False)
            axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
        panels[-1].set(xlabel="cosine similarity")
        panels[0].legend(title="gold", loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=5, fontsize=9)
    return figure


def cosine_violins(table: pd.DataFrame, group: str, kind: str) -> Figure:
    """Draw the density of cosines of each group on its own line: one of two kinds above it, the other below.

    All shapes have the same height, so that narrow and wide ones fit into one figure.

    Args:
        table: one row per pair, with the columns `cosine`, `group` and `kind`.
        group, kind: names of columns; `kind` holds two values.
    """
    with canvas(1, width=6.4, height=1.0 + 0.55 * table[group].nunique()) as (figure, (axes,)):
        sns.violinplot(
            table, x="cosine", y=group, hue=kind, ax=axes, palette=PALETTE[:2], split=True, density_norm="width",
            inner=None, linewidth=0.8, saturation=1, cut=0, orient="h",
        )  # fmt: skip
        axes.set(xlabel="cosine similarity", ylabel="")
        axes.legend(title=None, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure
