"""Views of a sentence: what they change and how often, what they must leave alone, synonyms with marks and capitals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random

import pytest
from experiments import toy

from sentlab.text.views import (
    View,
    compose,
    random_crop,
    random_deletion,
    random_duplication,
    random_swap,
    srl_guided,
    synonym_replacement,
    viewed,
)

LETTERS = list("abcdefghijklmnopqrst")  # 20 words


def upper(word: str) -> list[str]:
    """A synonym for every lower-case word, which shows where it was put in."""
    return [f"new-{word}"] if word.islower() else []


replace: View = partial(synonym_replacement, synonyms=upper)
VIEWS = [replace, random_deletion, random_swap, random_duplication]


def changed(before: Sequence[str], after: Sequence[str]) -> int:
    return sum(a != b for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(("rate", "count"), [(0.0, 0), (0.01, 1), (0.1, 2), (0.5, 10), (1.0, 19)])
def test_as_many_words_are_replaced_as_the_rate_says(rate: float, count: int) -> None:
    words = [f"q{letter}" for letter in LETTERS[:-1]] + ["the"]  # a stopword is never replaced
    after = synonym_replacement(words, Random(0), rate=rate, synonyms=upper)
    assert changed(words, after) == count
    assert all(b in (a, f"new-{a}") for a, b in zip(words, after, strict=True))
    assert after[-1] == "the"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dog", "hound"), ("Dog,", "Hound,"), ("“dog”?!", "“hound”?!"), ("(Dog).", "(Hound)."), ("TV.", "TELEVISION."),
        ("DOG", "HOUND"), ("removes,", "takes off,"), ("Remove", "Take off"), ("fixed", "repaired|mended"),
        ("dog's", "dog's"), ("--", "--"), ("zyzzyva", "zyzzyva"),
    ],
)  # fmt: skip
def test_marks_and_capitals_stay(word: str, expected: str) -> None:
    after = synonym_replacement([word], Random(0), synonyms=toy.synonyms)
    assert " ".join(after) in expected.split("|")
    assert not any(" " in part for part in after)


def test_words_are_left_out_with_the_probability_that_the_rate_says() -> None:
    rng, counts = Random(0), Counter[str]()
    for _ in range(2000):
        after = random_deletion(LETTERS, rng, rate=0.3)
        assert after == [word for word in LETTERS if word in set(after)]  # the order stays
        counts.update(after)
    assert all(0.66 < counts[word] / 2000 < 0.74 for word in LETTERS)
    assert random_deletion(LETTERS, rng, rate=0.0) == LETTERS


def test_one_word_always_stays() -> None:
    left = Counter(tuple(random_deletion(["a", "b", ",", "[MASK]."], Random(seed), rate=1.0)) for seed in range(200))
    assert set(left) == {("a", ",", "[MASK]."), ("b", ",", "[MASK].")}
    assert min(left.values()) > 60
    assert random_deletion(["alone"], Random(0), rate=1.0) == ["alone"]


def test_as_many_swaps_as_the_rate_says() -> None:
    for seed in range(50):
        assert changed(LETTERS, random_swap(LETTERS, Random(seed), rate=0.01)) == 2
        after = random_swap(LETTERS, Random(seed), rate=0.2)
        assert 3 <= changed(LETTERS, after) <= 8 or after == LETTERS  # four swaps, which may undo each other
        assert sorted(after) == LETTERS
    assert random_swap(LETTERS, Random(0), rate=0.0) == LETTERS
    assert random_swap(["a", "b"], Random(0)) == ["b", "a"]
    firsts = Counter(random_swap(["a", "b", "c"], Random(seed))[0] for seed in range(300))
    assert all(70 < count < 130 for count in firsts.values())  # one of three pairs, each as often
    assert len(firsts) == 3


@pytest.mark.parametrize(("rate", "count"), [(0.0, 0), (0.01, 1), (0.1, 2), (0.5, 10), (1.0, 20)])
def test_as_many_words_stand_twice_as_the_rate_says(rate: float, count: int) -> None:
    doubled = Counter[str]()
    for seed in range(200):
        after = random_duplication(LETTERS, Random(seed), rate=rate)
        counts = Counter(after)
        assert after == [word for word in LETTERS for _ in range(counts[word])]  # the order stays
        assert sorted(counts.values()) == [1] * (20 - count) + [2] * count
        doubled.update(word for word in LETTERS if counts[word] == 2)
    assert len(doubled) == (20 if count else 0)  # every word has its turn
    assert random_duplication(["the", "dog,"], Random(0), rate=1.0) == ["the", "the", "dog,", "dog,"]


@pytest.mark.parametrize(("rate", "fallen"), [(0.0, 0), (0.01, 1), (0.1, 2), (0.5, 10), (1.0, 19)])
def test_a_crop_is_a_stretch_of_the_sentence(rate: float, fallen: int) -> None:
    crops = Counter("".join(random_crop(LETTERS, Random(seed), rate=rate)) for seed in range(1000))
    text = "".join(LETTERS)
    assert set(crops) == {text[i : i + 20 - fallen] for i in range(fallen + 1)}  # both ends, and all between
    assert min(crops.values()) > 0.5 * 1000 / (fallen + 1)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        # two predicates, whose sets follow each other, each in the order of the paper
        ([{"ARG1": "the old dog", "PRED": "seen", "ARG0": "a boy"}, {"PRED": "went away", "ARG0": "the old dog"}],
         "a boy seen the old dog the old dog went away"),
        ([{"ARG1": "it", "ARGM-NEG": "n't", "PRED": "see", "ARG0": "she"}], "she see n't it"),
        ([{"PRED": "rains"}], "rains"),
        ([{"ARG0": "he", "ARG1": "it"}, {"PRED": "left", "ARG0": "she"}], "she left"),  # the first is no predicate
        ([{"ARG0": "he", "PRED": "gave", "ARG2": "the boy", "ARGM-TMP": "today", "ARG1": "a book"}], "he gave a book"),
        ([], "The words, as they are."),
        ([{"ARG0": "he"}, {"PRED": "", "ARG1": "it"}, {}], "The words, as they are."),
    ],
)  # fmt: skip
def test_semantic_roles_in_the_order_of_the_paper(frames: list[dict[str, str]], expected: str) -> None:
    asked = []

    def roles(sentence: str) -> list[dict[str, str]]:
        asked.append(sentence)
        return frames

    words = ("The", "words,", "as", "they", "are.")
    assert srl_guided(words, Random(0), roles=roles) == expected.split()
    assert asked == ["The words, as they are."]


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_to_be_kept_is_left_alone(view: View) -> None:
    words = ["a", "[MASK]", "bb", "[MASK],", "([MASK])", "cc", ".", "dd", "…"]
    fixed = [1, 3, 4, 6, 8]
    for seed in range(50):
        after = view(words, Random(seed), rate=0.5)  # type: ignore[call-arg]
        if view is random_duplication:
            assert all(after.count(words[i]) == 1 for i in fixed)
            assert len(after) == len(words) + 4  # half of nine, and there are four
        elif view is random_deletion:
            assert [word for word in after if word in {words[i] for i in fixed}] == [words[i] for i in fixed]
        else:
            assert [after[i] for i in fixed] == [words[i] for i in fixed]
        assert view(["[MASK]", "[MASK]"], Random(seed), rate=1.0) == ["[MASK]", "[MASK]"]  # type: ignore[call-arg]


@pytest.mark.parametrize("mask_token", ["[MASK]", "<mask>", "mask"])
@pytest.mark.parametrize("view", VIEWS)
def test_the_tokenizers_own_mask_token_is_left_alone(view: View, mask_token: str) -> None:
    words = ["aa", mask_token, "bb", mask_token, ".", "cc", f"{mask_token}.", "dd"]
    for _ in range(20):
        (after,) = viewed([" ".join(words)], partial(view, rate=0.9), mask_token)
        kept = [word for word in after.split() if "mask" in word.lower()]
        assert kept == [mask_token, mask_token, f"{mask_token}."]


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_pure_and_repeatable(view: View) -> None:
    words = tuple(LETTERS)
    for seed in range(5):
        assert view(words, Random(seed)) == view(list(words), Random(seed))
    assert view([], Random(0)) == []
    assert view(["[MASK]"], Random(0)) == ["[MASK]"]
    assert len({tuple(view(words, Random(seed), rate=0.3)) for seed in range(20)}) > 5  # type: ignore[call-arg]
    for sentence, rate in ((words, -0.1), (words, float("nan")), ("a sentence", 0.1)):
        with pytest.raises(ValueError, match="rate"):
            view(sentence, Random(0), rate=rate)  # type: ignore[call-arg]


def test_composed_views_follow_each_other() -> None:
    rng = Random(3)
    expected = random_deletion(random_swap(LETTERS, rng), rng)
    assert compose(random_swap, random_deletion)(LETTERS, Random(3)) == expected
