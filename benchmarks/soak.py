"""Train and search for long: memory must stay flat.

    python benchmarks/soak.py [--steps 20000] [--searches 200000]

A small encoder is trained, and an index is searched, phrase after phrase. We read the memory of the process a hundred
times (Linux: what is its own, without the pages of files), leave the first third out, in which caches fill, and fit a
line to the rest. The slope is in MB per 1,000 steps or searches. Growth is what that slope makes of the whole run, and
at most 10 MB are taken for noise.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from promises import Promise, sentences, small_encoder, told
from tqdm import tqdm

from sentlab.methods import SimCSE
from sentlab.search import PhraseIndex
from sentlab.training import TrainConfig, fit

READINGS, SETTLED, NOISE = 100, 1 / 3, 10.0  # readings; the share that is left out; MB


def memory() -> float:
    """MB of memory that are this process's own."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found
    return int(found[1]) * 1024 / 1e6


def watched(what: str, count: int, loop: Callable[[Callable[[int], None]], object]) -> Promise:
    """Do something often, which calls back after each time, and say how memory grew."""
    every, readings, start = max(1, count // READINGS), [], time.monotonic()

    def look(done: int) -> None:
        if done % every == 0:
            readings.append((done, memory()))

    loop(look)
    settled = np.array([row for row in readings if row[0] >= SETTLED * count])
    slope = float(np.polyfit(*settled.T, 1)[0])  # MB a time
    about = f"{count:,} {what} in {time.monotonic() - start:,.0f} s, {readings[-1][1]:.0f} MB"
    return about, f"{1000 * slope:+.4f} MB per 1,000", slope * count <= NOISE


def train(steps: int, look: Callable[[int], None]) -> None:
    config = TrainConfig(steps=steps, batch_size=8, learning_rate=1e-4)
    method = SimCSE(small_encoder(pooling="cls", max_length=16))
    fit(method, sentences(500), config, on_step=lambda step, _: look(step))


def search(searches: int, look: Callable[[int], None]) -> None:
    index, phrases = PhraseIndex(small_encoder(), max_size=5), sentences(1000, seed=1, words=2)
    index.add(sentences(20))
    for done in tqdm(range(1, searches + 1), desc="search"):
        index.search([phrases[done % len(phrases)]], 3)
        look(done)


def soak(steps: int, searches: int) -> list[Promise]:
    """Train and search, and say what was found of what is promised."""
    torch.set_num_threads(1)
    works = (("steps of training", steps, train), ("searches", searches, search))
    return [watched(what, count, lambda look: loop(count, look)) for what, count, loop in works if count]  # noqa: B023


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000, help="of training; default: 20,000; 0: none")
    parser.add_argument("--searches", type=int, default=200_000, help="default: 200,000; 0: none")
    asked = parser.parse_args()
    return told(soak(asked.steps, asked.searches))


if __name__ == "__main__":
    sys.exit(main())
