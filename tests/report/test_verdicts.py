"""Verdicts follow from the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from sentlab.report import tables
from sentlab.report.verdicts import Claims


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [(1.2, "holds here"), (1.0, "too close to call"), (-1.0, "too close to call"), (-1.1, "the opposite here")],
)
def test_a_difference_counts_when_it_is_larger_than_the_noise(
    difference: float, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = Claims()
    claims.claim("Table 1", "a is better than b", difference, 1.0)
    assert claims.rows == [
        {"where": "Table 1", "claim": "a is better than b", "difference": difference, "noise": 1.0, "recorded": verdict}
        | {"records": ()}
    ]
    assert verdict in capsys.readouterr().out


def test_between_seeds_the_noise_is_twice_the_standard_error() -> None:
    claims = Claims()
    theirs = pd.Series([47.0, 48.0, 49.0], name="b")
    claims.compare("Table 2", "a is better", pd.Series([50.0, 52.0, 54.0], name="a"), theirs)
    (row,) = claims.rows
    assert row["difference"] == pytest.approx(4.0)
    assert row["noise"] == pytest.approx(2 * (4 / 3 + 1 / 3) ** 0.5)
    assert row["recorded"] == "holds here"
    assert row["records"] == ("a", "b")


def test_what_is_not_a_number_gets_no_verdict() -> None:
    claims = Claims()
    for difference, noise in ((float("nan"), 1.0), (1.0, float("nan"))):
        with pytest.raises(ValueError, match=r"'a is better' \(Table 1\)"):
            claims.claim("Table 1", "a is better", difference, noise)
    with pytest.raises(ValueError, match="two seeds or more"):
        claims.compare("Table 2", "a is better", pd.Series([1.0]), pd.Series([2.0, 3.0]))
    assert claims.rows == []


def test_every_claim_has_its_row() -> None:
    claims = Claims()
    claims.claim("Table 1", "a is better", 3.04, 1.0)
    claims.claim("Table 2", "b is better", -0.5, 1.0, "moco", "simcse", "moco")
    page = claims.table("what reproduces").to_html()
    assert page.count("<tr") == 3
    assert "+3.0" in page
    assert "too close to call" in page
    assert "what reproduces" in page
    assert f">{tables.linked('moco', 'moco')}<br>{tables.linked('simcse', 'simcse')}<" in page
