"""Averaged word vectors, the oldest baseline: a text is the mean of its words' GloVe, word2vec or FastText vectors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sentlab.data.readers import lines_of
from sentlab.encoder.inference import checked
from sentlab.text.words import tokens


@dataclass(frozen=True, repr=False)
class WordVectors:
    """Words and their vectors; `encode` makes it a `sentlab.evaluation.TextEncoder`."""

    places: dict[str, int]  # word -> row of `vectors`
    vectors: np.ndarray  # float32 (V, D)
    source: str  # where they come from, in words

    @classmethod
    def read(cls, path: str | Path, *, vocabulary: Collection[str] | None = None) -> WordVectors:
        """Read GloVe's text format (`word v1 ... vD`) or FastText's and word2vec's (first a line `count D`).

        A word may hold spaces, as some of GloVe's 840B do: the last D fields of a line are the vector. D is the
        header's, or else what the first line has. Of lines with the same word the first counts.

        Args:
            path: the file, plain, .gz or .xz.
            vocabulary: read no other words, which saves most of the time and memory. `tokens` says what words texts
                have. None: all.

        Raises:
            ValueError: a line has no word, too few or too many values, or one that is no number; the header promises
                another number of words; the file is cut off; or no word was read. The message names file and line.
        """
        path, wanted = Path(path).expanduser(), None if vocabulary is None else frozenset(vocabulary)
        places: dict[str, int] = {}
        rows: list[np.ndarray] = []
        promised, dim, lines = None, 0, 0
        for number, line in enumerate((line.rstrip(" \r") for line in lines_of(path)), 1):
            if number == 1 and (header := re.fullmatch(r"(\d+) (\d+)", line)):
                promised, dim = int(header[1]), int(header[2])
                continue
            lines += 1
            dim = dim or line.count(" ")
            word, values = _split(line, dim, f"{path}:{number}")
            if word not in places and (wanted is None or word in wanted):
                places[word] = len(rows)
                rows.append(_numbers(values, f"{path}:{number}"))
        if promised not in (None, lines):
            raise ValueError(f"{path}:1: the header promises {promised} words, but {lines} follow; get the file anew")
        if not rows:
            why = "is in the vocabulary" if lines else "could be read"
            raise ValueError(f"{path}: none of its {lines} words {why}")
        return cls(places, np.stack(rows), path.name)

    @property
    def dim(self) -> int:
        """D."""
        return self.vectors.shape[1]

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"WordVectors({len(self):,} words of {self.dim} dimensions; {self.source})"

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Average the vectors of each text's known words (`tokens`), every occurrence counting.

        Returns:
            float32 (n, D), in order. A text without a known word is a zero vector, whose cosine with any other is 0 in
            `sentlab.evaluate_sts`.
        """
        texts = checked(texts)
        result = np.zeros((len(texts), self.dim), dtype=np.float32)
        for i, text in enumerate(texts):
            if rows := [self.places[word] for word in tokens(text) if word in self.places]:
                result[i] = self.vectors[rows].mean(axis=0)
        return result


def _split(line: str, dim: int, where: str) -> tuple[str, list[str]]:
    word, *values = line.rsplit(" ", dim)
    if dim == 0 or len(values) < dim or not word:
        raise ValueError(
            f"{where}: expected a word and {dim or 'its'} values, found {line.count(' ')} values: {line:.60}"
        )
    if re.search(r" [-+]?(\d+\.?\d*|\.\d+|nan|inf)(e[-+]?\d+)?$", word, re.IGNORECASE):
        raise ValueError(f"{where}: expected a word and {dim} values, found more values: {line:.60}")
    return word, values


def _numbers(values: list[str], where: str) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # to infinity, which is an error below
            vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if not np.isfinite(vector).all():
        raise ValueError(f"{where}: a value is not finite: {values[int(np.argmin(np.isfinite(vector)))]}")
    return vector
