"""The scorecard on a page: each claim with the paper's effect, ours and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import plots, tables
from experiments import scorecard_page as scorecard
from experiments.__main__ import draw
from experiments.records import ScorecardRecord
from experiments.results_rows import ClaimResult, ScorecardResults, Tested
from experiments.settings_rows import ScorecardSettings

SIDES = {"tiny": {"ours": {"record": "tiny-sts/paser"}, "theirs": {"record": "raw/tiny"}}}
SMALL = {"small": {"ours": {"record": "small-sts/paser"}, "theirs": {"record": "raw/small"}}}
BOTH = SIDES | SMALL
ASKED: list[dict[str, Any]] = [
    {"paper": "PaSeR", "where": "Table 1", "text": "it beats the mean", "sides": BOTH, "tests": [{"corpus": "stsb"}]},
    {"paper": "PaSeR", "where": "Table 8", "text": "m matters", "sides": SIDES, "tests": [{"corpus": "stsb"}]},
    {"paper": "PaSeR", "where": "Table 4", "text": "swaps <help>", "sides": SIDES, "tests": [{"corpus": "stsb"}]},
    {"paper": "SLICE", "where": "Table 1", "text": "people agree", "untested": "there are no people here"},
]
FOUND = [
    Tested(difference=6.72, low=5.1, high=8.3, p=0.002, verdict="holds"),
    Tested(difference=-1.5, low=-2.5, high=-0.4, p=0.002, verdict="fails"),
    Tested(verdict="not run yet"),
]


@pytest.fixture
def record(tmp_path: Path) -> ScorecardRecord:
    picture = str(tmp_path / "verdicts.svg")
    settings = ScorecardSettings.model_validate(
        {"claims": ASKED, "max_length": 64, "picture": picture, "resamples": 500, "seed": 0}
    )
    tested = [{"tiny": found} for found in FOUND] + [{}]
    tested[0]["small"] = Tested(difference=2.0, low=-1.0, high=5.0, p=0.2, verdict="undecided", at_start="theirs")
    printed = [24.8, None, 0.5, None]
    claims = [
        ClaimResult(**{key: claim[key] for key in ("paper", "where", "text")}, printed=effect, found=found)
        for claim, effect, found in zip(ASKED, printed, tested, strict=True)
    ]
    return ScorecardRecord(settings=settings, results=ScorecardResults(claims=claims))


def test_a_table_sets_effects_beside_each_other(record: ScorecardRecord) -> None:
    shown = scorecard.table(record, "PaSeR")
    rows = shown.data.to_dict("records")
    assert [row["paper"] for row in rows] == ["+24.8", "–", "+0.5"]
    assert [row["on tiny"] for row in rows] == ["holds", "fails", "not run yet"]
    assert rows[0]["tiny"].endswith("+6.7</a> [+5.1, +8.3]")
    assert 'href="records.ipynb#record-tiny-sts/paser"' in rows[0]["tiny"]
    assert rows[2]["tiny"] == "–"
    assert [row["on small"] for row in rows] == ["undecided (other side at step 0)", "–", "–"]
    assert rows[0]["small"].endswith("+2.0</a> [-1.0, +5.0]")
    assert 'href="records.ipynb#record-small-sts/paser"' in rows[0]["small"]
    assert rows[1]["small"] == "–"
    page = shown.to_html()
    assert "swaps &lt;help>" in page
    assert tables.BAD in page


def test_what_cannot_be_tested_says_why(record: ScorecardRecord) -> None:
    assert scorecard.untested(record) == {"SLICE: people agree": "there are no people here"}
    assert scorecard.table(record, "SLICE").data.columns.tolist() == ["claim", "paper"]


def test_a_slip_in_a_paper_s_name_names_the_papers(record: ScorecardRecord) -> None:
    with pytest.raises(KeyError, match="there are PaSeR, SLICE"):
        scorecard.claims(record, "Paser")
    with pytest.raises(ValueError, match="has no results yet"):
        scorecard.claims(record.model_copy(update={"results": None}), "PaSeR")


def test_effects_are_drawn_with_their_intervals_and_the_paper_s(record: ScorecardRecord) -> None:
    axes = plots.effects(scorecard.claims(record, "PaSeR"), "tiny").axes[0]
    assert [text.get_text() for text in axes.texts] == ["it beats the mean", "m matters"]
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines[:2]] == [[5.1, 8.3], [-2.5, -0.4]]
    points = [np.asarray(dots.get_offsets()).tolist() for dots in axes.collections]
    assert points == [[[6.72, 0]], [[24.8, 0]], [[-1.5, 1]]]


def test_effects_by_size_end_with_the_paper_s(record: ScorecardRecord) -> None:
    (axes,) = plots.effects_by_size(scorecard.claims(record, "PaSeR"), {"tiny": 1.7, "BERT-base": 110}).axes
    assert axes.get_title("left") == "it beats the mean"  # the only one with both effects
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[0, 5.1], [0, 8.3]]
    assert [np.asarray(dots.get_offsets()).tolist() for dots in axes.collections] == [[[0, 6.72]], [[1, 24.8]]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["tiny\n1.7", "BERT-base\n110"]


def test_nothing_tested_is_an_error_and_not_an_empty_picture(record: ScorecardRecord) -> None:
    with pytest.raises(ValueError, match="none of these 1 claims was tested on tiny"):
        plots.effects(scorecard.claims(record, "SLICE"), "tiny")
    with pytest.raises(ValueError, match="none of these 1 claims was tested on tiny"):
        plots.effects_by_size(scorecard.claims(record, "SLICE"), {"tiny": 1.7, "BERT-base": 110})


def test_verdicts_are_counted_and_drawn_into_the_file_of_the_settings(record: ScorecardRecord) -> None:
    assert record.results
    counts = record.results.counts("tiny")
    assert counts.to_dict("index") == {
        "PaSeR": {"holds": 1, "undecided": 0, "fails": 1, "not run yet": 1, "cannot be tested": 0},
        "SLICE": {"holds": 0, "undecided": 0, "fails": 0, "not run yet": 0, "cannot be tested": 1},
    }
    draw(record)
    assert record.settings.picture
    drawn = Path(record.settings.picture).read_text(encoding="utf-8")
    assert all(word in drawn for word in ("PaSeR", "SLICE", "holds", "fails", "not run yet", "cannot be tested"))
    assert "undecided" not in drawn
