"""Pictures of recorded results: leaderboards, effects and verdicts, beside those of `sentlab.plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from sentlab.plots import *  # noqa: F403  a chapter needs one name for all pictures
from sentlab.plots.style import GREY, PALETTE, Picture, canvas

from experiments.results_rows import NOT_RUN, UNTESTED, BoardColumn, ClaimResult

SIGNIFICANT = 0.05  # the level of a test
# the colours of the verdicts of a scorecard, with a contrast of 4.5 to white, also when the dark page inverts them
VERDICTS = {"holds": "#00704d", "undecided": "#8a6d00", "fails": "#b8431c", NOT_RUN: "#a3a3a3", UNTESTED: "#ffffff"}


def leaderboard(columns: Mapping[str, BoardColumn], score: str, beside: Sequence[str] = ()) -> Picture:
    """Draw scores with their intervals, one panel per column. Filled points do not differ significantly from the best.

    Args:
        columns: of the results of a leaderboard. A p below 0.05 is significant.
        score: what is measured, for the axis, such as `Spearman × 100`.
        beside: rows that do not compete; they are grey, and stand below the others.
    """
    rows = max(len(column.rows) for column in columns.values())
    size = {"width": 5.4, "height": 0.9 + 0.26 * rows}
    with canvas(len(columns), **size, columns=1, sharex=True, sharey=False) as (figure, panels):
        for axes, (name, column) in zip(panels, columns.items(), strict=True):
            best_first = sorted(column.rows.items(), key=lambda item: (item[0] in beside, -item[1].score))
            for place, (row, found) in enumerate(best_first):
                colour = GREY if row in beside else PALETTE[0]
                filled = row not in beside and (found.p is None or found.p >= SIGNIFICANT)
                axes.plot([found.low, found.high], [place] * 2, color=colour, lw=1.5, zorder=1)
                axes.scatter(found.score, place, s=34, color=colour if filled else "white", ec=colour, zorder=2)
            axes.set_yticks(range(len(best_first)), [row for row, _ in best_first])
            axes.set(ylim=(len(best_first) - 0.4, -0.6))
            if len(columns) > 1:
                axes.set_title(name)
            axes.grid(axis="x", alpha=0.3)
        panels[-1].set_xlabel(score)
    return figure


def effects(claims: Sequence[ClaimResult], encoder: str) -> Picture:
    """Draw one claim per row: the effect here with its 95% interval, in the colour of its verdict, and the paper's.

    Args:
        claims: in the order of the rows. Those without a difference on this encoder are left out.
        encoder: such as `tiny`.
    """
    tested = [(claim, claim.found[encoder]) for claim in claims if encoder in claim.found]
    shown = [(claim, found) for claim, found in tested if found.difference is not None]
    with canvas(1, width=5.6, height=1.3 + 0.56 * len(shown)) as (figure, (axes,)):
        for place, (claim, found) in enumerate(shown):
            colour = VERDICTS[found.verdict]
            axes.text(
                0, place - 0.42, claim.text, transform=axes.get_yaxis_transform(), va="center", fontsize=10,
                bbox={"color": "white", "pad": 0.5}, zorder=1.5,
            )  # fmt: skip
            if found.low is not None:
                axes.plot([found.low, found.high], [place] * 2, color=colour, lw=2, zorder=2)
            axes.scatter(found.difference, place, s=38, color=colour, zorder=3)
            if claim.printed is not None:
                axes.scatter(claim.printed, place, s=44, marker="D", color="white", ec=GREY, zorder=2)
        axes.axvline(0, color=GREY, lw=1, zorder=1)
        axes.set(xlabel="difference of the scores × 100, 95% interval", ylim=(len(shown) - 0.6, -0.75), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", alpha=0.3)
        said = dict.fromkeys(found.verdict for _, found in shown)
        marks = [Line2D([], [], color=VERDICTS[verdict], marker="o", lw=2, label=verdict) for verdict in said]
        if any(claim.printed is not None for claim, _ in shown):
            marks.append(Line2D([], [], color="white", marker="D", mec=GREY, ls="", label="in the paper"))
        axes.legend(handles=marks, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return figure


def effects_by_size(claims: Sequence[ClaimResult], sizes: Mapping[str, float]) -> Picture:
    """Draw the effect of each claim by the size of the encoder, one panel per claim; the paper's is the last point.

    Args:
        claims: in the order of the panels. Those that no encoder has tested, or without an effect in the paper, are
            left out.
        sizes: encoder -> millions of parameters, from small to large. The last one is the paper's.
    """
    ours = list(sizes)[:-1]
    shown = [
        claim
        for claim in claims
        if claim.printed is not None and any(name in claim.found and claim.found[name].low is not None for name in ours)
    ]
    with canvas(len(shown), width=1.9, height=2.2, columns=4, sharex=True, sharey=False) as (figure, panels):
        for axes, claim in zip(panels, shown, strict=True):
            both = [(place, claim.found[name]) for place, name in enumerate(ours) if name in claim.found]
            tested = [(place, found) for place, found in both if found.low is not None]
            for place, found in tested:
                axes.plot([place] * 2, [found.low, found.high], color=VERDICTS[found.verdict], lw=2, zorder=2)
                axes.scatter(place, found.difference, s=38, color=VERDICTS[found.verdict], zorder=3)
            axes.scatter(len(ours), claim.printed, s=44, marker="D", color="white", ec=GREY, zorder=3)
            axes.axhline(0, color=GREY, lw=1, ls=":", zorder=1)
            axes.set_title(fill(claim.text, 19), fontsize=10)
            ticks = [f"{name}\n{size:g}" for name, size in sizes.items()]
            axes.set_xticks(range(len(sizes)), ticks, fontsize=10)
            axes.set(xlim=(-0.5, len(ours) + 0.5))
            axes.margins(y=0.15)
        for axes in panels[::4]:
            axes.set_ylabel("effect × 100")
        for axes in panels[-4:]:  # the lowest of each column
            axes.tick_params(labelbottom=True)
    return figure


def verdict_counts(counts: pd.DataFrame) -> Picture:
    """Draw how many claims of each paper have each verdict: one bar per paper.

    Args:
        counts: one row per paper and one column per verdict (`ScorecardResults.counts`).
    """
    with canvas(1, width=6.4, height=1.4 + 0.45 * len(counts)) as (figure, (axes,)):
        left = np.zeros(len(counts))
        for verdict, numbers in counts.items():
            colour = VERDICTS[str(verdict)]
            if not numbers.any():
                continue
            edge = {"ec": GREY, "hatch": "////"} if verdict == UNTESTED else {"ec": "white"}
            axes.barh(counts.index, numbers, left=left, color=colour, height=0.62, label=verdict, **edge)
            for place, (number, start) in enumerate(zip(numbers, left, strict=True)):
                ink = "black" if verdict in (NOT_RUN, UNTESTED) else "white"
                if number:
                    axes.text(start + number / 2, place, str(number), ha="center", va="center", color=ink)
            left += numbers.to_numpy()
        axes.invert_yaxis()
        axes.set(xlabel="claims")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.tick_params(axis="y", length=0)
        close = {"columnspacing": 1.0, "handlelength": 1.2, "handletextpad": 0.5}
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, **close)
    return figure
