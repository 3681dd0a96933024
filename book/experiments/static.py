"""Peers that read no context: static embeddings, the mean of word pieces' vectors, and counts of common words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sentlab.encoder import Encoder
from sentlab.encoder.inference import checked

MODULES, KIND = "modules.json", "StaticEmbedding"
WORDS = "words"


def is_static(folder: str | Path) -> bool:
    """Return whether a folder holds a model that model2vec has saved: its first module says so."""
    try:
        modules = json.loads((Path(folder).expanduser() / MODULES).read_text(encoding="utf-8"))
        return str(modules[0]["type"]).endswith(f".{KIND}")
    except (OSError, ValueError, LookupError, TypeError):
        return False


def load(source: Mapping[str, Any]) -> Encoder | StaticEncoder | BagOfWords:
    """Load static embeddings where a folder holds a model of model2vec, and an `Encoder` otherwise.

    The source "words" is a `BagOfWords`.

    Args:
        source: arguments of `Encoder.from_pretrained`. Of static embeddings only the folder counts: they read whole
            texts, and take their mean.
    """
    if source["source"] == WORDS:
        return BagOfWords()
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
            raise ImportError(f"{folder} is a model of model2vec: pip install model2vec") from error
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


class BagOfWords:
    """Which words a text has, as a `sentlab.evaluation.TextEncoder`: the baseline that knows nothing but spelling.

    Case and order do not count, nor how often a word is there. The cosine of two texts is the number of words that both
    have, divided by the geometric mean of the numbers of their words. A word's place in the vector is a hash of it; of
    1,000 words, some 60 share theirs.

    Example:
        >>> vectors = BagOfWords().encode(["The dog runs.", "The dog sleeps."], normalize=True)
        >>> round(float(vectors[0] @ vectors[1]), 3)  # two words of three
        0.667
    """

    pooling = "mean"
    dim = 2**14

    def encode(self, texts: Sequence[str], *, normalize: bool = False, progress: bool | None = None) -> np.ndarray:
        """Return one vector for each text, float32 (n, D): 1 where it has the word, else 0."""
        from sklearn.feature_extraction.text import HashingVectorizer

        norm, pattern = "l2" if normalize else None, r"(?u)\w+"
        counts = HashingVectorizer(
            n_features=self.dim, binary=True, norm=norm, alternate_sign=False, token_pattern=pattern, dtype=np.float32
        )
        texts = checked(texts)
        return counts.transform(texts).toarray() if texts else np.zeros((0, self.dim), dtype=np.float32)

    def state_dict(self) -> dict[str, int]:
        """Return all numbers that decide a vector."""
        return {"dim": self.dim}
