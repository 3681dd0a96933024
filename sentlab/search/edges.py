"""Which words a hit may begin and end with: no punctuation, and no word that leaves a phrase open, as in "of a king,".

The lists are of English. In other languages only punctuation counts. A phrase that begins with such a word itself, as
"in the garden" does, asks for hits that may do so too.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from sentlab.search.shortlist import Group

PUNCTUATION, NEVER_FIRST, NEVER_LAST = 1, 2, 4  # bits of a word's kind
FIRST, LAST = PUNCTUATION | NEVER_FIRST, PUNCTUATION | NEVER_LAST  # kinds that a hit does not begin, or end, with

_SIGNS = "=<>|~^`"  # symbols that stand between words; of the others, "$" and "+" belong to numbers
_PARTS_OF_WORDS = "%‰&@#§"  # punctuation for Unicode
_BETWEEN = """
    of and or but nor than as if because although though whereas while which who whom whose
    in on at by for from with into onto upon among between during until since via per
""".split()
_OPEN = """
    a an the my your its our their every to
    am is are was were be been has had will would shall should can could may might must
""".split()
_BYTES = 8  # of a word that is looked up; all that are listed are shorter


@cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    """The listed words as numbers, rising, and their kinds."""
    characters = map(chr, range(sys.maxunicode + 1))
    marks = {c for c in characters if unicodedata.category(c)[0] == "P"} - set(_PARTS_OF_WORDS) | set(_SIGNS)
    kinds = dict.fromkeys(marks, PUNCTUATION) | dict.fromkeys(_OPEN, NEVER_LAST)
    kinds |= dict.fromkeys(_BETWEEN, NEVER_FIRST | NEVER_LAST)
    numbers = {int.from_bytes(word.encode(), "little"): kind for word, kind in kinds.items()}
    codes = np.array(sorted(numbers), dtype=np.uint64)
    return codes, np.array([numbers[code] for code in codes.tolist()], dtype=np.uint8)


def word_kinds(texts: np.ndarray, begins: np.ndarray, words: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Return the kind of each word, as bits.

    Args:
        texts: uint8 (M,), all texts in UTF-8.
        begins: (n + 1,), where each text begins among the bytes.
        words: (n + 1,), each text's first word.
        spans: (W, 2), a word's characters in its text.

    Returns:
        uint8 (W,).
    """
    characters = np.append(np.flatnonzero((texts & 0xC0) != 0x80), len(texts))  # the byte at which each begins
    first = np.searchsorted(characters, begins[:-1])  # of each text, among all characters
    places = characters[np.repeat(first, np.diff(words))[:, None] + spans]  # (W, 2) bytes
    start, length = places[:, 0], places[:, 1] - places[:, 0]
    column = np.arange(_BYTES)
    letters = np.append(texts, np.zeros(_BYTES, np.uint8))[start[:, None] + column]  # (W, 8)
    letters[(letters >= ord("A")) & (letters <= ord("Z"))] += 32
    letters[column >= length[:, None]] = 0
    numbers = letters.view("<u8")[:, 0]
    codes, kinds = _table()
    found = np.searchsorted(codes, numbers).clip(max=len(codes) - 1)
    return np.where((codes[found] == numbers) & (length <= _BYTES), kinds[found], 0).astype(np.uint8)


def phrase_kinds(phrase: str, spans: np.ndarray) -> tuple[int, int]:
    """Return the kinds of a phrase's first and last word, which are at the characters `spans` (w, 2)."""
    raw = phrase.encode()
    ends = np.array([spans[0], spans[-1]])
    first, last = word_kinds(np.frombuffer(raw, np.uint8), np.array([0, len(raw)]), np.array([0, 2]), ends).tolist()
    return first, last


def groups(kinds: np.ndarray, allowed: Sequence[tuple[int, int]], trim: bool) -> list[Group]:
    """Return what spans may begin and end with, for each group of phrases with the same edges.

    Args:
        kinds: (W,), of each word, see `word_kinds`.
        allowed: of each phrase, in rising order, the kinds that its spans may begin and end with.
        trim: False lets them begin and end with any word.
    """
    if not trim:
        return [Group(slice(None))]
    found, first = [], 0
    for (begin, end), count in sorted(Counter(allowed).items()):
        ragged = FIRST & ~begin, LAST & ~end
        found.append(Group(slice(first, first + count), *((kinds & own) == 0 for own in ragged)))
        first += count
    return found
