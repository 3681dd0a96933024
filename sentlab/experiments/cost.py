"""What the rows of a leaderboard cost: time and memory of training, and of encoding. For Linux, and a machine at rest.

    python -m sentlab.experiments.cost book/results/NAME.json ... [--again]

Settings:
    rows     name -> [record, pooling], as in `sentlab.experiments.leaderboard`; of a sweep the first seed counts
    steps    training steps that are timed, after `WARM` that are not; a map is fitted as a whole
    corpus   pairs whose distinct first texts are encoded, of the split `dev`, in one call
    passes   of the texts, after one that warms up; the fastest counts, for others only say what else the machine did
    threads  CPU threads

Each measurement has a process of its own. Its memory is what it adds, at its peak, to a process that holds the encoder,
the method and the corpus.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from sentlab.encoder import Encoder
from sentlab.encoder.vector_maps import Flow, Whitening, postprocessed
from sentlab.experiments import records, sweep
from sentlab.experiments.compare import encoders
from sentlab.experiments.run import bound, remember, to_train_on
from sentlab.training import TrainConfig, fit

WARM = 3  # first steps, which reserve memory
STATUS = Path("/proc/self/status")


def cost(path: Path) -> records.Record:
    """Measure each row, and write into the record what `training` and `encoding` cost.

    Raises:
        FileNotFoundError: an encoder or a corpus is not there, or the system is not Linux; says which.
    """
    if not STATUS.exists():
        raise FileNotFoundError(f"{STATUS} is not there: memory is measured on Linux only")
    record, began = records.read(path), time.monotonic()
    settings = record.settings
    torch.set_num_threads(settings["threads"])  # here for the record's stamp alone
    texts = list(dict.fromkeys(pair.text_a for pair in remember(record, settings["corpus"], "dev")))
    record.results = {"training": {}, "encoding": {}}
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as child:
        for row, (name, pooling) in tqdm(settings["rows"].items(), desc="rows", unit=" rows"):
            run, head = path.parent / f"{name}.json", records.read(path.parent / f"{name}.json")
            source = encoders(run)[0]
            own = sweep.read(run).records[0].settings if head.over else head.settings
            if own.get("method"):
                found = child.submit(training, own, settings["steps"], settings["threads"]).result()
                record.results["training"][row] = found
            found = child.submit(encoding, source, pooling, texts, settings["passes"], settings["threads"]).result()
            record.results["encoding"][row] = found
    records.stamp(record, f"python -m sentlab.experiments.cost {path}", time.monotonic() - began)
    record.save(path)
    return record


def training(settings: dict[str, Any], steps: int, threads: int) -> dict[str, float]:
    """Minutes of the training that a run's settings ask for, without evaluation, and MiB at its peak.

    Args:
        settings: of a run, with a method.
        steps: that are timed. The median of their seconds stands for all; of a map the whole fit is timed.
    """
    torch.set_num_threads(threads)
    record, times = records.Record("", settings), [0.0]
    encoder, corpus = Encoder.from_pretrained(**settings["encoder"]), to_train_on(record)
    method = bound(settings, corpus)
    if isinstance(method, Whitening | Flow):
        seconds, memory = _measured(lambda: postprocessed(encoder, method, corpus))
        return {"minutes": round(seconds / 60, 2), "MiB": round(memory)}
    torch.manual_seed(settings["train"]["seed"])
    trained = method(encoder)
    config = TrainConfig(**settings["train"] | {"steps": WARM + steps, "eval_every": None, "keep": "last"})
    _, memory = _measured(
        lambda: fit(trained, corpus, config, progress=False, on_step=lambda *_: times.append(time.perf_counter()))
    )
    seconds = float(np.median(np.diff(times)[WARM:]))
    asked = settings["train"]["steps"]
    return {"seconds a step": round(seconds, 3), "minutes": round(seconds * asked / 60, 2), "MiB": round(memory)}


def encoding(
    source: dict[str, Any], pooling: str | None, texts: list[str], passes: int, threads: int
) -> dict[str, float]:
    """Sentences a second in the fastest pass, and MiB at the peak of the first."""
    torch.set_num_threads(threads)
    encoder = Encoder.from_pretrained(**source)
    encoder.pooling = pooling or encoder.pooling
    _, memory = _measured(lambda: encoder.encode(texts, progress=False))
    seconds = min(_measured(lambda: encoder.encode(texts, progress=False))[0] for _ in range(passes))
    return {"sentences a second": round(len(texts) / seconds), "MiB": round(memory)}


def _measured(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds, and the MiB that the process has at its peak beyond those that it began with."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before, began = _held("VmRSS"), time.perf_counter()
    work()
    return time.perf_counter() - began, _held("VmHWM") - before


def _held(what: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    records.command_line("sentlab.experiments.cost", __doc__, cost)
