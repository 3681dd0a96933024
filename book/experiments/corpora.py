"""The corpora of the recorded runs: all that `sentlab.data` has, and those that only the book's experiments read.

- `captions`: of pictures, Flickr8k. `ppdb-bigrams` and `ppdb-synonyms`: equivalent phrases and words out of PPDB.
- `ppdb-phrases`: the same as a search: each phrase of `ppdb-bigrams` asks for its word, among the words of all.
- `captions-nli`: sentences of the kinds that STS sets hold, of `captions` and `nli` dev, but none that is in them.
- `paraphrases`: `ppdb-bigrams` and `ppdb-synonyms`, each pair once. `paraphrase-triples`: with a phrase of another.
- `lexical-relations`: pairs out of WordNet in three relations, a stand-in for PPDB's labels.
- `sts12-hard` .. `sts16-hard`, `toy-sts-hard`: the pairs whose lengths mislead.
- `stsb-context`: `stsb` with the second texts set into passages. `triples-in-context`: such triples of `stsb` train
  from a gold of 4 on, and of entailments of `nli` dev. `triples-in-context-bm25`: negatives are of BM25's first 100.
- `sts12-context` .. `sts16-context`, `sick-context`: larger tests like it, without the pairs of `stsb` train and dev.
- `men-halves`: `men` in two, to choose settings on words: every second pair is `dev`, the others `test`.
"""

from __future__ import annotations

import json
import lzma
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from sentlab import data
from sentlab.data import Corpus, LabelledPair, PhraseInContext, PhrasePair, ScoredPair, Triple, WordPair, readers
from sentlab.data.catalog import CATALOG, YEARS, Entry, Folder, Joined, PublicSet, chained
from sentlab.data.readers import Read
from sentlab.data.rows import POSITIVE, DuplicateQuestion, added_up
from sentlab.text.words import lower_words

from experiments.peers import okapi

ASSETS = Path(__file__).parent / "assets"

# --- Readers


def read_captions(path: str | Path) -> Read[str]:
    """Read captions of pictures, `Flickr8k.token.txt`: `picture.jpg#0`, white space and a caption."""
    lines = (((line,), f"{path}:{n}") for n, line in enumerate(readers.lines_of(path), 1))
    parts = readers.rows_of(lines, partial(re.fullmatch, r"\S+#\d+\s+(.+)"))
    return readers.sentences(match[1] for match in parts.rows)


def read_ppdb_bigrams(path: str | Path) -> Read[PhrasePair]:
    """Read paraphrases of two-word phrases by single words, picked from PPDB: equivalences, without a score.

    Three lines an item: both words of the phrase, each with its tag, and the single word. Source: Yu and Dredze (2015).
    """
    items = readers.tagged_items(path, 3)
    return readers.rows_of(items, lambda *item: PhrasePair(*readers.phrase_and_word(*item), "equivalence", math.nan))


def read_ppdb_synonyms(path: str | Path) -> Read[PhrasePair]:
    """Read synonyms picked from PPDB (Mrkšić et al. 2016), two words a line: equivalences, no score, each pair once."""
    words = readers.columns_of(path, 2, separator=None)
    return distinct(PhrasePair(a, b, "equivalence", math.nan) for (a, b), _ in words)


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


# --- Hard pairs

NEGATIVE = 1.0  # up to this gold score, a pair counts as saying something else
LONGER = 5  # words: a positive pair is hard if its lengths differ by more
ALIKE = 2  # words: a negative pair is hard if its lengths differ by less


