"""The scorecard: what the papers claim, and what holds here.

    python -m experiments scorecard NAME ... [--again]

A claim says that ours score higher than theirs. Where the difference is significant it holds, or fails if the sign is
the other one. Else there is no effect where two one-sided tests show that the difference is below `MARGIN`, an effect
smaller than the paper's where the interval excludes the printed one, and otherwise the claim is open. A claim of which
a side kept the weights that it began with was not tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import Field, PositiveInt
from tqdm import tqdm

from experiments import published
from experiments.leaderboard import RowSettings, TestSettings, encoders_of, score, trained_rows
from experiments.records import Notes, NotRun, Number, Record, Typed, get
from experiments.search import runs_of
from experiments.significance import MARGIN, Drawn, Estimate, benjamini_hochberg, estimate, resample

SIGNIFICANT = 0.05

Verdict = Literal["holds", "smaller than the paper's", "no effect", "open", "fails", "not tested", "not run yet"]
Side = Literal["ours", "theirs", "both"]
NOT_RUN: Verdict = "not run yet"
UNTESTED: Verdict = "not tested"
VERDICTS = get_args(Verdict)  # in the order in which tables and pictures show them
OWN = "control"  # how `where` begins of a comparison that no paper makes


class Versus(Typed):
    """Two recorded encoders: how much better are ours than theirs?"""

    ours: RowSettings
    theirs: RowSettings


class Printed(Typed):
    """Two cells of a paper's table, whose difference is the effect there (`experiments.published`)."""

    paper: str  # paper, table: such as `paser` and `1`
    table: str
    ours: str  # ours, theirs: rows of the table
    theirs: str
    column: str | list[str]  # of both rows; of several columns the mean counts
    theirs_column: str | None = None  # of the second row, where it is another one
    # column -> value, of the rows that count, where a table names rows twice
    within: dict[str, str] = Field(default_factory=dict)
    theirs_within: dict[str, str] | None = None  # of the second row, where it is in another part of the table
    scale: int = 1  # 100 for scores from 0 to 1


class About(Typed):
    """What a claim says, and where it comes from."""

    paper: str  # its short name
    where: str  # the table, figure or section
    text: str  # the claim in a sentence
    stand_in: str | None = None  # the test data that take the place of the paper's, as the texts or the measure differ
    untested: str | None = None  # why it cannot be tested here; null where it can

    @property
    def own(self) -> bool:
        """Whether it is a comparison of ours, which no paper makes."""
        return self.where.startswith(OWN)


class Claim(About):
    """What a paper says: ours score higher than theirs."""

    printed: Printed | None = None  # its effect in the paper; null where the paper gives no number
    tests: list[TestSettings] = Field(default_factory=list)  # on which we test it; scores are averaged
    sides: dict[str, Versus] = Field(default_factory=dict)  # encoder, such as `tiny` -> the two records


class ScorecardSettings(Typed):
    """The papers' claims, each tested on recorded encoders."""

    claims: list[Claim]  # in the order in which they are shown
    max_length: PositiveInt  # tokens of a text that every encoder reads
    picture: str | None = None  # the file of a picture of the verdicts; null: none
    resamples: PositiveInt  # how often items are drawn
    seed: int  # of what is drawn
    threads: PositiveInt | None = None  # CPU threads


class Tested(Typed):
    """A claim on one encoder. The method of Benjamini and Hochberg adjusts p within the claims of a paper on it."""

    __test__ = False  # no test of pytest

    difference: Number | None = None  # difference, low, high: of the scores, with the 95% interval
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None  # of no difference
    verdict: Verdict
    without_first: Verdict | None = None  # the verdict without the first seed, which has chosen the settings
    at_start: Side | None = None  # the side most of whose seeds kept step 0, as if untrained; null: neither


class ClaimResult(About):
    """A claim, its effect in the paper, and encoder -> what we found."""

    printed: Number | None = None
    found: dict[str, Tested] = Field(default_factory=dict)

    def verdict(self, encoder: str) -> str:
        """Return the verdict on one encoder, one of `VERDICTS`."""
        return self.found[encoder].verdict if encoder in self.found else UNTESTED


