"""RAKE phrases: hand-worked scores, spans that are exact on difficult text, masks that hide the phrase and only it."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from sentlab.phrases import STOPWORDS, Phrase, mask_spans, rake_phrases


def found(sentence: str, top: int | None = None) -> list[tuple[str, float]]:
    return [(phrase.text, phrase.score) for phrase in rake_phrases(sentence, top)]


def test_scores_are_degree_over_frequency_summed_over_the_words() -> None:
    # phrases: (red apples) (green apples) (apples) (sweet)
    # freq: apples 3, others 1.  degree (itself included): red 2, green 2, apples 2 + 2 + 1 = 5, sweet 1
    sentence = "Red apples and green apples are apples, so sweet"
    assert found(sentence) == [
        ("Red apples", pytest.approx(2 + 5 / 3)),
        ("green apples", pytest.approx(2 + 5 / 3)),
        ("apples", pytest.approx(5 / 3)),
        ("sweet", pytest.approx(1.0)),
    ]


def test_a_word_twice_in_one_phrase() -> None:
    # one phrase (big big dog): product counts big-big four times, big-dog two; degree big 6, dog 3; frequency big 2
    assert found("the big big dog") == [("big big dog", pytest.approx(6 / 2 + 6 / 2 + 3))]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The old dog saw the OLD dog.", ["old dog saw", "OLD dog"]),  # repeated words, case kept
        ("John’s mother-in-law doesn't like it", ["John’s mother-in-law", "like"]),  # apostrophes, hyphens
        ("He did n't see the dog 's tail", ["see", "dog", "tail"]),  # tokenised text
        ("$5.2 million for 1,000 U.S. troops", ["1,000 U.S. troops", "5.2 million"]),  # numbers, abbreviation
        ("( a method (bert ), see !?... ) -- “quoted words”", ["quoted words", "method", "bert", "see"]),  # clusters
        ("the cafe\u0301 in İstanbul → naïve", ["cafe\u0301", "İstanbul", "naïve"]),  # lower() changes lengths
        ("a\tblue \n  car", ["blue \n  car"]),  # any white space
    ],
)
def test_spans_are_exact(sentence: str, expected: list[str]) -> None:
    phrases = rake_phrases(sentence)
    assert [phrase.text for phrase in phrases] == expected
    for phrase in phrases:
        assert sentence[phrase.start : phrase.end] == phrase.text


def test_equal_phrases_stand_at_their_own_places() -> None:
    phrases = rake_phrases("the cat and the cat and the cat")
    assert [(phrase.start, phrase.end) for phrase in phrases] == [(4, 7), (16, 19), (28, 31)]


@pytest.mark.parametrize("sentence", ["", "   ", "the of and to", "?! ... --", "It is what it is."])
def test_a_sentence_without_content_has_no_phrase(sentence: str) -> None:
    assert rake_phrases(sentence) == []


def test_top_keeps_the_first_by_score_then_by_place() -> None:
    sentence = "a tool with the old red hammer at work"
    assert [text for text, _ in found(sentence)] == ["old red hammer", "tool", "work"]
    assert [text for text, _ in found(sentence, top=2)] == ["old red hammer", "tool"]
    with pytest.raises(ValueError, match="top"):
        rake_phrases(sentence, top=0)


def test_results_are_fresh_lists_of_immutable_phrases() -> None:
    first = rake_phrases("a red house")
    first.clear()
    (again,) = rake_phrases("a red house")
    with pytest.raises(AttributeError):
        again.score = 0.0  # type: ignore[misc]


def test_no_corpus_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    def refuse(*args: object, **kwargs: object) -> None:
        raise LookupError("NLTK data was asked for")

    monkeypatch.setattr(nltk.data, "find", refuse)
    assert found("nobody downloads anything here") == [("nobody downloads anything", 9.0)]


def test_stopwords_hold_function_words_only() -> None:
    assert {"the", "of", "n't", "don't"} <= STOPWORDS
    assert not {"us", "two", "man", "playing", "good", "least"} & STOPWORDS


def test_masks_hide_each_token_that_overlaps_a_phrase_and_no_other() -> None:
    # [CLS] a mother - in - law sings [SEP]; "mother-in-law" is characters 2 to 15
    offsets = [(0, 0), (0, 1), (2, 8), (8, 9), (9, 11), (11, 12), (12, 15), (16, 21), (0, 0)]
    ids = [2, 10, 11, 12, 13, 12, 14, 15, 3]
    phrase, last = Phrase("mother-in-law", 2, 15, 1.0), Phrase("sings", 16, 21, 1.0)
    masked, places = mask_spans(ids, offsets, [phrase], 4)
    assert masked == [2, 10, 4, 4, 4, 4, 4, 15, 3]
    assert places == [[2, 3, 4, 5, 6]]
    assert ids[2] == 11  # the original is left alone
    assert mask_spans(ids, offsets, [last, phrase], 4)[1] == [[7], [2, 3, 4, 5, 6]]
    # a span at the very start must not catch [CLS] and [SEP], whose offsets are (0, 0)
    assert mask_spans(ids, offsets, [Phrase("a", 0, 1, 1.0)], 4) == ([2, 4, 11, 12, 13, 12, 14, 15, 3], [[1]])


@pytest.mark.realdata
def test_spans_on_real_sentences(real_data: Path) -> None:
    with (real_data / "STS" / "STSBenchmark" / "sts-dev.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    sentences = [text for row in rows for text in row[5:7]]
    counts = []
    for sentence in sentences:
        phrases = rake_phrases(sentence)
        counts.append(len(phrases))
        places = sorted((phrase.start, phrase.end) for phrase in phrases)
        assert all(sentence[phrase.start : phrase.end] == phrase.text for phrase in phrases)
        assert all(end < start for (_, end), (start, _) in pairwise(places))
        assert [phrase.score for phrase in phrases] == sorted((phrase.score for phrase in phrases), reverse=True)
        assert not any(word.lower() in STOPWORDS for phrase in phrases for word in phrase.text.split())
    assert len(counts) == 3000
    assert counts.count(0) < 30  # nearly every sentence has a phrase
