"""Pictures of many encoders on one page: where sentences lie, and how their cosines spread; in the style of `plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from sentlab.evaluation.sts import Geometry
from sentlab.report.plots import PALETTE, _panels, draw_densities

COLOURS, MARKERS = PALETTE[:5], "o^"  # of topics: five colours as circles, then as triangles


def topic_planes(
    planes: Mapping[str, np.ndarray], topics: Sequence[str], scenes: Sequence[int], *, columns: int
) -> Figure:
    """Sentences in the plane, a panel a picture: colour and marker are the topic; lines join wordings of one scene.

    Args:
        planes: title -> its points (n, 2).
        topics, scenes: of each of the n sentences.
        columns: panels side by side.
    """
    names, scene = list(dict.fromkeys(topics)), np.array(scenes)
    with _panels(len(planes), width=6.8 / columns, height=6.8 / columns, columns=columns, sharey=False) as (
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


def cosine_ridges(geometries: Mapping[str, Geometry]) -> Figure:
    """Densities of cosine by gold level, a line an encoder, all over one scale of cosines.

    Args:
        geometries: encoder -> its `geometry` on one corpus. Each line has the same height.
    """
    with _panels(len(geometries), width=6.8, height=0.8, columns=1, sharex=True, sharey=False) as (figure, panels):
        for axes, (name, found) in zip(panels, geometries.items(), strict=True):
            draw_densities(axes, found)
            axes.set(yticks=[], ylabel="")
            axes.spines["left"].set_visible(False)
            axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
        panels[-1].set(xlabel="cosine similarity")
        panels[0].legend(title="gold", loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=5, fontsize=9)
    return figure
