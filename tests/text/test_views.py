"""Views of a sentence: what they change and how often, what they must leave alone, synonyms with marks and capitals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest
from experiments import toy

from sentlab import data
from sentlab.text.roles import label_roles
from sentlab.text.views import (
    View,
    compose,
    random_crop,
    random_deletion,
    random_duplication,
    random_swap,
    split_words,
    srl_guided,
    synonym_replacement,
    viewed,
    wordnet_synonyms,
)

LETTERS = list("abcdefghijklmnopqrst")  # 20 words


def upper(word: str) -> list[str]:
    """A synonym for every lower-case word, which shows where it was put in."""
    return [f"new-{word}"] if word.islower() else []


replace: View = partial(synonym_replacement, synonyms=upper)
VIEWS = [pytest.param(view, id=name) for name, view in
         (("synonyms", replace), ("deletion", random_deletion), ("swap", random_swap),
          ("duplication", random_duplication))]  # fmt: skip


def changed(before: Sequence[str], after: Sequence[str]) -> int:
    return sum(a != b for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(("rate", "count"), [(0.0, 0), (0.01, 1), (0.1, 2), (0.5, 10), (1.0, 19)])
def test_as_many_words_are_replaced_as_the_rate_says(rate: float, count: int) -> None:
    words = [f"q{letter}" for letter in LETTERS[:-1]] + ["the"]  # a stopword is never replaced
    after = synonym_replacement(words, Random(0), rate=rate, synonyms=upper)
    assert changed(words, after) == count
    assert all(b in (a, f"new-{a}") for a, b in zip(words, after, strict=True))
    assert after[-1] == "the"


def test_words_without_synonym_are_passed_over() -> None:
    words = ["big", "dogs", "bark", "loudly"]
    for seed in range(20):
        view = partial(synonym_replacement, synonyms=lambda word: ("noisily",) if word == "loudly" else ())
        assert view(words, Random(seed)) == ["big", "dogs", "bark", "noisily"]


def test_every_word_and_every_synonym_has_its_turn() -> None:
    pairs = {"big": ("large", "great"), "dog": ("hound",)}
    found = Counter(
        " ".join(synonym_replacement(["big", "dog"], Random(seed), synonyms=lambda word: pairs[word]))
        for seed in range(400)
    )
    assert set(found) == {"large dog", "great dog", "big hound"}
    assert 150 < found["big hound"] < 250


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


def test_a_word_as_it_is_spelt_comes_first() -> None:
    assert synonym_replacement(["US"], Random(0), synonyms=lambda word: {"US": ["USA"], "us": ["we"]}[word]) == ["USA"]


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


def test_crops_are_pure_and_repeatable_and_keep_one_word() -> None:
    words = tuple(LETTERS)
    assert random_crop(words, Random(5)) == random_crop(list(words), Random(5))
    assert random_crop([], Random(0)) == []
    assert random_crop(["alone"], Random(0), rate=1.0) == ["alone"]
    assert len(random_crop(["a", "[MASK]"], Random(0))) == 1
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="rate"):
            random_crop(words, Random(0), rate=rate)
    with pytest.raises(TypeError, match="split_words"):
        random_crop("a sentence", Random(0))


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


def test_semantic_roles_of_the_toy_world_as_a_view() -> None:
    rng = Random(0)
    before = rng.getstate()
    sentence = next(text for text in toy.load("toy-sentences", "dev") if " not " in text and " by " in text)
    frame = toy.roles(sentence)[0]
    after = partial(srl_guided, roles=toy.roles)(split_words(sentence), rng)
    assert " ".join(after) == " ".join(frame[role] for role in ("ARG0", "PRED", "ARGM-NEG", "ARG1"))
    assert rng.getstate() == before
    with pytest.raises(TypeError, match="split_words"):
        srl_guided(sentence, rng, roles=toy.roles)


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_to_be_kept_is_left_alone(view: View) -> None:
    words = ["a", "[MASK]", "bb", "[MASK],", "(Name)", "cc", ".", "dd", "…"]
    fixed = [1, 3, 4, 6, 8]
    for seed in range(50):
        after = view(words, Random(seed), rate=0.5, keep={"[MASK]", "Name"})  # type: ignore[call-arg]
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
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="rate"):
            view(words, Random(0), rate=rate)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="split_words"):
        view("a sentence", Random(0))


def test_composed_views_follow_each_other() -> None:
    both = compose(partial(random_swap, rate=0.2), random_deletion)
    rng = Random(3)
    expected = random_deletion(random_swap(LETTERS, rng, rate=0.2), rng)
    assert both(LETTERS, Random(3)) == expected
    assert compose()(("a", "b"), Random(0)) == ["a", "b"]


def test_splitting_and_joining() -> None:
    assert split_words(" The dog,  (a hound)\tbarks. ") == ["The", "dog,", "(a", "hound)", "barks."]
    sentence = "Before lunch, the nurse's [MASK] was sold!"
    assert " ".join(split_words(sentence)) == sentence


def test_toy_sentences_keep_their_words_under_synonyms() -> None:
    """Each word is itself or, marks and capitals aside, a synonym from the lexicon."""
    view, replaced = partial(synonym_replacement, synonyms=toy.synonyms, rate=0.3), 0
    for number, sentence in enumerate(toy.load("toy-sentences", "dev", size=200)):
        words = split_words(sentence)
        after = " " + " ".join(view(words, Random(number))) + " "
        for word in words:
            bare = word.strip(".,")
            options = [bare, *toy.synonyms(bare), *toy.synonyms(bare.lower())]
            assert any(option.lower() in after.lower() for option in options), (sentence, after)
        replaced += after.strip() != sentence
        assert after.strip()[-1] == sentence[-1]
    assert replaced > 180


@pytest.mark.realdata
def test_wordnet_s_synonyms(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk.corpus

    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(real_data / "nltk_data")])
    try:
        nltk.data.find("corpora/wordnet/")
    except LookupError:
        pytest.skip(f"NLTK's wordnet is not in {nltk.data.path}; set NLTK_DATA")
    wordnet_synonyms.cache_clear()
    assert wordnet_synonyms("dog")[:3] == ("domestic dog", "Canis familiaris", "frump")  # the first sense, then others
    assert "automobile" in wordnet_synonyms("Cars")
    assert wordnet_synonyms("zyzzyvas") == ()
    for word in ("dog", "plays", "quickly", "big"):
        found = wordnet_synonyms(word)
        assert found
        assert len(set(found)) == len(found)
        assert not any("_" in lemma or lemma.lower() in (word, word.removesuffix("s")) for lemma in found)
    after = synonym_replacement(split_words("A man is slicing an onion, quickly."), Random(1), rate=0.5)
    assert after[0] == "A"
    assert after[-1].endswith(".")
    assert sum(word in after for word in ("man", "slicing", "onion,", "quickly.")) == 1  # three of the four are others


@pytest.mark.realdata
def test_the_crop_that_is_the_control_of_roles_keeps_as_many_words(real_data: Path) -> None:
    try:
        label_roles("dogs run")
    except LookupError as error:  # the tagger's data is no part of the package
        pytest.skip(str(error))
    sentences = [split_words(text) for text in data.load("wiki1m", "train", real_data).rows[:600]]
    words = sum(map(len, sentences))
    roles = sum(len(srl_guided(own, Random(0), roles=label_roles)) for own in sentences) / words
    crop = sum(len(random_crop(own, Random(0), rate=0.6)) for own in sentences) / words
    assert f"{roles:.0%}" == "41%"  # as a page of the book says
    assert abs(roles - crop) < 0.02
