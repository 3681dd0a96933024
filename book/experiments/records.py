"""Recorded experiments: one JSON file each, with settings, results, runs and where they come from.

A file begins as `kind` and `settings`, and `python -m experiments KIND NAME` adds the rest, and items to a NAME.npz.
"""

from __future__ import annotations

import fnmatch
import json
import os
import platform
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from accelerate import PartialState
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field
from sentlab.files import replacing

from experiments import corpora

FOLDER = Path(__file__).parents[1] / "results"
RUNS, ENCODER = Path("runs"), "encoder"  # below the working directory: runs/NAME has checkpoints, and its encoder
KINDS = {  # kind -> module and function of its program, or "" of a program in `benchmarks`; and what it is
    "run": ("run.run", "one training, or an encoder evaluated as it is"),
    "sweep": ("search.sweep", "one run with many settings, or seeds"),
    "search": ("search.search", "settings that are searched on dev, then several seeds of the best"),
    "williams": ("williams.williams_tests", "which way to find phrases in contexts is better: Williams's test"),
    "leaderboard": ("leaderboard.leaderboard", "many recorded encoders on the same tests"),
    "scorecard": ("scorecard.scorecard", "what the papers claim, and what holds here"),
    "cost": ("cost.cost", "what their training and encoding take"),
    "dropout": ("dropout.dropout", "what dropout leaves of encoders before they are trained"),
    "map": ("maps.sentence_map", "where sentences lie under them, for pictures"),
    "library": ("", "a library that is searched for phrases in several ways"),
    "speed": ("", "how fast the package is beside others"),
}
PAPER_SCALE = "paper-scale/"  # how the names of records begin that are listed and never started
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "nltk", "rake-nltk")

Number = int | float


