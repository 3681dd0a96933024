"""Shared losses: BERT's corruption has the right odds, labels and only labels count, and parts change nothing."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import transformers
from torch import nn

from sentlab.encoder import Encoder
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.training import losses
from sentlab.training.losses import (
    ROWS_OF_LOGITS,
    Parts,
    encode_in_parts,
    head_cross_entropy,
    info_nce,
    mask_tokens,
    masked_lm_loss,
    split_head,
)

MASK, VOCABULARY = 4, 1000


def test_corruption_has_berts_proportions() -> None:
    torch.manual_seed(0)
    ids = torch.randint(5, VOCABULARY, (400, 500))
    corrupted, chosen = mask_tokens(ids, torch.zeros_like(ids), MASK, VOCABULARY)
    assert chosen.dtype == torch.bool
    count = int(chosen.sum())
    # five standard deviations of a binomial
    assert abs(count / ids.numel() - 0.15) < 5 * math.sqrt(0.15 * 0.85 / ids.numel())
    after, before = corrupted[chosen], ids[chosen]
    share = {"mask": after == MASK, "kept": after == before, "random": (after != MASK) & (after != before)}
    for name, expected in (("mask", 0.8), ("kept", 0.1), ("random", 0.1)):
        assert abs(float(share[name].float().mean()) - expected) < 0.01, name
    replaced = after[share["random"]]
    assert replaced.min() >= 0
    assert replaced.max() < VOCABULARY
    assert len(replaced.unique()) > 900  # drawn from the whole vocabulary


def test_only_chosen_tokens_change_and_special_ones_are_never_chosen() -> None:
    torch.manual_seed(1)
    ids = torch.randint(5, VOCABULARY, (50, 20))
    original = ids.clone()
    special = torch.rand(50, 20) < 0.3
    corrupted, chosen = mask_tokens(ids, special.long(), MASK, VOCABULARY, rate=0.9)
    assert not (chosen & special).any()
    assert torch.equal(corrupted[~chosen], ids[~chosen])
    assert torch.equal(ids, original)
    _, everything = mask_tokens(ids, special, MASK, VOCABULARY, rate=1.0)
    assert torch.equal(everything, ~special)
    unchanged, nothing = mask_tokens(ids, special, MASK, VOCABULARY, rate=0.0)
    assert not nothing.any()
    assert torch.equal(unchanged, ids)


class CountingHead(nn.Linear):
    """A masked-LM head that remembers how many rows it was asked for."""

    rows = -1

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        self.rows = hidden.shape[0]
        return super().forward(hidden)


def test_masked_lm_loss_is_the_mean_over_the_chosen_positions_and_computes_no_other() -> None:
    torch.manual_seed(2)
    head, hidden, labels = CountingHead(8, 30), torch.randn(3, 5, 8), torch.randint(30, (3, 5))
    chosen = torch.rand(3, 5) < 0.5
    places = chosen.nonzero().tolist()
    slow = 0.0
    for row, column in places:
        logits = head(hidden[row, column].unsqueeze(0))[0].detach()
        slow -= math.log(math.exp(logits[labels[row, column]]) / sum(math.exp(z) for z in logits.tolist()))
    loss = masked_lm_loss(head, hidden, labels, chosen)
    assert loss.item() == pytest.approx(slow / len(places), abs=1e-5)
    assert head.rows == len(places)
    elsewhere = labels.masked_fill(~chosen, 29)
    assert torch.equal(masked_lm_loss(head, hidden, elsewhere, chosen), loss)


def test_no_label_gives_a_zero_that_can_be_differentiated() -> None:
    head, hidden = nn.Linear(8, 30), torch.randn(3, 5, 8, requires_grad=True)
    loss = masked_lm_loss(head, hidden, torch.zeros(3, 5, dtype=torch.long), torch.zeros(3, 5, dtype=torch.bool))
    assert loss.item() == 0.0
    loss.backward()
    assert hidden.grad is not None
    assert head.weight.grad is not None
    assert hidden.grad.abs().sum() == head.weight.grad.abs().sum() == 0


@pytest.mark.parametrize(
    ("count", "bias"), [(1, True), (ROWS_OF_LOGITS, True), (ROWS_OF_LOGITS + 1, False), (400, True)]
)
def test_logits_in_parts_have_the_loss_and_the_gradients_of_all_at_once(count: int, bias: bool) -> None:
    torch.manual_seed(6)
    hidden, labels = torch.randn(count, 6, requires_grad=True), torch.randint(40, (count,))
    head = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 40, bias=bias))
    with torch.no_grad():
        head[2].weight *= 500
        assert head(hidden).max() > 89  # the exp alone would overflow
    inputs = (hidden, *head.parameters())
    pair = head_cross_entropy(head, hidden, labels), torch.nn.functional.cross_entropy(head(hidden), labels)
    torch.testing.assert_close(*pair)
    gradients = [torch.autograd.grad(0.3 * loss, inputs) for loss in pair]
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)


HEADS = {
    "linear": lambda: nn.Linear(16, 40),
    "sequential": lambda: nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 40)),
    "bert": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)).cls,
}
UNKNOWN_HEADS = {
    "tanh": lambda: nn.Sequential(nn.Linear(16, 40), nn.Tanh()),
    "counting": lambda: CountingHead(16, 40),  # a subclass of nn.Linear
}
SIZES = {
    "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16
}  # fmt: skip


@pytest.mark.parametrize("kind", [*HEADS, *UNKNOWN_HEADS])
def test_any_head_has_the_loss_of_its_logits(kind: str) -> None:
    torch.manual_seed(7)
    head = (HEADS | UNKNOWN_HEADS)[kind]()
    for weight in head.parameters():  # biases start at 0, where a forgotten one does not show
        nn.init.normal_(weight, std=0.3)
    states, labels = torch.randn(100, 16, requires_grad=True), torch.randint(16, (100,))
    inputs = [states, *head.parameters()]
    pairs = head_cross_entropy(head, states, labels), torch.nn.functional.cross_entropy(head(states), labels)
    torch.testing.assert_close(*pairs)
    torch.testing.assert_close(*(torch.autograd.grad(loss, inputs) for loss in pairs))
    assert (split_head(head) is None) == (kind in UNKNOWN_HEADS)


def test_inside_autocast_a_head_has_the_loss_of_its_logits() -> None:
    torch.manual_seed(9)
    head, hidden, labels = nn.Linear(6, 40), torch.randn(5, 6), torch.randint(40, (5,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        want = torch.nn.functional.cross_entropy(head(hidden).float(), labels)
        assert torch.equal(head_cross_entropy(head, hidden, labels), want)


@pytest.mark.parametrize("hard_negatives", [0, 2])
def test_info_nce_equals_its_formula_written_out(hard_negatives: int) -> None:
    torch.manual_seed(4)
    anchors, candidates = torch.randn(4, 6), 3 * torch.randn(4 + hard_negatives, 6)
    slow = 0.0
    for i, anchor in enumerate(anchors.tolist()):
        similarities = []
        for candidate in candidates.tolist():
            dot = sum(x * y for x, y in zip(anchor, candidate, strict=True))
            similarities.append(dot / math.hypot(*anchor) / math.hypot(*candidate))
        powers = [math.exp(s / 0.3) for s in similarities]
        slow -= math.log(powers[i] / sum(powers)) / 4
    with torch.autocast("cpu", torch.bfloat16):
        loss = info_nce(anchors, candidates, 0.3)  # in float32
    assert loss.item() == pytest.approx(slow, abs=1e-5)


LENGTHS = torch.tensor([3, 7, 1, 0, 5, 7, 2])


@pytest.mark.parametrize("places", [1, 14, 100])
def test_parts_give_what_the_whole_batch_gives(monkeypatch: pytest.MonkeyPatch, places: int) -> None:
    monkeypatch.setattr(losses, "PLACES_PER_PART", places)
    torch.manual_seed(0)
    mask = torch.arange(8) < LENGTHS.unsqueeze(1)  # (7, 8)
    x = torch.randn(7, 8, 4, requires_grad=True)
    parts = Parts(LENGTHS, 8)
    kept = [a * b.unsqueeze(-1) for a, b in zip(parts.split(parts.flat(x)), parts.split(parts.flat(mask)), strict=True)]
    sums, squares = parts.vectors([part.sum(1) for part in kept]), parts.places([part.square() for part in kept])
    whole = x * mask.unsqueeze(-1)
    torch.testing.assert_close(sums, whole.sum(1))
    torch.testing.assert_close(squares, whole.square())
    for got, want in ((sums, whole.sum(1)), (squares, whole.square())):
        torch.testing.assert_close(*(torch.autograd.grad((y**2).sum(), x, retain_graph=True) for y in (got, want)))
    shapes = [part.shape[:2] for part in kept]
    assert all(rows == 1 or rows * end <= places for rows, end in shapes)
    # each part ends with its longest row, and the next row would not have fitted
    ordered = LENGTHS.sort().values.tolist()
    stops = torch.tensor([rows for rows, _ in shapes]).cumsum(0).tolist()
    assert [end for _, end in shapes] == [max(1, ordered[stop - 1]) for stop in stops]
    assert all((rows + 1) * ordered[stop] > places for (rows, _), stop in zip(shapes[:-1], stops[:-1], strict=True))


def test_other_devices_than_a_cpu_get_the_whole_batch() -> None:
    parts = Parts(LENGTHS.to("meta"), 8)
    assert [len(rows) for rows in parts.rows] == [7]
    assert [part.shape for part in parts.split(parts.flat(torch.empty(7, 8, 4, device="meta")))] == [(7, 8, 4)]


TEXTS = ["a dog", "the old farmer sees a red car and the market by the river", "girl", "Two dogs are running", "a man"]


@pytest.mark.parametrize("pooling", [*POOLINGS, "pseudo"])
def test_an_encoder_in_parts_gives_what_it_gives_for_one_padded_batch(
    small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch, pooling: str
) -> None:
    monkeypatch.setattr(losses, "PLACES_PER_PART", 12)
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu").eval()
    encoder.pseudo = PseudoTokens(encoder.dim, 5, pooling="mean")
    batch = encoder.tokenize(TEXTS)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    vectors, hidden = encode_in_parts(encoder, ids, mask, pooling)
    states = encoder.hidden_states(ids, mask)
    torch.testing.assert_close(vectors, encoder.pool(states, mask, pooling), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(hidden[mask == 1], states[-1][mask == 1], rtol=1e-5, atol=1e-6)
