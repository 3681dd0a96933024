"""Kill programs at random moments: nothing that was there is lost, and what is left half done goes.

    python benchmarks/kills.py [--kills 100] [--only fit run add index encoder] [--seed 0]

Each operation runs in a process that is killed (SIGKILL) at a moment drawn from its own duration, `--kills` times. Then

    fit       `sentlab.fit` with checkpoints. Resumed, it ends with the weights of a run that nobody killed.
    run       `python -m experiments run`. The record is the old one or whole. The next start ends with equal results.
    add       `PhraseIndex.add`. What was there stays, and a segment is there or not. The next `add` goes on.
    index     `PhraseIndex.save` of a new index. It is whole or not there.
    encoder   `Encoder.save`. The folder holds the old encoder or the new one. Every second time there is none before.

After the next start no file is left that a run without a kill would not have left. Needs fork (Linux, macOS).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from experiments import __main__ as command
from promises import Promise, contents, sentences, small_encoder, told
from safetensors.torch import load_file
from tqdm import tqdm

from sentlab.encoder import Encoder
from sentlab.methods import SimCSE
from sentlab.search import PhraseIndex, phrase_index
from sentlab.search.index_files import Manifest
from sentlab.training import TrainConfig, fit, set_seed

STEPS, ROUNDS, TRIES = 24, 3, 20  # of a training; to measure a duration; of a kill before the work is done
ENOUGH = 2.0  # seconds of an operation, that measure its duration
TEXTS, MORE, FEW = sentences(40), sentences(60, seed=1), 12


@dataclass
class Operation:
    """Something that is killed, and how to see that nothing was lost.

    Args:
        before: makes what is in the folder before.
        work: is killed.
        state: says in a word what the kill left. It raises an error if that is neither the old nor the new.
        again: the next start.
        final: gives what is compared with a run that nobody killed. It names all files.
    """

    before: Callable[[Path], object]
    work: Callable[[Path], object]
    state: Callable[[Path], str]
    again: Callable[[Path], object]
    final: Callable[[Path], Any]


@dataclass
class Outcome:
    """What the kills of an operation have left."""

    seconds: float
    states: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)  # neither the old nor the new, or nothing can go on
    differ: list[str] = field(default_factory=list)  # the next start ends with something else, or leaves wreckage

    @property
    def kills(self) -> int:
        return self.states.total() + len(self.lost)


def in_child(work: Callable[[], object]) -> tuple[int, int]:
    """Fork a process for some work; return its number, and a descriptor that gives a byte when it begins."""
    begun, tell = os.pipe()
    if (process := os.fork()) == 0:
        status = 1
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.write(tell, b"!")
            work()
            status = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(status)
    os.close(tell)
    return process, begun


def done(work: Callable[[], object], kill_after: float | None = None) -> int:
    """The exit status of some work in a process of its own, -9 where it was killed after so many seconds."""
    process, begun = in_child(work)
    os.read(begun, 1)
    os.close(begun)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def undisturbed(operation: Operation, place: Path) -> float:
    """Seconds of the operation, which nobody kills."""
    operation.before(place)
    start = time.perf_counter()
    if done(partial(operation.work, place)):
        raise RuntimeError("the operation fails without a kill")
    return time.perf_counter() - start


def tried(name: str, operation: Operation, kills: int, place: Path, random: Random) -> Outcome:
    """Kill an operation so many times."""
    operation.before(place / "warm")
    operation.work(place / "warm")  # loads what is loaded once
    times = [undisturbed(operation, place / "whole0")]
    while sum(times) < ENOUGH and len(times) < ROUNDS:
        times.append(undisturbed(operation, place / f"whole{len(times)}"))
    operation.again(place / "whole0")
    expected, outcome = operation.final(place / "whole0"), Outcome(statistics.median(times))
    for number in tqdm(range(kills), desc=name):
        folder = place / "killed"
        for _ in range(TRIES):
            shutil.rmtree(folder, ignore_errors=True)
            operation.before(folder)
            if done(partial(operation.work, folder), random.uniform(0, outcome.seconds)) == -signal.SIGKILL:
                break
        else:
            raise RuntimeError(f"{name} was always done before the kill")
        try:
            outcome.states[operation.state(folder)] += 1
        except Exception as error:
            outcome.lost.append(f"{name} {number}: {type(error).__name__}: {error}")
            continue
        if done(partial(operation.again, folder)):
            outcome.lost.append(f"{name} {number}: the next start fails")
        elif (found := operation.final(folder)) != expected:
            outcome.differ.append(f"{name} {number}: {difference(found, expected)}")
    return outcome


def difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    """What is different, by name."""
    names = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    return ", ".join(f"{name} {'differs' if name in expected else 'is left'}" for name in names)


def without_seconds(found: Any) -> Any:
    """Some JSON without how long a run took, and without the place of its files."""
    if isinstance(found, dict):
        return {key: without_seconds(value) for key, value in found.items() if key not in ("seconds", "command")}
    return [without_seconds(value) for value in found] if isinstance(found, list) else found


def readable(folder: Path) -> dict[str, Any]:
    """The files of a folder, JSON and checkpoints without the seconds that a run took, others by their hash."""
    found: dict[str, Any] = dict(contents(folder))
    for name in found:
        path = folder / name
        if path.name == "checkpoint.safetensors":
            found[name] = {key: value.numpy().tobytes() for key, value in load_file(path).items()}
        elif path.suffix == ".json":
            found[name] = without_seconds(json.loads(path.read_text(encoding="utf-8")))
    return {name: value for name, value in found.items() if Path(name).name != "README.md"}  # it tells the seconds


def training(encoder: Encoder) -> Operation:
    weights = {name: value.clone() for name, value in encoder.state_dict().items()}

    def work(folder: Path) -> None:
        encoder.load_state_dict(weights)
        set_seed(0)
        config = TrainConfig(steps=STEPS, batch_size=8, learning_rate=1e-3, checkpoint_every=2, eval_every=6)
        fit(SimCSE(encoder), TEXTS, config, lambda _: 1.0, folder=folder, resume=True, progress=False)

    def state(folder: Path) -> str:
        path = folder / "checkpoint.safetensors"
        return "new" if path.exists() and load_file(path) else "old"

    return Operation(lambda folder: None, work, state, work, readable)


def recorded(encoder: Encoder, place: Path) -> Operation:
    encoder.save(place / "source")
    train = {"steps": STEPS, "batch_size": 8, "learning_rate": 1e-3, "checkpoint_every": 3}
    settings = {
        "encoder": {"source": str(place / "source"), "pooling": "mean", "max_length": 32},
        "method": {"name": "SimCSE", "arguments": {}},
        "data": {"corpus": "toy-sentences"},
        "train": train,
        "dev": "toy-sts",
        "test": [],
        "threads": 1,
    }

    def before(folder: Path) -> None:
        folder.mkdir()
        (folder / "small.json").write_text(json.dumps({"kind": "run", "settings": settings}), encoding="utf-8")

    def work(folder: Path) -> None:
        os.chdir(folder)
        if command.main(["run", "small.json"]):
            raise RuntimeError("the run failed")

    def state(folder: Path) -> str:
        found = json.loads((folder / "small.json").read_text(encoding="utf-8"))
        if found["settings"] != settings:
            raise ValueError("the record's settings are not those that were there")
        return "new" if "results" in found else "old"

    return Operation(before, work, state, work, readable)


def texts_of(folder: Path, encoder: Encoder) -> list[str]:
    """The texts of an index, all files of which are sound, and which can be searched."""
    index = PhraseIndex.load(folder, encoder)
    index.verify()
    index.search(["the old king"], 3)
    return list(index)


def index_files(folder: Path, encoder: Encoder) -> dict[str, Any]:
    """The texts of an index; all other files by name, but for the segments that it is made of."""
    own = {extent.name for extent in Manifest.read(folder / "index").segments}
    kept = (
        path for path in folder.rglob("*") if path.parent.name not in own and not path.is_relative_to(folder / "tmp")
    )
    others = sorted(path.relative_to(folder).as_posix() for path in kept)
    named = {name: True for name in others if Path(name).name not in own}
    return named | {"texts": texts_of(folder / "index", encoder)}


def adding(encoder: Encoder, place: Path) -> Operation:
    index = PhraseIndex(encoder)
    index.add(TEXTS)
    index.save(place / "old" / "index")

    def work(folder: Path) -> None:
        index = PhraseIndex.load(folder / "index", encoder)
        index.add(MORE[len(index) - len(TEXTS) :])

    def state(folder: Path) -> str:
        found = texts_of(folder / "index", encoder)
        if found != [*TEXTS, *MORE][: max(len(found), len(TEXTS))]:
            raise ValueError(f"{len(found)} texts are there, and not those that were added")
        return "old" if found == TEXTS else "new"

    return Operation(
        lambda folder: shutil.copytree(place / "old", folder),
        work,
        state,
        work,
        partial(index_files, encoder=encoder),
    )


def saving_index(encoder: Encoder) -> Operation:
    def before(folder: Path) -> None:
        (folder / "tmp").mkdir(parents=True)

    def work(folder: Path) -> None:
        tempfile.tempdir = str(folder / "tmp")  # where an index is before it is saved
        index = PhraseIndex(encoder)
        if (folder / "index").exists():
            index = PhraseIndex.load(folder / "index", encoder)
        else:
            index.add(TEXTS[:FEW])
            index.save(folder / "index")
        index.add([])  # which clears up after a save too

    def state(folder: Path) -> str:
        if not (folder / "index").exists():
            return "old"
        if texts_of(folder / "index", encoder) != TEXTS[:FEW]:
            raise ValueError("the index is not whole")
        return "new"

    return Operation(before, work, state, work, partial(index_files, encoder=encoder))


def saving_encoder(encoder: Encoder, place: Path) -> Operation:
    small_encoder(seed=1).save(place / "old" / "encoder")
    encoder.save(place / "new" / "encoder")
    old, new = (contents(place / name / "encoder") for name in ("old", "new"))
    every_second = iter(range(sys.maxsize))

    def before(folder: Path) -> None:
        folder.mkdir()
        if next(every_second) % 2:
            shutil.copytree(place / "old" / "encoder", folder / "encoder")

    def state(folder: Path) -> str:
        found = contents(folder / "encoder")
        if found not in (old, new, {}):
            raise ValueError(f"the folder holds neither encoder: {', '.join(found)}")
        return "new" if found == new else "old" if found else "none before"

    def work(folder: Path) -> None:
        encoder.save(folder / "encoder")

    return Operation(before, work, state, work, contents)


def operations(place: Path) -> dict[str, Callable[[], Operation]]:
    encoder = small_encoder()
    return {
        "fit": lambda: training(small_encoder()),
        "run": lambda: recorded(encoder, place),
        "add": lambda: adding(encoder, place),
        "index": lambda: saving_index(encoder),
        "encoder": lambda: saving_encoder(encoder, place),
    }


def kill(names: list[str], kills: int, seed: int = 0) -> list[Promise]:
    """Kill some operations so many times each, and say what was found of what is promised."""
    torch.set_num_threads(1)
    here, temporary, characters = Path.cwd(), tempfile.tempdir, phrase_index.CHARACTERS
    phrase_index.CHARACTERS = 300  # so that an index has several segments
    promises: list[Promise] = []
    with tempfile.TemporaryDirectory(prefix="sentlab-kills-") as work:
        try:
            for name in names:
                place = Path(work).resolve() / name
                place.mkdir()
                found = tried(name, operations(place)[name](), kills, place, Random(f"{seed} {name}"))
                for line in found.lost + found.differ:
                    print(line, file=sys.stderr)
                left = ", ".join(f"{state} {count}" for state, count in sorted(found.states.items()))
                about = f"{name}: {found.kills} kills in {1000 * found.seconds:.0f} ms"
                promises += [
                    (f"{about}, nothing lost", f"{len(found.lost)} lost ({left})", not found.lost),
                    (
                        "    the next start ends the same, leaves no wreckage",
                        f"{len(found.differ)} not",
                        not found.differ,
                    ),
                ]
        finally:
            os.chdir(here)
            tempfile.tempdir, phrase_index.CHARACTERS = temporary, characters
    return promises


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = ["fit", "run", "add", "index", "encoder"]
    parser.add_argument("--kills", type=int, default=100, help="of each operation; default: 100")
    parser.add_argument("--only", nargs="+", choices=every, default=every, help="some of the operations")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    asked = parser.parse_args()
    return told(kill(asked.only, asked.kills, asked.seed))


if __name__ == "__main__":
    sys.exit(main())