def hard_pairs(corpus: Corpus[ScoredPair]) -> Corpus[ScoredPair]:
    """Select the positive pairs of unlike length and the negative pairs of like length.

    An encoder that takes sentences of one length for similar does worse on these than on all pairs. The paper gives the
    differences in length, but not the scores from which a pair is positive or negative: both are ours. `POSITIVE` is
    that of Gao et al. (2021), who leave out pairs of exactly 4. White space separates words. The corpus is named
    `<name>-hard`, with the others left out as `neither`. Source: PT-BERT, section 3.1 and Tables 1 and 5(c).
    """

    def is_hard(pair: ScoredPair) -> bool:
        apart = abs(len(pair.text_a.split()) - len(pair.text_b.split()))
        return (pair.score >= POSITIVE and apart > LONGER) or (pair.score <= NEGATIVE and apart < ALIKE)

    rows = tuple(filter(is_hard, corpus))
    left_out = added_up(corpus.left_out, {"neither": len(corpus) - len(rows)})
    return Corpus(f"{corpus.name}-hard", corpus.split, rows, f"hard pairs of {corpus.source}", left_out)


# --- Phrases in contexts: each set verbatim into a longer passage
#
# "STS-B in context" asks for the second sentence of a pair where it stands inside a passage, and for how similar it is
# to the first, whatever surrounds it. SLICE (section 4.2) has GPT-3.5-Turbo write the passages; here the phrase goes
# into a template, a passage with a gap.
#
# Verbatim means character by character but for two things, which the phrase may lose where it is no longer a sentence
# of its own: the case of its first letter, and a final full stop.
#
# Differs from the paper: nobody reads the passages to see if they change what the phrase means (it drops 3% for that).

CANDIDATES = 100  # of BM25, one of which is the negative of a mined triple
LOWERED = frozenset(
    "a an the some one two three four many several people men women he she it they we you there this that".split()
)
CARRIERS = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in (ASSETS / "carriers").glob("*.txt")}
CARRIERS["dev"] = CARRIERS["test"]
CARRIED = "carriers, seed 0, around second texts of"


def in_context(phrases: Sequence[str], split: str) -> list[tuple[str, int, int]]:
    """Set each phrase verbatim (see above) into the gap of a template, drawn for each: passage, start and end in it.

    A phrase keeps its capital unless its first word has none inside a sentence. `train` has templates of its own.
    """
    draw, passages = Random("contexts 0"), []
    for phrase in map(_core, phrases):
        before, after = draw.choice(CARRIERS[split]).split("{}")
        inside = phrase[0].lower() + phrase[1:] if phrase.split()[0].lower() in LOWERED else phrase
        passages.append((before + inside + after, len(before), len(before) + len(inside)))
    return passages


def _core(phrase: str) -> str:
    """The phrase without a final full stop; one that belongs to "U.S." or "..." stays."""
    phrase = phrase.strip()
    last = phrase.split()[-1] if phrase else ""
    return phrase[:-1].rstrip() if last.endswith(".") and "." not in last[:-1] else phrase


def stsb_in_context(corpus: Corpus[ScoredPair]) -> Corpus[PhraseInContext]:
    """Set the second text of scored pairs into a passage: the first is the phrase to look for, the gold is the same.

    The corpus is named `<name>-context`. Source: SLICE, section 4.2.
    """
    passages = in_context([pair.text_b for pair in corpus], corpus.split)
    rows = (PhraseInContext(pair.text_a, *passage, pair.score) for pair, passage in zip(corpus, passages, strict=True))
    return Corpus(f"{corpus.name}-context", corpus.split, tuple(rows), f"{CARRIED} {corpus.source}", corpus.left_out)


