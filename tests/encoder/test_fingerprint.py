"""The fingerprint: it changes with whatever changes a vector, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.encoder.maps import Whitening
from sentlab.encoder.pseudo_tokens import PseudoTokens


@pytest.fixture
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu")


def nudge(parameter: torch.Tensor) -> None:
    with torch.no_grad():
        parameter.view(-1)[-1] += 1e-3


def another_word(encoder: Encoder) -> None:
    encoder.tokenizer.add_tokens(["abracadabra"])


def another_map(encoder: Encoder) -> None:
    torch.manual_seed(0)
    encoder.post = Whitening(3).fit(torch.randn(40, 32))


def fewer_heads(encoder: Encoder) -> None:
    encoder.backbone.config.num_attention_heads = 1


CHANGES: dict[str, Callable[[Encoder], object]] = {
    "last weight of the backbone": lambda e: nudge(list(e.backbone.parameters())[-1]),
    "embeddings": lambda e: nudge(e.word_embeddings.weight),
    "vocabulary": another_word,
    "truncation": lambda e: setattr(e.tokenizer, "truncation_side", "left"),
    "max_length": lambda e: setattr(e, "max_length", 9),
    "architecture": fewer_heads,
}
OF_SENTENCES: dict[str, Callable[[Encoder], object]] = {
    "pooling": lambda e: setattr(e, "pooling", "cls"),
    "post": another_map,
    "pseudo tokens": lambda e: setattr(e, "pseudo", PseudoTokens(32, 2)),
}


@pytest.mark.parametrize("change", [*CHANGES, *OF_SENTENCES])
def test_it_changes_with_what_changes_a_vector(encoder: Encoder, change: str) -> None:
    before = encoder.fingerprint(), encoder.fingerprint(tokens=True)
    (CHANGES | OF_SENTENCES)[change](encoder)
    assert encoder.fingerprint() != before[0]
    assert (encoder.fingerprint(tokens=True) != before[1]) == (change in CHANGES)


def test_the_numbers_of_a_map_and_of_pseudo_tokens_count(encoder: Encoder) -> None:
    another_map(encoder)
    encoder.pseudo = PseudoTokens(32, 2)
    seen = {encoder.fingerprint()}
    assert encoder.post is not None
    for module in (encoder.post, encoder.pseudo):
        nudge(next(module.parameters()))
        seen.add(encoder.fingerprint())
    assert len(seen) == 3


def test_it_keeps_through_use_training_mode_and_saving(encoder: Encoder, tmp_path: Path) -> None:
    another_map(encoder)
    before = encoder.fingerprint()
    encoder.encode(["the dog runs", "bread"])  # the tokenizer remembers how it cut and padded
    encoder.tokenize(["the dog runs", "bread"])
    encoder.train()
    assert encoder.lm_head is not None
    nudge(next(encoder.lm_head.parameters()))
    encoder.backbone.config.hidden_dropout_prob = 0.3
    assert encoder.fingerprint() == before
    encoder.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert again.fingerprint() == before
    again.save(tmp_path / "saved again")
    assert Encoder.from_pretrained(tmp_path / "saved again", device="cpu").fingerprint() == before


def test_half_precision_that_holds_the_numbers_changes_nothing(encoder: Encoder) -> None:
    encoder.bfloat16()
    half = encoder.fingerprint()
    assert encoder.float().fingerprint() == half
