"""What a choice changes, from recorded runs: the other choice minus ours, with the noise that a difference must exceed.

An entry is data, a mapping as a TOML file holds it. One of its keys says of which kind it is:

- `text`: a line that no record changes.
- `sweep`: every setting that a sweep tried against ours (`Tried`).
- `other`: the runs of one record against those of another, or of the same (`Gap`).
- `williams`: a comparison with spans of some lengths against that with another (`Compared`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments import records, runs
from experiments import sweep as sweeps
from experiments.records import SweepRecord, WilliamsRecord
from experiments.results import When


@dataclass(frozen=True)
class Change:
    """What a choice changes: lines of text, and the names of the records that say so."""

    lines: tuple[str, ...]
    records: tuple[str, ...] = ()


NOT_MEASURED = Change(("not measured",))
NOT_YET = Change(("not recorded yet",))


@dataclass(frozen=True)
class Runs:
    """Some runs of a record, and which of their scores counts."""

    record: str  # its name
    score: str = "average"  # a key of `experiments.runs.scores`
    vector: str | None = None  # a pooling of its results; None: the encoder's own
    when: When = "after"  # or "before" training
    only: Sequence[int] = ()  # positions of the runs that count; empty: all
    where: Mapping[str, Any] | None = None  # of a sweep, setting -> value: the runs that count, and have to be finished

    def scores(self, results: Path) -> pd.Series:
        """Read one score for each run."""
        found = runs.runs(self.record, results, self.where)
        found = [found[i] for i in self.only] if self.only else found
        return pd.Series([runs.scores(run, self.vector, self.when)[self.score] for run in found])


@dataclass(frozen=True)
class Tried:
    """Every setting that a sweep tried, against ours. A setting is shown as text: a list as `NP+VP`, null as `none`."""

    sweep: str  # name of its record
    ours: Mapping[str, Any]  # the setting that is ours, such as {"m": 10, "n": 10}
    noise: Mapping[str, Any] | None = None  # `Runs` that differ in their seed alone; None: there is one seed
    score: str = "average"  # of all these runs
    label: str = "{}"  # how a setting is shown: a format of its values
    heading: str = ""  # a line before them

    def change(self, results: Path) -> Change:
        scores = self._scores(results)
        base = scores.pop(tuple(map(_shown, self.ours.values())))
        noise = None
        if self.noise:
            noise = 2 * Runs(**{"score": self.score, **self.noise}).scores(results).std()
        gains = {self.label.format(*setting): score - base for setting, score in scores.items()}
        return told(gains, noise, self.sweep, heading=self.heading)

    def _scores(self, results: Path) -> dict[tuple[str, ...], float]:
        """The score of each run by its shown settings."""
        found = runs.runs(self.sweep, results)
        over = list(records.read_as(SweepRecord, results / f"{self.sweep}.json").settings.over)
        varied = [sweeps.varied(run.settings, over) for run in found]
        if list(varied[0]) != list(self.ours):
            raise ValueError(f"{self.sweep} varies {', '.join(over)}, and `ours` says {', '.join(self.ours)}")
        settings = [tuple(map(_shown, own.values())) for own in varied]
        if twice := [", ".join(own) for own, count in Counter(settings).items() if count > 1]:
            raise ValueError(f"{self.sweep}: several settings are shown as {'; '.join(twice)}, so none can be named")
        return {own: runs.scores(run)[self.score] for own, run in zip(settings, found, strict=True)}


@dataclass(frozen=True)
class Gap:
    """The mean of other runs minus that of ours.

    Args:
        label: what the others are.
        ours, other: the arguments of `Runs`.
        paired: the runs of both sides belong together in their order: two scores of the same encoders.
    """

    label: str
    ours: Mapping[str, Any]
    other: Mapping[str, Any]
    paired: bool = False

    def change(self, results: Path) -> Change:
        ours, other = Runs(**self.ours), Runs(**self.other)
        used = ours.record, other.record
        sides = ours.scores(results), other.scores(results)
        gain = float(sides[1].mean() - sides[0].mean())
        if "before" in (ours.when, other.when):  # untrained, which has no seed
            return Change((f"{self.label} {signed(gain)}",), tuple(dict.fromkeys(used)))
        return told({self.label: gain}, noise_of_gap(*sides, paired=self.paired), *used)


@dataclass(frozen=True)
class Compared:
    """Williams's comparison with spans of some lengths against that with another.

    Args:
        williams, row: names of the record and of an encoder in it, such as `tiny-context/span-pair`.
        ours, others: longest spans, in words.
        heading: a line before them.
    """

    williams: str
    row: str
    ours: int
    others: Sequence[int]
    heading: str = ""

    def change(self, results: Path) -> Change:
        record = records.read_as(WilliamsRecord, results / f"{self.williams}.json")
        if record.results is None:
            raise sweeps.NotRun(f"{self.williams} has no results yet")
        by_size = {size: record.results.table("spans", size) for size in (self.ours, *self.others)}
        score = {size: float(table.loc[self.row, "pearson"]) for size, table in by_size.items()}
        gains = {f"{size} words": score[size] - score[self.ours] for size in self.others}
        return told(gains, None, self.williams, heading=self.heading)


KINDS: dict[str, Callable[..., Any]] = {"sweep": Tried, "other": Gap, "williams": Compared}


def change(entries: Sequence[Mapping[str, Any]], results: Path) -> Change:
    """Return what a choice changes, by its entries in order (see above); `NOT_MEASURED` where there are none.

    Args:
        results: the folder of records.

    Returns:
        All lines and the names of all records, each once; `NOT_YET` if a record is missing or unfinished.

    Raises:
        ValueError: an entry is of no known kind, or has keys that its kind does not have.
    """
    found = []
    try:
        for entry in entries:
            if "text" in entry:
                found.append(Change((entry["text"],)))
                continue
            kind = next((kind for key, kind in KINDS.items() if key in entry), None)
            if kind is None:
                raise ValueError(f"an entry needs one of text, {', '.join(KINDS)}: {dict(entry)}")
            try:
                asked = kind(**entry)
            except TypeError as error:
                raise ValueError(f"{error}: {dict(entry)}") from None
            found.append(asked.change(results))
    except (FileNotFoundError, sweeps.NotRun):
        return NOT_YET
    lines = tuple(line for one in found for line in one.lines)
    return Change(lines, tuple(dict.fromkeys(name for one in found for name in one.records))) if found else NOT_MEASURED


def noise_of_gap(ours: pd.Series, other: pd.Series, *, paired: bool = False) -> float | None:
    """Compute what a difference of means must exceed.

    It is twice the difference's standard error, or twice the deviation of the side with seeds.

    Args:
        ours, other: a score for each run.
        paired: they belong together in their order.

    Returns:
        None where each side has one run.
    """
    if paired:
        return float(2 * (other - ours).std() / len(ours) ** 0.5)
    sides = [side for side in (ours, other) if len(side) > 1]
    if len(sides) == 2:
        return float(2 * sum(side.var() / len(side) for side in sides) ** 0.5)
    return float(2 * sides[0].std()) if sides else None


def told(gains: Mapping[str, float], noise: float | None, *names: str, heading: str = "") -> Change:
    """Return differences as lines such as `mean +4.1`, then the noise, behind a heading.

    Args:
        gains: what is shown -> difference.
        noise: None: of one seed.
        names: of the records.
    """
    lines = [f"{shown} {signed(gain)}" for shown, gain in gains.items()]
    said = "one seed" if noise is None else f"noise\u00a0{noise:.1f}"
    lines = [f"{lines[0]} ({said})"] if len(lines) == 1 else [*lines, said]
    return Change((*([f"{heading}:"] if heading else []), *lines), tuple(dict.fromkeys(names)))


def signed(number: float) -> str:
    """Write a difference with its sign and one decimal: `+4.1`, `−0.3`."""
    return f"{number:+.1f}".replace("-", "−")


def _shown(value: Any) -> str:
    """A setting as text."""
    value = sweeps.shown(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
