"""Tables for a page."""

from __future__ import annotations

import pandas as pd
import pytest

from sentlab.report import tables


@pytest.mark.parametrize("record", ["paser/seeds", "sweeps/0a1b2c"])
def test_tables_of_text_keep_their_links_and_take_a_caption(record: str) -> None:
    table = pd.DataFrame({"rows": [tables.linked("12", record)]}, index=["stsb"])
    page = tables.left(table, "Corpora").to_html()
    assert tables.linked("12", record) in page
    assert "<caption>Corpora</caption>" in page
    assert "<caption>" not in tables.left(table).to_html()
