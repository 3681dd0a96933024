"""How an encoder lays out sentences: how the cosines of pairs spread, alignment and uniformity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from sentlab.evaluation.sts import BINS, LEVELS, Geometry, by_level
from sentlab.metrics import as_array
from sentlab.plots.style import PALETTE, SCALE, canvas


def cosine_by_gold(geometries: Mapping[str, Geometry | np.ndarray], gold: Sequence[float] | None = None) -> Figure:
    """Draw the density of cosines at each gold level, one panel per encoder (PaSeR, Fig. 5; Gao et al. 2021, Fig. 3).

    A panel has a row for each level, the lowest at the bottom, and a dot at its mean: the dots of a good encoder climb
    to the right. All densities have the same height, and all panels one scale of cosines.

    Args:
        geometries: encoder -> what sentlab.geometry measures; or, of all, cosines of n pairs (`sentlab.pair_cosines`).
        gold: n scores, for cosines. Five levels of equal width cut their range, whatever their scale is.
    """
    scale = (0.0, float(LEVELS)) if gold is None else (float(np.min(as_array(gold))), float(np.max(as_array(gold))))
    edges = [f"{edge:.3g}" for edge in np.linspace(*scale, LEVELS + 1)]
    levels = {
        name: each if isinstance(each, Geometry) else Geometry(0, 0, *by_level(as_array(each), as_array(gold), scale))
        for name, each in geometries.items()
    }
    with canvas(len(geometries), 2.8, 2.8, columns=min(3, len(geometries)), sharex=True) as (figure, panels):
        for axes, (name, geometry) in zip(panels, levels.items(), strict=True):
            for i, (centres, heights) in enumerate(_densities(geometry)):
                colour = SCALE(i / (LEVELS - 1))
                axes.fill_between(centres, i, i + 0.9 * heights, color=colour, alpha=0.6, linewidth=0)
                axes.plot(centres, i + 0.9 * heights, color=colour, linewidth=1)
            axes.plot(geometry.mean, range(LEVELS), "o-", color="black", markersize=4, linewidth=0.8)
            axes.set_yticks(range(LEVELS), [f"{a}–{b}" for a, b in pairwise(edges)])
            axes.set(title=name, xlabel="cosine similarity", ylabel="gold similarity" if axes in panels[::3] else "")
            axes.tick_params(axis="x", labelbottom=True)  # also above a place without a panel
            axes.tick_params(axis="y", length=0)
    return figure


def _densities(geometry: Geometry) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give cosines and their density at each gold level, smoothed, with 1 as the highest; none for an empty level."""
    edges = np.linspace(-1.0, 1.0, BINS + 1)
    middles, fine = (edges[:-1] + edges[1:]) / 2, np.linspace(-1.0, 1.0, 401)
    for counts in np.array(geometry.counts):
        mean = np.average(middles, weights=counts) if counts.any() else 0.0
        spread = np.average((middles - mean) ** 2, weights=counts) ** 0.5 if counts.any() else 0.0
        width = max(1.06 * spread * max(counts.sum(), 1) ** -0.2, 0.5 * (edges[1] - edges[0]))  # Scott's rule
        height = np.exp(-(((fine[:, None] - middles) / width) ** 2) / 2) @ counts
        held = height > 0.003 * height.max()  # the rest would stretch the picture over the whole range
        yield fine[held], height[held] / height.max()


def alignment_uniformity(geometries: Mapping[str, Geometry], scores: Mapping[str, float], label: str) -> Figure:
    """Draw encoders as points over uniformity and alignment; lower left is better (PaSeR, Fig. 6).

    Scores, of which `label` says what they are, colour the points and stand in brackets.
    """
    with canvas(1, width=7.0, height=5.0) as (figure, (axes,)):
        points = np.array([(geometry.uniformity, geometry.alignment) for geometry in geometries.values()])
        axes.scatter(*points.T, c=[scores[name] for name in geometries], cmap=SCALE, s=60, zorder=3)
        axes.set_title(f"in brackets, and as colour: {label}", fontsize=10)
        _finish(figure, [f"{name} ({scores[name]:.1f})" for name in geometries], points)
    return figure


def trajectory(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """Draw how training moves encoders over uniformity and alignment; lower left is better (PT-BERT, Fig. 3).

    Arrows lead from a ring at the first measurement to a dot at the last one. A run has rows with `step`, `alignment`
    and `uniformity`, as `watch_geometry` leaves them in `History.seen`.
    """
    with canvas(1, width=5.4, height=4.4) as (figure, (axes,)):
        paths = {}
        for (name, rows), colour in zip(runs.items(), cycle(PALETTE), strict=False):
            places = {row["step"]: (row["uniformity"], row["alignment"]) for row in rows}
            path = paths[f"{name}, step {max(places):,}"] = np.array([place for _, place in sorted(places.items())])
            arrows = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004, "headwidth": 5, "color": colour}
            axes.quiver(*path[:-1].T, *np.diff(path, axis=0).T, **arrows)
            axes.scatter(*path[[0, -1]].T, c=["white", colour], edgecolors=[colour], s=45, zorder=3)
        along = [np.linspace(path[:-1], path[1:], 9).reshape(-1, 2) for path in paths.values()]  # kept free of labels
        _finish(figure, list(paths), [path[-1] for path in paths.values()], np.concatenate(along))
    return figure


def _finish(figure: Figure, labels: Sequence[str], points: Any, others: Any = ()) -> None:
    """Name the axes of uniformity and alignment, and the points."""
    (axes,) = figure.axes
    axes.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)", xmargin=0.15, ymargin=0.15)
    figure.tight_layout()  # before labels find their places
    label_apart(axes, labels, points, others)


def label_apart(axes: Any, labels: Sequence[str], points: Sequence[Any], others: Sequence[Any] = ()) -> None:
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
