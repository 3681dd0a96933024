"""What pages that are no notebooks take from `experiments`.

This puts `book` on the path, for autodoc too.

The numbers of `experiments.numbers.front` are substitutions: `{{ paser }}`.

The directive `compare` shows two sentences under several encoders, computed
in the reader's browser. A line of it is `label: source, pooling`. A source is
the bundled `tiny`, or a script of `experiments.widgets.export` in a folder
beside the page.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BOOK))

from experiments import numbers, widgets  # noqa: E402

from sentlab import Encoder  # noqa: E402


class Compare(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        tiny = Encoder.from_pretrained("tiny")
        rows: dict[str, tuple[Encoder | str | Path, str]] = {}
        for line in self.content:
            label, _, what = line.partition(": ")
            source, pooling = what.split(", ")
            rows[label] = (tiny if source == "tiny" else source, pooling)
        page = Path(self.env.doc2path(self.env.docname))
        with contextlib.chdir(page.parent):
            html = widgets.compare(rows)
        return [nodes.raw("", html, format="html")]


def substitute(app: Sphinx, config: Config) -> None:
    """Give the front page its numbers."""
    config.myst_substitutions = numbers.front()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("compare", Compare)
    app.connect("config-inited", substitute)
    return {"parallel_read_safe": True}
