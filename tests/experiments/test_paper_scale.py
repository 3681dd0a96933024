"""The settings at the papers' scale are such that the code which would run them takes them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from sentlab import data
from sentlab.data import toy
from sentlab.data.sources import PUBLIC
from sentlab.encoder import Encoder
from sentlab.evaluation.mining import Setup
from sentlab.experiments import records, run
from sentlab.methods.universal import task_rows
from sentlab.training import TrainConfig

FOLDER = Path(__file__).resolve().parents[2] / records.FOLDER / "paper-scale"
NAMES = ("paser", "ptbert", "slice", "universal")
TOY = {"nli": "toy-nli-pairs", "pi": "toy-phrases", "ptc": "toy-phrases"}
ROWS = {"PaSeR": "toy-sentences", "PTBERT": "toy-sentences", "SLICE": "toy-nli"}


def of_file(name: str) -> dict[str, Any]:
    return records.read(FOLDER / f"{name}.json").settings


def test_there_is_a_file_for_each_paper() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_known(name: str) -> None:
    settings = of_file(name)
    known = set(re.findall(r"^    (\w+) {2,}\S", (run.__doc__ or "").split("Settings:")[1], re.MULTILINE))
    assert {"encoder", "train", "threads"} <= known  # they are read off the explanation of each
    assert settings.keys() <= known
    assert {"encoder", "method", "data", "train", "dev", "test"} <= settings.keys()
    assert set(settings.get("setups", ())) <= set(get_args(Setup))
    TrainConfig(**settings["train"])
    inspect.signature(Encoder.from_pretrained).bind(**settings["encoder"])


@pytest.mark.parametrize("name", NAMES)
def test_the_method_takes_its_arguments(name: str) -> None:
    settings = of_file(name) | {"words": "toy"}
    named = settings["data"]
    rows: Any
    if isinstance(named, dict):
        rows = task_rows(**{task: toy.load(TOY[task], "train", size=20) for task in named})
    else:
        rows = toy.load(ROWS[settings["method"]["name"]], "train", size=8)
    pooling, length = (settings["encoder"][key] for key in ("pooling", "max_length"))
    encoder = Encoder.from_pretrained("tiny", pooling=pooling, max_length=length, device="cpu")
    method = run.bound(settings, rows)(encoder)
    assert type(method).__name__ == settings["method"]["name"]
    assert method.collate([rows[0], rows[1]])


@pytest.mark.parametrize("name", NAMES)
def test_the_corpora_are_in_the_catalogue(name: str) -> None:
    settings, known = of_file(name), data.corpora()
    named = settings["data"]
    wanted = {(corpus, "train") for corpus in ([named] if isinstance(named, str) else named.values())}
    wanted |= {(settings["dev"], "dev"), *((corpus, "test") for corpus in settings["test"])}
    wanted |= {(corpus, split) for corpus in settings.get("heads", ()) for split in ("train", "dev", "test")}
    for corpus, split in wanted:
        assert split in known.loc[corpus, "splits"].split(", "), (corpus, split)


def test_universal_passes_once_over_the_inference_pairs() -> None:
    train = of_file("universal")["train"]
    pairs = sum(PUBLIC[name].published["train"] for name in ("snli", "mnli"))
    assert train["steps"] == 2 * (pairs // train["batch_size"])  # every second step is of nli
