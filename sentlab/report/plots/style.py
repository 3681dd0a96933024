"""The style of all figures: on a white ground, so that they can be read in dark mode too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

PALETTE = sns.color_palette("colorblind")
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
def canvas(
    count: int, width: float = 3.2, height: float = 3.0, *, columns: int = 0, sharex: bool = False, sharey: bool = True
) -> Iterator[tuple[Figure, list[Any]]]:
    """Open a figure with panels in the style of the book, and close it at the end, so that notebooks show it once.

    Args:
        count: number of panels.
        width, height: size of a panel, in inches.
        columns: panels side by side; 0: all of them.
        sharex, sharey: whether panels share an axis.
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
