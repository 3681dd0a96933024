"""What the imports of a session take beyond `import torch`, in processes of their own.

python benchmarks/start.py [--rounds 5]
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
from experiments.cost import SpeedRow
from side_by_side import OURS, alone, in_turn, parser_of, settled, told

MOST = 0.3  # seconds over `import torch`
IMPORTS = "from sentlab import Encoder, fit"
MEMORY = (
    f"{IMPORTS}; import re, pathlib; "
    "print(int(re.search(r'VmHWM:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[1]) / 1024)"
)


def running(line: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", line], check=True)


def rows(rounds: int) -> Iterator[SpeedRow]:
    seconds, _ = in_turn({OURS: running(IMPORTS), "torch": running("import torch")}, rounds)
    more = float(np.median(np.subtract(seconds[OURS], seconds["torch"])))
    yield SpeedRow(
        work=IMPORTS,
        threads=1,
        unit="s",
        figures={name: round(float(np.median(times)), 3) for name, times in seconds.items()},
        goal=f"{MOST} s more than import torch (it is {more:.2f} s)",
        met=more <= MOST,
        memory=round(alone(["-c", MEMORY])),
    )


def main() -> int:
    asked = settled(parser_of(__doc__))
    return told(rows(asked.rounds), asked)


if __name__ == "__main__":
    sys.exit(main())
