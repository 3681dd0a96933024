"""Metrics against slow loops, SciPy, hand-worked cases and extremes."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import torch
from scipy import stats

from sentlab.evaluation import metrics

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


def test_spearman_sees_order_only_and_pearson_is_linear():
    x, y = RANDOM.normal(size=50), RANDOM.normal(size=50)
    assert metrics.spearman(np.exp(3 * x), y) == metrics.spearman(x, y)
    assert metrics.pearson(5 * x - 7, y) == pytest.approx(metrics.pearson(x, y))
    assert metrics.pearson(np.exp(3 * x), y) != pytest.approx(metrics.pearson(x, y), abs=1e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pearson_of_tiny_and_huge_values(scale):
    x, y = RANDOM.normal(size=30), RANDOM.normal(size=30)
    assert metrics.pearson(scale * x, y) == pytest.approx(metrics.pearson(x, y))


@pytest.mark.parametrize("correlation", [metrics.spearman, metrics.pearson])
def test_correlations_of_what_has_none(correlation):
    assert math.isnan(correlation([1, 1, 1], [1, 2, 3]))
    assert math.isnan(correlation([1, 2, 3], [0.1, 0.1, 0.1]))
    with pytest.raises(ValueError, match="nan or infinite"):
        correlation([1, math.nan, 3], [1, 2, 3])
    with pytest.raises(ValueError, match="one length"):
        correlation([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="2 values"):
        correlation([1], [1])


def test_cosine_similarity_of_rows():
    x, y = RANDOM.normal(size=(7, 5)), RANDOM.normal(size=(7, 5))
    loop = [sum(a * b) / math.sqrt(sum(a * a) * sum(b * b)) for a, b in zip(x, y, strict=True)]
    assert metrics.cosine_similarity(x, y) == pytest.approx(np.array(loop))
    assert metrics.cosine_similarity([[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [5.0, 0.0]]).tolist() == [0.0, 1.0]
    grad = torch.tensor(x, dtype=torch.bfloat16, requires_grad=True)
    assert metrics.cosine_similarity(grad, grad) == pytest.approx(np.ones(7))
    with pytest.raises(ValueError, match="shapes"):
        metrics.cosine_similarity(x, y[:3])


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
    with pytest.raises(ValueError, match="2 rows"):
        metrics.uniformity([[1.0, 0.0]])
    with pytest.raises(ValueError, match="rows of zeros"):
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
    with pytest.raises(ValueError, match="0 and 1"):
        metrics.average_precision([0.9, 0.1])


def test_reciprocal_rank_by_hand():
    assert metrics.reciprocal_rank([0, 0, 1, 1]) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank([0, 0, 1], at=3) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank([0, 0, 1], at=2) == metrics.reciprocal_rank([0, 0]) == 0.0
    with pytest.raises(ValueError, match="at must"):
        metrics.reciprocal_rank([1], at=0)


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


def test_williams_keeps_its_level_under_the_null():
    random = np.random.default_rng(1)
    rejected = 0
    for _ in range(2000):
        common, gold, a, b = random.normal(size=(4, 30))
        r = np.corrcoef([gold + common, a + common, b + common])
        rejected += metrics.williams_test(r[0, 1], r[0, 2], r[1, 2], 30)[1] < 0.05
    assert 0.035 < rejected / 2000 < 0.065


def test_williams_extremes_and_refusals():
    assert metrics.williams_test(0.7, 0.7, 1.0, 10) == (0.0, 1.0)
    assert metrics.williams_test(0.7, 0.7 + 1e-14, 1.0, 500) == (0.0, 1.0)  # equal but for rounding
    assert metrics.williams_test(1.0, -1.0, -1.0, 10) == (math.inf, 0.0)
    with pytest.raises(ValueError, match="at once"):
        metrics.williams_test(0.9, -0.9, 0.9, 50)
    with pytest.raises(ValueError, match="n must be 4"):
        metrics.williams_test(0.5, 0.4, 0.1, 3)
    with pytest.raises(ValueError, match="in \\[-1, 1\\]"):
        metrics.williams_test(1.5, 0.4, 0.1, 30)


def test_bootstrap_interval_of_a_mean_is_the_normal_one():
    x = np.random.default_rng(2).normal(3, 2, size=400)
    low, high = metrics.bootstrap_interval(lambda v: float(v.mean()), x, resamples=2000)
    error = x.std() / math.sqrt(400)
    assert low == pytest.approx(x.mean() - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(x.mean() + 1.96 * error, abs=0.2 * error)


def test_bootstrap_draws_the_same_items_from_each_array():
    x = RANDOM.normal(size=50)
    assert metrics.bootstrap_interval(metrics.spearman, x, x, resamples=50) == pytest.approx((1.0, 1.0))
    assert metrics.bootstrap_interval(metrics.spearman, x, x**2, resamples=50, seed=1) == metrics.bootstrap_interval(
        metrics.spearman, x, x**2, resamples=50, seed=1
    )
    with pytest.raises(ValueError, match="lengths"):
        metrics.bootstrap_interval(metrics.spearman, x, x[:3])
    with pytest.raises(ValueError, match="no defined statistic"):
        metrics.bootstrap_interval(metrics.spearman, [1, 2], [1, 2])


def test_paired_bootstrap_tells_a_better_system_and_no_difference():
    random = np.random.default_rng(3)
    gold = random.normal(size=300)
    noise = random.normal(size=(3, 300))
    good, good_too, bad = gold + 0.5 * noise[0], gold + 0.5 * noise[1], gold + 2 * noise[2]
    difference, low, high = metrics.paired_bootstrap(metrics.spearman, gold, good, bad, resamples=300)
    assert difference == metrics.spearman(gold, good) - metrics.spearman(gold, bad)
    assert 0 < low < difference < high
    _, low, high = metrics.paired_bootstrap(metrics.spearman, gold, good, good_too, resamples=300)
    assert low < 0 < high
    assert metrics.paired_bootstrap(metrics.spearman, gold, good, good, resamples=20) == (0.0, 0.0, 0.0)


def test_a_list_of_tensors_is_an_array():
    rows = [torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True), torch.tensor([3.0, 4.0])]
    np.testing.assert_array_equal(metrics.as_array(rows), [[1, 2], [3, 4]])
