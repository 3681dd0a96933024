"""The words of the toy world: senses with synonyms, hypernyms and opposites, event frames, and inflected forms.

All is read from `assets/toy`, which is to be edited: a sense a line in `words.tsv`, the forms of verbs in `verbs.tsv`,
events in `frames.ini`. A sense is named by a letter for its kind and its first word: `n/car` (noun), `v/repair`
(event), `a/red` (adjective), `c/in the garden` (circumstance: manner, place, time, number); `n/#vehicle` is a heading.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from configparser import ConfigParser, SectionProxy
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets" / "toy"
ROLES = {"agent": "n", "theme": "n", "recipient": "n", "tool": "n", "manner": "c", "place": "c"}  # and what fills them


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


def _table(name: str) -> list[dict[str, str]]:
    with (ASSETS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _sense(row: dict[str, str]) -> Sense:
    kinds = tuple(row["kinds"].split())
    return Sense(row["sense"], _items(row["words"]), row["above"], row["section"], row["mark"], kinds, row["opposite"])


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
    names = []
    while name:
        names.append(name)
        name = SENSES[name].parent
    return names


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
_WORDS = _table("words.tsv")
SENSES = {sense.id: sense for sense in chain(map(_sense, _WORDS), _events(_BLOCKS))}
FRAMES = {f"v/{name}": _frame(name, _BLOCKS[name]) for name in _BLOCKS.sections()}
PLURALS = dict(chain.from_iterable(zip(_items(row["words"]), _items(row["plurals"]), strict=False) for row in _WORDS))
FORMS = {row["base"]: row for row in _table("verbs.tsv")}


def article(phrase: str) -> str:
    """Return `a` or `an`, as the first sound of the phrase requires."""
    return "an" if re.match("(?!uniform )[aeiouAEIOU]|hour ", f"{phrase} ") else "a"


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
            groups += [tuple(FORMS[w][form] for w in sense.words) for form in ("s", "ing", "past", "participle")]
        elif sense.id[0] == "n" and not sense.mark:
            groups.append(tuple(PLURALS[w] for w in sense.words))
    return groups
