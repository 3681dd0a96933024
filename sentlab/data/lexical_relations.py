"""Pairs of words and phrases in three relations, out of WordNet.

A stand-in: the Universal paper (section 3.1) takes these labels from PPDB 2.0, where a classifier gave them to phrases
of translated text. Here they follow from how WordNet orders its senses, and most phrases are nouns of one or two words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations, pairwise, product
from random import Random
from typing import Any

from sentlab.data.readers.files import Read
from sentlab.data.readers.lexical import MAX_WORDS, balanced, distinct
from sentlab.data.rows import PhrasePair, added_up
from sentlab.extras import nltk_data

_FORM = re.compile(r"[a-z]+(?:[ -][a-z]+)*")


def nltk_wordnet() -> Any:
    """Load NLTK's WordNet; a LookupError says what to do where it is missing."""
    from nltk.corpus import wordnet

    with nltk_data("wordnet", "use the corpus toy-phrases, which needs no data"):
        wordnet.ensure_loaded()
    return wordnet


def relations(wordnet: Any, seed: int = 0, most: int = 20_000) -> Read[PhrasePair]:
    """Draw pairs of lemmas, equally many of each relation, no pair twice, without scores.

    - `equivalence`: two lemmas of one sense.
    - `entailment`: a lemma, and a lemma of the sense directly above.
    - `independent`: two opposites, or lemmas of two senses directly below the same one: near, yet not the same, as
      PPDB's "hundreds" and "thousands".

    A lemma means its first, most usual sense as a noun, verb, adjective or adverb, and no other. It has 1 to 6
    words of letters and hyphens, and is lower-cased. A pair in two relations has the first of them.

    Args:
        wordnet: a WordNet reader of NLTK's.
        seed: of the draws.
        most: pairs of each relation.
    """
    lemmas, left_out = _first_senses(wordnet)
    rng = Random(seed)
    found = {
        "equivalence": _synonyms(lemmas),
        "entailment": _hypernyms(lemmas),
        "independent": chain(_opposites(lemmas), _siblings(lemmas, rng)),
    }
    once = distinct(PhrasePair(*pair, relation, math.nan) for relation, pairs in found.items() for pair in pairs)
    drawn = balanced(once.rows, seed, most)
    return Read(drawn.rows, added_up(left_out, once.left_out, drawn.left_out))


Lemmas = dict[Any, dict[str, Any]]  # sense -> phrase -> lemma; only senses and lemmas in use
Pairs = Iterator[tuple[str, str]]


def _first_senses(wordnet: Any) -> tuple[Lemmas, dict[str, int]]:
    kept: Lemmas = {}
    left_out: Counter[str] = Counter()
    for sense in wordnet.all_synsets():
        for lemma in sense.lemmas():
            phrase = lemma.name().replace("_", " ").lower()
            if not _FORM.fullmatch(phrase) or len(phrase.split()) > MAX_WORDS:
                left_out["lemma of another form"] += 1
            elif wordnet.synsets(lemma.name(), pos=sense.pos())[:1] != [sense]:
                left_out["lemma in another than its first sense"] += 1
            else:
                kept.setdefault(sense, {})[phrase] = lemma
    return kept, dict(left_out)


def _synonyms(lemmas: Lemmas) -> Pairs:
    return (pair for phrases in lemmas.values() for pair in combinations(phrases, 2))


def _hypernyms(lemmas: Lemmas) -> Pairs:
    for sense, phrases in lemmas.items():
        for above in sorted(sense.hypernyms()):  # NLTK keeps them in a set
            yield from product(phrases, lemmas.get(above, ()))


def _opposites(lemmas: Lemmas) -> Pairs:
    for phrases in lemmas.values():
        for phrase, lemma in phrases.items():
            for opposite in sorted(lemma.antonyms()):
                others = lemmas.get(opposite.synset(), {})
                yield from ((phrase, other) for other, found in others.items() if found == opposite)


def _siblings(lemmas: Lemmas, rng: Random) -> Pairs:
    """Of the senses directly below one, in random order, each with the next; all pairs would be over a million."""
    below: dict[Any, list[Any]] = {}  # by what is above, which need not have a usable lemma itself
    for sense in lemmas:
        for above in sorted(sense.hypernyms()):  # NLTK keeps them in a set
            below.setdefault(above, []).append(sense)
    for senses in below.values():
        rng.shuffle(senses)
        yield from pairwise(rng.choice(list(lemmas[sense])) for sense in senses)
