"""MoCo: Eq. 4 against a loop, Eq. 5 against its closed form, and a queue that never holds what was not put in."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sentlab.encoder import Encoder
from sentlab.methods import MoCo
from sentlab.methods.moco import Queue
from sentlab.training import TrainConfig, fit, set_dropout
from sentlab.training.losses import info_nce

SENTENCES = [
    "A young girl plays the guitar in a small village.",
    "Two dogs are running",
    "the old farmer sees a red car, a blue boat and the market by the river",
    "He is not in it.",
    "the king reads a letter",
    "a child eats bread by the road",
    "A woman sells apples.",
    "who runs in the city?",
]


@pytest.fixture
def make(small_encoder_folder: Path) -> Callable[..., MoCo]:
    def build(pooling: str = "cls", dropout: bool = False, **settings: object) -> MoCo:
        torch.manual_seed(0)
        encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu")
        method = MoCo(encoder, **settings).train()  # type: ignore[arg-type]
        if not dropout:
            set_dropout(method, 0.0)
        return method

    return build


def moved(method: MoCo) -> MoCo:
    """The trained weights step aside, so that query and key of a sentence differ."""
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in [*method.encoder.parameters(), *method.head.parameters()]:
            weight.add_(0.05 * torch.randn_like(weight))
    return method


def vectors(method: MoCo, batch: dict[str, Tensor], which: str = "") -> Tensor:
    encoder, head = getattr(method, f"{which}encoder"), getattr(method, f"{which}head")
    return head(encoder(batch["input_ids"], batch["attention_mask"])).detach()


def state(method: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in method.state_dict().items()}


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


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
def test_the_loss_is_eq_4_over_the_batch_and_the_newest_of_the_queue(make: Callable[..., MoCo], pooling: str) -> None:
    method, temperature = moved(make(pooling, queue_size=5, temperature=0.1)), 0.1
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


def test_with_an_empty_queue_the_loss_is_in_batch_info_nce(make: Callable[..., MoCo]) -> None:
    method = moved(make())
    batch = method.collate(SENTENCES)
    expected = info_nce(vectors(method, batch), vectors(method, batch, "momentum_"), method.temperature)
    torch.testing.assert_close(method.loss(batch)["contrastive"].detach(), expected)
    with torch.no_grad():
        method.queue.vectors.normal_()  # what was never put in is no negative, whatever stands there
    torch.testing.assert_close(method.loss(batch)["contrastive"].detach(), expected)


def test_momentum_weights_follow_as_the_closed_form_says(make: Callable[..., MoCo]) -> None:
    momentum = 0.885
    method = make(momentum=momentum)
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


def test_no_gradient_reaches_the_momentum_branch_and_all_that_is_trained_gets_one(make: Callable[..., MoCo]) -> None:
    method = moved(make())
    method.loss(method.collate(SENTENCES))["contrastive"].backward()
    trained = [*method.encoder.backbone.named_parameters(), *method.head.named_parameters()]
    assert [name for name, weight in trained if weight.grad is None] == []
    assert all(weight.grad is None for name, weight in method.named_parameters() if name.startswith("momentum_"))


def test_only_after_step_changes_state(make: Callable[..., MoCo]) -> None:
    method = moved(make(dropout=True))
    before = state(method)
    batch = method.collate(SENTENCES)
    method.encoder.encode(SENTENCES)
    method.loss(batch)
    assert_same(state(method), before)
    assert all(part.training for part in method.modules())
    method.after_step()
    assert int(method.queue.pushed) == len(SENTENCES)
    method.eval()
    before = state(method)
    method.loss(batch)  # to look at, not to learn from
    method.train().after_step()
    assert torch.equal(method.queue.pushed, before["queue.pushed"])


def test_a_loss_that_was_only_looked_at_leaves_no_keys_for_training(make: Callable[..., MoCo]) -> None:
    method = make(queue_size=12)
    method.loss(method.collate(SENTENCES[:4]))
    fit(method, SENTENCES, TrainConfig(steps=3, batch_size=4, learning_rate=0.001), progress=False)
    assert method.queue.pushed == 12


def test_accumulated_parts_all_enter_the_queue(make: Callable[..., MoCo]) -> None:
    method = moved(make())
    parts = [method.collate(SENTENCES[:3]), method.collate(SENTENCES[3:])]
    expected = torch.cat([vectors(method, part, "momentum_") for part in parts])
    for part in parts:
        method.loss(part)
    method.after_step()
    torch.testing.assert_close(method.queue.newest(256), expected)


def test_padding_changes_nothing(make: Callable[..., MoCo]) -> None:
    method = moved(make("mean"))
    batch = method.collate(SENTENCES)
    padding = torch.zeros(len(SENTENCES), 5, dtype=torch.long)
    padded = {name: torch.cat([tensor, padding], dim=1) for name, tensor in batch.items()}
    torch.testing.assert_close(method.loss(padded)["contrastive"], method.loss(batch)["contrastive"])


def test_the_momentum_encoder_reads_the_view(make: Callable[..., MoCo]) -> None:
    method = moved(make(view=lambda words, rng: list(reversed(words))))
    plain = make()
    there = plain.collate(SENTENCES)
    turned = plain.collate([" ".join(reversed(text.split())) for text in SENTENCES])
    batch = method.collate(SENTENCES)
    assert torch.equal(batch["input_ids"], there["input_ids"])
    expected = info_nce(vectors(method, there), vectors(method, turned, "momentum_"), method.temperature)
    torch.testing.assert_close(method.loss(batch)["contrastive"].detach(), expected)
