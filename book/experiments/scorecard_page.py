"""The scorecard for a page: what the papers claim, their effects and ours, and the verdicts."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments import tables
from experiments.records import ScorecardRecord
from experiments.results_rows import NOT_RUN, ClaimResult, Tested


def claims(record: ScorecardRecord, paper: str) -> list[ClaimResult]:
    """Return the results of a paper's claims.

    Args:
        record: with results.
        paper: as the record names it, such as `PaSeR`.

    Raises:
        ValueError: the record has no results.
        KeyError: it has no claim of that paper; names the papers that it has.
    """
    if record.results is None:
        raise ValueError(f"{record.name} has no results yet: python -m experiments scorecard FILE")
    found = [claim for claim in record.results.claims if claim.paper == paper]
    if not found:
        known = dict.fromkeys(claim.paper for claim in record.results.claims)
        raise KeyError(f"{record.name} has no claims of {paper!r}; there are {', '.join(known)}")
    return found


def table(record: ScorecardRecord, paper: str) -> Any:
    """Show a paper's claims: the effect that it prints, and for each encoder ours with its 95% interval, and a verdict.

    Args:
        record: with results.
        paper: as the record names it, such as `PaSeR`.

    Example:
        >>> table(records.get("scorecard/claims"), "PaSeR")                                    # doctest: +SKIP
    """
    asked = {claim.text: claim for claim in record.settings.claims if claim.paper == paper}
    shown = claims(record, paper)
    encoders = list(dict.fromkeys(encoder for claim in shown for encoder in claim.found))
    rows = []
    for claim in shown:
        row = {
            "claim": f"{claim.text} <em>({claim.where})</em>",
            "paper": "–" if claim.printed is None else f"{claim.printed:+.1f}",
        }
        for encoder in encoders:
            sides = asked[claim.text].sides.get(encoder)
            row[encoder] = _effect(claim.found[encoder], sides.ours.record) if sides else "–"
            row[f"on {encoder}"] = _verdict(claim, encoder) if sides or claim.untested else "–"
        rows.append(row)
    caption = f"{paper}: effects, scores × 100"
    verdicts = [f"on {encoder}" for encoder in encoders]
    return tables.left(pd.DataFrame(rows), caption).hide(axis="index").map(tables.coloured, subset=verdicts)


def untested(record: ScorecardRecord) -> dict[str, str]:
    """Return the claims that cannot be tested here, each with the reason."""
    return {f"{claim.paper}: {claim.text}": claim.untested for claim in record.settings.claims if claim.untested}


def _verdict(claim: ClaimResult, encoder: str) -> str:
    """The verdict, and which side its training did not help."""
    which = claim.found[encoder].at_start if encoder in claim.found else None
    sides = {"ours": "first side", "theirs": "other side", "both": "both sides"}
    return claim.verdict(encoder) + (f" ({sides[which]} at step 0)" if which else "")


def _effect(found: Tested, name: str) -> str:
    if found.verdict == NOT_RUN or found.difference is None:
        return "–"
    number = tables.linked(f"{found.difference:+.1f}", name)
    return number if found.low is None else f"{number} [{found.low:+.1f}, {found.high:+.1f}]"
