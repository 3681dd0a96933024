"""sentlab: learn, compare and use modern sentence and phrase embeddings.

import sentlab

encoder = sentlab.Encoder.from_pretrained()            # the bundled encoder, offline
method = sentlab.methods.MoCo(encoder)
sentlab.fit(method, sentences, sentlab.TrainConfig(steps=300, learning_rate=1e-4))
vectors = encoder.encode(["A man plays the guitar."])  # (1, D)

Each name is imported when it is first used, so that `import sentlab` is quick.
"""

# ruff: noqa: F401, I001  the imports are for type checkers, which cannot follow __getattr__
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentlab import data, methods, metrics, plots, spans
    from sentlab.encoder import Encoder
    from sentlab.evaluation import dev_score, evaluate_mining, evaluate_retrieval, evaluate_sts, geometry
    from sentlab.evaluation import pair_cosines, watch_geometry
    from sentlab.methods.universal import task_rows
    from sentlab.search import PhraseIndex
    from sentlab.training import History, TrainConfig, fit, set_seed, train_heads_first

__version__ = "0.1.0"  # pyproject.toml reads it here

_FOLDERS = {  # room -> its public names
    "encoder": "Encoder",
    "evaluation": "dev_score evaluate_mining evaluate_retrieval evaluate_sts geometry pair_cosines watch_geometry",
    "methods.universal": "task_rows",
    "search": "PhraseIndex",
    "training": "History TrainConfig fit set_seed train_heads_first",
}
_PLACES = {name: f"sentlab.{folder}" for folder, names in _FOLDERS.items() for name in names.split()}
__all__ = sorted([*_PLACES, "data", "methods", "metrics", "plots", "spans"])


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'sentlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
