"""The list of all records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from experiments import plan, records_page

RESULTS = Path(__file__).resolve().parents[2] / "book" / "results"


@pytest.fixture(scope="module")
def entries() -> list[plan.Entry]:
    return plan.entries(RESULTS)


@pytest.fixture(scope="module")
def page(entries: list[plan.Entry]) -> str:
    return records_page.listing(entries)


def test_every_record_and_run_has_one_anchor_and_a_file(page: str, entries: list[plan.Entry]) -> None:
    ids = re.findall(r'id="record-([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {name for entry in entries for name in (entry.name, *(run.name for run in entry.runs))} == set(ids)
    assert all((RESULTS / link).is_file() for link in re.findall(r'href="results/([^"#]+)', page))


def test_runs_count_once(entries: list[plan.Entry]) -> None:
    made = records_page.machines(entries)
    names = {run.name for entry in entries for run in entry.runs}
    assert made["runs"].iloc[-1] == len(names)
    assert made["runs"].iloc[:-1].sum() == len(names)
