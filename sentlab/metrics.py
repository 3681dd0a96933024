"""Metrics as pure functions of arrays: correlations, cosine, alignment and uniformity, ranking, significance.

Every function takes NumPy arrays, sequences or torch tensors and computes in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

CHUNK = 256  # rows of the distance matrix held at once by `uniformity`
Statistic = Callable[..., float]


def spearman(x: Any, y: Any) -> float:
    """Compute Spearman's rank correlation of two vectors (n,): Pearson's of their ranks, ties sharing their mean rank.

    It is nan where either vector is constant.

    Example:
        >>> sentlab.metrics.spearman([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
        0.5
    """
    from scipy.stats import rankdata  # here, for it takes a second to import

    x, y = _paired(x, y, dimensions=1)
    return pearson(rankdata(x), rankdata(y))


def pearson(x: Any, y: Any) -> float:
    """Compute Pearson's linear correlation of two vectors (n,); nan where either is constant.

    Example:
        >>> round(sentlab.metrics.pearson([1.0, 2.0, 3.0], [2.0, 4.0, 5.0]), 4)
        0.982
    """
    x, y = _paired(x, y, dimensions=1)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    # dividing by the largest deviation first keeps the squares of huge and of tiny values representable
    x, y = x - x.mean(), y - y.mean()
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    return float(np.clip((x @ y) / math.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def cosine_similarity(x: Any, y: Any) -> np.ndarray:
    """Compute the cosine of each row of x (n, D) with the same row of y (n, D): float64 (n,); 0 for a row of zeros.

    Example:
        >>> sentlab.metrics.cosine_similarity([[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [0.0, 1.0]]).round(4).tolist()
        [0.7071, 1.0]
    """
    # scaling a row by a power of two is exact, and keeps the squares of huge and of tiny values representable
    sides = _paired(x, y, dimensions=2)
    x, y = (np.ldexp(side, -np.frexp(np.abs(side).max(1, keepdims=True, initial=0.0))[1]) for side in sides)
    norms = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)  # (n,)
    dots = np.einsum("nd,nd->n", x, y)
    return np.clip(np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0), -1.0, 1.0)


def alignment(x: Any, y: Any, alpha: float = 2.0) -> float:
    """Measure how near the rows of x and y (n, D) lie: mean of `|x_i - y_i|^alpha`, the lower the better, 0 at best.

    Wang and Isola (2020), "Understanding contrastive representation learning through alignment and uniformity on the
    hypersphere", section 4.1. They take vectors of length 1; here rows are scaled to it first.

    Example:
        >>> round(sentlab.metrics.alignment([[1.0, 0.0]], [[0.0, 1.0]]), 4)  # a pair at a right angle
        2.0
    """
    x, y = (_directions(side) for side in _paired(x, y, dimensions=2))
    return float((np.linalg.norm(x - y, axis=1) ** alpha).mean())


def uniformity(x: Any, t: float = 2.0) -> float:
    """Measure how evenly vectors (n, D) cover the sphere: log of the mean of `exp(-t |x_i - x_j|^2)` over all pairs.

    Wang and Isola (2020), section 4.1, with the pairs i < j as in their code. The lower the better; 0 where all rows
    point the same way, and never below -4t. Rows are scaled to length 1 first. Memory grows with n, not its square.

    Example:
        >>> round(sentlab.metrics.uniformity([[1.0, 0.0], [-1.0, 0.0]]), 4)  # opposite directions
        -8.0
    """
    x = _directions(as_rows(x))
    n, sums = len(x), []
    for start in range(0, n - 1, CHUNK):
        rows = x[start : start + CHUNK]  # (c, D)
        squared = np.clip(2.0 - 2.0 * rows @ x[start:].T, 0.0, None)  # (c, n - start)
        squared[np.tril_indices(len(rows))] = np.inf  # leaves the pairs i < j
        sums.append(torch.from_numpy(-t * squared).flatten().logsumexp(0))
    return torch.stack(sums).logsumexp(0).item() - math.log(n * (n - 1) / 2)


def average_precision(flags: Any) -> float:
    """Compute the average precision of one ranking: the mean, over relevant places, of the precision up to that place.

    `flags` (n,) say, best first, whether a candidate is relevant. All relevant ones must be among them. 0 without any.

    Example:
        >>> round(sentlab.metrics.average_precision([1, 0, 1]), 4)  # (1/1 + 2/3) / 2
        0.8333
    """
    hits = np.flatnonzero(_flags(flags)) + 1  # places counted from 1
    return float((np.arange(1, len(hits) + 1) / hits).mean()) if len(hits) else 0.0


def reciprocal_rank(flags: Any, at: int | None = None) -> float:
    """Return 1 / place of the first relevant candidate, counted from 1; 0 if none is in the first `at` (None: all).

    Example:
        >>> sentlab.metrics.reciprocal_rank([0, 1, 1])
        0.5
    """
    hits = np.flatnonzero(_flags(flags)[:at])
    return 1.0 / float(hits[0] + 1) if len(hits) else 0.0


def williams_test(r_xa: float, r_xb: float, r_ab: float, n: int) -> tuple[float, float]:
    """Run Williams's test of two correlations that share a variable: do systems A and B agree differently with gold X?

    Williams (1959); the T2 that Steiger (1980), "Tests for comparing elements of a correlation matrix", recommends.
    Of n items, at least 4, the correlations are those of gold with A, of gold with B, and of the two systems. Returns
    (t, two-sided p) with n - 3 degrees of freedom; t is positive where A is the better one.

    Example:
        >>> t, p = sentlab.metrics.williams_test(r_xa=0.80, r_xb=0.70, r_ab=0.90, n=100)
        >>> round(t, 2), p < 0.05
        (3.67, True)
    """
    from scipy import stats  # here, for it takes a second to import

    r_ab = max(r_ab, -1 + 1e-9) if r_ab >= -1 else r_ab  # at -1 both parts of the fraction vanish
    determinant = 1 - r_xa**2 - r_xb**2 - r_ab**2 + 2 * r_xa * r_xb * r_ab
    if n < 4 or determinant < -1e-9 or max(abs(r_xa), abs(r_xb), abs(r_ab)) > 1:
        raise ValueError(f"no {n} items can have the correlations r_xa={r_xa}, r_xb={r_xb} and r_ab={r_ab} at once")
    difference = r_xa - r_xb
    if abs(difference) < 1e-12:  # of two equal rankings, whose correlations differ by rounding
        return 0.0, 1.0
    variance = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + ((r_xa + r_xb) / 2) ** 2 * (1 - r_ab) ** 3
    # r_xa = -r_xb with A and B determined by X leaves no room for chance
    t = difference * math.sqrt((n - 1) * (1 + r_ab) / variance if variance else math.inf)
    return t, float(2 * stats.t.sf(abs(t), n - 3))


def bootstrap_interval(
    statistic: Statistic, *arrays: Any, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """Compute the percentile bootstrap interval of `statistic(*arrays)`; the same items are drawn from each array.

    Arrays have one entry per item along their first axis. The interval (low, high) holds the share `level` of the
    resampled values; it is nan where a resample has no defined statistic (too few items, or nearly all the same).

    Example:
        >>> low, high = sentlab.metrics.bootstrap_interval(np.mean, np.arange(100))
        >>> low < 49.5 < high
        True
    """
    columns = [as_array(array) for array in arrays]
    (n,) = {len(column) for column in columns}  # one entry per item in each
    random = np.random.default_rng(seed)
    draws = (random.integers(n, size=n) for _ in range(resamples))
    values = [statistic(*(column[drawn] for column in columns)) for drawn in draws]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def paired_bootstrap(
    statistic: Statistic, gold: Any, a: Any, b: Any, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[float, float, float]:
    """Measure how much better system A does than B on the same items: statistic(gold, a) less statistic(gold, b).

    Items are drawn once for both systems, so what makes an item easy for both cancels out. The difference is
    significant at 1 - `level` where the interval leaves out 0. Koehn (2004), "Statistical significance tests for
    machine translation evaluation". Returns (difference, low, high).
    """
    gold, a, b = map(as_array, (gold, a, b))
    options: Any = {"level": level, "resamples": resamples, "seed": seed}
    low, high = bootstrap_interval(lambda g, x, y: statistic(g, x) - statistic(g, y), gold, a, b, **options)
    return statistic(gold, a) - statistic(gold, b), low, high


def as_array(values: Any) -> np.ndarray:
    """Convert an array, a sequence, a tensor on any device or a list of tensors to NumPy."""
    if isinstance(values, list | tuple) and values and all(isinstance(value, torch.Tensor) for value in values):
        values = torch.stack(list(values))
    if isinstance(values, torch.Tensor):
        values = values.detach().double().cpu().numpy()
    return np.asarray(values)


def as_rows(values: Any, dimensions: int = 2) -> np.ndarray:
    """Return `as_array` of rows (n, D), neither 0; ValueError for other shapes and for values that are not finite."""
    values = as_array(values)
    if values.ndim != dimensions or 0 in values.shape:
        raise ValueError(f"expected an array of {dimensions} dimensions, none of them 0; its shape is {values.shape}")
    if not np.isfinite([values.min(), values.max()]).all():  # takes no memory, unlike isfinite of all
        raise ValueError("there are values that are nan or infinite")
    return values


def _paired(x: Any, y: Any, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Both in float64; what NumPy would broadcast is refused."""
    x, y = as_rows(x, dimensions), as_rows(y, dimensions)
    if x.shape != y.shape:
        raise ValueError(f"x and y must have the same shape; they have {x.shape} and {y.shape}")
    return x.astype(np.float64), y.astype(np.float64)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Return rows (n, D) in float64 and scaled to length 1; a row of zeros stays."""
    rows = rows.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def _directions(rows: np.ndarray) -> np.ndarray:
    if not rows.any(axis=1).all():
        raise ValueError("a row is all zero and has no direction")
    return unit_rows(rows)


def _flags(flags: Any) -> np.ndarray:
    flags = as_array(flags)
    if flags.ndim != 1 or not np.isin(flags, (0, 1)).all():  # such as scores, all of which would count as relevant
        raise ValueError("flags are 0 and 1, or False and True, of one ranking, best candidate first")
    return flags
