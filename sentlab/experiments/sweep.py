"""A sweep: one run with many settings. What is finished is kept, so that a sweep goes on where it stopped.

    python -m sentlab.experiments.sweep book/results/NAME.json ...

The file is a record (see `python -m sentlab.experiments.run --help`) with an `over` beside its settings: setting, with dots ->
values to try, such as {"method.m": [0.1, 1, 10], "train.seed": [0, 1, 2]}. The runs are records in the folder
`sweeps` beside it, under names that their settings decide: what two sweeps have in common is run once.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import itertools
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from sentlab.experiments import records
from sentlab.experiments.run import run

FOLDER = "sweeps"


@dataclass(frozen=True)
class Sweep:
    """What a sweep found.

    Args:
        over: setting -> the values that were tried.
        records: a finished run for each combination, in order.
    """

    over: dict[str, list[Any]]
    records: list[records.Record]

    def table(self, score: str = "average", *, when: str = "after") -> pd.DataFrame:
        """A row a run: the settings that vary, by the last part of their names, and one score of the trained vector.

        Args:
            score: a key of the records' results, such as `average`, `stsb` or `stsb-dev`.
            when: `before` or `after` training.

        Raises:
            KeyError: the records have no such score; names those that they have.
        """
        rows = []
        for record in self.records:
            found = next(iter(record.results[when].values()))  # the encoder's own pooling stands first
            if score not in found:
                raise KeyError(f"no score {score!r} in {record.name}; there is {', '.join(found)}")
            settings = {name.split(".")[-1]: _shown(_get(record.settings, name)) for name in self.over}
            rows.append({**settings, score: found[score]})
        return pd.DataFrame(rows)

    def plot(self, score: str = "average") -> Any:
        """The table as a picture (`plots.sweep`)."""
        from sentlab.report import plots  # brings seaborn, which only this needs

        return plots.sweep(self.table(score), score)


def sweep(
    settings: Mapping[str, Any],
    over: Mapping[str, Sequence[Any]],
    *,
    folder: str | Path = Path("runs") / FOLDER,
    progress: bool = True,
) -> Sweep:
    """Run every combination of the given values.

    Args:
        settings: of a record, as `python -m sentlab.experiments.run --help` explains them.
        over: setting, with dots, -> values to try: {"method.m": [0.1, 1, 10], "train.seed": [0, 1, 2]}.
        folder: a finished run is a record there, found again by all of its settings.
        progress: show a bar over the runs.

    Raises:
        ValueError: nothing to vary, or a setting without values.
    """
    if not over or not all(len(values) for values in over.values()):
        raise ValueError(f"over must name settings, each with values to try; it is {dict(over)!r}")
    found = []
    combinations = list(itertools.product(*over.values()))
    for values in tqdm(combinations, desc="sweep", unit=" runs", disable=not progress):
        own = copy.deepcopy(dict(settings))
        for name, value in zip(over, values, strict=True):
            _set(own, name, value)
        path = Path(folder) / _file(own)
        if not (path.exists() and records.read(path).done):
            records.Record(path.stem, own).save(path)
            kept = path.with_suffix("")
            run(path, folder=kept, progress=False)
            if own.get("keep"):
                (kept / "checkpoint.safetensors").unlink(missing_ok=True)  # a fitted map has none
            else:  # the numbers are what a sweep is for
                shutil.rmtree(kept, ignore_errors=True)
        found.append(records.read(path))
    return Sweep({name: list(values) for name, values in over.items()}, found)


def read(path: str | Path) -> Sweep:
    """The finished runs of a recorded sweep.

    Args:
        path: a record with an `over`, beside the folder `sweeps` that holds its runs.

    Raises:
        ValueError: the record has no `over`, or a run is missing; says how to get it.
    """
    path = Path(path)
    record, found = records.read(path), []
    if not record.over:
        raise ValueError(f"{path} is no sweep: it has no `over`")
    for values in itertools.product(*record.over.values()):
        own = copy.deepcopy(record.settings)
        for name, value in zip(record.over, values, strict=True):
            _set(own, name, value)
        place = path.parent / FOLDER / _file(own)
        if not place.exists() or not (run := records.read(place)).done:
            raise ValueError(f"{place} has no results yet: python -m sentlab.experiments.sweep {path}")
        run.sweep = record.name
        found.append(run)
    return Sweep(record.over, found)


def _file(settings: dict[str, Any]) -> str:
    """The same name for the same settings, and for no others."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
    return f"{(settings.get('method') or {'name': 'none'})['name']}-{digest}.json"


def _shown(value: Any) -> Any:
    """A value as a name or number of a table."""
    return "+".join(map(str, value)) if isinstance(value, list | tuple | dict) else "none" if value is None else value


def _get(settings: Mapping[str, Any], name: str) -> Any:
    for part in name.split("."):
        settings = settings[part]
    return settings


def _set(settings: dict[str, Any], name: str, value: Any) -> None:
    *parents, last = name.split(".")
    for part in parents:
        settings = settings[part]
    settings[last] = value


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sentlab.experiments.sweep",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("records", nargs="+", type=Path, help="sweeps to run")
    for path in parser.parse_args().records:
        record = records.read(path)
        if not record.over:
            parser.error(f"{path} is no sweep, for it has no `over`: python -m sentlab.experiments.run {path}")
        found = sweep(record.settings, record.over, folder=path.parent / FOLDER)
        print(found.table(f"{record.settings['dev']}-dev").to_string())


if __name__ == "__main__":
    main()
