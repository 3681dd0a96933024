"""Recorded experiments: a JSON file each, with settings, results and where they come from. Nobody types a number.

A file begins as `kind` and `settings`; `python -m experiments KIND FILE` adds `results` and `provenance`.
"""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from sentlab.files import naming, write_json

from experiments import results as found
from experiments import results_rows as found_rows
from experiments import settings as asked
from experiments import settings_grids as grids
from experiments import settings_rows as rows

FOLDER = Path("book/results")
LOCKS = Path("runs/locks")  # a file for each record or run that a process works on
SWEEPS = "sweeps"  # folder of the runs of all sweeps
ENCODER, ITEMS = "encoder", "items"  # in a run's folder: what it has trained, and what that gives the items of tests


class Record(BaseModel):
    """What all kinds of records have in common.

    Args:
        kind: which program fills it: `python -m experiments KIND FILE`.
        settings: all that decides the results.
        results: None until it is run.
        provenance: command, device, versions, date, seconds, fingerprints; None until it is run.

        name: path of the file below the folder of results, without suffix; not in the file.
        sweep: name of the sweep that it was read with, if any; not in the file, for sweeps share runs.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str
    settings: Any
    results: Any = None
    provenance: found.Provenance | None = None
    name: str = Field(default="", exclude=True)
    sweep: str = Field(default="", exclude=True)

    @property
    def done(self) -> bool:
        """Whether it has results."""
        return self.results is not None

    @property
    def source(self) -> found.Provenance:
        """Where its numbers come from.

        Raises:
            ValueError: it was not run yet.
        """
        if self.provenance is None:
            raise ValueError(f"{self.name} has no results yet: python -m experiments {self.kind} FILE")
        return self.provenance

    def save(self, path: str | Path) -> None:
        """Write it as JSON: settings as they were given, and results without what is null."""
        content: dict[str, Any] = {"kind": self.kind}
        content["settings"] = self.settings.model_dump(mode="json", exclude_unset=True)
        for part in ("results", "provenance"):
            if (value := getattr(self, part)) is not None:
                content[part] = value.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        write_json(path, content)

    def provenance_line(self) -> str:
        """Return one line on where the numbers come from."""
        source = self.source
        used = ", ".join(f"{package} {number}" for package, number in list(source.versions.items())[:2])
        old = source.command.startswith("python -m sentlab.")  # programs had other names then
        command = f"python -m experiments {self.kind} {FOLDER.as_posix()}/{self.name}.json" if old else source.command
        return f"{self.name}: {command}; {source.device}; {used}; {source.date}; {source.seconds / 60:.1f} min"


class RunRecord(Record):
    """One run."""

    kind: Literal["run"] = "run"
    settings: asked.RunSettings
    results: found.RunResults | None = None


class SweepRecord(Record):
    """One run with many settings; its runs are records of their own."""

    kind: Literal["sweep"] = "sweep"
    settings: grids.SweepSettings
    results: None = None


class SearchRecord(Record):
    """A run whose settings are searched; its runs are records of their own."""

    kind: Literal["search"] = "search"
    settings: grids.SearchSettings
    results: found.SearchResults | None = None

    @property
    def done(self) -> bool:
        """Whether it has all that its settings ask for, as they are now; a search is written after each trial."""
        return self.results is not None and self.results.answer(self.settings)


class WilliamsRecord(Record):
    """Williams's test between records."""

    kind: Literal["williams"] = "williams"
    settings: rows.WilliamsSettings
    results: found_rows.WilliamsResults | None = None


class LeaderboardRecord(Record):
    """Records on the same tests."""

    kind: Literal["leaderboard"] = "leaderboard"
    settings: rows.LeaderboardSettings
    results: found_rows.LeaderboardResults | None = None


class ScorecardRecord(Record):
    """The papers' claims, tested."""

    kind: Literal["scorecard"] = "scorecard"
    settings: rows.ScorecardSettings
    results: found_rows.ScorecardResults | None = None

    @property
    def done(self) -> bool:
        """Whether every claim was tested; those whose records have no results yet were not, or are new."""
        return self.results is not None and self.results.answer(self.settings)


class CostRecord(Record):
    """Time and memory."""

    kind: Literal["cost"] = "cost"
    settings: rows.CostSettings
    results: found_rows.CostResults | None = None


class DropoutRecord(Record):
    """What dropout leaves of encoders."""

    kind: Literal["dropout"] = "dropout"
    settings: rows.DropoutSettings
    results: found_rows.DropoutResults | None = None


class MapRecord(Record):
    """Where sentences lie."""

    kind: Literal["map"] = "map"
    settings: rows.MapSettings
    results: found_rows.MapResults | None = None


class LibraryRecord(Record):
    """A library that is searched; written by `benchmarks/library.py`."""

    kind: Literal["library"] = "library"
    settings: rows.LibrarySettings
    results: found_rows.LibraryResults | None = None


