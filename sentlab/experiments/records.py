"""Recorded runs: settings, and what came of them, in one JSON file each. Chapters read them; nobody types a number.

A record is written by `python -m sentlab.experiments.run FILE`, which fills the results into a file that holds the settings.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from sentlab.files import write_json

FOLDER = Path("book/results")
NOT_WRITTEN = {"name", "sweep"}  # of a record: what its file does not hold
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "nltk", "rake-nltk")


@dataclass
class Record:
    """One recorded run.

    Args:
        name: the file's name without `.json`.
        settings: all that decides the run: encoder, method, data, training, what is evaluated.
        over: setting -> values, where the record is a sweep, whose runs have records of their own (`sentlab.experiments.sweep`).
        results: `before` and `after` training: pooling -> task -> Spearman x 100 (empty until the run is done).
        geometry: `before` and `after`: pooling -> corpus and what `sentlab.evaluation.geometry` found on it.
        said: of PaSeR's decoder: corpus -> how many phrases it says word by word, and `paper` -> the sentences of the
            paper's table 7, masked as there, with what it says.
        examples: a paper's table of examples, such as `paser 6` -> what the encoder makes of them.
        dev: the dev scores along training, step -> score, and the step whose weights were kept.
        seen: alignment and uniformity along training, where the settings ask for it.
        data: corpus -> rows, fingerprint, source.
        encoder, device, versions, date, seconds, command: where the numbers come from.
        sweep: name of the sweep that it was read with, if any; not in the file, for sweeps share runs.
    """

    name: str
    settings: dict[str, Any]
    over: dict[str, list[Any]] = field(default_factory=dict)
    results: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    geometry: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    examples: dict[str, Any] = field(default_factory=dict)
    dev: list[dict[str, float]] = field(default_factory=list)
    seen: list[dict[str, float]] = field(default_factory=list)
    kept_step: int | None = None
    data: dict[str, dict[str, Any]] = field(default_factory=dict)
    encoder: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""
    seconds: float = 0.0
    command: str = ""
    sweep: str = ""

    @property
    def done(self) -> bool:
        """Whether it has results; a settings file that was not run has none."""
        return bool(self.results)

    def save(self, path: str | Path) -> None:
        write_json(path, {key: value for key, value in asdict(self).items() if key not in NOT_WRITTEN})

    def provenance(self) -> str:
        """One line on where the numbers come from."""
        used = ", ".join(f"{package} {number}" for package, number in list(self.versions.items())[:2])
        return f"{self.name}: {self.command}; {self.device}; {used}; {self.date}; {self.seconds / 60:.1f} min"


def read(path: str | Path) -> Record:
    """Read one record.

    Raises:
        ValueError: the file is no JSON object with `settings`, or holds keys that a record does not have.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    known = Record.__dataclass_fields__.keys() - NOT_WRITTEN
    if not isinstance(content, dict) or "settings" not in content or content.keys() - known:
        raise ValueError(f"{path} is no record: it needs `settings` and may hold {', '.join(sorted(known))}")
    return Record(name=path.stem, **content)


def folder() -> Path:
    """`book/results` here or in a folder above, so that chapters find it too."""
    places = [place / FOLDER for place in (Path.cwd(), *Path.cwd().parents)]
    return next((place for place in places if place.is_dir()), places[0])


def load(pattern: str = "*", place: str | Path | None = None) -> list[Record]:
    """The finished records whose name matches a glob pattern, by name.

    Args:
        place: their folder; None: `folder()`.

    Raises:
        FileNotFoundError: no finished record matches.
    """
    place = Path(place or folder())
    found = [record for path in sorted(place.glob(f"{pattern}.json")) if (record := read(path)).done]
    if not found:
        raise FileNotFoundError(
            f"no finished record {pattern!r} in {place}; see `python -m sentlab.experiments.run --help`"
        )
    return found


