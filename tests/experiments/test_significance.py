"""Significance: intervals and p count the items and the seeds, and raise false alarms as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.significance import Drawn, estimate, holm, items_of, resample

from sentlab.data import ScoredPair, WordPair
from sentlab.evaluation import Evaluation
from sentlab.evaluation.sts import Correlation


def scored(values: np.ndarray) -> list[Evaluation]:
    """One seed, whose items are scores themselves."""
    return [Evaluation({}, values, None, None)]


def test_all_rows_are_given_the_same_items() -> None:
    """Two rows that differ by a constant differ by it in every resample, and p is at its floor."""
    values = np.random.default_rng(2).normal(size=50)
    drawn = resample([{"a": scored(values), "b": scored(values + 0.5)}], 99, np.random.default_rng(0), {})
    assert drawn["b"].resampled - drawn["a"].resampled == pytest.approx(0.5)
    found = estimate(drawn["b"], drawn["a"])
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert found.p == 2 / 100
    assert estimate(drawn["a"], drawn["a"]).p == 1.0


@pytest.mark.parametrize("correlation", ["spearman", "pearson", None])
def test_a_resample_has_the_scores_of_the_items_that_it_draws(correlation: Correlation | None) -> None:
    """Also where values are equal, as they are in a resample in any case."""
    random = np.random.default_rng(1)
    tests = []
    for size in (40, 70):
        gold = random.integers(6, size=size).astype(float)
        seeds = [(gold + random.normal(scale=2.0, size=size)).round() for _ in range(3)]
        rows = {"a": seeds[:2], "b": seeds[2:]}
        tests.append(
            {
                row: [Evaluation({}, own, correlation and gold, correlation) for own in values]
                for row, values in rows.items()
            }
        )
    drawn = resample(tests, 20, np.random.default_rng(0), {})
    random = np.random.default_rng(0)
    for place in range(20):
        all_of_them = random.integers(110, size=110)  # the two tests have no item in common
        chosen = [all_of_them[all_of_them < 40], all_of_them[all_of_them >= 40] - 40]
        for row in ("a", "b"):
            scores = [np.mean([seed.score(own) for seed in test[row]]) for test, own in zip(tests, chosen, strict=True)]
            assert drawn[row].resampled[place] == pytest.approx(np.mean(scores), abs=1e-10)


def test_an_item_of_two_tests_is_drawn_for_both() -> None:
    """The same test twice says no more than once; two tests of other items would halve the variance."""
    values = np.random.default_rng(4).normal(size=60)
    names = [f"item {i % 50}" for i in range(60)]  # ten are there twice, and drawn one by one
    once, twice, apart = (
        resample([{"a": scored(values)}] * len(items or "ab"), 2000, np.random.default_rng(0), {}, items=items)["a"]
        for items in ([names], [names, names], None)
    )
    assert twice.resampled == pytest.approx(once.resampled)
    assert apart.resampled.var() == pytest.approx(once.resampled.var() / 2, rel=0.2)
    with pytest.raises(ValueError, match="shorter"):
        resample([{"a": scored(values)}], 2, np.random.default_rng(0), {}, items=[["x", "y"]])


def test_a_pair_is_the_same_item_in_any_order() -> None:
    one = [ScoredPair("a", "b", 1.0), ScoredPair("a", "c", 1.0)]
    other = [WordPair("b", "a", 3.0), WordPair("c", "d", 3.0)]
    assert [x == y for x, y in zip(items_of(one), items_of(other), strict=True)] == [True, False]


def test_without_seeds_the_interval_is_that_of_the_mean_of_items() -> None:
    values = np.random.default_rng(5).normal(size=400)
    drawn = resample([{"a": scored(values)}], 4000, np.random.default_rng(0), {})
    found = estimate(drawn["a"])
    assert found.low == pytest.approx(values.mean() - 1.96 * values.std() / 20, abs=0.01)
    assert found.high == pytest.approx(values.mean() + 1.96 * values.std() / 20, abs=0.01)


def test_with_equal_items_the_interval_is_student_s() -> None:
    """Where items do not matter, the test of two rows of seeds is Welch's, and against a fixed row Student's."""
    from scipy import stats

    a, b = np.array([3.0, 4.0, 6.0]), np.array([1.0, 1.5, 2.5, 2.0])
    still = np.zeros(5000)
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert estimate(Drawn(a, still, "a"), Drawn(b, still, "b")).p == pytest.approx(welch.pvalue)
    student = stats.ttest_1samp(a, 2.0)
    found = estimate(Drawn(a, still, "a"), Drawn(np.array([2.0]), still, None))
    assert found.p == pytest.approx(student.pvalue)
    own = student.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((own.low - 2, own.high - 2))


def test_two_vectors_of_the_same_encoders_are_paired() -> None:
    a = np.array([10.0, 20.0, 30.0])
    still = np.zeros(5000)
    ours, theirs = Drawn(a + np.array([1.0, 1.1, 0.9]), still, "same"), Drawn(a, still, "same")
    assert (estimate(ours, theirs).p or 1) < 0.01
    assert (estimate(ours, Drawn(a, still, "other")).p or 0) > 0.5


def test_one_trained_seed_decides_nothing() -> None:
    still = np.zeros(50)
    assert estimate(Drawn(np.array([5.0]), still, "a"), Drawn(np.array([1.0]), still, None)).p is None


@pytest.mark.parametrize("seeds", [3, 5])
def test_false_alarms_are_as_rare_as_promised(seeds: int) -> None:
    """Rows without a true difference: noise of items and of seeds alike, 400 tables. 5% are expected."""
    random, alarms, tables, items = np.random.default_rng(7), 0, 400, 100
    for _ in range(tables):
        means = random.normal(size=(2, seeds, 1)) * 0.2  # of each seed: nearly three times the error of the items
        values = random.normal(size=items) + means + 0.5 * random.normal(size=(2, 1, items))
        test = {row: [scored(own)[0] for own in values[i]] for i, row in enumerate("ab")}
        drawn = resample([test], 100, random, {"a": "a", "b": "b"})
        alarms += (estimate(drawn["a"], drawn["b"]).p or 0) < 0.05
    assert 0.02 < alarms / tables < 0.09  # 99.9% of draws, if the truth is 5%


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "least", "most"), [(0.25, 0.6, 1.4), (1.25, 1.2, 2.6), (2.5, 5.0, 8.5)])
def test_false_alarms_far_below_the_level_are_more_where_seeds_spread(spread: float, least: float, most: float) -> None:
    """At 0.001, of three seeds whose means spread so many times as much as the error of the items."""
    random, alarms, tables = np.random.default_rng(0), 0, 60_000
    items = random.normal(size=10_000)  # the error of a mean over items, in each resample
    items = (items - items.mean()) / items.std(ddof=1)
    other = Drawn(np.zeros(1), np.zeros_like(items), None)
    for _ in range(tables):
        scores = random.normal() + spread * random.normal(size=3)
        alarms += (estimate(Drawn(scores, items, "a"), other).p or 0) < 0.001
    assert least < alarms / tables / 0.001 < most


def test_holm_multiplies_the_smallest_p_by_the_number_of_tests() -> None:
    assert holm([0.04, 0.01, None, 0.03]) == pytest.approx([0.06, 0.03, None, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
