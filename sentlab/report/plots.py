"""Results in, a matplotlib Figure out, all in one style. Figures stand on white, so that they read in dark mode too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from sentlab.evaluation.sts import BINS, LEVELS, Geometry
from sentlab.experiments.records import LeaderboardRecord
from sentlab.experiments.results import BoardColumn
from sentlab.files import replacing

PALETTE = sns.color_palette("colorblind")
LEVEL = 0.05  # of a test
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
def _panels(
    count: int, width: float = 3.2, height: float = 3.0, *, columns: int = 0, sharex: bool = False, sharey: bool = True
) -> Iterator[tuple[Figure, list[Any]]]:
    """A figure with `count` panels, closed (but kept) at the end so that notebooks show it once.

    Args:
        width, height: of a panel, in inches.
        columns: panels side by side; 0: all of them.
    """
    columns = columns or count
    rows = -(-count // columns)
    with plt.rc_context(STYLE):
        size = max(4.8, width * columns), height * rows
        figure, grid = plt.subplots(rows, columns, figsize=size, sharex=sharex, sharey=sharey, squeeze=False)
        for unused in grid.flat[count:]:
            unused.remove()
        yield figure, list(grid.flat[:count])
        figure.tight_layout()
        plt.close(figure)


def cosine_by_gold(geometries: Mapping[str, Geometry]) -> Figure:
    """Densities of cosine by gold level, a panel an encoder (PaSeR, Fig. 5; Gao et al. 2021, Fig. 3).

    Args:
        geometries: encoder -> its `geometry` on one corpus.
    """
    with _panels(len(geometries)) as (figure, panels):
        for axes, (name, found) in zip(panels, geometries.items(), strict=True):
            draw_densities(axes, found)
            axes.set(title=name, xlabel="cosine similarity", ylabel="density")
        panels[-1].legend(title="gold", loc="upper left")
    return figure


def draw_densities(axes: Any, found: Geometry) -> None:
    """The density of cosines of each gold level, into a panel."""
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


def alignment_uniformity(geometries: Mapping[str, Geometry], scores: Mapping[str, float], label: str) -> Figure:
    """The plane of uniformity and alignment, a labelled point an encoder; lower left is better (PaSeR, Fig. 6).

    Args:
        geometries: encoder -> its `geometry`.
        scores: encoder -> the score that colours its point.
        label: what the score is.
    """
    with _panels(1, width=6.4, height=4.2) as (figure, (axes,)):
        x, y = ([getattr(found, name) for found in geometries.values()] for name in ("uniformity", "alignment"))
        points = axes.scatter(x, y, c=[scores[name] for name in geometries], cmap="viridis", s=60, zorder=3)
        axes.margins(0.15)
        axes.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
        figure.colorbar(points, label=label)
        figure.tight_layout()  # before labels find their places
        _label_apart(axes, [f"{name} ({scores[name]:.1f})" for name in geometries], list(zip(x, y, strict=True)))
    return figure


def _label_apart(axes: Any, labels: Sequence[str], points: Sequence[tuple[float, float]]) -> None:
    """Label points, each as near as it goes without covering a point or a label before it."""
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in axes.transData.transform(points)]
    ways = [(7 * far * x, 6 * far * y) for far in range(1, 9) for y in (1, -1, 0, 2, -2) for x in (1, -1)]
    for label, point in zip(labels, points, strict=True):
        line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
        text = axes.annotate(
            label, point, ways[0], textcoords="offset points", fontsize=8, va="center", arrowprops=line
        )
        for x, y in [*ways, ways[0]]:  # the first one again where there is no room
            text.set(position=(x, y), ha="left" if x > 0 else "right")
            text.get_window_extent()  # moves it there
            box = Text.get_window_extent(text)  # without the line
            if axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max) and not box.count_overlaps(taken):
                break
        taken.append(box)


def sweep(table: pd.DataFrame, score: str) -> Figure:
    """What a setting does to a score: a line over one setting, with the spread over seeds, or a map over two.

    Args:
        table: a row a run; every column but `score` and `seed` is a setting, one or two of them.
        score: the column to show.

    Raises:
        ValueError: the table has no setting, or more than two.
    """
    settings = [name for name in table.columns if name not in (score, "seed")]
    if len(settings) not in (1, 2):
        raise ValueError(f"a sweep is drawn over one setting or two, not over {', '.join(settings) or 'none'}")
    means = table.groupby(settings, sort=False)[score].agg(["mean", "std"])
    with _panels(1, width=6.0) as (figure, (axes,)):
        if len(settings) == 2:
            grid = means["mean"].unstack()
            sns.heatmap(grid, annot=True, fmt=".1f", cmap="viridis", ax=axes, cbar_kws={"label": score})
        elif pd.api.types.is_numeric_dtype(table[settings[0]]):
            axes.errorbar(means.index, means["mean"], means["std"].fillna(0.0), marker="o", color=PALETTE[0], capsize=3)
            axes.set(xlabel=settings[0], ylabel=score, xticks=list(means.index))
        else:
            names = means.index.astype(str)
            axes.errorbar(means["mean"], names, xerr=means["std"].fillna(0.0), fmt="o", color=PALETTE[0], capsize=3)
            axes.invert_yaxis()
            axes.grid(axis="y", alpha=0.3)
            axes.set(xlabel=score)
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


def map_of_meanings(planes: Mapping[str, np.ndarray], table: pd.DataFrame) -> Figure:
    """Texts in a plane, a panel an encoder: the colour is a text's meaning, the marker its level.

    Args:
        planes: encoder -> its points (n, 2), such as UMAP gives.
        table: a row a text, with the columns `meaning` and `level`.
    """
    with _panels(len(planes), width=4.6, height=4.4) as (figure, panels):
        for axes, (name, points) in zip(panels, planes.items(), strict=True):
            last = axes is panels[-1]
            x, y = ((points - points.min(axis=0)) / np.ptp(points, axis=0)).T  # its scale means nothing
            sns.scatterplot(
                table.assign(x=x, y=y), x="x", y="y", hue="meaning", style="level", s=55, ax=axes,
                palette=sns.color_palette("husl", table["meaning"].nunique()), legend="full" if last else False,
            )  # fmt: skip
            axes.set(title=name, xlabel="", ylabel="", xticks=[], yticks=[])
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return figure


def pair_planes(
    planes: Mapping[str, np.ndarray],
    pairs: tuple[np.ndarray, np.ndarray],
    alike: np.ndarray,
    right: Mapping[str, float],
) -> Figure:
    """Where classifiers call a pair of numbers in [-1, 1] alike, a panel a classifier, with some pairs as dots.

    Args:
        planes: classifier -> probability over a square grid, rows by the second number.
        pairs: n first and n second numbers.
        alike: (n,), whether they are, which is the colour of a dot.
        right: classifier -> the share of pairs it has right, in %.
    """
    with _panels(len(planes), width=2.5, height=2.9) as (figure, panels):
        for axes, (name, plane) in zip(panels, planes.items(), strict=True):
            axes.imshow(plane, extent=(-1, 1, -1, 1), origin="lower", cmap="Blues", vmin=0, vmax=1, alpha=0.8)
            for found, colour in ((False, "white"), (True, "black")):
                own = alike == found
                axes.scatter(pairs[0][own], pairs[1][own], s=6, color=colour, edgecolor="grey", linewidth=0.3)
            axes.set(title=f"[{name.replace(',', '; ')}]  {right[name]:.0f} %", xlabel="u", ylabel="")
        panels[0].set(ylabel="v")
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


def training_losses(losses: Sequence[Mapping[str, float]], names: Sequence[str], ylabel: str) -> Figure:
    """Losses by step: each recorded mean as a faint dot, and a running mean of them as a line.

    Args:
        losses: rows with `step` and the losses, as `History.losses`.
        names: which losses.
    """
    table = pd.DataFrame(losses)
    window = max(5, len(table) // 10)
    with _panels(1, width=6.4) as (figure, (axes,)):
        for name, colour in zip(names, PALETTE, strict=False):
            axes.plot(table["step"], table[name], ".", color=colour, alpha=0.15, markersize=3)
            axes.plot(table["step"], table[name].rolling(window, min_periods=1).mean(), color=colour, label=name)
        axes.set(xlabel="step", ylabel=ylabel)
        if len(names) > 1:
            axes.legend()
    return figure


def curves(table: pd.DataFrame, x: str, ys: Sequence[str], hue: str) -> Figure:
    """Lines, a panel a measurement and a colour a value of `hue`; rows that differ in nothing else (seeds) are a band.

    Args:
        table: a row a point.
        x, ys, hue: names of columns.
    """
    with _panels(len(ys), width=4.4 if len(ys) > 1 else 6.4, sharey=False) as (figure, panels):
        for axes, y in zip(panels, ys, strict=True):
            sns.lineplot(
                table, x=x, y=y, hue=hue, style=hue, ax=axes, palette=PALETTE[: table[hue].nunique()],
                errorbar=("sd", 1), legend="full" if axes is panels[-1] else False,
            )  # fmt: skip
            axes.set(title=y if len(ys) > 1 else "", ylabel="" if len(ys) > 1 else y)
        panels[-1].legend(title=None, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def attention(weights: Mapping[str, np.ndarray], tokens: Sequence[str], rows: str) -> Figure:
    """What attends to which token, a panel an encoder; a row's colours are relative to attending to all alike.

    Args:
        weights: encoder -> weights (n, L), each row of which adds up to 1.
        tokens: L of them.
        rows: what the rows are.
    """
    with _panels(len(weights), width=3.6, height=3.4) as (figure, panels):
        for axes, (name, found) in zip(panels, weights.items(), strict=True):
            sns.heatmap(
                found * len(tokens), ax=axes, cmap="vlag", center=1.0, vmin=0.0, vmax=3.0, xticklabels=list(tokens),
                yticklabels=False, cbar=axes is panels[-1], cbar_kws={"label": "weight, in shares of 1 / L"},
            )  # fmt: skip
            axes.set(title=name, xlabel="", ylabel=rows if axes is panels[0] else "")
            axes.tick_params(axis="x", rotation=90)
    return figure


def agreement(table: pd.DataFrame, x: str, y: str, hue: str) -> Figure:
    """One labelled point a row: how far two measurements rank the rows alike."""
    with _panels(1, width=6.0, height=4.0) as (figure, (axes,)):
        sns.scatterplot(table, x=x, y=y, hue=hue, style=hue, ax=axes, palette=PALETTE[: table[hue].nunique()], s=60)
        axes.legend(title=None, loc="best")
    return figure


def span_scores(scores: Mapping[str, np.ndarray], words: Sequence[str]) -> Figure:
    """The cosine of a phrase with every span of a text, a panel an encoder; the best span is framed.

    A column is a span's first word and a row its last: single words are on the diagonal, longer spans further below it.
    All panels have the same scale of colours.

    Args:
        scores: encoder -> (W, K), row i and column k the span of k + 1 words from word i on, -inf where there is none
            (`sentlab.spans.span_scores`).
        words: W of them.
    """
    grids = {}  # (W, W): row j and column i the span from word i to word j
    for name, found in scores.items():
        first, more = np.nonzero(np.isfinite(found))
        grids[name] = np.full((len(words), len(words)), np.nan)
        grids[name][first + more, first] = found[first, more]
    drawn = list(grids.values())
    low, high = np.nanmin(drawn), np.nanmax(drawn)
    with _panels(len(scores), width=4.4, height=4.6) as (figure, panels):
        for axes, (name, grid) in zip(panels, grids.items(), strict=True):
            bar = axes.inset_axes((0.84, 0.5, 0.03, 0.45)) if axes is panels[-1] else None  # where there are no spans
            sns.heatmap(
                grid, ax=axes, cmap="viridis", vmin=low, vmax=high, xticklabels=list(words), yticklabels=list(words),
                cbar=bar is not None, cbar_ax=bar, cbar_kws={"label": "cosine"},
            )  # fmt: skip
            best, longer = divmod(int(scores[name].argmax()), scores[name].shape[1])
            axes.add_patch(Rectangle((best, best + longer), 1, 1, fill=False, edgecolor="red", linewidth=2))
            axes.set(title=name, xlabel="first word of the span", ylabel="last word" if axes is panels[0] else "")
            axes.tick_params(labelsize=7)
            axes.tick_params(axis="x", rotation=90)
    return figure


def leaderboard(columns: Mapping[str, BoardColumn], beside: Sequence[str] = ()) -> Figure:
    """Scores and their intervals, a panel a column; filled points do not differ significantly from the best.

    Args:
        columns: of the results of a leaderboard. Significant is a p below 0.05.
        beside: rows that do not compete; they are grey.
    """
    with _panels(len(columns), width=2.3, height=4.4, columns=5) as (figure, panels):
        for axes, (name, column) in zip(panels, columns.items(), strict=True):
            for place, (row, found) in enumerate(column.rows.items()):
                colour = "0.6" if row in beside else PALETTE[0]
                filled = row not in beside and (found.p is None or found.p >= LEVEL)
                axes.plot([found.low, found.high], [place] * 2, color=colour, lw=1.5, zorder=1)
                axes.scatter(found.score, place, s=34, color=colour if filled else "white", ec=colour, zorder=2)
            axes.set_yticks(range(len(column.rows)), list(column.rows))
            axes.set(title=name)
            axes.grid(axis="x", alpha=0.3)
        panels[0].invert_yaxis()
    return figure


def draw_leaderboard(record: LeaderboardRecord, file: Path) -> None:
    """Draw the columns that the settings of a leaderboard name, as SVG: the same bytes for the same numbers."""
    settings, results = record.settings, record.results
    if settings.picture is None or results is None:
        raise ValueError(f"{record.name} has no results, or its settings ask for no picture")
    figure = leaderboard({name: results.columns[name] for name in settings.picture.columns}, settings.beside)
    with replacing(file) as temporary, plt.rc_context({"svg.hashsalt": file.name}):
        figure.savefig(temporary, format="svg", metadata={"Date": None}, bbox_inches="tight")
