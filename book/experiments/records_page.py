"""The page of all records: which kinds there are, what each record found, and what it ran on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import groupby
from urllib.parse import quote

import pandas as pd

from experiments import runs, tables
from experiments.plan import Entry
from experiments.records import Record
from experiments.run import RunRecord, RunSettings
from experiments.search import shown, varied

KINDS = {
    "run": "one training, or an encoder evaluated as it is",
    "sweep": "one run with many settings, or seeds",
    "search": "settings that are searched on dev, then several seeds of the best",
    "williams": "which way to find phrases in contexts is better: Williams's test",
    "leaderboard": "many recorded encoders on the same tests",
    "scorecard": "what the papers claim, and what holds here",
    "cost": "what their training and encoding take",
    "dropout": "what dropout leaves of encoders before they are trained",
    "map": "where sentences lie under them, for pictures",
    "library": "a library that is searched for phrases in several ways",
    "speed": "how fast the package is beside others",
}
SEVERAL = ("sweep", "search")  # kinds of which a record has runs
FIND = """
const words = this.value.toLowerCase().split(/\\s+/);
for (const row of document.querySelectorAll('#all-records .record')) {
  const text = row.textContent.toLowerCase();
  row.hidden = !words.every(word => text.includes(word));
}"""


def kinds(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return a table with one row per kind of record: what it is, and how many there are."""
    rows = [{"kind": entry.record.kind, "records": 1, "with results": bool(entry.runs)} for entry in entries]
    table = pd.DataFrame(rows).groupby("kind").sum().loc[list(KINDS)]
    table.insert(0, "what", list(KINDS.values()))
    return table


