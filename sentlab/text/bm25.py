"""Okapi BM25: how well texts fit the words of a query, without vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentlab.extras import need
from sentlab.text.words import tokens

K1, B = 1.5, 0.75  # how soon repeated words count less, and how much a longer text counts less


class BM25:
    """Texts that are asked for the words of a query.

    Words are those of `sentlab.text.words.tokens`; k1 is 1.5 and b 0.75; words in more than half of the texts weigh
    nothing. Frequencies and lengths are those of the texts.

    Args:
        texts: N of them.

    Raises:
        ValueError: no text has a letter or a digit.

    Source: Robertson et al. (1994), "Okapi at TREC-3".

    Example:
        >>> int(BM25(["a cat sleeps", "a dog barks", "it rains"]).scores("Does a dog sleep?").argmax())
        1
    """

    def __init__(self, texts: Sequence[str]) -> None:
        words = [tokens(text) for text in texts]
        if not any(words):
            raise ValueError("no text has a letter or a digit, so BM25 finds no word")
        self._size, self._index = len(words), need("bm25s", "eval").BM25(k1=K1, b=B, method="robertson")
        self._index.index(words, show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        """Return the score of each text, float32 (N,); 0 for one without a word of the query."""
        asked = tokens(query)
        return self._index.get_scores(asked) if asked else np.zeros(self._size, np.float32)
