"""What belongs to a word: accents, soft hyphens, joiners, names. One definition serves every part."""

from __future__ import annotations

import time
import unicodedata
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
from sentlab.text.words import LOWER_WORD, lower_words


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
def test_synonyms_are_other_words() -> None:
    assert "datum" not in views.wordnet_synonyms("data")
    assert "find" not in views.wordnet_synonyms("found")
