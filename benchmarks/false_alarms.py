"""How often does a test of two equal rows say that they differ? 5% are promised.

    python benchmarks/false_alarms.py [--tables 3000]

Scores are simulated with a known truth: every item and every seed adds noise to both rows alike. Three tests see the
same tables: a bootstrap over items alone, a bootstrap that draws seeds and then items, and `sentlab`'s own.

Holm's method asks for far smaller p where a table has many claims. A second table counts false alarms at such levels,
of a trained row with three seeds beside one without.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from experiments.significance import Drawn, estimate, resample
from tqdm import tqdm

from sentlab.evaluation import Evaluation

ITEMS, RESAMPLES, LEVEL = 100, 200, 0.05
LEVELS = (0.05, 0.01, 0.001)


def simulated(random: np.random.Generator, seeds: int, spread: float) -> np.ndarray:
    """Scores of two equal rows, (2, seeds, items).

    Args:
        spread: standard deviation of a seed's mean, in units of the standard error that items give a difference.
    """
    own = 0.5 * random.normal(size=(2, 1, ITEMS))  # what each row makes of each item
    error = 0.5 * np.sqrt(2 / ITEMS)
    return random.normal(size=ITEMS) + own + spread * error * random.normal(size=(2, seeds, 1))


def of_resamples(differences: np.ndarray) -> float:
    """Two-sided p: twice the share of resamples with the other sign, the sample itself counted."""
    other = min((differences >= 0).sum(), (differences <= 0).sum())
    return min(1.0, 2 * (1 + other) / (1 + len(differences)))


def over_seeds_and_items(scores: np.ndarray, random: np.random.Generator) -> float:
    """The p-value of a bootstrap that draws the seeds of each row, and then the items."""
    rows, seeds, items = scores.shape
    drawn = random.integers(seeds, size=(RESAMPLES, rows, seeds))
    chosen = random.integers(items, size=(RESAMPLES, items))
    means = np.stack([scores[:, :, own].mean(-1) for own in chosen])  # (R, 2, S)
    each = np.take_along_axis(means, drawn, axis=2).mean(-1)  # (R, 2)
    return of_resamples(each[:, 0] - each[:, 1])


def far_below(random: np.random.Generator, tables: int, seeds: int = 3) -> pd.DataFrame:
    """How many times as many false alarms as promised at smaller levels, by the spread of seeds as in `simulated`."""
    items = random.normal(size=10_000)  # the error of a mean over items, in each resample
    items = (items - items.mean()) / items.std(ddof=1)
    rows = {}
    for spread in (0.25, 0.75, 1.25, 2.5):
        other, p = Drawn(np.zeros(1), np.zeros_like(items), None), []
        for _ in tqdm(range(tables), desc=f"smaller levels, spread {spread}"):
            scores = random.normal() + spread * random.normal(size=seeds)
            p.append(estimate(Drawn(scores, items, "a"), other).p)
        rows[spread] = {level: round(float(np.mean(np.array(p) < level)) / level, 1) for level in LEVELS}
    return pd.DataFrame(rows).T.rename_axis("spread of seeds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=3000)
    tables, random, found = parser.parse_args().tables, np.random.default_rng(0), []
    for seeds in (3, 5):
        for spread in (0.5, 1.0, 2.0):
            alarms = np.zeros(3)
            for _ in tqdm(range(tables), desc=f"{seeds} seeds, spread {spread}"):
                scores = simulated(random, seeds, spread)
                test = {row: [Evaluation({}, one, None, None) for one in scores[i]] for i, row in enumerate("ab")}
                drawn = resample([test], RESAMPLES, random, {"a": "a", "b": "b"}, progress=False)
                items = drawn["a"].resampled - drawn["b"].resampled
                p = estimate(drawn["a"], drawn["b"]).p or 0.0
                alarms += np.array([of_resamples(items), over_seeds_and_items(scores, random), p]) < LEVEL
            shares = dict(zip(("items alone", "seeds, then items", "sentlab"), alarms / tables, strict=True))
            found.append(
                {"seeds": seeds, "spread of seeds": spread} | {k: round(100 * v, 1) for k, v in shares.items()}
            )
    print(pd.DataFrame(found).to_string(index=False))
    print(f"false alarms in %, of {tables} tables a line; 5% are promised")
    print(f"\n{far_below(random, 20 * tables)}\nfalse alarms at a level, divided by the level")


if __name__ == "__main__":
    main()
