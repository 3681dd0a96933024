"""Search beyond one index: several side by side, and vectors for an engine that finds candidates quickly.

`sentlab.PhraseIndex.merge` makes one index of several on one disk. Here they stay where they are::

    indexes = [sentlab.PhraseIndex.load(folder, encoder) for folder in folders]
    found = search_shards(indexes, ["a walk by the sea"], k=5)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from sentlab.encoder.inference import checked
from sentlab.search.hits import Found
from sentlab.search.phrase_index import PhraseIndex
from sentlab.search.phrase_index_files import check_alike
from sentlab.search.shortlist import WORDS


def search_shards(indexes: Sequence[PhraseIndex], phrases: Iterable[str], k: int = 10, *, trim: bool = True) -> Found:
    """Find the hits that one index of all texts has: `PhraseIndex.search` on each of several, and the best k of all.

    Args:
        indexes: of one encoder, with the same sizes and dtype. They are searched one after the other, so that the
            memory is that of one search.
        phrases, k, trim: as in `PhraseIndex.search`.

    Returns:
        For each phrase its hits. Texts are counted through all indexes in their order, as `PhraseIndex.merge` does.

    Raises:
        ValueError: no index, indexes that differ, or what `PhraseIndex.search` refuses.

    Example:
        >>> found = search_shards([index, other], ["a walk by the sea"], k=5)                  # doctest: +SKIP
    """
    check_alike([(index.folder, index._manifest) for index in indexes])
    phrases = checked(phrases)
    return joined([index.search(phrases, k, trim=trim) for index in indexes], [len(index) for index in indexes], k)


def joined(found: Sequence[Found], texts: Sequence[int], k: int) -> Found:
    """Return the best k hits of several searches for the same phrases, which may have run on several machines.

    Args:
        found: of each index, by `PhraseIndex.search` with the same k or a larger one.
        texts: the number of texts of each index, `len(index)`.
        k: hits a phrase.

    Returns:
        As `search_shards`.
    """
    firsts = [0, *accumulate(texts)]
    best = []
    for lists in zip(*found, strict=True):  # of one phrase; spans of two texts never overlap
        hits = [
            replace(hit, text=first + hit.text) for first, own in zip(firsts[:-1], lists, strict=True) for hit in own
        ]
        best.append(sorted(hits, key=lambda hit: -hit.similarity)[:k])  # of equals the first text's stays first
    return Found(found[0].phrases, best)


def span_vectors(index: PhraseIndex, size: int = 1) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give a vector for each word of an index, some thousands at a time, for a library that finds nearest neighbours.

    The vector is that of the span of `size` words from there on, or of fewer where the text ends: 1 gives the words'
    own. Search them with `index.phrase_vectors`, and pass the words found, and those around them, to
    `index.search(..., starts=...)`, which scores all spans that begin there exactly.

    Yields:
        The words, int64 (n,), counted through the whole index, and their vectors of length 1 or 0, float32 (n, D).

    Raises:
        ValueError: a size below 1, or a damaged segment (see `PhraseIndex.load`).

    Example:
        >>> for words, vectors in span_vectors(index, size=4):                                 # doctest: +SKIP
        ...     faiss_index.add_with_ids(vectors, words)
    """
    if size < 1:
        raise ValueError(f"size must be at least 1 word, it is {size}")
    for segment in index._sound(read=True):
        ends = np.repeat(segment.words[1:], np.diff(segment.words))  # of each word's text
        for first in range(0, len(ends), WORDS):
            starts = np.arange(first, min(first + WORDS, len(ends)))
            sums = np.zeros((len(starts), segment.vectors.shape[1]), np.float32)
            for further in range(size):
                inside = starts + further < ends[starts]
                sums[inside] += segment.vectors[starts[inside] + further]
            lengths = np.linalg.norm(sums, axis=1, keepdims=True)
            yield segment.first_word + starts, np.divide(sums, lengths, out=sums, where=lengths > 0)
