"""sentlab: learn, compare and use modern sentence and phrase embeddings.

import sentlab

encoder = sentlab.Encoder.from_pretrained()            # the bundled encoder, offline
sentlab.set_seed(0)                                    # the same lines give the same numbers
method = sentlab.methods.PaSeR(encoder)
sentlab.fit(method, sentences, sentlab.TrainConfig(steps=300, learning_rate=1e-3))
vectors = encoder.encode(["A man plays the guitar."])  # (1, D)
"""

import importlib
from typing import Any

from sentlab import data, methods, metrics, published, spans
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate_sts, pair_cosines, sts_dev, watch_geometry
from sentlab.experiments import records
from sentlab.experiments.presets import preset
from sentlab.search import PhraseIndex
from sentlab.training import History, TrainConfig, fit, set_seed

__all__ = [
    "Encoder",
    "History",
    "PhraseIndex",
    "TrainConfig",
    "data",
    "evaluate_sts",
    "fit",
    "methods",
    "metrics",
    "pair_cosines",
    "plots",
    "preset",
    "published",
    "records",
    "set_seed",
    "spans",
    "sts_dev",
    "watch_geometry",
]


def __getattr__(name: str) -> Any:
    if name == "plots":  # brings seaborn, which takes a second and which who only encodes does not need
        return importlib.import_module("sentlab.report.plots")
    raise AttributeError(f"module 'sentlab' has no attribute {name!r}")
