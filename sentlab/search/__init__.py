"""Search: the best span of a text for a phrase, and an index of phrases in context."""

from sentlab.search.hits import Found, Hit
from sentlab.search.phrase_index import PhraseIndex

__all__ = ["Found", "Hit", "PhraseIndex"]
