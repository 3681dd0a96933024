"""All that is timed, one program after the other, and which goals are missed.

    python benchmarks/speed.py [--out book/results/speed/cpu.json]

Each program runs in a process of its own, with one thread, and where it matters with two. Set SENTLAB_DATA for the real
texts. Nothing else should run on the machine. It takes half an hour on two cores; exit status 1 says that a goal is
missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.records import Benchmark, Notes, place_of
from side_by_side import Row

PROGRAMS = (
    "start.py --threads 1",
    "train.py --threads 1",
    "encode.py --threads 1",
    "spans.py --threads 1",
    "index.py --threads 1 --words 1000000",
    "encode.py --threads 2",
    "spans.py --threads 2",
)
QUIET = {"TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}


def measured(program: str, scratch: Path) -> list[Row]:
    """Return the rows of a program, which also prints them.

    Raises:
        RuntimeError: it failed, which a goal that is missed is not.
    """
    file, *options = program.split()
    rows = scratch / "rows.json"
    rows.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).with_name(file)), *options, "--rows", str(rows)]
    status = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": options[1]} | QUIET).returncode
    if not rows.exists():
        raise RuntimeError(f"benchmarks/{program} ended with exit status {status} and gave no rows")
    return json.loads(rows.read_text())


def save(out: Path, programs: list[str], rows: list[Row], seconds: float) -> None:
    settings = {"programs": programs, "data": "SENTLAB_DATA" in os.environ}
    record = Benchmark(kind="speed", settings=settings, **place_of(out), results={"rows": rows})
    record.provenance = Notes().provenance(f"python benchmarks/speed.py --out {out.as_posix()}", seconds)
    record.save()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a record to write")
    args = parser.parse_args()
    began, rows, done, failed = time.monotonic(), [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        for program in PROGRAMS:
            try:
                rows += measured(program, Path(scratch))
            except RuntimeError as error:
                failed.append(str(error))
                continue
            done.append(program)
            if args.out:  # after each program, so that an interruption loses one
                save(args.out, done, rows, time.monotonic() - began)
    missed = [row for row in rows if not row["met"]]
    print(f"{len(rows) - len(missed)} of {len(rows)} goals are met")
    for row in missed:
        print(f"missed: {row['work']}, {row['threads']} thread(s): {row['goal']}")
    print(*failed, sep="\n", end="", file=sys.stderr)
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
