"""Corpora that only the experiments read: readers, hard pairs, phrases in contexts."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import pytest
from experiments import corpora
from experiments.corpora import CARRIERS, hard_pairs, in_context, stsb_in_context, triples_in_context
from experiments.peers import BagOfWords

from sentlab import data
from sentlab.data.rows import POSITIVE, Corpus, DuplicateQuestion, LabelledPair, PhrasePair, ScoredPair
from sentlab.evaluation import evaluate_retrieval


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def same(a: str, b: str) -> PhrasePair:
    """An equivalence without a score; only this very nan makes rows compare as equal."""
    return PhrasePair(a, b, "equivalence", math.nan)


def scored(name: str, *rows: object, split: str = "dev") -> Corpus:
    return Corpus(name, split, rows, "my file", {"no gold": 2})


def test_everything_that_the_package_knows_is_known() -> None:
    known = set(corpora.corpora().index)
    assert set(data.corpora().index) < known
    assert {"captions-nli", "paraphrases", "stsb-context", "sts16-hard", "toy-sts-hard"} <= known


def test_paraphrases_hold_each_pair_once_and_add_up_what_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "ppdb/ppdb.xxl.b2u.train", "a\tX\nb\tX\nc\na\tX\nb\tX\nc\n\tX\nb\tX\nc\n")
    write(tmp_path / "ppdb/ppdb_synonyms.txt", "c d\nd c\nD d\ne f\n")
    corpus = corpora.load("paraphrases", "train", tmp_path)
    assert corpus.rows == (same("a b", "c"), same("c", "d"), same("e", "f"))
    assert corpus.left_out == {"blank word": 1, "repeated pair": 2, "equal but for case": 1}


def test_each_phrase_of_ppdb_asks_for_its_word(tmp_path: Path) -> None:
    write(tmp_path / "ppdb/ppdb.xxl.b2u.test", "bad\tJJ\nguy\tNN\nvillain\nnet\tJJ\namount\tNN\nnet\n")
    corpus = corpora.load("ppdb-phrases", "test", tmp_path)
    assert (corpus.name, len(corpus)) == ("ppdb-phrases", 2)
    assert corpus[0] == DuplicateQuestion("bad guy", "villain")
    assert evaluate_retrieval(BagOfWords(), corpus).scores["ppdb-phrases mrr@10"] == 75.0  # "net" has a word in common


def test_captions_and_nli_hold_no_sentence_of_sts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "a.jpg#0\tA dog runs in the park .\na.jpg#1 A cat sits on a red mat .\nb.jpg#0\tA DOG runs in the park!\n"
    write(tmp_path / "captions/Flickr8k.token.txt", lines)
    pairs = (LabelledPair("a man, sleeping", "A man eats soup.", "neutral"), LabelledPair("He sings.", "x", "neutral"))
    parts = {
        "nli": Corpus("nli", "dev", pairs, "by hand"),
        "sts-unlabelled": Corpus("sts-unlabelled", "train", ("A man sleeping.", "a cat sits on a red mat"), ""),
        "captions": corpora.load("captions", "train", tmp_path),
    }
    monkeypatch.setattr(corpora, "load", lambda name, *_: parts[name])
    corpus = data.load("captions-nli", "train", tmp_path, catalog=corpora.ALL)
    assert corpus.rows == ("A dog runs in the park .", "A man eats soup.", "He sings.", "x")
    assert corpus.left_out == {"repeated sentence": 1, "sentence of an STS set": 2}


def test_a_half_of_men_is_for_dev_and_the_other_for_tests(tmp_path: Path) -> None:
    write(tmp_path / "wordsim/EN-MEN-TR-3k.txt", "".join(f"word{i} other{i} {50 - i}\n" for i in range(5)))
    halves = {split: [row.word_a for row in corpora.load("men-halves", split, tmp_path)] for split in ("dev", "test")}
    assert halves == {"dev": ["word1", "word3"], "test": ["word0", "word2", "word4"]}


def test_the_frozen_relations_are_those_of_the_records() -> None:
    corpus = corpora.load("lexical-relations", "train")
    assert corpus.fingerprint == "4b7b3163dc3c608e"
    assert Counter(pair.relation for pair in corpus) == dict.fromkeys(
        ("equivalence", "entailment", "independent"), 20_000
    )


@pytest.mark.parametrize(
    ("score", "words_a", "words_b", "hard"),
    [
        (4.0, 3, 9, True), (5.0, 9, 3, True), (4.0, 3, 8, False), (3.99, 3, 9, False), (1.0, 3, 4, True),
        (0.0, 4, 3, True), (1.0, 3, 5, False), (1.01, 3, 3, False), (0.0, 3, 9, False), (2.5, 3, 3, False),
    ],
)  # fmt: skip
def test_a_pair_is_hard_where_its_lengths_mislead(score: float, words_a: int, words_b: int, hard: bool) -> None:
    pair = ScoredPair(" ".join(["a"] * words_a), "  ".join(["b"] * words_b), score)  # white space, however wide
    subset = hard_pairs(scored("mine", pair))
    assert list(subset) == [pair] * hard
    assert subset.left_out == {"no gold": 2} | ({} if hard else {"neither": 1})


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("year", "positive", "negative"),
    [("sts12", 99, 182), ("sts13", 20, 247), ("sts14", 177, 318), ("sts15", 30, 291), ("sts16", 19, 196)],
)
def test_public_hard_pairs(real_data: Path, year: str, positive: int, negative: int) -> None:
    golds = [row.score for row in corpora.load(f"{year}-hard", folder=real_data)]
    assert [sum(gold >= POSITIVE for gold in golds), sum(gold <= 1 for gold in golds)] == [positive, negative]


PHRASES = {  # and as they are in a carrier
    "A man is playing a guitar.": "a man is playing a guitar",
    "Syrian forces kill ten": "Syrian forces kill ten",
    '"Why {not}?" he asked.': '"Why {not}?" he asked',
    "  I live in the U.S.  ": "I live in the U.S.",
    "e": "e",
    "Two dogs (both wet) ran . ": "two dogs (both wet) ran",
    "And so on...": "And so on...",
}


@pytest.mark.parametrize("split", ["train", "test"])
def test_carriers_hold_each_phrase_verbatim_where_they_say(split: str) -> None:
    passages = in_context(list(PHRASES), split)
    assert [text[start:end] for text, start, end in passages] == list(PHRASES.values())
    for text, start, end in passages:
        assert text[:start] + "{}" + text[end:] in CARRIERS[split]


def test_no_carrier_of_training_is_one_of_testing() -> None:
    halves = CARRIERS["train"], CARRIERS["test"]
    clauses = [
        {part.strip(" ,.") for carrier in half for part in re.split(r"{}|, ", carrier)} - {""} for half in halves
    ]
    assert not clauses[0] & clauses[1]
    assert all(carrier.count("{}") == 1 for half in halves for carrier in half)


def test_scored_pairs_in_context_keep_phrase_gold_and_order() -> None:
    rows = [ScoredPair(f"q {word}", f"the {word}", 3.0) for word in ("dog", "cat", "horse")]
    corpus = stsb_in_context(scored("mine", *rows))
    assert [(row.phrase, row.context[row.start : row.end], row.score) for row in corpus] == [
        (row.text_a, row.text_b, row.score) for row in rows
    ]
    assert (corpus.name, corpus.left_out) == ("mine-context", {"no gold": 2})


def test_triples_are_made_of_pairs_that_say_the_same() -> None:
    sts = scored("a", ScoredPair("q1", "Pos one.", 4.0), ScoredPair("q2", "pos two", 3.9), ScoredPair("q3", "p3", 5.0))
    nli = scored("b", LabelledPair("q4", "p4", "entailment"), LabelledPair("q5", "p5", "neutral"))
    triples = triples_in_context(sts, nli)
    assert [row.anchor for row in triples] == ["q1", "q3", "q4"]
    passages = [text for text, _, _ in in_context(["Pos one.", "p3", "p4"], "train")]
    assert [row.positive for row in triples] == passages
    assert all(row.negative in passages and row.negative != row.positive for row in triples)
    assert triples.left_out == {"no gold": 4, "pair that does not say the same": 2}
    assert triples == triples_in_context(sts, nli)


def test_a_negative_shares_no_text_with_its_row() -> None:
    pairs = [("A dog runs.", "p1"), ("a dog runs ", "p2"), ("q", "A dog runs."), ("other", "apart")]
    for mined in (None, 2):
        corpus = scored("a", *(LabelledPair(a, b, "entailment") for a, b in pairs))
        triples = triples_in_context(corpus, mined=mined)
        assert all("apart" in row.negative for row in triples[:3])
        assert "apart" not in triples[3].negative


def test_mined_negatives_have_words_of_the_phrase() -> None:
    kinds = ("sailing boat", "brown dog", "steam train")
    pairs = [(f"a {kind} {n}", f"the {kind}, {word}") for kind in kinds for n, word in enumerate(("one", "two", "six"))]
    corpus = scored("a", *(LabelledPair(a, b, "entailment") for a, b in pairs), LabelledPair("xyz", "q", "entailment"))
    for (phrase, _), row in zip(pairs, triples_in_context(corpus, mined=2), strict=False):
        assert phrase[2:-2] in row.negative
        assert row.negative != row.positive


@pytest.mark.realdata
def test_public_pairs_in_context(real_data: Path) -> None:
    contexts, pairs = (corpora.load(name, "dev", real_data) for name in ("stsb-context", "stsb"))
    for row, pair in zip(contexts, pairs, strict=True):
        assert (row.phrase, row.score) == (pair.text_a, pair.score)
        match = row.context[row.start : row.end]
        assert match[1:] in (pair.text_b[1:], pair.text_b[1:-1].rstrip())
        assert match[0].lower() == pair.text_b[0].lower()


@pytest.mark.realdata
def test_larger_contexts_hold_no_pair_that_stsb_trains_or_chooses_with(real_data: Path) -> None:
    contexts, stsb = corpora.load("sts16-context", "test", real_data), corpora.load("stsb", "train", real_data)
    left_out = contexts.left_out["pair of stsb train or dev"]
    assert len(contexts) == 1186 - left_out > 900
    pairs = {(pair.text_a, pair.text_b) for pair in corpora.load("sts16", "test", real_data)}
    assert len(pairs & {(pair.text_a, pair.text_b) for pair in stsb}) > 100
    assert not {(row.phrase, row.score) for row in contexts} & {(pair.text_a, pair.score) for pair in stsb}
