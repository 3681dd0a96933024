"""The leaderboard: recorded encoders on one set of tests, and which differences are significant.

A score is Spearman's correlation x 100 of cosines and gold (all pairs of a set together), Pearson's of phrases in
contexts, the mean average precision of rankings x 100, or the share of labels that are right x 100. Of several seeds it
is the mean. What an encoder gave each item is kept beside its record, so that an interrupted run resumes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field, PositiveInt, model_validator
from tqdm import tqdm

from experiments.compared import RowSettings, TestSettings, encoders_of, score, trained_rows
from experiments.records import Notes, Number, Record, Typed
from experiments.significance import Drawn, benjamini_hochberg, estimate, resample


class LeaderboardSettings(Typed):
    """Recorded encoders on the same tests, with intervals and p over items and seeds."""

    rows: dict[str, RowSettings]  # name -> record and pooling
    columns: dict[str, Annotated[list[TestSettings], Field(min_length=1)]]  # name -> tests, whose scores are averaged
    # rows that are shown and tested, but are no candidates for the best
    beside: list[str] = Field(default_factory=list)
    max_length: PositiveInt  # tokens of a text that every encoder reads
    resamples: PositiveInt  # how often items are drawn, the same ones for all rows
    seed: int  # of what is drawn
    threads: PositiveInt | None = None  # CPU threads

    @model_validator(mode="after")
    def _check(self) -> LeaderboardSettings:
        if unknown := set(self.beside) - set(self.rows):  # such a row would compete for the best, in silence
            raise ValueError(f"beside names {sorted(unknown)}, and there are no such rows")
        return self


class Apart(Typed):
    """How much one row is above another, with the 95% interval and p; None where one seed cannot say.

    The method of Benjamini and Hochberg adjusts p for all pairs of a column.
    """

    value: Number
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None


class BoardRow(Typed):
    """A row of a column: mean over tests and seeds with 95% interval, spread over seeds, difference from the best."""

    score: Number
    low: Number | None = None
    high: Number | None = None
    spread: Number | None = None
    difference: Number | None = None
    p: Number | None = None  # of the difference


class BoardColumn(Typed):
    rows: dict[str, BoardRow]  # row -> score and interval
    best: str  # the row with the highest score
    differences: dict[str, dict[str, Apart]]  # row -> each later row -> how much the first is above the second

    def between(self, a: str, b: str) -> Apart:
        """Return how much row `a` is above row `b`."""
        if b in self.differences[a]:
            return self.differences[a][b]
        apart = self.differences[b][a]
        low, high = (None if end is None else -end for end in (apart.high, apart.low))
        return Apart(value=-apart.value, low=low, high=high, p=apart.p)


class LeaderboardResults(Typed):
    """Columns, and test -> row -> the score of each seed."""

    columns: dict[str, BoardColumn]
    tests: dict[str, dict[str, list[Number]]]


class LeaderboardRecord(Record):
    settings: LeaderboardSettings
    results: LeaderboardResults | None = None


def leaderboard(record: LeaderboardRecord) -> LeaderboardRecord:
    """Score all rows on all tests, compare them, and write that into the record."""
    notes, began, settings, place = Notes(), time.monotonic(), record.settings, record.folder
    if settings.threads:
        torch.set_num_threads(settings.threads)
    runs = {name: (row, encoders_of(row, place)) for name, row in settings.rows.items()}
    tests = {str(test): test for column in settings.columns.values() for test in column}
    scored = {name: score(test, runs, settings.max_length, notes) for name, test in tqdm(tests.items(), desc="tests")}
    scores = {
        name: {row: np.round([seed.score() for seed in seeds], 2).tolist() for row, seeds in rows.items()}
        for name, (rows, _) in scored.items()
    }
    random, columns, trained = np.random.default_rng(settings.seed), {}, trained_rows(settings.rows, place)
    for name, column in tqdm(settings.columns.items(), desc="resample", unit=" columns"):
        parts, items = zip(*(scored[str(test)] for test in column), strict=True)
        columns[name] = compare_rows(resample(parts, settings.resamples, random, trained, items=items), settings.beside)
    return record.finish(LeaderboardResults(columns=columns, tests=scores), notes, began)


def compare_rows(drawn: Mapping[str, Drawn], beside: Sequence[str] = ()) -> BoardColumn:
    """Compute the mean, spread and interval of each row of one `resample`, and compare every two rows.

    The method of Benjamini and Hochberg adjusts the p-values of a column for all pairs of rows, since the scores
    themselves say which row is the best one. Rows `beside` are no candidates.
    """
    best = max((row for row in drawn if row not in beside), key=lambda row: drawn[row].seeds.mean())
    pairs = list(combinations(drawn, 2))
    estimates = [estimate(drawn[row], drawn[other]) for row, other in pairs]
    differences: dict[str, dict[str, Apart]] = {row: {} for row in drawn}
    for (row, other), apart, p in zip(pairs, estimates, benjamini_hochberg([one.p for one in estimates]), strict=True):
        value, low, high = apart.rounded()
        differences[row][other] = Apart(value=value, low=low, high=high, p=None if p is None else round(p, 5))
    column = BoardColumn(rows={}, best=best, differences=differences)
    for row, of_row in drawn.items():
        score, low, high = estimate(of_row).rounded()
        cells: dict[str, Any] = {"score": score, "low": low, "high": high}
        if len(of_row.seeds) > 1:
            cells["spread"] = round(float(of_row.seeds.std(ddof=1)), 2)
        if row != best:
            gap = column.between(row, best)
            cells |= {"difference": gap.value, "p": gap.p}
        column.rows[row] = BoardRow(**cells)
    return column
