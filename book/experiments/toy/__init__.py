"""The toy world: a small English in which every kind of corpus can be made offline, with gold by construction."""

from experiments.toy.corpora import (
    FORMS,
    NAMES,
    Scene,
    forms,
    load,
    realise,
    render,
    roles,
    scenes,
    score,
    synonyms,
    tag,
)

__all__ = [
    "FORMS", "NAMES", "Scene", "forms", "load", "realise", "render", "roles", "scenes", "score", "synonyms", "tag",
]  # fmt: skip
