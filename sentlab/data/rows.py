"""The typed rows that every corpus is made of, and the corpus itself: an immutable sequence of rows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any, Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Two texts and a graded similarity (STS: 0 to 5; SICK: 1 to 5). `subset` names the part of a year it is from."""

    text_a: str
    text_b: str
    score: float
    subset: str = ""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two texts and a class: `entailment`, `neutral` or `contradiction` for natural language inference."""

    text_a: str
    text_b: str
    label: str


@dataclass(frozen=True, slots=True)
class Triple:
    """An anchor, a text that means the same or follows from it, and one that does not."""

    anchor: str
    positive: str
    negative: str


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """Two phrases, their relation (`equivalence`, `entailment`, `independent`) and a score in [0, 1] or nan."""

    phrase_a: str
    phrase_b: str
    relation: str
    score: float


@dataclass(frozen=True, slots=True)
class WordPair:
    """Two words and a graded similarity; the scale is the data set's own."""

    word_a: str
    word_b: str
    score: float


@dataclass(frozen=True, slots=True)
class WordPairInContext:
    """Two words and a graded similarity in their contexts, `context_a[slice(*span_a)]` being the first one's."""

    word_a: str
    word_b: str
    score: float
    context_a: str
    span_a: tuple[int, int]
    context_b: str
    span_b: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """A query and its candidates, `relevant[i]` telling whether `candidates[i]` answers it."""

    query: str
    candidates: tuple[str, ...]
    relevant: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class DuplicateQuestion:
    """A question and a differently worded duplicate. A row without a duplicate is a distractor of the corpus."""

    question: str
    duplicate: str | None


@dataclass(frozen=True, slots=True)
class PhraseInContext:
    """A phrase to look for and a longer text; `context[start:end]` is the best match and `score` grades it, 0 to 5."""

    phrase: str
    context: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Corpus(Sequence[Row], Generic[Row]):
    """Rows of one type with their origin.

    Args:
        name: the name it is loaded by, such as `stsb` or `toy-sts`.
        split: `train`, `dev` or `test`.
        rows: the rows, in file order.
        source: where they come from. A file name, a hub data set, or `toy world, seed 0`.
        left_out: reason -> number of rows that the files hold and this corpus leaves out.
    """

    name: str
    split: str
    rows: tuple[Row, ...]
    source: str
    left_out: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __repr__(self) -> str:
        left = "".join(f", {n} left out ({why})" for why, n in self.left_out.items())
        kind = type(self.rows[0]).__name__ if self.rows else "no rows"
        return f"Corpus({self.name!r}, {self.split!r}: {len(self):,} x {kind}{left}; {self.source})"

    @property
    def fingerprint(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of all rows; two corpora with equal rows share it."""
        digest = hashlib.sha256()
        for row in self.rows:
            plain: Any = row if isinstance(row, str) else asdict(row)  # type: ignore[call-overload]
            # numbers of NumPy, which rows may hold, count as Python's
            digest.update(json.dumps(plain, ensure_ascii=False, default=lambda value: value.item()).encode() + b"\n")
        return digest.hexdigest()[:16]


def added_up(*left_out: Mapping[str, int]) -> dict[str, int]:
    """Add up the rows left out for each reason, over several parts; a reason without rows is dropped."""
    return dict(sum(map(Counter, left_out), Counter[str]()))


def refuse_table(values: Any, what: str) -> None:
    """Refuse a table, a string or a mapping where rows are wanted: its parts are columns, letters or keys."""
    if isinstance(values, str | Mapping) or hasattr(values, "columns"):
        advice = "a list, such as [text] or list(table['text']), of columns list(zip(table['a'], table['b']))"
        raise TypeError(f"{what} is a {type(values).__name__}: pass {advice}")


POSITIVE = 4.0  # from this gold score on, two texts count as saying the same; Gao et al. (2021) begin above it
SCALES: dict[type, tuple[float, float]] = {ScoredPair: (0.0, 5.0), PhraseInContext: (0.0, 5.0), PhrasePair: (0.0, 1.0)}


def check_rows(corpus: Corpus[Any], *kinds: type) -> None:
    """Refuse a corpus without rows, with rows of other kinds, or with a score that is not on their scale."""
    where = f"{corpus.name} ({corpus.split})"
    if not corpus:
        raise ValueError(f"{where} holds no rows")
    for i, row in enumerate(corpus):
        if not isinstance(row, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"{where} must hold {names} rows; it holds {type(row).__name__} (row {i})")
        score = getattr(row, "score", 0.0)
        low, high = SCALES.get(type(row), (-1.7e308, 1.7e308))  # of the others any finite number
        if not (isinstance(score, Real) and low <= float(score) <= high):
            raise ValueError(f"row {i} of {where} has the score {score!r}; expected one from {low:g} to {high:g}")
