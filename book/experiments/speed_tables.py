"""Tables of how fast the package is beside others."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments import tables
from experiments.records import SpeedRecord
from experiments.results_rows import SpeedRow


def table(record: SpeedRecord, *begins: str) -> Any:
    """Show some rows: the speed or time here and elsewhere, how many times as fast, the memory and the goal.

    Args:
        record: with results.
        begins: the first words of the rows to show, such as `Encode`.

    Raises:
        ValueError: the record has no results.
        KeyError: no row begins so; names the first words that there are.

    Example:
        >>> table(records.get("speed/cpu"), "Encode")                                         # doctest: +SKIP
    """
    if record.results is None:
        raise ValueError(f"{record.name} has no results yet: python benchmarks/speed.py --out FILE")
    found = [row for row in record.results.rows if row.work.startswith(begins)]
    if not found:
        known = dict.fromkeys(row.work.split()[0] for row in record.results.rows)
        raise KeyError(f"no row of {record.name} begins with {' or '.join(begins)}; there are {', '.join(known)}")
    made = pd.DataFrame([_cells(row) for row in found])
    device = record.source.device.rsplit(",", 1)[0]  # each row has its own number of threads
    shown = tables.left(made, f"Recorded on {record.source.date}, {device}")
    named = shown.format_index(lambda place: found[place].work)  # by number, because two rows may do the same work
    return named.map(tables.coloured, subset=["verdict"])


def _cells(row: SpeedRow) -> dict[str, str]:
    (_, ours), *others = row.figures.items()
    return {
        "threads": str(row.threads),
        "sentlab": f"{ours:,.4g} {row.unit}",
        "beside it": "; ".join(f"{name}: {value:,.4g}" for name, value in others) or "–",
        "times as fast as the first beside it": "–" if row.ratio is None else f"{row.ratio:.1f}",
        "memory, MiB": "–" if row.memory is None else f"{row.memory:,.0f}",
        "verdict": "met" if row.met else "missed",
        "goal": row.goal,
    }
