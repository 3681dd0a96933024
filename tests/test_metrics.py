"""Metrics against slow loops, SciPy, hand-worked cases and extremes."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import torch
from scipy import stats

from sentlab import metrics

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(("name", "oracle"), [("spearman", stats.spearmanr), ("pearson", stats.pearsonr)])
def test_correlations_equal_scipy(name, oracle):
    x, y = RANDOM.normal(size=200), RANDOM.integers(0, 6, size=200)  # y is full of ties, as gold scores are
    assert getattr(metrics, name)(x, y) == pytest.approx(oracle(x, y).statistic, abs=1e-12)
    assert getattr(metrics, name)(torch.tensor(x), y.tolist()) == getattr(metrics, name)(x, y)


def test_correlations_by_hand():
    assert metrics.spearman([1, 2, 3], [10, 100, 1000]) == 1.0
    assert metrics.spearman([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert metrics.pearson([0, 1, 2], [0, 1, 1]) == pytest.approx(math.sqrt(3) / 2)
    assert metrics.pearson([1, 2, 3], [-2, -4, -6]) == -1.0


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pearson_of_tiny_and_huge_values(scale):
    x, y = RANDOM.normal(size=30), RANDOM.normal(size=30)
    assert metrics.pearson(scale * x, y) == pytest.approx(metrics.pearson(x, y))


@pytest.mark.parametrize("correlation", [metrics.spearman, metrics.pearson])
def test_correlations_of_what_has_none(correlation):
    assert math.isnan(correlation([1, 1, 1], [1, 2, 3]))
    assert math.isnan(correlation([1, 2, 3], [0.1, 0.1, 0.1]))
    assert math.isnan(correlation([1], [1]))
    for x, y in (([1, math.nan, 3], [1, 2, 3]), ([1, 2, 3], [1])):
        with pytest.raises(ValueError, match=r"nan|shape"):
            correlation(x, y)


def test_cosine_similarity_of_rows():
    x, y = RANDOM.normal(size=(7, 5)), RANDOM.normal(size=(7, 5))
    loop = [sum(a * b) / math.sqrt(sum(a * a) * sum(b * b)) for a, b in zip(x, y, strict=True)]
    assert metrics.cosine_similarity(x, y) == pytest.approx(np.array(loop))
    assert metrics.cosine_similarity([[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [5.0, 0.0]]).tolist() == [0.0, 1.0]
    for size in (1e200, 1e-200):  # whose squares no float64 holds
        assert metrics.cosine_similarity([[size, size]], [[size, size]]) == pytest.approx(np.ones(1))
    grad = torch.tensor(x, dtype=torch.bfloat16, requires_grad=True)
    assert metrics.cosine_similarity(grad, grad) == pytest.approx(np.ones(7))
    with pytest.raises(ValueError, match="shape"):
        metrics.cosine_similarity(x, y[:1])  # which NumPy would repeat


def test_alignment_equals_its_loop():
    x, y = RANDOM.normal(size=(9, 4)), RANDOM.normal(size=(9, 4))
    unit = lambda v: v / math.sqrt(v @ v)  # noqa: E731
    for alpha in (1.0, 2.0, 3.0):
        loop = sum(math.dist(unit(a), unit(b)) ** alpha for a, b in zip(x, y, strict=True)) / 9
        assert metrics.alignment(x, y, alpha) == pytest.approx(loop)
    assert metrics.alignment(x, 3 * x) == pytest.approx(0, abs=1e-12)
    assert metrics.alignment(x, -x) == pytest.approx(4)


@pytest.mark.parametrize("chunk", [1, 4, 1000])
def test_uniformity_equals_its_loop(monkeypatch, chunk):
    monkeypatch.setattr(metrics, "CHUNK", chunk)
    x = RANDOM.normal(size=(11, 3))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    for t in (0.5, 2.0):
        pairs = [math.exp(-t * math.dist(unit[i], unit[j]) ** 2) for i in range(11) for j in range(i)]
        assert metrics.uniformity(x, t) == pytest.approx(math.log(sum(pairs) / len(pairs)))


def test_uniformity_extremes():
    assert metrics.uniformity(np.ones((5, 3))) == pytest.approx(0, abs=1e-12)
    assert metrics.uniformity([[1.0, 0.0], [-1.0, 0.0]], t=2.0) == pytest.approx(-8)
    assert metrics.uniformity([[1.0, 0.0], [-1.0, 0.0]], t=1000.0) == pytest.approx(-4000)  # exp(-4000) is 0 in float64
    with pytest.raises(ValueError, match="zero"):
        metrics.uniformity([[1.0, 0.0], [0.0, 0.0]])


def test_uniformity_needs_no_square_of_memory():
    x = RANDOM.normal(size=(6000, 4))
    tracemalloc.start()
    metrics.uniformity(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 3


def test_average_precision_by_hand():
    assert metrics.average_precision([1, 0, 1, 0]) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert metrics.average_precision([False, True]) == 0.5
    assert metrics.average_precision([1, 1, 1]) == 1.0
    assert metrics.average_precision([0, 0]) == metrics.average_precision([]) == 0.0
    for wrong in ([0.9, 0.1], [[0, 1], [1, 0]]):
        with pytest.raises(ValueError, match="0 and 1"):
            metrics.average_precision(wrong)


def test_reciprocal_rank_by_hand():
    assert metrics.reciprocal_rank([0, 0, 1, 1]) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank([0, 0, 1], at=3) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank([0, 0, 1], at=2) == metrics.reciprocal_rank([0, 0]) == 0.0


def test_williams_on_the_example_of_steiger_1980():
    # verbal ability with masculinity .5 and with femininity .4, these two with each other .1, 103 people: t = .89
    t, p = metrics.williams_test(0.5, 0.4, 0.1, 103)
    assert t == pytest.approx(0.89, abs=0.005)
    assert p == pytest.approx(2 * stats.t(100).cdf(-t))


def test_williams_equals_the_literal_formula_with_a_matrix_determinant():
    gold = RANDOM.normal(size=40)
    a, b = gold + RANDOM.normal(size=40), gold + 2 * RANDOM.normal(size=40)
    matrix = np.corrcoef([gold, a, b])
    xa, xb, ab, n = matrix[0, 1], matrix[0, 2], matrix[1, 2], 40
    mean, determinant = (xa + xb) / 2, np.linalg.det(matrix)
    literal = (xa - xb) * np.sqrt((n - 1) * (1 + ab) / (2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - ab) ** 3))
    t, p = metrics.williams_test(xa, xb, ab, n)
    assert t == pytest.approx(literal)
    assert metrics.williams_test(xb, xa, ab, n) == pytest.approx((-t, p))


def test_williams_extremes_and_refusals():
    assert metrics.williams_test(0.7, 0.7, 1.0, 10) == (0.0, 1.0)
    assert metrics.williams_test(0.7, 0.7 + 1e-14, 1.0, 500) == (0.0, 1.0)  # equal but for rounding
    assert metrics.williams_test(1.0, -1.0, -1.0, 10) == (math.inf, 0.0)
    assert metrics.williams_test(0.5, -0.5, -1.0, 12) == pytest.approx((math.sqrt(3), 0.1173), abs=1e-4)  # B is -A
    for impossible in ((0.9, -0.9, 0.9, 50), (0.5, 0.4, 0.1, 3), (72.1, 70.4, 90.1, 30)):
        with pytest.raises(ValueError, match="correlations"):
            metrics.williams_test(*impossible)


def test_bootstrap_interval_of_a_mean_is_the_normal_one():
    x = np.random.default_rng(2).normal(3, 2, size=400)
    low, high = metrics.bootstrap_interval(lambda v: float(v.mean()), x, resamples=2000, level=0.9)
    error = x.std() / math.sqrt(400)
    assert low == pytest.approx(x.mean() - 1.645 * error, abs=0.15 * error)
    assert high == pytest.approx(x.mean() + 1.645 * error, abs=0.15 * error)


def test_bootstrap_draws_the_same_items_from_each_array():
    x = RANDOM.normal(size=50)
    assert metrics.bootstrap_interval(metrics.spearman, x, x, resamples=50) == pytest.approx((1.0, 1.0))
    drawn = {metrics.bootstrap_interval(metrics.spearman, x, x**2, resamples=50, seed=seed) for seed in (1, 1, 2)}
    assert len(drawn) == 2
    assert all(map(math.isnan, metrics.bootstrap_interval(metrics.spearman, [1, 2], [1, 2])))
    with pytest.raises(ValueError, match="unpack"):
        metrics.bootstrap_interval(metrics.spearman, x, np.tile(x, 2))
    difference = metrics.paired_bootstrap(metrics.spearman, x, x, x**2, resamples=50, level=0.5, seed=1)
    low, high = metrics.bootstrap_interval(metrics.spearman, x, x**2, resamples=50, level=0.5, seed=1)
    assert difference == pytest.approx((1 - metrics.spearman(x, x**2), 1 - high, 1 - low))


def test_a_list_of_tensors_is_an_array():
    rows = [torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True), torch.tensor([3.0, 4.0])]
    np.testing.assert_array_equal(metrics.as_array(rows), [[1, 2], [3, 4]])
