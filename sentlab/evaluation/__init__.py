"""Evaluation: STS, words and phrases, retrieval, mining, probes, and the metrics behind them."""

from sentlab.evaluation.sts import (
    Geometry,
    evaluate_sts,
    geometry,
    pair_cosines,
    sts_dev,
    watch_geometry,
)

__all__ = ["Geometry", "evaluate_sts", "geometry", "pair_cosines", "sts_dev", "watch_geometry"]
