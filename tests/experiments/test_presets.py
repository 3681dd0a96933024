"""The presets: one code path in three sizes, of which the paper's is its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from experiments import presets, records
from experiments.presets import PRESETS, preset

from sentlab import data
from sentlab.training import TrainConfig


def test_quick_is_the_default_and_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENTLAB_PRESET", raising=False)
    assert preset().name == "quick"
    monkeypatch.setenv("SENTLAB_PRESET", "real")
    assert preset().name == "real"
    monkeypatch.setenv("SENTLAB_PRESET", "paper")
    assert preset().encoder == "bert-base-uncased"


@pytest.mark.parametrize("method", ["paser", "universal", "ptbert", "slice", "moco", "simcse"])
def test_the_paper_preset_is_the_file_at_the_papers_scale(method: str) -> None:
    """What a chapter says of its quick run changes nothing of the paper's."""
    one, settings = preset("paper", method=method), records.get(f"paper-scale/{method}").settings
    settings = getattr(settings, "run", settings)
    assert one.sentences == settings.corpora[0].corpus
    changed = presets.config(one, quick={"steps": 3}, steps=7, learning_rate=1.0, eval_every=5)
    assert changed == one.train == TrainConfig(**settings.train)
    plain = {name: value for name, value in settings.method.arguments.items() if name != "view"}
    assert {name: value for name, value in one.arguments.items() if name != "view"} == plain
    assert callable(one.arguments.get("view")) == bool(settings.method.arguments.get("view"))


def test_the_encoder_has_the_papers_pooling_and_length(small_encoder_folder: Path) -> None:
    one = replace(preset("paper", method="universal"), encoder=str(small_encoder_folder))
    encoder = presets.encoder(one, "cls", 7)
    assert (encoder.pooling, encoder.max_length) == ("mean", 128)
    encoder = presets.encoder(replace(PRESETS["quick"], encoder=str(small_encoder_folder)), "max", 7)
    assert (encoder.pooling, encoder.max_length) == ("max", 7)


def test_presets_name_corpora_that_exist_and_quick_needs_nothing_from_outside() -> None:
    quick, known = PRESETS["quick"], set(data.corpora().index)
    assert quick.encoder == "tiny"
    assert {quick.sentences, quick.dev, *quick.tests} <= set(data.toy.NAMES)
    for one in [*PRESETS.values(), preset("paper")]:
        assert {one.sentences, one.dev, *one.tests} <= known
