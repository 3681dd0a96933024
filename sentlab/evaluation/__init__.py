"""Evaluation: STS, words and phrases, retrieval and mining."""

from sentlab.evaluation.evaluate import Evaluation, dev_score, evaluate, gold_of
from sentlab.evaluation.mining import evaluate_mining
from sentlab.evaluation.retrieval import evaluate_retrieval
from sentlab.evaluation.sts import Geometry, TextEncoder, evaluate_sts, geometry, pair_cosines, watch_geometry

__all__ = [
    "Evaluation", "Geometry", "TextEncoder", "dev_score", "evaluate", "evaluate_mining", "evaluate_retrieval",
    "evaluate_sts", "geometry", "gold_of", "pair_cosines", "watch_geometry",
]  # fmt: skip
