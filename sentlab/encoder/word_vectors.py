"""Averaged word vectors, the oldest baseline: a text is the mean of its words' GloVe, word2vec or FastText vectors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sentlab.data.readers.files import streamed
from sentlab.encoder.encoder import checked
from sentlab.text.words import tokens


@dataclass(frozen=True)
class Coverage:
    """How much of some texts their word vectors cover."""

    words: int  # in all texts, repeats included
    unknown: Counter[str]  # how often each word without a vector occurs
    empty: list[int]  # positions of the texts without any known word, whose vectors are zero

    def __str__(self) -> str:
        share = 1 - self.unknown.total() / self.words if self.words else 0.0
        return (
            f"{share:.1%} of {self.words:,} words have a vector ({len(self.unknown):,} distinct words have none); "
            f"{len(self.empty):,} texts have no known word and are zero vectors"
        )


@dataclass(frozen=True, repr=False)
class WordVectors:
    """Words and their vectors; `encode` makes it a `sentlab.evaluation.TextEncoder`."""

    places: dict[str, int]  # word -> row of `vectors`
    vectors: np.ndarray  # float32 (V, D)
    source: str  # where they come from, in words
    duplicates: int = 0  # lines of the file that were left out because an earlier one has the same word

    @classmethod
    def read(
        cls, path: str | Path, *, vocabulary: Collection[str] | None = None, limit: int | None = None
    ) -> WordVectors:
        """Read GloVe's text format (`word v1 ... vD`) or FastText's and word2vec's (first a line `count D`).

        A word may hold spaces, as some of GloVe's 840B do: the last D fields of a line are the vector. D is the
        header's, or else what the first line has.

        Args:
            path: the file, plain, .gz or .xz.
            vocabulary: read no other words, which saves most of the time and memory. `tokens` says what words texts
                have. None: all.
            limit: read only the first `limit` words, which are the most frequent ones. None reads all.

        Raises:
            ValueError: a line has no word, too few or too many values, or one that is no number; the header promises
                another number of words; the file is cut off; or no word was read. The message names file and line.
        """
        path, wanted = Path(path).expanduser(), None if vocabulary is None else frozenset(vocabulary)
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be 1 or more, or None for the whole file; it is {limit}")
        places: dict[str, int] = {}
        rows: list[np.ndarray] = []
        duplicates = lines = 0
        promised, dim = None, 0
        for number, line in enumerate((line.rstrip(" \r") for line in streamed(path)), 1):
            if number == 1 and (header := re.fullmatch(r"(\d+) (\d+)", line)):
                promised, dim = int(header[1]), int(header[2])
                continue
            if lines == limit:
                break
            lines += 1
            dim = dim or line.count(" ")
            word, values = _split(line, dim, f"{path}:{number}")
            if wanted is not None and word not in wanted:
                continue
            if word in places:
                duplicates += 1
                continue
            places[word] = len(rows)
            rows.append(_numbers(values, f"{path}:{number}"))
        if promised not in (None, lines) and lines != limit:
            raise ValueError(f"{path}:1: the header promises {promised} words, but {lines} follow; get the file anew")
        if not rows:
            why = "is in the vocabulary" if lines else "could be read"
            raise ValueError(f"{path}: none of its {lines} words {why}")
        return cls(places, np.stack(rows), path.name, duplicates)

    @property
    def dim(self) -> int:
        """D."""
        return self.vectors.shape[1]

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        twice = f", {self.duplicates:,} duplicate lines left out" if self.duplicates else ""
        return f"WordVectors({len(self):,} words of {self.dim} dimensions{twice}; {self.source})"

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Average the vectors of each text's known words (`tokens`), every occurrence counting.

        Returns:
            float32 (n, D), in order. A text without a known word is a zero vector, whose cosine with any other is 0 in
            `sentlab.evaluate_sts`; `coverage` says how many there are.
        """
        texts = checked(texts)
        result = np.zeros((len(texts), self.dim), dtype=np.float32)
        for i, text in enumerate(texts):
            if rows := [self.places[word] for word in tokens(text) if word in self.places]:
                result[i] = self.vectors[rows].mean(axis=0)
        return result

    def coverage(self, texts: Iterable[str]) -> Coverage:
        """Report what `encode` can and cannot see of the texts."""
        count, unknown, empty = 0, Counter[str](), []
        for i, text in enumerate(checked(texts)):
            words = tokens(text)
            without = [word for word in words if word not in self.places]
            count += len(words)
            unknown.update(without)
            if len(without) == len(words):
                empty.append(i)
        return Coverage(count, unknown, empty)


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
