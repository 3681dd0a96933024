"""Part-of-speech tags for the toy world, from its lexicon and a few rules: a tagger for tests that needs no files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from experiments.toy.lexicon import FRAMES, SENSES, inflect, plural

FUNCTION_WORDS = """
DT a an the some no
IN in on at by of for from with without before after behind during
RP up down off
TO to
MD can could should
VBZ is does
VBP are do
VBD was were did
VBG being using
VB know tell
PRP i you it me
WP who whom what
WDT that which
WRB how where when why
EX there
RB not away ago downtown yesterday
CD two three four
JJ several last good musical little wild
JJS best
NN anyone somebody way reason place time hello fire fault
NNS days weeks holidays woods mountains
NNP french monday saturday sunday
. . ? !
, ,
"""  # Penn has "yesterday" as a noun, which would join the noun before it
_BE = frozenset("is are was were being".split())
_BEFORE_BASE = frozenset("do does did can could should to".split())
_VERB_FORMS = {"base": ("VB", "VBP"), "s": ("VBZ",), "ing": ("VBG",), "past": ("VBD",), "participle": ("VBN",)}
_BEFORE_NOUN = frozenset(("DT", "JJ", "JJS", "CD", "IN"))
_NOUNS = frozenset(("NN", "NNS", "NNP", "PRP"))
_INSIDE = _NOUNS | {"DT", "JJ", "CD", "RB"}  # what may stand between a verb and the word that decides on its form


def tag(words: Sequence[str]) -> list[str]:
    """Return Penn Treebank tags for the words of one sentence or phrase of the toy world.

    Args:
        words: words and punctuation marks, in order; capitals do not matter.

    Returns:
        A tag for each; `NN` for a word that the toy world never says.
    """
    lower, tags = [word.lower() for word in words], list[str]()
    for i, word in enumerate(lower):
        options = _readings().get(word, ("NN",))
        nominal, verbal = [o for o in options if o[0] != "V"], [o for o in options if o[0] == "V"]
        if nominal and verbal and not _is_nominal(i, lower, tags, nominal, verbal):
            nominal = []
        if nominal:
            tags.append(nominal[0] if len(nominal) == 1 else _noun(i, lower, tags))
        else:
            tags.append(verbal[0] if len(verbal) == 1 else _verb(i, lower, tags, verbal))
    return tags


@cache
def _readings() -> dict[str, tuple[str, ...]]:
    """Every word that the toy world can say, in lower case, with all its tags."""
    readings = defaultdict[str, dict[str, None]](dict)
    for word, name in _lexicon_tags():
        readings[word.lower()][name] = None
    listed = {word: (name,) for name, *words in map(str.split, FUNCTION_WORDS.strip().splitlines()) for word in words}
    return {word: tuple(names) for word, names in readings.items()} | listed


def _lexicon_tags() -> Iterator[tuple[str, str]]:
    """Each word of the lexicon in each of its forms, with a tag; function words get a wrong one here."""
    verbs = [verb for frame in FRAMES.values() for verb in frame.converse]
    for sense in SENSES.values():
        if sense.id[0] == "v":
            verbs += sense.words
            continue
        for text in sense.words:
            *others, last = text.split()
            yield from ((word, "NN") for word in others)
            if sense.id[0] == "n":
                yield last, "NNS" if sense.mark == "+" else "NN"
                if not sense.mark:
                    yield plural(last), "NNS"
            elif sense.id[0] == "a":
                yield last, "JJ"
            else:
                yield last, "NN" if others else "RB"  # "in the garden", "happily"
    for verb in verbs:
        for form, names in _VERB_FORMS.items():
            yield from ((inflect(verb, form).split()[0], name) for name in names)
        yield from ((word, "NN") for before, word in pairwise(verb.split()) if before == "a")  # "take a walk"


@cache
def _compounds() -> frozenset[tuple[str, str]]:
    """Neighbours within a noun or a circumstance: (washing, machine), (lunch, break)."""
    texts = [text for sense in SENSES.values() if sense.id[0] in "nc" for text in sense.words]
    return frozenset(pair for text in texts for pair in pairwise(text.split()))


def _is_nominal(i: int, words: list[str], tags: list[str], nominal: list[str], verbal: list[str]) -> bool:
    """Whether a word that can be both is a noun or an adjective here rather than a verb."""
    before, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
    if (before, words[i]) in _compounds() or (words[i], after) in _compounds():
        return True
    if not before or before == ",":  # "Water was drunk", but "water the tree"
        return "JJ" in nominal or not after[:1].isalpha() or after in _BE
    if before in _BE:
        return "VBG" not in verbal
    return tags[-1] in _BEFORE_NOUN or (tags[-1].startswith("V") and before not in _BEFORE_BASE)


def _noun(i: int, words: list[str], tags: list[str]) -> str:
    """The number of a noun such as "sheep", which has one form for both."""
    start = i
    while start and tags[start - 1] in ("JJ", "CD"):
        start -= 1
    many = "CD" in tags[start:i] or "several" in words[start:i] or words[start - 1 : start] == ["of"]
    return "NNS" if many else "NN"


def _verb(i: int, words: list[str], tags: list[str], options: list[str]) -> str:
    """The form of a verb that is spelt like others of its forms, from the word that decides on it."""
    start = i
    while start and (tags[start - 1] in _INSIDE or words[start - 1] in ("of", "being")):
        start -= 1
    before, between = words[start - 1] if start else "", tags[start:i]
    wanted: tuple[str, ...]
    subject = [name for name in between if name in _NOUNS]
    if before in _BEFORE_BASE and not (before == "to" and subject):
        wanted = ("VB",)
    elif before in _BE and (subject or "JJ" not in between):
        wanted = ("VBN",)  # "was sent", "was the letter sent", not "who was old sent"
    elif (not before and not subject) or tags[i - 1].startswith("V"):
        wanted = ("VB",)  # a phrase, or "let go"
    elif subject and subject[-1] == "NNS":
        wanted = ("VBP", "VBD")
    else:
        wanted = ("VBD", "VBP")
    return next((name for name in wanted if name in options), options[0])
