"""The style of all figures: dark ink on white, as SVG. In dark mode the book inverts their lightness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

# Colours that colour-blind readers tell from each other. Each has a contrast of 3 or more with white, with the
# book's dark page, and there too when the picture is inverted.
PALETTE = sns.color_palette(["#0072b2", "#d55e00", "#007f5f", "#a6559d", "#8a6d00", "#5f6a72"])
GREY = "#737373"  # for what is shown beside the subject of a figure
RANKS = "Blues"  # from low to high: low is the colour of the page
SCALE = sns.color_palette("blend:#440154,#31688e,#1f8f80", as_cmap=True)  # of marks, from low to high
STYLE: Any = {
    "figure.facecolor": "white", "savefig.facecolor": "white", "figure.dpi": 110, "font.size": 11,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": "medium", "axes.titlelocation": "left",
    "legend.frameon": False,
}  # fmt: skip
SVG: Any = {"svg.fonttype": "none", "svg.hashsalt": "sentlab"}  # text as text; the same bytes for the same figure


class Picture(Figure):
    """A figure that notebooks show as SVG."""

    def savefig(self, *args: Any, **options: Any) -> None:
        """Save the figure as Matplotlib does, cut to what is drawn, some of which may lie outside."""
        super().savefig(*args, **{"bbox_inches": "tight"} | options)

    def svg(self) -> str:
        """Return the figure as SVG."""
        with plt.rc_context(SVG), StringIO() as file:
            self.savefig(file, format="svg", metadata={"Date": None})
            return file.getvalue()

    def _ipython_display_(self) -> None:
        from IPython.display import display  # is there where this is called

        display({"image/svg+xml": self.svg(), "text/plain": repr(self)}, raw=True)


@contextmanager
def canvas(
    count: int, width: float = 3.2, height: float = 3.0, *, columns: int = 0, sharex: bool = False, sharey: bool = True
) -> Iterator[tuple[Picture, list[Any]]]:
    """Open a figure with panels in the style of the book, and close it at the end, so that notebooks show it once.

    Width and height are those of a panel in inches; the book shows about eight side by side. `columns` 0: all of them.
    """
    rows = -(-count // (columns := columns or count))
    with plt.rc_context(STYLE):
        size = max(4.8, width * columns), height * rows
        share: Any = {"sharex": sharex, "sharey": sharey}
        figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, FigureClass=Picture, **share)
        assert isinstance(figure, Picture)
        for unused in grid.flat[count:]:
            unused.remove()
        yield figure, list(grid.flat[:count])
        figure.tight_layout()
        plt.close(figure)
