"""Training steps of two processes that share each batch, against those of one process. One thread each.

    python benchmarks/processes.py [--batch 64] [--steps 12] [--rounds 5]

Encoder `tiny`, [CLS], float32, as in benchmarks/train.py. Each process is kept on a core of its own (Linux).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from encode import sentences
from experiments.cost import SpeedRow
from side_by_side import OURS, added_by, parser_of, told
from train import median, of_method

WANTED = 1.5  # times as fast
RANK = "LOCAL_RANK"


def step(name: str, processes: int, batch: int, steps: int) -> tuple[float, float]:
    """The median seconds of a step, and the MiB that the steps add to the peak of the first process."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", processes]
    command += [__file__, "--alone", name, "--batch", batch, "--steps", steps]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), float(memory)


def rows(batch: int, steps: int, rounds: int) -> Iterator[SpeedRow]:
    _, what = sentences(batch * steps)
    for name in ("SimCSE", "MoCo"):
        seconds: dict[int, list[float]] = {1: [], 2: []}
        memory = 0.0
        for turn in range(rounds):
            for processes in (1, 2)[:: -1 if turn % 2 else 1]:
                took, added = step(name, processes, batch, steps)
                seconds[processes].append(took)
                memory = max(memory, added) if processes == 2 else memory
        ratio = round(float(np.median(np.divide(seconds[1], seconds[2]))), 3)
        yield SpeedRow(
            work=f"A step of {name}, {batch} {what}, tiny, two processes",
            threads=1,
            unit="s",
            figures={OURS: median(seconds[2]), "one process": median(seconds[1])},
            ratio=ratio,
            goal=f"{WANTED} times as fast as one process",
            met=ratio >= WANTED,
            memory=memory,
        )


def main() -> int:
    parser = parser_of(__doc__, batch=64, steps=12)
    if RANK in os.environ:  # a child
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
        if cores:
            os.sched_setaffinity(0, {cores[int(os.environ[RANK]) % len(cores)]})
        asked = parser.parse_args()
        texts, _ = sentences(asked.batch * asked.steps)
        work, ends = of_method(asked.alone, texts, asked), []
        memory = added_by(lambda: ends.extend(work()))
        if os.environ[RANK] == "0":
            print(json.dumps([float(np.median(np.diff(ends))), memory]), flush=True)
        return 0
    asked = parser.parse_args()
    return told(rows(asked.batch, asked.steps, asked.rounds), asked)


if __name__ == "__main__":
    sys.exit(main())
