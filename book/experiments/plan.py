"""Which recorded results are missing, and in which order to make them.

No record runs before those that it reads. Records in `paper-scale` are listed and never started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from experiments import records
from experiments.records import NotRun
from experiments.search import Experiment, SearchRecord, SweepRecord, combinations, runs_of

PAPER_SCALE = "paper-scale"


@dataclass(frozen=True)
class Entry:
    """A record and how far it is."""

    record: Any
    runs: tuple[Any, ...]  # its results so far: itself, or the finished runs of a sweep or search
    planned: int  # how many runs it asks for; 1 of what is no sweep or search

    @property
    def name(self) -> str:
        return str(self.record.name)

    @property
    def at_paper_scale(self) -> bool:
        return self.name.startswith(f"{PAPER_SCALE}/")

    @property
    def state(self) -> str:
        """`done` or `begun`; what has no results is `missing`, or `not run` at paper scale."""
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
