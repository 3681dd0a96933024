"""A short part of what benchmarks/damage.py tries on readers and loaders for long."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_damaged_inputs_and_full_disks_end_in_an_error_that_helps() -> None:
    from damage import damage

    assert [row for row in damage(60, long_line=10**5, seed=1) if not row[2]] == []