class ScorecardResults(Typed):
    claims: list[ClaimResult]

    def counts(self, encoder: str) -> pd.DataFrame:
        """Count each paper's own claims with each verdict: one row per paper, in order, and the columns `VERDICTS`."""
        rows = [(claim.paper, claim.verdict(encoder)) for claim in self.claims if not claim.own]
        table = pd.DataFrame(rows, columns=["paper", "verdict"]).value_counts().unstack(fill_value=0)
        papers = list(dict.fromkeys(claim.paper for claim in self.claims))
        return table.reindex(index=papers, columns=list(VERDICTS), fill_value=0)


class ScorecardRecord(Record):
    settings: ScorecardSettings
    results: ScorecardResults | None = None

    @property
    def done(self) -> bool:
        """Whether every claim was tested; those whose records have no results yet were not, or are new."""
        claims = [] if self.results is None else self.results.claims
        tested = [(claim.text, claim.found.keys()) for claim in claims]
        waiting = any(test.verdict == NOT_RUN for claim in claims for test in claim.found.values())
        return not waiting and tested == [(claim.text, claim.sides.keys()) for claim in self.settings.claims]


def scorecard(record: ScorecardRecord) -> ScorecardRecord:
    """Test every claim on every encoder, and write the verdicts into the record."""
    notes, settings, place = Notes(record.settings.threads), record.settings, record.folder
    together: dict[tuple[str, ...], list[Claim]] = {}  # names of tests -> the claims on them
    for claim in settings.claims:
        together.setdefault(tuple(map(str, claim.tests)), []).append(claim)
    pairs: dict[tuple[str, str], tuple[Drawn, Drawn] | None] = {}
    stayed: dict[tuple[str, str], Side | None] = {}
    for claims in tqdm(together.values(), desc="tests", unit=" sets"):
        drawn = drawn_sides(claims, notes, place, settings)
        for claim in claims:
            for encoder, pair in claim.sides.items():
                ours, theirs = (drawn.get(str(side)) for side in (pair.ours, pair.theirs))
                pairs[claim.text, encoder] = (ours, theirs) if ours and theirs else None
                stayed[claim.text, encoder] = at_start(pair, place) if ours and theirs else None
    printed = {claim.text: printed_effect(claim.printed) if claim.printed else None for claim in settings.claims}
    sizes = printed | {claim.text: None for claim in settings.claims if claim.stand_in}  # those of another test
    tested = verdicts(settings.claims, sizes, pairs, stayed)
    rows = []
    for claim in settings.claims:
        about = claim.model_dump(include={*About.model_fields})
        effect, found = printed[claim.text], {encoder: tested[claim.text, encoder] for encoder in claim.sides}
        rows.append(ClaimResult(**about, printed=None if effect is None else round(effect, 4), found=found))
    return record.finish(ScorecardResults(claims=rows), notes)


def drawn_sides(claims: Sequence[Claim], notes: Notes, place: Path, settings: ScorecardSettings) -> dict[str, Drawn]:
    """Score both sides of claims on their common tests, all of them on the same drawn items.

    A side of several claims is scored once. Claims of which a side has no results yet are left out.
    """
    pairs = [(pair.ours, pair.theirs) for claim in claims for pair in claim.sides.values()]
    sides = {str(side): side for pair in pairs if all(has_run(side, place) for side in pair) for side in pair}
    if not sides:
        return {}
    runs = {name: (side, encoders_of(side, place)) for name, side in sides.items()}
    tests, items = zip(*(score(test, runs, settings.max_length, notes) for test in claims[0].tests), strict=True)
    random = np.random.default_rng(settings.seed)
    return resample(tests, settings.resamples, random, trained_rows(sides, place), items=items)


def has_run(side: RowSettings, place: Path) -> bool:
    """Return whether a side's record has the results that its encoders come with; of a sweep, whether its runs do."""
    try:
        runs = runs_of(get(side.record, place), side.where)
    except NotRun:
        return False
    return all(run.done or run.settings.method is None for run in runs)


