"""Williams's test of each row against the best, and BM25 of each context."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan, log
from pathlib import Path

import numpy as np
import pytest
from experiments import records
from experiments.williams import WilliamsRow, WilliamsTable, bm25, mine, williams

from sentlab import metrics
from sentlab.data.rows import Corpus, PhraseInContext

Save = Callable[..., None]


def test_bm25_scores_of_each_context_for_its_phrase_are_those_of_the_formula() -> None:
    texts = {
        "A whale?": "a cat sleeps",
        "dogs or a Dog?": "A dog, a dog barks!",
        "fog": "rain",
        "sky": "snow falls",
    }
    rows = tuple(PhraseInContext(phrase, context, 0, 1, 1.0) for phrase, context in texts.items())
    weight, mean, k1, b = log((4 - 1 + 0.5) / (1 + 0.5)), (3 + 5 + 1 + 2) / 4, 1.5, 0.75  # "dog" is in one of four
    expected = weight * 2 / (2 + k1 * (1 - b + b * 5 / mean))  # "a" is in half of them and weighs nothing
    scores = bm25(Corpus("made", "test", rows, "made by the test"))
    assert scores.tolist() == pytest.approx([0, expected, 0, 0], abs=1e-5)


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


def test_of_an_encoder_that_is_gone_what_a_board_has_kept_counts(save: Save, results: Path) -> None:
    save("gone", 1.0)
    corpus = Corpus("made", "test", (PhraseInContext("a dog", "I saw a dog.", 6, 11, 4.0),) * 2, "made by the test")
    row = WilliamsRow(record="gone")
    table = WilliamsTable(setup="ngrams", rows=[row])
    with pytest.raises(FileNotFoundError, match="the encoder of gone is not in"):
        mine(row, table, corpus, results)
    name = f"own-32-made-ngrams-{corpus.fingerprint}"
    records.write_items(results / "gone.npz", {name: np.array([0.25, 0.5])})
    similarities, found = mine(row, table, corpus, results)
    assert (similarities.tolist(), isnan(found)) == ([0.25, 0.5], True)
    with pytest.raises(FileNotFoundError):  # with other spans it would have other similarities
        mine(row, table.model_copy(update={"max_size": 5}), corpus, results)
