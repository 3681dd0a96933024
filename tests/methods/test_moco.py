"""MoCo: Eq. 4 against a loop, Eq. 5 against its closed form, and a queue that never holds what was not put in."""

from __future__ import annotations

import math
from collections import deque
from random import Random

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from trained import EIGHT, Make

from sentlab.methods import MoCo
from sentlab.methods.moco import Queue
from sentlab.training import TrainConfig, fit
from sentlab.training.losses import info_nce

SENTENCES = EIGHT


def moved(method: MoCo) -> MoCo:
    """The trained weights step aside, so that query and key of a sentence differ."""
    with torch.no_grad():
        for weight in [*method.encoder.parameters(), *method.head.parameters()]:
            weight.add_(0.05 * torch.randn_like(weight))
    return method


def vectors(method: MoCo, batch: dict[str, Tensor], which: str = "") -> Tensor:
    encoder, head = getattr(method, f"{which}encoder"), getattr(method, f"{which}head")
    return head(encoder(batch["input_ids"], batch["attention_mask"])).detach()


def test_the_queue_holds_the_last_vectors_in_order_after_any_number_of_turns() -> None:
    queue, expected, random = Queue(7, 2), deque[list[float]](maxlen=7), Random(0)
    assert queue.newest(7).shape == (0, 2)
    for turn in range(40):
        new = torch.tensor([[float(turn), float(i)] for i in range(random.randint(1, 9))])  # also more than it holds
        queue.push(new)
        expected.extend(new.tolist())
        for count in (0, 1, 4, 7, 9):
            assert queue.newest(count).tolist() == list(expected)[max(0, len(expected) - count) :]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_loss_is_eq_4_over_the_batch_and_the_newest_of_the_queue(make: Make, pooling: str) -> None:
    method, temperature = moved(make(MoCo, pooling, queue_size=5, temperature=0.1)), 0.1
    with torch.no_grad():
        method.queue.vectors.normal_()  # what was never put in is no negative, whatever stands there
    keys: list[Tensor] = []  # of all steps, oldest first
    for start in (0, 2, 4, 6, 1):
        batch = method.collate(SENTENCES[start : start + 2])
        h, new = vectors(method, batch), vectors(method, batch, "momentum_")
        candidates = [*new, *keys[-3:]]  # M = 5, two of which are the batch's
        losses = []
        for i, query in enumerate(h):
            similar = [math.exp(F.cosine_similarity(query, key, dim=0).item() / temperature) for key in candidates]
            losses.append(-math.log(similar[i] / sum(similar)))
        assert method.loss(batch)["contrastive"].item() == pytest.approx(sum(losses) / 2, abs=1e-5)
        method.after_step()
        keys += list(new)


def test_momentum_weights_follow_as_the_closed_form_says(make: Make) -> None:
    momentum = 0.885
    method = make(MoCo, momentum=momentum)
    first = {name: value.clone() for name, value in method.named_parameters() if name.startswith("momentum_")}
    assert any("head" in name for name in first)
    moved(method)
    for _ in range(5):
        method.after_step()
    weights = dict(method.named_parameters())
    for name, start in first.items():
        online = weights[name.removeprefix("momentum_")]
        torch.testing.assert_close(weights[name], momentum**5 * start + (1 - momentum**5) * online.detach())
        assert not weights[name].requires_grad


def test_keys_enter_the_queue_in_after_step_and_only_those_of_training(make: Make) -> None:
    method = moved(make(MoCo, queue_size=12))
    parts = [method.collate(SENTENCES[:3]), method.collate(SENTENCES[3:])]
    expected = torch.cat([vectors(method, part, "momentum_") for part in parts])
    for part in parts:  # accumulated
        method.loss(part)
    assert method.queue.pushed == 0
    method.after_step()
    torch.testing.assert_close(method.queue.newest(12), expected)
    method.eval().loss(parts[0])  # to look at, not to learn from
    method.train().loss(parts[0])  # followed by no step
    fit(method, SENTENCES, TrainConfig(steps=3, batch_size=4, learning_rate=0.001), progress=False)
    assert method.queue.pushed == 8 + 12


def test_the_momentum_encoder_reads_the_view(make: Make) -> None:
    method = moved(make(MoCo, view=lambda words, rng: list(reversed(words))))
    plain = make(MoCo)
    there = plain.collate(SENTENCES)
    turned = plain.collate([" ".join(reversed(text.split())) for text in SENTENCES])
    batch = method.collate(SENTENCES)
    assert torch.equal(batch["input_ids"], there["input_ids"])
    expected = info_nce(vectors(method, there), vectors(method, turned, "momentum_"), method.temperature)
    torch.testing.assert_close(method.loss(batch)["contrastive"].detach(), expected)
