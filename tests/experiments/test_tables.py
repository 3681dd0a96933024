"""Tables for a page."""

from __future__ import annotations

import pandas as pd
import pytest
from experiments import tables


@pytest.mark.parametrize("record", ["paser/seeds", "sweeps/0a1b2c"])
def test_tables_of_text_keep_their_links_and_take_a_caption(record: str) -> None:
    table = pd.DataFrame({"rows": [tables.linked("12", record)]}, index=["stsb"])
    page = tables.left(table, "Corpora").to_html()
    assert tables.linked("12", record) in page
    assert "<caption>Corpora</caption>" in page
    assert "<caption>" not in tables.left(table).to_html()


def test_the_highest_number_of_a_column_is_bold_in_each_block() -> None:
    ours = pd.DataFrame({"score": [tables.linked("54.3 ± 0.6", "a/b"), "–", "9.9"], "p": ["0.9", "0.1", "0.2"]})
    paper = pd.DataFrame({"score": [1.25, float("nan"), -7.0]})
    page = tables.side_by_side({"paper": paper, "ours": ours}, "Scores", best=["score"]).to_html()
    assert page.count("<b>") == 2
    assert "<b>1.2</b>" in page
    assert f"<b>{tables.linked('54.3 ± 0.6', 'a/b')}</b>" in page


def test_a_seed_without_a_score_is_not_dropped_from_the_mean() -> None:
    rows = [{"a": 60.0, "b": 1.0}, {"a": float("nan"), "b": 3.0}, {"a": 62.0, "b": 2.0}]
    shown = tables.shown(rows)
    assert shown["a"] == "nan"
    assert shown["b"] == "2.0 ± 1.0"


def test_whole_numbers_stay_whole_where_they_are_bold() -> None:
    table = tables.side_by_side({"x": pd.DataFrame({"n": [3, 4]})}, "counts", best=["n"])
    assert "<b>4</b>" in table.to_html()
