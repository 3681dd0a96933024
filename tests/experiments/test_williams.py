"""Williams's test of each row against the best, and BM25 of each context."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.williams import bm25, williams

from sentlab import metrics
from sentlab.data.rows import Corpus, PhraseInContext
from sentlab.text.words import BM25


def test_bm25_scores_each_context_for_its_phrase() -> None:
    texts = {"The zebra, zebra": "a zebra and a horse, and the zebra", "the zebra": "a dog", "?!": "what is it"}
    rows = tuple(PhraseInContext(phrase, context, 0, 1, 1.0) for phrase, context in texts.items())
    index = BM25(list(texts.values()))
    scores = [index.scores(phrase)[place] for place, phrase in enumerate(texts)]
    assert bm25(Corpus("made", "test", rows, "made by the test")) == pytest.approx(scores, abs=1e-6)
    assert scores[0] > scores[1] == 0


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
