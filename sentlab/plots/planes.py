"""Points in a plane: encoders by their geometry, texts by their meaning, pairs by what a classifier says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import Bbox

from sentlab.evaluation.sts import Geometry
from sentlab.plots.style import GREY, PALETTE, RANKS, SCALE, canvas

MARKERS = "o^sDv"
COLOURED = 4  # topics, the first ones


def alignment_uniformity(geometries: Mapping[str, Geometry], scores: Mapping[str, float], label: str) -> Figure:
    """Draw encoders as labelled points over uniformity and alignment; lower left is better (PaSeR, Fig. 6).

    Args:
        geometries: encoder -> its `geometry`.
        scores: encoder -> the score that colours its point.
        label: what the score is; it stands in brackets.
    """
    with canvas(1, width=5.4, height=4.4) as (figure, (axes,)):
        x, y = ([getattr(found, name) for found in geometries.values()] for name in ("uniformity", "alignment"))
        axes.scatter(x, y, c=[scores[name] for name in geometries], cmap=SCALE, s=60, zorder=3)
        axes.margins(0.15)
        axes.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
        axes.set_title(f"in brackets, and as colour: {label}", fontsize=10)
        figure.tight_layout()  # before labels find their places
        _label_apart(axes, [f"{name} ({scores[name]:.1f})" for name in geometries], list(zip(x, y, strict=True)))
    return figure


def _label_apart(
    axes: Any,
    labels: Sequence[str],
    points: Sequence[Any],
    others: Sequence[Any] = (),
) -> None:
    """Label points, each as close as possible without covering a point, one of the others or an earlier label."""
    axes.autoscale(False)  # lines to labels do not move what they lead to
    places = axes.transData.transform([*points, *others])
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in places]
    ways = [(7 * far * x, 6 * far * y) for far in range(1, 17) for y in (1, -1, 0, 2, -2) for x in (1, -1)]
    ground = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}  # no line strikes it through
    for label, point in zip(labels, points, strict=True):
        text = axes.annotate(
            label, point, ways[0], textcoords="offset points", fontsize=10, va="center", bbox=ground, zorder=4
        )
        for x, y in [*ways, ways[0]]:  # the first one again where there is no room
            text.set(position=(x, y), ha="left" if x > 0 else "right")
            box = text.get_window_extent()
            if axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max) and not box.count_overlaps(taken):
                break
        near = axes.transData.inverted().transform((box.x0 if x > 0 else box.x1, (box.y0 + box.y1) / 2))
        axes.add_line(Line2D(*zip(point, near, strict=True), color="0.6", linewidth=0.6, zorder=2))
        taken.append(box)


def map_of_meanings(planes: Mapping[str, np.ndarray], table: pd.DataFrame) -> Figure:
    """Draw texts in a plane, one panel per encoder: a star joins the texts of one meaning, which has its name there.

    Colour and marker are the level. Where meaning decides, stars are small; where level does, they are large.

    Args:
        planes: encoder -> its points (n, 2), from UMAP for instance.
        table: one row per text, with the columns `meaning` and `level`.
    """
    centres, dots = [], []
    with canvas(len(planes), width=3.9, height=4.2, sharey=False) as (figure, panels):
        for axes, (name, points) in zip(panels, planes.items(), strict=True):
            places = (points - points.min(axis=0)) / np.ptp(points, axis=0)  # its scale means nothing
            meanings = table.groupby("meaning", sort=False).indices
            middles = {name: places[own].mean(axis=0) for name, own in meanings.items()}
            rays = [(middles[name], place) for name, own in meanings.items() for place in places[own]]
            axes.add_collection(LineCollection(rays, colors=GREY, linewidths=0.6, zorder=1))
            centres.append(middles)
            dots.append(places)
            for (level, own), colour, marker in zip(
                table.groupby("level", sort=False).indices.items(), cycle(PALETTE), cycle(MARKERS), strict=False
            ):
                axes.scatter(*places[own].T, s=34, color=colour, marker=marker, linewidths=0, label=level, zorder=3)
            axes.set(title=name, xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color="0.8")
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3)
        figure.tight_layout()  # before labels find their places
        for axes, middles, places in zip(panels, centres, dots, strict=True):
            _label_apart(axes, list(middles), list(middles.values()), places)
    return figure


def topic_planes(
    planes: Mapping[str, np.ndarray],
    topics: Sequence[str],
    scenes: Sequence[int],
    *,
    columns: int,
) -> Figure:
    """Draw sentences in planes, one panel each: four topics have a colour and a marker, lines join wordings of a scene.

    The other topics are small grey dots, without lines.

    Args:
        planes: title -> its points (n, 2).
        topics, scenes: of each of the n sentences.
        columns: panels side by side.
    """
    names, topic, scene = list(dict.fromkeys(topics))[:COLOURED], np.array(topics), np.array(scenes)
    told = np.isin(topic, names)
    size = 7.6 / columns
    with canvas(len(planes), width=size, height=size, columns=columns, sharey=False) as (figure, panels):
        for axes, (title, points) in zip(panels, planes.items(), strict=True):
            axes.scatter(*points[~told].T, s=12 / columns, color="0.75", linewidths=0, zorder=0)
            groups = [points[scene == number] for number in np.unique(scene[told])]
            axes.add_collection(LineCollection(groups, colors="0.6", linewidths=0.6, zorder=1))
            for i, name in enumerate(names):
                own, marker = points[topic == name], MARKERS[i % len(MARKERS)]
                axes.scatter(
                    *own.T, s=64 / columns, color=PALETTE[i % len(PALETTE)], marker=marker, linewidths=0, label=name
                )
            axes.set_title(title, fontsize=11 if columns < 4 else 10)
            axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
            axes.spines[:].set(visible=True, color="0.8")
        handles, labels = panels[0].get_legend_handles_labels()
        if not told.all():
            handles.append(panels[0].collections[0])
            labels.append("other topics")
        figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=5, markerscale=columns**0.5)
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
        alike: (n,), whether a pair is alike. Orange dots are.
        right: classifier -> share of pairs that it has right, in %.
    """
    columns = 2 if len(planes) == 4 else len(planes)
    with canvas(len(planes), width=2.9, height=3.1, columns=columns, sharex=True) as (figure, panels):
        for axes, (name, plane) in zip(panels, planes.items(), strict=True):
            axes.imshow(plane, extent=(-1, 1, -1, 1), origin="lower", cmap=RANKS, vmin=0, vmax=1.25)
            axes.contour(plane, levels=[0.5], extent=(-1, 1, -1, 1), colors="black", linewidths=1.2)
            for found, colour, label in ((False, "white", "not alike"), (True, PALETTE[1], "alike")):
                x, y = (side[alike == found] for side in pairs)
                axes.scatter(x, y, s=14, color=colour, edgecolor="0.3", linewidth=0.4, label=label)
            axes.set(title=f"[{name.replace(',', '; ')}]: {right[name]:.0f}% right")
        for axes in panels[-columns:]:
            axes.set(xlabel="u")
        for axes in panels[::columns]:
            axes.set(ylabel="v")
        shade = Patch(facecolor=plt.get_cmap(RANKS)(0.8), label="the classifier says alike")
        handles = [*panels[0].get_legend_handles_labels()[0], shade]
        figure.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3)
    return figure
