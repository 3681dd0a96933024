"""Semantic roles of the sentences of the toy world, known because the grammar put them there."""

from __future__ import annotations

from sentlab.data.toy.grammar import Sentence


def frame(sentence: Sentence) -> dict[str, str]:
    """PropBank's names of the roles -> their words, as the sentence spells them, for each role that it says.

    PRED is the event, ARG0 who does it, ARG1 its theme, ARGM-NEG "not". Where the recipient tells the event ("the boy
    got a letter from the nurse"), it is the recipient who does what the verb says.
    """
    said = {role: sentence.text[start:end] for role, start, end in sentence.spans}
    who = "recipient" if sentence.form == "converse" else "agent"
    negation = "not" if " not " in sentence.text else ""
    found = {"ARG0": said.get(who), "PRED": said["event"], "ARGM-NEG": negation, "ARG1": said.get("theme")}
    return {role: words for role, words in found.items() if words}
