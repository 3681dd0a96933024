"""The list of all records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from experiments import records, records_page

RESULTS = Path(__file__).resolve().parents[2] / "book" / "results"


@pytest.fixture(scope="module")
def every() -> list[records.Record]:
    return records.every()


@pytest.fixture(scope="module")
def page(every: list[records.Record]) -> str:
    return records_page.listing(every)


def test_every_record_and_run_has_one_anchor_and_a_file(page: str, every: list[records.Record]) -> None:
    ids = re.findall(r'id="record-([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {name for record in every for name in (record.name, *(run.name for run in record.finished()))} == set(ids)
    assert all((RESULTS / link).is_file() for link in re.findall(r'href="results/([^"#]+)', page))


def test_runs_count_once(every: list[records.Record]) -> None:
    made = records_page.machines(every)
    names = {run.name for record in every for run in record.finished()}
    assert made["runs"].iloc[-1] == len(names)
    assert made["runs"].iloc[:-1].sum() == len(names)
