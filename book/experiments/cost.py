"""What the rows of a leaderboard cost: time and memory of training, and of encoding. For Linux.

    python -m experiments cost book/results/NAME.json ... [--again]

Run it on a machine without other load. Each measurement has a process of its own. Its memory is what it adds, at its
peak, to a process that holds the encoder, the method and the corpus.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentlab.encoder import Encoder
from sentlab.encoder.maps import postprocessed
from sentlab.training import TrainConfig, fit, set_dropout, set_seed
from tqdm import tqdm

from experiments import records
from experiments import results_rows as found
from experiments.encoders import encoders_of, settings_of
from experiments.notes import Notes
from experiments.records import CostRecord
from experiments.run import build_method, training_rows
from experiments.settings import RunSettings
from experiments.static import load

WARM = 3  # first steps, which reserve memory
STATUS = Path("/proc/self/status")


def cost(path: Path) -> CostRecord:
    """Measure each row, and write into the record what training and encoding cost.

    Raises:
        FileNotFoundError: an encoder or a corpus is not there, or the system is not Linux; says which.
    """
    if not STATUS.exists():
        raise FileNotFoundError(f"{STATUS} is not there: memory is measured on Linux only")
    record, notes, began = records.read_as(CostRecord, path), Notes(), time.monotonic()
    settings = record.settings
    torch.set_num_threads(settings.threads)  # here for the provenance alone
    texts = list(dict.fromkeys(pair.text_a for pair in notes.load(settings.corpus, "dev")))
    spent: dict[str, found.TrainingCost] = {}
    encoded: dict[str, found.EncodingCost] = {}
    spawn = get_context("spawn")
    pool = ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1)
    with TemporaryDirectory() as scratch, pool as child:
        for name, row in tqdm(settings.rows.items(), desc="rows", unit=" rows"):
            own = settings_of(row, path)
            if own.method:
                spent[name] = child.submit(training, own, settings.steps, settings.threads).result()
                source = {"source": str(Path(scratch) / str(len(encoded)))}
                child.submit(write_untrained, own, source["source"]).result()
            else:
                (source,) = encoders_of(row, path, first=True)
            asked = child.submit(encoding, source, row.pooling, texts, settings.passes, settings.threads)
            encoded[name] = asked.result()
    record.results = found.CostResults(training=spent, encoding=encoded)
    record.provenance = notes.provenance(records.command_of(record, path), time.monotonic() - began)
    record.save(path)
    return record


def training(settings: RunSettings, steps: int, threads: int) -> found.TrainingCost:
    """Measure the minutes of the training that a run's settings ask for, without evaluation, and the MiB at its peak.

    What `frozen_first` asks for counts too; `seconds_a_step` is of the training behind it.

    Args:
        settings: of a run, with a method.
        steps: that are timed. The median of their seconds counts. Of a map the whole fit is timed.
    """
    torch.set_num_threads(threads)
    encoder, corpus, method = _parts(settings)
    if settings.train is None:
        seconds, memory = _measured(lambda: postprocessed(encoder, method, corpus))
        return found.TrainingCost(minutes=round(seconds / 60, 2), mib=round(memory))
    set_seed(settings.seed)
    trained = method(encoder)
    if settings.dropout is not None:
        set_dropout(trained, settings.dropout)

    def timed(asked: TrainConfig) -> tuple[float, float, float]:  # seconds a step, minutes of all, MiB
        times = [0.0]
        config = replace(asked, steps=WARM + steps, eval_every=None, keep="last")
        _, memory = _measured(
            lambda: fit(trained, corpus, config, progress=False, on_step=lambda *_: times.append(time.perf_counter()))
        )
        seconds = float(np.median(np.diff(times)[WARM:]))
        return seconds, seconds * asked.steps_over(len(corpus)) / 60, memory

    before, most = 0.0, 0.0
    if settings.frozen_first is not None:
        trained.encoder.requires_grad_(False)
        _, before, most = timed(TrainConfig(**{**settings.train, **settings.frozen_first}))
        trained.encoder.requires_grad_(True)
    seconds, minutes, memory = timed(TrainConfig(**settings.train))
    minutes, memory = before + minutes, max(most, memory)
    return found.TrainingCost(seconds_a_step=round(seconds, 3), minutes=round(minutes, 2), mib=round(memory))


def write_untrained(settings: RunSettings, folder: str) -> None:
    """Write the encoder of a run as it is before training, when encoding costs the same. A map is fitted."""
    encoder, corpus, method = _parts(settings)
    built = method(encoder).encoder if settings.train else postprocessed(encoder, method, corpus)
    built.save(folder)


def encoding(
    source: dict[str, Any], pooling: str | None, texts: list[str], passes: int, threads: int
) -> found.EncodingCost:
    """Measure the sentences a second in the fastest pass, and the MiB at the peak of the first."""
    torch.set_num_threads(threads)
    encoder = load(source)
    encoder.pooling = pooling or encoder.pooling
    _, memory = _measured(lambda: encoder.encode(texts, progress=False))
    seconds = min(_measured(lambda: encoder.encode(texts, progress=False))[0] for _ in range(passes))
    return found.EncodingCost(sentences_a_second=round(len(texts) / seconds), mib=round(memory))


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