def at_start(pair: Versus, place: Path) -> Side | None:
    """Return the side of which most seeds were best on dev before any training; None where there is none."""

    def stayed(side: RowSettings) -> bool:
        runs = [run.results for run in runs_of(get(side.record, place), side.where) if run.settings.method]
        return sum(results.kept_step == 0 for results in runs if results) > len(runs) / 2

    ours, theirs = stayed(pair.ours), stayed(pair.theirs)
    return "both" if ours and theirs else "ours" if ours else "theirs" if theirs else None


def verdicts(
    claims: Sequence[Claim],
    printed: Mapping[str, float | None],
    pairs: Mapping[tuple[str, str], tuple[Drawn, Drawn] | None],
    stayed: Mapping[tuple[str, str], Side | None],
) -> dict[tuple[str, str], Tested]:
    """Return the verdicts on claims, (text, encoder) -> what was found.

    Benjamini and Hochberg's method adjusts p within a paper's claims on an encoder, and within our own beside it.

    `claims`: all of the scorecard. `printed`: text -> the effect in the paper. `pairs`: (text, encoder) -> both sides,
    or None where there are no results yet. `stayed`: (text, encoder) -> the side never trained, see `at_start`.
    """
    families: dict[tuple[str, str, bool], list[tuple[str, str]]] = {}
    for claim in claims:
        for key in [key for key in pairs if key[0] == claim.text]:
            families.setdefault((key[1], claim.paper, claim.own), []).append(key)
    results = {key: Tested(verdict=NOT_RUN) for key in pairs}
    for family in families.values():
        tested = {key: sides for key in family if (sides := pairs[key]) and not stayed.get(key)}
        found: dict[tuple[str, str], list[tuple[Estimate, float | None, Verdict]]] = {
            key: [(estimate(*sides), None, UNTESTED)] for key in family if (sides := pairs[key]) and key not in tested
        }
        for kept in (slice(None), slice(1, None)):  # all seeds, and without the first
            estimates = [estimate(*(without_seeds(side, kept) for side in sides)) for sides in tested.values()]
            adjusted = benjamini_hochberg([one.p for one in estimates])
            for key, one, p in zip(tested, estimates, adjusted, strict=True):
                found.setdefault(key, []).append((one, p, verdict(one, p, printed[key[0]])))
        for key, ((one, p, word), *without_first) in found.items():
            value, low, high = one.rounded()
            about: dict[str, Any] = {"difference": value, "low": low, "high": high, "p": p and float(f"{p:.2g}")}
            about |= {"verdict": word, "at_start": stayed.get(key)}
            about |= {"without_first": without_first[0][2]} if without_first else {}
            results[key] = Tested.model_validate(about)
    return results


def without_seeds(side: Drawn, kept: slice) -> Drawn:
    """Return a side with some of its seeds; if it has one only, that stays."""
    return side if len(side.seeds) == 1 else replace(side, seeds=side.seeds[kept])


def verdict(effect: Estimate, p: float | None, printed: float | None) -> Verdict:
    """Return what an effect, with its adjusted p, says of a claim, whose effect in the paper is `printed`."""
    if p is not None and p < SIGNIFICANT:
        return "holds" if effect.value > 0 else "fails"
    if effect.bound is not None and effect.bound < MARGIN:
        return "no effect"
    if printed is not None and effect.high is not None and printed > 0 and effect.high < printed:
        return "smaller than the paper's"
    return "open"


def printed_effect(cells: Printed) -> float:
    """Compute the effect in the paper, x 100 where its scores are from 0 to 1."""

    def cell(row: str, column: str | list[str], within: Mapping[str, str]) -> float:
        table = published.table(cells.paper, cells.table)
        for name, value in within.items():
            table = table[table[name] == value]
        return fmean(table.loc[row, [column] if isinstance(column, str) else column])

    theirs = cell(cells.theirs, cells.theirs_column or cells.column, cells.theirs_within or cells.within)
    return cells.scale * (cell(cells.ours, cells.column, cells.within) - theirs)
