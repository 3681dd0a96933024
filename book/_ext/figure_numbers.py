"""Lets the numbers of figures and equations start at 1 on every page.

Sphinx counts through the whole book, so that a new figure in one chapter
would change the captions of all later ones. A build compares its count with
that of the build before to see what to write anew, so both counts are kept.
"""

from __future__ import annotations

from copy import deepcopy

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def restore(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give Sphinx its own count of the build before."""
    env.toc_fignumbers = getattr(env, "counted", env.toc_fignumbers)
    return []


def count(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Count each page by itself."""
    env.counted = deepcopy(env.toc_fignumbers)
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            numbers |= {name: (i,) for i, name in enumerate(numbers, 1)}
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-get-updated", restore, priority=100)
    app.connect("env-get-updated", count, priority=900)
    return {"parallel_read_safe": True}
