"""How sure is a difference? One method for all tables: it counts the test items and the training seeds.

The error over items comes from a paired bootstrap (Koehn, 2004, "Statistical Significance Tests for Machine Translation
Evaluation"), and that over seeds is the error of a mean of few values. An interval adds the normal half-width of the
one and Student's half-width of the other as squares, so that more noise of either kind never makes it narrower. A
bootstrap that draws seeds and items is too sure of itself: of three seeds it sees two thirds of their variance.

On simulated rows without a difference at most about 5% have p below 0.05 (`tests/experiments/test_significance.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import optimize, stats
from sentlab.data import PhraseInContext
from sentlab.evaluation import Evaluation
from tqdm import tqdm

LEVEL = 0.95  # of the intervals
MARGIN = 1.5  # points x 100, within which a difference is no effect
Test = Mapping[str, Sequence[Evaluation]]  # row -> what its encoders gave the items of a test, an evaluation per seed


@dataclass(frozen=True)
class Estimate:
    """A score or a difference of scores; `low`, `high`, `p` and `bound` are None where a trained row has one seed."""

    value: float  # the mean over tests and seeds
    low: float | None  # low, high: the ends of the 95% interval
    high: float | None
    p: float | None  # two-sided, of the value being 0
    bound: float | None  # two one-sided tests at 5% show that the size of the value is below it

    def rounded(self) -> tuple[float, float | None, float | None]:
        """Return value, low and high as a record keeps them."""
        low, high = (None if end is None else round(end, 2) for end in (self.low, self.high))
        return round(self.value, 2), low, high


@dataclass(frozen=True)
class Drawn:
    """A row of a table, scored on all items and on resampled ones."""

    seeds: np.ndarray  # the mean over tests of each seed, (S,)
    resampled: np.ndarray  # the mean over tests and seeds in each resample, (R,)
    trained: str | None  # the record that the encoders are of; None where nothing depends on a seed

    @property
    def variance(self) -> float:
        """The variance of the mean over seeds; NaN where one seed cannot say."""
        if self.trained is None:
            return 0.0
        return float(self.seeds.var(ddof=1) / len(self.seeds)) if len(self.seeds) > 1 else float("nan")


def resample(
    tests: Sequence[Test],
    resamples: int,
    random: np.random.Generator,
    trained: Mapping[str, str],
    *,
    items: Sequence[Sequence[Hashable] | None] | None = None,
    progress: bool = True,
) -> dict[str, Drawn]:
    """Score every row on all items and on resampled ones.

    As many items are drawn as there are, with replacement, and the same ones for all rows. What makes an item easy for
    two rows cancels out. An item that several tests have is drawn for all of them at once: most test pairs of STS-B are
    also in STS12 to STS16, and what they add to two scores does not average out.

    `tests`: each with the same rows; the scores of a row are averaged over tests. `resamples`: R. `random`: draws the
    items. `trained`: row -> the record of its encoders, for every row that depends on a seed. `items`: for each test
    what its items are, such as `items_of`. None: no other test has them. `progress`: show a bar.
    """
    seeds = {row: np.mean([[seed.score() for seed in test[row]] for test in tests], axis=0) for row in tests[0]}
    scorers = [_Scorer(test) for test in tests]
    places, size = _numbered([scorer.size for scorer in scorers], items or [None] * len(scorers))
    drawn = {row: np.empty(resamples) for row in tests[0]}
    for draw in tqdm(range(resamples), desc="resamples", leave=False, disable=not progress):
        counts = np.bincount(random.integers(size, size=size), minlength=size).astype(float)
        scores = [scorer.scores(counts[place]) for scorer, place in zip(scorers, places, strict=True)]
        for row, values in drawn.items():
            values[draw] = np.mean([of_test[row] for of_test in scores])
    return {row: Drawn(seeds[row], drawn[row], trained.get(row)) for row in drawn}


def items_of(corpus: Iterable[Any], chosen: np.ndarray | slice = slice(None)) -> list[Hashable] | None:
    """Return what the items of a test are: the two texts of each scored pair, in any order. None for other rows.

    Of a phrase in a passage the second text is its match. `chosen`: which rows: a slice, or indices.
    """

    def texts(row: Any) -> frozenset[str]:
        first, second = (getattr(row, field.name) for field in fields(row)[:2])
        return frozenset((first, second[row.start : row.end] if isinstance(row, PhraseInContext) else second))

    rows = list(corpus)
    if not hasattr(rows[0], "score"):
        return None
    rows = rows[chosen] if isinstance(chosen, slice) else [rows[place] for place in chosen]
    return [texts(row) for row in rows]


def _numbered(sizes: Sequence[int], tests: Sequence[Sequence[Hashable] | None]) -> tuple[list[np.ndarray], int]:
    """The number of each item, the same in all tests that have it, and how many there are. Repeats in a test differ."""
    numbers: dict[Hashable, int] = {}
    places = []
    for test, (size, items) in enumerate(zip(sizes, tests, strict=True)):
        seen: Counter[Hashable] = Counter()
        place = np.empty(size, dtype=np.int64)
        for i, item in zip(range(size), items or ((test, i) for i in range(size)), strict=True):
            seen[item] += 1
            place[i] = numbers.setdefault((item, seen[item]), len(numbers))
        places.append(place)
    return places, len(numbers)


class _Scorer:
    """A test, whose rows are scored on drawn items by how often each was drawn.

    No draw has to be sorted: the rank of a value among the drawn ones follows from how many of them are smaller.
    """

    def __init__(self, test: Test) -> None:
        first = next(iter(test.values()))[0]
        self.size = len(first.items)
        golds = [np.zeros(len(seed.items)) if seed.gold is None else seed.gold for row in test.values() for seed in row]
        if not all(np.array_equal(gold, golds[0]) for gold in golds):
            raise ValueError("the evaluations are not of the same rows: their number or their gold differs")
        self._ranked = first.correlation == "spearman"
        self._gold = None if first.gold is None else self._prepared(first.gold)
        self._rows = {row: [self._prepared(seed.items) for seed in seeds] for row, seeds in test.items()}

    def scores(self, counts: np.ndarray) -> dict[str, float]:
        """Compute the mean over seeds of each row's score x 100, by how often each item was drawn (n,)."""
        if not counts.any():  # a test of few items among many others
            return dict.fromkeys(self._rows, float("nan"))
        if self._gold is None:
            means = {row: np.mean([counts @ seed for seed in seeds]) for row, seeds in self._rows.items()}
            return {row: float(mean / counts.sum()) for row, mean in means.items()}
        gold = counts * self._standardized(self._gold, counts)
        return {
            row: 100 * float(np.mean([self._standardized(seed, counts) @ gold for seed in seeds]))
            for row, seeds in self._rows.items()
        }

    def _prepared(self, values: np.ndarray) -> np.ndarray:
        """The values, or the place of each among the distinct ones if only ranks count."""
        return np.unique(values, return_inverse=True)[1] if self._ranked else values

    def _standardized(self, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Shift and scale, so that the drawn values have mean 0 and length 1; NaN where all of them are equal."""
        levels, drawn = values, counts
        if self._ranked:
            drawn = np.bincount(values, counts)  # how often each distinct value was drawn
            levels = drawn.cumsum() - (drawn - 1) / 2  # equal values share the mean of their ranks
        levels = levels - (drawn @ levels) / drawn.sum()
        square = drawn @ levels**2
        levels = levels / np.sqrt(square) if square > 0 else np.full(len(levels), np.nan)
        return levels[values] if self._ranked else levels


def estimate(ours: Drawn, theirs: Drawn | None = None) -> Estimate:
    """Estimate the score of a row, or the difference of two rows of one `resample`.

    Source: Welch (1947), "The generalization of Student's problem when several different population variances are
    involved", for the degrees of freedom of several rows; Schuirmann (1987) for the two one-sided tests of `bound`.
    """
    if theirs is None:
        rows = [ours]
    elif ours.trained is not None and ours.trained == theirs.trained:  # two vectors of each encoder: paired seeds
        rows = [Drawn(ours.seeds - theirs.seeds, ours.resampled - theirs.resampled, ours.trained)]
    else:
        rows = [ours, theirs]
    first, *second = rows
    value = float(first.seeds.mean() - sum(row.seeds.mean() for row in second))
    items = float((first.resampled - sum(row.resampled for row in second)).std(ddof=1))
    parts = [row.variance for row in rows]
    seeds = sum(parts) ** 0.5
    if np.isnan(seeds + items):
        return Estimate(value, None, None, None, None)
    lost = sum(part**2 / (len(row.seeds) - 1) for part, row in zip(parts, rows, strict=True) if part > 0)
    degrees = seeds**4 / lost if lost else np.inf

    def half_width(alpha: float) -> float:
        """Half of the interval that misses the truth with the probability alpha."""
        of_seeds = stats.t.isf(alpha / 2, degrees) * seeds if seeds else 0.0
        return float(np.hypot(of_seeds, stats.norm.isf(alpha / 2) * items))

    def beyond(log_p: float) -> float:
        return half_width(float(np.exp(log_p))) - abs(value)

    smallest = float(np.log(1e-12))
    if beyond(smallest) < 0 or abs(value) < 1e-10:  # rows that differ by a constant, or not at all
        p = 1.0 if abs(value) < 1e-10 else 1e-12
    else:
        p = float(np.exp(optimize.brentq(beyond, smallest, 0.0)))
    half = half_width(1 - LEVEL)
    return Estimate(value, value - half, value + half, p, abs(value) + half_width(2 * (1 - LEVEL)))


def benjamini_hochberg(p: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values of a family so that, of those below 5%, at most 5% are expected to be false alarms.

    None stays, and does not count. Source: Benjamini and Hochberg (1995), "Controlling the False Discovery Rate".

    Example:
        >>> benjamini_hochberg([0.01, None, 0.04])
        [0.02, None, 0.04]
    """
    places = [i for i, value in enumerate(p) if value is not None]
    adjusted: list[float | None] = [None] * len(p)
    for i, value in zip(places, stats.false_discovery_control([p[i] for i in places]) if places else (), strict=True):
        adjusted[i] = float(value)
    return adjusted
