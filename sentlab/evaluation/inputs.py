"""What evaluations take: a corpus, the name of one, or plain rows; every row is checked before an encoder sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sentlab import data
from sentlab.data.rows import Corpus, check_rows
from sentlab.encoder import Encoder
from sentlab.evaluation import metrics


class TextEncoder(Protocol):
    """Anything that turns n texts into n vectors: `sentlab.Encoder`, a SentenceTransformer, a class of your own."""

    def encode(self, texts: list[str], /) -> Any: ...


def one_corpus(
    rows: str | Corpus[Any] | Iterable[Any],
    *kinds: type,
    folder: str | Path | None = None,
    least: int = 1,
    name: str = "rows",
) -> Corpus[Any]:
    """One corpus, checked by `check_rows`.

    Args:
        rows: a corpus, rows, or a name. Of a name the `test` split is loaded.
        kinds: types of row that are allowed.
        folder: where the public files are. See `sentlab.data.load`.
        least: number of rows that are needed.
        name: of a corpus that is made of plain rows.
    """
    corpus = _corpus(rows, folder, name)
    check_rows(corpus, *kinds, least=least)
    return corpus


def several_corpora(
    given: Any, *kinds: type, folder: str | Path | None = None, least: int = 1, argument: str = "corpora"
) -> dict[str, Corpus[Any]]:
    """Name -> corpus, each checked by `check_rows`.

    Args:
        given: what `one_corpus` takes; a list of names and corpora; or a mapping name -> what `one_corpus` takes.
        kinds, folder, least: as in `one_corpus`.
        argument: name of `given` in error messages.

    Raises:
        ValueError: nothing is given, a corpus is named twice, or as `check_rows`.
    """
    if isinstance(given, Mapping):
        named = [(str(name), _corpus(rows, folder, str(name))) for name, rows in given.items()]
    else:
        parts = [given] if isinstance(given, str | Corpus) else list(given)
        if parts and not any(isinstance(part, str | Corpus) for part in parts):
            parts = [parts]  # plain rows
        named = [(corpus.name, corpus) for corpus in (_corpus(part, folder, "rows") for part in parts)]
    corpora: dict[str, Corpus[Any]] = {}
    for name, corpus in named:
        check_rows(corpus, *kinds, least=least)
        if name in corpora:
            raise ValueError(f"{argument} names {name} twice")
        corpora[name] = corpus
    if not corpora:
        raise ValueError(f"{argument} is empty; name at least one corpus, or give rows")
    return corpora


def _corpus(rows: Any, folder: str | Path | None, name: str) -> Corpus[Any]:
    if isinstance(rows, str):
        return data.load(rows, "test", folder)
    if not isinstance(rows, Iterable):
        raise TypeError(f"expected a corpus, its name, or a list of rows; found {type(rows).__name__}")
    return rows if isinstance(rows, Corpus) else Corpus(name, "test", tuple(rows), "given as rows")


def encode_groups(encoder: TextEncoder, *groups: Sequence[str], progress: bool | None = None) -> list[np.ndarray]:
    """The vectors (n, D) of each group of n texts, with one call of `encode` for the distinct texts of all.

    Args:
        encoder: anything with `encode`.
        groups: texts.
        progress: as in `Encoder.encode`; other encoders decide for themselves.

    Raises:
        ValueError: `encode` returned another number of vectors.
    """
    vectors, places = embed(encoder, groups, progress)
    return [vectors[own] for own in places]


def embed(
    encoder: TextEncoder, groups: Sequence[Sequence[str]], progress: bool | None = None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Vectors of all distinct texts, (n, D), and for each group the places of its texts among them."""
    place: dict[str, int] = {}
    places = [np.array([place.setdefault(text, len(place)) for text in group]) for group in groups]
    texts = list(place)
    # only our own encoder is known to have the argument
    found = encoder.encode(texts, progress=progress) if isinstance(encoder, Encoder) else encoder.encode(texts)
    vectors = metrics.as_array(found)
    if vectors.ndim != 2 or len(vectors) != len(place):
        raise ValueError(f"encode() was given {len(place)} texts and returned an array of shape {vectors.shape}")
    return vectors, places
