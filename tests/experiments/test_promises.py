"""A short part of what benchmarks/kills.py tries on recorded runs for long."""

from __future__ import annotations

import os

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_killed_run_ends_with_the_same_record() -> None:
    from kills import kill

    assert [row for row in kill(["run"], 1) if not row[2]] == []
