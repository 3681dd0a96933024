"""The project itself: what an installation takes, and how long the chapters and the tests run.

    python benchmarks/project.py [--threads 2]

It needs no other program beside it, and takes about 15 minutes. The size is that of the package and all that it needs,
without extras and without compiled caches.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from experiments.cost import SpeedRow
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from side_by_side import OURS, parser_of, told
from speed import QUIET

ROOT = Path(__file__).parents[1]
OWN = ("OMP_NUM_THREADS", "SENTLAB_DATA", "SENTLAB_PRESET", "NLTK_DATA", *QUIET)
LARGEST, BOOK, TEST = 1.5e9, 8, 4  # goals: bytes; minutes; minutes of CPU time


def installed() -> dict[str, int]:
    """The bytes of the package and of each that it needs, by name."""
    sizes: dict[str, int] = {}
    waiting = ["sentlab"]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in sizes:
            continue
        found = distribution(name)
        files = (Path(str(found.locate_file(file))) for file in found.files or ())
        sizes[name] = sum(file.stat().st_size for file in files if file.is_file())
        needs = [Requirement(line) for line in found.requires or ()]
        waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return sizes


def costs(target: str) -> tuple[float, float, float]:
    """Run a target of the Makefile as a newcomer does.

    Returns:
        Its minutes, its minutes of CPU time, and the MiB of its largest process.
    """
    environment = {name: value for name, value in os.environ.items() if name not in OWN}
    began = time.monotonic()
    process = subprocess.Popen(["make", target], cwd=ROOT, env=environment)
    _, status, spent = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), ["make", target])
    cpu = spent.ru_utime + spent.ru_stime
    return round((time.monotonic() - began) / 60, 1), round(cpu / 60, 1), round(spent.ru_maxrss / 1024)


def rows(threads: int) -> Iterator[SpeedRow]:
    size = sum(installed().values())
    yield SpeedRow(
        work="Install the core",
        threads=threads,
        unit="GB",
        figures={OURS: round(size / 1e9, 2)},
        goal=f"less than {LARGEST / 1e9} GB, with the CPU build of torch",
        met=size < LARGEST,
    )
    for target, wanted, what in (("book", BOOK, "minutes"), ("test", TEST, "minutes of CPU time")):
        wall, cpu, memory = costs(target)
        yield SpeedRow(
            work=f"make {target}",
            threads=threads,
            unit="min",
            figures={OURS: wall, "CPU time": cpu},
            goal=f"{wanted} {what}",
            met=(cpu if "CPU" in what else wall) <= wanted,
            memory=memory,
        )


def main() -> int:
    asked = parser_of(__doc__).parse_args()
    return told(rows(asked.threads), asked)


if __name__ == "__main__":
    sys.exit(main())
