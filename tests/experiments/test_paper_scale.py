"""The settings at the papers' scale are such that the code which would run them takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from experiments import records, run
from experiments.settings import RunSettings

from sentlab import data
from sentlab.data import toy
from sentlab.data.sources import PUBLIC
from sentlab.encoder import Encoder
from sentlab.methods.universal import task_rows

FOLDER = Path(__file__).resolve().parents[2] / records.FOLDER / "paper-scale"
NAMES = ("paser", "ptbert", "slice", "universal")
TOY = {"nli": "toy-nli-pairs", "pi": "toy-phrases", "ptc": "toy-phrases"}
ROWS = {"PaSeR": "toy-sentences", "PTBERT": "toy-sentences", "SLICE": "toy-nli"}


def of_file(name: str) -> RunSettings:
    return records.read_as(records.RunRecord, FOLDER / f"{name}.json").settings


def test_there_is_a_file_for_each_paper() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_method_takes_its_arguments(name: str) -> None:
    settings = of_file(name).model_copy(update={"words": "toy"})
    assert settings.method
    rows: Any
    if isinstance(settings.data, dict):
        rows = task_rows(**{task: toy.load(TOY[task], "train", size=20) for task in settings.data})
    else:
        rows = toy.load(ROWS[settings.method.name], "train", size=8)
    own = settings.encoder
    encoder = Encoder.from_pretrained("tiny", pooling=own.pooling, max_length=own.max_length, device="cpu")
    method = run.build_method(settings, rows)(encoder)
    assert type(method).__name__ == settings.method.name
    assert method.collate([rows[0], rows[1]])


@pytest.mark.parametrize("name", NAMES)
def test_the_corpora_are_in_the_catalogue(name: str) -> None:
    settings, known = of_file(name), data.corpora()
    wanted = {(corpus.corpus, corpus.split) for corpus in settings.corpora}
    wanted |= {(settings.dev, "dev"), *((corpus, "test") for corpus in settings.test)}
    wanted |= {(corpus, split) for corpus in settings.heads for split in ("train", "dev", "test")}
    for corpus, split in wanted:
        assert split in known.loc[corpus, "splits"].split(", "), (corpus, split)


def test_universal_passes_once_over_the_inference_pairs() -> None:
    train = of_file("universal").train
    assert train
    pairs = sum(PUBLIC[name].published["train"] for name in ("snli", "mnli"))
    assert train["steps"] == 2 * (pairs // train["batch_size"])  # every second step is of nli
