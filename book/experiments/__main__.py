"""Recorded experiments: a JSON file each, which holds the settings and receives the results.

    python -m experiments KIND FILE ... [--again]
    python -m experiments results [--list]
    python -m experiments page --encoder my-encoder --out my-encoder.html
    accelerate launch --num_processes 4 -m experiments run FILE ...    (on several GPUs)

Start these in the folder `book`. A file holds its `kind` and its `settings`. A file that holds results is left alone
unless you add --again, which trains afresh. `results` runs all records in book/results that have no results, except
those at the papers' scale, in the order in which they need each other, and names what cannot be run; --list runs
nothing. Start it several times to use several cores. `page` puts an encoder into a web page.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from accelerate import Accelerator
from sentlab.cli import FAILURES, one_line
from sentlab.encoder import Encoder
from sentlab.files import clear, replacing

from experiments import plan, records, widgets
from experiments import settings as asked
from experiments import settings_grids as grids
from experiments import settings_rows as rows
from experiments.cost import cost
from experiments.dropout import dropout
from experiments.leaderboard import leaderboard
from experiments.page import export
from experiments.records import (
    AnyRecord,
    ScorecardRecord,
    SearchRecord,
    SweepRecord,
)
from experiments.run import run
from experiments.scorecard import scorecard
from experiments.search import search
from experiments.sentence_map import sentence_map
from experiments.sweep import NotRun, run_sweep, runs_of, varied
from experiments.williams import williams_tests

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
    from experiments import plots  # brings seaborn, which only this needs

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
        rows = [
            (
                varied(run.settings, [*record.settings.over]),
                run.results.final.own,
            )
            for run in made
        ]
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
    parts = {
        "leaderboard": "columns",
        "cost": "training encoding",
        "map": "numbers",
    }[made.kind].split()
    content = made.model_dump()["results"]
    if made.kind == "leaderboard":
        return {name: pd.DataFrame(column["rows"]).T for name, column in content["columns"].items()}
    return {name: pd.DataFrame(content[name]).T for name in parts}


def run_missing(*, only_list: bool) -> int:
    """Run what has no results, or only list it.

    Returns:
        The exit status: 1 where something could not be run.
    """
    refused = {} if only_list else plan.fill(records.folder(), execute)
    found = plan.entries(records.folder())
    if only_list:
        for entry in found:
            print(f"{entry.state:8} {entry.name:36} {'' if entry.state == 'done' else entry.command}".rstrip())
    of_state = {state: [entry.name for entry in found if entry.state == state] for state in plan.STATES}
    print(f"{len(of_state['done'])} done, {len(of_state['begun'])} begun, {len(of_state['missing'])} missing")
    print(f"not run, at paper scale: {', '.join(of_state['not run']) or 'none'}")
    return 1 if refused else 0


def explanation() -> str:
    """Return the help: what is said in general, and the settings of every kind."""
    parts = [__doc__ or ""]
    parts += [f"Settings of the kind {kind}:\n\n{inspect.getdoc(own)}" for kind, own in SETTINGS.items()]
    return "\n\n".join(parts)


def write_page(source: str, out: Path, name: str | None = None) -> None:
    """Write an encoder as a script for pages (.js), or as a whole page with widgets (.html)."""
    encoder = Encoder.from_pretrained(source)
    name = name or out.stem
    if out.suffix == ".js":
        export(encoder, out, name)
    else:
        passage = "The room is small, but the view over the lake is great. The staff were friendly and spoke English."
        parts = (
            widgets.compare({name: (encoder, encoder.pooling)}),
            widgets.spans({name: encoder}, passage, "a nice view", weights=False),
        )
        with replacing(out) as temporary:
            temporary.write_text(widgets.whole_page(name, *parts), encoding="utf-8")
    print(f"wrote {source} in int8 to {out}, {out.stat().st_size / 1e6:.1f} MB")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what `python -m experiments KIND ...` asks for; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=explanation(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "kind",
        choices=[*SETTINGS, "results", "page"],
        help="the kind of the records",
    )
    parser.add_argument("files", nargs="*", type=Path, help="records to run")
    parser.add_argument(
        "--again",
        action="store_true",
        help="also those that hold results; training starts afresh",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="of results: only list the records, and run nothing",
    )
    parser.add_argument("--encoder", default="tiny", help="of page: the encoder")
    parser.add_argument("--out", type=Path, help="of page: the file, .js or .html")
    chosen = parser.parse_intermixed_args(arguments)  # --again before the files, or after them
    if chosen.kind == "page":
        if chosen.out is None:
            parser.error("page needs --out FILE.html or --out FILE.js")
        write_page(chosen.encoder, chosen.out)
        return 0
    if chosen.kind == "results":
        if chosen.files or chosen.again:
            parser.error("results takes no files and no --again: it runs what has no results")
        if not records.folder().is_dir():
            parser.error(f"there is no folder {records.folder()} here")
        return run_missing(only_list=chosen.list)
    if not chosen.files or chosen.list:
        parser.error(f"name the records: python -m experiments {chosen.kind} FILE ...")
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


if __name__ == "__main__":
    sys.exit(main())