def machines(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return a table with one row per device and set of libraries: how many runs it made, in how many hours.

    Each run counts once, also where several sweeps share it.
    """
    rows = []
    for source in {run.name: run.source for entry in entries for run in entry.runs}.values():
        libraries = ", ".join(f"{name} {source.versions[name]}" for name in ("python", "torch", "transformers"))
        rows.append({"device": source.device, "libraries": libraries, "runs": 1, "hours": source.seconds / 3600})
    table = pd.DataFrame(rows).groupby(["device", "libraries"], as_index=False).sum()
    total = {"device": "all", "libraries": "", **table[["runs", "hours"]].sum()}
    return pd.concat([table, pd.DataFrame([total]).astype({"runs": int})])


def listing(entries: Sequence[Entry]) -> str:
    """Return all records by method as HTML: settings in words, scores, time, and the command that fills each.

    Every record and every run of a sweep has the id `record-NAME`, to which `tables.linked` leads. Links to files start
    at `results/`.
    """
    ids: set[str] = set()  # each is given once, though sweeps share runs
    body = ""
    for group, of_group in groupby(sorted(entries, key=lambda entry: (entry.at_paper_scale, _group(entry))), _group):
        body += f"<tbody><tr><th colspan='5'>{escape(group)}</th></tr></tbody>"
        body += "".join(_record(entry, ids) for entry in of_group)
    heads = "".join(f"<th>{head}</th>" for head in ("record", "what", "dev", "test", "time, date, device"))
    return (
        f"<input id='find' type='search' oninput=\"{escape(FIND)}\""
        " placeholder='find: words such as ptbert, seed or wiki1m'"
        " aria-label='show the records that hold these words'>"
        f"<table id='all-records'><thead><tr>{heads}</tr></thead>{body}</table>"
    )


def _main_scores(run: RunRecord) -> tuple[float, str, float]:
    """The dev score of a run, the name of its main test, and the score there; NaN where there is none."""
    scores, wanted = runs.scores(run), ["average"]
    for name in run.settings.test[:1]:
        wanted += [name, f"{name} {run.settings.setups[0]} spearman", f"{name} map"]
    test = next((name for name in wanted if name in scores), "")
    return runs.dev_of(run), test, scores.get(test, math.nan)


def _group(entry: Entry) -> str:
    settings = _run_settings(entry.record)
    if entry.at_paper_scale:
        return "At the papers' scale"
    return "Comparisons" if settings is None else settings.method.name if settings.method else "No training"


def _record(entry: Entry, ids: set[str]) -> str:
    """The rows of a record: what it is, and below it its command and runs."""
    inside = ""
    if entry.record.kind in SEVERAL and entry.runs:
        lines = "".join(_run(entry, run, ids) for run in entry.runs)
        of = "" if entry.state == "done" else f" of {entry.planned}"
        inside = f"<details><summary>{len(entry.runs)}{of} runs</summary><ul>{lines}</ul></details>"
    cells = "".join(f"<td>{cell}</td>" for cell in (_what(entry), *_results(entry)))
    return (
        f"<tbody class='record'{_anchor(entry.name, ids)}><tr><td><b>{_link(entry.name)}</b></td>{cells}</tr>"
        f"<tr><td colspan='5'><code>{escape(entry.record.command)}</code>{inside}</td></tr></tbody>"
    )


def _run(entry: Entry, run: RunRecord, ids: set[str]) -> str:
    names = [*entry.record.settings.over, *(["train.seed"] if entry.record.kind == "search" else [])]
    label = ", ".join(f"{name}={value}" for name, value in varied(run.settings, names).items())
    dev, test, score = _main_scores(run)
    step = "" if run.results.kept_step is None else f" (step {run.results.kept_step})"
    parts = [f"dev {dev:.1f}{step}", *([f"{test} {score:.1f}"] if test else []), _time([run])]
    return f"<li{_anchor(run.name, ids)}>{_link(run.home or run.name, label)}: {escape(', '.join(parts))}</li>"


def _what(entry: Entry) -> str:
    """What a record is about: the method, what varies, encoder, data, steps and seeds."""
    record, settings = entry.record, _run_settings(entry.record)
    if settings is None:
        counted = ("rows", "claims", "encoders", "columns", "tables", "topics", "phrases", "programs")
        return ", ".join(f"{len(getattr(record.settings, k))} {k}" for k in counted if hasattr(record.settings, k))
    over = record.settings.over if record.kind in SEVERAL else {}
    arguments = settings.method.arguments.items() if settings.method else ()
    what = ", ".join([_group(entry), *(f"{key}={shown(value)}" for key, value in arguments if value is not None)])
    if chosen_by := getattr(record.settings, "chosen_by", None):
        what += f", as {chosen_by} has chosen"
    if over:
        what += f"; over {', '.join(name.split('.')[-1] for name in over)}"
    if record.kind == "search" and record.results and record.results.chosen:
        what += "; chosen: " + ", ".join(f"{k.split('.')[-1]}={value}" for k, value in record.results.chosen.items())
    parts = [what, f"{settings.encoder.source} ({settings.encoder.pooling})"]
    if settings.method:
        parts.append(", ".join(dict.fromkeys(map(str, settings.corpora))))
    if train := settings.train:
        length = train.get("steps") or f"epochs: {train.get('epochs', 1.0)}"
        seeds = record.settings.seeds if record.kind == "search" else over.get("train.seed", [train.get("seed", 0)])
        parts.append(f"{length} × {train.get('batch_size', 64)}, seed {', '.join(map(str, seeds))}")
    return "<br>".join(map(escape, parts))


def _results(entry: Entry) -> tuple[str, str, str]:
    """The dev score of a record, its test score, and when and where it was made."""
    if not entry.runs:
        return "NOT RUN" if entry.at_paper_scale else "no results yet", "–", "–"
    timed = [entry.record] if entry.record.kind == "search" and entry.record.results else entry.runs
    devices = ", ".join(dict.fromkeys(run.source.device for run in entry.runs))
    made = f"{_time(timed)}<br>{max(run.source.date for run in entry.runs)}<br>{escape(devices)}"
    if _run_settings(entry.record) is None:
        return "–", "–", made
    devs, tests, scores = zip(*map(_main_scores, entry.runs), strict=True)
    differ = entry.record.kind == "sweep" and set(entry.record.settings.over) != {"train.seed"}
    return _spread(devs, differ), f"{_spread(scores, differ)}<br>{escape(tests[0])}", made


def _spread(values: Sequence[float], differ: bool) -> str:
    """Of several runs: mean and deviation over seeds, or the range where they differ in more."""
    known = [value for value in values if not math.isnan(value)]
    if differ and known:
        return f"{min(known):.1f} to {max(known):.1f}"
    return tables.shown([{"score": value} for value in known])["score"] if known else "–"


def _run_settings(record: Record) -> RunSettings | None:
    """Of a run, or what the runs of a sweep or a search have in common."""
    return record.settings.run if record.kind in SEVERAL else record.settings if record.kind == "run" else None


def _anchor(name: str, ids: set[str]) -> str:
    new = name not in ids
    ids.add(name)
    return f' id="record-{escape(name)}"' if new else ""


def _link(name: str, label: str = "") -> str:
    """A link to the file of a record, relative to the page."""
    return f'<a href="results/{quote(name)}.json">{escape(label or name)}</a>'


def _time(records: Sequence[Record]) -> str:
    seconds = sum(record.source.seconds for record in records)
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
