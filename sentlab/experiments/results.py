"""What the records of each kind have found: typed results, and where they come from."""

from __future__ import annotations

from statistics import fmean
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from sentlab.evaluation.mining import MAX_SIZE
from sentlab.experiments.settings import Typed
from sentlab.experiments.settings_rows import RowSettings, WilliamsRow, WilliamsTable

Number = int | float
When = Literal["before", "after"]


class CorpusNote(Typed):
    """What a corpus was when it was read."""

    rows: int
    words: int | None = None
    fingerprint: str
    source: str
    left_out: dict[str, int] = Field(default_factory=dict)


class EncoderNote(Typed):
    """The encoder that a run began with."""

    source: str
    fingerprint: str
    dim: int


class Provenance(Typed):
    """Where the numbers of a record come from.

    Args:
        command: as it was typed.
        device, versions, date, seconds: on what, with which libraries, when and how long.
        data: corpus and split -> rows and fingerprint.
        encoder: that the run began with.
    """

    command: str
    device: str
    versions: dict[str, str]
    date: str
    seconds: Number
    data: dict[str, CorpusNote] = Field(default_factory=dict)
    encoder: EncoderNote | None = None


class GeometryResult(Typed):
    """`sentlab.evaluation.sts.Geometry` of the test pairs of a corpus."""

    corpus: str
    alignment: float
    uniformity: float
    mean: list[float]
    variance: list[float]
    counts: list[list[int]]


class Measured(Typed):
    """Pooling -> task -> score x 100, and pooling -> geometry. The pooling that is trained comes first."""

    scores: dict[str, dict[str, Number]]
    geometry: dict[str, GeometryResult] = Field(default_factory=dict)

    @property
    def own(self) -> dict[str, Number]:
        """The scores of the encoder's own pooling."""
        return next(iter(self.scores.values()))


class DevScore(Typed):
    """The dev score at a step of training."""

    step: int
    score: Number


class SeenGeometry(Typed):
    """Alignment and uniformity at a step of training."""

    step: int
    alignment: float
    uniformity: float


class Training(Typed):
    """The course of a training, and the step whose weights were kept."""

    dev: list[DevScore] = Field(default_factory=list)
    geometry: list[SeenGeometry] = Field(default_factory=list)
    kept_step: int | None = None


class PhraseCounts(Typed):
    """Of the phrases in sentences drawn at random, how many the decoder gives back word by word."""

    sentences: int
    phrases: int
    exact: int
    beams: int


class Reconstructed(Typed):
    """A masked phrase of a sentence, and what the decoder gives for it."""

    sentence: str
    masked: str
    words: str


class Reconstruction(Typed):
    """What PaSeR's decoder makes of masked phrases: of corpora, and of the sentences of the paper's Table 7."""

    corpora: dict[str, PhraseCounts] = Field(default_factory=dict)
    table_7: list[Reconstructed] = Field(default_factory=list)


class Examples(Typed):
    """Examples of the papers.

    Args:
        nearest_questions: PaSeR's Table 6: query -> the three nearest questions of the table.
        phrase_cosines: Universal's Table 1: the cosine of each pair of phrases, in its order.
    """

    nearest_questions: dict[str, list[str]] | None = None
    phrase_cosines: list[float] | None = None


class RunResults(Typed):
    """What a run found: before training, after it, and where a dev score chose the step also after the last step."""

    before: Measured
    after: Measured | None = None
    last: Measured | None = None
    training: Training | None = None
    reconstruction: Reconstruction | None = None
    examples: Examples | None = None

    def at(self, when: When) -> Measured:
        """What was measured before or after training.

        Raises:
            KeyError: nothing was trained.
        """
        found = self.before if when == "before" else self.after
        if found is None:
            raise KeyError(f"nothing was measured {when} training, for nothing was trained")
        return found

    @property
    def final(self) -> Measured:
        """After training, or of an encoder that was only evaluated."""
        return self.after or self.before

    @property
    def kept_step(self) -> int | None:
        """The step whose weights were kept; None where nothing was trained."""
        return self.training.kept_step if self.training else None


