"""A batch in parts: the same results, in the same order, from fewer padded places."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.training import losses
from sentlab.training.losses import Parts, encode_in_parts

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
