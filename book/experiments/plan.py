"""Which recorded results are missing, and in which order to make them.

Every record in book/results without results is run, and none before those whose encoders it reads. What cannot be run
is named with what it lacks, and the rest goes on. Records in book/results/paper-scale are listed and never started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from sentlab import data
from sentlab.encoder.storage import locate
from tqdm import tqdm

from experiments import records
from experiments.encoders import encoders_of, runs_asked, trained_by
from experiments.records import (
    AnyRecord,
    CostRecord,
    DropoutRecord,
    LeaderboardRecord,
    LibraryRecord,
    MapRecord,
    RunRecord,
    ScorecardRecord,
    SearchRecord,
    SpeedRecord,
    SweepRecord,
    WilliamsRecord,
)
from experiments.scorecard import sides_of
from experiments.settings_rows import RowSettings
from experiments.sweep import NotRun, chosen_for, runs_of

PAPER_SCALE = "paper-scale"
STATES = ("done", "begun", "missing", "not run")
LONGEST = 400  # characters of an error that are shown


@dataclass(frozen=True)
class Entry:
    """A record and how far it is.

    Args:
        path: its file.
        record: its content.
        runs: its results so far: itself, or the finished runs of a sweep or search.

        asked: how many runs it asks for; 1 of what is no sweep or search.
        command: what makes them.
    """

    path: Path
    record: AnyRecord
    runs: tuple[AnyRecord, ...]
    asked: int
    command: str

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def at_paper_scale(self) -> bool:
        return self.name.startswith(f"{PAPER_SCALE}/")

    @property
    def state(self) -> str:
        """One of `STATES`; what has no results is `missing`, or `not run` at paper scale.

        A sweep is `begun` when some of its runs are finished, the scorecard when some of its claims are tested.
        """
        if self.runs:
            sweep = isinstance(self.record, SweepRecord | SearchRecord)
            return "done" if (len(self.runs) == self.asked if sweep else self.record.done) else "begun"
        return "not run" if self.at_paper_scale else "missing"


def entries(folder: Path) -> list[Entry]:
    """Read the records of a folder by name, those at paper scale last; the runs of a sweep are found in its entry.

    Args:
        folder: laid out like `book/results`.

    Raises:
        ValueError: a file that is no record.
    """
    found = [_entry(path, records.FOLDER / path.relative_to(folder)) for path in records.paths(folder)]
    return sorted(found, key=lambda entry: (entry.at_paper_scale, entry.name))


def _entry(path: Path, shown: Path) -> Entry:
    record = records.read(path)
    command = records.command_of(record, shown)
    if not isinstance(record, SweepRecord | SearchRecord):
        return Entry(path, record, (record,) if record.results else (), 1, command)
    asked = len(record.settings.seeds if isinstance(record, SearchRecord) else record.settings.runs())
    try:
        runs = tuple(runs_of(path, so_far=True))
    except NotRun:  # a search that is not done
        runs = ()
    return Entry(path, record, runs, asked, command)


def in_order(waiting: Sequence[Entry]) -> list[Entry]:
    """Sort the entries so that each comes after those that it reads from."""
    named = {entry.name: entry for entry in waiting}
    graph = {name: [other for other in reads(entry.record) if other in named] for name, entry in named.items()}
    return [named[name] for name in TopologicalSorter(graph).static_order()]


def reads(record: AnyRecord) -> list[str]:
    """List the names of the records that a record needs: for their encoders, or the values that a search chose."""
    names: list[str | None] = [row.record for row, _ in rows_of(record)]
    if isinstance(record, ScorecardRecord):
        names = [side.record for claim in record.settings.claims for side in sides_of(claim)]
    elif isinstance(record, RunRecord | SweepRecord | SearchRecord):
        names = [trained_by(run.encoder.source) for run in runs_asked(record)]
        names += [record.settings.chosen_by] if isinstance(record, SweepRecord) else []
    elif isinstance(record, DropoutRecord):
        names = [trained_by(own.source) for own in record.settings.encoders.values()]
    return [name for name in dict.fromkeys(names) if name]


def rows_of(record: AnyRecord) -> list[tuple[RowSettings, dict[str, bool]]]:
    """List the rows whose encoders a record needs, each with how its program asks `encoders_of` for them."""
    if isinstance(record, LeaderboardRecord):
        return [(row, {"or_items": True}) for row in record.settings.rows.values()]
    if isinstance(record, CostRecord | MapRecord):
        return [(row, {"first": True}) for row in record.settings.rows.values()]
    if isinstance(record, WilliamsRecord):
        return [
            (RowSettings(record=row.record), {"first": True, "or_items": table.takes_kept(row)})
            for table in record.settings.tables
            for row in table.rows
            if row.record
        ]
    return []


def lacks(entry: Entry) -> list[str]:
    """List what an entry needs that is not there: encoders, corpora, a GPU; a line each."""
    record = entry.record
    if isinstance(record, LibraryRecord | SpeedRecord):
        return [f"a program of its own: {entry.command}"]
    missing: list[str] = []
    if isinstance(record, RunRecord | SweepRecord | SearchRecord):
        asked = runs_asked(record)
        missing += _not_there(run.encoder.source for run in asked)
        if isinstance(record, SweepRecord):
            try:
                chosen_for(record, entry.path)
            except ValueError as error:
                missing.append(str(error))
        if any(run.encoder.device == "cuda" for run in asked) and not torch.cuda.is_available():
            missing.append("a GPU")
    elif isinstance(record, DropoutRecord):
        missing += _not_there(own.source for own in record.settings.encoders.values())
    for row, how in rows_of(record):  # a scorecard says itself what was not run yet
        try:
            encoders_of(row, entry.path, **how)
        except (FileNotFoundError, ValueError) as error:
            missing.append(str(error))
    return list(dict.fromkeys(missing)) + [reason for corpus in corpora(record) if (reason := _absent(*corpus))]


def _not_there(sources: Iterable[str]) -> Iterator[str]:
    """A line for each encoder that is not there, with what makes it."""
    for source in dict.fromkeys(sources):
        try:
            locate(source)
        except FileNotFoundError as error:
            other = trained_by(source)
            again = f"python -m experiments run --again {records.FOLDER / f'{other}.json'}"
            yield f"the encoder of {other} is not in {source}: {again}" if other else str(error)


def corpora(record: AnyRecord) -> list[tuple[str, str]]:
    """List the corpora that a record reads, each with its split; heads and reconstructions load their own."""
    found: list[tuple[str, str]] = []
    if isinstance(record, RunRecord | SweepRecord | SearchRecord):
        for run in runs_asked(record):
            found += [*((name, "dev") for name in run.devs), *((name, "test") for name in run.test)]
            found += [(corpus.corpus, corpus.split) for corpus in run.corpora if run.method]
    elif isinstance(record, WilliamsRecord):
        found = [(record.settings.corpus, "test")]
    elif isinstance(record, ScorecardRecord):
        found = [(test.corpus, "test") for claim in record.settings.claims for test in claim.tests]
    elif isinstance(record, LeaderboardRecord):
        found = [(test.corpus, "test") for column in record.settings.columns.values() for test in column]
    elif isinstance(record, CostRecord | DropoutRecord):
        found = [(record.settings.corpus, "dev")]
    return list(dict.fromkeys(found))


@cache  # many records read the same corpora
def _absent(name: str, split: str) -> str:
    """Why a corpus cannot be loaded; empty if it can."""
    try:
        data.load(name, split)
    except (FileNotFoundError, LookupError) as error:
        return " ".join(" ".join(str(error).splitlines()[:2]).split())  # what it is, and where was looked
    return ""


def fill(folder: Path, execute: Callable[[AnyRecord, Path], object]) -> dict[str, str]:
    """Run what is missing, and say what could not be. Several processes can share the work: each takes whole records.

    Args:
        folder: as in `entries`.
        execute: runs a record that is at a path.

    Returns:
        Name -> why not, for each record that still has no results, those at paper scale left out.
    """
    waiting = [entry for entry in entries(folder) if entry.state in ("begun", "missing") and not entry.at_paper_scale]
    refused = {}
    for entry in tqdm(in_order(waiting), desc="records", unit=" records"):
        try:
            with FileLock(records.LOCKS / f"{entry.name.replace('/', '-')}.lock", timeout=0):
                reason = ""
                if _entry(entry.path, entry.path).state == "done":
                    continue  # another process has run it
                if lacked := lacks(entry):
                    reason = f"it needs {'; '.join(lacked)}"
                else:
                    execute(entry.record, entry.path)
        except Timeout:
            reason = "another process runs it"
        except Exception as error:  # the others can still be run; the command shows where it comes from
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:LONGEST]} ({entry.command})"
        if reason:
            refused[entry.name] = reason
            tqdm.write(f"{entry.name} was not run: {reason}")
    return refused
