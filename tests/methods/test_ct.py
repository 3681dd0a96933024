"""Contrastive Tension: the loss against a loop over pairs, how pairs are drawn, and two copies that train apart."""

from __future__ import annotations

import math

import pytest
import torch
from trained import EIGHT, Make

from sentlab.encoder import Encoder
from sentlab.methods import ContrastiveTension
from sentlab.methods.ct import tension_loss
from sentlab.training import TrainConfig, fit

SENTENCES = EIGHT[:5]


def test_loss_equals_a_loop_over_pairs(make: Make) -> None:
    method = make(ContrastiveTension, "mean", negatives=3)
    with torch.no_grad():
        for parameter in method.twin.parameters():  # so that the copies can be told from each other
            parameter += 0.05 * torch.randn_like(parameter)
        for parameter in method.parameters():
            parameter *= 0.6  # keeps the logits within what the sigmoid below resolves
    batch = method.collate(SENTENCES)

    def vector(encoder: Encoder, row: int) -> list[float]:
        return encoder(**encoder.tokenize([SENTENCES[row]]))[0].tolist()  # type: ignore[no-any-return]

    losses = []
    for row, negatives in enumerate(batch["negatives"].tolist()):
        first = vector(method.twin, row)
        for other in (row, *negatives):
            dot = sum(x * y for x, y in zip(first, vector(method.encoder, other), strict=True))
            same = 1 / (1 + math.exp(-dot))
            losses.append(-math.log(same if other == row else 1 - same))
    assert len(losses) == 5 * 4
    assert method.loss(batch)["contrastive"].item() == pytest.approx(sum(losses) / 20, rel=1e-4)


def test_tension_loss_by_hand_and_with_large_dot_products() -> None:
    first, second = torch.eye(2), torch.tensor([[0.0, 3.0], [1.0, 2.0]])
    # sentence 0: itself 0, the other 1; sentence 1: itself 2, the other 3
    softplus = lambda x: math.log1p(math.exp(x))  # noqa: E731
    expected = (softplus(0) + softplus(1) + softplus(-2) + softplus(3)) / 4
    assert tension_loss(first, second, torch.tensor([[1], [0]])).item() == pytest.approx(expected, abs=1e-6)
    huge = tension_loss(1e3 * first, second, torch.tensor([[1], [0]]))
    assert huge.item() == pytest.approx((softplus(0) + 1e3 + 0 + 3e3) / 4, rel=1e-6)  # no infinity


def test_negatives_are_other_sentences_each_as_often_as_any_other(make: Make) -> None:
    method = make(ContrastiveTension, negatives=2)
    rows = [*SENTENCES, SENTENCES[0]]  # 0 and 5 are equal and never each other's negative
    counts = torch.zeros(6, 6)
    for seed in range(200):
        torch.manual_seed(seed)
        negatives = method.collate(rows)["negatives"]
        assert all(len(set(row)) == 2 for row in negatives.tolist())
        counts.scatter_add_(1, negatives, torch.ones(6, 2))
    forbidden = torch.eye(6).bool()
    forbidden[0, 5] = forbidden[5, 0] = True
    assert (counts[forbidden] == 0).all()
    expected = 200 * 2 / (6 - forbidden.sum(1, keepdim=True)).expand(6, 6)[~forbidden]
    assert ((counts[~forbidden] - expected).abs() < 5 * expected.sqrt()).all()
    with pytest.raises(ValueError, match="3 others"):
        make(ContrastiveTension, negatives=4).collate([*SENTENCES[:4], SENTENCES[0]])


def test_copies_start_equal_share_nothing_keep_dropout_off_and_both_learn(make: Make) -> None:
    method = make(ContrastiveTension, negatives=3)
    assert method.training
    assert not any(part.training for copy in (method.encoder, method.twin) for part in copy.modules())
    name = "model.bert.encoder.layer.0.attention.self.query.weight"
    encoder, twin = (copy.get_parameter(name) for copy in (method.encoder, method.twin))
    start = encoder.detach().clone()
    assert torch.equal(twin, start)
    fit(method, SENTENCES, TrainConfig(steps=5, batch_size=5, learning_rate=1e-3), progress=False)
    assert not torch.equal(encoder, start)
    assert not torch.equal(twin, start)
    assert not torch.equal(encoder, twin)
