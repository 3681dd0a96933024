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
from sentlab.data.tables import from_file, from_table

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
    "from_file",
    "from_table",
    "hard_pairs",
    "load",
]
