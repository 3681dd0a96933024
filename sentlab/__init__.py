"""sentlab: learn, compare and use modern sentence and phrase embeddings.

import sentlab

encoder = sentlab.Encoder.from_pretrained()            # the bundled encoder, offline
method = sentlab.methods.MoCo(encoder)
sentlab.fit(method, sentences, sentlab.TrainConfig(steps=300, learning_rate=1e-4))
vectors = encoder.encode(["A man plays the guitar."])  # (1, D)

Each name is imported when it is first used, so that `import sentlab` is quick and needs no optional package.
"""

# ruff: noqa: F401  the imports are for type checkers, which cannot follow __getattr__
from importlib import import_module
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentlab import data, methods, metrics, published, spans
    from sentlab.encoder import Encoder
    from sentlab.evaluation import dev_score, evaluate_sts, pair_cosines, watch_geometry
    from sentlab.experiments import records
    from sentlab.experiments.presets import preset
    from sentlab.report import plots
    from sentlab.search import PhraseIndex
    from sentlab.training import History, TrainConfig, fit, set_seed

__version__ = "0.1.0"  # pyproject.toml reads it here

_OBJECTS = {
    "encoder": ("Encoder",),
    "evaluation": ("dev_score", "evaluate_sts", "pair_cosines", "watch_geometry"),
    "experiments.presets": ("preset",),
    "search": ("PhraseIndex",),
    "training": ("History", "TrainConfig", "fit", "set_seed"),
}
_MODULES = ("data", "experiments.records", "methods", "metrics", "published", "report.plots", "spans")
_PLACES = {name: f"sentlab.{module}:{name}" for module, names in _OBJECTS.items() for name in names}
_PLACES |= {module.rpartition(".")[2]: f"sentlab.{module}:" for module in _MODULES}
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return resolve_name(_PLACES[name])
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):  # a part that `__all__` does not name
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'sentlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
