"""The page of all records: which kinds there are, what each record found, and what it ran on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from inspect import signature
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pandas as pd
from sentlab.training import TrainConfig

from experiments import tables
from experiments.plan import Entry
from experiments.records import (
    CostRecord,
    DropoutRecord,
    LeaderboardRecord,
    LibraryRecord,
    MapRecord,
    Record,
    RunRecord,
    ScorecardRecord,
    SearchRecord,
    SpeedRecord,
    SweepRecord,
    WilliamsRecord,
)
from experiments.runs import dev_of, scores
from experiments.settings import RunSettings, method_class
from experiments.sweep import shown, varied

KINDS = {
    "run": "one training, or an encoder evaluated as it is",
    "sweep": "one run with many settings, or seeds; each a file in sweeps/",
    "search": "settings that are searched on dev, then several seeds of the best; each seed a file in sweeps/",
    "williams": "which way to find phrases in contexts is better: Williams's test",
    "leaderboard": "many recorded encoders on the same tests",
    "scorecard": "what the papers claim, and what holds here",
    "cost": "what their training and encoding take",
    "dropout": "what dropout leaves of encoders before they are trained",
    "map": "where sentences lie under them, for pictures",
    "library": "a library that is searched for phrases in several ways",
    "speed": "how fast the package is beside others",
}
FIRST = ("PaSeR", "SupervisedPaSeR", "Universal", "MoCo", "PTBERT", "SLICE")  # groups of the list, in order
LAST = ("no training", "Comparisons", "Other", "At the papers' scale")
# shows the records that hold every word
FIND = """
const words = this.value.toLowerCase().split(/\\s+/);
for (const row of document.querySelectorAll('#all-records .record')) {
  const text = row.textContent.toLowerCase();
  row.hidden = !words.every(word => text.includes(word));
}"""


def kinds(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return a table with one row per kind of record: what it is, how many there are, and the command.

    Args:
        entries: `plan.entries` of the folder of records.
    """
    rows = {}
    for kind, what in KINDS.items():
        own = [entry for entry in entries if entry.record.kind == kind]
        rows[kind] = {
            "what": what,
            "records": len(own),
            "with results": sum(bool(entry.runs) for entry in own),
            "runs": len({run.name for entry in own for run in entry.runs}) if kind in ("sweep", "search") else "–",
            "command": f"python benchmarks/{kind}.py"
            if kind in ("library", "speed")
            else f"python -m experiments {kind}",
        }
    return pd.DataFrame(rows).T


