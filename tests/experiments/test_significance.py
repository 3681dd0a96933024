"""Significance: intervals and p count the items and the seeds, and raise false alarms as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.significance import Drawn, benjamini_hochberg, estimate, items_of, resample

from sentlab.data import PhraseInContext, ScoredPair, WordPair
from sentlab.evaluation import Evaluation
from sentlab.evaluation.sts import Correlation


def scored(values: np.ndarray) -> list[Evaluation]:
    """One seed, whose items are scores themselves."""
    return [Evaluation({}, values, None, None)]


def test_all_rows_are_given_the_same_items() -> None:
    """Two rows that differ by a constant differ by it in every resample."""
    values = np.random.default_rng(2).normal(size=50)
    drawn = resample([{"a": scored(values), "b": scored(values + 0.5)}], 99, np.random.default_rng(0), {})
    assert drawn["b"].resampled - drawn["a"].resampled == pytest.approx(0.5)
    found = estimate(drawn["b"], drawn["a"])
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (found.p or 1) < 1e-9
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


def test_a_pair_is_the_same_item_in_any_order_and_passage() -> None:
    one = [ScoredPair("a", "b", 1.0), ScoredPair("a", "c", 1.0), PhraseInContext("a", "so b", 3, 4, 1.0)]
    other = [WordPair("b", "a", 3.0), WordPair("c", "d", 3.0), PhraseInContext("a", "b, I think", 0, 1, 1.0)]
    assert [x == y for x, y in zip(items_of(one), items_of(other), strict=True)] == [True, False, True]


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
    interval, narrow = student.confidence_interval(0.95), student.confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((interval.low - 2, interval.high - 2))
    assert found.bound == pytest.approx(narrow.high - 2)  # two one-sided tests at 5%: the interval of 90%


def test_more_noise_of_either_kind_never_narrows_the_interval() -> None:
    items, seeds = np.random.default_rng(3).normal(size=4000), np.array([-1.0, 0.0, 1.0])
    widths = np.empty((5, 5))
    for i, of_items in enumerate((0.0, 0.3, 1.0, 2.0, 5.0)):
        for j, of_seeds in enumerate((0.0, 0.2, 1.0, 2.0, 5.0)):
            low_high = estimate(Drawn(of_seeds * seeds, of_items * items, "a"))
            widths[i, j] = low_high.high - low_high.low
    assert (np.diff(widths, axis=0) > 0).all()
    assert (np.diff(widths, axis=1) > 0).all()


def test_p_is_5_percent_where_the_interval_ends_at_zero() -> None:
    items, seeds = np.random.default_rng(3).normal(size=4000), np.array([-1.0, 0.0, 1.5])
    width = estimate(Drawn(seeds, items, "a"))
    edge = estimate(Drawn(seeds - width.low, items, "a"))
    assert edge.low == pytest.approx(0.0, abs=1e-9)
    assert edge.p == pytest.approx(0.05)


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
@pytest.mark.parametrize("spread", [0.1, 1.25, 10.0])
def test_false_alarms_are_at_most_as_many_as_promised(seeds: int, spread: float) -> None:
    """Rows without a true difference, whose seeds spread so many times as much as the error of the items."""
    random, alarms, tables = np.random.default_rng(7), np.zeros(2), 3000
    items = random.normal(size=1000)
    items = (items - items.mean()) / items.std(ddof=1)
    for _ in range(tables):
        a, b = spread * random.normal(size=(2, seeds))
        a += random.normal()  # the error of the items, which the seeds share
        p = estimate(Drawn(a, items, "a"), Drawn(b, np.zeros_like(items), "b")).p or 0
        alarms += [p < 0.05, p < 0.01]
    assert 0.02 < alarms[0] / tables < 0.06
    assert alarms[1] / tables < 0.0145  # 99% of draws, if the truth is 1%


def test_benjamini_and_hochberg_let_strong_results_help_weaker_ones() -> None:
    assert benjamini_hochberg([0.04, 0.01, None, 0.03]) == [
        pytest.approx(0.04), pytest.approx(0.03), None, pytest.approx(0.04),
    ]  # fmt: skip
    assert benjamini_hochberg([0.9, 0.8]) == pytest.approx([0.9, 0.9])
    assert benjamini_hochberg([]) == []
