"""Phrases in contexts: each set verbatim into a longer passage, by carriers of the project's own or a text generator.

"STS-B in context" asks for the second sentence of a pair where it stands inside a passage, and for how similar it is to
the first, whatever surrounds it. SLICE (section 4.2) has GPT-3.5-Turbo write the passages; here any text generator may,
and without one the phrase goes into a carrier, a passage with a gap.

Verbatim means character by character but for two things, which the phrase may lose where it is no longer a sentence of
its own: the case of its first letter, and a final full stop.

Differs from the paper: nobody reads the passages to see if they change what the phrase means (it drops 3% for that).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np

from sentlab.data.hard_pairs import POSITIVE
from sentlab.data.rows import Corpus, LabelledPair, PhraseInContext, ScoredPair, Triple, added_up, check_rows
from sentlab.text.words import BM25

PROMPT = (  # SLICE, section 4.2
    "Please provide a context to the given phrase, insert it into a long sentence, place it as part of the larger "
    "sentence and use the phrase verbatim. The sentence should also start with the letter {letter} the phrase is: "
    "{phrase}"
)
TRIES = 3  # texts asked for until one holds the phrase
LOWERED = frozenset(
    "a an the some one two three four many several people men women he she it they we you there this that".split()
)

_ASSETS = Path(__file__).resolve().parents[1] / "assets" / "carriers"
TRAIN_CARRIERS, TEST_CARRIERS = (
    (_ASSETS / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in ("train", "test")
)
CARRIERS = {"train": TRAIN_CARRIERS, "dev": TEST_CARRIERS, "test": TEST_CARRIERS}
Write = Callable[[str], str]  # a prompt -> the text that a generator writes


class Passage(NamedTuple):
    """A text and where a phrase stands in it: `text[start:end]`."""

    text: str
    start: int
    end: int


def in_context(
    texts: Iterable[str], write: Write | None = None, *, seed: int = 0, split: str = "test"
) -> list[Passage]:
    """Set each phrase verbatim (see above) into a longer passage.

    Args:
        texts: n phrases or sentences.
        write: a text generator, asked up to `TRIES` times a phrase with the paper's prompt, its letter drawn anew each
            time. None: a carrier drawn for each phrase.
        seed: of the carriers and of the letters.
        split: whose carriers: those of `train` are others than those of `dev` and `test`.

    Returns:
        A passage for each phrase, in their order; equal arguments give equal passages, if the generator does.

    Raises:
        TypeError: one string, or a generator that does not return one.
        ValueError: a blank phrase, an unknown split, or a phrase that none of the generator's texts holds verbatim.

    Source: SLICE, section 4.2.
    """
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts[:40]!r}; put it into a list: [text]")
    phrases = list(texts)
    passages = _passages(phrases, write, seed, split)
    if None in passages:
        raise ValueError(
            f"none of {TRIES} texts that the generator wrote holds this phrase verbatim, inside more than the phrase: "
            f"{phrases[passages.index(None)]!r}; leave it out, or correct what write= returns"
        )
    return [passage for passage in passages if passage]


def stsb_in_context(
    corpus: Corpus[ScoredPair], write: Write | None = None, *, seed: int = 0
) -> Corpus[PhraseInContext]:
    """Set the second text of scored pairs into a passage: the first is the phrase to look for, the gold is the same.

    Args:
        corpus: scored pairs; its split chooses the carriers.
        write, seed: as in `in_context`.

    Returns:
        The rows in order, as a corpus named `<name>-context`. Pairs whose text the generator does not set into a
        passage verbatim are left out and counted, as the paper does (23%).

    Raises: as `in_context`; ValueError for rows that are no ScoredPair, TypeError for rows in no corpus.

    Source: SLICE, section 4.2.
    """
    check_rows(corpus, ScoredPair, least=0)
    passages = _passages([pair.text_b for pair in corpus], write, seed, corpus.split)
    rows = tuple(
        PhraseInContext(pair.text_a, passage.text, passage.start, passage.end, pair.score)
        for pair, passage in zip(corpus, passages, strict=True)
        if passage
    )
    left_out = added_up(corpus.left_out, {"not verbatim in its passage": len(corpus) - len(rows)})
    return Corpus(f"{corpus.name}-context", corpus.split, rows, _source(write, seed, corpus.source), left_out)


def triples_in_context(
    *corpora: Corpus[ScoredPair] | Corpus[LabelledPair],
    write: Write | None = None,
    seed: int = 0,
    mined: int | None = None,
) -> Corpus[Triple]:
    """Make triples to train on out of pairs that say the same: a gold of `POSITIVE` or more, or an entailment.

    The first text of a pair is the phrase, a passage with the second is the positive, and the negative is the passage
    of another pair that shares no text with this one. Carriers are those of training, whatever the splits.

    Args:
        corpora: scored or labelled pairs.
        write, seed: as in `in_context`.
        mined: a negative is drawn from the so many passages that BM25 ranks first for the phrase, as in MS MARCO, on
            which the paper trains. None, or where BM25 scores no passage above 0: from all.

    Returns:
        The triples in order, as a corpus named `triples-in-context` (mined: `triples-in-context-bm25`), split `train`;
        other pairs are left out, counted.

    Raises:
        TypeError: rows in no corpus.
        ValueError: rows of another type, no other pair to take a negative from, or `mined` below 1; else as
            `in_context`.

    Source: SLICE, section 3.1, the triplets (q, p_true, p_false).
    """
    for corpus in corpora:
        check_rows(corpus, ScoredPair, LabelledPair, least=0)
    pairs = [row for corpus in corpora for row in corpus if _says_the_same(row)]
    passages = _passages([pair.text_b for pair in pairs], write, seed, "train")
    placed = [(pair, passage.text) for pair, passage in zip(pairs, passages, strict=True) if passage]
    texts = [{_core(text).casefold() for text in (pair.text_a, pair.text_b)} for pair, _ in placed]
    if mined is not None and mined < 1:
        raise ValueError(f"mined is a number of passages from 1 on, or None, not {mined}")
    rng, rows = Random(f"negatives in context {seed}"), list[Triple]()
    index = None if mined is None else BM25([positive for _, positive in placed])
    for (pair, positive), own in zip(placed, texts, strict=True):
        place = _draw(own, texts, rng, index.scores(pair.text_a) if index else None, mined)
        if place is None:
            raise ValueError(f"all of the {len(placed)} pairs share a text with this one: {pair.text_a!r}; give others")
        rows.append(Triple(pair.text_a, positive, placed[place][1]))
    left_out = {
        "pair that does not say the same": sum(map(len, corpora)) - len(pairs),
        "not verbatim in its passage": len(pairs) - len(placed),
    }
    left_out = added_up(*(corpus.left_out for corpus in corpora), left_out)
    of = "; ".join(f"{corpus.name} {corpus.split}: {corpus.source}" for corpus in corpora)
    name = "triples-in-context" + ("" if mined is None else "-bm25")
    return Corpus(name, "train", tuple(rows), _source(write, seed, of), left_out)


def _draw(
    own: set[str], texts: list[set[str]], rng: Random, scores: np.ndarray | None, mined: int | None
) -> int | None:
    """Draw one of the others, which share none of the own texts; None if there are none.

    With scores it is one of the `mined` highest above 0, if there are such.
    """
    if scores is not None:
        ranked = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores > 0)].tolist()
        if best := list(islice((place for place in ranked if own.isdisjoint(texts[place])), mined)):
            return rng.choice(best)
    first = rng.randrange(len(texts))
    others = (place % len(texts) for place in range(first, first + len(texts)))
    return next((place for place in others if own.isdisjoint(texts[place])), None)


def _says_the_same(row: ScoredPair | LabelledPair) -> bool:
    if isinstance(row, ScoredPair):
        return row.score >= POSITIVE
    return row.label == "entailment"


def _passages(phrases: list[str], write: Write | None, seed: int, split: str) -> list[Passage | None]:
    """A passage for each phrase, or None where the generator's texts do not hold it."""
    if split not in CARRIERS:
        raise ValueError(f"split is one of {', '.join(CARRIERS)}, not {split!r}")
    for n, phrase in enumerate(phrases):
        if not _core(phrase):
            raise ValueError(f"text {n} has no phrase to set into a context: {phrase!r}")
    rng = Random(f"contexts {seed}")
    if write is None:
        return [_carried(phrase, rng.choice(CARRIERS[split])) for phrase in phrases]
    return [_written(phrase, write, rng) for phrase in phrases]


