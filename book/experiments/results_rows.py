"""What the records have found that compare recorded encoders, row by row: tests, leaderboards, costs, maps."""

from __future__ import annotations

from statistics import fmean
from typing import Literal, get_args

import pandas as pd
from pydantic import Field, PositiveInt
from sentlab.evaluation.mining import MAX_SIZE

from experiments.results import Number
from experiments.settings import Typed
from experiments.settings_rows import ScorecardSettings, WilliamsRow, WilliamsTable


class WilliamsRowResult(WilliamsRow):
    """Correlations and share of spans found, x 100, and against the best row the difference with t and p."""

    pearson: Number
    spearman: Number
    found: Number | None = None
    difference: Number
    t: Number
    p: Number


class WilliamsTableResult(WilliamsTable):
    """A table with its numbers."""

    rows: list[WilliamsRowResult]  # type: ignore[assignment]


class WilliamsResults(Typed):
    """All tables."""

    tables: list[WilliamsTableResult]

    def table(self, setup: str, max_size: int = MAX_SIZE) -> pd.DataFrame:
        """Return the last table of a set-up with that longest span: row -> pearson, spearman, found, difference, t, p.

        Raises:
            KeyError: there is no such table.
        """
        tables = [table for table in self.tables if (table.setup, table.max_size) == (setup, max_size)]
        if not tables:
            raise KeyError(f"no table of {setup} with spans of up to {max_size} words")
        keys = ["pearson", "spearman", "found", "difference", "t", "p"]
        return pd.DataFrame({str(row): {key: getattr(row, key) for key in keys} for row in tables[-1].rows}).T


