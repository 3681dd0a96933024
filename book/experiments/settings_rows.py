"""What records ask for that compare recorded encoders, row by row: tests between them, leaderboards, costs, maps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator
from sentlab.evaluation.mining import MAX_SIZE, Setup

from experiments.settings import EncoderSettings, Typed


class RowSettings(Typed):
    """A recorded encoder. Of a sweep every run counts as a seed.

    Args:
        record: its name.
        where: of a sweep, setting -> value: only the runs with these values count.
        pooling: null is the encoder's own.
    """

    record: str
    where: dict[str, Any] = Field(default_factory=dict)
    pooling: str | None = None

    @property
    def trained(self) -> str:
        """Which runs it is of."""
        return " ".join([self.record, *(f"{name}={value}" for name, value in self.where.items())])

    def __str__(self) -> str:
        return f"{self.trained} {self.pooling}" if self.pooling else self.trained


class Versus(Typed):
    """Two recorded encoders: how much better are ours than theirs?"""

    ours: RowSettings
    theirs: RowSettings


class WilliamsRow(Typed):
    """One way to find phrases in contexts.

    Args:
        record: of the encoder; of a sweep the first run. Null for bm25.
        setup: a set-up other than that of its table.
        vectors: `contextual`; `words`: the mean of the encoder's word embeddings; `bm25`: no vectors.
    """

    record: str | None = None
    setup: Setup | None = None
    vectors: Literal["contextual", "words", "bm25"] = "contextual"

    @model_validator(mode="after")
    def _check(self) -> WilliamsRow:
        if (self.record is None) != (self.vectors == "bm25"):
            raise ValueError("a row names a record, or has the vectors bm25 and no record")
        return self

    def __str__(self) -> str:
        parts = (self.record, self.setup, self.vectors if self.vectors != "contextual" else None)
        return " ".join(part for part in parts if part)


class WilliamsTable(Typed):
    """Rows that are compared with the best of them, in one set-up."""

    setup: Setup
    max_size: PositiveInt = MAX_SIZE
    rows: list[WilliamsRow]

    def takes_kept(self, row: WilliamsRow) -> bool:
        """Return whether the kept similarities of a row will do where its encoder is gone."""
        return row.vectors == "contextual" and self.max_size == MAX_SIZE


class WilliamsSettings(Typed):
    """Williams's test on phrases in contexts (SLICE, Table 1): each row against the best of its table.

    Args:
        tables: each with a setup, the longest span in words (max_size) and its rows.
        corpus: phrases in contexts, of which the `test` split counts.
    """

    tables: list[WilliamsTable]
    corpus: str


class TestSettings(Typed):
    """A test of a leaderboard: a corpus, and for phrases in contexts a set-up.

    Args:
        without: a corpus. The pairs of its `dev` split are left out of the test: they may have chosen settings.
    """

    __test__ = False  # no test of pytest

    corpus: str
    setup: Setup | None = None
    without: str | None = None

    @property
    def whole(self) -> str:
        """Its name with nothing left out."""
        return f"{self.corpus} {self.setup}" if self.setup else self.corpus

    def __str__(self) -> str:
        return f"{self.whole} without {self.without} dev" if self.without else self.whole


class LeaderboardSettings(Typed):
    """Recorded encoders on the same tests, with intervals and p over items and seeds.

    Args:
        rows: name -> record and pooling.
        columns: name -> tests, whose scores are averaged.
        beside: rows that are shown and tested, but are no candidates for the best.
        max_length: tokens of a text that every encoder reads.

        resamples: how often items are drawn, the same ones for all rows.
        seed: of what is drawn.
        threads: CPU threads.
    """

    rows: dict[str, RowSettings]
    columns: dict[str, Annotated[list[TestSettings], Field(min_length=1)]]
    beside: list[str] = Field(default_factory=list)
    max_length: PositiveInt
    resamples: PositiveInt
    seed: int
    threads: PositiveInt | None = None

    @model_validator(mode="after")
    def _beside_are_some_rows(self) -> Self:
        if unknown := [name for name in self.beside if name not in self.rows]:
            raise ValueError(f"beside names {', '.join(unknown)}, which is no row; there is {', '.join(self.rows)}")
        if self.rows.keys() <= set(self.beside):
            raise ValueError("beside names all rows, and a column needs one that can be its best")
        return self


class Printed(Typed):
    """Two cells of a paper's table, whose difference is the effect there (`experiments.published`).

    Args:
        paper, table: such as `paser` and `1`.
        ours, theirs: rows of the table.
        column: of both rows; of several columns the mean counts.
        theirs_column: of the second row, where it is another one.

        within: column -> value, of the rows that count, where a table names rows twice.
        theirs_within: of the second row, where it is in another part of the table.
        scale: 100 for scores from 0 to 1.
    """

    paper: str
    table: str
    ours: str
    theirs: str
    column: str | list[str]
    theirs_column: str | None = None
    within: dict[str, str] = Field(default_factory=dict)
    theirs_within: dict[str, str] | None = None
    scale: int = 1


class Claim(Typed):
    """What a paper says: ours score higher than theirs.

    Args:
        paper: its short name.
        where: the table, figure or section.
        text: the claim in a sentence.
        printed: its effect in the paper; null where the paper gives no number.

        tests: on which we test it; scores are averaged.
        sides: encoder, such as `tiny` -> the two records.
        untested: why it cannot be tested here; null where it can.
    """

    paper: str
    where: str
    text: str
    printed: Printed | None = None
    tests: list[TestSettings] = Field(default_factory=list)
    sides: dict[str, Versus] = Field(default_factory=dict)
    untested: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Claim:
        if (self.untested is None) != bool(self.sides and self.tests):
            raise ValueError(f"{self.text}: give tests and sides, or say in `untested` why there are none")
        if any(test.without for test in self.tests):
            raise ValueError(f"{self.text}: `without` is for the tests of a leaderboard; a claim takes whole tests")
        return self


class ScorecardSettings(Typed):
    """The papers' claims, each tested on recorded encoders.

    Args:
        claims: in the order in which they are shown.
        max_length: tokens of a text that every encoder reads.
        picture: the file of a picture of the verdicts; null: none.
        resamples: how often items are drawn.

        seed: of what is drawn.
        threads: CPU threads.
    """

    claims: list[Claim]
    max_length: PositiveInt
    picture: str | None = None
    resamples: PositiveInt
    seed: int
    threads: PositiveInt | None = None


class CostSettings(Typed):
    """Time and memory of the rows of a leaderboard. For Linux, on a machine without other load.

    Args:
        rows: name -> record and pooling; of a sweep the first run counts.
        steps: training steps that are timed; a map is fitted as a whole.

        corpus: pairs of whose `dev` split the distinct first texts are encoded, in one call.
        passes: over the texts, after one that warms up. The fastest one counts.
        threads: CPU threads.
    """

    rows: dict[str, RowSettings]
    steps: PositiveInt
    corpus: str
    passes: PositiveInt
    threads: PositiveInt


class DropoutSettings(Typed):
    """What dropout leaves of encoders that are not trained: their score on STS, and their loss in masked-LM.

    Args:
        encoders: name -> encoder.
        poolings: of each.
        rates: probabilities of dropout; 0 is none.
        corpus: pairs, of which the `dev` split is scored; its distinct first texts are masked.
        seeds: of the dropout, and of what is masked.
    """

    encoders: dict[str, EncoderSettings] = Field(min_length=1)
    poolings: list[str] = Field(min_length=1)
    rates: list[Annotated[float, Field(ge=0, lt=1)]] = Field(min_length=1)
    corpus: str
    seeds: list[int] = Field(min_length=1)


class UmapSettings(Typed):
    """Arguments of `umap.UMAP`; the metric is the cosine."""

    n_neighbors: PositiveInt = 15
    min_dist: float = 0.1


class MapSettings(Typed):
    """Where sentences of the toy world lie under several encoders.

    Args:
        rows: label -> record and pooling, in the order in which they are shown; of a sweep the first run counts.
        topics: classes of events of the toy world, such as `kitchen` and `travel`.

        scenes: scenes of each topic, all with other participants.
        wordings: ways to say each scene, so that there are topics x scenes x wordings sentences.
        seed: of the sentences and of UMAP.
        umap: n_neighbors and min_dist.

        neighbours: nearest neighbours of each sentence that are kept.
    """

    rows: dict[str, RowSettings]
    topics: list[str]
    scenes: PositiveInt
    wordings: PositiveInt
    seed: int
    umap: UmapSettings
    neighbours: PositiveInt


class LibrarySettings(Typed):
    """A library of texts, searched for phrases in several ways (`benchmarks/library.py`)."""

    encoder: EncoderSettings
    text: list[str]
    words: PositiveInt
    seed: int
    phrases: list[str]
    max_size: PositiveInt
    dtype: str
    threads: PositiveInt


class SpeedSettings(Typed):
    """What `benchmarks/speed.py` measures.

    Args:
        programs: each with its arguments, in order.
        data: whether SENTLAB_DATA was set. Without it the toy world's texts stand in.
    """

    programs: list[str]
    data: bool
