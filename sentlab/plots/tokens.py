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

    Columns are a span's first word, rows its length in words, from one at the top: the layout of `span_scores`, turned.
    Each encoder has a panel, and all panels share one scale of colours, which begins at the median.

    Args:
        scores: encoder -> (W, K), as `sentlab.search.spans.span_scores` returns them.
        words: W of them.
    """
    above = {name: (each := as_array(of)) - np.median(each[np.isfinite(each)]) for name, of in scores.items()}
    high = max(*(of_spans.max() for of_spans in above.values()), 1e-6)  # of all panels
    words = [word.replace("$", r"\$") for word in words]  # else matplotlib reads a formula between two
    labels = [word if len(words) < MANY or i % 2 == 0 else "" for i, word in enumerate(words)]
    sizes = max(of_spans.shape[1] for of_spans in above.values())
    with canvas(len(scores), width=7.6, height=1.6 + 0.16 * sizes, columns=1) as (figure, panels):
        for axes, (name, grid) in zip(panels, above.items(), strict=True):
            sns.heatmap(
                grid.T, mask=~np.isfinite(grid.T), ax=axes, cmap=RANKS, vmin=0.0, vmax=high, xticklabels=labels,
                yticklabels=range(1, grid.shape[1] + 1), cbar_kws={"label": "above the median"},
                linewidths=0.5, linecolor="face",  # no hair lines between cells
            )  # fmt: skip
            best, longer = divmod(int(grid.argmax()), grid.shape[1])
            axes.add_patch(Rectangle((best, longer), 1, 1, fill=False, edgecolor=PALETTE[1], linewidth=2))
            axes.set_title(fill(f"{name}: “{' '.join(words[best : best + longer + 1])}”", 84), fontsize=10)
            axes.set(xlabel="first word of the span" if axes is panels[-1] else "", ylabel="words")
            axes.tick_params(axis="x", labelsize=10, rotation=90)
            axes.tick_params(axis="y", labelsize=10, rotation=0)
    return figure
