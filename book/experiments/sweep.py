"""A sweep: one run with many settings. Finished runs are kept, so that a sweep resumes where it stopped.

The runs are records in the folder `sweeps`, under names that their settings decide: what two sweeps have in common is
run once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from accelerate import Accelerator
from filelock import FileLock, Timeout
from sentlab.training.checkpoint import FILE as CHECKPOINT
from tqdm import tqdm

from experiments import records
from experiments.records import SWEEPS, RunRecord, SearchRecord, SweepRecord
from experiments.run import run
from experiments.settings import RunSettings
from experiments.settings_grids import with_values
from experiments.weights import fingerprint_now

Done = TypeVar("Done")


class NotRun(ValueError):
    """A run, or the search that a sweep needs, has no results yet."""


def shared(work: Callable[..., Done], runs: Sequence[Any], bar: tqdm) -> list[Done]:
    """Do all runs, and leave those that other processes do to the end, when they are waited for.

    Args:
        work: does a run; takes `wait`, as `run_or_read` does.
    """
    done: dict[int, Done] = {}
    for wait in (False, True):
        for number, own in enumerate(runs):
            if number in done:
                continue
            with nullcontext() if wait else suppress(Timeout):
                done[number] = work(own, wait=wait)
                bar.update()
    return [done[number] for number in range(len(runs))]


def run_or_read(settings: RunSettings, folder: str | Path, *, again: bool = False, wait: bool = True) -> RunRecord:
    """Return the record of a run with results: found by all of its settings, or made now.

    Args:
        folder: where the record is; what it trains stays beside it if its settings say `keep`.
        again: run it in any case.
        wait: for another process that does this run now.

    Raises:
        filelock.Timeout: another process does it, and it is not waited for.
        ValueError: it began with other weights of its encoder than there are now.
    """
    path = Path(folder) / f"{settings.run_name}.json"
    with alone(path.stem, wait):
        if again or not (path.exists() and records.read(path).done):
            if not path.exists():  # else its results stay until there are new ones
                RunRecord(settings=settings).save(path)
            kept = path.with_suffix("")
            run(path, folder=kept, again=again, progress=False)
            first = Accelerator().is_main_process  # of the processes of a launch; the others remove nothing
            if first and settings.keep:
                (kept / CHECKPOINT).unlink(missing_ok=True)  # a fitted map has none
            elif first:  # the numbers are what a sweep is for
                shutil.rmtree(kept, ignore_errors=True)
    record = records.read_as(RunRecord, path)
    start = record.provenance and record.provenance.encoder
    # the name of a run holds the encoder's name, and not its weights
    if start and (now := fingerprint_now(start.source)) and now != start.fingerprint:
        raise ValueError(f"{path} began with other weights of {start.source} than there are now: delete it first")
    return record


@contextmanager
def alone(name: str, wait: bool) -> Iterator[None]:
    """Keep other processes from what has that name, such as a run of two sweeps. Those of one launch share it.

    Raises:
        filelock.Timeout: another process is at it, and it is not waited for.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        yield
        return
    records.LOCKS.mkdir(parents=True, exist_ok=True)
    with FileLock(records.LOCKS / f"{name}.lock", timeout=-1 if wait else 0):
        yield


def run_sweep(path: Path, *, again: bool = False) -> list[RunRecord]:
    """Run every combination of a recorded sweep, and return the runs. Several processes share the work run by run.

    Args:
        path: the record. Its runs are put into `sweeps` in the folder of results, and found there by their settings.
        again: run the finished ones, too.
    """
    runs = runs_with({}, records.read_as(SweepRecord, path), path)
    work = partial(run_or_read, folder=records.root_of(path) / SWEEPS, again=again)
    with tqdm(total=len(runs), desc="sweep", unit=" runs") as bar:
        return shared(work, runs, bar)


def chosen_for(record: SweepRecord, path: str | Path) -> dict[str, Any]:
    """Return the values that the search of a sweep has chosen; none where it names no search.

    Raises:
        NotRun: that search is not done; says how to run it.
    """
    if record.settings.chosen_by is None:
        return {}
    place = records.path_of(record.settings.chosen_by, Path(path))
    found = records.read_as(SearchRecord, place)
    if found.results is None or not found.done:
        raise NotRun(f"{path} waits for the search {found.name}: python -m experiments search {place}")
    assert found.results.chosen is not None
    return dict(found.results.chosen)