class SpeedRecord(Record):
    """How fast the package is beside others; written by `benchmarks/speed.py`."""

    kind: Literal["speed"] = "speed"
    settings: rows.SpeedSettings
    results: found_rows.SpeedResults | None = None


AnyRecord = (
    RunRecord | SweepRecord | SearchRecord | WilliamsRecord
    | LeaderboardRecord | ScorecardRecord | CostRecord | DropoutRecord | MapRecord | LibraryRecord | SpeedRecord
)  # fmt: skip
KINDS = tuple(own.model_fields["kind"].default for own in get_args(AnyRecord))
_FILES: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])
R = TypeVar("R", bound=Record)


def read(path: str | Path) -> AnyRecord:
    """Read one record, as the class of its kind.

    Raises:
        ValueError: the file is no record; says which key is unknown, missing or of the wrong type.
    """
    path = Path(path)
    with naming(path):
        text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("kind") not in KINDS:
        raise ValueError(f"{path}: kind must be one of {', '.join(KINDS)}")
    if unknown := content.keys() - {"kind", "settings", "results", "provenance"}:
        raise ValueError(f"{path}: {', '.join(sorted(unknown))}: is unknown")
    try:
        record = _FILES.validate_json(text)
    except ValidationError as error:
        raise ValueError(f"{path}: {asked.problems(error, within=1)}") from error  # below the kind
    record.name = name_of(path)
    return record


def read_as(kind: type[R], path: str | Path) -> R:
    """Read a record that must be of a certain kind.

    Raises:
        ValueError: it is of another kind, or no record.
    """
    record = read(path)
    if not isinstance(record, kind):
        raise ValueError(f"{path} is of the kind {record.kind}: {command_of(record, Path(path))}")
    return record


def command_of(record: Record, path: Path) -> str:
    """Return the command that fills a record, with the path below the working directory, so that it holds elsewhere."""
    own, here = path.absolute(), Path.cwd()
    file = (own.relative_to(here) if own.is_relative_to(here) else own).as_posix()
    if isinstance(record, LibraryRecord):
        texts, encoder = " ".join(record.settings.text), record.settings.encoder.source
        return f"python benchmarks/library.py --text {texts} --encoder {encoder} --out {file}"
    if isinstance(record, SpeedRecord):
        return f"python benchmarks/speed.py --out {file}"
    return f"python -m experiments {record.kind} {file}"


def root_of(path: Path) -> Path:
    """Return the folder of results that a file is in: the nearest one above it called `results`, or else its own."""
    above = path.absolute().parents
    return next((place for place in above if place.name == FOLDER.name), above[0])


def name_of(path: Path) -> str:
    """Return the name of a record: its path below the folder of results, without suffix."""
    return path.absolute().relative_to(root_of(path)).with_suffix("").as_posix()


def path_of(name: str, beside: Path) -> Path:
    """Return the file of the record with that name, in the folder of results that `beside` is in."""
    return root_of(beside) / f"{name}.json"


def folder() -> Path:
    """Return `book/results` here or in a folder above, so that chapters find it too."""
    places = [place / FOLDER for place in (Path.cwd(), *Path.cwd().parents)]
    return next((place for place in places if place.is_dir()), places[0])


def get(name: str, place: str | Path | None = None) -> AnyRecord:
    """Read the record with that name, such as `tiny-paser/depth`.

    Args:
        place: folder of results; None: `folder()`.

    Raises:
        FileNotFoundError: there is no such record.
        ValueError: the file is no record.
    """
    return read(Path(place or folder()) / f"{name}.json")


def paths(place: Path) -> list[Path]:
    """List the files of all records in a folder by name, without the runs of sweeps."""
    every = (path.relative_to(place) for path in place.rglob("*.json"))
    # a folder .NAME.HEX.new holds what a process is writing
    own = [path for path in every if path.parts[0] != SWEEPS and not any(part[0] == "." for part in path.parts)]
    return [place / path for path in sorted(own, key=lambda path: path.with_suffix("").as_posix())]


def load(pattern: str = "*", place: str | Path | None = None) -> list[AnyRecord]:
    """Read the finished records whose name matches a pattern, by name; sweeps and searches: `sweep.runs_of`.

    Args:
        pattern: a name in which `*` matches any characters, including `/`.
        place: folder of results; None: `folder()`.

    Raises:
        FileNotFoundError: no finished record matches.
    """
    place = Path(place or folder())
    wanted = [p for p in paths(place) if fnmatch.fnmatchcase(p.relative_to(place).with_suffix("").as_posix(), pattern)]
    done = [record for path in wanted if (record := read(path)).done]
    if not done:
        raise FileNotFoundError(f"no finished record {pattern!r} in {place}; see `python -m experiments --help`")
    return done
