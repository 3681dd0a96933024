"""A fair row of a table: search the settings on dev, then train the best ones with several seeds.

    python -m experiments search book/results/NAME.json ... [--again]

The record is written after each trial, so that an interrupted search resumes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments import records
from experiments import results as found
from experiments.notes import Notes
from experiments.records import SWEEPS, RunRecord, SearchRecord
from experiments.settings_grids import GROWTH, following, numeric
from experiments.sweep import alone, run_or_read, shared

TRIALS = Path("runs/trials")
LOST = -100.0  # the score of a trial that gave none: no correlation x 100 is lower


def search(path: Path, *, again: bool = False) -> SearchRecord:
    """Try settings, choose by dev, train the chosen one with each seed, and write that into the record.

    Args:
        path: the record; its `settings` say what to try.
        again: forget what was tried, and train all runs afresh.
    """
    record, began = records.read_as(SearchRecord, path), time.monotonic()
    settings, hunt = record.settings, Hunt(record, path, again)
    if not again:
        hunt.take_up(record)
    best = found.finalists(hunt.try_all(settings.drawn(), settings.steps, "trials"), settings.finalists)
    hunt.try_all([trial.values for trial in best], settings.length, "in full")
    over = {  # with what the grid has grown by before an interruption
        name: [*values, *dict.fromkeys(trial.values[name] for trial in hunt.full if trial.values[name] not in values)]
        for name, values in settings.over.items()
    }
    while (chosen := hunt.best()) and (grown := beyond(over, settings.over, chosen.values, settings.takes)):
        name, value = grown
        over[name].append(value)
        hunt.try_out({**chosen.values, name: value}, settings.length)
    with tqdm(total=len(settings.seeds), desc=f"{record.name}: seeds") as bar:
        runs = shared(partial(hunt.in_full, chosen.values), settings.seeds, bar)
    edges = [name for name, values in over.items() if at_end(values, chosen.values[name])]
    names = [run.settings.run_name for run in runs]
    record.results = found.SearchResults(trials=hunt.trials, chosen=chosen.values, edges=edges, runs=names)
    seconds = sum(trial.seconds for trial in hunt.trials) + sum(run.source.seconds for run in runs[1:])
    notes = Notes()
    notes.data = dict(runs[0].source.data)
    seconds = max(seconds, time.monotonic() - began)
    record.provenance = notes.provenance(records.command_of(record, path), seconds, encoder=runs[0].source.encoder)
    record.save(path)
    return record


@dataclass
class Hunt:
    """The trials of a search so far, kept in its record."""

    record: SearchRecord
    path: Path
    again: bool
    trials: list[found.Trial] = field(default_factory=list)

    @property
    def full(self) -> list[found.Trial]:
        """The trials in full."""
        return [trial for trial in self.trials if trial.steps == self.record.settings.length]

    def best(self) -> found.Trial:
        """Return the trial in full with the best dev score."""
        return max(self.full, key=found.Trial.rank)

    def take_up(self, record: SearchRecord) -> None:
        """Add the trials of a record that are not known yet.

        Those of other settings, which have changed since, have other values or other names.
        """
        settings, known = self.record.settings, {trial.run for trial in self.trials}
        self.trials += [
            trial
            for trial in (record.results.trials if record.results else ())
            if trial.run not in known
            and settings.reaches(trial.values)
            and trial.run == settings.of(trial.values, trial.steps).run_name
        ]

    def in_full(self, values: Mapping[str, Any], seed: int, *, wait: bool = True) -> RunRecord:
        """Return a run in full; `again` trains it afresh, once."""
        settings = self.record.settings
        afresh = self.again and seed != settings.seeds[0]  # the first was a trial
        return run_or_read(settings.full(values, seed), records.root_of(self.path) / SWEEPS, again=afresh, wait=wait)

    def try_all(self, drawn: Sequence[Mapping[str, Any]], steps: int, what: str) -> list[found.Trial]:
        """Try out all of these values. Several processes can share the work: each takes whole trials."""
        with tqdm(total=len(drawn), desc=f"{self.record.name}: {what}", unit=" trials") as bar:
            return shared(partial(self.try_out, steps=steps), drawn, bar)

    def try_out(self, values: Mapping[str, Any], steps: int, *, wait: bool = True) -> found.Trial:
        """Train with these values for so many steps, unless that was done, and write the trial into the record.

        Raises:
            filelock.Timeout: another process trains with these values, and it is not waited for.
        """
        for trial in self.trials:
            if (trial.values, trial.steps) == (values, steps):
                return trial
        trial = self._tried(values, steps, wait)
        self.trials.append(trial)
        with alone(f"{self.record.name.replace('/', '-')}.trials", wait=True):
            written = records.read_as(SearchRecord, self.path)
            if not self.again:  # other processes may have written trials since, or all that was asked for
                self.take_up(written)
            if self.again or not written.done:
                self.record.results = found.SearchResults(trials=self.trials)
                self.record.save(self.path)
        return trial

    def _tried(self, values: Mapping[str, Any], steps: int, wait: bool) -> found.Trial:
        settings, began = self.record.settings, time.monotonic()
        own = settings.of(values, steps)
        folder = records.root_of(self.path) / SWEEPS if steps == settings.length else TRIALS
        known: dict[str, Any] = {"values": dict(values), "steps": steps, "run": own.run_name}
        try:
            run = run_or_read(own, folder, again=self.again, wait=wait)
        except FloatingPointError as error:
            spent = time.monotonic() - began
            return found.Trial(**known, dev=LOST, step=0, last=LOST, rising=False, seconds=spent, failed=str(error))
        assert run.results
        assert run.results.training
        curve = run.results.training.dev
        best = max(curve, key=lambda point: point.score)
        return found.Trial(
            **known,
            dev=round(best.score, 3),
            step=best.step,
            last=round(curve[-1].score, 3),
            rising=best.step > 2 / 3 * steps,
            seconds=run.source.seconds,
        )


def at_end(values: list[Any], chosen: Any) -> bool:
    """Return whether a number is the smallest or the largest of its grid."""
    return numeric(values) and chosen in (min(values), max(values))


def beyond(
    over: Mapping[str, list[Any]],
    before: Mapping[str, list[Any]],
    chosen: Mapping[str, Any],
    takes: Callable[[Mapping[str, Any]], bool] = lambda values: True,
) -> tuple[str, float] | None:
    """Find a setting whose chosen value is at an end of its grid, and the value that comes next there.

    Args:
        over: setting -> the values so far.
        before: setting -> the values that the search began with.
        chosen: setting -> the best value so far.
        takes: whether a run can have these values, setting -> value. Where it cannot, a grid ends.
    """
    for name, values in over.items():
        if not at_end(values, chosen[name]) or len(values) >= len(before[name]) + GROWTH:
            continue
        value = following(name, values, down=chosen[name] == min(values))
        if value is not None and takes({**chosen, name: value}):
            return name, value
    return None
