"""The paired bootstrap of leaderboards and comparisons: how much of a difference would other items undo?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tqdm import tqdm

from sentlab.evaluation import Evaluation, scores_over

LEVEL = 0.95  # of the intervals
Test = Mapping[str, Sequence[Evaluation]]  # row -> what its encoders gave the items of a test, an evaluation a seed


def resample(tests: Sequence[Test], resamples: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Row -> its mean over tests and seeds in each resample, (resamples,).

    In each test as many items are drawn as it has, with replacement, and the same ones for all rows. What makes an
    item easy for two rows cancels out.

    Args:
        tests: each with the same rows.

    Source: Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation".
    """
    drawn = {row: np.empty(resamples) for row in tests[0]}
    sizes = [len(next(iter(test.values()))[0].items) for test in tests]
    for place in tqdm(range(resamples), desc="resamples", leave=False):
        chosen = [random.integers(n, size=n) for n in sizes]
        for row, values in drawn.items():
            scores = [scores_over(test[row], own) for test, own in zip(tests, chosen, strict=True)]
            values[place] = np.mean([np.mean(seeds) for seeds in scores])
    return drawn


def means(tests: Sequence[Test]) -> dict[str, np.ndarray]:
    """Row -> its mean over tests on all items, one a seed."""
    return {row: np.mean([scores_over(test[row]) for test in tests], axis=0) for row in tests[0]}


def interval(values: np.ndarray) -> tuple[float, float]:
    """The ends between which 95% of the resampled values lie."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def p_value(drawn: Mapping[str, np.ndarray], a: str, b: str) -> float:
    """Two-sided p of the difference of two rows: twice the share of resamples in which it has the other sign or none.

    The sample itself counts as a resample, so that p is never 0: Davison and Hinkley (1997), "Bootstrap Methods and
    their Application", section 4.2.
    """
    differences = drawn[a] - drawn[b]
    other = min((differences >= 0).sum(), (differences <= 0).sum())
    return round(min(1.0, 2 * (1 + int(other)) / (1 + len(differences))), 4)
