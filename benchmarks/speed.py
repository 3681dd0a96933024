"""All that is timed, one program after the other, and which goals are missed.

    python benchmarks/speed.py [--out book/results/speed/cpu.json]

Each program runs in a process of its own, with one thread, and where it matters with two. Set SENTLAB_DATA for the real
texts. Nothing else should run on the machine. It takes about 35 minutes on two cores; exit status 1 says that a goal is
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

from experiments.cost import SpeedRecord, SpeedResults, SpeedRow, SpeedSettings
from experiments.records import Notes, place_of

PROGRAMS = (
    "start.py --threads 1",
    "train.py --threads 1",
    "processes.py --threads 1",
    "encode.py --threads 1",
    "paser_step.py --threads 1",
    "spans.py --threads 1",
    "index.py --threads 1 --words 1000000",
    "encode.py --threads 2",
    "spans.py --threads 2",
    "project.py --threads 2",
)

QUIET = {
    "TRANSFORMERS_VERBOSITY": "error",
    "TQDM_DISABLE": "1",
    "PYTHONWARNINGS": "ignore",
}  # a bar for each round tells nothing


def measured(program: str, scratch: Path) -> list[SpeedRow]:
    """The rows of a program, which also prints them.

    Raises:
        RuntimeError: it failed, which a goal that is missed is not.
    """
    file, *options = program.split()
    found = scratch / "rows.json"
    found.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).with_name(file)), *options, "--rows", str(found)]
    status = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": options[1]} | QUIET).returncode
    if not found.exists():
        raise RuntimeError(f"benchmarks/{program} ended with exit status {status} and gave no rows")
    return [SpeedRow.model_validate(row) for row in json.loads(found.read_text())]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a record to write")
    asked = parser.parse_args()
    began, rows, ran, failed = time.monotonic(), [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        for program in PROGRAMS:
            try:
                rows += measured(program, Path(scratch))
            except RuntimeError as error:
                failed.append(str(error))
                continue
            ran.append(program)
            if asked.out:  # after each program, so that an interruption loses one
                save(asked.out, ran, rows, time.monotonic() - began)
    missed = [row for row in rows if not row.met]
    print(f"{len(rows) - len(missed)} of {len(rows)} goals are met")
    for row in missed:
        print(f"missed: {row.work}, {row.threads} thread(s): {row.goal}")
    for error in failed:
        print(error, file=sys.stderr)
    return 1 if missed or failed else 0


def save(out: Path, programs: list[str], rows: list[SpeedRow], seconds: float) -> None:
    settings = SpeedSettings(programs=programs, data="SENTLAB_DATA" in os.environ)
    record = SpeedRecord(settings=settings, **place_of(out), results=SpeedResults(rows=rows))
    record.provenance = Notes().provenance(f"python benchmarks/speed.py --out {out.as_posix()}", seconds)
    record.save()


if __name__ == "__main__":
    sys.exit(main())
