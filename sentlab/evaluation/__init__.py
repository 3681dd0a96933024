"""Evaluation: STS, words and phrases, retrieval, mining, probes, and the metrics behind them."""

from sentlab.evaluation.evaluate import Evaluation, dev_score, evaluate, gold_of, scores_over
from sentlab.evaluation.inputs import TextEncoder
from sentlab.evaluation.sts import (
    Geometry,
    evaluate_sts,
    geometry,
    pair_cosines,
    watch_geometry,
)

__all__ = [
    "Evaluation",
    "Geometry",
    "TextEncoder",
    "dev_score",
    "evaluate",
    "evaluate_sts",
    "geometry",
    "gold_of",
    "pair_cosines",
    "scores_over",
    "watch_geometry",
]
