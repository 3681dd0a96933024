"""The frozen toy world: what its rows are, and that its splits are apart."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import astuple

import pytest
from scipy.stats import spearmanr

from sentlab.data import toy


def texts(row: object) -> list[str]:
    """Every text of a row."""
    if isinstance(row, str):
        return [row]
    values = [getattr(row, field) for field in row.__slots__ if field not in ("label", "relation", "subset")]
    return [text for value in values for text in (value if isinstance(value, tuple) else (value,)) if type(text) is str]


@pytest.mark.parametrize("name", toy.NAMES)
def test_rows_are_of_their_type_and_each_is_there_once(name: str) -> None:
    for split in ("train", "dev", "test"):
        rows = toy.load(name, split).rows
        assert {type(row) for row in rows} == {toy.ROWS[name]}
        assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("name", [n for n in toy.NAMES if n not in ("toy-words", "toy-phrases", "toy-contexts")])
def test_splits_share_no_sentence(name: str) -> None:
    train, test = ({text for row in toy.load(name, split) for text in texts(row)} for split in ("train", "test"))
    assert not train & test


@pytest.mark.parametrize("name", ["toy-words", "toy-phrases"])
def test_splits_share_no_pair(name: str) -> None:
    train, test = ({frozenset(texts(row)) for row in toy.load(name, split)} for split in ("train", "test"))
    assert not train & test


def test_size_gives_the_first_rows() -> None:
    few, all_of_them = toy.load("toy-sts", "dev", size=50), toy.load("toy-sts", "dev")
    assert few.rows == all_of_them.rows[:50]
    assert few.fingerprint == "0978d902a30c6daa"
    with pytest.raises(ValueError, match="1000 rows"):  # a generator makes more; fewer than asked for is no answer
        toy.load("toy-sts", "dev", size=1001)


@pytest.mark.parametrize("name", ["toy-sentences", "toy-sts", "toy-nli", "toy-duplicates", "toy-contexts"])
def test_text_is_well_formed(name: str) -> None:
    for text in (text for row in toy.load(name) for text in texts(row)):
        if name == "toy-contexts" and not text.endswith("."):
            continue  # the phrase
        assert re.fullmatch(r"[A-Z][A-Za-z, .'-]*[a-zA-Z][.?]", text), text
        assert "  " not in text
        assert " ," not in text
        for word, following in re.findall(r"\b([Aa]n?) (\w+)", text):
            vowel = following[0] in "aeiou" and following not in ("uniform",)
            assert (word.lower() == "an") == vowel, text


def test_sts_covers_the_scale_and_is_not_word_overlap() -> None:
    pairs = toy.load("toy-sts")
    assert set(Counter(min(int(pair.score), 4) for pair in pairs).values()) == {300}

    def overlap(a: str, b: str) -> float:
        one, two = (set(re.findall("[a-z]+", text.lower())) for text in (a, b))
        return len(one & two) / len(one | two)

    rho = spearmanr([overlap(p.text_a, p.text_b) for p in pairs], [p.score for p in pairs]).statistic
    assert 0.2 < rho < 0.75


def test_labels_and_relations_are_balanced() -> None:
    assert set(Counter(pair.label for pair in toy.load("toy-nli-pairs")).values()) == {500}
    pairs = toy.load("toy-phrases")
    assert set(Counter(pair.relation for pair in pairs).values()) == {400}
    assert all((pair.score == 1.0) == (pair.relation == "equivalence") for pair in pairs)
    assert all(len(set(astuple(row))) == 3 for row in toy.load("toy-nli"))


def test_every_query_has_a_match_among_its_candidates() -> None:
    for query in toy.load("toy-reranking"):
        assert len(query.candidates) == len(query.relevant) == len(set(query.candidates)) == 20
        assert 1 <= sum(query.relevant) <= 4
        assert query.query not in query.candidates


def test_phrases_stand_in_their_contexts() -> None:
    for row in toy.load("toy-contexts"):
        match = row.context[row.start : row.end]
        assert match == match.strip(" .,")
        assert re.match(r"\b\w", row.context[row.start :])
        assert row.phrase != match
        assert 0 < row.score <= 5