class Trial(Typed):
    """A setting that was tried.

    Args:
        values: setting -> value.
        steps: of the run.
        dev: its best dev score.
        step: where that was.
        last: the dev score after the last step.
        rising: the best score is in the last third of the steps, and training longer might find a better one.
        seconds: of the run.
    """

    values: dict[str, Any]
    steps: int
    dev: Number
    step: int
    last: Number
    rising: bool
    seconds: Number


class SearchResults(Typed):
    """What was tried, what was chosen, and the runs with it.

    Args:
        trials: in order; those with fewer steps first.
        chosen: the setting with the best dev score of the runs in full; None while the search goes on.
        edges: settings whose chosen value is at an end of its grid that cannot grow, such as a dropout of 0.
        runs: names of the runs in full with the chosen setting, one for each seed.
    """

    trials: list[Trial] = Field(default_factory=list)
    chosen: dict[str, Any] | None = None
    edges: list[str] = Field(default_factory=list)
    runs: list[str] = Field(default_factory=list)


class Difference(Typed):
    """How much better ours are than theirs, with the 95% interval and p.

    There is no interval where a trained row has one seed only. Holm's method adjusts the p-values of a record.
    """

    ours: RowSettings
    theirs: RowSettings
    difference: Number
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None


class ComparisonResults(Typed):
    """The differences of the average over the test sets."""

    comparisons: list[Difference]

    def table(self) -> pd.DataFrame:
        """`ours - theirs` -> difference, low, high."""
        rows = {f"{row.ours} - {row.theirs}": row for row in self.comparisons}
        return pd.DataFrame({name: [row.difference, row.low, row.high] for name, row in rows.items()},
                            index=["difference", "low", "high"]).T  # fmt: skip


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
        """The last table of a set-up with that longest span: row -> pearson, spearman, found, difference, t, p.

        Raises:
            KeyError: there is no such table.
        """
        tables = [table for table in self.tables if (table.setup, table.max_size) == (setup, max_size)]
        if not tables:
            raise KeyError(f"no table of {setup} with spans of up to {max_size} words")
        keys = ["pearson", "spearman", "found", "difference", "t", "p"]
        return pd.DataFrame({str(row): {key: getattr(row, key) for key in keys} for row in tables[-1].rows}).T


class BoardRow(Typed):
    """A row of a column: mean over tests and seeds, spread over seeds, 95% interval, difference from the best.

    There is no interval and no p where a trained row has one seed only. Holm's method adjusts the p of a column.
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
        p: row -> each later row -> p of the difference of the two, not adjusted; None where it is not known.
    """

    rows: dict[str, BoardRow]
    best: str
    p: dict[str, dict[str, Number | None]]

    def between(self, a: str, b: str) -> Number | None:
        """P of the difference of two rows, not adjusted."""
        return self.p[a][b] if b in self.p[a] else self.p[b][a]


Verdict = Literal["holds", "fails", "undecided", "not run yet"]


class Tested(Typed):
    """A claim on one encoder. Holm's method adjusts the p-values of all claims on it.

    Args:
        difference, low, high: of the scores, with the 95% interval.
        p: of no difference.
        verdict: `holds` or `fails` where p is below 0.05, else `undecided`.
    """

    difference: Number | None = None
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None
    verdict: Verdict


class ClaimResult(Typed):
    """A claim, its effect in the paper, and encoder -> what we found."""

    paper: str
    where: str
    text: str
    printed: Number | None = None
    untested: str | None = None
    found: dict[str, Tested] = Field(default_factory=dict)


class ScorecardResults(Typed):
    """All claims."""

    claims: list[ClaimResult]

    def counts(self) -> pd.DataFrame:
        """Encoder -> how many claims have each verdict."""
        rows = [(encoder, one.verdict) for claim in self.claims for encoder, one in claim.found.items()]
        return pd.crosstab(*zip(*rows, strict=True)) if rows else pd.DataFrame()


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
        """The mean score over seeds, a row per encoder and a column per probability."""
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
