"""Williams's test of each row against the best, and BM25 by its formula."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from experiments.williams import bm25, williams

from sentlab.data.rows import Corpus, PhraseInContext
from sentlab.evaluation import metrics


def test_bm25_by_its_formula() -> None:
    texts = {
        "The zebra, zebra": "a zebra and a horse, and the zebra",
        "the zebra": "a dog and a horse",
        "horse dog": "the horse and the dog",
        "emu": "nothing here",
        "?!": "what is it",
    }
    rows = tuple(PhraseInContext(phrase, context, 0, 1, 1.0) for phrase, context in texts.items())
    words = [re.findall(r"\w+", context.lower()) for context in texts.values()]
    average = sum(map(len, words)) / len(words)

    def score(query: list[str], text: list[str]) -> float:
        total = 0.0
        for word in query:
            n, tf = sum(word in other for other in words), text.count(word)
            idf = max(0.0, math.log((len(words) - n + 0.5) / (n + 0.5)))
            total += idf * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * len(text) / average))
        return total

    queries = [re.findall(r"\w+", phrase.lower()) for phrase in texts]
    similarities = bm25(Corpus("made", "test", rows, "made by the test"))
    assert similarities == pytest.approx(
        [score(query, text) for query, text in zip(queries, words, strict=True)], abs=1e-5
    )
    assert similarities[0] > similarities[2] > similarities[1] == 0  # one word is in most contexts


def test_williams_sets_each_row_against_the_best() -> None:
    random = np.random.default_rng(0)
    gold = random.normal(size=100)
    rows = {"poor": gold + 4 * random.normal(size=100), "good": gold + 0.5 * random.normal(size=100)}
    rows["near"] = rows["good"] + 0.1 * random.normal(size=100)
    table = williams(rows, gold)
    best = max(rows, key=lambda name: np.corrcoef(rows[name], gold)[0, 1])
    assert best != "poor"
    for name, values in rows.items():
        r, r_best, between = (
            np.corrcoef(a, b)[0, 1] for a, b in ((values, gold), (rows[best], gold), (values, rows[best]))
        )
        t, p = (0.0, 1.0) if name == best else metrics.williams_test(r, r_best, between, 100)
        assert table.loc[name].tolist() == pytest.approx([100 * r, 100 * (r - r_best), t, p], abs=1e-9)
    assert table.loc["poor", "t"] < 0
    assert table.loc["poor", "p"] < 0.05
