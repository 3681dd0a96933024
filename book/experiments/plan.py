"""Which recorded results are missing, and in which order to make them.

No record runs before those that it reads. Records in `paper-scale` are listed and never started.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments import records
from experiments.cost import LibraryRecord, SpeedRecord
from experiments.records import NotRun
from experiments.search import Experiment, SearchRecord, SweepRecord, combinations, runs_of

PAPER_SCALE = "paper-scale"
STATES = ("done", "begun", "missing", "not run")


@dataclass(frozen=True)
class Entry:
    """A record and how far it is.

    Args:
        record: its content.
        runs: its results so far: itself, or the finished runs of a sweep or search.
        planned: how many runs it asks for; 1 of what is no sweep or search.
    """

    record: Any
    runs: tuple[Any, ...]
    planned: int

    @property
    def name(self) -> str:
        return str(self.record.name)

    @property
    def path(self) -> Path:
        return Path(self.record.path)

    @property
    def command(self) -> str:
        return str(self.record.command)

    @property
    def at_paper_scale(self) -> bool:
        return self.name.startswith(f"{PAPER_SCALE}/")

    @property
    def state(self) -> str:
        """One of `STATES`; what has no results is `missing`, or `not run` at paper scale."""
        if not self.runs:
            return "not run" if self.at_paper_scale else "missing"
        return "done" if self.record.done else "begun"


def entries(place: Path) -> list[Entry]:
    """Read the records of a folder of results by name, those at paper scale last, each with its runs."""
    every = [entry_of(records.get(name, place)) for name in records.names(place)]
    return sorted(every, key=lambda entry: (entry.at_paper_scale, entry.name))


def entry_of(record: Any) -> Entry:
    """Return a record with its runs so far."""
    if not isinstance(record, Experiment):
        return Entry(record, (record,) if record.results else (), 1)
    settings = record.settings
    planned = len(settings.seeds if isinstance(record, SearchRecord) else combinations(settings.over))
    try:
        runs = tuple(runs_of(record, so_far=isinstance(record, SweepRecord)))
    except NotRun:  # a search that is not done
        runs = ()
    return Entry(record, runs, planned)


def in_order(waiting: Sequence[Entry]) -> list[Entry]:
    """Sort the entries so that each comes after those that it reads from."""
    named = {entry.name: entry for entry in waiting}
    graph = {name: [other for other in entry.record.needs() if other in named] for name, entry in named.items()}
    return [named[name] for name in TopologicalSorter(graph).static_order()]


def fill(place: Path, execute: Callable[[Any], object]) -> dict[str, str]:
    """Run what is missing, and say what could not be.

    Args:
        place: the folder of results.
        execute: runs a record.

    Returns:
        Name -> why not, for each record that still has no results, those at paper scale left out.
    """
    waiting = [entry for entry in entries(place) if entry.state in ("begun", "missing") and not entry.at_paper_scale]
    refused = {}
    for entry in tqdm(in_order(waiting), desc="records", unit=" records"):
        record = records.get(entry.name, place)
        if entry_of(record).state == "done":  # another process has run it
            continue
        try:
            if isinstance(record, LibraryRecord | SpeedRecord):
                raise NotRun("it has a program of its own")
            execute(record)
        except Exception as error:  # the others can still be run
            refused[entry.name] = f"{type(error).__name__}: {' '.join(str(error).split())[:400]} ({entry.command})"
            tqdm.write(f"{entry.name} was not run: {refused[entry.name]}")
    return refused