def linked(text: str, name: str) -> str:
    """A recorded number as a link to its record, in HTML, as the cells of a table show it.

    It leads to the page of all records, which JupyterLab opens; in the built book the address ends in `.html`.

    Args:
        text: the number as it is shown, such as `54.3 ± 0.6`.
        name: of its record; of its sweep where several runs are behind it.
    """
    name = escape(name)
    address = f"records.ipynb#record-{name}"
    return f'<a class="sentlab-record" href="{address}" title="record {name}">{escape(text)}</a>'


def origin(runs: Sequence[Record]) -> str:
    """The name that a number of these runs links to: of one run its own, of several their sweep's, or else the first's.

    Args:
        runs: one or more, of one sweep, or none of a sweep and of names that follow each other.
    """
    sweep = runs[0].sweep if len(runs) > 1 else ""
    return sweep or runs[0].name


def shown(rows: Sequence[Mapping[str, float]], runs: Sequence[Record] = ()) -> pd.Series:
    """Mean and standard deviation as text, such as `54.3 ± 0.6`, or `54.3` where rows agree or there is one only.

    Args:
        rows: the scores of runs that differ in their seed, each task -> score.
        runs: these runs, where each number is to link to their record, as it does in every table of the book.
    """

    def text(task: pd.Series) -> str:
        number = f"{task['mean']:.1f}" + (f" ± {task['std']:.1f}" if task["std"] > 0 else "")
        return linked(number, origin(runs)) if runs else number

    return pd.DataFrame(rows).agg(["mean", "std"]).apply(text)


def side_by_side(parts: Mapping[str, pd.DataFrame | pd.Series], caption: str) -> Any:
    """A table for a page in which numbers of different origin stand in blocks of their own.

    Args:
        parts: origin, such as `the paper` -> its numbers, with equal names of rows for equal things. Numbers are shown
            with one decimal, text as it is, be it `linked`, and what a part does not have as a dash.
        caption: what the numbers are.
    """
    table = pd.concat(parts, axis=1)
    look = [
        {
            "selector": "th, td",
            "props": "white-space: nowrap; text-align: right; padding: 0.3em 0.4em; font-size: 0.82em",
        },
        {"selector": "th.row_heading", "props": "text-align: left; white-space: normal; min-width: 7em"},
        {"selector": "th.col_heading", "props": "white-space: normal"},
        {"selector": "th.col_heading.level0", "props": "text-align: center"},
    ]
    starts = [i for i in range(1, table.shape[1]) if table.columns[i][0] != table.columns[i - 1][0]]
    look += [{"selector": f".col{i}", "props": "border-left: 1px solid #8888; padding-left: 0.7em"} for i in starts]
    number = "{:.1f}".format
    return (
        table.style.format(lambda cell: number(cell) if isinstance(cell, float) else cell, na_rep="–")
        .set_caption(caption)
        .set_table_styles(look)
    )


def stamp(record: Record, command: str, seconds: float) -> None:
    """Write into the record what it ran on, and when."""
    on_gpu = torch.cuda.is_available()
    record.device = torch.cuda.get_device_name() if on_gpu else f"CPU {_cpu()}, {torch.get_num_threads()} thread(s)"
    record.versions = {"torch": torch.__version__} | {name: version(name) for name in PACKAGES[1:]}
    record.versions["python"] = platform.python_version()
    record.date = datetime.now(UTC).date().isoformat()
    record.seconds, record.command = round(seconds, 1), command


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def command_line(module: str, explanation: str | None, fill: Callable[[Path], Record]) -> None:
    """What `python -m MODULE book/results/NAME.json ... [--again]` does: fill records, and print their tables.

    Args:
        module, explanation: shown by `--help`.
        fill: the path of a record -> the record with its results, which are a table each.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=explanation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", nargs="+", type=Path, help="records to fill")
    parser.add_argument("--again", action="store_true", help="also those that hold results already")
    asked = parser.parse_args()
    for path in asked.records:
        if asked.again or not read(path).done:
            for what, table in fill(path).results.items():
                print(f"{what}\n{pd.DataFrame(table).T.to_string()}")
