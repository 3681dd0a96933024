"""Static embeddings: a text is the mean of its word pieces' vectors, without any context (a model of model2vec)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sentlab.encoder.batches import checked
from sentlab.encoder.encoder import Encoder

MODULES, KIND = "modules.json", "StaticEmbedding"


def is_static(folder: str | Path) -> bool:
    """Return whether a folder holds a model that model2vec has saved: its first module says so."""
    try:
        modules = json.loads((Path(folder).expanduser() / MODULES).read_text(encoding="utf-8"))
        return str(modules[0]["type"]).endswith(f".{KIND}")
    except (OSError, ValueError, LookupError, TypeError):
        return False


def load(source: Mapping[str, Any]) -> Encoder | StaticEncoder:
    """Load static embeddings where a folder holds a model of model2vec, and an `Encoder` otherwise.

    Args:
        source: arguments of `Encoder.from_pretrained`. Of static embeddings only the folder counts: they read whole
            texts, and take their mean.
    """
    if is_static(source["source"]):
        return StaticEncoder.from_pretrained(source["source"])
    return Encoder.from_pretrained(**source)


class StaticEncoder:
    """A model of model2vec as a `sentlab.evaluation.TextEncoder`, so that every evaluation takes it.

    It is a peer for speed. It has no token vectors in context, and no method trains it.

    Args:
        model: a `model2vec.StaticModel`.

    Example:
        >>> encoder = StaticEncoder.from_pretrained("runs/static/minilm")                      # doctest: +SKIP
        >>> sentlab.evaluate_sts(encoder, "stsb").average                                      # doctest: +SKIP
    """

    pooling = "mean"

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> StaticEncoder:
        """Load a folder that `StaticModel.save_pretrained` has written, without any network.

        Raises:
            FileNotFoundError: the folder holds no model of model2vec.
            ImportError: model2vec is not installed; says how to install it.
        """
        if not is_static(folder):
            raise FileNotFoundError(f"{folder} holds no model of model2vec: its {MODULES} has to name {KIND}")
        try:
            from model2vec import StaticModel
        except ImportError as error:
            raise ImportError(f"{folder} is a model of model2vec: pip install 'sentlab[static]'") from error
        return cls(StaticModel.from_pretrained(str(Path(folder).expanduser())))

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return int(self.model.dim)

    def encode(self, texts: Sequence[str], *, normalize: bool = False, progress: bool | None = None) -> np.ndarray:
        """Return one vector for each text, in one process.

        Args:
            texts: n texts. One without a known piece gets zeros.
            normalize: scale vectors to length 1.
            progress: show a bar; None: no bar.

        Returns:
            float32 (n, D), in the order of the texts.
        """
        texts = checked(texts)
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        plain = {"max_length": None, "use_multiprocessing": False, "show_progress_bar": bool(progress)}
        found = self.model.encode(texts, normalize=normalize, **plain)
        return np.asarray(found, dtype=np.float32).reshape(-1, self.dim)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return all numbers that decide a vector."""
        return {
            name: np.asarray(value)
            for name in ("embedding", "weights", "token_mapping")
            if (value := getattr(self.model, name, None)) is not None
        }
