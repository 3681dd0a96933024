"""Peers that read no context: averaged word vectors, static embeddings of word pieces, and counts of common words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import regex
from sentlab.data.readers import lines_of
from sentlab.encoder import Encoder
from sentlab.encoder.inference import strings
from sentlab.text.words import LETTERS, lower_words

WORDS = "words"


def okapi(texts: Iterable[str]) -> Any:
    """Index texts for Okapi BM25: `get_scores(lower_words(query))` says how well each of them fits, float32 (n,).

    Source: Robertson et al. (1994), "Okapi at TREC-3".
    """
    from bm25s import BM25  # slow to import

    index = BM25(k1=1.5, b=0.75, method="robertson")
    index.index([lower_words(text) for text in texts], show_progress=False)
    return index


def load(source: Mapping[str, Any]) -> Encoder | StaticEncoder | BagOfWords:
    """Load a `BagOfWords` for the source "words", static embeddings for a folder of model2vec, else an `Encoder`.

    The source holds arguments of `Encoder.from_pretrained`. Static embeddings read whole texts, and take their mean.
    """
    if source["source"] == WORDS:
        return BagOfWords()
    modules = Path(source["source"]).expanduser() / "modules.json"
    if modules.is_file() and json.loads(modules.read_text(encoding="utf-8"))[0]["type"].endswith(".StaticEmbedding"):
        return StaticEncoder(modules.parent)
    return Encoder.from_pretrained(**source)


@dataclass(frozen=True, repr=False)
class WordVectors:
    """A text as the mean of its words' GloVe, word2vec or FastText vectors: the oldest baseline."""

    places: dict[str, int]  # word -> row of `vectors`
    vectors: np.ndarray  # float32 (V, D)

    @classmethod
    def read(cls, path: str | Path) -> WordVectors:
        """Read GloVe's text format (`word v1 ... vD`) or FastText's and word2vec's (first a line `count D`).

        A word may hold spaces, as some of GloVe's 840B do: the last D fields of a line are the vector. D is the
        header's, or else what the first line has. Of equal words the first counts. The file may be .gz or .xz.
        """
        lines = (line.rstrip(" \r") for line in lines_of(Path(path).expanduser()))
        first = next(lines)
        header = re.fullmatch(r"\d+ (\d+)", first)
        dim = int(header[1]) if header else first.count(" ")
        rows: dict[str, np.ndarray] = {}
        for line in lines if header else chain([first], lines):
            word, *values = line.rsplit(" ", dim)
            vector = np.array(values, dtype=np.float32)
            if len(vector) < dim or not np.isfinite(vector).all():
                raise ValueError(f"{path}: expected a word and {dim} finite values: {line:.60}")
            rows.setdefault(normalize("NFC", word), vector)  # as `lower_words` gives them
        return cls({word: place for place, word in enumerate(rows)}, np.stack(list(rows.values())))

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Average the vectors of each text's known words, every occurrence counting: float32 (n, D), zero for none."""
        texts = list(strings(texts))
        result = np.zeros((len(texts), self.vectors.shape[1]), dtype=np.float32)
        for i, text in enumerate(texts):
            if rows := [self.places[word] for word in lower_words(text) if word in self.places]:
                result[i] = self.vectors[rows].mean(axis=0)
        return result


class StaticEncoder:
    """A model of model2vec, a peer for speed. It has no token vectors in context, and no method trains it.

    `folder`: which `StaticModel.save_pretrained` has written.
    """

    pooling = "mean"

    def __init__(self, folder: str | Path) -> None:
        from model2vec import StaticModel

        self.model = StaticModel.from_pretrained(str(folder))
        self.dim = int(self.model.dim)

    def encode(self, texts: Sequence[str], *, progress: bool | None = None) -> np.ndarray:
        """Return one vector for each text, float32 (n, D), in one process. One without a known piece gets zeros."""
        plain: dict[str, Any] = {"normalize": False, "max_length": None, "use_multiprocessing": False}
        return np.asarray(self.model.encode(texts, show_progress_bar=bool(progress), **plain), dtype=np.float32)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return all numbers that decide a vector."""
        values = {name: getattr(self.model, name, None) for name in ("embedding", "weights", "token_mapping")}
        return {name: np.asarray(value) for name, value in values.items() if value is not None}


class BagOfWords:
    """Which words a text has: the baseline that knows nothing but spelling.

    Case and order do not count, nor how often a word is there. The cosine of two texts is the number of words that both
    have, divided by the geometric mean of the numbers of their words. A word's place is a hash, which a few share.

    Example:
        >>> one, other = BagOfWords().encode(["The dog runs.", "The dog sleeps."])
        >>> float(one @ other)  # two words of three
        2.0
    """

    pooling = "mean"
    dim = 2**14

    def encode(self, texts: Sequence[str], *, progress: bool | None = None) -> np.ndarray:
        """Return one vector for each text, float32 (n, D): 1 where it has the word, else 0."""
        from sklearn.feature_extraction.text import HashingVectorizer

        def words(text: str) -> list[str]:
            return regex.findall(rf"(?:{LETTERS}|_)+", normalize("NFC", text.lower()))

        plain = {"binary": True, "norm": None, "alternate_sign": False, "analyzer": words}
        return HashingVectorizer(n_features=self.dim, dtype=np.float32, **plain).transform(texts).toarray()

    def state_dict(self) -> dict[str, int]:
        """Return all numbers that decide a vector."""
        return {"dim": self.dim}
