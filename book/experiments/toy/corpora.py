"""The corpora of the toy world: their gold is what is known of the scenes (`scene.py`) of which their texts tell.

A scene belongs to one split by a hash of its participants and the class of its event, so that train, dev and test share
none. Results on these corpora are to be called what they are: results on the toy world.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations, cycle
from random import Random
from typing import Any

from sentlab.data import rows

from experiments.toy import edits
from experiments.toy.grammar import Sentence, ask, asked, render
from experiments.toy.lexicon import FRAMES, SENSES, ancestors, article, asset
from experiments.toy.scene import SPLITS, UNSAID, WEIGHTS, Scene, attributes, draw, scenes, score, similarity, split_of

SIZES = {  # name: rows of train, dev, test
    "toy-sentences": (20_000, 2_000, 2_000), "toy-sts": (5_000, 1_000, 1_500), "toy-nli": (5_000, 500, 1_000),
    "toy-nli-pairs": (6_000, 900, 1_500), "toy-phrases": (6_000, 600, 1_200), "toy-words": (1_500, 200, 300),
    "toy-duplicates": (3_000, 500, 1_000), "toy-reranking": (1_000, 100, 200), "toy-contexts": (2_000, 300, 600),
}  # fmt: skip
NAMES = tuple(SIZES)
QUESTIONS = ("how", "how", "who", "where", "when", "why")  # how twice: it is asked most


def load(name: str, split: str = "test", *, size: int | None = None) -> rows.Corpus[Any]:
    """Make one corpus of the toy world, as large as `SIZES` says or of another size; the same everywhere."""
    usual = SIZES[name][SPLITS.index(split)]
    different: dict[Any, None] = {}
    for row in _MAKERS[name](split, Random(f"{name} {split} 0")):
        different[row] = None
        if len(different) == (size or usual):
            return rows.Corpus(name, split, tuple(different), "toy world, seed 0")
    raise ValueError(f"{name} has only {len(different)} rows in {split!r}")


def _sentences(split: str, rng: Random) -> Iterator[str]:
    return (render(scene, rng).text for scene in scenes(split))


def _beside(first: Sentence, close: bool, scene: Scene, rng: Random) -> str:
    """A scene worded as closely to a sentence as can be, or as differently."""
    return render(scene, rng, like=first).text if close else render(scene, rng, unlike=first).text


FREE_WORDING = {"paraphrase", "shorter", "hypernym"}  # the second sentence of these is worded as differently as can be
BANDS = [[tuple(change.split(" + ")) for change in line.split(", ")] for line in asset("changes.txt")]


def _sts(split: str, rng: Random) -> Iterator[rows.ScoredPair]:
    """Pairs in five equal bands of gold, [0, 1) to [4, 5], each with one kind of change or several."""
    stream = scenes(split, "0 toy-sts")
    for band, changes in cycle(enumerate(BANDS)):
        names = rng.choice(changes)
        for tried, scene in enumerate(scene for scene in stream for _ in range(8)):
            if tried % 400 == 399:  # no luck with this one
                names = rng.choice(changes)
            if pair := _sts_pair(scene, names, band, split, rng):
                yield pair
                break


def _sts_pair(scene: Scene, names: tuple[str, ...], band: int, split: str, rng: Random) -> rows.ScoredPair | None:
    """A scene and its change, if the gold is in the band and the wordings differ."""
    changed = edits.apply(scene, split, rng, *(edits.KINDS[name] for name in names))
    if changed is None or not band <= score(scene, changed) < band + 1 + (band == 4):
        return None
    first = render(scene, rng)
    second = _beside(first, FREE_WORDING.isdisjoint(names) and rng.random() < 0.5, changed, rng)
    one, two = rng.choice(((first.text, second), (second, first.text)))
    kind = names[0] if len(names) == 1 else "several"
    return rows.ScoredPair(one, two, score(scene, changed), kind) if one != two else None


def _nli(split: str, rng: Random) -> Iterator[rows.Triple]:
    """An anchor, what follows from it, and a contradiction or a scene that differs in what matters."""
    for scene in (scene for scene in scenes(split, "0 toy-nli") if not scene.negated):
        follows, contrary = (edits.apply(scene, split, rng, edit) for edit in (edits.ENTAILED, edits.NOT_ENTAILED))
        if follows and contrary:
            anchor = render(scene, rng)
            wrong = _beside(anchor, rng.random() < 0.5, contrary, rng)
            yield rows.Triple(anchor.text, render(follows, rng, unlike=anchor).text, wrong)


def _nli_pairs(split: str, rng: Random) -> Iterator[rows.LabelledPair]:
    """Premise and hypothesis, the three labels in turn; either may leave out details, so that length tells little."""
    labels = cycle(("entailment", "contradiction", "neutral"))
    label = next(labels)
    for scene in (scene for scene in scenes(split, "0 toy-nli-pairs") if not scene.negated):
        premise, hypothesis = edits.apply(scene, split, rng, edits.MAYBE_SHORT), None
        if label == "neutral":
            premise = edits.apply(scene, split, rng, edits.either(edits.short, edits.general))
            hypothesis = edits.apply(scene, split, rng, edits.MAYBE_SHORT)
        elif premise:
            hypothesis = edits.apply(premise, split, rng, edits.ENTAILED if label == "entailment" else edits.CONTRARY)
        if not premise or not hypothesis:
            continue
        # each role is the same, more general, or unsaid
        follows = all(getattr(hypothesis, role) in ("", *ancestors(getattr(premise, role))) for role in WEIGHTS)
        if label == "contradiction" or follows == (label == "entailment"):
            first = render(premise, rng)
            second = _beside(first, rng.random() < 0.4, hypothesis, rng)
            if first.text != second:
                yield rows.LabelledPair(first.text, second, label)
                label = next(labels)


def _question(scene: Scene | None, kind: str, split: str) -> Scene | None:
    """What is asked, if it can be asked and belongs to the split."""
    question = asked(scene, kind) if scene else None
    return question if question and split_of(question.core) == split else None


def _questions(split: str, name: str) -> Iterator[tuple[str, Scene]]:
    """Kinds of question and their scenes, all of different meaning."""
    seen = set()
    rng = Random(f"{name} questions {split} 0")
    while True:
        kind = rng.choice(QUESTIONS)
        question = _question(draw(rng), kind, split)
        if question and (kind, question.meaning) not in seen:
            seen.add((kind, question.meaning))
            yield kind, question


def _near_question(kind: str, question: Scene, split: str, rng: Random) -> tuple[str, Scene] | None:
    """A question that looks like another one and asks something else."""
    if kind in ("where", "when", "why") and rng.random() < 0.3:
        kind = rng.choice(tuple(k for k in ("where", "when", "why") if k != kind))
        same = _question(question, kind, split)
        return (kind, same) if same else None
    changed = _question(edits.apply(question, split, rng, edits.NEAR), kind, split)
    return (kind, changed) if changed and changed.meaning != question.meaning else None


def _duplicates(split: str, rng: Random) -> Iterator[rows.DuplicateQuestion]:
    """Questions with a duplicate, and now and then a near miss as a distractor."""
    seen = set()
    for kind, question in _questions(split, "toy-duplicates"):
        if (kind, question.meaning) in seen:
            continue
        seen.add((kind, question.meaning))
        first = ask(question, kind, rng)
        yield rows.DuplicateQuestion(first.text, ask(question, kind, rng, unlike=first).text)
        near = _near_question(kind, question, split, rng)
        if near and (near[0], near[1].meaning) not in seen and rng.random() < 0.6:
            seen.add((near[0], near[1].meaning))
            yield rows.DuplicateQuestion(ask(near[1], near[0], rng).text, None)


def _reranking(split: str, rng: Random) -> Iterator[rows.RankingQuery]:
    """A question and 20 others: one to four ask the same, up to eight look like it, the others are any."""
    stream = _questions(split, "toy-reranking")
    for kind, question in stream:
        query = ask(question, kind, rng)
        texts = {query.text: False}
        wanted = rng.choice((1, 2, 3, 4))
        for _ in range(20):
            if sum(texts.values()) < wanted:
                texts.setdefault(ask(question, kind, rng, unlike=query).text, True)
        for _ in range(40):
            near = _near_question(kind, question, split, rng) if len(texts) < 9 + wanted else None
            if near:
                texts.setdefault(ask(near[1], near[0], rng).text, False)
        while len(texts) < 21:
            new_kind, new = next(stream)
            texts.setdefault(ask(new, new_kind, rng).text, False)
        candidates = list(texts.items())[1:]
        rng.shuffle(candidates)
        if any(texts.values()):
            yield rows.RankingQuery(query.text, tuple(t for t, _ in candidates), tuple(r for _, r in candidates))


PART_WEIGHTS = {"v": 4.0, "n": 3.0, "a": 1.0}  # of a phrase: event, noun, attribute
Phrase = tuple[str, ...]  # senses in the order of speech, at most one of each kind


def phrase_similarity(one: Phrase, two: Phrase) -> float:
    """Score the similarity of two phrases, 0 to 1: the mean over event, noun and attribute of that of their senses.

    It is weighted by `PART_WEIGHTS`. An attribute that only one of them has counts `UNSAID`, another such part 0.
    """
    first, second = ({sense[0]: sense for sense in phrase} for phrase in (one, two))
    total = weights = 0.0
    for kind in (kind for kind in PART_WEIGHTS if kind in first or kind in second):
        weights += PART_WEIGHTS[kind]
        if kind in first and kind in second:
            total += PART_WEIGHTS[kind] * similarity(first[kind], second[kind])
        elif kind == "a":
            total += PART_WEIGHTS[kind] * UNSAID
    return total / weights


def relation(one: Phrase, two: Phrase) -> str:
    """Return `equivalence`, `entailment` (the second phrase says no more than the first) or `independent`."""
    if one == two:
        return "equivalence"
    above = {ancestor for sense in one for ancestor in ancestors(sense)}
    heads = ({sense[0] for sense in phrase} - {"a"} for phrase in (one, two))
    return "entailment" if set(two) <= above and next(heads) == next(heads) else "independent"


def _say_phrase(phrase: Phrase, rng: Random, avoid: str = "") -> str:
    """A phrase in words, without an article in front; words that stand in `avoid` are not used if there are others."""
    options = [SENSES[sense].words for sense in phrase]
    first, *others = (rng.choice(tuple(w for w in words if w not in avoid) or words) for words in options)
    mark = SENSES[phrase[-1]].mark
    if phrase[0][0] == "v" and others and mark not in ("-", "*", "+"):
        others.insert(0, "the" if mark == "!" else article(others[0]))
    return " ".join([first, *others])


def _draw_phrase(rng: Random) -> Phrase:
    """A word, a noun with an attribute, or a verb with its object."""
    scene = draw(rng)
    if not scene.theme:
        return (scene.event,)
    kind = rng.choice(("noun", "attribute", "verb", "verb"))
    if kind == "attribute" and attributes(scene.theme):
        return (rng.choice(attributes(scene.theme)), scene.theme)
    return (scene.theme,) if kind != "verb" else (scene.event, scene.theme)


def _vary_phrase(phrase: Phrase, rng: Random) -> Phrase:
    """Another phrase made of one: another sense in one place (opposite, hypernym, sibling), or no attribute."""
    at = rng.choice(range(len(phrase)))
    sense = SENSES[phrase[at]]
    if sense.id[0] == "a" and rng.random() < 0.4:
        return phrase[:at] + phrase[at + 1 :]
    siblings = (s for s in SENSES.values() if s.parent == sense.parent and s.section == sense.section and s.words)
    near = [s.id for s in siblings]
    if sense.id[0] == "v" and len(phrase) > 1:
        near = [name for name in near if name in FRAMES and phrase[-1] in FRAMES[name].fillers["theme"]]
    choices = [sense.opposite] if sense.opposite else []
    choices += [sense.parent] if sense.parent and SENSES[sense.parent].words else []
    choices += [rng.choice(near), rng.choice(near)] if near else []
    return (*phrase[:at], rng.choice(choices or [sense.id]), *phrase[at + 1 :])


def _phrases(split: str, rng: Random) -> Iterator[rows.PhrasePair]:
    """Yield pairs, the three relations in turn; independent pairs are near misses as often as not."""
    relations = ("equivalence", "entailment", "independent")
    seen: set[tuple[str, str]] = set()
    for _ in range(1_000_000):
        one = _draw_phrase(rng)
        wanted = relations[len(seen) % 3]
        near = wanted == "entailment" or rng.random() < 0.6
        two = one if wanted == "equivalence" else _vary_phrase(one, rng) if near else _draw_phrase(rng)
        if split_of("/".join(sorted((" ".join(one), " ".join(two))))) != split or relation(one, two) != wanted:
            continue
        first = _say_phrase(one, rng)
        second = _say_phrase(two, rng, first)
        if first != second and (first, second) not in seen:
            seen.add((first, second))
            yield rows.PhrasePair(first, second, wanted, round(phrase_similarity(one, two), 2))


def _words(split: str, rng: Random) -> Iterator[rows.WordPair]:
    """Yield pairs of single words with gold of 0 to 10: one pair of each degree in turn, while any are left."""
    single = {sense.id: [word for word in sense.words if " " not in word] for sense in SENSES.values()}
    names = [name for name, words in single.items() if words and name[0] in "nva"]
    degrees = defaultdict[float, list[tuple[str, str]]](list)
    for one, two in [*zip(names, names, strict=True), *combinations(names, 2)]:
        if one[0] == two[0] and split_of(f"{one}/{two}") == split:
            pairs = combinations(single[one], 2) if one == two else [(rng.choice(single[one]), rng.choice(single[two]))]
            degrees[similarity(one, two)] += pairs
    for pairs in degrees.values():
        rng.shuffle(pairs)
    while any(degrees.values()):
        for degree in sorted(degrees):
            if degrees[degree]:
                yield rows.WordPair(*degrees[degree].pop(), 10 * degree)


def _parts(scene: Scene, sentence: Sentence) -> Iterator[tuple[Phrase, int, int]]:
    """The noun phrases of a sentence, article left out, and its verb phrases: senses, start, end."""
    spans = {role: (start, end) for role, start, end in sentence.spans}
    nouns: dict[str, tuple[Phrase, int, int]] = {}
    for role in ("agent", "theme", "recipient", "tool"):
        if role not in spans or (role == "agent" and scene.count):
            continue
        start, end = spans[role]
        text, filler, attr = sentence.text[start:end], getattr(scene, role), getattr(scene, f"{role}_attr", "")
        said = attr and any(word in text for word in SENSES[attr].words if word in sentence.words)
        start = end - len(re.sub("^(the|an?|some) ", "", text, flags=re.IGNORECASE))
        nouns[role] = ((attr, filler) if said else (filler,), start, end)
    yield from nouns.values()
    if "theme" in nouns and spans["theme"][0] == spans["event"][1] + 1 and not scene.negated:
        phrase, _, end = nouns["theme"]
        yield (scene.event, *phrase), spans["event"][0], end


def _contexts(split: str, rng: Random) -> Iterator[rows.PhraseInContext]:
    """Yield three to five sentences, a place in them, and a phrase that is nearer to that place than to any other."""
    stream = scenes(split, "0 toy-contexts")
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
        said = _say_phrase(phrase, rng, text[start:end])
        best = phrase_similarity(phrase, target)
        rivals = sorted(phrase_similarity(phrase, part) for part, _, _ in parts)[-2:]
        if rivals[0] < best == rivals[1] and said != text[start:end]:
            yield rows.PhraseInContext(said, text, start, end, round(5 * best, 1))


_MAKERS: dict[str, Callable[[str, Random], Iterator[Any]]] = dict(
    zip(NAMES, (_sentences, _sts, _nli, _nli_pairs, _phrases, _words, _duplicates, _reranking, _contexts), strict=True)
)
