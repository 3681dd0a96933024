"""Hits: the words around them, the table, and HTML in which nothing of a text is markup."""

from __future__ import annotations

import random
import re
from html import unescape

import pytest

from sentlab.search.hits import CONTEXT, Found, Hit

LONG = "The storm had " + "blown over the old harbour wall " * 9


@pytest.mark.parametrize("start", range(0, len(LONG) - 4, 7))
def test_context_is_of_whole_words_and_near(start: int) -> None:
    start = LONG.index(" ", start) + 1 if start else 0
    hit = Hit.of(3, LONG, start, start + 3, 0.5)
    assert LONG[start - len(hit.before) : start + 3 + len(hit.after)] == hit.before + hit.words + hit.after
    assert max(len(hit.before), len(hit.after)) <= CONTEXT
    assert min(start, CONTEXT) - len(hit.before) <= len("harbour")
    assert {*re.findall(r"\S+", hit.before)} <= {*LONG.split()}
    assert {*hit.after.split()[1:]} <= {*LONG.split()}


def test_one_long_word_is_kept_in_part() -> None:
    hit = Hit.of(0, "x" * 500, 200, 203, 0.5)
    assert (hit.before, hit.after) == ("x" * CONTEXT, "x" * CONTEXT)


def test_a_table_has_a_row_a_hit() -> None:
    pytest.importorskip("pandas")
    found = Found(["a", "b", "c"], [[Hit.of(0, "the dog", 4, 7, 0.5)], [], [Hit.of(1, "cat", 0, 3, 0.25)] * 2])
    table = found.table()
    assert table["phrase"].tolist() == ["a", "c", "c"]
    assert table.iloc[0].to_dict() == {
        "phrase": "a", "similarity": 0.5, "words": "dog", "before": "the ", "after": "", "text": 0, "start": 4, "end": 7
    }  # fmt: skip
    assert list(Found([], []).table().columns) == list(table.columns)


def test_html_marks_the_hit_and_escapes_all_text() -> None:
    rng = random.Random(0)
    for _ in range(200):
        text = "".join(rng.choice("<>&\"'/ script=onerror`;!-[]") for _ in range(40))
        start = rng.randrange(40)
        hit = Hit.of(0, text, start, rng.randrange(start, 40), 0.5)
        page = Found([text], [[hit]])._repr_html_()
        tags = {*re.findall(r"<[^>]*>", page)} - {'<th style="text-align: left">', '<td style="text-align: left">'}
        assert {tag.strip("</>") for tag in tags} == {"table", "thead", "tbody", "tr", "th", "td", "mark"}
        cells = [unescape(cell) for cell in re.findall(r'<td style="text-align: left">(.*?)</td>', page)]
        assert cells == [text, f"{hit.before}<mark>{hit.words}</mark>{hit.after}"]


@pytest.mark.parametrize("space", [" ", "\n", "\t", "\u00a0"])
def test_words_around_a_hit_are_whole_whatever_divides_them(space: str) -> None:
    words = [f"word{n:02}" for n in range(40)]
    text = space.join(words)
    hit = Hit.of(0, text, text.index("word20"), text.index("word20") + 6, 0.5)
    assert set(hit.before.split()) <= set(words)
    assert set(hit.after.split()) <= set(words)
    assert len(hit.before.split()) == len(hit.after.split()) == 8
