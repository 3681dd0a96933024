"""A short part of what benchmarks/kills.py tries on saving for long."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_kills_of_a_save_leave_the_old_encoder_or_the_new() -> None:
    from kills import kill

    assert [row for row in kill(["encoder"], 4) if not row[2]] == []
