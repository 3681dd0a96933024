"""What a word is, in scripts with spaces and without, composed and decomposed."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest

from sentlab.encoder import Encoder
from sentlab.text.words import word_boundaries, word_places


def words(text: str, pieces: list[str] | None = None) -> list[str]:
    """The words of a text whose tokens are its pieces, or its characters."""
    offsets, place = [], 0
    for piece in pieces or text.replace(" ", ""):
        place = text.index(piece, place)
        offsets.append((place, place + len(piece)))
        place += len(piece)
    edges = word_boundaries(text, np.array(offsets, np.int64).reshape(-1, 2))
    return [text[offsets[a][0] : offsets[b - 1][1]] for a, b in pairwise(edges)]


def test_words_of_tokens() -> None:
    pieces = ["The", "woman", "s", "'", "car", ",", "don", "'", "t", "stop", "😀", "3", "rd"]
    assert words("The womans' car, don't  stop 😀 3rd", pieces) == [
        *["The", "womans", "'", "car", ",", "don't", "stop", "😀", "3rd"]
    ]
    assert word_boundaries("", np.empty((0, 2), np.int64)).tolist() == [0]


def test_a_token_that_begins_with_a_space_belongs_to_the_word_behind_it() -> None:
    """As the tokenizers of RoBERTa and its like may give them."""
    text = "The unbelievable dogs play"
    offsets = np.array([(0, 3), (3, 6), (6, 8), (8, 16), (16, 21), (21, 26)])
    assert word_boundaries(text, offsets).tolist() == [0, 1, 4, 5, 6]
    alone = np.array([(0, 3), (3, 4), (4, 6), (6, 16), (16, 21), (21, 26)])  # the space is a token
    assert word_boundaries(text, alone).tolist() == [0, 1, 4, 5, 6]
    assert word_boundaries("a ", np.array([(0, 1), (1, 2)])).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cafe\u0301s are nai\u0308ve", "cafe\u0301s|are|nai\u0308ve"),
        ("el pingu\u0308ino, tap\u0304'a", "el|pingu\u0308ino|,|tap\u0304'a"),
        ("हिन्दी में", "हिन्दी|में"),
        ("我喜欢大狗。", "我|喜|欢|大|狗|。"),
        ("コーヒーを飲むGUIの2024年", "コーヒー|を|飲|む|GUI|の|2024|年"),
        ("한국어를 배워요.", "한국어를|배워요|."),
        ("на́ш дом", "на́ш|дом"),
        ("co\u00adoperate \u200ehe\u200e", "co\u00adoperate|\u200e|he\u200e"),
        ("foo\u200bbar is", "foo\u200bbar|is"),
        ("3.5 U.S. x² a_b 90's it’s 'quoted'", "3|.|5|U|.|S|.|x²|a_b|90's|it’s|'|quoted|'"),
        ("👍🏽🇩🇪🇫🇷 ok!?", "👍🏽|🇩🇪|🇫🇷|ok|!|?"),
    ],
)
def test_words_of_characters(text: str, expected: str) -> None:
    assert words(text) == expected.split("|")


def test_a_character_of_several_tokens_is_one_word() -> None:
    offsets = np.array([(0, 1), (2, 3), (2, 3), (2, 3), (4, 5)])  # as a tokenizer of bytes gives them
    assert word_boundaries("a 😀 b", offsets).tolist() == [0, 1, 4, 5]


def test_composed_and_decomposed_text_have_the_same_words() -> None:
    encoder = Encoder.from_pretrained("tiny", device="cpu")
    composed = "Two cafés, a naïve señor"
    found = []
    for text in (composed, unicodedata.normalize("NFD", composed)):
        ((vectors, offsets),) = encoder.encode_tokens([text])
        edges = word_boundaries(text, offsets)
        spans = [text[offsets[a, 0] : offsets[b - 1, 1]] for a, b in pairwise(edges)]
        assert len(vectors) == edges[-1]
        found.append([unicodedata.normalize("NFC", span) for span in spans])
    assert found[0] == ["Two", "cafés", ",", "a", "naïve", "señor"]
    assert found[1] == found[0]


def test_places_of_words_are_characters() -> None:
    text = "isn't  it, \u732b\u597d?"
    assert [text[a:b] for a, b in word_places(text)] == ["isn't", "it", ",", "\u732b", "\u597d", "?"]
