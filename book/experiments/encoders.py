"""The encoders that records have trained: where they are, and how to get those that are not there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments import records, sweep
from experiments.records import ENCODER, ITEMS, SWEEPS, RunRecord, SearchRecord, SweepRecord
from experiments.settings import RunSettings
from experiments.settings_rows import RowSettings


def encoders_of(row: RowSettings, beside: Path, *, or_items: bool = False, first: bool = False) -> list[dict[str, Any]]:
    """Return what `Encoder.from_pretrained` takes for the encoders of a row: one, or one per run of a sweep or search.

    Args:
        row: names a run, or a sweep or search that keeps its encoders.
        beside: a file in the same folder of results.
        or_items: what an encoder gave the items of tests will do in its place.

        first: only the first one; the others need not be there.

    Raises:
        FileNotFoundError: an encoder is not there; says how to get it.
        ValueError: `where` leaves no run of a sweep, or is given for something else.
    """
    path = records.path_of(row.record, beside)
    record = records.read(path)
    if row.where and not isinstance(record, SweepRecord):
        raise ValueError(f"{row.record} is of the kind {record.kind}, and `where` is for sweeps")
    runs = sweep.runs_with(row.where, record, path) if isinstance(record, SweepRecord) else runs_asked(record)
    if not runs:
        raise ValueError(f"no run of {row.record} has {row.trained.removeprefix(row.record).strip()}")
    untrained = [own.encoder.model_dump(exclude_unset=True) for own in runs if own.method is None]
    if untrained:
        if len(untrained) < len(runs):
            raise ValueError(f"{row.record} has trained and untrained runs: choose one kind by `where`")
        return untrained[:1] if first else [own for i, own in enumerate(untrained) if own not in untrained[:i]]
    if isinstance(record, RunRecord):
        places, how = [Path("runs") / record.name / ENCODER], "run it again"
    else:
        names = [own.run_name for own in runs]
        if isinstance(record, SearchRecord):
            if record.results is None or not record.done:
                raise FileNotFoundError(f"{record.name} has no encoders yet: python -m experiments search {path}")
            names = record.results.runs
        places = [records.root_of(path) / SWEEPS / name / ENCODER for name in names]
        how = "run it again with `keep` in its settings"
    places = places[:1] if first else places
    for folder in places:
        if not (folder.is_dir() or (or_items and folder.with_name(ITEMS).is_dir())):
            again = f"{how}: python -m experiments {record.kind} --again {path}"
            raise FileNotFoundError(f"the encoder of {record.name} is not in {folder}; {again}")
    return [{"source": str(folder)} for folder in places]


def items_beside(source: Mapping[str, Any]) -> Path | None:
    """Return where a run of a sweep or search keeps what its encoder gives test items; None for other encoders."""
    folder = Path(source["source"])
    return folder.with_name(ITEMS) if (folder.name, folder.parts[-3:-2]) == (ENCODER, (SWEEPS,)) else None


def trained_by(source: str) -> str | None:
    """Return NAME of `runs/NAME/encoder`."""
    parts = Path(source).parts
    ours = len(parts) > 2 and (parts[0], parts[-1]) == ("runs", ENCODER)
    return "/".join(parts[1:-1]) if ours else None


def trained_rows(rows: Mapping[str, RowSettings], beside: Path) -> dict[str, str]:
    """Return the rows that depend on a seed, each with its runs; others are not trained, or only whitened.

    What begins with an encoder that a record has trained depends on that one's seed.

    Args:
        rows: name -> record and pooling.
        beside: a file in the same folder of results.
    """
    trained = {}
    for name, row in rows.items():
        first = settings_of(row, beside)
        own = first.method is not None and first.method.name != "Whitening"
        if own or trained_by(first.encoder.source) or items_beside({"source": first.encoder.source}):
            trained[name] = row.trained
    return trained


def settings_of(row: RowSettings, beside: Path) -> RunSettings:
    """Return the settings of the first encoder of a row, with the values that a search has chosen."""
    path = records.path_of(row.record, beside)
    record = records.read(path)
    if isinstance(record, SweepRecord):
        return sweep.runs_with(row.where, record, path)[0]
    if isinstance(record, SearchRecord) and record.results and record.results.chosen:
        return record.settings.full(record.results.chosen, record.settings.seeds[0])
    return runs_asked(record)[0]


def runs_asked(record: records.AnyRecord) -> list[RunSettings]:
    """Return the settings of a run, of all runs of a sweep, or those that all runs of a search have in common.

    Raises:
        ValueError: the record has trained nothing.
    """
    if isinstance(record, SweepRecord):
        return record.settings.runs()
    if isinstance(record, SearchRecord):
        return [record.settings.run]
    if isinstance(record, RunRecord):
        return [record.settings]
    raise ValueError(f"{record.name} is of the kind {record.kind}, and only runs, sweeps and searches have encoders")
