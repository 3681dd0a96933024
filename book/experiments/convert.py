"""Pack records of the old form, a file a run, into the new one: one file an experiment, with its runs inside.

    python -m experiments.convert OLD_RESULTS_FOLDER [NEW_RESULTS_FOLDER]

Runs that the new folder has already are left alone, and new ones with the same settings are added: run it as often as
you like. A record that is only in the old folder is copied.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments import records
from experiments.cost import LibraryRecord
from experiments.records import read_items, write_items
from experiments.run import RunSettings
from experiments.search import Experiment, SearchRecord, StoredRun, SweepRecord, label, with_values

SWEEPS = "sweeps"


def convert(old: Path, new: Path) -> None:
    """Bring every record of the old folder into the new one."""
    files = [path for path in sorted(old.rglob("*.json")) if SWEEPS not in path.relative_to(old).parts]
    contents = {path.relative_to(old).with_suffix("").as_posix(): json.loads(path.read_text()) for path in files}
    ordered = sorted(contents, key=lambda name: (contents[name]["kind"] != "search", name))  # whose values sweeps take
    homes: dict[str, str] = {}  # run -> the experiment that has its results
    for name in ordered:
        content = contents[name]
        if content["kind"] in ("sweep", "search"):
            pack(name, content, old, new, homes)
        elif not (new / f"{name}.json").exists() or "results" not in json.loads((new / f"{name}.json").read_text()):
            record = records.record_class(content["kind"]).model_validate_json(json.dumps(content))
            record.name, record.folder = name, new
            record.save()
    for name in ordered:  # a path of a trained encoder
        record = records.get(name, new)
        if isinstance(record, LibraryRecord) and SWEEPS in (source := record.settings.encoder.source):
            run = Path(source).parts[-2]
            home = records.get(homes[run], new)
            values = next(one.values for one in home.runs if run.endswith(one.fingerprint))
            text = record.path.read_text()
            moved = f"runs/{homes[run]}/{label(values)}/encoder"
            head, middle, tail = text.partition('"provenance"')  # which stays as recorded
            record.path.write_text(head.replace(source, moved) + middle + tail)
            records.get(name, new).save()


def pack(name: str, content: dict[str, Any], old: Path, new: Path, homes: dict[str, str]) -> None:
    """Bring a sweep or search and its runs into the new folder."""
    target = new / f"{name}.json"
    if target.exists():
        record = records.get(name, new)
        before = json.loads(target.read_text())["settings"]
        if before != content["settings"]:  # a grid that has changed; what runs are is known by their fingerprints
            record.settings = type(record.settings).model_validate_json(json.dumps(content["settings"]))
            print(f"{name}: its settings are those of the old folder now")
    else:
        kind = records.record_class(content["kind"])
        record = kind.model_validate_json(json.dumps({"kind": content["kind"], "settings": content["settings"]}))
        record.name, record.folder = name, new
    assert isinstance(record, Experiment)
    wanted: list[tuple[dict[str, Any], RunSettings]] = []
    if isinstance(record, SearchRecord):
        results = content.get("results")
        if results and not record.done:
            trials = [
                {key: value for key, value in trial.items() if key != "run"}
                | {"fingerprint": trial["run"].rsplit("-", 1)[1]}
                for trial in results["trials"]
            ]
            kept = {key: results[key] for key in ("chosen", "edges") if key in results}
            whole = {"kind": "search", "settings": content["settings"], "results": {"trials": trials} | kept}
            whole |= {"provenance": content["provenance"]} if "provenance" in content else {}
            fresh = SearchRecord.model_validate_json(json.dumps(whole))
            record.results, record.provenance = fresh.results, fresh.provenance
        if record.results:
            whole_search, seeds, chosen = record.settings, record.settings.seeds, record.results.chosen
            full = [trial.values for trial in record.results.trials if trial.steps == whole_search.length]
            tried = [{**one, "train.seed": seeds[0]} for one in full]
            tried += [{**(chosen or {}), "train.seed": seed} for seed in seeds if chosen]
            wanted = [(one, with_values(whole_search.run, one)) for i, one in enumerate(tried) if one not in tried[:i]]
    elif isinstance(record, SweepRecord):
        wanted = [(values, with_values(record.settings.run, values)) for values in record.values()]
    known = {run.fingerprint for run in record.runs}
    items: dict[str, np.ndarray] = {}
    for values, settings in wanted:
        run = f"{settings.method.name if settings.method else 'none'}-{settings.fingerprint}"
        file = old / SWEEPS / f"{run}.json"
        home = homes.get(run)
        if settings.fingerprint not in known and file.exists():
            stored = json.loads(file.read_text())
            assert stored["settings"] == settings.model_dump(mode="json", exclude_unset=True), file
            if "results" not in stored:
                continue
            parts: dict[str, Any] = {"values": values, "fingerprint": settings.fingerprint}
            if home is None:
                parts |= {"results": stored["results"], "provenance": stored["provenance"]}
            else:
                parts["at"] = home
            record.runs.append(StoredRun.model_validate_json(json.dumps(parts)))
        stored_run = next((one for one in record.runs if one.fingerprint == settings.fingerprint), None)
        if stored_run is None or stored_run.at:
            continue
        homes[run] = name
        for array in sorted((old / SWEEPS / run / "items").glob("*.npy")):
            items[f"{label(stored_run.values)}/{array.stem}"] = np.load(array, allow_pickle=False)
    labels = [label(run.values) for run in record.runs]
    assert len(set(labels)) == len(labels), (name, labels)
    record.save()
    path = target.with_suffix(".npz")
    fresh_items = {key: array for key, array in items.items() if read_items(path, key) is None}
    if fresh_items:
        write_items(path, fresh_items)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else records.folder())
