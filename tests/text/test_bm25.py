"""BM25: its formula, by hand."""

from __future__ import annotations

from math import log

import pytest

from sentlab.text.bm25 import BM25, K1, B


def test_scores_are_those_of_the_formula() -> None:
    texts = ["a cat sleeps", "A dog, a dog barks!", "rain", "snow falls"]
    size, mean = 4, (3 + 5 + 1 + 2) / 4
    weight = log((size - 1 + 0.5) / (1 + 0.5))  # "dog" is in one text
    long = K1 * (1 - B + B * 5 / mean)
    expected = weight * 2 / (2 + long)
    scores = BM25(texts).scores("Dog?")
    assert scores.tolist() == pytest.approx([0, expected, 0, 0], rel=1e-5)


def test_a_query_without_known_words_scores_nothing() -> None:
    index = BM25(["a cat", "a dog"])
    assert index.scores("?!").tolist() == index.scores("whale").tolist() == [0, 0]


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(ValueError, match="no text has a letter or a digit"):
        BM25(["...", ""])