class Apart(Typed):
    """How much one row is above another, with the 95% interval and p; None where one seed cannot say.

    Holm's method adjusts p for all pairs of a column.
    """

    value: Number
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None

    def reversed(self) -> Apart:
        """Return how much the other row is above this one."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return Apart(value=-self.value, low=low, high=high, p=self.p)


class BoardRow(Typed):
    """A row of a column: mean over tests and seeds, spread over seeds, 95% interval, difference from the best.

    There is no interval and no p where a trained row has one seed only. Holm's method adjusts p for all pairs of a
    column.
    """

    score: Number
    low: Number | None = None
    high: Number | None = None
    spread: Number | None = None
    difference: Number | None = None
    p: Number | None = None


class BoardColumn(Typed):
    """A column of a leaderboard.

    Args:
        rows: row -> score and interval.
        best: the row with the highest score.
        differences: row -> each later row -> how much the first is above the second.
    """

    rows: dict[str, BoardRow]
    best: str
    differences: dict[str, dict[str, Apart]]

    def between(self, a: str, b: str) -> Apart:
        """Return how much row `a` is above row `b`."""
        return self.differences[a][b] if b in self.differences[a] else self.differences[b][a].reversed()


Verdict = Literal["holds", "undecided", "fails", "not run yet"]
NOT_RUN: Verdict = "not run yet"
UNTESTED = "cannot be tested"
VERDICTS = (*get_args(Verdict), UNTESTED)  # in the order in which tables and pictures show them


class Tested(Typed):
    """A claim on one encoder. Holm's method adjusts the p-values of all claims on it.

    Args:
        difference, low, high: of the scores, with the 95% interval.
        p: of no difference.
        verdict: `holds` or `fails` where p is below 0.05, else `undecided`.
        at_start: the side whose seeds all kept step 0, as if untrained. Null: neither.
    """

    __test__ = False  # no test of pytest

    difference: Number | None = None
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None
    verdict: Verdict
    at_start: Literal["ours", "theirs", "both"] | None = None


class ClaimResult(Typed):
    """A claim, its effect in the paper, and encoder -> what we found."""

    paper: str
    where: str
    text: str
    printed: Number | None = None
    untested: str | None = None
    found: dict[str, Tested] = Field(default_factory=dict)

    def verdict(self, encoder: str) -> str:
        """Return the verdict on one encoder, one of `VERDICTS`."""
        return self.found[encoder].verdict if encoder in self.found else UNTESTED


class ScorecardResults(Typed):
    """All claims."""

    claims: list[ClaimResult]

    @property
    def waiting(self) -> list[ClaimResult]:
        """The claims that are not run yet on some encoder."""
        return [claim for claim in self.claims if any(one.verdict == NOT_RUN for one in claim.found.values())]

    def answer(self, settings: ScorecardSettings) -> bool:
        """Return whether every claim of these settings was tested on every encoder."""
        tested = [(claim.text, claim.found.keys()) for claim in self.claims]
        return not self.waiting and tested == [(claim.text, claim.sides.keys()) for claim in settings.claims]

    def counts(self, encoder: str) -> pd.DataFrame:
        """Count the claims with each verdict: one row per paper, in order, and the columns `VERDICTS`."""
        rows = [(claim.paper, claim.verdict(encoder)) for claim in self.claims]
        table = pd.DataFrame(rows, columns=["paper", "verdict"]).value_counts().unstack(fill_value=0)
        papers = list(dict.fromkeys(claim.paper for claim in self.claims))
        return table.reindex(index=papers, columns=list(VERDICTS), fill_value=0)


class LeaderboardResults(Typed):
    """Columns, and test -> row -> the score of each seed."""

    columns: dict[str, BoardColumn]
    tests: dict[str, dict[str, list[Number]]]


class TrainingCost(Typed):
    """Training without evaluation; memory is what it adds to the process at its peak."""

    seconds_a_step: Number | None = None
    minutes: Number
    mib: Number


class EncodingCost(Typed):
    """Encoding in the fastest pass, and the memory that it adds at its peak."""

    sentences_a_second: Number
    mib: Number


class CostResults(Typed):
    """Row -> cost. A row that was only evaluated has no training."""

    training: dict[str, TrainingCost]
    encoding: dict[str, EncodingCost]


class UnderDropout(Typed):
    """What is left of one encoder. The lists have a number for each seed.

    Args:
        masked_lm: loss in nats per masked token without dropout; none where the checkpoint has no head.
        scores: pooling -> probability of dropout -> Spearman x 100.
    """

    masked_lm: list[Number] | None = None
    scores: dict[str, dict[float, list[Number]]]


class DropoutResults(Typed):
    """Encoder -> what dropout leaves of it."""

    encoders: dict[str, UnderDropout]

    def table(self, pooling: str) -> pd.DataFrame:
        """Compute the mean score over seeds, a row per encoder and a column per probability."""
        rows = {name: {p: fmean(x) for p, x in own.scores[pooling].items()} for name, own in self.encoders.items()}
        return pd.DataFrame(rows).T


class MapNumbers(Typed):
    """Neighbours of the same scene and topic, and those that a plane keeps, in %."""

    same_scene: Number
    same_topic: Number
    kept_by_pca: Number
    kept_by_umap: Number


class MapDrawing(Typed):
    """What a picture of one encoder needs.

    Args:
        share: of the variance that is in PCA's plane.
        planes: `PCA` and `UMAP`, (2, n) each.
        neighbours: nearest first, (k, n).
        cosines: of these, (k, n).
    """

    share: Number
    planes: dict[str, list[list[Number]]]
    neighbours: list[list[int]]
    cosines: list[list[Number]]


class MapResults(Typed):
    """The sentences with number of topic and scene, and label -> numbers and drawing."""

    numbers: dict[str, MapNumbers]
    texts: list[str]
    topic: list[int]
    scene: list[int]
    drawings: dict[str, MapDrawing]


class SpanHit(Typed):
    """A span that the index found, with the text around it."""

    similarity: Number
    words: str
    before: str
    after: str
    file: str


class ParagraphHit(Typed):
    """The beginning of a paragraph that was found."""

    score: Number
    words: str
    file: str


class LibraryHits(Typed):
    """What each way finds for a phrase."""

    index: list[SpanHit]
    paragraphs: ParagraphHit
    bm25: ParagraphHit


class LibraryResults(Typed):
    """Way -> measurement -> number, and phrase -> what was found."""

    ways: dict[str, dict[str, Number]]
    hits: dict[str, LibraryHits]


class SpeedRow(Typed):
    """Some work, how fast it is done here, and how fast by others.

    Args:
        work: what is done.
        threads: of the CPU.
        unit: of the figures.
        figures: name -> speed or time. `sentlab` comes first.
        ratio: how many times as fast as the first of the others. None where there is nothing to compare with.
        goal: what was wanted.
        met: whether that was reached.
        memory: MiB that the work adds to the peak of a process; of `make`, the peak of its largest process. None where
            it was not measured.
    """

    work: str
    threads: PositiveInt
    unit: str
    figures: dict[str, Number]
    ratio: Number | None = None
    goal: str
    met: bool
    memory: Number | None = None


class SpeedResults(Typed):
    """All rows."""

    rows: list[SpeedRow]
