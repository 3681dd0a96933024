"""Tables for a page, and pictures of the scorecard."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from experiments import plots, records, tables
from experiments.scorecard import VERDICTS, ClaimResult, ScorecardRecord


@pytest.fixture(scope="module")
def record() -> ScorecardRecord:
    return records.get("scorecard/claims")


@pytest.fixture
def tested(record: ScorecardRecord) -> list[ClaimResult]:
    return [claim for claim in tables.claims(record, "PaSeR") if "tiny" in claim.found]


def test_the_highest_number_of_a_column_is_bold_in_each_block() -> None:
    ours = pd.DataFrame({"score": [tables.linked("54.3 ± 0.6", "a/b"), "–", "9.9"], "p": ["0.9", "0.1", "0.2"]})
    paper = pd.DataFrame({"score": [1.25, float("nan"), -7.0]})
    page = tables.side_by_side({"paper": paper, "ours": ours}, "Scores", best=["score"]).to_html()
    assert page.count("<b>") == 2
    assert "<b>1.2</b>" in page
    assert f"<b>{tables.linked('54.3 ± 0.6', 'a/b')}</b>" in page


def test_rows_that_cannot_be_had_are_grey_and_the_caption_says_why() -> None:
    table = pd.DataFrame({"stsb": [72.5, 76.4], "average": [61.8, float("nan")]}, index=["CLEAR", "MoCo"])
    shown = tables.printed(table, "Table 3", {"CLEAR": "no <i>books</i>"}, best=["stsb"])
    shown._compute()
    greyed = {place for place, styles in shown.ctx.items() if any("muted" in str(style) for style in styles)}
    assert greyed == {(0, 0), (0, 1)}
    page = shown.to_html()
    assert "Table 3. Grey, not here: CLEAR: no &lt;i>books" in page
    assert "<b>76.4</b>" in page


def test_a_seed_without_a_score_is_not_dropped_from_the_mean() -> None:
    rows = [{"a": 60.0, "b": 1.0}, {"a": float("nan"), "b": 3.0}, {"a": 62.0, "b": 2.0}]
    assert tables.shown(rows).to_dict() == {"a": "nan", "b": "2.0 ± 1.0"}


def test_effects_are_drawn_with_their_intervals_and_the_paper_s(tested: list[ClaimResult]) -> None:
    axes = plots.effects(tested, "tiny").axes[0]
    order = sorted(tested, key=lambda claim: (VERDICTS.index(claim.verdict("tiny")), -claim.found["tiny"].difference))
    lines = [np.asarray(line.get_xdata()).tolist() for line in axes.lines]
    points = [np.asarray(dots.get_offsets()).tolist() for dots in axes.collections]
    for place, claim in enumerate(order):
        effect = claim.found["tiny"]
        assert effect.low is None or [effect.low, effect.high] in lines
        assert [[effect.difference, place]] in points
        assert claim.printed is None or [[claim.printed, place]] in points


def test_the_first_topics_have_a_colour_and_a_marker_and_their_scenes_a_line() -> None:
    topics, scenes = [name for name in "abcdef" for _ in range(4)], [i // 2 for i in range(24)]
    plane = np.random.default_rng(0).normal(size=(24, 2))
    figure = plots.topic_planes({"PCA": plane, "UMAP": -plane}, topics, scenes, columns=2)
    rest, lines, *dots = figure.axes[1].collections
    np.testing.assert_allclose(lines.get_segments(), -plane[:16].reshape(8, 2, 2))
    np.testing.assert_allclose(np.concatenate([group.get_offsets() for group in dots]), -plane[:16])
    np.testing.assert_allclose(rest.get_offsets(), -plane[16:])
    assert len({tuple(group.get_facecolors()[0]) for group in dots}) == 4
    assert len({group.get_paths()[0].vertices.tobytes() for group in dots}) == 4


def test_the_front_picture_has_the_recorded_verdicts(record: ScorecardRecord) -> None:
    drawn = plots.verdict_counts(record.results.counts("tiny")).svg()
    assert (records.FOLDER.parent / str(record.settings.picture)).read_text(encoding="utf-8") == drawn
