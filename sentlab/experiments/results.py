"""Which recorded results are missing, and the runs that make them.

    python -m sentlab.experiments.results [--list]

Every record in book/results without results is run, by the program that its settings are those of, and none before
those whose encoders it reads. What cannot be run is named with what it lacks, and the rest goes on; the exit status is
then 1. Records in book/results/paper-scale are listed and never started.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from sentlab import data
from sentlab.encoder.files import locate
from sentlab.experiments import records
from sentlab.experiments.compare import compare, encoders
from sentlab.experiments.cost import cost
from sentlab.experiments.leaderboard import leaderboard
from sentlab.experiments.run import run
from sentlab.experiments.sentence_map import layout
from sentlab.experiments.sweep import FOLDER as SWEEPS
from sentlab.experiments.sweep import read as read_sweep
from sentlab.experiments.sweep import sweep

PAPER_SCALE = "paper-scale"
STATES = ("done", "missing", "not run")
LONGEST = 400  # characters of an error that are shown
# programs whose records have rows of encoders, each known by a setting that no other has
OF_ROWS = {"columns": "leaderboard", "corpus": "cost", "umap": "layout"}


@dataclass(frozen=True)
class Entry:
    """A record and how far it is.

    Args:
        path: its file.
        record: its content.
        program: what runs it, one of `PROGRAMS`; `other` where it was made by none of them.
        runs: its results: itself, or of a sweep all of its runs; empty where results are missing.
        command: what makes them; of `other` the one that the record tells.
    """

    path: Path
    record: records.Record
    program: str
    runs: tuple[records.Record, ...]
    command: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def at_paper_scale(self) -> bool:
        return self.path.parent.name == PAPER_SCALE

    @property
    def state(self) -> str:
        """One of `STATES`; what has no results is `missing`, or `not run` at paper scale."""
        return "done" if self.runs else "not run" if self.at_paper_scale else "missing"


def entries(folder: Path) -> list[Entry]:
    """The records of a folder by name, then those at paper scale; the runs of a sweep are found in its entry.

    Args:
        folder: laid out like `book/results`, from which the commands are told.

    Raises:
        ValueError: a file that is no record.
    """
    paths = [*sorted(folder.glob("*.json")), *sorted((folder / PAPER_SCALE).glob("*.json"))]
    return [_entry(path, records.FOLDER / path.relative_to(folder)) for path in paths]


def _entry(path: Path, shown: Path) -> Entry:
    record = records.read(path)
    program = _program(record)
    runs: tuple[records.Record, ...] = (record,) if record.done else ()
    if program == "sweep":
        try:
            runs = tuple(read_sweep(path).records)
        except ValueError:  # a run has no results yet
            runs = ()
    command = record.command if program == "other" else f"python -m sentlab.{program} {shown.as_posix()}"
    return Entry(path, record, program, runs, command)


def _program(record: records.Record) -> str:
    if {"compare", "williams"} & record.settings.keys():
        return "compare"
    for setting, program in OF_ROWS.items():
        if setting in record.settings:
            return program
    return "sweep" if record.over else "run" if "dev" in record.settings else "other"


def in_order(waiting: Sequence[Entry]) -> list[Entry]:
    """The same entries, each behind those that it reads from."""
    named = {entry.name: entry for entry in waiting}
    graph = {name: [other for other in _reads(entry) if other in named] for name, entry in named.items()}
    return [named[name] for name in TopologicalSorter(graph).static_order()]


def _reads(entry: Entry) -> list[str]:
    """The names of the records whose encoders or results an entry needs."""
    settings = entry.record.settings
    if entry.program == "compare":
        sides = [name for a, _, b, _ in settings.get("compare", ()) for name in (a, b)]
        rows = [row.partition(" ")[0] for names in settings.get("williams", {}).values() for row in names]
        return [name for name in dict.fromkeys([*sides, *rows]) if name != "bm25"]
    if entry.program in OF_ROWS.values():
        return list(dict.fromkeys(row[0] for row in settings["rows"].values()))
    if entry.program == "other":
        return []
    return [name for source in _sources(entry.record) if (name := _trained_by(source))]


def _sources(record: records.Record) -> list[str]:
    return record.over.get("encoder.source", [record.settings["encoder"]["source"]])


def _trained_by(source: str) -> str | None:
    """NAME of `runs/NAME/encoder`."""
    parts = Path(source).parts
    return parts[1] if len(parts) == 3 and (parts[0], parts[2]) == ("runs", "encoder") else None


def lacks(entry: Entry) -> list[str]:
    """What an entry needs and what is not there: encoders, corpora, a GPU; a line each."""
    found: list[str] = []
    if entry.program == "other":
        return ["a program of its own: its settings are those of no other"]
    if entry.program in ("compare", *OF_ROWS.values()):
        for name in _reads(entry):
            try:
                encoders(entry.path.parent / f"{name}.json")
            except (FileNotFoundError, ValueError) as error:
                found.append(str(error))
        corpora = _tested(entry.record.settings)
        return found + [reason for corpus in corpora if (reason := _absent(*corpus))]
    settings = entry.record.settings
    for source in _sources(entry.record):
        try:
            locate(source)
        except FileNotFoundError as error:
            other = _trained_by(source)
            again = f"python -m sentlab.experiments.run --again {records.FOLDER / f'{other}.json'}"
            found.append(f"the encoder of {other} is not in {source}: {again}" if other else str(error))
    corpora = [(settings["dev"], "dev"), *((name, "test") for name in settings["test"])]
    if settings.get("method"):
        for named in entry.record.over.get("data", [settings["data"]]):
            each = [named] if isinstance(named, str) else named.values()
            corpora += [(name, split or "train") for name, _, split in (text.partition("/") for text in each)]
    found += [reason for corpus in dict.fromkeys(corpora) if (reason := _absent(*corpus))]
    if settings["encoder"].get("device") == "cuda" and not torch.cuda.is_available():
        found.append("a GPU")
    return found


def _tested(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """The corpora of a comparison, a leaderboard or a record of costs, each with its split; a layout has its own."""
    tests = [test.split()[0] for column in settings.get("columns", {}).values() for test in column]
    corpora = [(name, "test") for name in (*settings.get("test", ()), *dict.fromkeys(tests))]
    return [*corpora, (settings["corpus"], "dev")] if "corpus" in settings else corpora


@cache  # many records read the same corpora
def _absent(name: str, split: str) -> str:
    """Why a corpus cannot be loaded; empty if it can."""
    try:
        data.load(name, split)
    except (FileNotFoundError, LookupError) as error:
        return " ".join(" ".join(str(error).splitlines()[:2]).split())  # what it is, and where was looked
    return ""


def _run_sweep(path: Path) -> None:
    record = records.read(path)
    sweep(record.settings, record.over, folder=path.parent / SWEEPS)


PROGRAMS: dict[str, Callable[[Path], Any]] = {
    "run": run,
    "sweep": _run_sweep,
    "compare": compare,
    "layout": layout,
    "leaderboard": leaderboard,
    "cost": cost,
}


def fill(folder: Path) -> dict[str, str]:
    """Run what is missing, and say what could not be.

    Args:
        folder: as in `entries`.

    Returns:
        Name -> why not, for each record that still has no results, those at paper scale left out.
    """
    waiting = [entry for entry in entries(folder) if entry.state == "missing"]
    refused = {}
    for entry in tqdm(in_order(waiting), desc="records", unit=" records"):
        try:
            lacked = lacks(entry)
            reason = f"it needs {'; '.join(lacked)}" if lacked else ""
            if not lacked:
                PROGRAMS[entry.program](entry.path)
        except Exception as error:  # the others can still be run; the command shows where it comes from
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:LONGEST]} ({entry.command})"
        if reason:
            refused[entry.name] = reason
            tqdm.write(f"{entry.name} was not run: {reason}")
    return refused


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sentlab.experiments.results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="only list the records, and run nothing")
    asked = parser.parse_args()
    if not records.FOLDER.is_dir():
        parser.error(f"there is no folder {records.FOLDER} here")
    refused = {} if asked.list else fill(records.FOLDER)
    found = entries(records.FOLDER)
    if asked.list:
        for entry in found:
            print(f"{entry.state:8} {entry.name:24} {'' if entry.runs else entry.command}".rstrip())
    of_state = {state: [entry.name for entry in found if entry.state == state] for state in STATES}
    print(f"{len(of_state['done'])} done, {len(of_state['missing'])} missing")
    print(f"not run, at paper scale: {', '.join(of_state['not run']) or 'none'}")
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
