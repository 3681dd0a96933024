"""The frozen toy world: what its rows are, and that its splits are apart."""

from __future__ import annotations

import re

import pytest

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
    splits = [{text for row in toy.load(name, split) for text in texts(row)} for split in ("train", "dev", "test")]
    assert sum(map(len, splits)) == len(set().union(*splits))


@pytest.mark.parametrize("name", ["toy-words", "toy-phrases"])
def test_splits_share_no_pair(name: str) -> None:
    splits = [{frozenset(texts(row)) for row in toy.load(name, split)} for split in ("train", "dev", "test")]
    assert sum(map(len, splits)) == len(set().union(*splits))


def test_size_gives_the_first_rows() -> None:
    few, all_of_them = toy.load("toy-sts", "dev", size=50), toy.load("toy-sts", "dev")
    assert few.rows == all_of_them.rows[:50]
    assert few.fingerprint == "0978d902a30c6daa"
    with pytest.raises(ValueError, match="1000 rows"):  # a generator makes more; fewer than asked for is no answer
        toy.load("toy-sts", "dev", size=1001)


def test_phrases_stand_in_their_contexts() -> None:
    for row in toy.load("toy-contexts"):
        match = row.context[row.start : row.end]
        assert match == match.strip(" .,")
        assert re.match(r"\b\w", row.context[row.start :])
        assert row.phrase != match
        assert 0 < row.score <= 5
