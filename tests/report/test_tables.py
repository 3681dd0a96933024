"""Tables for a page."""

from __future__ import annotations

import pandas as pd

from sentlab.report import tables


def test_tables_of_text_keep_their_links_and_take_a_caption() -> None:
    table = pd.DataFrame({"rows": [tables.linked("12", "paser/seeds")]}, index=["stsb"])
    page = tables.left(table, "Corpora").to_html()
    assert tables.linked("12", "paser/seeds") in page
    assert "<caption>Corpora</caption>" in page
    assert "<caption>" not in tables.left(table).to_html()
