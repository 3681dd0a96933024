"""Search: the best span of a text for a phrase, and an index of phrases in context."""

from sentlab.search.phrase_index import Hit, PhraseIndex, join

__all__ = ["Hit", "PhraseIndex", "join"]
