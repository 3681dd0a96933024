"""Other views of a sentence, for training: words replaced by synonyms, left out, or swapped.

A view is any function of a list of words and a random generator that returns another list of words. The three here are
those of EDA (Wei and Zou 2019) that PaSeR uses (section 3.1.3; Table 4 compares them). Settings are bound with
`functools.partial`, and `compose` puts one view behind another:

    view = compose(partial(synonym_replacement, synonyms=toy.synonyms), random_swap)
    text = " ".join(view(split_words(sentence), Random(7)))

No view touches a word of `keep`, such as a mask, or a mark that stands alone; a mark that is attached to a word goes
where the word goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from random import Random

from sentlab.phrases import STOPWORDS

View = Callable[[Sequence[str], Random], list[str]]
KEEP = ("[MASK]",)
_PARTS = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)  # marks, the word itself, marks
_ATTACHED = ".,;:!?…\"'“”‘’()"


def split_words(sentence: str) -> list[str]:
    """The words of a sentence with the punctuation attached to them; `" ".join` puts them together again."""
    return sentence.split()


def compose(*views: View) -> View:
    """One view after the other; with none, the words as they are."""

    def composed(words: Sequence[str], rng: Random) -> list[str]:
        result = list(words)
        for view in views:
            result = view(result, rng)
        return result

    return composed


@lru_cache(maxsize=2**16)
def wordnet_synonyms(word: str) -> tuple[str, ...]:
    """The other words of all WordNet senses of a word, as base forms, the usual senses first; some have several words.

    Args:
        word: in any inflection.

    Raises:
        LookupError: NLTK's WordNet is not there.
    """
    from nltk.corpus import wordnet

    try:
        lemmas = [name.replace("_", " ") for sense in wordnet.synsets(word) for name in sense.lemma_names()]
    except LookupError:
        raise LookupError(
            "NLTK's wordnet is not on this computer: run nltk.download('wordnet'), set NLTK_DATA to a folder that has "
            "it before Python starts, or pass synonyms=sentlab.data.toy.synonyms, which needs no data"
        ) from None
    own = {word.lower(), *(wordnet.morphy(word.lower(), part) for part in "nvar")}
    return tuple(dict.fromkeys(lemma for lemma in lemmas if lemma.lower() not in own))


def synonym_replacement(
    words: Sequence[str],
    rng: Random,
    *,
    rate: float = 0.1,
    synonyms: Callable[[str], Sequence[str]] = wordnet_synonyms,
    keep: Container[str] = KEEP,
) -> list[str]:
    """Replace some content words by one of their synonyms, as many as `rate` of all words and at least one.

    Attached punctuation and capitals stay: "Dog," becomes "Hound,". A synonym of several words becomes several words.

    Args:
        words: see `split_words`.
        rng: makes every choice.
        rate: share of the words, 0 to 1; 0 replaces none.
        synonyms: what may replace a word; none for a word that has no synonym, which is passed over.
        keep: words that are left alone.

    Raises:
        ValueError: `rate` is not within 0 and 1.

    Source: Wei and Zou (2019), section 2, "synonym replacement".
    """
    changes = _changes(words, rate)
    replaced = {i: [word] for i, word in enumerate(words)}
    places = [i for i in _free(words, keep) if _split(words[i])[1].lower() not in STOPWORDS]
    rng.shuffle(places)
    for i in places:
        if changes == 0:
            break
        before, word, after = _split(words[i])
        if options := synonyms(word) or synonyms(word.lower()):
            replaced[i] = (before + _like(word, rng.choice(options)) + after).split()
            changes -= 1
    return [word for part in replaced.values() for word in part]


def random_deletion(words: Sequence[str], rng: Random, *, rate: float = 0.1, keep: Container[str] = KEEP) -> list[str]:
    """Leave out each word with probability `rate`; of the words that may be left out, one always stays.

    Args:
        words, rng, keep: as in `synonym_replacement`.
        rate: 0 to 1.

    Raises:
        ValueError: `rate` is not within 0 and 1.

    Source: Wei and Zou (2019), section 2, "random deletion".
    """
    _changes(words, rate)
    places = _free(words, keep)
    gone = {i for i in places if rng.random() < rate}
    if places and len(gone) == len(places):
        gone.remove(rng.choice(places))
    return [word for i, word in enumerate(words) if i not in gone]


def random_swap(words: Sequence[str], rng: Random, *, rate: float = 0.1, keep: Container[str] = KEEP) -> list[str]:
    """Let two words change places, as many times as `rate` of all words and at least once.

    Args:
        words, rng, keep: as in `synonym_replacement`.
        rate: swaps a word, 0 to 1; 0 swaps none.

    Raises:
        ValueError: `rate` is not within 0 and 1.

    Source: Wei and Zou (2019), section 2, "random swap"; PaSeR calls it token reordering.
    """
    swapped, places = list(words), _free(words, keep)
    for _ in range(_changes(words, rate) if len(places) > 1 else 0):
        i, j = rng.sample(places, 2)
        swapped[i], swapped[j] = swapped[j], swapped[i]
    return swapped


def _changes(words: Sequence[str], rate: float) -> int:
    """How many changes a rate asks for."""
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is a share of the words, 0 to 1, not {rate}")
    if isinstance(words, str):
        raise TypeError(f"a view takes a list of words, not the string {words[:40]!r}; use split_words")
    return max(1, int(rate * len(words))) if rate > 0 else 0


def _free(words: Sequence[str], keep: Container[str]) -> list[int]:
    """The places of the words that a view may touch: neither mere marks nor, less their punctuation, to be kept."""
    kept = {i for i, word in enumerate(words) if word in keep or word.strip(_ATTACHED) in keep}
    return [i for i, word in enumerate(words) if i not in kept and _split(word)[1]]


def _split(word: str) -> tuple[str, str, str]:
    """The marks before a word, the word, the marks behind it."""
    match = _PARTS.fullmatch(word)
    assert match  # the pattern fits any text
    return match[1], match[2], match[3]


def _like(word: str, synonym: str) -> str:
    """The synonym with the capitals of the word."""
    if word.isupper() and len(word) > 1:
        return synonym.upper()
    return synonym[0].upper() + synonym[1:] if word[0].isupper() else synonym
