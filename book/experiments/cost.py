"""What the rows of a leaderboard cost: time and memory of training, and of encoding. For Linux.

Each measurement has a process of its own. Its memory is what its peak adds to encoder, method and corpus.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from pydantic import PositiveInt
from sentlab.encoder import Encoder
from sentlab.encoder.maps import postprocessed
from sentlab.training import TrainConfig, fit, set_dropout, set_seed
from tqdm import tqdm

from experiments.leaderboard import RowSettings, encoders_of, settings_of, there
from experiments.peers import load
from experiments.records import Notes, Record, Typed
from experiments.run import RunSettings, build_method, training_rows

WARM = 3  # first steps, which reserve memory
STATUS = Path("/proc/self/status")


class CostSettings(Typed):
    """Time and memory of the rows of a leaderboard. For Linux, on a machine without other load."""

    rows: dict[str, RowSettings]  # name -> record and pooling; of a sweep the first run counts
    steps: PositiveInt  # training steps that are timed; a map is fitted as a whole
    corpus: str  # pairs of whose `dev` split the distinct first texts are encoded, in one call
    passes: PositiveInt  # over the texts, after one that warms up. The fastest one counts.
    threads: PositiveInt  # CPU threads


class CostRecord(Record):
    """Its results: `training` and `encoding`, each row -> what it took; only what was trained has training."""

    settings: CostSettings


def cost(record: CostRecord) -> CostRecord:
    """Measure each row, and write into the record what training and encoding cost."""
    notes, settings, place = Notes(record.settings.threads), record.settings, record.folder
    texts = list(dict.fromkeys(pair.text_a for pair in notes.load(settings.corpus, "dev")))
    results: dict[str, Any] = {"training": {}, "encoding": {}}
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with TemporaryDirectory() as scratch, pool as child:
        for name, row in tqdm(settings.rows.items(), desc="rows", unit=" rows"):
            run = settings_of(row, place)
            if run.method:
                results["training"][name] = child.submit(training, run, settings.steps, settings.threads).result()
                source = {"source": str(Path(scratch) / str(len(results["encoding"])))}
                child.submit(write_untrained, run, source["source"]).result()
            else:
                source = there(encoders_of(row, place)[0])
            work = child.submit(encoding, source, row.pooling, texts, settings.passes, settings.threads)
            results["encoding"][name] = work.result()
    return record.finish(results, notes)


def training(settings: RunSettings, steps: int, threads: int) -> dict[str, float]:
    """Measure minutes of a run's training, by the median of some steps, or of a map's whole fit, and the peak MiB."""
    assert not settings.frozen_first, "the steps with the encoder frozen would not count"
    torch.set_num_threads(threads)
    encoder, corpus, method = _parts(settings)
    if settings.train is None:
        seconds, memory = _measured(lambda: postprocessed(encoder, method, corpus))
        return {"minutes": round(seconds / 60, 2), "mib": round(memory)}
    set_seed(settings.seed)
    trained = method(encoder)
    if settings.dropout is not None:
        set_dropout(trained, settings.dropout)
    full, times = TrainConfig(**settings.train), [0.0]
    config = replace(full, steps=WARM + steps, eval_every=None, keep="last")
    watch: Any = {"progress": False, "on_step": lambda *_: times.append(time.perf_counter())}
    _, memory = _measured(partial(fit, trained, corpus, config, **watch))
    seconds = float(np.median(np.diff(times)[WARM:]))
    minutes = seconds * full.steps_over(len(corpus)) / 60
    return {"seconds_a_step": round(seconds, 3), "minutes": round(minutes, 2), "mib": round(memory)}


def write_untrained(settings: RunSettings, folder: str) -> None:
    """Write the encoder of a run as it is before training, when encoding costs the same. A map is fitted."""
    encoder, corpus, method = _parts(settings)
    built = method(encoder).encoder if settings.train else postprocessed(encoder, method, corpus)
    built.save(folder)


def encoding(source: Any, pooling: str | None, texts: list[str], passes: int, threads: int) -> dict[str, float]:
    """Measure the sentences a second in the fastest pass, and the MiB at the peak of the first."""
    torch.set_num_threads(threads)
    encoder = load(source)
    encoder.pooling = pooling or encoder.pooling
    _, memory = _measured(lambda: encoder.encode(texts, progress=False))
    seconds = min(_measured(lambda: encoder.encode(texts, progress=False))[0] for _ in range(passes))
    return {"sentences_a_second": round(len(texts) / seconds), "mib": round(memory)}


def _parts(settings: RunSettings) -> tuple[Encoder, Any, Any]:
    """The encoder that a run starts from, the rows that it learns from, and its method, which waits for both."""
    encoder = Encoder.from_pretrained(**settings.encoder.model_dump(exclude_unset=True))
    corpus = training_rows(settings, Notes())
    return encoder, corpus, build_method(settings, corpus)


def _measured(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds, and the MiB that the process has at its peak beyond those that it began with."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before, began = _held("VmRSS"), time.perf_counter()
    work()
    return time.perf_counter() - began, _held("VmHWM") - before


def _held(what: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024
