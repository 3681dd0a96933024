"""What the first page says of results, against the records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sentlab.encoder import Encoder
from sentlab.experiments import records
from sentlab.experiments.records import ScorecardRecord
from sentlab.experiments.results_rows import NOT_RUN

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def page() -> str:
    return " ".join((ROOT / "book" / "index.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """The verdict on each claim, with the encoder `tiny`."""
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "tiny.json")
    assert record.results
    return {claim.text: claim.found["tiny"].verdict for claim in record.results.claims if "tiny" in claim.found}


def test_the_methods_that_it_says_beat_the_raw_vectors_do(page: str, verdicts: dict[str, str]) -> None:
    (named,) = re.findall(r"((?:[A-Z]\w+, )*[A-Z]\w+ and [A-Z]\w+) beat the raw vectors, as their papers say", page)
    methods = re.split(r", | and ", named)
    tested = {text.split(" beats ")[0] for text in verdicts if text.endswith("beats the raw [CLS]")}
    assert set(methods) == {name for name in tested if verdicts[f"{name} beats the raw [CLS]"] == "holds"}
    assert {verdicts[f"{name} beats the raw mean"] for name in methods} == {"holds"}


def test_slice_finds_phrases_better_than_its_raw_encoder_as_it_says(page: str, verdicts: dict[str, str]) -> None:
    assert "SLICE finds phrases better than its raw encoder" in page
    assert verdicts["In one pass, SLICE finds phrases better than the raw encoder"] == "holds"


def test_it_says_how_much_of_the_scorecard_is_there(page: str, verdicts: dict[str, str]) -> None:
    missing = sum(verdict == NOT_RUN for verdict in verdicts.values())
    assert ("Most runs are still to be made" in page) == (missing > len(verdicts) / 2)


def test_its_encoders_are_as_large_as_it_says(page: str) -> None:
    (millions,) = re.findall(r"encoders of ([\d.]+) million parameters", page)
    encoder = Encoder.from_pretrained("tiny")
    assert f"{sum(own.numel() for own in encoder.parameters()) / 1e6:.1f}" == millions
