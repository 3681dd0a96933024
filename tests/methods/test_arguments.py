"""Every number that a method takes is checked where it is given, and the error names it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from sentlab.data.rows import PhrasePair
from sentlab.encoder import Encoder
from sentlab.methods import (
    PTBERT,
    SLICE,
    ConSERT,
    ContrastiveTension,
    MoCo,
    PaSeR,
    SimCSE,
    SupervisedPaSeR,
    Universal,
)

NAN, INF = float("nan"), float("inf")
ABOVE_ZERO = (NAN, INF, 0.0, -1.0, "1")
NOT_NEGATIVE = (NAN, INF, -0.1)
SHARE = (NAN, INF, -0.1, 1.0)
COUNT = (NAN, 0, -1, 2.5)
PASER = {"m": ABOVE_ZERO, "n": ABOVE_ZERO, "dropout": SHARE, "decoder_layers": COUNT, "top_phrases": COUNT}
CONTRAST = {"queue_size": COUNT, "momentum": SHARE, "temperature": ABOVE_ZERO}
WRONG: dict[Any, dict[str, tuple[Any, ...]]] = {
    SimCSE: {"temperature": ABOVE_ZERO, "mlm": NOT_NEGATIVE},
    MoCo: CONTRAST,
    PTBERT: {**CONTRAST, "pseudo_tokens": COUNT},
    PaSeR: {**PASER, "decoder_heads": COUNT},
    SupervisedPaSeR: {**PASER, "alpha": NOT_NEGATIVE, "temperature": ABOVE_ZERO},
    SLICE: {"scale": ABOVE_ZERO, "min_size": COUNT, "max_size": COUNT},
    ConSERT: {"temperature": ABOVE_ZERO, "cutoff": SHARE},
    ContrastiveTension: {"negatives": COUNT},
    Universal: {"negatives": COUNT},
}


def wrong() -> Iterator[Any]:
    for method, arguments in WRONG.items():
        for name, values in arguments.items():
            yield from (pytest.param(method, name, value, id=f"{method.__name__}-{name}-{value!r}") for value in values)


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu")


def build(method: Any, encoder: Encoder, **arguments: Any) -> nn.Module:
    if method is Universal:
        arguments["paraphrases"] = [PhrasePair(f"big {i}", f"large {i}", "equivalence", 1.0) for i in range(5)]
    made: nn.Module = method(encoder, **arguments)
    return made


@pytest.mark.parametrize(("method", "name", "value"), list(wrong()))
def test_an_argument_out_of_range_is_named(encoder: Encoder, method: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"\b{name}\b.*{value!r}"):
        build(method, encoder, **{name: value})
    assert encoder.pseudo is None  # PTBERT checks before it changes the encoder
    assert encoder.pooling == "mean"


@pytest.mark.parametrize("method", [m for m in WRONG if m is not PTBERT], ids=lambda method: method.__name__)
def test_the_defaults_pass(encoder: Encoder, method: Any) -> None:
    build(method, encoder)


@pytest.mark.parametrize("method", list(WRONG), ids=lambda method: method.__name__)
def test_the_name_of_an_encoder_is_none(method: Any) -> None:
    with pytest.raises(TypeError, match=r"got 'tiny': pass Encoder\.from_pretrained\('tiny'\)"):
        build(method, "tiny")  # type: ignore[arg-type]
