"""A short part of what benchmarks/kills.py and soak.py try on training for long."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_killed_training_resumes_to_the_same_bits() -> None:
    from kills import kill

    assert [row for row in kill(["fit"], 2) if not row[2]] == []


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_training_leaves_memory_flat() -> None:
    from soak import soak

    assert [row for row in soak(150, 0) if not row[2]] == []