def triples_in_context(*corpora: Corpus[ScoredPair] | Corpus[LabelledPair], mined: int | None = None) -> Corpus[Triple]:
    """Make triples to train on out of paraphrases: a gold of `POSITIVE` or more, or an entailment.

    The first text of a pair is the phrase, a passage with the second is the positive, and the negative is the passage
    of another pair that shares no text with this one. Templates are those of training, whatever the splits.

    `mined`: a negative is drawn from so many passages that BM25 ranks first, as in MS MARCO, or, without any, from all.
    Source: SLICE, section 3.1, the triplets (q, p_true, p_false).
    """

    def same(row: ScoredPair | LabelledPair) -> bool:
        return row.score >= POSITIVE if isinstance(row, ScoredPair) else row.label == "entailment"

    pairs = [row for corpus in corpora for row in corpus if same(row)]
    passages = [passage for passage, _, _ in in_context([pair.text_b for pair in pairs], "train")]
    texts = [{_core(text).casefold() for text in (pair.text_a, pair.text_b)} for pair in pairs]
    draw, rows = Random("negatives in context 0"), list[Triple]()
    index = None if mined is None else okapi(passages)
    for pair, passage, both in zip(pairs, passages, texts, strict=True):
        best = list[int]()
        if index:
            scores = index.get_scores(lower_words(pair.text_a))
            ranked = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores > 0)].tolist()
            best = list(islice((place for place in ranked if both.isdisjoint(texts[place])), mined))
        if best:
            other = draw.choice(best)
        else:
            first = draw.randrange(len(texts))
            places = (place % len(texts) for place in range(first, first + len(texts)))
            other = next(place for place in places if both.isdisjoint(texts[place]))
        rows.append(Triple(pair.text_a, passage, passages[other]))
    unlike = {"pair that does not say the same": sum(map(len, corpora)) - len(pairs)}
    left_out = added_up(*(corpus.left_out for corpus in corpora), unlike)
    of = "; ".join(f"{corpus.name} {corpus.split}: {corpus.source}" for corpus in corpora)
    name = "triples-in-context" + ("" if mined is None else "-bm25")
    return Corpus(name, "train", tuple(rows), f"{CARRIED} {of}", left_out)


# --- The catalog


def load(name: str, split: str = "test", folder: Folder = None) -> Corpus[Any]:
    """Load a corpus by name, as `sentlab.data.load` does; of these, too."""
    return data.load(name, split, folder, catalog=ALL)


def corpora() -> pd.DataFrame:
    """List every name that `load` knows."""
    return data.corpora(ALL)


def _captions_nli(split: str, folder: Folder) -> Corpus[str]:
    both = chained("captions-nli", load("captions", split, folder), load("nli", "dev", folder))
    texts = [text for row in both for text in ([row] if isinstance(row, str) else (row.text_a, row.text_b))]
    in_sts = {_plain(text) for text in load("sts-unlabelled", "train", folder)}
    once = {_plain(text): text for text in reversed(texts)}  # the first of equal ones, whatever their marks and case
    kept = tuple(text for plain, text in reversed(once.items()) if plain not in in_sts)
    left_out = {"repeated sentence": len(texts) - len(once), "sentence of an STS set": len(once) - len(kept)}
    return replace(both, rows=kept, left_out=added_up(both.left_out, left_out))


def _plain(text: str) -> str:
    """The words of a text in lower case."""
    return " ".join(re.findall(r"\w+", text.lower()))


def _paraphrases(split: str, folder: Folder) -> Corpus[PhrasePair]:
    both = chained("paraphrases", *(load(name, split, folder) for name in ("ppdb-bigrams", "ppdb-synonyms")))
    once = distinct(both)
    return Corpus("paraphrases", split, tuple(once.rows), both.source, added_up(both.left_out, once.left_out))


def _phrase_search(pairs: Corpus[Any]) -> Corpus[Any]:
    rows = tuple(DuplicateQuestion(pair.phrase_a, pair.phrase_b) for pair in pairs)
    return replace(pairs, name="ppdb-phrases", rows=rows)


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


def lexical_relations(split: str, folder: Folder) -> Corpus[PhrasePair]:
    """Read pairs of lemmas of WordNet: 20,000 of each relation, drawn at random, no pair twice, without scores.

    - `equivalence`: two lemmas of one sense.
    - `entailment`: a lemma, and a lemma of the sense directly above.
    - `independent`: two opposites, or lemmas of two senses directly below the same one: near, yet not the same.

    A lemma means its first, most usual sense, and no other. The Universal paper (section 3.1) takes 354,000 pairs of
    each label from PPDB 2.0, where a classifier labelled phrases of translated text.
    """
    with lzma.open(ASSETS / "lexical-relations" / "pairs.json.xz", "rt", encoding="utf-8") as file:
        frozen = json.load(file)
    rows = tuple(PhrasePair(a, b, relation, math.nan) for relation, few in frozen["pairs"].items() for a, b in few)
    return Corpus("lexical-relations", split, rows, frozen["source"], frozen["left_out"])


