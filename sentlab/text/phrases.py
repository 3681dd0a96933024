"""Important phrases of a sentence, with exact character spans, and the masking of the tokens that make them up.

The ranking is RAKE's (Rose et al. 2010). Stopwords and punctuation cut a sentence into phrases. A word scores degree /
frequency in the co-occurrence graph of those phrases, and a phrase scores the sum over its words. The package
rake-nltk computes the scores. It returns lower-cased text without offsets, so the places are found again here.

The other way to find phrases is a chunk grammar over part-of-speech tags (`GRAMMAR`). It finds noun phrases, verb
groups and subordinate clauses, all equally important.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from sentlab.text.words import CLITIC, PHRASE_TOKEN

# English function words carry grammar rather than content, so they end a phrase. Numbers are content, and so is "us",
# because lower-casing cannot distinguish it from "US".
STOPWORDS = frozenset((Path(__file__).resolve().parents[1] / "assets/stopwords.txt").read_text("utf-8").split())

_BREAK = "."  # replaces every punctuation mark, so that no cluster or rare symbol passes for a word

# Chunks over Penn tags, after Abney (1991): later rules see the chunks of earlier ones. SUB is an `IN` that joins
# clauses. NP: a noun with what stands before it, or a pronoun. VP: a verb with its auxiliaries, the adverbs among them
# and its particle, without objects. SBAR: from the joining word to the end of its clause, which must have a verb.
GRAMMAR = r"""
    NP: {<PDT>?<DT|PRP\$><RB.*>?<CD|JJ.*|VB[GN]>*<NN.*>+}
        {<CD|JJ.*>*<NN.*>+}
        {<PRP>}
    VP: {<MD|VB.*>(<RB.*>*<TO>?<RB.*>*<VB[GN]?>)*<RP>?}
    SBAR: {<SUB|WDT|WP.*|WRB><NP|PDT|DT|CD|JJ.*|RB.*|IN|TO>*<VP><NP|PDT|DT|CD|JJ.*|RB.*|RP|IN|TO>*}
"""
CHUNKS = ("NP", "VP", "SBAR")
_JOINS_CLAUSES = frozenset(
    "after although as because before if lest once since so than that though till unless until whereas whether "
    "while".split()
)
_DETACHED = frozenset("s t m d ll re ve".split())  # the rest of a clitic between spaces: "the dog ' s tail"
Tagger = Callable[[list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase and its place: `sentence[start:end] == text`, in the sentence's own spelling.

    `score` is RAKE's, and 1 for every phrase of a chunk grammar.
    """

    text: str
    start: int
    end: int
    score: float


@lru_cache(maxsize=2**16)  # training reads every sentence once an epoch
def rake_phrases(sentence: str) -> tuple[Phrase, ...]:
    """Find the phrases of a sentence, most important first.

    Phrases never cross punctuation or a stopword, and never overlap. Equal scores are in text order.

    Source: Rose et al. (2010), "Automatic keyword extraction from individual documents"; PaSeR, section 3.1.1.

    Example:
        >>> [phrase.text for phrase in rake_phrases("The old farmer sold his brown horse at the market.")]
        ['old farmer sold', 'brown horse', 'market']
    """
    from rake_nltk import Rake  # late, because its imports take a second and draw random numbers

    matches = list(PHRASE_TOKEN.finditer(sentence))
    words = [_spelled(m["word"]) if m["word"] else _BREAK for m in matches]
    cut: Any = {"sentence_tokenizer": lambda text: [text], "word_tokenizer": lambda text: words}  # "." ends phrases
    rake = Rake(stopwords=STOPWORDS, punctuations={_BREAK}, **cut)
    rake.extract_keywords_from_text(sentence)
    score = {text: value for value, text in rake.get_ranked_phrases_with_scores()}
    phrases = []
    # the runs of words that RAKE grouped, now with their places
    for ends_phrase, run in groupby(range(len(words)), key=lambda place: words[place] in rake.to_ignore):
        if not ends_phrase:
            places = list(run)
            start, end = matches[places[0]].start(), matches[places[-1]].end()
            phrases.append(Phrase(sentence[start:end], start, end, score[" ".join(words[i] for i in places)]))
    return tuple(sorted(phrases, key=lambda phrase: (-phrase.score, phrase.start)))


def _spelled(word: str) -> str:
    """A word as RAKE reads it. A capital letter alone, as in "vitamin D", is a name and no rest of a clitic."""
    alone = len(word) == 1 and word.isupper() and word not in "AI"
    return word.lower().replace("’", "'") + "." * alone


