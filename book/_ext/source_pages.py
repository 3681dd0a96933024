"""What sphinx.ext.viewcode leaves undone for a package whose public names
are imported from elsewhere: `sentlab.fit` is `sentlab.training.fit`.

A page of source leads back to the entry of each object, but takes all objects
of a module to be documented under one name: under `sentlab`, if the first of
them was. So each entry gets the anchor that its page of source leads to.
"""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.ext.viewcode import OUTPUT_DIRNAME, viewcode_anchor


def add_anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Give each entry with a link to source the anchor of the way back."""
    modules = getattr(app.env, "_viewcode_modules", {})
    for entry in doctree.findall(addnodes.desc_signature):
        for link in entry.findall(viewcode_anchor):
            page = link["reftarget"].removeprefix(f"{OUTPUT_DIRNAME}/")
            *_, documented_as = modules[page.replace("/", ".")]
            anchor = f"{documented_as}.{link['refid']}"
            if anchor not in entry["ids"]:
                entry["ids"].append(anchor)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.viewcode")
    app.connect("doctree-read", add_anchors, priority=900)  # after viewcode
    return {"parallel_read_safe": True}
