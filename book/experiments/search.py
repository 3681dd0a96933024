"""One run with many settings: a sweep trains all of them; a search tries some on dev, and trains the best with seeds.

The record is written after each run and trial, so that both resume after an interruption.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PositiveInt, model_validator
from tqdm import tqdm

from experiments import records
from experiments.records import RUNS, Notes, NotRun, Number, Provenance, Record, Typed
from experiments.run import WORKING, RunRecord, RunResults, RunSettings, perform

LOST = -100.0  # the score of a trial that gave none: no correlation x 100 is lower


def _all_different(values: list[Any]) -> list[Any]:
    if len({json.dumps(value, sort_keys=True) for value in values}) < len(values) or not values:
        raise ValueError(f"{values} must hold values, each once: two equal seeds would count as two")
    return values


Grid = dict[str, Annotated[list[Any], AfterValidator(_all_different)]]  # setting, with dots -> values to try


def combinations(over: Grid) -> list[dict[str, Any]]:
    """List every combination of the values, setting -> value, the last setting fastest."""
    return [dict(zip(over, values, strict=True)) for values in itertools.product(*over.values())]


def with_values(common: RunSettings, values: Mapping[str, Any]) -> RunSettings:
    """Return the same settings with other values: {"method.arguments.m": 10.0, "train.seed": 1}."""
    settings = common.model_dump(mode="json", exclude_unset=True)
    for name, value in values.items():
        *parents, last = name.split(".")
        part = settings
        for parent in parents:
            part = part[parent]
        part[last] = copy.deepcopy(value)
    return RunSettings.model_validate_json(json.dumps(settings))


class StoredRun(Typed):
    """A run in the file of its sweep or search."""

    values: dict[str, Any]  # setting -> value, which with the common settings give its own
    fingerprint: str  # of all its settings, so that it is not taken for one of others when these change
    at: str | None = None  # the sweep or search that has its results; null: this one
    results: RunResults | None = None
    provenance: Provenance | None = None


class Experiment(Record):
    """A record with runs inside."""

    runs: list[StoredRun] = Field(default_factory=list)

    def content(self) -> dict[str, Any]:
        runs = [run.model_dump(mode="json", exclude_none=True, exclude_unset=True) for run in self.runs]
        return super().content() | ({"runs": runs} if runs else {})

    def run_with(self, settings: RunSettings) -> RunRecord | None:
        """Return the run with these settings; None where there is none with results."""
        stored = next((run for run in self.runs if run.fingerprint == settings.fingerprint), None)
        if stored is None or (stored.at and not (self.folder / f"{stored.at}.json").exists()):
            return None
        if stored.at:
            shared = records.get(stored.at, self.folder).run_with(settings)
            return shared and shared.model_copy(update={"sweep": self.name})
        place: Any = {"name": f"{self.name}/{label(stored.values)}", "folder": self.folder, "home": self.name}
        place |= {"sweep": self.name, "results": stored.results, "provenance": stored.provenance}
        return RunRecord(settings=settings, **place)

    def values(self) -> list[dict[str, Any]]:
        """Return the values of each run that its results are of; NotRun where a search has yet to choose them."""
        raise NotImplementedError

    def planned(self, where: Mapping[str, Any] | None = None) -> list[RunSettings]:
        """Return the settings of these runs; with `where` of those with its values, also of runs not chosen."""
        every = self.values()
        if where:
            every += [run.values for run in self.runs if self.kind == "search"]
            every = [values for values in every if where.items() <= values.items()]
            if not every:
                raise ValueError(f"no run of {self.name} has {dict(where)}")
        planned = (with_values(self.settings.run, values) for values in every)
        return list({settings.fingerprint: settings for settings in planned}.values())

    @property
    def done(self) -> bool:
        """Whether all runs that its settings ask for have results."""
        try:
            return all(self.run_with(settings) for settings in self.planned())
        except NotRun:
            return False

    def finished(self) -> list[RunRecord]:
        """Return its finished runs; none where a search has yet to choose their settings."""
        try:
            return [run for settings in self.planned() if (run := self.run_with(settings))]
        except NotRun:
            return []

    def train(self, values: Mapping[str, Any], *, again: bool = False) -> RunRecord:
        """Return the run with these values: from this file, that of another experiment, or made now."""
        settings = with_values(self.settings.run, values)
        run: Any = None if again else self.run_with(settings)
        if run is None:
            made: dict[str, Any] = {"at": None if again else self.elsewhere(settings.fingerprint)}
            if made["at"] is None:
                place = RUNS / self.name / label(values)
                results, provenance = perform(settings, place, self.command, again=again, progress=False)
                made = {"results": results, "provenance": provenance}
            self._keep(StoredRun(values=dict(values), fingerprint=settings.fingerprint, **made), settings.keep)
            run = self.run_with(settings)
        run.check_weights()
        return run

    def _keep(self, stored: StoredRun, encoder: bool) -> None:
        """Write a run into the file, in the place of one with the same label, and tidy its folder."""
        name = label(stored.values)
        position = next((i for i, run in enumerate(self.runs) if label(run.values) == name), len(self.runs))
        self.runs[position : position + 1] = [stored]
        if records.is_first():
            records.write_items(self.path.with_suffix(".npz"), {}, drop=f"{name}/")  # of an encoder before
            self.save()
            place = RUNS / self.name / name
            if encoder:
                for file in WORKING:  # a fitted map has none
                    (place / file).unlink(missing_ok=True)
            else:
                shutil.rmtree(place, ignore_errors=True)  # the numbers are what a sweep is for

    def elsewhere(self, fingerprint: str) -> str | None:
        """Return the name of another experiment that has results of a run; None where there is none."""
        for name in records.names(self.folder):
            if name != self.name and fingerprint in (self.folder / f"{name}.json").read_text(encoding="utf-8"):
                runs = getattr(records.get(name, self.folder), "runs", ())
                if any(run.fingerprint == fingerprint and run.at is None for run in runs):
                    return name
        return None


def label(values: Mapping[str, Any]) -> str:
    """Return the name of a run in its experiment, such as `m=10,seed=1`."""
    parts = (f"{name.split('.')[-1]}={shown(value)}" for name, value in values.items())
    return re.sub(r"[^\w.=+,-]+", "_", ",".join(parts))


class SweepSettings(Typed):
    """One run with many settings."""

    run: RunSettings  # the settings that all runs have in common, as of a run
    # setting, with dots -> values to try: {"method.arguments.m": [0.1, 1.0], "train.seed": [0, 1, 2]}; or several such
    over: Grid | list[Grid]
    chosen_by: str | None = None  # a search, whose chosen values take the place of those of `run`; null: none

    @property
    def grids(self) -> list[Grid]:
        return self.over if isinstance(self.over, list) else [self.over]


class SweepRecord(Experiment):
    kind: Literal["sweep"] = "sweep"
    settings: SweepSettings
    results: None = None

    def values(self) -> list[dict[str, Any]]:
        chosen: dict[str, Any] = {}
        if self.settings.chosen_by:
            other = records.get(self.settings.chosen_by, self.folder)
            if not other.done:
                raise NotRun(f"{self.name} waits for a search: {other.command}")
            chosen = other.results.chosen
        return [chosen | values for grid in self.settings.grids for values in combinations(grid)]


class SearchSettings(Typed):
    """One row of a fair table: settings are searched on dev, and the best one is trained with several seeds.

    Random settings are trained for a few steps, and the best of them in full. Only dev scores choose.
    """

    run: RunSettings  # what all runs have in common; `train.steps` are those of a run in full, `train.keep` is `dev`
    over: Grid  # setting, with dots -> its grid: {"train.learning_rate": [1e-4, 3e-4], "dropout": [0.0, 0.05]}
    trials: PositiveInt  # how many random settings are tried; all of them, if there are no more
    steps: PositiveInt  # of such a trial
    finalists: PositiveInt  # how many of them are trained in full
    seeds: Annotated[list[int], AfterValidator(_all_different)]  # of runs with the chosen setting; trials use the first

    @model_validator(mode="after")
    def _check(self) -> SearchSettings:
        train = self.run.train or {}
        if "steps" not in train or train.get("keep") != "dev":  # else it would choose by a peak that no encoder has
            raise ValueError('run.train needs `steps` and "keep": "dev"')
        return self

    @property
    def length(self) -> int:
        """Steps of a run in full."""
        return int((self.run.train or {})["steps"])

    def drawn(self) -> list[dict[str, Any]]:
        """List the random settings that are tried first."""
        grid = combinations(self.over)
        return Random(0).sample(grid, min(self.trials, len(grid)))

    def trial(self, values: Mapping[str, Any], steps: int) -> RunSettings:
        """Return the settings of a trial: of a short run that only asks for dev scores, or of a run in full."""
        values = {**values, "train.seed": self.seeds[0]}
        if steps == self.length:
            return with_values(self.run, values)
        unused: dict[str, Any] = {name: [] for name in ("test", "poolings", "heads", "reconstruct", "examples")}
        return with_values(self.run, {**unused, "watch": None, "keep": False, "train.steps": steps, **values})


class Trial(Typed):
    """A setting that was tried."""

    values: dict[str, Any]  # setting -> value
    steps: int  # of the run
    dev: Number  # its best dev score
    step: int  # where that was
    last: Number  # the dev score after the last step
    rising: bool  # the best score is in the last third of the steps, and training longer might find a better one
    seconds: Number  # of the run
    fingerprint: str  # of its settings
    failed: str | None = None  # why it gave no score, as where a loss was no longer finite. It then ranks last.

    def rank(self) -> tuple[float, float]:
        """Return what trials are compared by: dev; of equals, which all keep step 0, the score of the last step."""
        return self.dev, self.last


class SearchResults(Typed):
    trials: list[Trial] = Field(default_factory=list)  # in order; those with fewer steps first
    chosen: dict[str, Any] | None = None  # with the best dev score of the runs in full; None while the search goes on
    edges: list[str] = Field(default_factory=list)  # numbers of the chosen setting that are at an end of their grid


class SearchRecord(Experiment):
    kind: Literal["search"] = "search"
    settings: SearchSettings
    results: SearchResults | None = None

    @property
    def done(self) -> bool:
        """Whether it has all that its settings ask for, as they are now: trials, full runs, and seeds of the best."""
        return super().done and not self.to_try() and self.results.chosen == self.best.values

    @property
    def best(self) -> Trial:
        """The best of the trials in full."""
        return max((trial for trial in self.results.trials if trial.steps == self.settings.length), key=Trial.rank)

    def values(self) -> list[dict[str, Any]]:
        if self.results is None or self.results.chosen is None:
            raise NotRun(f"{self.name} has no results yet: {self.command}")
        return [{**self.results.chosen, "train.seed": seed} for seed in self.settings.seeds]

    def to_try(self) -> list[tuple[dict[str, Any], int]]:
        """List what is left, values and steps: the short trials, and after these the best of them in full."""
        settings, known = self.settings, {trial.fingerprint: trial for trial in self.results.trials}

        def left(every: Sequence[dict[str, Any]], steps: int) -> list[tuple[dict[str, Any], int]]:
            return [(values, steps) for values in every if settings.trial(values, steps).fingerprint not in known]

        drawn = settings.drawn()
        if short := left(drawn, settings.steps):
            return short
        tried = [known[settings.trial(values, settings.steps).fingerprint] for values in drawn]
        best = sorted(tried, key=Trial.rank, reverse=True)[: settings.finalists]
        return left([trial.values for trial in best], settings.length)

    def attempt(self, values: dict[str, Any], steps: int, *, again: bool = False) -> None:
        """Train with these values for so many steps, and write the trial into the record."""
        settings, began = self.settings.trial(values, steps), time.monotonic()
        known: dict[str, Any] = {"values": values, "steps": steps, "fingerprint": settings.fingerprint}
        try:
            if steps == self.settings.length:
                run = self.train({**values, "train.seed": self.settings.seeds[0]}, again=again)
                results, seconds = run.results, run.source.seconds
            else:
                place = RUNS / self.name / f"steps={steps},{label(values)}"
                results, provenance = perform(settings, place, self.command, again=again, progress=False)
                seconds = provenance.seconds
                shutil.rmtree(place, ignore_errors=True)
            curve = results.training["dev"]
            best = max(curve, key=lambda point: point["score"])
            dev, step, last = round(best["score"], 3), int(best["step"]), round(curve[-1]["score"], 3)
            trial = Trial(**known, dev=dev, step=step, last=last, rising=step > 2 / 3 * steps, seconds=seconds)
        except FloatingPointError as error:
            spent = time.monotonic() - began
            trial = Trial(**known, dev=LOST, step=0, last=LOST, rising=False, seconds=spent, failed=str(error))
        self.results = self.results.model_copy(update={"trials": [*self.results.trials, trial]})
        self.save()


def sweep(record: SweepRecord, *, again: bool = False) -> SweepRecord:
    """Run every combination of a sweep that has no results yet, or with `again` each of them."""
    with records.alone(record):
        record = records.get(record.name, record.folder)  # another process may have run some
        record.runs = [] if again else record.runs  # old and new ones must not mix, if this is interrupted
        planned = record.planned()  # that a run can have each of the values
        if len({label(values) for values in record.values()}) < len(planned):
            raise ValueError(f"{record.name}: two of its runs would have one name, and the later would take the place")
        for values in tqdm(record.values(), desc=record.name, unit=" runs"):
            record.train(values, again=again)
    return record


def search(record: SearchRecord, *, again: bool = False) -> SearchRecord:
    """Try settings, choose by dev, and train the chosen one with each seed; `again`: forget what was tried."""
    with records.alone(record):
        record, began = records.get(record.name, record.folder), time.monotonic()
        settings, record.runs = record.settings, [] if again else record.runs
        trials = [] if again or record.results is None else record.results.trials
        # those of other common settings, which have changed since, do not count
        trials = [one for one in trials if settings.trial(one.values, one.steps).fingerprint == one.fingerprint]
        if record.results is None or trials != record.results.trials:  # else its runs can be read meanwhile
            record.results = SearchResults(trials=trials)
        while left := record.to_try():
            for values, steps in tqdm(left, desc=f"{record.name}: trials", unit=" trials"):
                record.attempt(values, steps, again=again)
        trials = record.results.trials
        full = [trial for trial in trials if trial.steps == settings.length]
        chosen = record.best.values
        runs = [
            record.train({**chosen, "train.seed": seed}, again=again and seed != settings.seeds[0])  # which was a trial
            for seed in tqdm(settings.seeds, desc=f"{record.name}: seeds")
        ]
        numbers = {name: values for name, values in settings.over.items() if {*map(type, values)} <= {int, float}}
        tried = {name: {*values, *(t.values.get(name, values[0]) for t in full)} for name, values in numbers.items()}
        ends = {name: (min(values), max(values)) for name, values in tried.items() if len(values) > 1}
        edges = [name for name in ends if chosen.get(name) in ends[name]]
        record.results = SearchResults(trials=trials, chosen=chosen, edges=edges)
        notes = Notes()
        notes.data = dict(runs[0].source.data)
        seconds = sum(trial.seconds for trial in trials) + sum(run.source.seconds for run in runs[1:])
        seconds = max(seconds, time.monotonic() - began)
        record.provenance = notes.provenance(record.command, seconds, encoder=runs[0].source.encoder)
        record.save()
    return record


def runs_of(record: Record, where: Mapping[str, Any] | None = None) -> list[RunRecord]:
    """Return the runs behind a record: itself, the runs of a sweep, or those of a search's choice, in order.

    With `where` only those with its values, setting -> value. NotRun where one of them is missing.
    """
    if isinstance(record, RunRecord) and not where:
        return [record]
    if not isinstance(record, Experiment):
        raise ValueError(f"{record.name} is of the kind {record.kind}, which has no runs")
    runs: list[Any] = [record.run_with(settings) for settings in record.planned(where)]
    if None in runs:
        raise NotRun(f"{record.name} has no results yet: {record.command}")
    return runs


def shown(value: Any) -> Any:
    """Return a value as a name or number of a table."""
    if isinstance(value, dict) and all(isinstance(part, int | float) for part in value.values()):
        return ", ".join(f"{name}={part}" for name, part in value.items())
    if isinstance(value, dict | list):  # the names of tasks; views, some with a rate: "random_crop 0.45"
        return "+".join(" ".join(map(str, part.values())) if isinstance(part, dict) else str(part) for part in value)
    return "none" if value is None else value
