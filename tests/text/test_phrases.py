"""Phrases, chunks and roles: worked by hand, and in the toy world, whose roles are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random

import pytest
from experiments.toy.grammar import Sentence, render
from experiments.toy.scene import scenes

from sentlab.text.phrases import STOPWORDS, Phrase, Tagger, chunk_phrases, mask_spans, rake_phrases
from sentlab.text.roles import label_roles


def found(sentence: str) -> list[tuple[str, float]]:
    return [(phrase.text, phrase.score) for phrase in rake_phrases(sentence)]


def test_scores_are_degree_over_frequency_summed_over_the_words() -> None:
    # phrases: (red apples) (green apples) (apples) (sweet)
    # freq: apples 3, others 1.  degree (itself included): red 2, green 2, apples 2 + 2 + 1 = 5, sweet 1
    sentence = "Red apples and green apples are apples, so sweet"
    assert found(sentence) == [
        ("Red apples", pytest.approx(2 + 5 / 3)), ("green apples", pytest.approx(2 + 5 / 3)),
        ("apples", pytest.approx(5 / 3)), ("sweet", pytest.approx(1.0)),
    ]  # fmt: skip


def test_scores_and_order_are_those_of_rake_nltk() -> None:
    from rake_nltk import Rake

    rake = Rake(STOPWORDS, set(",.?!"), sentence_tokenizer=lambda text: [text], word_tokenizer=str.split)
    random, words = Random(0), ["red", "old", "dog", "cat's", "pan-fried", "house", "the", "of", "and", ",", "."]
    for _ in range(200):
        sentence = " ".join(random.choices(words, k=random.randint(1, 15)))
        rake.extract_keywords_from_text(sentence)
        expected = {text: score for score, text in rake.get_ranked_phrases_with_scores()}
        phrases = rake_phrases(sentence)
        assert {phrase.text.lower(): phrase.score for phrase in phrases} == expected
        order = [(-phrase.score, phrase.start) for phrase in phrases]
        assert order == sorted(order)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The old dog saw the OLD dog.", ["old dog saw", "OLD dog"]),  # repeated words, case kept
        ("John’s mother-in-law doesn't like it", ["John’s mother-in-law", "like"]),  # apostrophes, hyphens
        ("He did n't see the dog 's tail", ["see", "dog", "tail"]),  # tokenised text
        ("$5.2 million for 1,000 U.S. troops", ["1,000 U.S. troops", "5.2 million"]),  # numbers, abbreviation
        # clusters
        ("( a method (bert ), see !?... ) -- “quoted words”", ["quoted words", "method", "bert", "see"]),
        ("the cafe\u0301 in İstanbul → naïve", ["cafe\u0301", "İstanbul", "naïve"]),  # lower() changes lengths
        ("a\tblue \n  car", ["blue \n  car"]),  # any white space
    ],
)
def test_spans_are_exact(sentence: str, expected: list[str]) -> None:
    phrases = rake_phrases(sentence)
    assert [phrase.text for phrase in phrases] == expected
    for phrase in phrases:
        assert sentence[phrase.start : phrase.end] == phrase.text


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


def tagger(tags: str) -> Tagger:
    """Gives these tags, whatever the words."""
    return lambda words: tags.split()


def chunks(sentence: str, kinds: tuple[str, ...] = ("NP", "VP"), *, tag: Tagger) -> list[str]:
    """Chunk phrases in text order."""
    return [phrase.text for phrase in sorted(chunk_phrases(sentence, kinds, tag=tag), key=lambda phrase: phrase.start)]


@pytest.mark.parametrize(
    ("sentence", "tags", "expected"),
    [
        ("The big dogs have not been barking", "DT JJ NNS VBP RB VBN VBG", ["The big dogs", "have not been barking"]),
        ("a sleeping dog", "DT VBG NN", ["a sleeping dog"]),
        ("She wants to buy all her three red apples", "PRP VBZ TO VB PDT PRP$ CD JJ NNS",
         ["She", "wants to buy", "all her three red apples"]),
        ("who sings runs", "WP VBZ VBZ", ["sings", "runs"]),  # two clauses, two verbs
        ("tear down the house", "VB RP DT NN", ["tear down", "the house"]),
        ("red , green apples", "JJ , JJ NNS", ["green apples"]),  # never across punctuation
        # clitics are tagged apart: does n't | dog 's
        ("He doesn't see John’s dog", "PRP VBZ RB VB NNP POS NN", ["He", "doesn't see", "John’s dog"]),
        ("dogs ' s tail", "NNS '' PRP NN", ["dogs", "tail"]),
    ],
)  # fmt: skip
def test_chunks_by_hand(sentence: str, tags: str, expected: list[str]) -> None:
    assert chunks(sentence, tag=tagger(tags)) == expected


@pytest.mark.parametrize(
    ("sentence", "tags", "expected"),
    [
        ("He left because it rained in the town", "PRP VBD IN PRP VBD IN DT NN", ["because it rained in the town"]),
        (
            "He thinks that she said that it rained",
            "PRP VBZ IN PRP VBD IN PRP VBD",
            ["that she said", "that it rained"],
        ),
        ("before lunch , he ate", "IN NN , PRP VBD", []),  # no verb before the clause ends
        ("When he came , she left", "WRB PRP VBD , PRP VBD", ["When he came"]),
        ("Who saw the man that left ?", "WP VBD DT NN WDT VBD .", ["that left"]),  # the question itself is no clause
        ("For which man did he stay ?", "IN WDT NN VBD PRP VB .", []),
    ],
)
def test_clauses_by_hand(sentence: str, tags: str, expected: list[str]) -> None:
    assert chunks(sentence, ("SBAR",), tag=tagger(tags)) == expected


def test_chunks_are_all_equal_and_shuffled_by_the_sentence() -> None:
    sentences = [
        f"the {word} dog saw the cat" for word in ("big", "small", "old", "young", "red", "sad", "wild", "hot")
    ]
    tag = tagger("DT JJ NN VBD DT NN")
    found = [chunk_phrases(sentence, tag=tag) for sentence in sentences]
    assert found == [chunk_phrases(sentence, tag=tag) for sentence in sentences]
    assert {phrase.score for phrases in found for phrase in phrases} == {1.0}
    assert len({phrases[0].text.split()[0] + phrases[0].text[-3:] for phrases in found}) == 3  # any may be the first
    # pinned: the order is the same in every process and on every machine
    assert [phrase.text for phrase in found[0]] == ["the cat", "the big dog", "saw"]


@pytest.mark.usefixtures("nltk_tagger")
def test_nearly_all_chunks_of_the_toy_world_are_its_roles() -> None:
    """An independent witness: where the grammar of the toy world put its participants and its verbs."""
    right = list[bool]()
    for number, scene in enumerate(scenes("test", "chunks", 400)):
        sentence = render(scene, Random(number))
        places = sorted((phrase.start, phrase.end) for phrase in chunk_phrases(sentence.text))
        assert all(end <= start for (_, end), (start, _) in pairwise(places))
        for role, start, end in sentence.spans:
            words = sentence.text[start:end].split()
            if role in ("theme", "recipient", "tool") and not {"of", "who", "that"} & set(words):
                right.append((start, end) in places)
            if role == "event":
                right.append(sum(a <= start < b for a, b in places) == 1)
    assert sum(right) > 0.97 * len(right) > 700  # the tagger errs now and then


def test_a_letter_and_its_marks_are_one_character_in_every_script() -> None:
    hindi = "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e"
    assert [phrase.text for phrase in rake_phrases(hindi)] == [hindi]
    hebrew = "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd"  # with points
    assert [phrase.text for phrase in rake_phrases(f"the {hebrew}!")] == [hebrew]


NAMES = ("ARG0", "PRED", "ARGM-NEG", "ARG1")


def said(frames: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
    """Each frame as (ARG0, PRED, ARGM-NEG, ARG1), with "" for what is not there."""
    assert all(list(frame) == [name for name in NAMES if name in frame] for frame in frames)
    return [tuple(frame.get(name, "") for name in NAMES) for frame in frames]


@pytest.mark.parametrize(
    ("sentence", "tags", "expected"),
    [
        ("The big dogs chase a cat .", "DT JJ NNS VBP DT NN .", [("The big dogs", "chase", "", "a cat")]),
        ("The cat was chased by the dog", "DT NN VBD VBN IN DT NN", [("the dog", "chased", "", "The cat")]),
        ("The dog has chased the cat", "DT NN VBZ VBN DT NN", [("The dog", "chased", "", "the cat")]),
        ("The cat has been chased in the park by dogs", "DT NN VBZ VBN VBN IN DT NN IN NNS",
         [("dogs", "chased", "", "The cat")]),
        ("He was seen and stood by the door", "PRP VBD VBN CC VBD IN DT NN",
         [("", "seen", "", "He"), ("He", "stood", "", "")]),  # this "by" is that of another verb
        ("a house built in May burned down", "DT NN VBN IN NNP VBD RP",
         [("", "built", "", "a house"), ("a house", "burned down", "", "")]),
        ("He doesn't put on the hat", "PRP VBZ RB VB RP DT NN", [("He", "put on", "n't", "the hat")]),
        ("I cannot see", "PRP MD RB VB", [("I", "see", "not", "")]),
        ("The man in the garden sings", "DT NN IN DT NN VBZ", [("The man", "sings", "", "")]),  # not the garden
        ("The king of France sent a pair of boys", "DT NN IN NNP VBD DT NN IN NNS",
         [("The king of France", "sent", "", "a pair of boys")]),
        ("The man with a dog , which barks , left", "DT NN IN DT NN , WDT VBZ , VBD",
         [("a dog", "barks", "", ""), ("The man", "left", "", "")]),
        ("The letter that she sent was short", "DT NN WDT PRP VBD VBD JJ", [("she", "sent", "", "The letter")]),
        ("He said that she left", "PRP VBD IN PRP VBD", [("He", "said", "", ""), ("she", "left", "", "")]),
        ("Open the door !", "VB DT NN .", [("", "Open", "", "the door")]),
        ("Didn't the dog eat it ?", "VBD RB DT NN VB PRP .", [("the dog", "eat", "n't", "it")]),
        ("Was the cat chased by dogs ?", "VBD DT NN VBN IN NNS .", [("dogs", "chased", "", "the cat")]),
        ("The dog is not old", "DT NN VBZ RB JJ", []),  # a bare copula
        ("", "", []),
        # what the rules are known to get wrong
        ("He saw a dog and left", "PRP VBD DT NN CC VBD", [("He", "saw", "", "a dog"), ("a dog", "left", "", "")]),
    ],
)  # fmt: skip
def test_roles_by_hand(sentence: str, tags: str, expected: list[tuple[str, ...]]) -> None:
    assert said(label_roles(sentence, tag=tagger(tags))) == expected


def frame(sentence: Sentence) -> dict[str, str]:
    """Map PropBank's names of the roles to their words, as the sentence spells them, for each role that it says.

    PRED is the event, ARG0 who does it, ARG1 its theme, ARGM-NEG "not". Where the recipient tells the event ("the boy
    got a letter from the nurse"), it is the recipient who does what the verb says.
    """
    said = {role: sentence.text[start:end] for role, start, end in sentence.spans}
    who = "recipient" if sentence.form == "converse" else "agent"
    negation = "not" if " not " in sentence.text else ""
    roles = {"ARG0": said.get(who), "PRED": said["event"], "ARGM-NEG": negation, "ARG1": said.get("theme")}
    return {role: words for role, words in roles.items() if words}


@pytest.mark.usefixtures("nltk_tagger")
def test_rules_find_most_roles_of_the_toy_world() -> None:
    """An independent witness: the roles that the grammar of the toy world put into its sentences."""
    right = {"active": Counter[str](), "passive": Counter[str]()}
    for number, scene in enumerate(scenes("test", "roles", 1500)):
        sentence = render(scene, Random(number))
        if sentence.form not in right:
            continue
        gold, counts = frame(sentence), right[sentence.form]
        counts["all"] += 1
        for found in label_roles(sentence.text):
            if found["PRED"].split()[0] == gold["PRED"].split()[0]:  # "setting" of "setting fire to"
                counts.update(name for name in NAMES if found.get(name) == gold.get(name))
                counts["verb"] += 1
    for counts in right.values():
        assert counts["verb"] > 0.95 * counts["all"] > 300  # the tagger takes some verbs for nouns
        assert counts["ARGM-NEG"] == counts["verb"]
        assert min(counts[name] for name in ("ARG0", "PRED", "ARG1")) > 0.75 * counts["all"]
