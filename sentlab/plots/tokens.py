"""Which spans of a text match a phrase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from sentlab.metrics import as_array
from sentlab.plots.style import PALETTE, RANKS, canvas

MANY = 30  # words, from which on every second one is named: more do not fit beside each other


def span_map(scores: Mapping[str, np.ndarray], words: Sequence[str]) -> Figure:
    """Draw how far every span of a text lies above the median span in its cosine with a phrase, and frame the best.

    Columns are a span's first word, rows its last: single words are on the diagonal, longer spans further below.
    Each encoder has a panel, and all panels share one scale of colours, which begins at the median.

    Args:
        scores: encoder -> (W, K), as `sentlab.search.spans.span_scores` returns them.
        words: W of them.
    """
    scores = {name: as_array(of_spans) for name, of_spans in scores.items()}
    grids = {}  # (W, W): row j and column i the span from word i to word j
    for name, of_spans in scores.items():
        first, more = np.nonzero(np.isfinite(of_spans))
        grids[name] = np.full((len(words), len(words)), np.nan)
        grids[name][first + more, first] = of_spans[first, more] - np.median(of_spans[first, more])
    high = max(np.nanmax([*grids.values()]), 1e-6)  # of all panels
    labels = [word if len(words) < MANY or i % 2 == 0 else "" for i, word in enumerate(words)]
    with canvas(len(scores), width=4.6, height=5.0) as (figure, panels):
        for axes, (name, grid) in zip(panels, grids.items(), strict=True):
            bar = axes.inset_axes((0.84, 0.5, 0.03, 0.45)) if axes is panels[-1] else None  # where there are no spans
            sns.heatmap(
                grid, ax=axes, cmap=RANKS, vmin=0.0, vmax=high, xticklabels=labels, yticklabels=labels,
                cbar=bar is not None, cbar_ax=bar, cbar_kws={"label": "cosine above the median"},
                linewidths=0.5, linecolor="face",  # no hair lines between cells
            )  # fmt: skip
            best, longer = divmod(int(scores[name].argmax()), scores[name].shape[1])
            axes.add_patch(Rectangle((best, best + longer), 1, 1, fill=False, edgecolor=PALETTE[1], linewidth=2))
            axes.set_title(fill(f"{name}: “{' '.join(words[best : best + longer + 1])}”", 42), fontsize=10)
            axes.set(xlabel="first word of the span", ylabel="last word" if axes is panels[0] else "")
            axes.tick_params(labelsize=10)
            axes.tick_params(axis="x", rotation=90)
    return figure