def runs_with(values: Mapping[str, Any], record: SweepRecord, path: str | Path) -> list[RunSettings]:
    """Return the settings of the runs of a sweep that have some values; `path` is that of the sweep.

    Args:
        values: setting, with dots -> value. Where it is empty, all runs have them.

    Raises:
        NotRun: the search that has to choose settings is not done.
        ValueError: a setting is unknown in all runs.
    """
    runs = record.settings.runs(chosen_for(record, path))
    if unknown := [name for name in values if not any(_knows(own, name) for own in runs)]:
        raise ValueError(f"`where` names {', '.join(unknown)}, and no run of {record.name} has such a setting")
    return [own for own in runs if _has(own, values)]


def _knows(settings: RunSettings, name: str) -> bool:
    try:
        value_of(settings, name)
    except (AttributeError, KeyError):
        return False
    return True


def _has(settings: RunSettings, values: Mapping[str, Any]) -> bool:
    """Whether these are a run's own values, with defaults filled in on both sides."""
    try:
        return with_values(settings, values) == settings
    except ValueError:  # what the other settings of this run refuse is not its own, such as another method's name
        return False


def _runs(
    path: Path, record: SweepRecord | SearchRecord, names: Iterable[str], *, so_far: bool = False
) -> list[RunRecord]:
    """The runs with those names, which know the record that they were read with."""
    done = []
    for name in names:
        place = records.root_of(path) / SWEEPS / f"{name}.json"
        if not place.exists() or not (found := records.read_as(RunRecord, place)).done:
            if so_far:
                continue
            raise NotRun(f"{place} has no results yet: python -m experiments {record.kind} {path}")
        found.sweep = record.name
        done.append(found)
    return done


def runs_of(path: str | Path, where: Mapping[str, Any] | None = None, *, so_far: bool = False) -> list[RunRecord]:
    """Read the runs behind a record: itself, finished or not, the runs of a sweep, or those of a search's choice.

    Args:
        where: of a sweep only the runs with these values, setting -> value; the others need not be finished.
        so_far: leave out the runs of a sweep that are not finished.

    Raises:
        ValueError: it is none of these.
        NotRun: a run of a sweep or search is missing, or the search that has to choose its settings is not done.
    """
    record = records.read(path)
    if isinstance(record, SweepRecord):
        names = [own.run_name for own in runs_with(where or {}, record, path)]
        return _runs(Path(path), record, names, so_far=so_far)
    if isinstance(record, SearchRecord):
        if record.results is None or not record.done:
            raise NotRun(f"{path} has no results yet: python -m experiments search {path}")
        return _runs(Path(path), record, record.results.runs)
    return [records.read_as(RunRecord, path)]


def varied(settings: RunSettings, names: Sequence[str]) -> dict[str, Any]:
    """Return the values of settings as tables show them, each by the last part of its name.

    Args:
        settings: of a run.
        names: with dots. One that ends like another one is kept whole.
    """
    ends = [name.split(".")[-1] for name in names]
    short = [end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)]
    return {own: shown(value_of(settings, name)) for own, name in zip(short, names, strict=True)}


def shown(value: Any) -> Any:
    """Return a value as a name or number of a table."""
    if value is None:
        return "none"
    if isinstance(value, Mapping) and all(isinstance(part, int | float) for part in value.values()):
        return ", ".join(f"{name}={part}" for name, part in value.items())
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        parts = [" ".join(map(str, part.values())) if isinstance(part, Mapping) else str(part) for part in value]
        return "+".join(parts)  # of views with a rate: "random_crop 0.45"
    return value if isinstance(value, int | float | str) else str(value)


def value_of(settings: RunSettings, name: str) -> Any:
    """Return the value of a setting, by its name with dots."""
    value: Any = settings
    for part in name.split("."):
        value = value[part] if isinstance(value, Mapping) else getattr(value, part)
    return value
