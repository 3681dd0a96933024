"""Recorded experiments: a JSON file each, which holds the settings and receives the results.

    python -m experiments KIND NAME ... [--again]
    python -m experiments results [--list]
    python -m experiments page --encoder my-encoder --out my-encoder.html
    python -m experiments gpu --text FOLDER    (on a GPU; gpu --help)
    accelerate launch --num_processes 4 -m experiments run NAME ...    (on several)

Start these in the folder `book`. NAME is such as `tiny-sts/simcse`: its file, book/results/tiny-sts/simcse.json, begins
with `kind` and `settings`. A record that holds results is left alone unless you add --again, which trains afresh.
`results` runs all records that have no results, except those at the papers' scale, in the order in which they need each
other, and names what cannot be run; --list runs nothing. On several cores start KIND with other NAMEs on each.
"""

from __future__ import annotations

import inspect
import re
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Sequence
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Any

from sentlab.cli import FAILURES, one_line, refuse_typo
from sentlab.encoder import Encoder
from sentlab.files import replacing
from tqdm import tqdm

from experiments import records, widgets

PROGRAMS = {kind: program.split(".") for kind, (program, _) in records.KINDS.items() if program}


def execute(record: Any, *, again: bool = False) -> Any:
    """Run a record by the program of its kind, and return it with results."""
    if record.kind not in PROGRAMS:
        raise records.NotRun(f"it has a program of its own: {record.command}")
    module, name = PROGRAMS[record.kind]
    program = getattr(import_module(f"experiments.{module}"), name)
    record = program(record, again=again) if record.kind in ("run", "sweep", "search") else program(record)
    if record.kind == "scorecard" and record.settings.picture:
        from experiments import plots  # brings seaborn, which only this needs

        encoder = next(iter(next(claim.found for claim in record.results.claims if claim.found)))
        picture = plots.verdict_counts(record.results.counts(encoder))
        Path(record.settings.picture).write_text(picture.svg(), encoding="utf-8")
    return record


def in_order(waiting: Sequence[Any]) -> list[Any]:
    """Sort records so that each comes after those that it reads."""
    named = {record.name: record for record in waiting}
    graph = {name: [other for other in record.needs() if other in named] for name, record in named.items()}
    return [named[name] for name in TopologicalSorter(graph).static_order()]


def run_missing(*, only_list: bool) -> int:
    """Run what has no results, or only list it; return the exit status, 1 where something could not be run."""
    every, refused = records.every(), False
    if only_list:
        for record in every:
            print(f"{record.state:8} {record.name:36} {'' if record.state == 'done' else record.command}".rstrip())
    else:
        missing = in_order([record for record in every if record.state in ("begun", "missing")])
        for name in tqdm([record.name for record in missing], desc="records", unit=" records"):
            record = records.get(name)
            if record.state == "done":  # another process has run it
                continue
            try:
                execute(record)
            except Exception as error:  # the others can still be run
                refused = True
                why = f"{type(error).__name__}: {one_line(error)[:400]}"
                tqdm.write(f"{name} was not run: {why} ({record.command})")
        every = records.every()
    count = Counter(record.state for record in every)
    print(f"{count['done']} done, {count['begun']} begun, {count['missing']} missing")
    print("not run, at paper scale:", ", ".join(record.name for record in every if record.state == "not run") or "none")
    return int(refused)


def write_page(source: str, out: Path) -> None:
    """Write an encoder as a script for pages (.js), or as a whole page with widgets (.html)."""
    encoder, name = Encoder.from_pretrained(source), out.stem
    if out.suffix == ".js":
        widgets.export(encoder, out, name)
    else:
        passage = "The room is small, but the view over the lake is great. The staff were friendly and spoke English."
        spans = widgets.spans({name: encoder}, passage, "a nice view", weights=False)
        page = widgets.whole_page(name, widgets.compare({name: (encoder, encoder.pooling)}), spans)
        with replacing(out) as temporary:
            temporary.write_text(page, encoding="utf-8")
    print(f"wrote {source} in int8 to {out}, {out.stat().st_size / 1e6:.1f} MB")


def explanation() -> str:
    """Return the help: what is said in general, and the settings of every kind, as the code defines them."""
    settings = (records.record_class(kind).model_fields["settings"].annotation for kind in PROGRAMS)
    fields = (re.split(r"\n    (?:@|def )", inspect.getsource(of_kind))[0] for of_kind in settings)
    return "\n\n".join([__doc__ or "", *map(str.rstrip, fields)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what `python -m experiments KIND ...` asks for; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["gpu"]:
        return import_module("experiments.gpu").main(arguments[1:])
    parser = ArgumentParser("python -m experiments", None, explanation(), formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*PROGRAMS, "results", "page"], help="the kind of the records")
    parser.add_argument("names", nargs="*", help="records to run, such as tiny-sts/simcse")
    parser.add_argument("--again", action="store_true", help="also those that hold results; training starts afresh")
    parser.add_argument("--list", action="store_true", help="of results: only list the records, and run nothing")
    parser.add_argument("--encoder", default="tiny", help="of page: the encoder")
    parser.add_argument("--out", type=Path, help="of page: the file, .js or .html")
    refuse_typo(parser, arguments, [*PROGRAMS, "results", "page", "gpu"])
    chosen = parser.parse_intermixed_args(arguments)  # --again before the names, or after them
    if chosen.kind == "page":
        if chosen.out is None:
            parser.error("page needs --out FILE.html or --out FILE.js")
        write_page(chosen.encoder, chosen.out)
        return 0
    if chosen.kind == "results":
        return run_missing(only_list=chosen.list)
    if not chosen.names:
        parser.error(f"name the records: python -m experiments {chosen.kind} NAME ...")
    for name in chosen.names:
        try:
            record = records.get(name.removeprefix("results/").removesuffix(".json"))
            if record.kind != chosen.kind:
                raise ValueError(f"it is of the kind {record.kind}: {record.command}")
            if record.done and not chosen.again:
                continue
            record = execute(record, again=chosen.again)
        except FAILURES as error:
            print(f"{name}: error: {one_line(error).replace('overwrite=True', '--again')}", file=sys.stderr)
            return 1
        if records.is_first():
            print(f"wrote {record.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