class Typed(BaseModel):
    """Checked values: no unknown keys, no conversion of types, no changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Provenance(Typed):
    """Where numbers come from: command, machine, date, seconds; corpus/split -> what it was; the encoder at first."""

    command: str
    device: str
    versions: dict[str, str]
    date: str
    seconds: Number
    data: dict[str, dict[str, Any]] = Field(default_factory=dict)  # rows, fingerprint, source, what was left out
    encoder: dict[str, Any] | None = None  # source, fingerprint, dim


class Record(BaseModel):
    """What all kinds of records have in common.

    The kind is the program that fills it, the settings are all that decides the results, which are None before.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str
    settings: Any
    results: Any = None
    provenance: Provenance | None = None
    name: str = Field(default="", exclude=True)  # path of the file below the folder of results, without suffix
    folder: Path = Field(default_factory=lambda: FOLDER, exclude=True)

    @property
    def path(self) -> Path:
        """Its file."""
        return self.folder / f"{self.name}.json"

    @property
    def command(self) -> str:
        """What fills it, in the folder `book`."""
        return f"python -m experiments {self.kind} {self.name}"

    @property
    def done(self) -> bool:
        """Whether it has all that its settings ask for."""
        return self.results is not None

    @property
    def source(self) -> Provenance:
        """Where its numbers come from; a ValueError where it was not run yet."""
        if self.provenance is None:
            raise NotRun(f"{self.name} has no results yet: {self.command}")
        return self.provenance

    def finished(self) -> list[Any]:
        """Return its results so far: itself, or the finished runs of a sweep or search."""
        return [self] if self.results else []

    @property
    def state(self) -> str:
        """`done` or `begun`; what has no results is `missing`, or `not run` at paper scale."""
        if not self.finished():
            return "not run" if self.name.startswith(PAPER_SCALE) else "missing"
        return "done" if self.done else "begun"

    def needs(self) -> list[str]:
        """List the names of the records that its settings name, also by the encoder that one has trained."""
        text = self.model_dump_json(include={"settings"}, exclude_unset=True)
        names = re.findall(r'"(?:record|chosen_by)":"([^"]+)"', text)
        sources = re.findall(r'"source":"([^"]+)"', text)
        return list(dict.fromkeys([*names, *(name for source in sources for name in trained_by(source))]))

    def finish(self, results: Any, notes: Notes) -> Self:
        """Keep and write what was found since the notes began."""
        self.results = results
        self.provenance = notes.provenance(self.command)
        self.save()
        return self

    def content(self) -> dict[str, Any]:
        """Return what its file holds: settings as they were given, and results without what is null."""
        settings = self.model_dump(mode="json", include={"settings"}, exclude_unset=True)
        made: dict[str, Any] = {"include": {"results", "provenance"}, "exclude_none": True, "exclude_unset": True}
        return {"kind": self.kind} | settings | self.model_dump(mode="json", **made)

    def save(self) -> None:
        """Write it as JSON, whole or not at all; what is short and lists of numbers on one line."""
        if not is_first():
            return

        def on_one_line(part: re.Match[str]) -> str:
            line = re.sub(r"\n\s*", " ", part[0])
            return line if len(line) <= 100 or '"' not in line else part[0]

        text = json.dumps(self.content(), indent=1, ensure_ascii=False)
        text = re.sub(r"[\[{]\n[^\[\]{}]*[\]}]", on_one_line, text) + "\n"
        with replacing(self.path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def provenance_line(self) -> str:
        """Return one line on where the numbers come from."""
        source = self.source
        used = ", ".join(f"{package} {number}" for package, number in list(source.versions.items())[:2])
        return f"{self.name}: {self.command}; {source.device}; {used}; {source.date}; {source.seconds / 60:.1f} min"


class Benchmark(Record):
    """What `benchmarks/library.py` or `benchmarks/speed.py` has measured: settings and results are plain dicts."""

    @property
    def command(self) -> str:
        program, out = f"python benchmarks/{self.kind}.py", f"--out book/results/{self.name}.json"
        if self.kind == "speed":
            return f"{program} {out}"
        texts, encoder = " ".join(self.settings["text"]), self.settings["encoder"]["source"]
        return f"{program} --text {texts} --encoder {encoder} {out}"


def is_first() -> bool:
    """Return whether this is the first process of a launch, which writes for all, or the only one."""
    return os.environ.get("RANK", "0") == "0"


class NotRun(ValueError):
    """A record, or one that it reads, has no results yet."""


def trained_by(source: str) -> list[str]:
    """Return the NAME of `runs/NAME/encoder`, or nothing."""
    parts = Path(source).parts
    return ["/".join(parts[1:-1])] if len(parts) > 2 and (parts[0], parts[-1]) == (RUNS.name, ENCODER) else []


def get(name: str, place: str | Path | None = None) -> Any:
    """Read the record with that name, such as `tiny-paser/depth`, as the class of its kind, from `place` or `FOLDER`.

    ValueError where the file is no record says which key is unknown, missing or of the wrong type.
    """
    place = Path(place or FOLDER)
    path = place / f"{name}.json"
    text = path.read_text(encoding="utf-8")
    try:
        record = record_class(json.loads(text)["kind"]).model_validate_json(text)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is no record: {error}") from error
    record.name, record.folder = name, place
    return record


def record_class(kind: str) -> Any:
    """Import the module of the program for this kind, and return the class of its records."""
    module = KINDS[kind][0].split(".")[0]
    return getattr(import_module(f"experiments.{module}"), f"{kind.title()}Record") if module else Benchmark


def place_of(path: str | Path) -> dict[str, Any]:
    """Return name and folder of the record at a path: the folder is the nearest one above it called `results`."""
    path = Path(path).absolute()
    place = next((above for above in path.parents if above.name == FOLDER.name), path.parent)
    return {"name": path.relative_to(place).with_suffix("").as_posix(), "folder": place}


def names(place: Path) -> list[str]:
    """List the names of all records in a folder."""
    every = (path.relative_to(place).with_suffix("") for path in place.rglob("*.json"))
    return sorted(path.as_posix() for path in every if not any(part[0] == "." for part in path.parts))  # being written


def every(pattern: str = "*") -> list[Any]:
    """Read the records whose name matches a pattern, where `*` matches `/` too, by name, those at paper scale last."""
    chosen = fnmatch.filter(names(FOLDER), pattern)
    return [get(name) for name in sorted(chosen, key=lambda name: (name.startswith(PAPER_SCALE), name))]


@contextmanager
def alone(record: Record) -> Iterator[None]:
    """Wait for other processes that fill this record, and keep them from it. Those of one launch share it."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        yield
        PartialState().wait_for_everyone()  # the others read what the first one writes
        return
    record.path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(record.path.with_suffix(".lock")):
        yield


def read_items(path: Path, name: str) -> np.ndarray | None:
    """Read one array of an .npz file; None where it is not there."""
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        return arrays.get(name)


def write_items(path: Path, new: Mapping[str, np.ndarray], *, drop: str | None = None) -> None:
    """Add arrays to an .npz file, in the smallest exact types; `drop`: the beginning of the names that go first.

    Equal arrays give equal bytes.
    """
    arrays: dict[str, np.ndarray] = {}
    if path.exists():
        with np.load(path, allow_pickle=False) as before:
            arrays = {name: before[name] for name in before.files if drop is None or not name.startswith(drop)}
    arrays |= {name: smallest(array) for name, array in new.items()}
    if not arrays:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})


def smallest(array: np.ndarray) -> np.ndarray:
    """Return the array in the smallest type that holds its values exactly."""
    if array.dtype.kind in "iu":
        return array.astype(np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))
    half = array.astype(np.float32)
    return half if np.array_equal(half.astype(array.dtype), array, equal_nan=True) else array


class Notes:
    """Collects what a program has read, for the provenance of its record. It begins now, with so many CPU threads."""

    def __init__(self, threads: int | None = None) -> None:
        self.data: dict[str, dict[str, Any]] = {}
        self.began = time.monotonic()
        if threads:
            torch.set_num_threads(threads)

    def load(self, name: str, split: str) -> Any:
        """Load a corpus, and note what it was."""
        corpus = corpora.load(name, split)
        here = os.environ.get("SENTLAB_DATA") or "\0"
        source = corpus.source.replace(here, "SENTLAB_DATA")  # no path of this machine
        note = {"rows": len(corpus), "fingerprint": corpus.fingerprint, "source": source}
        self.data[f"{name}/{split}"] = note | {"left_out": dict(corpus.left_out)}
        return corpus

    def provenance(
        self, command: str, seconds: float | None = None, *, encoder: Any = None, processes: int = 1, on: Any = None
    ) -> Provenance:
        """Return what was noted, with the machine and the time; `on` is the device, the GPU where there is one."""
        on_gpu = torch.cuda.is_available() and torch.device(on or "cuda").type == "cuda"
        device = torch.cuda.get_device_name() if on_gpu else f"CPU {_cpu()}, {torch.get_num_threads()} thread(s)"
        return Provenance(
            command=command,
            device=f"{processes} x {device}" if processes > 1 else device,
            versions={name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
            date=datetime.now(UTC).date().isoformat(),
            seconds=round(time.monotonic() - self.began if seconds is None else seconds, 1),
            data=self.data,
            encoder=encoder,
        )


def _cpu() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
