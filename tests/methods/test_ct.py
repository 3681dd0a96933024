"""Contrastive Tension: the loss against a loop over pairs, how pairs are drawn, and two copies that train apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from sentlab.encoder import Encoder
from sentlab.methods import ContrastiveTension
from sentlab.methods.ct import tension_loss
from sentlab.training import TrainConfig, fit

SENTENCES = [
    "A young girl plays the guitar in a small village.",
    "Two dogs are running",
    "the old farmer sees a red car, a blue boat and the market by the river",
    "He is not in it.",
    "The doctor reads a letter to the sad king!",
]


@pytest.fixture
def make(small_encoder_folder: Path) -> Callable[..., ContrastiveTension]:
    def build(pooling: str = "mean", negatives: int = 3) -> ContrastiveTension:
        encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu")
        return ContrastiveTension(encoder, negatives=negatives).train()

    return build


def perturb(method: ContrastiveTension) -> None:
    """Set the twin apart from the encoder, so that a test can tell them from each other."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in method.twin.parameters():
            parameter += 0.05 * torch.randn_like(parameter)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_loss_equals_a_loop_over_pairs(make: Callable[..., ContrastiveTension], pooling: str) -> None:
    method = make(pooling)
    perturb(method)
    for parameter in method.parameters():
        parameter.data *= 0.6  # keeps the logits within what the sigmoid below resolves
    batch = method.collate(SENTENCES)

    def vector(encoder: Encoder, row: int) -> list[float]:
        return encoder(**encoder.tokenize([SENTENCES[row]]))[0].tolist()  # type: ignore[no-any-return]

    total, pairs, extreme = 0.0, 0, 0.0
    for row, negatives in enumerate(batch["negatives"].tolist()):
        first = vector(method.twin, row)
        for other in (row, *negatives):
            dot = sum(x * y for x, y in zip(first, vector(method.encoder, other), strict=True))
            same = 1 / (1 + math.exp(-dot))
            total -= math.log(same if other == row else 1 - same)
            pairs += 1
            extreme = max(extreme, abs(dot))
    assert pairs == 5 * 4
    assert 0.1 < extreme < 25
    assert method.loss(batch)["contrastive"].item() == pytest.approx(total / pairs, rel=1e-4)


def test_tension_loss_by_hand_and_with_large_dot_products() -> None:
    first, second = torch.eye(2), torch.tensor([[0.0, 3.0], [1.0, 2.0]])
    # sentence 0: itself 0, the other 1; sentence 1: itself 2, the other 3
    softplus = lambda x: math.log1p(math.exp(x))  # noqa: E731
    expected = (softplus(0) + softplus(1) + softplus(-2) + softplus(3)) / 4
    assert tension_loss(first, second, torch.tensor([[1], [0]])).item() == pytest.approx(expected, abs=1e-6)
    huge = tension_loss(1e3 * first, second, torch.tensor([[1], [0]]))
    assert huge.item() == pytest.approx((softplus(0) + 1e3 + 0 + 3e3) / 4, rel=1e-6)  # no infinity
    with torch.autocast("cpu", torch.bfloat16):
        assert tension_loss(first.bfloat16(), second, torch.tensor([[1], [0]])).dtype == torch.float32


def test_negatives_are_other_sentences_drawn_from_the_global_generator(
    make: Callable[..., ContrastiveTension],
) -> None:
    method = make(negatives=2)
    rows = [*SENTENCES, SENTENCES[0]]  # 0 and 5 are equal and never each other's negative
    drawn, counts = [], torch.zeros(6, 6)
    for seed in (3, 3, *range(4, 204)):
        torch.manual_seed(seed)
        negatives = method.collate(rows)["negatives"]
        drawn.append(negatives)
        assert all(len(set(row)) == 2 for row in negatives.tolist())
        counts.scatter_add_(1, negatives, torch.ones(6, 2))
    assert torch.equal(drawn[0], drawn[1])
    assert any(not torch.equal(drawn[0], other) for other in drawn[2:])
    forbidden = torch.eye(6).bool()
    forbidden[0, 5] = forbidden[5, 0] = True
    assert (counts[forbidden] == 0).all()
    expected = 202 * 2 / (6 - forbidden.sum(1, keepdim=True)).expand(6, 6)[~forbidden]
    assert ((counts[~forbidden] - expected).abs() < 5 * expected.sqrt()).all()  # each as often as any other


def test_too_few_other_sentences_are_refused(make: Callable[..., ContrastiveTension]) -> None:
    method = make(negatives=4)
    assert method.collate(SENTENCES)["negatives"].shape == (5, 4)
    with pytest.raises(ValueError, match="3 others"):
        method.collate([*SENTENCES[:4], SENTENCES[0]])


def test_padding_changes_nothing(make: Callable[..., ContrastiveTension]) -> None:
    method = make()
    batch = method.collate(SENTENCES)
    longer = {name: t if name == "negatives" else F.pad(t, (0, 7)) for name, t in batch.items()}
    assert torch.allclose(method.loss(batch)["contrastive"], method.loss(longer)["contrastive"], rtol=1e-5)


def test_copies_start_equal_share_nothing_and_both_learn(make: Callable[..., ContrastiveTension]) -> None:
    method = make()
    start = {name: value.clone() for name, value in method.encoder.state_dict().items()}
    assert all(torch.equal(value, start[name]) for name, value in method.twin.state_dict().items())
    own = {p.data_ptr() for p in method.encoder.parameters()}
    assert not own & {p.data_ptr() for p in method.twin.parameters()}
    fit(method, SENTENCES * 2, TrainConfig(steps=5, batch_size=5, learning_rate=1e-3), progress=False)
    name = "model.bert.encoder.layer.0.attention.self.query.weight"
    encoder, twin = method.encoder.state_dict()[name], method.twin.state_dict()[name]
    assert not torch.equal(encoder, start[name])
    assert not torch.equal(twin, start[name])
    assert not torch.equal(encoder, twin)


def test_dropout_stays_off_and_loss_changes_no_state(make: Callable[..., ContrastiveTension]) -> None:
    method = make()
    method.train()
    assert method.training
    assert not any(part.training for copy in (method.encoder, method.twin) for part in copy.modules())
    batch = method.collate(SENTENCES)
    state, random = {n: v.clone() for n, v in method.state_dict().items()}, torch.get_rng_state()
    assert torch.equal(method.loss(batch)["contrastive"], method.loss(batch)["contrastive"])
    method.after_step()
    assert all(torch.equal(value, state[name]) for name, value in method.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)
