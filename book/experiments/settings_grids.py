"""What sweeps and searches are asked for: one run with many settings."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Mapping
from random import Random
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PositiveInt, ValidationError, model_validator

from experiments.settings import RunSettings, Typed, problems

GROWTH = 3  # values that a grid may gain
HIGHEST = {"dropout": 0.5, "decoder_layers": 12, "momentum": 0.999, "warmup": 0.9}  # of what cannot grow for ever


def _checked_grid(over: dict[str, list[Any]]) -> dict[str, list[Any]]:
    if not over or not all(over.values()):
        raise ValueError(f"must name settings, each with values to try; it is {over!r}")
    for name, values in over.items():
        _all_different(values, name)
    return over


def _all_different(values: list[Any], name: str = "the list") -> list[Any]:
    """Refuse a value that is there twice: two equal seeds would count as two."""
    told = [json.dumps(value, sort_keys=True, default=str) for value in values]
    if twice := [value for value in told if told.count(value) > 1]:
        raise ValueError(f"{name} holds {twice[0]} more than once")
    return values


Grid = Annotated[dict[str, list[Any]], AfterValidator(_checked_grid)]  # setting, with dots -> values to try


class SweepSettings(Typed):
    """One run with many settings. Every run is a record in `sweeps/`, which two sweeps may share.

    Args:
        run: the settings that all runs have in common, as of a run.
        over: setting, with dots -> values to try: {"method.arguments.m": [0.1, 1.0], "train.seed": [0, 1, 2]}.

        chosen_by: the record of a search, whose chosen values take the place of those of `run`; null: none.
    """

    run: RunSettings
    over: Grid
    chosen_by: str | None = None

    @model_validator(mode="after")
    def _check(self) -> SweepSettings:
        self.runs()
        return self

    def runs(self, chosen: Mapping[str, Any] | None = None) -> list[RunSettings]:
        """Return the settings of each run, in order.

        Args:
            chosen: setting -> value, of the search that `chosen_by` names.

        Raises:
            ValueError: a setting that varies is unknown, or takes no such value.
        """
        every = itertools.product(*self.over.values())
        return [
            with_values(self.run, {**(chosen or {}), **dict(zip(self.over, values, strict=True))}) for values in every
        ]


class SearchSettings(Typed):
    """One row of a fair table: its settings are searched on dev, and the best ones are trained with several seeds.

    Random settings are trained for a few steps. The best of them are trained in full. While the best value of a number
    is at an end of its grid, the grid grows there. Only dev scores choose.

    Args:
        run: the settings that all runs have in common, as of a run; `train.steps` are those of a run in full, and
            `train.keep` is `dev`.
        over: setting, with dots -> its grid: {"train.learning_rate": [1e-4, 3e-4], "dropout": [0.0, 0.05]}.

        trials: how many random settings are tried; all of them, if there are no more.
        steps: of such a trial.
        finalists: how many of them are trained in full.

        seeds: the chosen setting is trained with each; trials use the first.
    """

    run: RunSettings
    over: Grid
    trials: PositiveInt
    steps: PositiveInt
    finalists: PositiveInt
    seeds: Annotated[list[int], Field(min_length=1), AfterValidator(_all_different)]

    @model_validator(mode="after")
    def _check(self) -> SearchSettings:
        if self.run.train is None or "steps" not in self.run.train:
            raise ValueError("run.train.steps is missing: how long is a run in full?")
        if self.finalists > self.trials:
            raise ValueError(f"there are {self.finalists} finalists of {self.trials} trials")
        for values in self.grid():
            trial = self.trial(values)
            if trial.method is None:
                raise ValueError("run.method is missing: a search compares what its trials have trained")
            if (trial.train or {}).get("keep") != "dev":  # it would choose by a peak that its encoders do not have
                raise ValueError('run.train.keep must be "dev": a search goes by the best dev score of a run')
        return self

    def grid(self) -> list[dict[str, Any]]:
        """List every combination of the values."""
        return [dict(zip(self.over, values, strict=True)) for values in itertools.product(*self.over.values())]

    def drawn(self) -> list[dict[str, Any]]:
        """List the random settings that are tried first."""
        grid = self.grid()
        return Random(0).sample(grid, min(self.trials, len(grid)))

    @property
    def length(self) -> int:
        """Steps of a run in full."""
        return int((self.run.train or {})["steps"])

    def of(self, values: Mapping[str, Any], steps: int) -> RunSettings:
        """Return the settings of a trial: those of a run in full where it has as many steps."""
        return self.full(values, self.seeds[0]) if steps == self.length else self.trial(values)

    def trial(self, values: Mapping[str, Any]) -> RunSettings:
        """Return the settings of a short run that only asks for dev scores."""
        unused: dict[str, Any] = {name: [] for name in ("test", "poolings", "heads", "reconstruct", "examples")}
        short = {"watch": None, "keep": False, "train.steps": self.steps, "train.seed": self.seeds[0]}
        return with_values(self.run, unused | short | dict(values))

    def full(self, values: Mapping[str, Any], seed: int) -> RunSettings:
        """Return the settings of a run in full."""
        return with_values(self.run, {**values, "train.seed": seed})

    def takes(self, values: Mapping[str, Any]) -> bool:
        """Return whether a run in full can have these values."""
        try:
            self.full(values, self.seeds[0])
        except ValueError:
            return False
        return True

    def reaches(self, values: Mapping[str, Any]) -> bool:
        """Return whether this search can come to these values: each is in its grid, or is one that it can grow to.

        A record does not say which values a grid has gained, but by the way that grids grow they are known.
        """
        grids = {name: with_growth(name, grid) for name, grid in self.over.items()}
        inside = values.keys() == grids.keys() and all(values[name] in grid for name, grid in grids.items())
        return inside and self.takes(values)


def numeric(values: list[Any]) -> bool:
    """Return whether a grid can grow: it has several values, and all are numbers."""
    return len(values) > 1 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def following(name: str, values: list[Any], *, down: bool) -> float | None:
    """Return the value that comes next at one end of a grid of numbers; None where the grid ends.

    Numbers go on by the ratio of the two at that end; from 0 there is no way down.

    Args:
        name: of the setting, with dots.
        values: two or more.
        down: below the smallest one.
    """
    numbers = sorted(values)
    end, inner = numbers[:2] if down else numbers[:-3:-1]
    if end == 0:
        return None
    value = float(f"{end * end / inner if inner else 2 * end:.3g}")
    if all(isinstance(number, int) for number in numbers):  # such as layers, or rows of a batch
        value = round(value)
        if value < 1 or value in values:
            return None
    return value if value <= HIGHEST.get(name.split(".")[-1], float("inf")) else None


def with_growth(name: str, values: list[Any]) -> list[Any]:
    """Return a grid with all values that it may gain at either end."""
    grown = list(values)
    for down in (True, False) if numeric(values) else ():
        own = list(values)
        while len(own) < len(values) + GROWTH and (value := following(name, own, down=down)) is not None:
            own.append(value)
        grown += own[len(values) :]
    return grown


def with_values(common: RunSettings, values: Mapping[str, Any]) -> RunSettings:
    """Return the same settings with other values.

    Args:
        values: setting, with dots -> value.

    Raises:
        ValueError: a setting is unknown, or takes no such value.
    """
    own = common.model_dump(mode="json", exclude_unset=True)
    for name, value in values.items():
        _set(own, name, copy.deepcopy(value))
    try:
        return RunSettings.model_validate_json(json.dumps(own))
    except ValidationError as error:
        told = ", ".join(f"{name} {value!r}" for name, value in values.items())
        raise ValueError(f"over, with {told}: {problems(error)}") from error


def _set(settings: dict[str, Any], name: str, value: Any) -> None:
    """Set a value by its name with dots."""
    *parents, last = name.split(".")
    for part in parents:
        settings = settings.get(part)  # type: ignore[assignment]
        if not isinstance(settings, dict):
            raise ValueError(f"over: {name} is unknown, for the common settings have no {part} with parts")
    settings[last] = value
