"""What a caller has turned on reaches nothing that sentlab computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from trained import EIGHT

import sentlab
from sentlab.encoder.maps import Flow, Whitening
from sentlab.methods import PTBERT, MoCo, PaSeR, SimCSE, Universal
from sentlab.training import fit

CONFIG = sentlab.TrainConfig(steps=2, batch_size=4, learning_rate=1e-3)


@contextmanager
def doubles() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def trained(kind: Any) -> np.ndarray:
    encoder = sentlab.Encoder.from_pretrained("tiny", device="cpu")
    sentlab.set_seed(0)
    fit(kind(encoder), EIGHT, CONFIG, progress=False)
    return encoder.encode(EIGHT)


WORLDS: list[Callable[[], AbstractContextManager[Any]]] = [
    lambda: torch.autocast("cpu", torch.bfloat16), doubles, torch.no_grad,
]  # fmt: skip


@pytest.mark.parametrize("kind", [SimCSE, MoCo, PTBERT, PaSeR])
def test_training_is_the_same_in_any_world(kind: Any) -> None:
    usual = trained(kind)
    for world in WORLDS:
        with world():
            assert np.array_equal(trained(kind), usual)


@pytest.mark.parametrize("world", WORLDS)
def test_search_and_similarity_are_the_same_in_any_world(world: Callable[[], AbstractContextManager[Any]]) -> None:
    def answers() -> list[Any]:
        encoder = sentlab.Encoder.from_pretrained("tiny", pooling="mean", device="cpu")
        vectors = encoder.encode(EIGHT)
        index = sentlab.PhraseIndex(encoder)
        index.add(["", *EIGHT])
        found = index.search(["the old king"], k=3)
        spans = sentlab.spans.best_spans(torch.ones(1, 3), torch.arange(12, dtype=torch.float32).view(4, 3) / 7)
        fitted = Whitening(3).fit(vectors), Flow(2, 8, epochs=1).fit(vectors, progress=False)
        maps = [weights.tolist() for kind in fitted for weights in kind.state_dict().values()]
        return [found, [float(x) for x in spans], encoder.similarity(vectors, vectors).tolist(), *maps]

    usual = answers()
    with world():
        assert answers() == usual
        assert {p.dtype for p in Universal(sentlab.Encoder.from_pretrained(), tasks=("nli",)).parameters()} == {
            torch.float32
        }


def test_fit_leaves_accelerate_to_its_user() -> None:
    AcceleratorState._reset_state(reset_partial_state=True)
    trained(SimCSE)
    theirs = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
    trained(SimCSE)
    assert (theirs.mixed_precision, theirs.gradient_accumulation_steps) == ("bf16", 4)
    AcceleratorState._reset_state(reset_partial_state=True)


def test_nothing_to_train_and_nothing_to_tell_apart_are_said() -> None:
    encoder = sentlab.Encoder.from_pretrained("tiny", pooling="mean", device="cpu")
    with pytest.raises(ValueError, match="accumulate"):
        fit(SimCSE(encoder), EIGHT[:3], sentlab.TrainConfig(steps=1, batch_size=3, accumulate=2), progress=False)
    for rows, told in ((EIGHT[:1], "no negatives"), ([], "no rows")):
        with pytest.raises(ValueError, match=told):
            fit(MoCo(encoder), rows, CONFIG, progress=False)
    with pytest.raises(ValueError, match="nothing would be trained"):
        fit(SimCSE(encoder.requires_grad_(False)), EIGHT, CONFIG, progress=False)
