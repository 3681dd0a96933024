"""The encoders that records have trained: where they are, and how to get those that are not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sentlab.experiments import records, sweep
from sentlab.experiments.records import SWEEPS, RunRecord, SweepRecord
from sentlab.experiments.settings import RunSettings


def encoders_of(name: str, beside: Path) -> list[dict[str, Any]]:
    """What `Encoder.from_pretrained` takes for the encoders of a record: one, or one a run of a sweep.

    Args:
        name: of a run, or of a sweep that keeps its encoders.
        beside: a file in the same folder of results.

    Raises:
        FileNotFoundError: an encoder is not there; says how to get it.
    """
    path = records.path_of(name, beside)
    record = records.read(path)
    settings = first_settings(record)
    if settings.method is None:
        return [settings.encoder.model_dump(exclude_unset=True)]
    if isinstance(record, SweepRecord):
        root = records.root_of(path)
        places = [root / SWEEPS / sweep.run_name(own) / "encoder" for own in record.settings.runs()]
        how = f"run it again with `keep` in its settings: python -m sentlab sweep --again {path}"
    else:
        places = [Path("runs") / record.name / "encoder"]
        how = f"run it again: python -m sentlab run --again {path}"
    for folder in places:
        if not folder.is_dir():
            raise FileNotFoundError(f"the encoder of {record.name} is not in {folder}; {how}")
    return [{"source": str(folder)} for folder in places]


def first_settings(record: records.AnyRecord) -> RunSettings:
    """The settings of a run, or of the first run of a sweep.

    Raises:
        ValueError: the record has trained nothing.
    """
    if isinstance(record, SweepRecord):
        return record.settings.runs()[0]
    if isinstance(record, RunRecord):
        return record.settings
    raise ValueError(f"{record.name} is of the kind {record.kind}, and only runs and sweeps have encoders")
