"""Results in, a matplotlib Figure out, all in one style. Users reach it as ``sentlab.plots``."""

from sentlab.plots.cosines import cosine_by_gold, cosine_ridges, cosine_violins
from sentlab.plots.planes import alignment_uniformity, map_of_meanings, pair_planes, topic_planes
from sentlab.plots.scores import (
    agreement,
    curves,
    sweep,
    training_curves,
    training_losses,
)
from sentlab.plots.style import PALETTE
from sentlab.plots.tokens import attention, span_scores

__all__ = [
    "PALETTE",
    "agreement",
    "alignment_uniformity",
    "attention",
    "cosine_by_gold",
    "cosine_ridges",
    "cosine_violins",
    "curves",
    "map_of_meanings",
    "pair_planes",
    "span_scores",
    "sweep",
    "topic_planes",
    "training_curves",
    "training_losses",
]
