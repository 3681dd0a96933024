"""Other views of a sentence, for training: words replaced, left out, swapped or doubled, a crop, the roles alone.

A view is any function of a list of words and a random generator that returns another list of words. Synonyms, deletion
and swaps are those of EDA (Wei and Zou 2019) that PaSeR uses (section 3.1.3; Table 4 compares them). PT-BERT compares
itself with deletion, swaps, duplication and its own order of semantic roles (section 4.4, Tables 3 and 4), SimCSE with
crops and deletion. Settings are bound with `functools.partial`, and `compose` puts one view behind another::

    view = compose(partial(synonym_replacement, synonyms=wordnet_synonyms), random_swap)
    text = " ".join(view(sentence.split(), Random(7)))

A view touches no [MASK] and no punctuation mark between spaces. A mark that is attached to a word moves with the word.
`random_crop` and `srl_guided` choose parts of the sentence whatever its words.
A masked token is always "[MASK]" to a view, because `viewed` translates the tokenizer's own mask token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from random import Random

import torch

from sentlab.text.phrases import STOPWORDS
from sentlab.text.words import MARKS

View = Callable[[Sequence[str], Random], list[str]]
MASK = "[MASK]"  # a masked token as views see it
ROLES = ("ARG0", "PRED", "ARGM-NEG", "ARG1")  # PropBank's names, in the order of PT-BERT
_ATTACHED = ".,;:!?…\"'“”‘’()"


def compose(*views: View) -> View:
    """Return a view that applies the views one after the other; with none, it leaves the words as they are."""
    return lambda words, rng: reduce(lambda changed, view: view(changed, rng), views, list(words))


def viewed(sentences: Sequence[str], view: View, mask_token: str = MASK) -> list[str]:
    """Draw a view of each sentence, with torch's global generator as the source of its random numbers.

    `mask_token` is the tokenizer's, such as "<mask>". The texts hold this one, and the view reads it as "[MASK]".
    """
    rng = Random(int(torch.randint(2**62, ())))
    literal = MASK if mask_token == MASK else "\ue000"  # takes the place of a "[MASK]" that somebody has written
    texts = [sentence.replace(MASK, literal).replace(mask_token, MASK) for sentence in sentences]
    changed = [" ".join(view(text.split(), rng)) for text in texts]
    return [text.replace(MASK, mask_token).replace(literal, MASK) for text in changed]


@lru_cache(maxsize=2**16)
def wordnet_synonyms(word: str) -> tuple[str, ...]:
    """Find the other words of all WordNet senses of a word in any inflection, as base forms, the usual senses first.

    Some have several words. NLTK's WordNet must be there: nltk.download("wordnet").
    """
    from nltk.corpus import wordnet

    lemmas = [name.replace("_", " ") for sense in wordnet.synsets(word) for name in sense.lemma_names()]
    itself = {word.lower(), *(base for part in "nvar" for base in wordnet._morphy(word.lower(), part))}
    return tuple(dict.fromkeys(lemma for lemma in lemmas if lemma.lower() not in itself))


def synonym_replacement(
    words: Sequence[str], rng: Random, *, rate: float = 0.1, synonyms: Callable[[str], Sequence[str]] = wordnet_synonyms
) -> list[str]:
    """Replace some content words by one of their `synonyms`, as many as `rate` of all words and at least one.

    Attached punctuation and capitals stay: "Dog," becomes "Hound,". A synonym of several words becomes several words.

    Source: Wei and Zou (2019), section 2, "synonym replacement".
    """
    changes = _changes(words, rate)
    replaced = {i: [word] for i, word in enumerate(words)}
    places = [i for i in _free(words) if _split(words[i])[1].lower() not in STOPWORDS]
    rng.shuffle(places)
    for i in places:
        if changes == 0:
            break
        before, word, after = _split(words[i])
        if options := synonyms(word) or synonyms(word.lower()):
            replaced[i] = (before + _like(word, rng.choice(options)) + after).split()
            changes -= 1
    return [word for part in replaced.values() for word in part]


def random_deletion(words: Sequence[str], rng: Random, *, rate: float = 0.1) -> list[str]:
    """Leave out each word with probability `rate`, but never all the words that may be left out.

    Source: Wei and Zou (2019), section 2, "random deletion".
    """
    _changes(words, rate)
    places = _free(words)
    gone = {i for i in places if rng.random() < rate}
    if places and len(gone) == len(places):
        gone.remove(rng.choice(places))
    return [word for i, word in enumerate(words) if i not in gone]


def random_swap(words: Sequence[str], rng: Random, *, rate: float = 0.1) -> list[str]:
    """Let two words change places, as many times as `rate` of all words and at least once.

    Source: Wei and Zou (2019), section 2, "random swap"; PaSeR calls it token reordering. PT-BERT (Table 3, "reorder")
    does not say how it reorders; this stands in for it too.

    Example:
        >>> random_swap("The old farmer sold his horse".split(), Random(0))
        ['The', 'old', 'farmer', 'horse', 'his', 'sold']
    """
    swapped, places = list(words), _free(words)
    for _ in range(_changes(words, rate) if len(places) > 1 else 0):
        i, j = rng.sample(places, 2)
        swapped[i], swapped[j] = swapped[j], swapped[i]
    return swapped


def random_duplication(words: Sequence[str], rng: Random, *, rate: float = 0.1) -> list[str]:
    """Double some words in place, as many as `rate` of all words and at least one.

    Source: PT-BERT (Tan et al. 2022), section 4.4 and Table 3, "duplication"; the paper does not say how many words.
    """
    changes, places = _changes(words, rate), _free(words)
    doubled = set(rng.sample(places, min(changes, len(places))))
    return [word for i, word in enumerate(words) for _ in range(2 if i in doubled else 1)]


def random_crop(words: Sequence[str], rng: Random, *, rate: float = 0.1) -> list[str]:
    """Keep a stretch of the sentence: `rate` of all words fall from its two ends, at least one, but never all.

    Source: SimCSE (Gao et al. 2021), Table 1, "crop"; PT-BERT repeats the numbers in Table 4.
    """
    fallen = min(_changes(words, rate), max(0, len(words) - 1))
    start = rng.randint(0, fallen)
    return list(words[start : start + len(words) - fallen])


def srl_guided(words: Sequence[str], rng: Random, *, roles: Callable[[str], Sequence[Mapping[str, str]]]) -> list[str]:
    """Say who does what to whom for every predicate, in the order ARG0, PRED, ARGM-NEG, ARG1, one after the other.

    A sentence without a predicate stays as it is. A word that is in the frames of several predicates is said again.

    Args:
        roles: sentence -> its frames, one for each predicate, as `sentlab.text.roles.label_roles` gives them. A frame
            maps roles to words. Any of `ROLES` but PRED may be absent, and others, such as ARG2, are left out.

    Source: PT-BERT (Tan et al. 2022), section 4.4, "SRL-guided augmentation".
    """
    frames = [frame for frame in roles(" ".join(words)) if frame.get("PRED")]
    return [word for frame in frames for role in ROLES for word in frame.get(role, "").split()] or list(words)


def _changes(words: Sequence[str], rate: float) -> int:
    """How many changes a rate asks for."""
    if not 0 <= rate <= 1 or isinstance(words, str):
        raise ValueError(f"rate={rate} must be in [0, 1], and words a list, as sentence.split() gives it")
    return max(1, int(rate * len(words))) if rate > 0 else 0


def _free(words: Sequence[str]) -> list[int]:
    """The places of the words that a view may touch: not mere marks, and not [MASK] with marks or without."""
    return [i for i, word in enumerate(words) if word.strip(_ATTACHED) != MASK and _split(word)[1]]


def _split(word: str) -> tuple[str, str, str]:
    """The marks before a word, the word, the marks behind it."""
    before = MARKS.match(word)[0]  # it fits any text
    after = MARKS.match(word[len(before) :][::-1])[0][::-1]
    return before, word[len(before) : len(word) - len(after)], after


def _like(word: str, synonym: str) -> str:
    """The synonym with the capitals of the word."""
    if word.isupper() and len(word) > 1:
        return synonym.upper()
    return synonym[0].upper() + synonym[1:] if word[0].isupper() else synonym
