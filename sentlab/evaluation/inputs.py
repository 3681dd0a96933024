"""What evaluations take: a corpus, the name of one, or plain rows; every row is checked before an encoder sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sentlab import data
from sentlab.data.rows import Corpus, check_rows
from sentlab.encoder import Encoder
from sentlab.evaluation import metrics

Rows = str | Corpus[Any] | Iterable[Any]  # the name of a corpus, a corpus, or plain rows


class TextEncoder(Protocol):
    """Anything that turns n texts into n vectors: `sentlab.Encoder`, a SentenceTransformer, a class of your own."""

    def encode(self, texts: list[str], /) -> Any: ...


def one_corpus(
    rows: Rows,
    *kinds: type,
    split: str = "test",
    folder: str | Path | None = None,
    least: int = 1,
) -> Corpus[Any]:
    """Return one corpus, checked by `check_rows`.

    Args:
        rows: a corpus, rows, or a name, of which `split` is loaded: `dev` for whatever chooses.
        kinds, least: as in `check_rows`.
        folder: where the public files are. See `sentlab.data.load`.
    """
    if isinstance(rows, str):
        rows = data.load(rows, split, folder)
    if not isinstance(rows, Iterable):
        raise TypeError(f"expected a corpus, its name, or a list of rows; found {type(rows).__name__}")
    corpus = rows if isinstance(rows, Corpus) else Corpus("rows", "test", tuple(rows), "given as rows")
    check_rows(corpus, *kinds, least=least)
    return corpus


def several_corpora(
    given: Any, *kinds: type, folder: str | Path | None = None, least: int = 1, argument: str = "corpora"
) -> dict[str, Corpus[Any]]:
    """Return a mapping name -> corpus, each checked by `check_rows`.

    Args:
        given: what `one_corpus` takes, or a list of names and corpora.
        kinds, folder, least: as in `one_corpus`.
        argument: name of `given` in error messages.

    Raises:
        ValueError: nothing is given, a corpus is named twice, or as `check_rows`.
    """
    parts = [given] if isinstance(given, str | Corpus) else list(given)
    if parts and not any(isinstance(part, str | Corpus) for part in parts):
        parts = [parts]  # plain rows
    corpora: dict[str, Corpus[Any]] = {}
    for part in parts:
        corpus = one_corpus(part, *kinds, folder=folder, least=least)
        if corpus.name in corpora:
            raise ValueError(f"{argument} names {corpus.name} twice")
        corpora[corpus.name] = corpus
    if not corpora:
        raise ValueError(f"{argument} is empty; name at least one corpus, or give rows")
    return corpora


def encode_groups(encoder: TextEncoder, *groups: Sequence[str], progress: bool | None = None) -> list[np.ndarray]:
    """Encode each group of n texts to vectors (n, D), with one call of `encode` for the distinct texts of all.

    Args:
        encoder, progress: as in `evaluate_sts`.
        groups: texts.

    Raises:
        ValueError: `encode` returned another number of vectors.
    """
    if not callable(getattr(encoder, "encode", None)) or isinstance(encoder, str):  # a string has an `encode`, too
        raise TypeError(f"an encoder turns texts into vectors, got {encoder!r:.60}: pass Encoder.from_pretrained(...)")
    place: dict[str, int] = {}  # of a text among the distinct ones
    places = [np.array([place.setdefault(text, len(place)) for text in group], np.int64) for group in groups]
    # only our own encoder is known to have the arguments; float32, so that scores are the same on all devices
    options = {"progress": progress, "precision": "float32"} if isinstance(encoder, Encoder) else {}
    vectors = metrics.as_array(encoder.encode(list(place), **options))
    if vectors.ndim != 2 or len(vectors) != len(place):
        raise ValueError(f"encode() was given {len(place)} texts and returned an array of shape {vectors.shape}")
    return [vectors[own] for own in places]


def encode_pairs(
    encoder: TextEncoder, corpora: Iterable[Corpus[Any]], progress: bool | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Encode the first texts and the second texts of each corpus of n pairs to vectors, (n, D) each."""
    groups = [texts for corpus in corpora for texts in sides(corpus)]
    vectors = encode_groups(encoder, *groups, progress=progress)
    return list(zip(vectors[::2], vectors[1::2], strict=True))


def sides(pairs: Corpus[Any]) -> list[list[str]]:
    """Return the first texts of pairs, and the second ones: the first two fields of each kind of pair."""
    return [[getattr(pair, fields(pair)[side].name) for pair in pairs] for side in (0, 1)]
