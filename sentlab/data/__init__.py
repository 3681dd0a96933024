"""Data: typed rows, public sets by name, your own files, and the toy world."""

# ruff: noqa: I001  the names of rows are on two lines
from sentlab.data.catalog import STS_TASKS, corpora, load
from sentlab.data.rows import Corpus, DuplicateQuestion, LabelledPair, PhraseInContext, PhrasePair, RankingQuery
from sentlab.data.rows import ScoredPair, Triple, WordPair, WordPairInContext
from sentlab.data.tables import from_file

__all__ = [
    "STS_TASKS", "Corpus", "DuplicateQuestion", "LabelledPair", "PhraseInContext", "PhrasePair", "RankingQuery",
    "ScoredPair", "Triple", "WordPair", "WordPairInContext", "corpora", "from_file", "load",
]  # fmt: skip
