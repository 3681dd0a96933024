"""The scorecard: what the papers claim, and what holds here.

    python -m experiments scorecard book/results/NAME.json ... [--again]

A claim says that ours score higher than theirs. It holds where the difference is significant, and fails where the
opposite is. Claims whose records have no results yet say so, and the others are tested.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np
import torch
from tqdm import tqdm

from experiments import published, records
from experiments import results_rows as found
from experiments.encoders import encoders_of, trained_rows
from experiments.leaderboard import finite, kept_evaluation
from experiments.notes import Notes
from experiments.records import ScorecardRecord
from experiments.settings_rows import Claim, Printed, RowSettings, ScorecardSettings, Versus
from experiments.significance import Drawn, Estimate, estimate, holm, items_of, resample
from experiments.sweep import NotRun, runs_of

SIGNIFICANT = 0.05


def scorecard(path: Path) -> ScorecardRecord:
    """Test every claim on every encoder, and write the verdicts into the record.

    Raises:
        ValueError: a side of a claim has no score on a test.
    """
    record, notes, began = records.read_as(ScorecardRecord, path), Notes(), time.monotonic()
    settings = record.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    corpora = {name: notes.load(name, "test") for name in _corpora(settings.claims)}
    found_of: dict[tuple[int, str], Estimate | None] = {}
    for claims in tqdm(on_same_tests(settings.claims), desc="tests", unit=" sets"):
        drawn = drawn_sides([claim for _, claim in claims], corpora, path, settings)
        for number, claim in claims:
            for encoder, pair in claim.sides.items():
                ours, theirs = (drawn.get(str(side)) for side in (pair.ours, pair.theirs))
                found_of[number, encoder] = estimate(ours, theirs) if ours and theirs else None
    rows = []
    tested = verdicts(found_of)
    for number, claim in enumerate(settings.claims):
        printed = None if claim.printed is None else round(printed_effect(claim.printed), 4)
        own = {encoder: tested[number, encoder] for encoder in claim.sides}
        for encoder, one in own.items():
            if one.verdict != found.NOT_RUN:
                own[encoder] = one.model_copy(update={"at_start": at_start(claim.sides[encoder], path)})
        about = claim.model_dump(include={"paper", "where", "text", "untested"})
        rows.append(found.ClaimResult(**about, printed=printed, found=own))
    record.results = found.ScorecardResults(claims=rows)
    record.provenance = notes.provenance(records.command_of(record, path), time.monotonic() - began)
    record.save(path)
    return record


def on_same_tests(claims: Sequence[Claim]) -> list[list[tuple[int, Claim]]]:
    """Put the claims that have the same tests together, each with its number."""
    together: dict[tuple[str, ...], list[tuple[int, Claim]]] = {}
    for number, claim in enumerate(claims):
        together.setdefault(tuple(map(str, claim.tests)), []).append((number, claim))
    return list(together.values())


def drawn_sides(
    claims: Sequence[Claim], corpora: Mapping[str, Any], path: Path, settings: ScorecardSettings
) -> dict[str, Drawn]:
    """Score both sides of claims on their common tests, all of them on the same drawn items.

    A side of several claims is scored once. Claims of which a side has no results yet are left out.
    """
    pairs = [(claim, (pair.ours, pair.theirs)) for claim in claims for pair in claim.sides.values()]
    ready = [(claim, pair) for claim, pair in pairs if all(has_run(side, path) for side in pair)]
    sides = {str(side): side for _, pair in ready for side in pair}
    if not sides:
        return {}
    claimed = {str(side): claim.text for claim, pair in reversed(ready) for side in pair}
    sources = {name: encoders_of(side, path, or_items=True) for name, side in sides.items()}
    tests = [
        {
            name: [
                kept_evaluation(source, side.pooling, test, corpora[test.corpus], settings.max_length)
                for source in sources[name]
            ]
            for name, side in sides.items()
        }
        for test in claims[0].tests
    ]
    for test, own in zip(claims[0].tests, tests, strict=True):
        for name, seeds in own.items():
            finite(seeds, f"{path}: {claimed[name]}: {name} on {test}")
    items = [items_of(corpora[test.corpus]) for test in claims[0].tests]
    random = np.random.default_rng(settings.seed)
    return resample(tests, settings.resamples, random, trained_rows(sides, path), items=items)


def has_run(side: RowSettings, beside: Path) -> bool:
    """Return whether a side's record has the results that its encoders come with; of a sweep, whether its own runs do.

    Raises:
        FileNotFoundError: there is no such record, as after a slip of the pen.
        ValueError: it is damaged, or has no runs.
    """
    place = records.path_of(side.record, beside)
    records.read(place)
    try:
        runs = runs_of(place, side.where)
    except NotRun:
        return False
    return all(run.done or run.settings.method is None for run in runs)


def at_start(pair: Versus, path: Path) -> Literal["ours", "theirs", "both"] | None:
    """Return the side whose seeds were all best on dev before any training; None where there is none."""

    def stayed(side: RowSettings) -> bool:
        runs = [run.results for run in runs_of(records.path_of(side.record, path), side.where) if run.settings.method]
        return bool(runs) and all(own and own.training and own.training.kept_step == 0 for own in runs)

    ours, theirs = stayed(pair.ours), stayed(pair.theirs)
    return "both" if ours and theirs else "ours" if ours else "theirs" if theirs else None


def verdicts(estimates: Mapping[tuple[int, str], Estimate | None]) -> dict[tuple[int, str], found.Tested]:
    """Return the verdict on each claim; Holm's method adjusts the p-values of all claims on one encoder.

    Args:
        estimates: (claim, encoder) -> the difference, or None where it is not known yet.
    """
    tested = {}
    for encoder in dict.fromkeys(encoder for _, encoder in estimates):
        own = {key: one for key, one in estimates.items() if key[1] == encoder}
        for (key, one), p in zip(own.items(), holm([one.p if one else None for one in own.values()]), strict=True):
            tested[key] = _tested(one, p)
    return tested


def _tested(one: Estimate | None, p: float | None) -> found.Tested:
    if one is None:
        return found.Tested(verdict=found.NOT_RUN)
    verdict: found.Verdict = "undecided"
    if p is not None and p < SIGNIFICANT:
        verdict = "holds" if one.value > 0 else "fails"
    numbers: dict[str, Any] = {"difference": one.value, "low": one.low, "high": one.high}
    rounded = {name: None if value is None else round(value, 2) for name, value in numbers.items()}
    return found.Tested(**rounded, p=None if p is None else round(p, 5), verdict=verdict)


def printed_effect(cells: Printed) -> float:
    """Compute the effect in the paper, x 100 where its scores are from 0 to 1.

    Raises:
        KeyError: there is no such cell.
    """
    within, column = cells.theirs_within or cells.within, cells.theirs_column or cells.column
    ours, theirs = _cell(cells, cells.ours, cells.column, cells.within), _cell(cells, cells.theirs, column, within)
    return cells.scale * (ours - theirs)


def _cell(cells: Printed, row: str, column: str | list[str], within: Mapping[str, str]) -> float:
    table = published.table(cells.paper, cells.table)
    for name, value in within.items():
        table = table[table[name] == value]
    return fmean(table.loc[row, [column] if isinstance(column, str) else column])


def sides_of(claim: Claim) -> list[RowSettings]:
    """List the recorded encoders that a claim compares."""
    return [side for pair in claim.sides.values() for side in (pair.ours, pair.theirs)]


def _corpora(claims: list[Claim]) -> list[str]:
    return list(dict.fromkeys(test.corpus for claim in claims for test in claim.tests))
