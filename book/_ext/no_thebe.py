"""Takes out sphinx-thebe, which Jupyter Book loads unasked.

It would run cells on a server far away, and the book is read offline. Its
script also stands on each page twice, which browsers report as an error.
"""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.config import Config


def disconnect(app: Sphinx, config: Config) -> None:
    """Leave nothing of it that would put a script on a page."""
    for event in ("env-before-read-docs", "doctree-resolved"):
        for listener in list(app.events.listeners[event]):
            if listener.handler.__module__ == "sphinx_thebe":
                app.disconnect(listener.id)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", disconnect)
    return {"parallel_read_safe": True}
