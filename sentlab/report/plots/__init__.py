"""Results in, a matplotlib Figure out, all in one style. Users reach it as ``sentlab.plots``."""

from sentlab.report.plots.cosines import cosine_by_gold, cosine_ridges, cosine_violins
from sentlab.report.plots.planes import alignment_uniformity, map_of_meanings, pair_planes, topic_planes
from sentlab.report.plots.scores import (
    agreement,
    curves,
    effects,
    effects_by_size,
    leaderboard,
    sweep,
    training_curves,
    training_losses,
    verdict_counts,
)
from sentlab.report.plots.style import PALETTE
from sentlab.report.plots.tokens import attention, span_scores

__all__ = [
    "PALETTE",
    "agreement",
    "alignment_uniformity",
    "attention",
    "cosine_by_gold",
    "cosine_ridges",
    "cosine_violins",
    "curves",
    "effects",
    "effects_by_size",
    "leaderboard",
    "map_of_meanings",
    "pair_planes",
    "span_scores",
    "sweep",
    "topic_planes",
    "training_curves",
    "training_losses",
    "verdict_counts",
]
