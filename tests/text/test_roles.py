"""Roles by rules: hand-worked sentences with tags given by hand, and the toy world, whose roles are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from experiments.toy.grammar import Sentence, render
from experiments.toy.scene import scenes

from sentlab.text.phrases import Tagger
from sentlab.text.roles import label_roles

NAMES = ("ARG0", "PRED", "ARGM-NEG", "ARG1")


def tagger(tags: str) -> Tagger:
    """Gives these tags, whatever the words."""
    return lambda words: tags.split()


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