def _carried(phrase: str, carrier: str) -> Passage:
    """The phrase in the gap of a carrier; it keeps its capital unless its first word has none inside a sentence."""
    core = _core(phrase)
    if core.split()[0].lower() in LOWERED:
        core = core[0].lower() + core[1:]
    before, after = carrier.split("{}")
    return Passage(before + core + after, len(before), len(before) + len(core))


def _written(phrase: str, write: Write, rng: Random) -> Passage | None:
    """The first of the generator's texts that holds the phrase and more, of `TRIES`."""
    core = _core(phrase)
    first = "".join({core[0], core[0].lower(), core[0].upper()})
    verbatim = re.compile(rf"(?<!\w)[{re.escape(first)}]{re.escape(core[1:])}(?!\w)")
    for _ in range(TRIES):
        text = write(PROMPT.format(letter=rng.choice(ascii_uppercase), phrase=phrase.strip()))
        if not isinstance(text, str):
            raise TypeError(f"write= must return a text; of the phrase {phrase!r} it made a {type(text).__name__}")
        text = text.strip()
        found = verbatim.search(text)
        if found and any(letter.isalpha() for letter in text[: found.start()] + text[found.end() :]):
            return Passage(text, *found.span())
    return None


def _core(phrase: str) -> str:
    """The phrase without a final full stop; one that belongs to "U.S." or "..." stays."""
    phrase = phrase.strip()
    last = phrase.split()[-1] if phrase else ""
    return phrase[:-1].rstrip() if last.endswith(".") and "." not in last[:-1] else phrase


def _source(write: Write | None, seed: int, of: str) -> str:
    made = "carriers" if write is None else f"texts by {getattr(write, '__name__', type(write).__name__)}"
    return f"{made}, seed {seed}, around second texts of {of}"
