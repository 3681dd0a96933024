"""What a word is, and where words begin among the tokens of a text."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import regex

# What a word is, for all of sentlab. A letter or a digit and its combining marks are one character everywhere, and a
# soft hyphen, a joiner or another format character between letters divides no word.
LETTERS = r"[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}]|\p{Cf}+(?=[\p{L}\p{N}\p{M}]))*"
NUMBER = r"\d+(?:[.,]\d+)+"  # 3.5 or 1,000

# Spans. Scripts that put no spaces between words: Unicode's default boundaries (UAX #29, `\b` with the flag WORD) cut
# Chinese and Hiragana at each character, keep Katakana together, and cut Thai, Lao, Khmer and Burmese (LB=SA) at each
# letter. All other scripts: letters, digits and "_" with their marks; UAX #29 alone would also join "3.5" and "U.S". A
# zero-width space, which web pages have inside words, divides none: tokenizers drop it.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{WB=Katakana}\p{LB=SA}"
_RUN = rf"[[\w\p{{N}}]--[\p{{M}}{_UNSPACED}]][[\w\p{{N}}\p{{WB=Format}}\u200b]--[{_UNSPACED}]]*"
SPAN_WORD = regex.compile(rf"{_RUN}(?:['’]{_RUN})*|[{_UNSPACED}]\w*?\b|(?!\s)\X", regex.V1 | regex.WORD)

# Phrases (RAKE, chunks, roles). A word is an abbreviation such as "U.S.", a name such as "AT&T", a number, or letters
# joined by apostrophes and hyphens: "don't", "mother-in-law". All else but space is punctuation.
_NAME = r"(?:\p{L}\.){2,}|\p{Lu}+(?:&\p{Lu}+)+"
PHRASE_TOKEN = regex.compile(rf"(?P<word>{_NAME}|{NUMBER}(?:{LETTERS})?|{LETTERS}(?:['’‐‑-]{LETTERS})*)|\S")
CLITIC = re.compile(r"(?<=\w)(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)  # at the end of such a word

# BM25 and word vectors, as GloVe and FastText were trained: a clitic is a word of its own ("do n't", "dog 's").
LOWER_WORD = regex.compile(rf"{NUMBER}|{LETTERS}?(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|{LETTERS}")

# Views. What stands before a word and behind it, between spaces.
MARKS = regex.compile(r"[^\w\p{M}\p{Cf}]*")


def tight(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of some characters without white space at its ends, and with the marks of its last letter.

    Some tokenizers count the space before a word to it, and others leave out accents.
    """
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end < len(text) and unicodedata.category(text[end])[0] == "M":
        end += 1
    return start, end


def word_boundaries(text: str, offsets: np.ndarray) -> np.ndarray:
    """Return where the words of a text begin among its tokens.

    Sub-words of one word stay together, and so does "don't". A letter and its combining marks are one character,
    composed or not. A punctuation mark is a word, and so is an emoji, a Chinese character, and a letter of Thai, Lao,
    Khmer and Burmese: finding longer words in these scripts takes a dictionary.

    Args:
        offsets: (T, 2), character start and end of each token, as `Encoder.encode_tokens` gives them.

    Returns:
        int64 (W + 1,), from 0 to T, for `best_spans`.

    Example:
        >>> word_boundaries("isn't it", np.array([[0, 3], [3, 5], [6, 8]]))  # two tokens make the first word
        array([0, 2, 3])
    """
    first = np.arange(len(text) + 1)  # of each character: where its word begins
    for match in SPAN_WORD.finditer(text):
        first[match.start() : match.end()] = match.start()
    words = first[token_starts(text, offsets)]  # (T,)
    begins = np.ones(len(words), dtype=bool)
    begins[1:] = words[1:] != words[:-1]
    return np.append(np.flatnonzero(begins), len(offsets))


def token_starts(text: str, offsets: np.ndarray) -> np.ndarray:
    """Return the first character of each token that is no white space: (T, 2) -> (T,).

    Some tokenizers count the space before a word to its first token. A token of white space alone gets what follows it.
    """
    return np.array([tight(text, start, len(text))[0] for start in offsets[:, 0].tolist()], np.int64)


def word_places(text: str) -> np.ndarray:
    """Return the characters [start, end) of each word of a text, int64 (W, 2): those of `word_boundaries`."""
    places = np.array([place for place, character in enumerate(text) if not character.isspace()], np.int64)
    edges = word_boundaries(text, np.stack([places, places + 1], axis=1))
    return np.stack([places[edges[:-1]], places[edges[1:] - 1] + 1], axis=1)


def lower_words(text: str) -> list[str]:
    """Split a text into lower-case words: "A well-known dog's 3.5 kg!" is a well known dog 's 3.5 kg.

    A letter and its accent are one character, composed or not (NFC). What nobody sees, such as a soft hyphen, goes.
    """
    seen = re.sub("[\u00ad\u200b\u2060]", "", text.lower())
    return LOWER_WORD.findall(unicodedata.normalize("NFC", seen).replace("’", "'"))
