"""What the tests of search share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sentlab.encoder import Encoder


@pytest.fixture(scope="session")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, device="cpu", max_length=32)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
