"""What the imports of a session take beyond `import torch`, and what an installation takes on the disk.

    python benchmarks/start.py [--rounds 5]

The size is that of the package and all that it needs, without extras and without compiled caches.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from side_by_side import OURS, Row, in_turn, main, medians, parser_of

MOST, LARGEST = 0.3, 2e9  # seconds over `import torch`; bytes, with the CPU build of torch
IMPORTS = "from sentlab import Encoder, fit"


def running(line: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", line], check=True)


def installed() -> dict[str, int]:
    """Return the bytes of the package and of each that it needs, by name."""
    sizes: dict[str, int] = {}
    waiting = ["sentlab"]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in sizes:
            continue
        package = distribution(name)
        files = (Path(str(package.locate_file(file))) for file in package.files or ())
        sizes[name] = sum(file.stat().st_size for file in files if file.is_file())
        needs = [Requirement(line) for line in package.requires or ()]
        waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return sizes


def rows(args: argparse.Namespace) -> Iterator[Row]:
    seconds, _ = in_turn({OURS: running(IMPORTS), "torch": running("import torch")}, args.rounds)
    more = float(np.median(np.subtract(seconds[OURS], seconds["torch"])))
    yield {
        "work": IMPORTS,
        "threads": args.threads,
        "unit": "s",
        "figures": medians(seconds),
        "goal": f"{MOST} s more than import torch (it is {more:.2f} s)",
        "met": more <= MOST,
    }
    size = sum(installed().values())
    yield {
        "work": "Install sentlab",
        "threads": args.threads,
        "unit": "GB",
        "figures": {OURS: round(size / 1e9, 2)},
        "goal": f"less than {LARGEST / 1e9:g} GB, with the CPU build of torch",
        "met": size < LARGEST,
    }


if __name__ == "__main__":
    sys.exit(main(parser_of(__doc__), rows))
