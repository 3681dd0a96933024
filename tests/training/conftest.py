"""Every trained method, as a fixture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from trained import METHODS

from sentlab.encoder import Encoder


@pytest.fixture(params=sorted(METHODS))
def case(request: pytest.FixtureRequest, small_encoder_folder: Path) -> tuple[Callable[[], Any], Sequence[Any]]:
    """A function that makes one of the methods anew, and rows to train it on."""
    pooling, build, rows = METHODS[request.param]

    def make() -> Any:
        return build(Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu"))

    return make, rows
