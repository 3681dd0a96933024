"""The presets: one code path in three sizes."""

from __future__ import annotations

import pytest
from experiments.presets import PRESETS, preset

from sentlab import data


def test_quick_is_the_default_and_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENTLAB_PRESET", raising=False)
    assert preset().name == "quick"
    monkeypatch.setenv("SENTLAB_PRESET", "real")
    assert preset().name == "real"
    assert preset("paper").encoder == "bert-base-uncased"


def test_quick_needs_nothing_from_outside() -> None:
    quick = PRESETS["quick"]
    assert quick.encoder == "tiny"
    assert {quick.sentences, quick.dev, *quick.tests} <= set(data.toy.NAMES)


def test_every_preset_names_corpora_that_exist() -> None:
    known = set(data.corpora().index)
    for one in PRESETS.values():
        assert {one.sentences, one.dev, *one.tests} <= known
