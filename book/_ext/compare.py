"""The directive `compare`: two sentences under several encoders, computed in
the reader's browser, on a page that is no notebook.

A line of it is `label: source, pooling`. A source is the bundled `tiny`, or a
script of `experiments.page.export` in a folder beside the page.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from docutils import nodes
from experiments import widgets
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sentlab import Encoder


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


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("compare", Compare)
    return {"parallel_read_safe": True}
