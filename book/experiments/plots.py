"""Pictures that chapters show beside those of `sentlab.plots`: leaderboards, effects, verdicts, texts in a plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from sentlab.plots import *  # noqa: F403  a chapter needs one name for all pictures
from sentlab.plots.style import GREY, PALETTE, Picture, canvas

from experiments.leaderboard import BoardColumn
from experiments.scorecard import NOT_RUN, SIGNIFICANT, UNTESTED, VERDICTS, ClaimResult
from experiments.significance import MARGIN

LOOKS: Any = [{"color": colour, "marker": marker} for colour, marker in zip(PALETTE, "o^sDv", strict=False)]
BELOW: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}  # a legend below the panels
COLOURED = 4  # topics, the first ones
# the colours of the verdicts of a scorecard, with a contrast of 4.5 to white, also when the dark page inverts them
COLOURS = dict(zip(VERDICTS, "#00704d #2b6cb0 #5a5a5a #8a6d00 #b8431c #ffffff #a3a3a3".split(), strict=True))


def leaderboard(columns: Mapping[str, BoardColumn], score: str, beside: Sequence[str] = ()) -> Picture:
    """Draw scores with their intervals, one panel per column. Filled points do not differ significantly from the best.

    `columns`: of the results of a leaderboard. A p below 0.05 is significant. `score`: what is measured, for the axis,
    such as `Spearman × 100`. `beside`: rows that do not compete; they are grey, and stand below the others.
    """
    height = 0.9 + 0.26 * max(len(column.rows) for column in columns.values())
    with canvas(len(columns), 5.4, height, columns=1, sharex=True, sharey=False) as (figure, panels):
        for axes, (name, column) in zip(panels, columns.items(), strict=True):
            best_first = sorted(column.rows.items(), key=lambda item: (item[0] in beside, -item[1].score))
            for place, (row, result) in enumerate(best_first):
                colour = GREY if row in beside else PALETTE[0]
                filled = row not in beside and (result.p is None or result.p >= SIGNIFICANT)
                axes.plot([result.low, result.high], [place] * 2, color=colour, lw=1.5, zorder=1)
                axes.scatter(result.score, place, s=34, color=colour if filled else "white", ec=colour, zorder=2)
            axes.set_yticks(range(len(best_first)), [row for row, _ in best_first])
            axes.set(ylim=(len(best_first) - 0.4, -0.6))
            axes.set_title(name if len(columns) > 1 else "")
            axes.grid(axis="x", alpha=0.3)
        panels[-1].set_xlabel(score)
    return figure


def effects(claims: Sequence[ClaimResult], encoder: str) -> Picture:
    """Draw one claim per row: the effect here with its 95% interval, in the colour of its verdict, and the paper's.

    Claims are grouped by verdict, the largest effect first. Those without a difference on the encoder are left out. A
    grey band behind each shows which differences are too small to matter.
    """
    tested = [(claim, claim.found[encoder]) for claim in claims if encoder in claim.found]
    rows = [(claim, effect) for claim, effect in tested if effect.difference is not None]
    rows.sort(key=lambda row: (VERDICTS.index(row[1].verdict), -(row[1].difference or 0)))
    with canvas(1, 5.6, 1.3 + 0.56 * len(rows)) as (figure, (axes,)):
        beside = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 10}
        for place, (claim, effect) in enumerate(rows):
            colour = GREY if effect.verdict == UNTESTED else COLOURS[effect.verdict]
            axes.barh(place, 2 * MARGIN, 0.44, left=-MARGIN, color="0.92", zorder=0)
            axes.plot([0, 0], [place - 0.22, place + 0.42], color=GREY, lw=1, zorder=1)  # clear of the texts
            axes.text(0, place - 0.42, claim.text, bbox={"color": "white", "pad": 0.5}, zorder=1.5, **beside)
            if effect.low is not None:
                axes.plot([effect.low, effect.high], [place] * 2, color=colour, lw=2, zorder=2)
            face = "white" if effect.verdict == UNTESTED else colour
            axes.scatter(effect.difference, place, s=38, color=face, ec=colour, zorder=3)
            if claim.printed is not None:
                axes.scatter(claim.printed, place, s=44, marker="D", color="white", ec=GREY, zorder=2)
        axes.set(xlabel="difference of the scores × 100, 95% interval", ylim=(len(rows) - 0.6, -0.75), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", alpha=0.3)
        marks = verdict_marks(effect.verdict for _, effect in rows)
        if any(claim.printed is not None for claim, _ in rows):
            marks.append(Line2D([], [], color="white", marker="D", mec=GREY, ls="", label="in the paper"))
        marks.append(Patch(color="0.92", label=f"within {MARGIN} points"))
        axes.legend(handles=marks, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure


def verdict_marks(verdicts: Iterable[str]) -> list[Any]:
    """Return a mark of each verdict for a legend, in order."""
    edges, names = {**COLOURS, UNTESTED: GREY}, sorted(set(verdicts), key=VERDICTS.index)
    return [Line2D([], [], color=COLOURS[name], marker="o", mec=edges[name], lw=2, label=name) for name in names]


def verdict_counts(counts: pd.DataFrame) -> Picture:
    """Draw how many claims of each paper have each verdict: one bar per paper.

    `counts`: one row per paper and one column per verdict (`ScorecardResults.counts`).
    """
    counts = counts.loc[:, counts.any()]
    with canvas(1, 6.4, 1.4 + 0.45 * len(counts)) as (figure, (axes,)):
        left = counts.cumsum(axis=1) - counts
        for verdict, numbers in counts.items():
            edge = {"ec": GREY, "hatch": "////"} if verdict == UNTESTED else {"ec": "white"}
            look = {"color": COLOURS[str(verdict)], "height": 0.62, "label": verdict, **edge}
            bars = axes.barh(counts.index, numbers, left=left[verdict], **look)
            ink = "black" if verdict in (NOT_RUN, UNTESTED) else "white"
            axes.bar_label(bars, [number or "" for number in numbers], label_type="center", color=ink)
        axes.invert_yaxis()
        axes.set(xlabel="claims")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.tick_params(axis="y", length=0)
        close = {"columnspacing": 1.0, "handlelength": 1.2, "handletextpad": 0.5}
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, **close)
    return figure


def topic_planes(planes: Mapping[str, Any], topics: Sequence[str], scenes: Sequence[int], *, columns: int) -> Picture:
    """Draw sentences in planes, one panel each: four topics have a colour and a marker, lines join wordings of a scene.

    The other topics are small grey dots, without lines.

    `planes`: title -> its points (n, 2). `topics`, `scenes`: of each sentence. `columns`: panels side by side.
    """
    names, topic, scene = list(dict.fromkeys(topics))[:COLOURED], np.array(topics), np.array(scenes)
    coloured = np.isin(topic, names)
    size = 7.6 / columns
    with canvas(len(planes), size, size, columns=columns, sharey=False) as (figure, panels):
        for axes, (title, points) in zip(panels, planes.items(), strict=True):
            axes.scatter(*points[~coloured].T, s=12 / columns, color="0.75", linewidths=0, zorder=0)
            groups = [points[scene == number] for number in np.unique(scene[coloured])]
            axes.add_collection(LineCollection(groups, colors="0.6", linewidths=0.6, zorder=1))
            for name, look in zip(names, LOOKS, strict=False):
                axes.scatter(*points[topic == name].T, s=64 / columns, linewidths=0, label=name, **look)
            axes.set_title(title, fontsize=11 if columns < 4 else 10)
            axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
            axes.spines[:].set(visible=True, color="0.8")
        handles, labels = panels[0].get_legend_handles_labels()
        if not coloured.all():
            handles, labels = [*handles, panels[0].collections[0]], [*labels, "other topics"]
        figure.legend(handles, labels, **BELOW, ncols=5, markerscale=columns**0.5)
    return figure
