"""The words of the toy world: senses with synonyms, hypernyms and opposites, event frames, and English inflection.

Everything is read from the plain text files of `experiments/assets/toy`, which explain their own format and are meant
to be edited. A sense is named by a letter for its kind and its first word: `n/car` (noun), `v/repair` (event), `a/red`
(adjective) and `c/in the garden` (circumstance: manner, place, time, number); `n/#vehicle` is a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

ASSETS = Path(__file__).resolve().parents[1] / "assets" / "toy"
WORD_FILES = {"n": "nouns.txt", "a": "adjectives.txt", "c": "circumstances.txt"}
ROLES = ("agent", "theme", "recipient", "tool", "manner", "place")
_HEADER = re.compile(
    r"(?P<open>[\[(])(?P<name>[^\])<*]+)(?P<mark>\*?)\s*(?:<(?P<parent>[^\])]+))?[\])](?P<words>[^|]*)(?:\|(?P<kinds>.*))?"
)


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
    opposite: str = ""
    mark: str = ""
    section: str = ""
    kinds: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class Lexicon:
    """All senses and frames by name, and the irregular forms by (kind, word)."""

    senses: dict[str, Sense]
    frames: dict[str, Frame]
    irregular: dict[tuple[str, str], tuple[str, ...]]

    def ancestors(self, name: str) -> list[str]:
        """List the sense itself, its hypernym, the hypernym of that one, and so on."""
        chain = []
        while name:
            chain.append(name)
            name = self.senses[name].parent
        return chain


@cache
def lexicon() -> Lexicon:
    """Read the asset files. An assertion names the file and the line that break the format."""
    senses: dict[str, Sense] = {}
    for letter, name in WORD_FILES.items():
        _read_senses(letter, name, senses)
    irregular = {}
    for _, line in _lines("irregular.txt"):
        kind, word, *forms = line.split()
        irregular[kind, word] = tuple(forms)
    return Lexicon(senses, _read_frames(senses), irregular)


def _lines(name: str) -> Iterator[tuple[str, str]]:
    """(file and line number, text) for every line of an asset that is neither blank nor a comment."""
    text = (ASSETS / name).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield f"{name}:{number}", line.strip()


def _items(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _oppose(senses: dict[str, Sense], name: str, other: str, where: str) -> None:
    """Make two senses opposites; a sense that already has its own opposite keeps it."""
    assert other in senses, f"{where}: the opposite {other[2:]!r} is no sense here; write the first word of its line"
    senses[name] = replace(senses[name], opposite=other)
    if not senses[other].opposite:
        senses[other] = replace(senses[other], opposite=name)


def _read_senses(letter: str, file: str, senses: dict[str, Sense]) -> None:
    """Add the senses of one word file; a heading in square brackets is the hypernym of its lines."""
    opposites: list[tuple[str, str, str]] = []
    section, parent, kinds = "", "", tuple[str, ...]()
    for where, line in _lines(file):
        if header := _HEADER.fullmatch(line):
            section, kinds = header["name"].strip(), tuple((header["kinds"] or "").split())
            above = f"{letter}/#{header['parent'].strip()}" if header["parent"] else ""
            assert not above or above in senses, f"{where}: the hypernym {above[3:]!r} is no section above this one"
            parent = f"{letter}/#{section}" if header["open"] == "[" else ""
            if parent:
                senses[parent] = Sense(parent, _items(header["words"]), above, "", header["mark"], section, kinds)
            continue
        assert line[0] not in "[(", f"{where}: a heading is [name < hypernym] words | kinds, not {line!r}"
        left, _, opposite = (part.strip() for part in line.partition("~"))
        first, *others = _items(left)
        word = first.rstrip("*+-!<")
        name = f"{letter}/{word}"
        assert name not in senses, f"{where}: {word!r} is there already; every sense needs a first word of its own"
        mark = "<" if left.endswith("<") else first[len(word) :]
        senses[name] = Sense(name, (word, *(w.rstrip("<") for w in others)), parent, "", mark, section, kinds)
        if opposite:
            opposites.append((name, f"{letter}/{opposite}", where))
    for name, other, where in opposites:
        _oppose(senses, name, other, where)


def _read_frames(senses: dict[str, Sense]) -> dict[str, Frame]:
    """Read `frames.txt`, adding every event and every class of events to the senses."""
    groups: dict[str, str] = {}
    blocks: dict[str, dict[str, str]] = {}
    for where, line in _lines("frames.txt"):
        if line.startswith("$"):
            name, _, groups[name.strip()] = (part.strip() for part in line.partition("="))
        elif header := re.fullmatch(r"\[([^<\]]+)(?:<([^\]]+))?\]\s*(\w+)", line):
            name, general, kind = (part.strip() if part else "" for part in header.groups())
            assert f"v/{name}" not in blocks, f"{where}: the frame {name!r} is there already"
            block = blocks[f"v/{name}"] = {"where": where, "class": kind}
            senses.setdefault(f"v/#{kind}", Sense(f"v/#{kind}", (), section=kind))
            block["parent"] = f"v/{general}" if general else f"v/#{kind}"
        else:
            key, colon, value = line.partition(":")
            assert colon, f"{where}: expected `key: values` below a [frame]"
            block[key.split()[0]] = value
            if key.startswith("recipient"):
                block["preposition"] = key.split()[1]
    index: dict[tuple[str, str], str] = {}
    for sense in senses.values():
        for word in sense.words:
            index.setdefault((sense.id[0], word), sense.id)
    for name, block in blocks.items():
        verbs = tuple(v.rstrip("!") for v in _items(block["verb"]))
        senses[name] = Sense(name, verbs, block["parent"], section=block["class"])
    for name, block in blocks.items():
        if "opposite" in block:
            _oppose(senses, name, f"v/{block['opposite'].strip()}", block["where"])
    expand = Expander(senses, groups, index)
    return {name: _frame(name, block, expand) for name, block in blocks.items()}


def _frame(name: str, block: dict[str, str], expand: Expander) -> Frame:
    fillers = {}
    for role in ROLES:
        senses = expand(block.get(role, ""), "c" if role in ("manner", "place") else "n", block["where"])
        fillers[role] = tuple(dict.fromkeys(senses))
    converse, _, preposition = block.get("converse", "").partition(":")
    marked = frozenset(v.rstrip("!") for v in _items(block["verb"]) if v.endswith("!"))
    options = frozenset(block.get("options", "").split())
    return Frame(name, fillers, marked, block.get("preposition", ""), _items(converse), preposition.strip(), options)


class Expander(NamedTuple):
    """Finds the senses that a list of words, @sections and $groups means."""

    senses: dict[str, Sense]
    groups: dict[str, str]
    by_word: dict[tuple[str, str], str]

    def __call__(self, text: str, letter: str, where: str) -> Iterator[str]:
        for item in _items(text):
            if item.startswith("$"):
                yield from self(self.groups[item], letter, where)
            elif item.startswith("@"):
                yield from self.members(f"{letter}/#{item[1:]}", letter, where)
            else:
                assert (letter, item) in self.by_word, f"{where}: {item!r} is no word of {WORD_FILES[letter]}"
                yield self.by_word[letter, item]

    def members(self, section: str, letter: str, where: str) -> Iterator[str]:
        assert section in self.senses, f"{where}: there is no section [{section[3:]}] in {WORD_FILES[letter]}"
        for sense in self.senses.values():
            if sense.parent == section:
                inner = sense.id.startswith(f"{letter}/#")
                yield from self.members(sense.id, letter, where) if inner else (sense.id,)


def inflect(verb: str, form: str) -> str:
    """Put a verb, or a verb with its particle, into the form `base`, `s`, `ing`, `past` or `participle`."""
    word, space, particle = verb.partition(" ")
    irregular = lexicon().irregular.get(("verb", word))
    if form == "base":
        return verb
    if form == "s":
        inflected = {"have": "has"}.get(word) or _add_s(word)
    elif form == "ing":
        stem = word[:-2] + "y" if word.endswith("ie") else word[:-1] if re.search("[^eoy]e$", word) else _double(word)
        inflected = stem + "ing"
    else:
        inflected = irregular[form == "participle"] if irregular else _add_ed(word)
    return inflected + space + particle


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
    forms = lexicon().irregular.get(("noun", word))
    return " ".join([*before, forms[0] if forms else _add_s(word)])


def article(phrase: str) -> str:
    """Return `a` or `an`, as the first sound of the phrase requires."""
    forms = lexicon().irregular.get(("article", phrase.split(" ")[0]))
    return forms[0] if forms else "an" if phrase[0] in "aeiouAEIOU" else "a"


def synonyms(word: str) -> tuple[str, ...]:
    """Return the words that the toy world uses in the same sense as `word`, in the same form; some have several words.

    Nothing for a word that it does not know. A word that is two forms, as "cut" and "mailed" are, gets those of both.
    """
    return _synonyms().get(word, ())


@cache
def _synonyms() -> dict[str, tuple[str, ...]]:
    """For every word in every form the words of its senses in that form, base forms first."""
    senses = lexicon().senses.values()
    groups = [sense.words for sense in senses]
    for sense in senses:
        if sense.id[0] == "v":
            groups += [tuple(inflect(w, form) for w in sense.words) for form in ("s", "ing", "past", "participle")]
        elif sense.id[0] == "n" and not sense.mark:
            groups.append(tuple(plural(w) for w in sense.words))
    known: dict[str, dict[str, None]] = {}
    for group in groups:
        for word in group:
            known.setdefault(word, {}).update(dict.fromkeys(other for other in group if other != word))
    return {word: tuple(others) for word, others in known.items()}
