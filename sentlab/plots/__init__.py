"""Results in, a matplotlib Figure out, all in one style. Users reach it as ``sentlab.plots``."""

from sentlab.plots.geometry import alignment_uniformity, cosine_by_gold, trajectory
from sentlab.plots.scores import curves, sweep, training_curves
from sentlab.plots.style import PALETTE
from sentlab.plots.tokens import span_map

__all__ = ["PALETTE", "alignment_uniformity", "cosine_by_gold", "curves", "span_map", "sweep", "training_curves"]
__all__ += ["trajectory"]
