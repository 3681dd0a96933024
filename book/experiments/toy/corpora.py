"""The toy world: a small English in which every kind of corpus can be had offline, with gold by construction.

Scenes (`scene.py`) are drawn from event frames and put into words (`grammar.py`) in several syntactic forms. The words
are any synonyms of the lexicon (`lexicon.py`, read from `experiments/assets/toy`). What is known of the scenes is the
gold: pairs are graded by `score`,

    score = 5 * sum of weight(role) * similarity(fillers) / sum of weight(role), over all roles that either scene fills

rounded to a tenth; the weights, the similarities and the cap for a flipped polarity stand there as constants. A scene
belongs to one split by a hash of its participants and the class of its event, so that train, dev and test share none.
Results on it are to be called what they are: results on the toy world.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator
from dataclasses import astuple
from functools import cache, partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from sentlab.data.rows import Corpus, DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair, Triple

from experiments.toy import scene as scenery
from experiments.toy.grammar import Sentence, ask, asked, frame, render
from experiments.toy.lexicon import lexicon
from experiments.toy.phrases import contexts, phrases, words
from experiments.toy.scene import SPLITS, WEIGHTS, Scene, draw, other, scenes, score, short, split_of

SIZES = {  # name: rows of train, dev, test
    "toy-sentences": (20_000, 2_000, 2_000),
    "toy-sts": (5_000, 1_000, 1_500),
    "toy-nli": (5_000, 500, 1_000),
    "toy-nli-pairs": (6_000, 900, 1_500),
    "toy-phrases": (6_000, 600, 1_200),
    "toy-words": (1_500, 200, 300),
    "toy-duplicates": (3_000, 500, 1_000),
    "toy-reranking": (1_000, 100, 200),
    "toy-contexts": (2_000, 300, 600),
}
NAMES = tuple(SIZES)
QUESTIONS = ("how", "how", "who", "where", "when", "why")  # how twice: it is asked most
Edit = Callable[[Scene, Random], Scene | None]


def load(name: str, split: str = "test", *, seed: int = 0, size: int | None = None) -> Corpus[Any]:
    """Make one corpus of the toy world; equal arguments give equal rows everywhere.

    Args:
        name: one of `NAMES`.
        split: `train`, `dev` or `test`.
        seed: another seed gives other rows of the same kind; the splits stay apart over all seeds.
        size: number of rows; by default the one of `SIZES`.

    Raises:
        ValueError: there are not that many different rows.
    """
    if size is None:
        size = SIZES[name][SPLITS.index(split)]
    rows: dict[Any, None] = {}
    for row in _MAKERS[name](split, seed, Random(f"{name} {split} {seed}")):
        rows[row] = None
        if len(rows) == size:
            return Corpus(name, split, tuple(rows), f"toy world, seed {seed}")
    raise ValueError(f"{name} has only {len(rows)} rows in {split!r}; ask for no more than that")


def freeze(path: Path) -> None:
    """Write every corpus of the usual sizes and seed 0 into the file that `sentlab.data.toy` reads."""
    with lzma.open(path, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        for name, split in product(NAMES, SPLITS):
            rows = [row if isinstance(row, str) else astuple(row) for row in load(name, split)]
            file.write(json.dumps({"name": name, "split": split, "rows": rows}, ensure_ascii=False) + "\n")


def roles(sentence: str) -> list[dict[str, str]]:
    """Return who does what to whom in a sentence of `toy-sentences` (any split, seed 0, usual size), by construction.

    Returns:
        One frame, as `grammar.frame` has it: the words of PRED, and of ARG0, ARGM-NEG and ARG1 if they are said.

    Raises:
        KeyError: the sentence is not of that corpus.
    """
    return [dict(_roles()[sentence])]


@cache
def _roles() -> dict[str, dict[str, str]]:
    """The frame of every sentence of the corpus."""
    frames: dict[str, dict[str, str]] = {}
    for split, size in zip(SPLITS, SIZES["toy-sentences"], strict=True):
        rows: dict[str, dict[str, str]] = {}
        for sentence in _told(split, 0, Random(f"toy-sentences {split} 0")):  # as `load` tells them
            rows.setdefault(sentence.text, frame(sentence))
            if len(rows) == size:
                break
        frames |= rows
    return frames


def _told(split: str, seed: int, rng: Random) -> Iterator[Sentence]:
    return (render(scene, rng) for scene in scenes(split, seed))


def _sentences(split: str, seed: int, rng: Random) -> Iterator[str]:
    return (sentence.text for sentence in _told(split, seed, rng))


def _positive(split: str, seed: int, name: str) -> Iterator[Scene]:
    return (scene for scene in scenes(split, f"{seed} {name}") if not scene.negated)


def _changed(edits: tuple[Edit, ...], scene: Scene, split: str, rng: Random) -> Scene | None:
    """A scene after some edits; none if one does not apply, or it leaves the split."""
    changed: Scene | None = scene
    for edit in edits:
        changed = edit(changed, rng) if changed else None
    return changed if changed and split_of(changed) == split else None


def _same(scene: Scene, rng: Random) -> Scene:
    return scene


def _either(*edits: Edit) -> Edit:
    return lambda scene, rng: rng.choice(edits)(scene, rng)


_ATTRIBUTE = _either(partial(other, "agent_attr"), partial(other, "theme_attr"))
_CIRCUMSTANCE = _either(*(partial(other, role) for role in ("tool", "manner", "place", "time")))
KINDS: dict[str, Edit] = {
    "paraphrase": _same,
    "shorter": short,
    "hypernym": scenery.general,
    "roles swapped": scenery.swap,
    "opposite": scenery.opposite,
    "negation": scenery.negate,
    "other agent": partial(other, "agent"),
    "other theme": partial(other, "theme"),
    "other event": partial(other, "event"),
    "other attribute": _ATTRIBUTE,
    "other circumstance": _CIRCUMSTANCE,
    "unrelated": lambda scene, rng: draw(rng),
}
FREE_WORDING = ("paraphrase", "shorter", "hypernym")  # the second sentence of these is worded as differently as can be
BANDS: tuple[tuple[tuple[str, ...], ...], ...] = (  # changes that tend to give a gold of 0-1, 1-2, 2-3, 3-4, 4-5
    (("unrelated",), ("unrelated",), ("other event", "other agent", "other theme")),
    (("other event", "other theme"), ("other event", "other agent"), ("other event", "other agent", "other theme"),
     ("opposite", "other theme"), ("other event", "roles swapped"), ("roles swapped", "opposite"), ("unrelated",)),
    (("negation",), ("other event",), ("other event", "shorter"),
     ("other agent", "other theme"),
     ("opposite",), ("opposite", "shorter"), ("roles swapped",), ("shorter", "other event")),
    (("other theme",), ("other event",), ("other agent",), ("opposite",), ("roles swapped",),
     ("shorter", "other theme"),
     ("shorter", "other agent"), ("other agent", "other circumstance"), ("other theme", "other attribute")),
    (("paraphrase",), ("paraphrase",), ("shorter",), ("hypernym",), ("other attribute",), ("other circumstance",)),
)  # fmt: skip


def _sts(split: str, seed: int, rng: Random) -> Iterator[ScoredPair]:
    """Pairs in five equal bands of gold, [0, 1) to [4, 5], each with one kind of change or several."""
    stream = scenes(split, f"{seed} toy-sts")
    while True:
        for band, changes in enumerate(BANDS):
            yield _sts_pair(stream, band, changes, split, rng)


def _sts_pair(
    stream: Iterator[Scene], band: int, changes: tuple[tuple[str, ...], ...], split: str, rng: Random
) -> ScoredPair:
    """The first scene of the stream, and a change of it, that give a gold in the band."""
    names = rng.choice(changes)
    for tried, scene in enumerate(scene for scene in stream for _ in range(8)):
        if tried % 400 == 399:  # no luck with this one
            names = rng.choice(changes)
        changed = _changed(tuple(KINDS[n] for n in names), scene, split, rng)
        if changed is None or not band <= score(scene, changed) < band + 1 + (band == 4):
            continue
        first = render(scene, rng)
        close = not set(names) & set(FREE_WORDING) and rng.random() < 0.5
        second = render(changed, rng, like=first if close else None, unlike=None if close else first)
        one, two = rng.choice(((first.text, second.text), (second.text, first.text)))
        if one != two:
            return ScoredPair(one, two, score(scene, changed), names[0] if len(names) == 1 else "several")
    raise AssertionError("the stream of scenes has no end")


_ENTAILED = _either(
    _same, short, short, scenery.general, lambda scene, rng: scenery.general(short(scene, rng) or scene, rng)
)
_CONTRARY = _either(scenery.negate, scenery.opposite, scenery.opposite)


def _nli(split: str, seed: int, rng: Random) -> Iterator[Triple]:
    """An anchor, what follows from it, and a contradiction or a scene that differs in what matters."""
    negative = _either(_CONTRARY, partial(other, "theme"), partial(other, "event"), scenery.swap)
    for scene in _positive(split, seed, "toy-nli"):
        follows = _changed((_ENTAILED,), scene, split, rng)
        contrary = _changed((negative,), scene, split, rng)
        if follows and contrary:
            anchor = render(scene, rng)
            wrong = render(contrary, rng, like=anchor) if rng.random() < 0.5 else render(contrary, rng, unlike=anchor)
            yield Triple(anchor.text, render(follows, rng, unlike=anchor).text, wrong.text)


def _nli_pairs(split: str, seed: int, rng: Random) -> Iterator[LabelledPair]:
    """Premise and hypothesis, the three labels in turn; either may leave out details, so that length tells little."""
    labels = ("entailment", "contradiction", "neutral")
    maybe_short = _either(_same, lambda scene, rng: short(scene, rng) or scene)
    turn = 0
    for scene in _positive(split, seed, "toy-nli-pairs"):
        label = labels[turn % 3]
        premise, hypothesis = _changed((maybe_short,), scene, split, rng), None
        if label == "neutral":
            premise = _changed((_either(short, scenery.general),), scene, split, rng)
            hypothesis = _changed((maybe_short,), scene, split, rng)
        elif premise:
            edits = (_ENTAILED,) if label == "entailment" else (_CONTRARY,)
            hypothesis = _changed(edits, premise, split, rng)
        if premise and hypothesis and (label == "neutral") == says_more(hypothesis, premise, label):
            first = render(premise, rng)
            close = rng.random() < 0.4
            second = render(hypothesis, rng, like=first if close else None, unlike=None if close else first)
            if first.text != second.text:
                yield LabelledPair(first.text, second.text, label)
                turn += 1


def says_more(hypothesis: Scene, premise: Scene, label: str) -> bool:
    """Return whether the hypothesis says something that does not follow from the premise; False for a contradiction."""
    if label == "contradiction":
        return False
    roles = [role for role in WEIGHTS if getattr(hypothesis, role)]
    return any(getattr(hypothesis, role) not in lexicon().ancestors(getattr(premise, role)) for role in roles)


def _question(scene: Scene, kind: str, split: str) -> Scene | None:
    """What is asked, if it can be asked and belongs to the split."""
    question = asked(scene, kind)
    return question if question and split_of(question) == split else None


def _questions(split: str, seed: int, name: str, rng: Random) -> Iterator[tuple[str, Scene]]:
    """Kinds of question and their scenes, all of different meaning."""
    seen = set()
    drawing = Random(f"{name} questions {split} {seed}")
    while True:
        kind = drawing.choice(QUESTIONS)
        question = _question(draw(drawing), kind, split)
        if question and (kind, question.meaning) not in seen:
            seen.add((kind, question.meaning))
            yield kind, question


def _near_question(kind: str, question: Scene, split: str, rng: Random) -> tuple[str, Scene] | None:
    """A question that looks like another one and asks something else."""
    if kind in ("where", "when", "why") and rng.random() < 0.3:
        new = rng.choice(tuple(k for k in ("where", "when", "why") if k != kind))
        same = _question(question, new, split)
        return (new, same) if same else None
    others = (partial(other, role) for role in ("theme", "event", "agent"))
    edits: list[Edit] = [scenery.opposite, scenery.swap, _ATTRIBUTE, *others]
    edit = rng.choice(edits)
    changed = _changed((edit,), question, split, rng)
    again = _question(changed, kind, split) if changed else None
    return (kind, again) if again and again.meaning != question.meaning else None


def _duplicates(split: str, seed: int, rng: Random) -> Iterator[DuplicateQuestion]:
    """Questions with a duplicate, and now and then a near miss as a distractor."""
    asking = set()
    for kind, question in _questions(split, seed, "toy-duplicates", rng):
        if (kind, question.meaning) in asking:
            continue
        asking.add((kind, question.meaning))
        first = ask(question, kind, rng)
        yield DuplicateQuestion(first.text, ask(question, kind, rng, unlike=first).text)
        near = _near_question(kind, question, split, rng)
        if near and (near[0], near[1].meaning) not in asking and rng.random() < 0.6:
            asking.add((near[0], near[1].meaning))
            yield DuplicateQuestion(ask(near[1], near[0], rng).text, None)


def _reranking(split: str, seed: int, rng: Random) -> Iterator[RankingQuery]:
    """A question and 20 others: one to four ask the same, up to eight look like it, the others are any."""
    stream = _questions(split, seed, "toy-reranking", rng)
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
            yield RankingQuery(query.text, tuple(t for t, _ in candidates), tuple(r for _, r in candidates))


_MAKERS: dict[str, Callable[[str, int, Random], Iterator[Any]]] = {
    "toy-sentences": _sentences,
    "toy-sts": _sts,
    "toy-nli": _nli,
    "toy-nli-pairs": _nli_pairs,
    "toy-phrases": phrases,
    "toy-words": words,
    "toy-duplicates": _duplicates,
    "toy-reranking": _reranking,
    "toy-contexts": contexts,
}
