"""Spans: equal to the vectors of all spans made one by one, however the text is shaped."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sentlab.search import spans
from sentlab.search.spans import best_spans, span_scores


def slow_scores(query: np.ndarray, tokens: np.ndarray, min_size: int, max_size: int) -> np.ndarray:
    """(T, K): every span's vector is made, in float64."""
    query, tokens = query.astype(np.float64), tokens.astype(np.float64)
    scores = np.full((len(tokens), max_size - min_size + 1), -np.inf)
    for start in range(len(tokens)):
        for size in range(min_size, min(max_size, len(tokens) - start) + 1):
            mean = tokens[start : start + size].mean(0)
            lengths = np.linalg.norm(mean) * np.linalg.norm(query)
            scores[start, size - min_size] = query @ mean / lengths if lengths > 0 else 0.0
    return scores


def example(seed: int) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Queries, tokens and sizes; every third has coarse tokens, among whose spans many cancel or nearly do."""
    random = np.random.default_rng(seed)
    length, dim = int(random.integers(0, 50)), int(random.integers(1, 7))
    min_size = int(random.integers(1, 5))
    max_size = min_size + int(random.integers(0, 25))
    queries, tokens = random.normal(size=(3, dim)), random.normal(size=(length, dim))
    if seed % 3 == 0:
        tokens = 0.1 * random.integers(-1, 2, (length, dim)) + 1e-4 * random.normal(size=(length, dim)) * (seed % 2)
    return queries.astype(np.float32), tokens.astype(np.float32), min_size, max_size


@pytest.mark.parametrize("seed", range(24))
def test_every_score_is_that_of_the_span_vector(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "TOKENS", 16)  # so that there are several chunks
    queries, tokens, low, high = example(seed)
    best = best_spans(queries, tokens, min_size=low, max_size=high)
    for query, score, start, end in zip(queries, *best, strict=True):
        slow = slow_scores(query, tokens, low, high)
        found = span_scores(query, tokens, min_size=low, max_size=high)
        np.testing.assert_allclose(found, slow, atol=1e-5, rtol=0)
        if low > len(tokens):
            assert (score, start, end) == (0, 0, 0)
        else:
            assert score == pytest.approx(slow.max(), abs=1e-5)
            assert slow[start, end - start - low] == pytest.approx(slow.max(), abs=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_cancels_in_a_long_text(dtype: type) -> None:
    """100,000 tokens with a large common part, whose sums from the start would leave nothing of a span in float32."""
    random = np.random.default_rng(0)
    tokens = (random.normal(size=(100_000, 8)) + 50).astype(dtype)
    queries = random.normal(size=(5, 8)).astype(dtype)
    at = np.array([0, 51_234, 77_777, 99_980, 99_993])
    tokens[at[1:4] + 1] = -tokens[at[1:4]]  # spans that cancel, far from the start
    tokens[at[4] + 1] = -tokens[at[4]] + dtype(0.01)
    for query in queries:
        found = span_scores(query, tokens, max_size=7)
        for i in at:
            np.testing.assert_allclose(found[i : i + 7], slow_scores(query, tokens[i : i + 14], 1, 7)[:7], atol=1e-5)
    best = best_spans(queries, tokens, max_size=7)
    for query, score, start, end in zip(queries, *best, strict=True):
        assert score == pytest.approx(span_scores(query, tokens, max_size=7).max(), abs=1e-5)
        assert slow_scores(query, tokens[start:end], 1, 7)[0, end - start - 1] == pytest.approx(score, abs=1e-5)


def test_equal_spans_count_from_the_first_and_shortest() -> None:
    random = np.random.default_rng(1)
    token, other = random.normal(size=(2, 384)).astype(np.float32)
    tokens = np.stack([other, *[token] * 400])
    best = best_spans(token[None] * 3, tokens)
    assert [values.tolist() for values in best] == [[1.0], [1], [2]]


def test_zero_is_similar_to_nothing() -> None:
    tokens = np.zeros((6, 3), np.float32)
    tokens[4] = [0, -1, 0]
    queries = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]], np.float32)
    best = best_spans(queries, tokens)
    assert [values.tolist() for values in best] == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    assert best_spans(-queries[:1], tokens).start.tolist() == [0]  # zeros around a span change nothing
    assert not np.isnan(span_scores(queries[0], tokens)).any()


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    queries, tokens = random.normal(size=(20, 5)), random.normal(size=(120, 5))
    whole = best_spans(queries, tokens)
    for name, value in {"TOKENS": 8, "QUERIES": 7, "SCORES": 50, "BLOCK": 3}.items():
        monkeypatch.setattr(spans, name, value)
        assert all(map(np.array_equal, best_spans(queries, tokens), whole))


def test_same_kind_out() -> None:
    random = np.random.default_rng(3)
    queries, tokens = random.normal(size=(2, 4)), random.normal(size=(9, 4))
    expected = best_spans(queries, tokens)
    assert expected.score.dtype == np.float64
    found = best_spans(torch.tensor(queries), torch.tensor(tokens, requires_grad=True))
    assert all(isinstance(values, torch.Tensor) and not values.requires_grad for values in found)
    assert all(np.array_equal(a.numpy(), b) for a, b in zip(found, expected, strict=True))
    half = best_spans(queries, tokens.astype(np.float16))
    assert half.score.dtype == np.float32
    np.testing.assert_allclose(half.score, expected.score, atol=2e-3)
    tokens.setflags(write=False)
    assert np.array_equal(best_spans(queries, tokens).start, expected.start)
    assert np.array_equal(best_spans(queries, np.asfortranarray(tokens)[:, :]).start, expected.start)


def test_spans_of_words() -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        counts = random.integers(1, 4, size=int(random.integers(1, 20)))
        edges = np.cumsum([0, *counts])
        tokens, queries = random.normal(size=(edges[-1], 5)), random.normal(size=(2, 5))
        best = best_spans(queries, tokens, min_size=1, max_size=4, boundaries=edges)
        for i, query in enumerate(queries):
            slow = np.full((len(counts), 4), -np.inf)
            for word, size in np.ndindex(slow.shape):
                if word + size < len(counts):  # the mean of the tokens, not of the words
                    mean = tokens[edges[word] : edges[word + size + 1]].mean(0)
                    slow[word, size] = query @ mean / np.linalg.norm(query) / np.linalg.norm(mean)
            np.testing.assert_allclose(span_scores(query, tokens, max_size=4, boundaries=edges), slow, atol=1e-9)
            word, size = np.unravel_index(slow.argmax(), slow.shape)
            assert (best.start[i], best.end[i]) == (edges[word], edges[word + size + 1])


def test_what_would_give_wrong_numbers_is_refused() -> None:
    x = np.ones((2, 3), np.float32)
    for queries, tokens, options in (
        (x, x, {"min_size": 0}),
        (x, x, {"min_size": 3, "max_size": 2}),
        (x, x * np.float32(np.nan), {}),
        (x * np.float32(np.inf), x, {}),
        (x, x, {"boundaries": [0, 1]}),
        (x, x, {"boundaries": [0, 1, 1, 2]}),
    ):
        with pytest.raises(ValueError, match=r"sizes|holds|boundaries"):
            best_spans(queries, tokens, **options)
