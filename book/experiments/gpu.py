"""What ten minutes on one GPU can do: pre-train `base-384`, then search SimCSE, MoCo, PaSeR and PT-BERT from it.

    python -m experiments gpu --text FOLDER [--minutes 10] [--tokens 6e8] [--dry-run]

Start it in the folder `book` until all is done: it goes on where the time ran out. `base-384` has 6 layers of 384, the
vocabulary of `tiny`, and dropout in the last third of its pre-training. It goes to `trained/base-384`, in files of at
most 15 MB. The searches share the GPU, take the grids of `small`, and write `results/base-384` trial by trial.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import torch

from experiments import pretrain, records
from experiments.search import SearchRecord, search, with_values

NAME, METHODS = "base-384", ("simcse", "moco", "paser", "ptbert")
TRAINED, RESULTS = Path("trained") / NAME, Path("results")  # below the working directory, as the folder of runs is
BASE = "--layers 6 --width 384 --sheet 32768 --decay 0.3 --dropout 0.1 --dropout-from 0.667"
DRY = "--layers 1 --width 64 --sheet 1024 --tokens 2048"
KILLED = -9  # the exit status of a process whose time was over


def pre_train(text: Path, tokens: float, dry: bool) -> None:
    """Pre-train the encoder, or go on with it."""
    folders = ("--text", str(text), "--out", str(TRAINED), "--work", str(records.RUNS / NAME), "--vocabulary", "tiny")
    pretrain.main([*folders, *BASE.split(), "--tokens", str(tokens), *(DRY.split() if dry else ())])


def search_from(method: str, dry: bool) -> None:
    """Search the settings of a method from the encoder on dev, as those of `small` were, or go on."""
    name = f"{NAME}/{method}"
    if not (RESULTS / f"{name}.json").exists():
        like = records.get(f"small-sts/{'moco' if method == 'ptbert' else method}").settings
        values: dict[str, Any] = {"encoder.source": str(TRAINED), "threads": 4}
        values |= {"method.name": "PTBERT"} if method == "ptbert" else {}
        changes: dict[str, Any] = {"trials": 8, "finalists": 1}
        if dry:
            values |= {"train.steps": 2, "train.eval_every": 2, "data.corpus": "toy-sentences"}
            values |= {"dev": "toy-sts", "test": ["toy-sts"], "poolings": []}
            changes |= {"trials": 1, "steps": 1, "seeds": [0]}
        settings = like.model_copy(update={"run": with_values(like.run, values), **changes})
        SearchRecord(settings=settings, name=name, folder=RESULTS).save()
    search(records.get(name, RESULTS))


def within(seconds: float, program: Callable[..., None], every: Sequence[tuple[Any, ...]]) -> bool:
    """Run a program on each of the arguments, side by side, and kill what is left then; return whether all is done."""
    end, context = time.monotonic() + seconds, multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # whose imports take seconds
    processes = [context.Process(target=program, args=each) for each in every]
    for process in processes:
        process.start()
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))
        process.kill()  # all that it needs to go on is written
        process.join()
    if {process.exitcode for process in processes} - {0, KILLED}:
        raise RuntimeError(f"{program.__name__} failed; the errors are above")
    return all(process.exitcode == 0 for process in processes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as much as the time allows; return 0 if nothing is left."""
    parser = argparse.ArgumentParser("python -m experiments gpu", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--text", type=Path, required=True, help="folder of *.txt or *.txt.xz files")
    parser.add_argument("--minutes", type=float, default=10.0, help="its time; default: 10; 0 only prepares the text")
    parser.add_argument("--tokens", type=float, default=6e8, help="to pre-train on; default: 6e8")
    parser.add_argument("--dry-run", action="store_true", help="two steps of each on toy text, in runs/dry-run")
    chosen = parser.parse_args(arguments)
    end, text, dry = time.monotonic() + 60 * chosen.minutes, chosen.text.resolve(), chosen.dry_run
    (place := records.RUNS / "dry-run" if dry else Path(".")).mkdir(parents=True, exist_ok=True)
    if not (dry or torch.cuda.is_available() or chosen.minutes == 0):
        parser.error("torch sees no GPU here; without one, --minutes 0 prepares the text for later")
    with chdir(place):
        pretrain.prepare(text, records.RUNS / NAME, "tiny", 0)  # here, since what is killed would lose it
        done = (TRAINED / "pretraining.json").exists()  # its last file
        done = done or within(end - time.monotonic(), pre_train, [(text, chosen.tokens, dry)])
        done = done and within(end - time.monotonic(), search_from, [(method, dry) for method in METHODS])
    print("all is done" if done else "something is left: the same command goes on")
    return 0 if done else 1