def _men_halves(split: str, folder: Folder) -> Corpus[WordPair]:
    whole = load("men", "test", folder)
    return replace(whole, name="men-halves", split=split, rows=whole.rows[split == "dev" :: 2])


def _triples(split: str, folder: Folder, mined: int | None = None) -> Corpus[Triple]:
    return triples_in_context(load("stsb", "train", folder), load("nli", "dev", folder), mined=mined)


def _larger_context(name: str, split: str, folder: Folder) -> Corpus[PhraseInContext]:
    """Set pairs into passages, but none of `stsb` train or dev, which were trained on or have chosen settings."""

    def key(pair: ScoredPair) -> frozenset[str]:
        return frozenset(map(_plain, (pair.text_a, pair.text_b)))

    seen = {key(pair) for part in ("train", "dev") for pair in load("stsb", part, folder)}
    pairs = load(name, split, folder)
    rows = tuple(pair for pair in pairs if key(pair) not in seen)
    left_out = added_up(pairs.left_out, {"pair of stsb train or dev": len(pairs) - len(rows)})
    return stsb_in_context(replace(pairs, rows=rows, left_out=left_out))


def _of(name: str, make: Callable[[Corpus[Any]], Corpus[Any]]) -> Callable[[str, Folder], Corpus[Any]]:
    """Make a corpus of the same split of another."""
    return lambda split, folder: make(load(name, split, folder))


_TRAIN_ONLY = ("train",)
ALL: dict[str, Entry] = {
    **CATALOG,
    "captions": PublicSet(
        str,
        {"train": 40_460},  # five of each picture
        {"captions/Flickr8k.token.txt": read_captions, "Flickr8k_text/Flickr8k.token.txt": read_captions},
        "Flickr8k_text.zip by Hodosh et al. (2013)",
    ),
    "ppdb-bigrams": PublicSet(
        PhrasePair,
        {"train": 24280, "dev": 500, "test": 499},  # of 24,300 and 500 items, for some lack a word
        {"ppdb/ppdb.xxl.b2u.{}": read_ppdb_bigrams},
        "the data of Yu and Dredze (2015)",
    ),
    "ppdb-synonyms": PublicSet(
        PhrasePair,
        {"train": 16101},  # of 53,809 lines, most of which say again what another says
        {"ppdb/ppdb_synonyms.txt": read_ppdb_synonyms},
        "linguistic_constraints of the GitHub repository nmrksic/counter-fitting",
    ),
    "ppdb-phrases": Joined(("dev", "test"), DuplicateQuestion, "ppdb-bigrams", _of("ppdb-bigrams", _phrase_search)),
    "captions-nli": Joined(_TRAIN_ONLY, str, "captions and nli, without what is in STS", _captions_nli),
    "paraphrases": Joined(_TRAIN_ONLY, PhrasePair, "ppdb-bigrams and ppdb-synonyms", _paraphrases),
    "paraphrase-triples": Joined(_TRAIN_ONLY, Triple, "paraphrases", _paraphrase_triples),
    "lexical-relations": Joined(_TRAIN_ONLY, PhrasePair, "WordNet, beside the book", lexical_relations),
    "stsb-context": Joined(("train", "dev", "test"), PhraseInContext, "stsb", _of("stsb", stsb_in_context)),
    "triples-in-context": Joined(_TRAIN_ONLY, Triple, "stsb and nli", _triples),
    "triples-in-context-bm25": Joined(_TRAIN_ONLY, Triple, "stsb and nli", partial(_triples, mined=CANDIDATES)),
    **{
        f"{name}-context": Joined(("test",), PhraseInContext, f"{name} and stsb", partial(_larger_context, name))
        for name in (*YEARS, "sick")
    },
    "men-halves": Joined(("dev", "test"), WordPair, "men", _men_halves),
    **{f"{name}-hard": Joined(("test",), ScoredPair, name, _of(name, hard_pairs)) for name in (*YEARS, "toy-sts")},
}
