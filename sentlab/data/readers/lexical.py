"""Readers of word and phrase data: graded word pairs, phrases beside single words, paraphrases.

They keep the rules of `sentlab.data.readers.pairs`. They take paths and return a `Read`. What is left out is counted by
its reason. A line that breaks the format is a ValueError that names file and line. Words keep their case and form.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from sentlab.data.readers.files import Read, column_places, columns_of, score_of, streamed
from sentlab.data.rows import LabelledPair, PhrasePair, WordPair, WordPairInContext, added_up

MAX_WORDS = 6  # of a phrase, as in section 3.2 of the Universal paper
PPDB_RELATIONS = {
    "Equivalence": "equivalence",
    "ForwardEntailment": "entailment",
    "ReverseEntailment": "entailment",
    "Independent": "independent",
    "Exclusion": None,  # section 3.1 removes these two
    "OtherRelated": None,
}
_EQUIVALENCE = re.compile(r"(?:^|\s)Equivalence=(?!NA(?:\s|$))(\S*)")
_NONTERMINAL = re.compile(r"(?:^|\s)\[\S+\](?:\s|$)")  # [NP], [NP/NP,1]


def read_word_pairs(path: str | Path, highest: float = 50.0) -> Read[WordPair]:
    """Read pairs of words with a graded similarity: SimLex-999, both halves of WS-353, MEN.

    Args:
        path: two words and a score on each line, separated by tabs or else by blanks. SimLex-999 as first released is
            read too; its header row names `word1`, `word2` and `SimLex999` among other columns.
        highest: upper end of the scale, which begins at 0. It is 50 for MEN and 10 for the others.
    """
    lines = enumerate(streamed(path), 1)
    header = next(streamed(path), "").split("\t")
    width, places = 3, tuple(range(3))
    if "SimLex999" in header:
        width, places, _ = len(header), column_places(header, ("word1", "word2", "SimLex999"), path), next(lines)
    rows = []
    for n, line in lines:
        columns = [column.strip() for column in (line.split("\t") if "\t" in line else line.split())]
        if len(columns) != width or not all(columns[place] for place in places):
            raise ValueError(f"{path}:{n}: expected {width} columns, words and score filled, found {columns}")
        a, b, score = (columns[place] for place in places)
        rows.append(WordPair(a, b, score_of(score, f"{path}:{n}", 0, highest)))
    return Read(rows, {})


def read_scws(path: str | Path) -> Read[WordPairInContext]:
    """Read SCWS, Stanford's contextual word similarities: pairs of words, each marked in a passage.

    The score is the mean of ten ratings. Pairs of a word with itself are rows like any other, for their contexts
    differ. The marks `<b> word </b>` are taken out of the contexts; one blank stands between any two tokens.

    Args:
        path: `ratings.txt`: id, word, part of speech, word, part of speech, context, context, mean rating and ten
            single ratings a line, separated by tabs.
    """
    rows = []
    expected = "18 tab-separated columns with words in 2 and 4,"
    for columns, where in columns_of(path, 18, expected):
        _, word_a, _, word_b, _, context_a, context_b, mean, *_ = columns
        if not word_a or not word_b:
            raise ValueError(f"{where}: expected {expected} found {word_a!r} and {word_b!r}")
        a, b = _occurrence(context_a, where), _occurrence(context_b, where)
        rows.append(WordPairInContext(word_a, word_b, score_of(mean, where, 0, 10), *a, *b))
    return Read(rows, {})


def read_semeval_5a(path: str | Path) -> Read[LabelledPair]:
    """Read SemEval-2013 task 5(a), part-of-speech tagged: does a word mean the same as a phrase of two words?

    Items that lack a word are left out and counted.

    Args:
        path: `en.trainSet` or `en.testSet`, four lines an item: both words of the phrase, each with its tag behind a
            tab; the single word; 1 for the same and 0 for another meaning, read as `similar` and `dissimilar`.
    """
    labels = {"1": "similar", "0": "dissimilar"}
    rows = []
    items = _tagged_items(path, 4)
    for phrase, (word, label), where in items.rows:
        if label not in labels:
            raise ValueError(f"{where}: expected 0 or 1 on the fourth line of this item, found {label!r}")
        rows.append(LabelledPair(phrase, word, labels[label]))
    return Read(rows, items.left_out)


def read_ppdb_bigrams(path: str | Path) -> Read[PhrasePair]:
    """Read paraphrases of two-word phrases by single words, picked from PPDB: equivalences, without a score.

    Items that lack a word are left out and counted.

    Args:
        path: `ppdb.xxl.b2u.<split>`, three lines an item: as `read_semeval_5a`, without the last line.

    Source: Yu and Dredze (2015).
    """
    items = _tagged_items(path, 3)
    return Read([_equivalence(phrase, word) for phrase, (word,), _ in items.rows], items.left_out)


def read_ppdb_synonyms(path: str | Path) -> Read[PhrasePair]:
    """Read synonyms picked from PPDB: equivalences, without a score; each pair once, in whichever order it comes first.

    Args:
        path: `ppdb_synonyms.txt`: two words a line, with a blank between them.

    Source: Mrkšić et al. (2016).
    """
    lines = columns_of(path, 2, "two words with a blank between them,", separator=None)
    return distinct(_equivalence(a, b) for (a, b), _ in lines)


def read_ppdb(path: str | Path) -> Read[PhrasePair]:
    """Read the Paraphrase Database 2.0, as section 3.1 of the Universal paper prepares it but for `balanced`.

    Entailment in either direction is `entailment`, in the file's order of phrases. Left out and counted are the labels
    Exclusion and OtherRelated, phrases of more than 6 words, rules with nonterminals such as `[NP/NP,1]`, blank phrases
    and pairs equal but for case. The same pair under two syntactic heads is two rows, as in the file.

    Args:
        path: `ppdb-2.0-<size>-phrasal`, also compressed as `.gz`: head, phrase, paraphrase, `name=value` features,
            alignment and entailment label a line, separated by `|||`. It is large, so it is read line by line.

    Returns:
        Rows whose score is the feature `Equivalence`, the probability that both mean the same; nan where the line does
        not have it, or has `NA` there. PPDB 1.0, which has no label, is refused.

    Source: Pavlick et al. (2015); Li and Zhao (2020), section 3.1.
    """
    rows: list[PhrasePair] = []
    left_out: Counter[str] = Counter()
    lines = columns_of(path, 6, "PPDB 2.0's 6 fields with ||| between them,", separator="|||")
    for (_, a, b, features, _, label), where in lines:
        if label not in PPDB_RELATIONS:
            raise ValueError(f"{where}: expected a label out of {', '.join(PPDB_RELATIONS)}, found {label!r}")
        relation = PPDB_RELATIONS[label]
        if relation is None:
            left_out[f"labelled {label}"] += 1
        elif fault := _fault(a, b):
            left_out[fault] += 1
        else:
            found = _EQUIVALENCE.search(features)
            rows.append(PhrasePair(a, b, relation, score_of(found[1], where, 0, 1) if found else math.nan))
    return Read(rows, dict(left_out))


def balanced(pairs: Sequence[PhrasePair], seed: int = 0, most: int | None = None) -> Read[PhrasePair]:
    """Draw as many pairs of each relation as the rarest one has, at random without replacement; keep their given order.

    Args:
        pairs: rows or a corpus.
        seed: of the draw.
        most: not more than this of each; the Universal paper has 354,000.

    Returns:
        A `Read`, whose `rows` are the pairs.

    Raises:
        ValueError: `most` is below 1.

    Source: Li and Zhao (2020), section 3.1.
    """
    if most is not None and most < 1:
        raise ValueError(f"most is a number of pairs of each relation, 1 or more, not {most}")
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        places.setdefault(pair.relation, []).append(place)
    sizes = [len(found) for found in places.values()]
    size = min(sizes if most is None else [*sizes, most], default=0)
    rng = Random(seed)
    drawn = sorted(place for relation in sorted(places) for place in rng.sample(places[relation], size))
    surplus = {f"surplus of {relation}": len(found) - size for relation, found in places.items() if len(found) > size}
    return Read([pairs[place] for place in drawn], surplus)


def distinct(pairs: Iterable[PhrasePair]) -> Read[PhrasePair]:
    """Keep each pair once, whichever way round and whatever its relation: the first stays.

    Equal phrases are no pair.
    """
    rows: dict[frozenset[str], PhrasePair] = {}
    left_out: Counter[str] = Counter()
    for pair in pairs:
        key = frozenset((pair.phrase_a, pair.phrase_b))
        if pair.phrase_a.lower() == pair.phrase_b.lower():
            left_out["equal but for case"] += 1
        elif rows.setdefault(key, pair) is not pair:
            left_out["repeated pair"] += 1
    return Read(list(rows.values()), dict(left_out))


def _equivalence(a: str, b: str) -> PhrasePair:
    return PhrasePair(a, b, "equivalence", math.nan)


def _occurrence(context: str, where: str) -> tuple[str, tuple[int, int]]:
    """A context without its marks, and where the marked word stands in it."""
    parts = re.split("(</?b>)", context)
    before, marked, after = (" ".join(part.split()) for part in (parts[::2] if len(parts) == 5 else ("", "", "")))
    if parts[1::2] != ["<b>", "</b>"] or not marked:
        raise ValueError(f"{where}: expected exactly one <b> word </b> in each context, found {context[:60]!r}")
    start = len(before) + bool(before)
    return " ".join(filter(None, (before, marked, after))), (start, start + len(marked))


def _tagged_items(path: str | Path, size: int) -> Read[tuple[str, list[str], str]]:
    """Items of `size` lines: the two-word phrase of the first two, the other lines, and `file:line` of the first."""
    lines = list(streamed(path))
    items = []
    for start in range(0, len(lines), size):
        item, where = lines[start : start + size], f"{path}:{start + 1}"
        if len(item) < size:
            raise ValueError(f"{where}: expected items of {size} lines, but the file ends {size - len(item)} short")
        tagged = [line.split("\t") for line in item[:2]]
        if any(len(columns) != 2 for columns in tagged) or "\t" in item[2]:
            raise ValueError(f"{where}: expected word<TAB>tag, word<TAB>tag and a single word, found {item[:3]}")
        words = [columns[0].strip() for columns in tagged]
        rest = [line.strip() for line in item[2:]]
        if words[0] and words[1] and rest[0]:
            items.append((" ".join(words), rest, where))
    blank = len(lines) // size - len(items)
    return Read(items, added_up({"blank word": blank}))


def _fault(a: str, b: str) -> str | None:
    """Why two phrases of PPDB make no pair, or nothing if they do."""
    if not a or not b:
        return "blank phrase"
    if _NONTERMINAL.search(a) or _NONTERMINAL.search(b):
        return "nonterminal"
    if max(len(a.split()), len(b.split())) > MAX_WORDS:
        return f"more than {MAX_WORDS} words"
    return "equal but for case" if a.lower() == b.lower() else None