def machines(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return a table with one row per device and set of libraries: how many runs it made, in how many hours.

    Each run counts once, also where several sweeps share it.
    """
    once = {run.name: run.source for entry in entries for run in entry.runs}
    made = pd.DataFrame(
        {
            "device": source.device,
            "libraries": ", ".join(f"{name} {source.versions[name]}" for name in ("python", "torch", "transformers")),
            "hours": source.seconds / 3600,
        }
        for source in once.values()
    )
    table = made.groupby(["device", "libraries"])["hours"].agg(["size", "sum"])
    table.columns = ["runs", "hours"]
    total = {"device": "all", "runs": len(made), "hours": made["hours"].sum()}
    return pd.concat([table.reset_index(), pd.DataFrame([total])]).fillna("")


def listing(entries: Sequence[Entry], place: Path) -> str:
    """Return all records by method as HTML: settings in words, scores, time, and the command that fills each.

    Every record and every run of a sweep has the id `record-NAME`, to which `tables.linked` leads.

    Args:
        entries: `plan.entries` of the folder of records.
        place: that folder; links to files start at `results/`.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(_group(entry), []).append(entry)
    between = sorted(groups.keys() - {*FIRST, *LAST})
    listed, parts = _Listed(place), []
    for group in (name for name in (*FIRST, *between, *LAST) if name in groups):
        parts.append(f"<tbody><tr><th colspan='5'>{escape(group)}</th></tr></tbody>")
        parts += map(listed.record, groups[group])
    heads = "".join(f"<th>{head}</th>" for head in ("record", "what", "dev", "test", "time, date, device"))
    return (
        f"<input id='find' type='search' oninput=\"{escape(FIND)}\""
        " placeholder='find: words such as ptbert, seed or wiki1m'"
        " aria-label='show the records that hold these words'>"
        f"<table id='all-records'><thead><tr>{heads}</tr></thead>{''.join(parts)}</table>"
    )


class _Listed:
    """The records of a list; each id is given once, though sweeps share runs."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.ids: set[str] = set()

    def record(self, entry: Entry) -> str:
        """Return the rows of a record: what it is, and below it its command and runs."""
        runs = ""
        if isinstance(entry.record, SweepRecord | SearchRecord) and entry.runs:
            lines = "".join(self._run(entry.record, run) for run in _runs(entry))
            of = "" if entry.state == "done" else f" of {entry.asked}"
            count = f"{len(entry.runs)}{of} run{'s' * (entry.asked > 1)}"
            runs = f"<details><summary>{count}</summary><ul>{lines}</ul></details>"
        cells = "".join(f"<td>{cell}</td>" for cell in _cells(entry))
        return (
            f"<tbody class='record'{self._anchor(entry.name)}><tr><td><b>{self._link(entry.path)}</b></td>{cells}</tr>"
            f"<tr><td colspan='5'><code>{escape(entry.command)}</code>{runs}</td></tr></tbody>"
        )

    def _run(self, sweep: SweepRecord | SearchRecord, run: RunRecord) -> str:
        dev, test, score = main_scores(run)
        step = run.results.kept_step if run.results else None
        told = [f"dev {dev:.1f}" + (f" (step {step})" if step is not None else "")] if dev is not None else []
        told += [f"{test} {score:.1f}"] if score is not None else []
        told.append(_time([run]))
        names = [*sweep.settings.over, *(["train.seed"] if isinstance(sweep, SearchRecord) else [])]
        label = ", ".join(f"{name}={value}" for name, value in varied(run.settings, names).items())
        link = self._link(self.place / f"{run.name}.json", label)
        return f"<li{self._anchor(run.name)}>{link}: {escape(', '.join(told))}</li>"

    def _anchor(self, name: str) -> str:
        if name in self.ids:
            return ""
        self.ids.add(name)
        return f' id="record-{escape(name)}"'

    def _link(self, path: Path, label: str = "") -> str:
        where = path.relative_to(self.place).as_posix()  # relative to the page, like the files
        return f'<a href="results/{quote(where)}">{escape(label or where.removesuffix(".json"))}</a>'


class MainScores(NamedTuple):
    """The dev score of a run, and the main test with its score; None where there is none."""

    dev: float | None
    test: str | None
    score: float | None


def main_scores(run: RunRecord) -> MainScores:
    """Return the scores that a list shows of a run, of the vector that was trained."""
    settings, found = run.settings, scores(run)
    tests = settings.test[:1]
    wanted = ["average", *tests, *(f"{name} {settings.setups[0]} spearman" for name in tests)]
    wanted += [f"{name} map" for name in tests]
    test = next((name for name in wanted if name in found), None)
    return MainScores(None if math.isnan(dev := dev_of(run)) else dev, test, found[test] if test else None)


def method_in_words(settings: RunSettings) -> str:
    """Return the name of the method, with the arguments that are not its defaults."""
    if settings.method is None:
        return "no training"
    usual = signature(method_class(settings.method.name)).parameters
    told = [
        f"{key}={shown(value)}"
        for key, value in settings.method.arguments.items()
        if value is not None and (key not in usual or value != usual[key].default)
    ]
    return ", ".join([settings.method.name, *told])


def _settings(record: Record) -> RunSettings | None:
    """Of a run, or what the runs of a sweep or a search have in common."""
    if isinstance(record, SweepRecord | SearchRecord):
        return record.settings.run
    return record.settings if isinstance(record, RunRecord) else None


def _runs(entry: Entry) -> list[RunRecord]:
    return [run for run in entry.runs if isinstance(run, RunRecord)]


def _group(entry: Entry) -> str:
    if entry.at_paper_scale:
        return "At the papers' scale"
    if isinstance(entry.record, LibraryRecord | SpeedRecord):
        return "Other"
    settings = _settings(entry.record)
    if settings is None:
        return "Comparisons"
    return settings.method.name if settings.method else "no training"


def _cells(entry: Entry) -> tuple[str, str, str, str]:
    """What a record is, its dev score, its test score, and when and where it was made, as HTML."""
    settings = _settings(entry.record)
    what, dev, score = escape(_described(entry.record)), "–", "–"
    if settings:
        over = entry.record.settings.over if isinstance(entry.record, SweepRecord | SearchRecord) else {}
        seeds = entry.record.settings.seeds if isinstance(entry.record, SearchRecord) else over.get("train.seed")
        what = escape(method_in_words(settings))
        if isinstance(entry.record, SweepRecord) and (chosen_by := entry.record.settings.chosen_by):
            what += f", as {escape(chosen_by)} has chosen"
        if over:
            what += f"; over {escape(', '.join(name.split('.')[-1] for name in over))}"
        if isinstance(entry.record, SearchRecord) and entry.record.results and entry.record.results.chosen:
            chosen = [f"{name.split('.')[-1]}={value}" for name, value in entry.record.results.chosen.items()]
            what += f"; chosen: {escape(', '.join(chosen))}"
        what += "<br>".join(["", *map(escape, _set_up(settings, seeds))])
        found = [main_scores(run) for run in _runs(entry)]
        varied = set() if isinstance(entry.record, SearchRecord) else set(over)  # its runs differ in their seeds
        dev = _spread([row.dev for row in found], varied)
        score = _spread([row.score for row in found], varied)
        steps = {run.results.kept_step for run in _runs(entry) if run.results} - {None}
        if steps:
            dev += f"<br>step {' to '.join(map(str, sorted({min(steps), max(steps)})))}"  # type: ignore[type-var]
        if found and found[0].test:
            score += f"<br>{escape(found[0].test)}"
    if not entry.runs:
        return what, "NOT RUN" if entry.at_paper_scale else "no results yet", "–", "–"
    devices = ", ".join(dict.fromkeys(run.source.device for run in entry.runs))
    when = max(run.source.date for run in entry.runs)
    timed = [entry.record] if isinstance(entry.record, SearchRecord) and entry.record.results else entry.runs
    return what, dev, score, f"{_time(timed)}<br>{escape(when)}<br>{escape(devices)}"


def _set_up(settings: RunSettings, seeds: Sequence[int] | None) -> list[str]:
    """Encoder, data, steps and seeds in a few words."""
    told = [f"{settings.encoder.source} ({settings.encoder.pooling})"]
    if settings.method:
        told.append(", ".join(dict.fromkeys(map(str, settings.corpora))))
    if train := settings.train:
        length = train.get("steps") or f"epochs: {train.get('epochs', TrainConfig.epochs)}"
        used = ", ".join(map(str, seeds or [train.get("seed", 0)]))
        told.append(f"{length} × {train.get('batch_size', TrainConfig.batch_size)}, seed {used}")
    return told


def _described(record: Record) -> str:
    """What a record is about that is neither a run nor a sweep."""
    if isinstance(record, WilliamsRecord):
        made = sum(len(table.rows) for table in record.settings.tables)
        return f"{made} rows, Williams's test on {record.settings.corpus}"
    if isinstance(record, LibraryRecord):
        return ", ".join(record.results.ways) if record.results else ""
    if isinstance(record, SpeedRecord):
        return f"{len(record.results.rows)} rows" if record.results else ""
    parts: Sequence[str] = ()
    if isinstance(record, LeaderboardRecord):
        parts = list(record.settings.columns)
    elif isinstance(record, ScorecardRecord):
        return f"{len(record.settings.claims)} claims"
    elif isinstance(record, DropoutRecord):
        return f"{len(record.settings.encoders)} encoders, at {', '.join(map(str, record.settings.rates))}"
    elif isinstance(record, MapRecord):
        parts = record.settings.topics
    elif not isinstance(record, CostRecord):
        return ""
    return f"{len(record.settings.rows)} rows; {', '.join(parts)}"


def _spread(values: Sequence[float | None], over: set[str]) -> str:
    """Of several runs: mean and deviation over seeds, or the range."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    if over <= {"train.seed"}:
        return tables.shown([{"score": value} for value in known])["score"]
    return " to ".join(dict.fromkeys([f"{min(known):.1f}", f"{max(known):.1f}"]))


def _time(runs: Sequence[Record]) -> str:
    seconds = sum(run.source.seconds for run in runs)
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
