"""Data: typed rows, readers of public formats, the catalog, and the toy world."""

from sentlab.data.catalog import STS_TASKS, corpora, load
from sentlab.data.hard_pairs import hard_pairs
from sentlab.data.readers.lexical import balanced
from sentlab.data.rows import (
    Corpus,
    DuplicateQuestion,
    LabelledPair,
    PhraseInContext,
    PhrasePair,
    RankingQuery,
    ScoredPair,
    Triple,
    WordPair,
    WordPairInContext,
)

__all__ = [
    "STS_TASKS",
    "Corpus",
    "DuplicateQuestion",
    "LabelledPair",
    "PhraseInContext",
    "PhrasePair",
    "RankingQuery",
    "ScoredPair",
    "Triple",
    "WordPair",
    "WordPairInContext",
    "balanced",
    "corpora",
    "hard_pairs",
    "load",
]