def chunk_phrases(sentence: str, kinds: Collection[str] = ("NP", "VP"), *, tag: Tagger | None = None) -> list[Phrase]:
    """Find the noun phrases, verb groups or subordinate clauses of a sentence, in a random order that it fixes.

    Spans never overlap. Noun phrases and verb groups are flat: "sent the boy a letter" is a verb group and two noun
    phrases. With SBAR, a clause replaces all that is in it. All are equally important, in an order drawn once.

    Args:
        sentence: the raw text. Phrases never cross punctuation.
        kinds: some of `CHUNKS`.
        tag: gives each token of a list, of which "n't" is one, a Penn Treebank tag. None: NLTK's averaged perceptron.

    Source: PaSeR (Wu and Zhao 2022), section 3.1.1, with chunks in the place of the sub-trees of a full parse.
    """
    if not set(kinds) <= set(CHUNKS):  # the letters of "NP" are none
        raise ValueError(f"kinds must be some of {', '.join(CHUNKS)} in a tuple, got {kinds!r}")
    phrases = list(_chunked(sentence, frozenset(kinds), tag or _perceptron()))
    Random(sentence).shuffle(phrases)
    return phrases


@lru_cache(maxsize=2**16)
def _chunked(sentence: str, kinds: frozenset[str], tag: Tagger) -> tuple[Phrase, ...]:
    """The phrases of a sentence in text order, cached because training reads every sentence once an epoch."""
    matches, tree = chunk_tree(sentence, tag)
    spans = ((matches[places[0]].start(), matches[places[-1]].end()) for places in _top_chunks(tree, kinds))
    return tuple(Phrase(sentence[start:end], start, end, 1.0) for start, end in spans)


def chunk_tree(sentence: str, tag: Tagger | None = None) -> tuple[list[re.Match[str]], Any]:
    """Return the tokens of a sentence and NLTK's tree of its chunks, whose leaves are (place of the token, its tag)."""
    matches = list(PHRASE_TOKEN.finditer(sentence))
    tags = _tags(matches, tag or _perceptron())
    if tags[-1:] == ["?"]:
        asking = int(tags[0] == "IN")
        tags[asking] = tags[asking].removeprefix("W")  # "Which boy ...?", "For whom ...?" join no clauses
    return matches, _grammar().parse(list(enumerate(tags))) if matches else []


def _tags(matches: Sequence[re.Match[str]], tag: Tagger) -> list[str]:
    """A tag for each token of `PHRASE_TOKEN`. Punctuation is its own tag, which no rule of the grammar names."""
    pieces, first = list[str](), list[int]()  # "doesn't" is tagged as "does" and "n't", and has the tag of "does"
    for match in matches:
        first.append(len(pieces))
        clitic = CLITIC.search(match[0])
        pieces += [match[0][: clitic.start()], clitic[0].replace("’", "'")] if clitic else [match[0]]
    tags = tag(pieces)
    if len(tags) != len(pieces):
        raise ValueError(f"tag gave {len(tags)} tags for {len(pieces)} tokens: {pieces}")
    return [
        ("?" if match[0] == "?" else _BREAK) if not match["word"] or match[0].lower() in _DETACHED
        else "SUB" if tags[i] == "IN" and match[0].lower() in _JOINS_CLAUSES
        else tags[i]
        for match, i in zip(matches, first, strict=True)
    ]  # fmt: skip


def _top_chunks(tree: Any, kinds: frozenset[str]) -> Iterator[list[int]]:
    """The places of the tokens of each chunk of these kinds that is within no other one."""
    for node in (child for child in tree if not isinstance(child, tuple)):
        if node.label() in kinds:
            yield [place for place, _ in node.leaves()]
        else:
            yield from _top_chunks(node, kinds)


@cache
def _grammar() -> Any:
    from nltk import RegexpParser

    return RegexpParser(GRAMMAR)


@cache
def _perceptron() -> Tagger:
    """NLTK's tagger of English."""
    from nltk.tag.perceptron import PerceptronTagger

    tagger = PerceptronTagger()
    return lambda words: [name for _, name in tagger.tag(words)]


def mask_spans(
    input_ids: Sequence[int], offsets: Sequence[tuple[int, int]], phrases: Sequence[Phrase], mask_token_id: int
) -> tuple[list[int], list[list[int]]]:
    """Replace every token that overlaps a phrase by the mask token ("duplicate and mask").

    Of the L token ids of one sentence `offsets` are the characters [start, end); an empty span such as (0, 0) marks a
    special token. Returns the masked copy, L ids, and for each phrase the positions of its tokens.

    Source: PaSeR (Wu and Zhao 2022), section 3.1.2.
    """
    masked, positions = list(input_ids), []
    for phrase in phrases:
        hidden = [i for i, (a, b) in enumerate(offsets) if a < b and a < phrase.end and b > phrase.start]
        for i in hidden:
            masked[i] = mask_token_id
        positions.append(hidden)
    return masked, positions
