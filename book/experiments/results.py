"""What runs and searches have found: typed results, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from experiments.settings import Typed
from experiments.settings_grids import SearchSettings

Number = int | float
When = Literal["before", "after", "last"]


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
        command: the one that makes them.
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
        """Return what was measured before training, after it, or after its last step where dev chose another.

        Raises:
            KeyError: nothing was trained, or no dev score chose the step.
        """
        if when == "last" and self.last is None:
            why = "it is, in runs with test sets and keep='dev'"
            raise KeyError(f"the last step was not measured apart: {why}")
        found = {"before": self.before, "after": self.after, "last": self.last}[when]
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

        run: its name, which its settings decide.
        failed: why it gave no score, as where a loss was no longer finite. It then ranks last.
    """

    values: dict[str, Any]
    steps: int
    dev: Number
    step: int
    last: Number
    rising: bool
    seconds: Number
    run: str
    failed: str | None = None

    def rank(self) -> tuple[float, float]:
        """Return what trials are compared by: dev; of equals, which all keep step 0, the score of the last step."""
        return self.dev, self.last


def finalists(trials: Iterable[Trial], count: int) -> list[Trial]:
    """Return the best trials, which are trained in full."""
    return sorted(trials, key=Trial.rank, reverse=True)[:count]


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

    def answer(self, settings: SearchSettings) -> bool:
        """Return whether all that these settings ask for is there: trials, runs in full and seeds."""
        known = {trial.run: trial for trial in self.trials}
        drawn = [known.get(settings.of(values, settings.steps).run_name) for values in settings.drawn()]
        if self.chosen is None or not settings.reaches(self.chosen) or None in drawn:
            return False
        best = finalists([trial for trial in drawn if trial], settings.finalists)
        full = {settings.of(trial.values, settings.length).run_name for trial in best}
        names = [settings.full(self.chosen, seed).run_name for seed in settings.seeds]
        return full <= known.keys() and self.runs == names
