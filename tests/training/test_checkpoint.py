"""A checkpoint belongs to one run: any other argument, encoder, row or setting is refused, and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentlab import set_seed
from sentlab.data.rows import PhrasePair, Triple
from sentlab.encoder import Encoder
from sentlab.methods import MoCo, PaSeR, SimCSE, Universal
from sentlab.text.views import random_deletion
from sentlab.training import TrainConfig, fit, set_dropout
from sentlab.training.checkpoint import FILE, describe, digest
from sentlab.training.config import Tasks

ROWS = ["a dog runs", "the king reads a letter", "a girl eats bread", "two cars are on the road"]
PAIRS = [PhrasePair("a dog", "a big dog", "equivalence", 1.0), PhrasePair("a king", "the king", "equivalence", 1.0)]
CONFIG = TrainConfig(steps=2, batch_size=4, checkpoint_every=1)
Make = Callable[..., Encoder]


@pytest.fixture
def encoder(small_encoder_folder: Path) -> Make:
    return partial(Encoder.from_pretrained, small_encoder_folder, device="cpu")


def train(method: Any, folder: Path, rows: Any = ROWS, config: TrainConfig = CONFIG, **more: Any) -> Any:
    return fit(method, rows, config, folder=folder, progress=False, **{"resume": True, **more})


def other_weights(encoder: Encoder) -> Encoder:
    with torch.no_grad():
        encoder.word_embeddings.weight[7, 3] += 1e-6
    return encoder


def other_dropout(method: MoCo) -> MoCo:
    set_dropout(method, 0.2)
    return method


def frozen(method: MoCo) -> MoCo:
    method.encoder.requires_grad_(False)
    return method


# what the message names -> what is changed
CHANGES: dict[str, Callable[[Make], dict[str, Any]]] = {
    "MoCo.temperature: 0.05 then, 5.0 now": lambda e: {"method": MoCo(e(), temperature=5.0)},
    "method: 'MoCo' then, 'SimCSE' now": lambda e: {"method": SimCSE(e())},
    "dropout: ": lambda e: {"method": other_dropout(MoCo(e()))}, "tensors: ": lambda e: {"method": frozen(MoCo(e()))},
    "encoder: ": lambda e: {"method": MoCo(other_weights(e()))}, "rows: '4 rows, ": lambda e: {"rows": ROWS[::-1]},
    "seed: 0 then, 1 now": lambda e: {"config": replace(CONFIG, seed=1)},
    "dev: False then, True now": lambda e: {"dev": lambda encoder: 1.0},
}  # fmt: skip


@pytest.mark.parametrize("message", CHANGES)
def test_another_run_is_refused_and_its_difference_named(encoder: Make, tmp_path: Path, message: str) -> None:
    train(MoCo(encoder()), tmp_path)
    with pytest.raises(ValueError, match=message):
        train(**{"method": MoCo(encoder()), "folder": tmp_path, **CHANGES[message](encoder)})


def test_heads_are_restored_whatever_was_drawn_for_them(encoder: Make, tmp_path: Path) -> None:
    heads = []
    for seed in (0, 1):
        set_seed(seed)
        method: Any = SimCSE(encoder())
        train(method, tmp_path)
        heads.append(method.head[0].weight)
    assert torch.equal(*heads)


def test_a_checkpoint_is_only_overwritten_where_one_asks_and_then_at_once(encoder: Make, tmp_path: Path) -> None:
    def kill(step: int, method: Any) -> None:
        raise KeyboardInterrupt

    train(MoCo(encoder()), tmp_path)
    for both in (False, True):
        with pytest.raises(ValueError, match="overwrite=True"):
            train(MoCo(encoder()), tmp_path, resume=both, overwrite=both)
    train(MoCo(encoder(), temperature=5.0), tmp_path, resume=False, overwrite=True)
    assert json.loads((tmp_path / "history.json").read_text())["settings"]["steps"] == 2
    with pytest.raises(KeyboardInterrupt):
        train(MoCo(encoder()), tmp_path, resume=False, overwrite=True, on_step=kill)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_is_cut_off_is_refused(encoder: Make, tmp_path: Path) -> None:
    train(MoCo(encoder()), tmp_path)
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:100])
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors is damaged"):
        train(MoCo(encoder()), tmp_path)


def described(method: Any, rows: Any = ROWS) -> dict[str, Any]:
    return describe(method, rows, {}, None, 1)


def test_arguments_that_change_no_weight_count(encoder: Make) -> None:
    def changed(one: Any, other: Any) -> set[str]:
        before, after = described(one), described(other)
        return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}

    paser = partial(PaSeR, decoder_layers=1)
    assert changed(paser(encoder()), paser(encoder(), top_phrases=2)) == {"PaSeR.top_phrases", "tensors"}
    assert changed(paser(encoder()), paser(encoder(), m=1.0)) == {"PaSeR.m"}
    assert changed(*(MoCo(encoder(), momentum=np.float32(x)) for x in (0.9, 0.5))) == {"MoCo.momentum"}
    rates = (partial(random_deletion, rate=rate) for rate in (0.3, 0.4))
    assert changed(*(MoCo(encoder(), view=view) for view in rates)) == {"MoCo.view"}
    universal, others = partial(Universal, tasks=["pi"]), ((PAIRS, 1), ([*PAIRS, PAIRS[0]], 1), (PAIRS, 2))
    three = [universal(encoder(), paraphrases=pairs, negatives=count) for pairs, count in others]
    assert changed(*three[:2]) == changed(*three[::2]) == {"Universal.negatives"}


def test_rows_of_every_kind_have_a_digest_of_their_own(encoder: Make) -> None:
    kinds: list[list[Any]] = [
        ["a", "b"], ["a\nb", ""], [Triple("a", "b", "c"), Triple("a", "b", "d")], [torch.ones(2), torch.zeros(2)],
        [torch.zeros(2), torch.ones(2)], [torch.zeros(2).numpy(), torch.ones(1, 2).numpy()],
    ]  # fmt: skip
    assert len({digest(rows) for rows in kinds}) == len(kinds)
    turns = [described(SimCSE(encoder()), Tasks(turn, a=["x", "y"], b=["z"])) for turn in (("a", "b"), ("b", "a"))]
    assert turns[0] != turns[1]
