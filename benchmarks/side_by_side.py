"""What the speed programs share: contestants take turns in one process, and memory is that of a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

OURS = "sentlab"
BFLOAT16 = torch.cpu._is_avx512_bf16_supported()  # as CPUs with AMX have; others emulate it for minutes a row
Row = dict[str, Any]  # a row of the record that speed.py writes


def in_turn(
    contestants: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Return the seconds of each contestant in each round, and its last result. A first round warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    results: dict[str, Any] = {}
    for turn in range(rounds + 1):
        for name in list(contestants)[:: -1 if turn % 2 else 1]:
            start = clock()
            results[name] = contestants[name]()
            if turn:
                seconds[name].append(clock() - start)
    return seconds, results


def medians(seconds: Mapping[str, Sequence[float]], digits: int = 3) -> dict[str, float]:
    return {name: round(float(np.median(times)), digits) for name, times in seconds.items()}


def times_as_fast(seconds: Mapping[str, Sequence[float]], theirs: str, ours: str = OURS) -> float:
    """Return the median over rounds of their time over ours."""
    return round(float(np.median(np.divide(seconds[theirs], seconds[ours]))), 3)


def memory(field: str) -> float:
    """Read from /proc/self/status (Linux), in MiB: VmHWM is the peak, RssAnon what is the process's own now."""
    line = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert line
    return int(line[1]) / 1024


def added_by(work: Callable[[], Any]) -> float:
    """Return the MiB that some work adds to the peak of this process."""
    before = memory("VmHWM")
    work()
    return round(memory("VmHWM") - before, 1)


def alone(program: str, name: str, args: argparse.Namespace | None = None, **options: Any) -> float:
    """Run a speed program anew for the memory of one of its works; options replace those of this run."""
    given = {key: value for key, value in vars(args or argparse.Namespace()).items() if key not in ("rows", "alone")}
    pairs = [f"--{key}={value}" for key, value in (given | options).items() if value is not None]
    command = [sys.executable, program, *pairs, "--alone", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def parser_of(doc: str | None, **numbers: int) -> argparse.ArgumentParser:
    """Make the options that all speed programs have, and some numbers."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    for name, value in {"threads": 1, "rounds": 5, **numbers}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rows", type=Path, help="a file for the rows, as JSON")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    return parser


def main(
    parser: argparse.ArgumentParser,
    rows: Callable[[argparse.Namespace], Iterator[Row]],
    work: Callable[[argparse.Namespace], float] | None = None,
) -> int:
    """Give a program its threads, on as many cores (Linux), and print its rows, or as a child the memory of a work."""
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-args.threads :])
    if args.alone and work:
        print(json.dumps(work(args)))
        return 0
    if not BFLOAT16:
        print("rows in bfloat16 are left out: this CPU has no arithmetic for it")
    return report(rows(args), args.rows)


def report(rows: Iterable[Row], out: Path | None) -> int:
    """Print the rows and write them where that is asked; return the exit status, 1 where a goal is missed."""
    kept = []
    for row in rows:
        kept.append(row)
        figures = ", ".join(f"{name} {value:,.4g}" for name, value in row["figures"].items())
        ratio = f"; {row['ratio']:.2f} times as fast" if "ratio" in row else ""
        used = f"; {row['memory']:,.0f} MiB" if "memory" in row else ""
        print(f"{row['work']}, {row['threads']} thread(s)\n  {row['unit']}: {figures}{ratio}{used}")
        print(f"  goal: {row['goal']}: {'met' if row['met'] else 'MISSED'}", flush=True)
    if out:
        out.write_text(json.dumps(kept))
    return 0 if all(row["met"] for row in kept) else 1
