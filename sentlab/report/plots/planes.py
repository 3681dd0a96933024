"""Points in a plane: encoders by their geometry, texts by their meaning, pairs by what a classifier says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from sentlab.evaluation.sts import Geometry
from sentlab.report.plots.style import PALETTE, canvas

COLOURS, MARKERS = PALETTE[:5], "o^"  # of topics: five colours as circles, then as triangles


def alignment_uniformity(geometries: Mapping[str, Geometry], scores: Mapping[str, float], label: str) -> Figure:
    """Draw encoders as labelled points over uniformity and alignment; lower left is better (PaSeR, Fig. 6).

    Args:
        geometries: encoder -> its `geometry`.
        scores: encoder -> the score that colours its point.
        label: what the score is.
    """
    with canvas(1, width=6.4, height=4.2) as (figure, (axes,)):
        x, y = ([getattr(found, name) for found in geometries.values()] for name in ("uniformity", "alignment"))
        points = axes.scatter(x, y, c=[scores[name] for name in geometries], cmap="viridis", s=60, zorder=3)
        axes.margins(0.15)
        axes.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
        figure.colorbar(points, label=label)
        figure.tight_layout()  # before labels find their places
        _label_apart(axes, [f"{name} ({scores[name]:.1f})" for name in geometries], list(zip(x, y, strict=True)))
    return figure


def _label_apart(axes: Any, labels: Sequence[str], points: Sequence[tuple[float, float]]) -> None:
    """Label points, each as close as possible without covering a point or an earlier label."""
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


def map_of_meanings(planes: Mapping[str, np.ndarray], table: pd.DataFrame) -> Figure:
    """Draw texts in a plane, one panel per encoder: the colour is a text's meaning, the marker its level.

    Args:
        planes: encoder -> its points (n, 2), from UMAP for instance.
        table: one row per text, with the columns `meaning` and `level`.
    """
    with canvas(len(planes), width=4.6, height=4.4) as (figure, panels):
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


def topic_planes(
    planes: Mapping[str, np.ndarray], topics: Sequence[str], scenes: Sequence[int], *, columns: int
) -> Figure:
    """Draw sentences in planes, one panel each: colour and marker show the topic, lines join wordings of one scene.

    Args:
        planes: title -> its points (n, 2).
        topics, scenes: of each of the n sentences.
        columns: panels side by side.
    """
    names, scene = list(dict.fromkeys(topics)), np.array(scenes)
    with canvas(len(planes), width=6.8 / columns, height=6.8 / columns, columns=columns, sharey=False) as (
        figure,
        panels,
    ):
        for axes, (title, points) in zip(panels, planes.items(), strict=True):
            groups = [points[scene == number] for number in np.unique(scene)]
            axes.add_collection(LineCollection(groups, colors="0.75", linewidths=0.5, zorder=0))
            for i, name in enumerate(names):
                own = points[np.array(topics) == name]
                colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i // len(COLOURS)]
                axes.scatter(*own.T, s=40 / columns, color=colour, marker=marker, linewidths=0, label=name)
            axes.set_title(title, fontsize=10 if columns < 4 else 8)
            axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
            axes.spines[:].set(visible=True, color="0.8")
        handles = panels[0].get_legend_handles_labels()
        figure.legend(
            *handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=5, markerscale=columns**0.5, fontsize=9
        )
    return figure


def pair_planes(
    planes: Mapping[str, np.ndarray],
    pairs: tuple[np.ndarray, np.ndarray],
    alike: np.ndarray,
    right: Mapping[str, float],
) -> Figure:
    """Draw where classifiers call a pair of numbers in [-1, 1] alike, one panel per classifier, with pairs as dots.

    Args:
        planes: classifier -> probability over a square grid; its rows follow the second number.
        pairs: n first and n second numbers.
        alike: (n,), whether a pair is alike. Black dots are.
        right: classifier -> share of pairs that it has right, in %.
    """
    with canvas(len(planes), width=2.5, height=2.9) as (figure, panels):
        for axes, (name, plane) in zip(panels, planes.items(), strict=True):
            axes.imshow(plane, extent=(-1, 1, -1, 1), origin="lower", cmap="Blues", vmin=0, vmax=1, alpha=0.8)
            for found, colour in ((False, "white"), (True, "black")):
                own = alike == found
                axes.scatter(pairs[0][own], pairs[1][own], s=6, color=colour, edgecolor="grey", linewidth=0.3)
            axes.set(title=f"[{name.replace(',', '; ')}]  {right[name]:.0f} %", xlabel="u", ylabel="")
        panels[0].set(ylabel="v")
    return figure
