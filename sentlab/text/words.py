"""Words in a text, and where they begin among its tokens."""

from __future__ import annotations

import re

import numpy as np

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def word_boundaries(text: str, offsets: np.ndarray) -> np.ndarray:
    """Where the words of a text begin among its tokens: sub-words of one word stay together, and so does "don't".

    Args:
        text: the text.
        offsets: (T, 2), character start and end of each token, as `Encoder.encode_tokens` gives them.

    Returns:
        int64 (W + 1,), from 0 to T, for `best_spans`; a punctuation mark is a word of its own.
    """
    inside = np.zeros(len(text) + 1, dtype=bool)  # characters that no word begins at
    for match in _WORD.finditer(text):
        inside[match.start() + 1 : match.end()] = True
    begins = ~inside[offsets[:, 0]]
    begins[:1] = True  # of a text that was cut within a word too
    return np.append(np.flatnonzero(begins), len(offsets))
