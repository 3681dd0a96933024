"""The programs of recorded experiments, one for each kind: `python -m sentlab KIND FILE ...`."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from accelerate import Accelerator

from sentlab.command import FAILURES, VERBS, one_line
from sentlab.experiments import plan, records
from sentlab.experiments import settings as asked
from sentlab.experiments import settings_grids as grids
from sentlab.experiments import settings_rows as rows
from sentlab.experiments.cost import cost
from sentlab.experiments.dropout import dropout
from sentlab.experiments.leaderboard import leaderboard
from sentlab.experiments.records import AnyRecord, ScorecardRecord, SearchRecord, SweepRecord
from sentlab.experiments.run import run
from sentlab.experiments.scorecard import scorecard
from sentlab.experiments.search import search
from sentlab.experiments.sentence_map import sentence_map
from sentlab.experiments.sweep import NotRun, run_sweep, runs_of, varied
from sentlab.experiments.williams import williams_tests
from sentlab.files import clear

SETTINGS: dict[str, type[asked.Typed]] = {
    "run": asked.RunSettings,
    "sweep": grids.SweepSettings,
    "search": grids.SearchSettings,
    "williams": rows.WilliamsSettings,
    "leaderboard": rows.LeaderboardSettings,
    "scorecard": rows.ScorecardSettings,
    "cost": rows.CostSettings,
    "dropout": rows.DropoutSettings,
    "map": rows.MapSettings,
}


def execute(record: AnyRecord, path: Path, *, again: bool = False) -> Any:
    """Run a record by the program of its kind, and return what the program returns.

    Raises:
        ValueError: records of that kind have a program of their own.
    """
    if record.kind == "run":
        return run(path, again=again)
    if record.kind == "sweep":
        return run_sweep(path, again=again)
    if record.kind == "search":
        return search(path, again=again)
    if record.kind == "scorecard":
        made = scorecard(path)
        draw(made)
        return made
    programs = {"williams": williams_tests, "cost": cost, "map": sentence_map}
    programs |= {"dropout": dropout, "leaderboard": leaderboard}
    if record.kind not in programs:
        raise ValueError(f"{path}: run {records.command_of(record, path)}")
    return programs[record.kind](path)


def draw(record: ScorecardRecord) -> None:
    """Draw the picture that a scorecard's settings ask for; equal numbers give equal bytes."""
    from sentlab.report import plots  # brings seaborn, which only this needs

    assert record.results is not None
    if record.settings.picture is None:
        return
    encoder = next(iter(next(claim.found for claim in record.results.claims if claim.found)))
    plots.verdict_counts(record.results.counts(encoder)).save(Path(record.settings.picture))


def finished(record: AnyRecord, path: Path) -> bool:
    """Return whether a record has results, and a sweep or a search all of its runs."""
    if not isinstance(record, SweepRecord | SearchRecord):
        return record.done
    try:
        return bool(runs_of(path))
    except NotRun:
        return False


def tables(record: AnyRecord, made: Any) -> dict[str, pd.DataFrame]:
    """Return what the program of a record has found, as tables for the terminal."""
    if isinstance(record, SweepRecord):
        rows = [(varied(run.settings, [*record.settings.over]), run.results.final.own) for run in made]
        names = [f"{name}-dev" for name in made[0].settings.devs]
        return {name: pd.DataFrame([settings | {name: own[name]} for settings, own in rows]) for name in names}
    found = made.results
    if made.kind == "run":
        return {when: pd.DataFrame(m.scores).T for when in ("before", "after") if (m := getattr(found, when))}
    if made.kind == "search":
        trials = pd.DataFrame([trial.values | trial.model_dump(exclude={"values"}) for trial in found.trials])
        return {"trials": trials, "chosen": pd.DataFrame([found.chosen])}
    if made.kind == "scorecard":
        encoders = dict.fromkeys(encoder for claim in found.claims for encoder in claim.found)
        return {encoder: found.counts(encoder) for encoder in encoders}
    if made.kind == "williams":
        return {f"{t.setup} {t.max_size}": found.table(t.setup, t.max_size) for t in found.tables}
    if made.kind == "dropout":
        return {pooling: found.table(pooling) for pooling in made.settings.poolings}
    parts = {"leaderboard": "columns", "cost": "training encoding", "map": "numbers"}[made.kind].split()
    content = made.model_dump()["results"]
    if made.kind == "leaderboard":
        return {name: pd.DataFrame(column["rows"]).T for name, column in content["columns"].items()}
    return {name: pd.DataFrame(content[name]).T for name in parts}


def run_missing(*, only_list: bool) -> int:
    """Run what has no results, or only list it.

    Returns:
        The exit status: 1 where something could not be run.
    """
    refused = {} if only_list else plan.fill(records.FOLDER, execute)
    found = plan.entries(records.FOLDER)
    if only_list:
        for entry in found:
            print(f"{entry.state:8} {entry.name:36} {'' if entry.state == 'done' else entry.command}".rstrip())
    of_state = {state: [entry.name for entry in found if entry.state == state] for state in plan.STATES}
    print(f"{len(of_state['done'])} done, {len(of_state['begun'])} begun, {len(of_state['missing'])} missing")
    print(f"not run, at paper scale: {', '.join(of_state['not run']) or 'none'}")
    return 1 if refused else 0


def explanation(general: str) -> str:
    """Return the help: what is said in general, and the settings of every kind."""
    parts = [general]
    parts += [f"Settings of the kind {kind}:\n\n{inspect.getdoc(own)}" for kind, own in SETTINGS.items()]
    return "\n\n".join(parts)


def main(arguments: Sequence[str], general: str = "") -> int:
    """Run what `python -m sentlab KIND ...` asks for; return the exit status. `general` begins the help."""
    parser = argparse.ArgumentParser(
        prog="python -m sentlab", description=explanation(general), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "kind",
        choices=[*dict.fromkeys([*VERBS, *SETTINGS]), "results"],
        help="a command above, or the kind of the records",
    )
    parser.add_argument("files", nargs="*", type=Path, help="records to run")
    parser.add_argument("--again", action="store_true", help="also those that hold results; training starts afresh")
    parser.add_argument("--list", action="store_true", help="of results: only list the records, and run nothing")
    chosen = parser.parse_intermixed_args(arguments)  # --again before the files, or after them
    if chosen.kind == "results":
        if chosen.files or chosen.again:
            parser.error("results takes no files and no --again: it runs what has no results")
        if not records.FOLDER.is_dir():
            parser.error(f"there is no folder {records.FOLDER} here")
        return run_missing(only_list=chosen.list)
    if not chosen.files or chosen.list:
        parser.error(f"name the records: python -m sentlab {chosen.kind} FILE ...")
    found = []
    for path in chosen.files:
        try:
            found.append((path, records.read(path)))
        except (OSError, ValueError) as error:
            parser.error(str(error))
        if found[-1][1].kind != chosen.kind:
            parser.error(f"{path} is of the kind {found[-1][1].kind}: {records.command_of(found[-1][1], path)}")
    for path, record in found:
        clear(path)
        try:
            if not chosen.again and finished(record, path):
                continue
            made = execute(record, path, again=chosen.again)
        except FAILURES as error:
            print(f"{path}: error: {one_line(error)}", file=sys.stderr)
            return 1
        if Accelerator().is_main_process:
            for what, table in tables(record, made).items():
                print(f"{record.name} {what}\n{table.to_string()}")
    return 0
