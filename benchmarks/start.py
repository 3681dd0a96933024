"""What the imports of a session take beyond `import torch`, in processes of their own.

python benchmarks/start.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
from side_by_side import OURS, Row, in_turn, main, medians, parser_of

MOST = 0.3  # seconds over `import torch`
IMPORTS = "from sentlab import Encoder, fit"


def running(line: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", line], check=True)


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


if __name__ == "__main__":
    sys.exit(main(parser_of(__doc__), rows))
