"""The words of the toy world: senses with synonyms, hypernyms and opposites, event frames, and inflection.

Everything is read from the plain text files of `experiments/assets/toy`, which explain their own format and are meant
to be edited. A sense is named by a letter for its kind and its first word: `n/car` (noun), `v/repair` (event), `a/red`
(adjective) and `c/in the garden` (circumstance: manner, place, time, number); `n/#vehicle` is a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from configparser import ConfigParser, SectionProxy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets" / "toy"
WORD_FILES = {"n": "nouns.txt", "a": "adjectives.txt", "c": "circumstances.txt"}
ROLES = {"agent": "n", "theme": "n", "recipient": "n", "tool": "n", "manner": "c", "place": "c"}  # and what fills them


@dataclass(slots=True)
class Sense:
    """One meaning: its interchangeable words, the sense above it, its opposite, and what grammar must know of it.

    `mark` is `*` for a mass noun, `+` for a noun used in the plural, `-` for one without article, `!` for one that
    always takes `the` and is never counted, `<` for a time of the past. `kinds` are the kinds of adjective that suit
    a noun; `section` is the list that the sense stands in.
    """

    id: str
    words: tuple[str, ...]
    parent: str = ""
    section: str = ""
    mark: str = ""
    kinds: tuple[str, ...] = ()
    opposite: str = ""


@dataclass(slots=True)
class Frame:
    """An event type: for every role the senses that may fill it (none: the frame has no such role), and its grammar."""

    id: str
    fillers: dict[str, tuple[str, ...]]
    active_only: frozenset[str]
    preposition: str
    converse: tuple[str, ...]
    converse_preposition: str
    options: frozenset[str]


def asset(name: str) -> list[str]:
    """Read the lines of a word file that are neither blank nor a comment."""
    lines = (ASSETS / name).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _items(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _senses(letter: str) -> Iterator[Sense]:
    """The senses of one word file; a heading in square brackets is the hypernym of its lines."""
    section, parent, kinds = "", "", tuple[str, ...]()
    for line in asset(WORD_FILES[letter]):
        if line[0] in "[(":
            heading, rest = re.split(r"[\])]", line[1:], maxsplit=1)
            name, _, above = (part.strip() for part in heading.partition("<"))
            words, _, suiting = rest.partition("|")
            section, kinds = name.rstrip("*"), tuple(suiting.split())
            parent = f"{letter}/#{section}" if line[0] == "[" else ""
            if parent:
                above = f"{letter}/#{above}" if above else ""
                yield Sense(parent, _items(words), above, section, name[len(section) :], kinds)
        else:
            left, _, opposite = (part.strip() for part in line.partition("~"))
            first, *others = _items(left)
            word = first.rstrip("*+-!<")
            mark = "<" if left.endswith("<") else first[len(word) :]
            words = (word, *(other.rstrip("<") for other in others))
            opposite = f"{letter}/{opposite}" if opposite else ""
            yield Sense(f"{letter}/{word}", words, parent, section, mark, kinds, opposite)


def _events(frames: ConfigParser) -> Iterator[Sense]:
    """The classes of events, then the events."""
    for kind in dict.fromkeys(frames[name]["class"] for name in frames.sections()):
        yield Sense(f"v/#{kind}", (), section=kind)
    for name in frames.sections():
        kind, opposite = frames[name]["class"], frames.get(name, "opposite", fallback="")
        parent = frames.get(name, "entails", fallback=f"#{kind}")
        verbs = tuple(verb.rstrip("!") for verb in _items(frames[name]["verb"]))
        yield Sense(f"v/{name}", verbs, f"v/{parent}", kind, opposite=f"v/{opposite}" if opposite else "")


def ancestors(name: str) -> list[str]:
    """List the sense itself, its hypernym, the hypernym of that one, and so on."""
    chain = []
    while name:
        chain.append(name)
        name = SENSES[name].parent
    return chain


def _fillers(text: str, letter: str, block: SectionProxy) -> Iterator[str]:
    """The senses that a list of words, @sections and $groups means."""
    for item in _items(text):
        if item.startswith("$"):
            yield from _fillers(block[item], letter, block)
        elif item.startswith("@"):
            section = f"{letter}/#{item[1:]}"
            yield from (name for name in SENSES if "#" not in name and section in ancestors(name))
        else:
            yield next(sense.id for sense in SENSES.values() if sense.id[0] == letter and item in sense.words)


def _frame(name: str, block: SectionProxy) -> Frame:
    fillers = {r: tuple(dict.fromkeys(_fillers(block.get(r, ""), letter, block))) for r, letter in ROLES.items()}
    active_only = frozenset(verb.rstrip("!") for verb in _items(block["verb"]) if verb.endswith("!"))
    to, converse, source, options = (block.get(k, "") for k in ("preposition", "converse", "source", "options"))
    return Frame(f"v/{name}", fillers, active_only, to, _items(converse), source, frozenset(options.split()))


_BLOCKS = ConfigParser(interpolation=None)
_BLOCKS.read(ASSETS / "frames.ini", encoding="utf-8")
SENSES = {sense.id: sense for letter in WORD_FILES for sense in _senses(letter)}
SENSES |= {sense.id: sense for sense in _events(_BLOCKS)}
FRAMES = {f"v/{name}": _frame(name, _BLOCKS[name]) for name in _BLOCKS.sections()}
IRREGULAR = {(kind, word): forms for kind, word, *forms in map(str.split, asset("irregular.txt"))}
for _sense in SENSES.values():
    if _sense.opposite:  # the other's, too, unless it has its own
        SENSES[_sense.opposite].opposite = SENSES[_sense.opposite].opposite or _sense.id


def inflect(verb: str, form: str) -> str:
    """Put a verb, or a verb with its particle, into the form `base`, `s`, `ing`, `past` or `participle`."""
    word, space, particle = verb.partition(" ")
    if form == "s":
        word = "has" if word == "have" else _add_s(word)
    elif form == "ing":
        stem = word[:-2] + "y" if word.endswith("ie") else word[:-1] if re.search("[^eoy]e$", word) else _double(word)
        word = stem + "ing"
    elif form in ("past", "participle"):
        irregular = IRREGULAR.get(("verb", word))
        word = irregular[form == "participle"] if irregular else _add_ed(word)
    return word + space + particle


def _double(word: str) -> str:
    """Double the last consonant of a one-syllable word that ends in one vowel and one consonant."""
    return word + word[-1] if re.fullmatch("(?:qu|[^aeiou])*[aeiou][bdgklmnprt]", word) else word


def _add_s(word: str) -> str:
    if re.search("(?:s|x|z|ch|sh|[^aeiou]o)$", word):
        return word + "es"
    return word[:-1] + "ies" if re.search("[^aeiou]y$", word) else word + "s"


def _add_ed(word: str) -> str:
    if word.endswith("e"):
        return word + "d"
    return word[:-1] + "ied" if re.search("[^aeiou]y$", word) else _double(word) + "ed"


def plural(noun: str) -> str:
    """Return the plural of a noun; of several words the last one changes."""
    *before, word = noun.split(" ")
    return " ".join([*before, *IRREGULAR.get(("noun", word), [_add_s(word)])])


def article(phrase: str) -> str:
    """Return `a` or `an`, as the first sound of the phrase requires."""
    regular = "an" if phrase[0] in "aeiouAEIOU" else "a"
    return IRREGULAR.get(("article", phrase.split(" ")[0]), [regular])[0]


@cache
def synonyms(word: str) -> tuple[str, ...]:
    """Return the words that the toy world uses in the same sense as `word`, in the same form; some have several words.

    Nothing for a word that it does not know. A word that is two forms, as "cut" and "mailed" are, gets those of both.
    """
    others = (other for group in _groups() if word in group for other in group if other != word)
    return tuple(dict.fromkeys(others))


@cache
def _groups() -> list[tuple[str, ...]]:
    """The words of every sense, then those of the verbs and nouns in each of their other forms."""
    groups = [sense.words for sense in SENSES.values()]
    for sense in SENSES.values():
        if sense.id[0] == "v":
            groups += [tuple(inflect(w, form) for w in sense.words) for form in ("s", "ing", "past", "participle")]
        elif sense.id[0] == "n" and not sense.mark:
            groups.append(tuple(plural(w) for w in sense.words))
    return groups
