"""fit() takes rows from any iterable, and says what is wrong with what it cannot train on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from sentlab.data.rows import Corpus, Triple
from sentlab.encoder import Encoder
from sentlab.methods import SimCSE
from sentlab.training import TrainConfig, fit
from sentlab.training.arguments import as_rows, check_shares
from sentlab.training.tasks import Tasks

TEXTS = ["a dog runs", "the king reads", "a girl eats bread", "two cars"]
CONFIG = TrainConfig(steps=2, batch_size=4)


@pytest.fixture
def make(small_encoder_folder: Path) -> Callable[[], SimCSE]:
    def build() -> SimCSE:
        torch.manual_seed(0)
        return SimCSE(Encoder.from_pretrained(small_encoder_folder, device="cpu"))

    return build


@pytest.mark.parametrize(
    "rows",
    [
        tuple(TEXTS),
        (text for text in TEXTS),
        iter(TEXTS),
        pd.Series(TEXTS),
        pd.Series([*TEXTS, "gone", "gone too"], index=[4, 9, 2, 7, 1, 0])[:4],
        pd.Index(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        deque(TEXTS),
        dict.fromkeys(TEXTS).keys(),
        Corpus("texts", "train", tuple(TEXTS), "here"),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_texts_from_any_iterable_train_alike(make: Callable[[], SimCSE], rows: Any) -> None:
    method, expected = make(), make()
    fit(method, rows, CONFIG, progress=False)
    fit(expected, TEXTS, CONFIG, progress=False)
    assert torch.equal(method.encoder.word_embeddings.weight, expected.encoder.word_embeddings.weight)


def test_a_set_comes_in_sorted_order() -> None:
    assert list(as_rows(set(TEXTS))) == sorted(TEXTS)
    triples = [Triple("b", "x", "y"), Triple("a", "x", "y")]
    assert list(as_rows(set(triples))) == triples[::-1]


def test_rows_that_are_read_one_by_one_are_not_copied() -> None:
    class Lazy:
        def __len__(self) -> int:
            return 10**12

        def __getitem__(self, index: int) -> str:
            return str(index)

    lazy: Any = Lazy()
    assert as_rows(lazy) is lazy


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ("one long string", "rows is one string, 'one long string'"),
        (b"bytes", "one string"),
        ({"text": TEXTS}, "rows is a dict"),
        (pd.DataFrame({"text": TEXTS}), "rows is a DataFrame"),
        (7, "got a int"),
    ],
)
def test_what_holds_no_rows_is_refused(make: Callable[[], SimCSE], rows: Any, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        fit(make(), rows, CONFIG, progress=False)


@pytest.mark.parametrize("rows", [[], iter(()), set(), pd.Series([], dtype=object)])
def test_no_rows_are_refused(rows: Any) -> None:
    with pytest.raises(ValueError, match="no rows"):
        as_rows(rows)


def test_what_is_no_method_config_or_dev_is_refused(make: Callable[[], SimCSE]) -> None:
    method: Any = make()
    for wrong, match in (
        (method.encoder, "got an Encoder"),
        (SimCSE, "the class SimCSE"),
        (torch.nn.Identity(), "loss"),
    ):
        with pytest.raises(TypeError, match=match):
            fit(wrong, TEXTS, CONFIG)
    other = make()
    other.encoder = torch.nn.Identity()
    with pytest.raises(TypeError, match=r"method\.encoder must be a sentlab\.Encoder, got a Identity"):
        fit(other, TEXTS, CONFIG)
    wrong_config: Any = {"steps": 3}
    with pytest.raises(TypeError, match=r"TrainConfig\(\*\*config\)"):
        fit(method, TEXTS, wrong_config)
    with pytest.raises(TypeError, match="dev must be a function"):
        fit(method, TEXTS, CONFIG, dev=TEXTS)  # type: ignore[arg-type]


def test_processes_must_share_a_batch_equally() -> None:
    with pytest.raises(ValueError, match="a batch of 7 rows does not divide among 2 processes"):
        check_shares(range(100), TrainConfig(batch_size=7), 2)
    with pytest.raises(ValueError, match=r"a batch of 9 rows .* of at most the 9 rows"):
        check_shares(range(9), TrainConfig(batch_size=16), 2)
    with pytest.raises(ValueError, match="a batch of 5 rows"):
        check_shares(Tasks(("a", "b"), a=range(40), b=range(5)), TrainConfig(batch_size=8), 2)
    check_shares(range(100), TrainConfig(batch_size=8), 4)
    check_shares(range(9), TrainConfig(batch_size=7), 1)


def test_blank_and_repeated_texts_warn(make: Callable[[], SimCSE]) -> None:
    with pytest.warns(UserWarning, match="2 rows are blank and 1 are repeated"):
        fit(make(), [*TEXTS, " ", "", TEXTS[0]], CONFIG, progress=False)
    fit(make(), TEXTS, CONFIG, progress=False)  # says nothing


def test_a_dev_that_looks_at_another_pooling_leaves_that_of_training(make: Callable[[], SimCSE]) -> None:
    seen = []

    def dev(encoder: Encoder) -> float:
        seen.append(encoder.pooling)
        encoder.pooling = "mean"
        return 0.0

    method = make()
    fit(method, TEXTS, replace(CONFIG, eval_every=1), dev, progress=False)
    assert seen == ["cls"] * 3
    assert method.encoder.pooling == "cls"
