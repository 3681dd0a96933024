"""The corpora of the recorded runs: all that `sentlab.data` has, and those that only the book's experiments read.

- `captions`: Flickr8k's captions of pictures. `wikiqa`: questions, each with a sentence that answers it and a candidate
  that does not. `ppdb-bigrams` and `ppdb-synonyms`: equivalent phrases and words, picked from PPDB.
- `captions-nli`: sentences of the kinds that STS sets hold, of `captions` and `nli` dev, but none that is in them.
- `paraphrases`: `ppdb-bigrams` and `ppdb-synonyms`, each pair once. `paraphrase-triples`: each of them with a phrase of
  another pair.
- `lexical-relations`: pairs out of NLTK's WordNet in three relations, a stand-in for PPDB's labels where there is no
  `ppdb`. `balanced` draws as many of each from `ppdb`.
- `sts12-hard` .. `sts16-hard`, `toy-sts-hard`: the pairs whose lengths mislead.
- `stsb-context`: `stsb` with the second texts set into passages. `triples-in-context`: such triples of `stsb` train
  from a gold of 4 on, and of entailments of `nli` dev. `triples-in-context-bm25`: their negatives are among the 100
  passages that BM25 ranks first.
- `men-halves`: `men` in two, to choose settings on words: every second pair is `dev`, the others `test`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, combinations, cycle, islice, pairwise, product
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sentlab import data
from sentlab.data import Corpus, LabelledPair, PhraseInContext, PhrasePair, ScoredPair, Triple, WordPair, readers
from sentlab.data.catalog import CATALOG, YEARS, Entry, Folder, Joined, chained, public_set
from sentlab.data.readers import MAX_WORDS, Read
from sentlab.data.rows import POSITIVE, added_up, check_rows
from sentlab.text.words import BM25

if TYPE_CHECKING:
    import pandas as pd

# --- Readers


def read_captions(path: str | Path) -> Read[str]:
    """Read captions of pictures, `Flickr8k.token.txt`: `picture.jpg#0`, white space and a caption."""

    def caption(line: str) -> str:
        if parts := re.fullmatch(r"\S+#\d+\s+(.+)", line):
            return parts[1]
        raise ValueError(f"expected `picture.jpg#0`, a tab and a caption, found {line[:40]!r}")

    lines = (((line,), f"{path}:{n}") for n, line in enumerate(readers.lines_of(path), 1))
    return readers.sentences(readers.rows_of(lines, caption).rows)


def read_wikiqa(*paths: str | Path) -> Read[Triple]:
    """Read WikiQA: `WikiQA-<split>.tsv` as released, or `<split>_{a,b}.toks` and `<split>_sim.txt`, tokenised.

    Every sentence that answers its question makes a triple with one that does not: the question's wrong sentences in
    an order that is drawn from the question, one after the other, and again from the first. Sentences that are in no
    triple are counted; most questions of the original release have no answer at all.
    """
    if len(paths) == 1:
        items = readers.csv_records(paths[0], ("Question", "Sentence", "Label"), "\t", quotes=False)
    else:
        items = readers.lines_together(*paths)
    pairs, left_out = readers.rows_of(items, partial(readers.labelled_pair, labels=("0", "1")))
    candidates: dict[str, dict[str, dict[str, None]]] = {}  # question -> label -> sentences, each once, in file order
    for pair in pairs:
        candidates.setdefault(pair.text_a, {"1": {}, "0": {}})[pair.label][pair.text_b] = None
    rows: list[Triple] = []
    for question, sentences in candidates.items():
        wrong = [sentence for sentence in sentences["0"] if sentence not in sentences["1"]]
        Random(question).shuffle(wrong)
        rows += (Triple(question, right, other) for right, other in zip(sentences["1"], cycle(wrong), strict=False))
    unused = len(pairs) - len({(row.anchor, text) for row in rows for text in (row.positive, row.negative)})
    return Read(rows, added_up(left_out, {"sentence of no triple": unused}))


def read_ppdb_bigrams(path: str | Path) -> Read[PhrasePair]:
    """Read paraphrases of two-word phrases by single words, picked from PPDB: equivalences, without a score.

    Three lines an item: both words of the phrase, each with its tag, and the single word. Source: Yu and Dredze (2015).
    """
    return readers.rows_of(readers.tagged_items(path, 3), lambda *item: _equivalence(*readers.phrase_and_word(*item)))


def read_ppdb_synonyms(path: str | Path) -> Read[PhrasePair]:
    """Read synonyms picked from PPDB, two words a line: equivalences, without a score, each pair once.

    Source: Mrkšić et al. (2016).
    """
    return distinct(readers.rows_of(readers.columns_of(path, 2, separator=None), _equivalence).rows)


def _equivalence(a: str, b: str) -> PhrasePair:
    return PhrasePair(a, b, "equivalence", math.nan)


# --- Pairs of phrases


def distinct(pairs: Iterable[PhrasePair]) -> Read[PhrasePair]:
    """Keep each pair once, whichever way round and whatever its relation; equal phrases are no pair."""
    rows: dict[frozenset[str], PhrasePair] = {}
    left_out: Counter[str] = Counter()
    for pair in pairs:
        key = frozenset((pair.phrase_a, pair.phrase_b))
        if pair.phrase_a.lower() == pair.phrase_b.lower():
            left_out["equal but for case"] += 1
        elif rows.setdefault(key, pair) is not pair:
            left_out["repeated pair"] += 1
    return Read(list(rows.values()), dict(left_out))


def balanced(pairs: Sequence[PhrasePair], seed: int = 0, most: int | None = None) -> Read[PhrasePair]:
    """Draw as many pairs of each relation as the rarest one has, at random without replacement; keep their given order.

    Args:
        pairs: rows or a corpus.
        seed: of the draw.
        most: not more than this of each; the Universal paper has 354,000.

    Source: Li and Zhao (2020), section 3.1.
    """
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        places.setdefault(pair.relation, []).append(place)
    sizes = [len(group) for group in places.values()]
    size = min(sizes if most is None else [*sizes, most], default=0)
    rng = Random(seed)
    drawn = sorted(place for relation in sorted(places) for place in rng.sample(places[relation], size))
    surplus = {f"surplus of {relation}": len(group) - size for relation, group in places.items() if len(group) > size}
    return Read([pairs[place] for place in drawn], surplus)


def relations(wordnet: Any, seed: int = 0, most: int = 20_000) -> Read[PhrasePair]:
    """Draw pairs of lemmas, equally many of each relation, no pair twice, without scores.

    - `equivalence`: two lemmas of one sense.
    - `entailment`: a lemma, and a lemma of the sense directly above.
    - `independent`: two opposites, or lemmas of two senses directly below the same one: near, yet not the same, as
      PPDB's "hundreds" and "thousands".

    A lemma means its first, most usual sense as a noun, verb, adjective or adverb, and no other. It has 1 to 6
    words of letters and hyphens, and is lower-cased. A pair in two relations has the first of them.

    A stand-in: the Universal paper (section 3.1) takes these labels from PPDB 2.0, where a classifier gave them to
    phrases of translated text. Here they follow from how WordNet orders its senses, and most phrases are nouns of one
    or two words.

    Args:
        wordnet: a WordNet reader of NLTK's.
        seed: of the draws.
        most: pairs of each relation.
    """
    lemmas, left_out = _first_senses(wordnet)
    rng = Random(seed)
    pairs_of = {
        "equivalence": (pair for phrases in lemmas.values() for pair in combinations(phrases, 2)),
        "entailment": _hypernyms(lemmas),
        "independent": chain(_opposites(lemmas), _siblings(lemmas, rng)),
    }
    once = distinct(PhrasePair(*pair, relation, math.nan) for relation, pairs in pairs_of.items() for pair in pairs)
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
            if not re.fullmatch("[a-z]+(?:[ -][a-z]+)*", phrase) or len(phrase.split()) > MAX_WORDS:
                left_out["lemma of another form"] += 1
            elif wordnet.synsets(lemma.name(), pos=sense.pos())[:1] != [sense]:
                left_out["lemma in another than its first sense"] += 1
            else:
                kept.setdefault(sense, {})[phrase] = lemma
    return kept, dict(left_out)


def _hypernyms(lemmas: Lemmas) -> Pairs:
    for sense, phrases in lemmas.items():
        for above in sorted(sense.hypernyms()):  # NLTK keeps them in a set
            yield from product(phrases, lemmas.get(above, ()))


def _opposites(lemmas: Lemmas) -> Pairs:
    for phrases in lemmas.values():
        for phrase, lemma in phrases.items():
            for opposite in sorted(lemma.antonyms()):
                others = lemmas.get(opposite.synset(), {})
                yield from ((phrase, other) for other, lemma_there in others.items() if lemma_there == opposite)


def _siblings(lemmas: Lemmas, rng: Random) -> Pairs:
    """Of the senses directly below one, in random order, each with the next; all pairs would be over a million."""
    below: dict[Any, list[Any]] = {}  # by what is above, which need not have a usable lemma itself
    for sense in lemmas:
        for above in sorted(sense.hypernyms()):  # NLTK keeps them in a set
            below.setdefault(above, []).append(sense)
    for senses in below.values():
        rng.shuffle(senses)
        yield from pairwise(rng.choice(list(lemmas[sense])) for sense in senses)


# --- Hard pairs

NEGATIVE = 1.0  # up to this gold score, a pair counts as saying something else
LONGER = 5  # words: a positive pair is hard if its lengths differ by more
ALIKE = 2  # words: a negative pair is hard if its lengths differ by less


def hard_pairs(corpus: Corpus[ScoredPair]) -> Corpus[ScoredPair]:
    """Select the positive pairs of unlike length and the negative pairs of like length.

    An encoder that takes sentences of one length for similar does worse on these than on all pairs. The paper gives the
    differences in length, but not the scores from which a pair is positive or negative: both are ours. `POSITIVE` is
    that of Gao et al. (2021), who leave out pairs of exactly 4.

    Args:
        corpus: pairs with a gold of 0 to 5; words are what white space separates.

    Returns:
        The hard pairs in order, as a corpus named `<name>-hard`; the others are left out as `neither`.

    Source: PT-BERT, section 3.1 and Tables 1 and 5(c).
    """
    check_rows(corpus, ScoredPair)
    rows = tuple(pair for pair in corpus if _is_hard(pair))
    left_out = added_up(corpus.left_out, {"neither": len(corpus) - len(rows)})
    return Corpus(f"{corpus.name}-hard", corpus.split, rows, f"hard pairs of {corpus.source}", left_out)


def _is_hard(pair: ScoredPair) -> bool:
    apart = abs(len(pair.text_a.split()) - len(pair.text_b.split()))
    return (pair.score >= POSITIVE and apart > LONGER) or (pair.score <= NEGATIVE and apart < ALIKE)


# --- Phrases in contexts: each set verbatim into a longer passage
#
# "STS-B in context" asks for the second sentence of a pair where it stands inside a passage, and for how similar it is
# to the first, whatever surrounds it. SLICE (section 4.2) has GPT-3.5-Turbo write the passages; here any text generator
# may, and without one the phrase goes into a template, a passage with a gap.
#
# Verbatim means character by character but for two things, which the phrase may lose where it is no longer a sentence
# of its own: the case of its first letter, and a final full stop.
#
# Differs from the paper: nobody reads the passages to see if they change what the phrase means (it drops 3% for that).

PROMPT = (  # SLICE, section 4.2
    "Please provide a context to the given phrase, insert it into a long sentence, place it as part of the larger "
    "sentence and use the phrase verbatim. The sentence should also start with the letter {letter} the phrase is: "
    "{phrase}"
)
TRIES = 3  # texts asked for until one holds the phrase
CANDIDATES = 100  # of BM25, one of which is the negative of a mined triple
LOWERED = frozenset(
    "a an the some one two three four many several people men women he she it they we you there this that".split()
)
_TRAIN, _TEST = (
    (Path(__file__).parent / "assets" / "carriers" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    for name in ("train", "test")
)
CARRIERS = {"train": _TRAIN, "dev": _TEST, "test": _TEST}
Write = Callable[[str], str]  # a prompt -> the text that a generator writes


class Passage(NamedTuple):
    """A text and where a phrase stands in it: `text[start:end]`."""

    text: str
    start: int
    end: int


def in_context(
    phrases: Sequence[str], write: Write | None = None, *, seed: int = 0, split: str = "test"
) -> list[Passage | None]:
    """Set each phrase verbatim (see above) into a longer passage.

    Args:
        phrases: n phrases or sentences.
        write: a text generator, asked up to `TRIES` times a phrase with the paper's prompt, its letter drawn anew each
            time. None: a template drawn for each phrase.
        seed: of the templates and of the letters.
        split: whose templates: those of `train` are others than those of `dev` and `test`.

    Returns:
        A passage for each phrase, in order; None where the generator's texts do not hold it.

    Source: SLICE, section 4.2.
    """
    rng = Random(f"contexts {seed}")
    if write is None:
        return [_carried(phrase, rng.choice(CARRIERS[split])) for phrase in phrases]
    return [_written(phrase, write, rng) for phrase in phrases]


def stsb_in_context(
    corpus: Corpus[ScoredPair], write: Write | None = None, *, seed: int = 0
) -> Corpus[PhraseInContext]:
    """Set the second text of scored pairs into a passage: the first is the phrase to look for, the gold is the same.

    Args:
        corpus: scored pairs; its split chooses the templates.
        write, seed: as in `in_context`.

    Returns:
        The rows in order, as a corpus named `<name>-context`. Pairs whose text the generator does not set into a
        passage verbatim are left out and counted, as the paper does (23%).

    Source: SLICE, section 4.2.
    """
    check_rows(corpus, ScoredPair)
    passages = in_context([pair.text_b for pair in corpus], write, seed=seed, split=corpus.split)
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
    """Make triples to train on out of paraphrases: a gold of `POSITIVE` or more, or an entailment.

    The first text of a pair is the phrase, a passage with the second is the positive, and the negative is the passage
    of another pair that shares no text with this one. Templates are those of training, whatever the splits.

    Args:
        corpora: scored or labelled pairs.
        write, seed: as in `in_context`.
        mined: a negative is drawn from the so many passages that BM25 ranks first for the phrase, as in MS MARCO, on
            which the paper trains. None, or where BM25 scores no passage above 0: from all.

    Returns:
        The triples in order, as a corpus named `triples-in-context` (mined: `triples-in-context-bm25`), split `train`;
        other pairs are left out, counted.

    Raises:
        ValueError: there is no other pair to take a negative from.

    Source: SLICE, section 3.1, the triplets (q, p_true, p_false).
    """
    pairs = [row for corpus in corpora for row in corpus if _says_the_same(row)]
    passages = in_context([pair.text_b for pair in pairs], write, seed=seed, split="train")
    placed = [(pair, passage.text) for pair, passage in zip(pairs, passages, strict=True) if passage]
    texts = [{_core(text).casefold() for text in (pair.text_a, pair.text_b)} for pair, _ in placed]
    rng, rows = Random(f"negatives in context {seed}"), list[Triple]()
    index = None if mined is None else BM25([positive for _, positive in placed])
    for (pair, positive), both in zip(placed, texts, strict=True):
        place = _draw(both, texts, rng, index.scores(pair.text_a) if index else None, mined)
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
    both: set[str], texts: list[set[str]], rng: Random, scores: np.ndarray | None, mined: int | None
) -> int | None:
    """Draw the place of a pair that shares none of `both` texts; None if there is none.

    With scores it is one of the `mined` highest above 0, if there are such.
    """
    if scores is not None:
        ranked = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores > 0)].tolist()
        if best := list(islice((place for place in ranked if both.isdisjoint(texts[place])), mined)):
            return rng.choice(best)
    first = rng.randrange(len(texts))
    others = (place % len(texts) for place in range(first, first + len(texts)))
    return next((place for place in others if both.isdisjoint(texts[place])), None)


def _says_the_same(row: ScoredPair | LabelledPair) -> bool:
    return row.score >= POSITIVE if isinstance(row, ScoredPair) else row.label == "entailment"


def _carried(phrase: str, carrier: str) -> Passage:
    """The phrase in the gap of a template; it keeps its capital unless its first word has none inside a sentence."""
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
        text = write(PROMPT.format(letter=rng.choice(ascii_uppercase), phrase=phrase.strip())).strip()
        match = verbatim.search(text)
        if match and any(letter.isalpha() for letter in text[: match.start()] + text[match.end() :]):
            return Passage(text, *match.span())
    return None


def _core(phrase: str) -> str:
    """The phrase without a final full stop; one that belongs to "U.S." or "..." stays."""
    phrase = phrase.strip()
    last = phrase.split()[-1] if phrase else ""
    return phrase[:-1].rstrip() if last.endswith(".") and "." not in last[:-1] else phrase


def _source(write: Write | None, seed: int, of: str) -> str:
    author = "carriers" if write is None else f"texts by {getattr(write, '__name__', type(write).__name__)}"
    return f"{author}, seed {seed}, around second texts of {of}"


# --- The catalog


def load(name: str, split: str = "test", folder: Folder = None) -> Corpus[Any]:
    """Load a corpus by name, as `sentlab.data.load` does; of these, too."""
    return data.load(name, split, folder, catalog=ALL)


def corpora() -> pd.DataFrame:
    """List every name that `load` knows."""
    return data.corpora(ALL)


def _captions_nli(split: str, folder: Folder) -> Corpus[str]:
    parts = load("captions", split, folder), load("nli", "dev", folder)
    texts = [*parts[0], *(text for pair in parts[1] for text in (pair.text_a, pair.text_b))]
    in_sts = {_plain(text) for text in load("sts-unlabelled", "train", folder)}
    once = {_plain(text): text for text in reversed(texts)}  # the first of equal ones, whatever their marks and case
    kept = tuple(text for plain, text in reversed(once.items()) if plain not in in_sts)
    left_out = {"repeated sentence": len(texts) - len(once), "sentence of an STS set": len(once) - len(kept)}
    source = "; ".join(f"{part.name} {part.split}: {part.source}" for part in parts)
    return Corpus("captions-nli", split, kept, source, added_up(*(part.left_out for part in parts), left_out))


def _plain(text: str) -> str:
    """The words of a text in lower case."""
    return " ".join(re.findall(r"\w+", text.lower()))


def _paraphrases(split: str, folder: Folder) -> Corpus[PhrasePair]:
    both = chained("paraphrases", *(load(name, split, folder) for name in ("ppdb-bigrams", "ppdb-synonyms")))
    once = distinct(both)
    return Corpus("paraphrases", split, tuple(once.rows), both.source, added_up(both.left_out, once.left_out))


def _paraphrase_triples(split: str, folder: Folder) -> Corpus[Triple]:
    pairs = load("paraphrases", split, folder)
    known: dict[str, set[str]] = {}  # a phrase -> itself and all that it is paired with
    for pair in pairs:
        known.setdefault(pair.phrase_a, {pair.phrase_a}).add(pair.phrase_b)
        known.setdefault(pair.phrase_b, {pair.phrase_b}).add(pair.phrase_a)
    rng, rows = Random("paraphrase-triples"), list[Triple]()
    for pair in pairs:
        other = pair.phrase_a
        while other in known[pair.phrase_a]:
            other = pairs[rng.randrange(len(pairs))].phrase_b
        rows.append(Triple(pair.phrase_a, pair.phrase_b, other))
    return Corpus("paraphrase-triples", split, tuple(rows), pairs.source, pairs.left_out)


@cache  # it takes many seconds
def _lexical_relations() -> Corpus[PhrasePair]:
    from nltk.corpus import wordnet

    wordnet.ensure_loaded()
    rows, left_out = relations(wordnet)
    source = f"WordNet {wordnet.get_version()} through NLTK"
    return Corpus("lexical-relations", "train", tuple(rows), source, left_out)


def _men_halves(split: str, folder: Folder) -> Corpus[WordPair]:
    whole = load("men", "test", folder)
    rows = whole.rows[1::2] if split == "dev" else whole.rows[::2]
    return Corpus("men-halves", split, rows, whole.source, whole.left_out)


def _triples_in_context(split: str, folder: Folder, mined: int | None = None) -> Corpus[Triple]:
    return triples_in_context(load("stsb", "train", folder), load("nli", "dev", folder), mined=mined)


def _of(name: str, make: Callable[[Corpus[Any]], Corpus[Any]]) -> Callable[[str, Folder], Corpus[Any]]:
    """Make a corpus of the same split of another."""
    return lambda split, folder: make(load(name, split, folder))


_TRAIN_ONLY = ("train",)
ALL: dict[str, Entry] = {
    **CATALOG,
    "wikiqa": public_set(
        Triple,
        {"train": 0, "dev": 0, "test": 0},  # counts include questions that have no answer
        {
            read_wikiqa: [
                "WikiQACorpus/WikiQA-{0}.tsv",
                "WikiQA/WikiQA-{0}.tsv",
                "WikiQA/{0}_a.toks + WikiQA/{0}_b.toks + WikiQA/{0}_sim.txt",
            ]
        },
        "WikiQACorpus.zip by Yang et al. (2015), or the same tokenised, in three files a split",
    ),
    "captions": public_set(
        str,
        {"train": 40_460},  # five of each picture
        {read_captions: ["captions/Flickr8k.token.txt", "Flickr8k_text/Flickr8k.token.txt"]},
        "Flickr8k_text.zip by Hodosh et al. (2013)",
    ),
    "ppdb-bigrams": public_set(
        PhrasePair,
        {"train": 24280, "dev": 500, "test": 499},  # of 24,300 and 500 items, for some lack a word
        {read_ppdb_bigrams: ["ppdb/ppdb.xxl.b2u.{}"]},
        "the data of Yu and Dredze (2015)",
    ),
    "ppdb-synonyms": public_set(
        PhrasePair,
        {"train": 16101},  # of 53,809 lines, most of which say again what another says
        {read_ppdb_synonyms: ["ppdb/ppdb_synonyms.txt"]},
        "linguistic_constraints of the GitHub repository nmrksic/counter-fitting",
    ),
    "captions-nli": Joined(_TRAIN_ONLY, str, "captions and nli, without what is in STS", _captions_nli),
    "paraphrases": Joined(_TRAIN_ONLY, PhrasePair, "ppdb-bigrams and ppdb-synonyms", _paraphrases),
    "paraphrase-triples": Joined(_TRAIN_ONLY, Triple, "paraphrases", _paraphrase_triples),
    "lexical-relations": Joined(_TRAIN_ONLY, PhrasePair, "NLTK's WordNet", lambda split, folder: _lexical_relations()),
    "stsb-context": Joined(("train", "dev", "test"), PhraseInContext, "stsb", _of("stsb", stsb_in_context)),
    "triples-in-context": Joined(_TRAIN_ONLY, Triple, "stsb and nli", _triples_in_context),
    "triples-in-context-bm25": Joined(
        _TRAIN_ONLY, Triple, "stsb and nli", partial(_triples_in_context, mined=CANDIDATES)
    ),
    "men-halves": Joined(("dev", "test"), WordPair, "men", _men_halves),
    **{f"{name}-hard": Joined(("test",), ScoredPair, name, _of(name, hard_pairs)) for name in (*YEARS, "toy-sts")},
}
