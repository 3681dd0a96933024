"""The page of all records: which kinds there are, what each record found, and what it ran on."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

import pandas as pd

from experiments import runs, tables
from experiments.records import KINDS, PAPER_SCALE, Record
from experiments.run import RunRecord, RunSettings
from experiments.search import Experiment, label, shown

SHOWN = r"^(method\.(name|arg)|encoder\.(source|pooling)|data|train\.(steps|epochs|batch_size|seed))"  # of settings
FIND = """<input id='find' type='search' oninput="
const words = this.value.toLowerCase().split(/\\s+/);
for (const row of document.querySelectorAll('#all-records tbody tr')) {
  const text = row.textContent.toLowerCase();
  row.hidden = !words.every(word => text.includes(word));
}" placeholder='find: words such as ptbert, seed or wiki1m' aria-label='show the records that hold these words'>"""


def kinds(every: Sequence[Record]) -> pd.DataFrame:
    """Return a table with one row per kind of record: what it is, and how many there are."""
    rows = [{"kind": record.kind, "records": 1, "with results": bool(record.finished())} for record in every]
    table = pd.DataFrame(rows).groupby("kind").sum().loc[list(KINDS)]
    table.insert(0, "what", [what for _, what in KINDS.values()])
    return table


def machines(every: Sequence[Record]) -> pd.DataFrame:
    """Return a table with one row per device and set of libraries: how many runs it made, in how many hours.

    Each run counts once, also where several sweeps share it.
    """
    rows = []
    for source in {run.name: run.source for record in every for run in record.finished()}.values():
        libraries = ", ".join(f"{name} {source.versions[name]}" for name in ("python", "torch", "transformers"))
        rows.append({"device": source.device, "libraries": libraries, "runs": 1, "hours": source.seconds / 3600})
    table = pd.DataFrame(rows).groupby(["device", "libraries"], as_index=False).sum()
    total = {"device": "all", "libraries": "", **table[["runs", "hours"]].sum()}
    return pd.concat([table, pd.DataFrame([total]).astype({"runs": int})])


def listing(every: Sequence[Record]) -> str:
    """Return all records by method as HTML: settings in words, scores, time, and the command that fills each.

    Every record and every run of a sweep has the id `record-NAME`, to which `tables.linked` leads.
    """
    ordered = sorted(every, key=lambda record: (record.name.startswith(PAPER_SCALE), method_of(record)))
    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(map(row_of, ordered)).to_html(table_id="all-records", index=False, escape=False, border=0)
    seen: set[str] = set()

    def once(anchor: re.Match[str]) -> str:  # sweeps share runs
        new = anchor[0] not in seen
        seen.add(anchor[0])
        return anchor[0] if new else ""

    return FIND + re.sub(r' id="record-[^"]*"', once, table)


def row_of(record: Record) -> dict[str, str]:
    """Return the cells of a record, as HTML."""
    finished, settings = record.finished(), common_settings(record)
    cell = f"<b>{link(record.name, record.name, record.name)}</b><br><code>{escape(record.command)}</code>"
    if isinstance(record, Experiment) and finished:
        of = "" if record.done else f" of {len(record.planned())}"
        lines = "".join(f"<li>{run_line(run)}</li>" for run in finished)
        cell += f"<details><summary>{len(finished)}{of} runs</summary><ul>{lines}</ul></details>"
    row = {"method": escape(method_of(record)), "record": cell, "what": "<br>".join(map(escape, about(record)))}
    if not finished:
        missing = "NOT RUN" if record.state == "not run" else "no results yet"
        return row | {"dev": missing, "test": "–", "time, date, device": "–"}
    devs, tests, scores = zip(*map(main_scores, finished), strict=True) if settings else ([], [""], [])
    differ = record.kind == "sweep" and any(set(grid) != {"train.seed"} for grid in record.settings.grids)
    devices = ", ".join(dict.fromkeys(run.source.device for run in finished))
    spent = time_of([record] if record.results else finished)  # of a search the trials, too
    made = f"{spent}<br>{max(run.source.date for run in finished)}<br>{escape(devices)}"
    test = f"{spread(scores, differ)}<br>{escape(tests[0])}"
    return row | {"dev": spread(devs, differ), "test": test, "time, date, device": made}


def run_line(run: RunRecord) -> str:
    """Return a run of a sweep or search as HTML: its own settings, scores and time."""
    dev, test, score = main_scores(run)
    step = "" if run.results.kept_step is None else f" (step {run.results.kept_step})"
    parts = [f"dev {dev:.1f}{step}", *([f"{test} {score:.1f}"] if test else []), time_of([run])]
    values = run.name.removeprefix(f"{run.home}/").replace(",", ", ")
    return f"{link(run.name, run.home, values)}: {escape(', '.join(parts))}"


def main_scores(run: RunRecord) -> tuple[float, str, float]:
    """Return the dev score of a run, the name of its main test, and the score there; NaN where there is none."""
    scores, wanted = runs.scores(run), ["average"]
    for name in run.settings.test[:1]:
        wanted += [name, f"{name} {run.settings.setups[0]} spearman", f"{name} map"]
    test = next((name for name in wanted if name in scores), "")
    return runs.dev_of(run), test, scores.get(test, math.nan)


def method_of(record: Record) -> str:
    """Return the method that a record is about, or what it is instead."""
    settings = common_settings(record)
    if record.name.startswith(PAPER_SCALE):
        return "At the papers' scale"
    return "Comparisons" if settings is None else settings.method.name if settings.method else "No training"


def about(record: Record) -> list[str]:
    """Return what a record is about, in lines: its method's arguments, what varies, encoder, data, steps and seed."""
    settings = record.content()["settings"]
    if common_settings(record) is None:
        counted = ("rows", "claims", "encoders", "columns", "tables", "topics", "phrases", "programs")
        return [", ".join(f"{len(settings[name])} {name}" for name in counted if name in settings)]
    over = settings.get("over", [])
    common = pd.json_normalize(settings.get("run", settings)).iloc[0]
    lines = [", ".join(f"{name.split('.')[-1]}={shown(value)}" for name, value in common.filter(regex=SHOWN).items())]
    grids = over if isinstance(over, list) else [over]
    for name, values in (item for grid in grids for item in grid.items()):
        lines.append(f"over {name.split('.')[-1]}: {', '.join(str(shown(value)) for value in values)}")
    lines += [f"seeds {', '.join(map(str, settings['seeds']))}"] if "seeds" in settings else []
    lines += [f"as {settings['chosen_by']} has chosen"] if "chosen_by" in settings else []
    if record.kind == "search" and record.results and record.results.chosen:
        lines.append(f"chosen: {label(record.results.chosen)}")
    return lines


def spread(values: Sequence[float], differ: bool) -> str:
    """Write the mean and deviation of several runs over seeds, or their range where they differ in more."""
    known = [value for value in values if not math.isnan(value)]
    if differ and known:
        return f"{min(known):.1f} to {max(known):.1f}"
    return tables.shown([{"score": value} for value in known])["score"] if known else "–"


def common_settings(record: Record) -> RunSettings | None:
    """Return the settings of a run, or what the runs of a sweep or a search have in common."""
    return getattr(record.settings, "run", record.settings if record.kind == "run" else None)


def link(name: str, file: str, text: str) -> str:
    """Return a link to the file of a record or run, relative to the page, with the id that leads here."""
    return f'<a id="record-{escape(name)}" href="results/{quote(file)}.json">{escape(text)}</a>'


def time_of(records: Sequence[Record]) -> str:
    """Write how long records took."""
    seconds = sum(record.source.seconds for record in records)
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
