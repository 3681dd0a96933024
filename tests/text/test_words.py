"""What a word is, in scripts with spaces and without, composed and decomposed."""

from __future__ import annotations

import os
import time
import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from experiments.peers import BagOfWords, WordVectors

from sentlab.data import Corpus, PhraseInContext
from sentlab.data.readers import SENTENCE_END
from sentlab.encoder import Encoder
from sentlab.evaluation.mining import Setup, evaluate_mining
from sentlab.text import views
from sentlab.text.phrases import rake_phrases
from sentlab.text.words import LOWER_WORD, lower_words, word_boundaries, word_places


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


@pytest.mark.parametrize("inside", "\u00ad\u200b\u200c\u200d\u2060")
def test_what_nobody_sees_divides_no_word(inside: str) -> None:
    phrase = rake_phrases(f"the inter{inside}national agreement was signed")[0]
    assert (phrase.text, phrase.score) == (f"inter{inside}national agreement", 4.0)


def test_lower_words_leave_out_what_nobody_sees() -> None:
    assert lower_words("Inter\u00adnational\u2060 aid") == ["international", "aid"]
    persian = "می\u200cخواهم"  # whose joiner is part of the spelling
    assert lower_words(persian) == [persian]


def test_marks_stay_with_their_letters() -> None:
    bag = BagOfWords()
    assert bag.encode(["आधुनिक मानक हिन्दी", "कि की कु कू के कै"]).sum(1).tolist() == [3, 6]
    composed, apart = bag.encode([unicodedata.normalize(form, "Café crème") for form in ("NFC", "NFD")])
    assert np.array_equal(composed, apart)
    assert LOWER_WORD.findall("cafe\u0301s") == ["cafe\u0301s"]


def test_a_file_of_word_vectors_may_compose_its_words_or_not(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("cafe\u0301 1 2\nthe 3 4\n", encoding="utf-8")
    vectors = WordVectors.read(tmp_path / "vectors.txt")
    assert vectors.encode(["Café", "cafe\u0301"]).tolist() == [[1.0, 2.0]] * 2


@pytest.mark.parametrize("setup", ["spans", "start_end", "ngrams"])
def test_a_match_ends_behind_the_accents_of_its_last_letter(setup: Setup, small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu")
    text = "the old cafe\u0301"
    row = PhraseInContext("cafe\u0301", text, 8, 13, 5.0)
    result = evaluate_mining(encoder, Corpus("own", "test", [row] * 2, "typed"), setup, max_size=1)
    assert result.matches is not None
    assert result.matches[0].tolist() == [8, 13]


def test_a_sentence_may_begin_with_any_capital() -> None:
    assert len(SENTENCE_END.split("Das ist gut. Übung macht den Meister. Ärzte helfen.")) == 3


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("She has a vitamin D deficiency.", ["vitamin D deficiency"]),
        ("He works at AT&T on R&D", ["works", "AT&T", "R&D"]),
        ("A dog 's tail", ["dog", "tail"]),  # the rest of a clitic is none
    ],
)
def test_single_capitals_and_such_names_stay(text: str, phrases: list[str]) -> None:
    assert [phrase.text for phrase in rake_phrases(text)] == phrases


def test_a_mask_that_somebody_has_written_stays_text() -> None:
    assert views.viewed(["see [MASK] <mask> here"], lambda words, _: list(words), "<mask>") == [
        "see [MASK] <mask> here"
    ]


def test_splitting_marks_off_takes_linear_time() -> None:
    began = time.process_time()
    assert views._split(f"({'x' + '=' * 100_000 + 'x'}).") == ("(", "x" + "=" * 100_000 + "x", ").")
    assert time.process_time() - began < 1.0


@pytest.mark.realdata
@pytest.mark.skipif("NLTK_DATA" not in os.environ, reason="no folder with WordNet is named")
def test_synonyms_are_other_words() -> None:
    assert "datum" not in views.wordnet_synonyms("data")
    assert "find" not in views.wordnet_synonyms("found")
