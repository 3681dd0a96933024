"""What the speed programs share: contestants in turn in one process, memory in processes of their own, and rows."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from experiments.cost import SpeedRow

OURS = "sentlab"


def in_turn(
    contestants: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """The seconds of each contestant in each round, and its last result. A first round warms up and does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    results: dict[str, Any] = {}
    for turn in range(rounds + 1):
        for name in list(contestants)[:: -1 if turn % 2 else 1]:
            start = clock()
            results[name] = contestants[name]()
            if turn:
                seconds[name].append(clock() - start)
    return seconds, results


def of_steps(contestants: Mapping[str, Callable[[], Sequence[float]]], rounds: int) -> dict[str, list[float]]:
    """The median step of each contestant in each round; they return when each step ended."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds):
        for name in list(contestants)[:: -1 if turn % 2 else 1]:
            seconds[name].append(float(np.median(np.diff(contestants[name]()))))
    return seconds


def times_as_fast(seconds: Mapping[str, Sequence[float]], theirs: str, ours: str = OURS) -> float:
    """The median over rounds of their time over ours."""
    return round(float(np.median(np.divide(seconds[theirs], seconds[ours]))), 3)


def peak() -> float:
    """The most memory that this process has had, in MiB (Linux)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024


def added_by(work: Callable[[], Any]) -> float:
    """The MiB that some work adds to the peak of this process."""
    before = peak()
    work()
    return round(peak() - before, 1)


def alone(arguments: Sequence[Any]) -> Any:
    """What a speed program prints as its last line, read as JSON: run anew with other arguments."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def parser_of(doc: str | None, **numbers: int) -> argparse.ArgumentParser:
    """The options that all speed programs have, and some numbers."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    for name, value in {"threads": 1, "rounds": 5, **numbers}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rows", type=Path, help="a file for the rows, as JSON")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    return parser


def settled(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options, with the threads set, and the process kept on as many cores (Linux)."""
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-asked.threads :])
    return asked


def told(rows: Iterable[SpeedRow], asked: argparse.Namespace) -> int:
    """Print the rows and write them where that is asked; return the exit status, 1 where a goal is missed."""
    kept = []
    for row in rows:
        kept.append(row)
        figures = ", ".join(f"{name} {value:,.4g}" for name, value in row.figures.items())
        ratio = "" if row.ratio is None else f"; {row.ratio:.2f} times as fast"
        memory = "" if row.memory is None else f"; {row.memory:,.0f} MiB"
        print(f"{row.work}, {row.threads} thread(s)\n  {row.unit}: {figures}{ratio}{memory}")
        print(f"  goal: {row.goal}: {'met' if row.met else 'MISSED'}", flush=True)
    if asked.rows:
        asked.rows.write_text(json.dumps([row.model_dump() for row in kept]))
    return 0 if all(row.met for row in kept) else 1
