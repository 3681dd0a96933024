"""sentlab: learn, compare and use modern sentence and phrase embeddings.

import sentlab

encoder = sentlab.Encoder.from_pretrained()            # the bundled encoder, offline
method = sentlab.methods.PaSeR(encoder)
sentlab.fit(method, sentences, sentlab.TrainConfig(steps=300, learning_rate=1e-3))
vectors = encoder.encode(["A man plays the guitar."])  # (1, D)

Each name is imported when it is first used, so that `import sentlab` is quick and needs no optional package.
"""

# ruff: noqa: F401  the imports are for type checkers, which cannot follow __getattr__
from pkgutil import resolve_name
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

_PLACES = {  # "module:name", or "module:" for the module itself
    "Encoder": "encoder:Encoder",
    "History": "training:History",
    "PhraseIndex": "search:PhraseIndex",
    "TrainConfig": "training:TrainConfig",
    "data": "data:",
    "evaluate_sts": "evaluation:evaluate_sts",
    "fit": "training:fit",
    "methods": "methods:",
    "metrics": "metrics:",
    "pair_cosines": "evaluation:pair_cosines",
    "plots": "report.plots:",
    "preset": "experiments.presets:preset",
    "published": "published:",
    "records": "experiments.records:",
    "set_seed": "training:set_seed",
    "spans": "spans:",
    "sts_dev": "evaluation:sts_dev",
    "watch_geometry": "evaluation:watch_geometry",
}
__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'sentlab' has no attribute {name!r}")
    return resolve_name(f"sentlab.{_PLACES[name]}")


def __dir__() -> list[str]:
    return __all__
