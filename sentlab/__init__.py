"""sentlab: learn, compare and use modern sentence and phrase embeddings.

import sentlab

encoder = sentlab.Encoder.from_pretrained()            # the bundled encoder, offline
method = sentlab.methods.PaSeR(encoder)
sentlab.fit(method, sentences, sentlab.TrainConfig(steps=300, learning_rate=1e-3))
vectors = encoder.encode(["A man plays the guitar."])  # (1, D)

Each name is imported when it is first used, so that `import sentlab` is quick and needs no optional package.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentlab import data, methods, metrics, published, spans
    from sentlab.encoder import Encoder
    from sentlab.evaluation import evaluate_sts, pair_cosines, sts_dev, watch_geometry
    from sentlab.experiments import records
    from sentlab.experiments.presets import preset
    from sentlab.report import plots
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

_PLACES = {
    "Encoder": "encoder",
    "History": "training",
    "PhraseIndex": "search",
    "TrainConfig": "training",
    "evaluate_sts": "evaluation",
    "fit": "training",
    "pair_cosines": "evaluation",
    "plots": "report",
    "preset": "experiments.presets",
    "records": "experiments",
    "set_seed": "training",
    "sts_dev": "evaluation",
    "watch_geometry": "evaluation",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sentlab' has no attribute {name!r}")
    if name not in _PLACES:
        return importlib.import_module(f"sentlab.{name}")
    place = f"sentlab.{_PLACES[name]}"
    if name in ("plots", "records"):  # modules, with names of their own
        return importlib.import_module(f"{place}.{name}")
    return getattr(importlib.import_module(place), name)


def __dir__() -> list[str]:
    return sorted(__all__)
