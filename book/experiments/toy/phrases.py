"""Phrases of the toy world: how alike two are, pairs of phrases and words, phrases to find in longer texts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from random import Random

from sentlab.data.rows import PhraseInContext, PhrasePair, WordPair

from experiments.toy.grammar import Sentence, render
from experiments.toy.lexicon import article, lexicon
from experiments.toy.scene import UNSAID, Scene, attributes, draw, scenes, similarity, split_of_text

PART_WEIGHTS = {"v": 4.0, "n": 3.0, "a": 1.0}  # of a phrase: event, noun, attribute
Phrase = tuple[str, ...]  # senses in the order of speech, at most one of each kind


def phrase_similarity(one: Phrase, two: Phrase) -> float:
    """Score the similarity of two phrases, 0 to 1: the mean over event, noun and attribute of that of their senses.

    It is weighted by `PART_WEIGHTS`. An attribute that only one of them has counts `UNSAID`, another such part 0.
    """
    first, second = ({sense[0]: sense for sense in phrase} for phrase in (one, two))
    total = weights = 0.0
    for kind, weight in PART_WEIGHTS.items():
        if kind in first or kind in second:
            weights += weight
            both = kind in first and kind in second
            total += weight * (similarity(first[kind], second[kind]) if both else UNSAID if kind == "a" else 0.0)
    return total / weights


def relation(one: Phrase, two: Phrase) -> str:
    """Return `equivalence`, `entailment` (the second phrase says no more than the first) or `independent`."""
    if one == two:
        return "equivalence"
    above = {ancestor for sense in one for ancestor in lexicon().ancestors(sense)}
    heads = ({sense[0] for sense in phrase} - {"a"} for phrase in (one, two))
    return "entailment" if set(two) <= above and next(heads) == next(heads) else "independent"


def _say_phrase(phrase: Phrase, rng: Random, avoid: str = "") -> str:
    """A phrase in words, without an article in front; words that stand in `avoid` are not used if there are others."""
    senses, words = lexicon().senses, []
    for sense in phrase:
        options = senses[sense].words
        words.append(rng.choice(tuple(w for w in options if w not in avoid) or options))
    mark = senses[phrase[-1]].mark
    if phrase[0][0] == "v" and len(phrase) > 1 and mark not in ("-", "*", "+"):
        noun = " ".join(words[1:])
        return f"{words[0]} {'the' if mark == '!' else article(noun)} {noun}"
    return " ".join(words)


def _draw_phrase(rng: Random) -> Phrase:
    """A word, a noun with an attribute, or a verb with its object."""
    scene = draw(rng)
    if not scene.theme:
        return (scene.event,)
    attrs = attributes(scene.theme)
    kind = rng.choice(("noun", "attribute", "verb", "verb"))
    if kind == "attribute" and attrs:
        return (rng.choice(attrs), scene.theme)
    return (scene.theme,) if kind != "verb" else (scene.event, scene.theme)


def _vary_phrase(phrase: Phrase, rng: Random) -> Phrase:
    """Another phrase made of one: another sense in one place (opposite, hypernym, sibling), or no attribute."""
    senses = lexicon().senses
    at = rng.choice(range(len(phrase)))
    sense = senses[phrase[at]]
    if sense.id[0] == "a" and rng.random() < 0.4:
        return phrase[:at] + phrase[at + 1 :]
    parent = senses[sense.parent] if sense.parent and senses[sense.parent].words else None
    near = tuple(s.id for s in senses.values() if s.parent == sense.parent and s.section == sense.section and s.words)
    if sense.id[0] == "v" and len(phrase) > 1:
        near = tuple(n for n in near if n in lexicon().frames and phrase[-1] in lexicon().frames[n].fillers["theme"])
    choices = [
        c
        for c in (sense.opposite, parent.id if parent else "", *((rng.choice(near), rng.choice(near)) if near else ()))
        if c
    ]
    return (*phrase[:at], rng.choice(choices or [sense.id]), *phrase[at + 1 :])


def phrases(split: str, seed: int, rng: Random) -> Iterator[PhrasePair]:
    """Yield pairs, the three relations in turn; independent pairs are near misses as often as not."""
    relations = ("equivalence", "entailment", "independent")
    seen: set[tuple[str, str]] = set()
    for _ in range(1_000_000):
        one = _draw_phrase(rng)
        wanted = relations[len(seen) % 3]
        near = wanted == "entailment" or rng.random() < 0.6
        two = one if wanted == "equivalence" else _vary_phrase(one, rng) if near else _draw_phrase(rng)
        if split_of_text("/".join(sorted((" ".join(one), " ".join(two))))) != split or relation(one, two) != wanted:
            continue
        first = _say_phrase(one, rng)
        second = _say_phrase(two, rng, first)
        if first != second and (first, second) not in seen:
            seen.add((first, second))
            yield PhrasePair(first, second, wanted, round(phrase_similarity(one, two), 2))


def words(split: str, seed: int, rng: Random) -> Iterator[WordPair]:
    """Yield pairs of single words with gold of 0 to 10: one pair of each degree in turn, while any are left."""
    senses = [s for s in lexicon().senses.values() if s.id[0] in "nva" and any(" " not in w for w in s.words)]
    degrees: dict[float, list[tuple[str, str]]] = {}
    for one, two in [(s, s) for s in senses] + list(combinations(senses, 2)):
        if one.id[0] != two.id[0] or split_of_text(f"{one.id}/{two.id}") != split:
            continue
        first, second = ([w for w in s.words if " " not in w] for s in (one, two))
        pairs = list(combinations(first, 2)) if one is two else [(rng.choice(first), rng.choice(second))]
        degrees.setdefault(similarity(one.id, two.id), []).extend(pairs)
    for pairs in degrees.values():
        rng.shuffle(pairs)
    while any(degrees.values()):
        for degree in sorted(degrees):
            if degrees[degree]:
                yield WordPair(*degrees[degree].pop(), 10 * degree)


def _parts(scene: Scene, sentence: Sentence) -> Iterator[tuple[Phrase, int, int]]:
    """The noun phrases of a sentence, article left out, and its verb phrases: senses, start, end."""
    spans = {role: (start, end) for role, start, end in sentence.spans}
    nouns: dict[str, tuple[Phrase, int, int]] = {}
    for role in ("agent", "theme", "recipient", "tool"):
        if role not in spans or (role == "agent" and scene.count):
            continue
        start, end = spans[role]
        text = sentence.text[start:end]
        article_length = next((len(a) for a in ("the ", "a ", "an ", "some ") if text.lower().startswith(a)), 0)
        attr = getattr(scene, f"{role}_attr", "")
        said = attr and any(w in text.split() or w in text for w in lexicon().senses[attr].words if w in sentence.words)
        nouns[role] = ((attr,) * bool(said) + (getattr(scene, role),), start + article_length, end)
    yield from nouns.values()
    if "event" in spans and "theme" in nouns and spans["theme"][0] == spans["event"][1] + 1 and not scene.negated:
        phrase, _, end = nouns["theme"]
        yield (scene.event, *phrase), spans["event"][0], end


def contexts(split: str, seed: int, rng: Random) -> Iterator[PhraseInContext]:
    """Yield three to five sentences, a place in them, and a phrase that is nearer to that place than to any other."""
    stream = scenes(split, f"{seed} toy-contexts")
    while True:
        text, parts = "", []
        for scene in (next(stream) for _ in range(rng.choice((3, 4, 5)))):
            sentence = render(scene, rng)
            text += " " if text else ""
            parts += [(phrase, start + len(text), end + len(text)) for phrase, start, end in _parts(scene, sentence)]
            text += sentence.text
        target, start, end = rng.choice(parts)
        phrase = target if rng.random() < 0.4 else _vary_phrase(target, rng)
        if rng.random() < 0.3:
            phrase = _vary_phrase(phrase, rng)
        grades = sorted((phrase_similarity(phrase, other_phrase) for other_phrase, _, _ in parts), reverse=True)
        best = phrase_similarity(phrase, target)
        said = _say_phrase(phrase, rng, text[start:end])
        if best == grades[0] and best > grades[1] and said != text[start:end]:
            yield PhraseInContext(said, text, start, end, round(5 * best, 1))
