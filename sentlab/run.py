"""Run what a record's settings say, and write the results into it.

    python -m sentlab.run book/results/NAME.json ... [--again]

Settings:
    encoder   source, pooling, max_length: as `Encoder.from_pretrained` takes them
    method    name in `sentlab.methods`, and its arguments; null: only evaluate the encoder
    data      corpus to train on, by name (its `train` split)
    train     `TrainConfig`
    dev       corpus whose `dev` split chooses the step to keep (Spearman x 100)
    test      corpora whose `test` split is evaluated, before and after training
    poolings  sentence vectors that are evaluated
    threads   CPU threads: the same number gives the same weights, bit for bit
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from sentlab import data, methods, records
from sentlab.data import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate_sts, sts_dev
from sentlab.training import TrainConfig, fit


def run(path: Path, *, folder: Path | None = None) -> records.Record:
    """Do one run and write its record; training goes on from its last checkpoint if it was interrupted.

    Args:
        path: the record; its `settings` say what to do.
        folder: for checkpoints; None: `runs/NAME`, beside which the trained encoder is saved.
    """
    record = records.read(path)
    settings = record.settings
    folder = folder or Path("runs") / record.name
    if settings.get("threads"):
        torch.set_num_threads(settings["threads"])
    began = time.monotonic()
    source = settings["encoder"]["source"]
    encoder = Encoder.from_pretrained(**settings["encoder"])
    record.encoder = {"source": source, "fingerprint": weights_fingerprint(encoder), "dim": encoder.dim}
    dev = remember(record, settings["dev"], "dev")
    tests = [remember(record, name, "test") for name in settings["test"]]
    record.results = {"before": scores(encoder, settings["poolings"], dev, tests)}
    if settings.get("method"):
        arguments = dict(settings["method"])
        torch.manual_seed(settings["train"]["seed"])
        method = getattr(methods, arguments.pop("name"))(encoder, **arguments)
        corpus = remember(record, settings["data"], "train")
        started = time.monotonic()
        history = fit(method, corpus, TrainConfig(**settings["train"]), sts_dev(dev), folder=folder, resume=True)
        began += time.monotonic() - started - history.seconds  # which counts what was trained before an interruption
        record.dev, record.kept_step = history.dev, history.kept_step
        record.results["after"] = scores(encoder, settings["poolings"], dev, tests)
        encoder.save(folder / "encoder")
    records.stamp(record, f"python -m sentlab.run {path}", time.monotonic() - began)
    record.save(path)
    return record


def remember(record: records.Record, name: str, split: str) -> Any:
    """Load a corpus and note in the record what it was."""
    corpus = data.load(name, split)
    source = corpus.source.replace(os.environ.get("SENTLAB_DATA") or "\0", "SENTLAB_DATA")  # no path of this machine
    about = {"rows": len(corpus), "fingerprint": corpus.fingerprint, "source": source}
    record.data[f"{name}/{split}"] = about | {"left_out": corpus.left_out}
    return corpus


def scores(
    encoder: Encoder, poolings: Sequence[str], dev: Corpus[ScoredPair], tests: Sequence[Corpus[ScoredPair]]
) -> dict[str, dict[str, float]]:
    """pooling -> task -> Spearman x 100, with the average of the seven STS tasks where all are there."""
    trained_with, table = encoder.pooling, {}
    for pooling in poolings:
        encoder.pooling = pooling
        found = evaluate_sts(encoder, tests).scores | {f"{dev.name}-dev": sts_dev(dev)(encoder)}
        if set(data.STS_TASKS) <= found.keys():
            found["average"] = sum(found[task] for task in data.STS_TASKS) / len(data.STS_TASKS)
        table[pooling] = {name: round(score, 2) for name, score in found.items()}
    encoder.pooling = trained_with
    return table


def weights_fingerprint(encoder: Encoder) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the backbone's weights."""
    digest = hashlib.sha256()
    for name, value in sorted(encoder.backbone.state_dict().items()):
        digest.update(name.encode() + value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sentlab.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", nargs="+", type=Path, help="records to run")
    parser.add_argument("--again", action="store_true", help="also those that hold results already")
    asked = parser.parse_args()
    for path in asked.records:
        if asked.again or not records.read(path).done:
            record = run(path)
            for when, table in record.results.items():
                for pooling, row in table.items():
                    print(f"{record.name} {when} {pooling}: {row}")


if __name__ == "__main__":
    main()
