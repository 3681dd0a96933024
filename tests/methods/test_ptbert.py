"""PT-BERT: Eqs. 1 to 3 against loops, what collapses with one key and what does not, and what is saved."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from trained import SENTENCES, Make

from sentlab.encoder import Encoder
from sentlab.encoder.pseudo_tokens import PseudoTokens, attention_weights
from sentlab.methods import PTBERT

D = 8


@pytest.fixture
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, device="cpu")


def tokens(seed: int = 1) -> tuple[Tensor, Tensor]:
    """Hidden states of three sentences, of 5, 2 and 4 tokens, with anything at all in the padding."""
    torch.manual_seed(seed)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]])
    return torch.randn(3, 5, D), mask


def by_hand(pseudo: PseudoTokens, sentence: Tensor) -> list[Tensor]:
    """Eqs. 1 to 3 for one sentence without padding, one number at a time: a vector a token."""
    w_q, w_k, w_v = (layer.weight.T for layer in (pseudo.query, pseudo.key, pseudo.value))

    def attend(queries: Tensor, y: Tensor) -> Tensor:
        attended = []
        for query in queries:
            scores = [math.exp((query @ w_q @ (row @ w_k)).item() / math.sqrt(D)) for row in y]
            attended.append(sum(score / sum(scores) * (row @ w_v) for score, row in zip(scores, y, strict=True)))
        return torch.stack(attended)  # type: ignore[arg-type]

    return list(attend(sentence, attend(pseudo.embedding, sentence)))


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_h_is_what_eqs_1_to_3_say_and_padding_changes_nothing(pooling: str) -> None:
    y, mask = tokens()
    pseudo = PseudoTokens(D, 4, pooling=pooling)
    h = pseudo(y, mask)
    for i, length in enumerate(mask.sum(1).tolist()):
        rows = torch.stack(by_hand(pseudo, y[i, :length]))
        expected = {"cls": rows[0], "mean": rows.mean(0), "max": rows.amax(0)}[pooling]
        torch.testing.assert_close(h[i], expected, rtol=1e-4, atol=1e-6)


def test_a_row_in_which_all_is_masked_gives_zeros() -> None:
    y, mask = tokens()
    mask[1] = 0
    assert torch.equal(attention_weights(y, y, mask)[1], torch.zeros(5, 5))
    assert torch.equal(PseudoTokens(D, 4, pooling="mean")(y, mask)[1], torch.zeros(D))


def test_with_one_key_h_is_y_w_v_w_v_for_any_pseudo_tokens_and_their_gradient_is_zero() -> None:
    y, mask = tokens()
    torch.manual_seed(0)
    pseudo = PseudoTokens(D, 4, keys="pooled")
    w_v = pseudo.value.weight.T
    expected = pseudo.head(y[:, 0]) @ w_v @ w_v
    h = pseudo(y, mask)
    torch.testing.assert_close(h, expected)
    h.square().sum().backward()
    assert pseudo.embedding.grad is not None
    assert torch.equal(pseudo.embedding.grad, torch.zeros_like(pseudo.embedding))
    for weight in (pseudo.query.weight, pseudo.key.weight):  # these are in Eq. 3 too: the sum of m equal weights rounds
        assert weight.grad is not None
        torch.testing.assert_close(weight.grad, torch.zeros_like(weight), rtol=0, atol=1e-6)
    assert pseudo.value.weight.grad is not None
    assert pseudo.value.weight.grad.abs().max() > 0
    for count in (1, 3, 128):
        other = PseudoTokens(D, count, keys="pooled")
        other.load_state_dict(pseudo.state_dict() | {"embedding": 10 * torch.randn(count, D)})
        torch.testing.assert_close(other(y, mask), expected)


def test_with_token_keys_pseudo_tokens_matter_and_learn() -> None:
    y, mask = tokens()
    torch.manual_seed(0)
    pseudo = PseudoTokens(D, 4)
    h = pseudo(y, mask)
    h.square().sum().backward()
    for weight in (pseudo.embedding, pseudo.query.weight, pseudo.key.weight):
        assert weight.grad is not None
        assert weight.grad.abs().max() > 0
    other = PseudoTokens(D, 9)
    other.load_state_dict(pseudo.state_dict() | {"embedding": torch.cat([pseudo.embedding, torch.randn(5, D)])})
    assert not torch.allclose(other(y, mask), h, rtol=1e-3)


def test_the_loss_contrasts_h_and_not_the_vector_of_the_test(make: Make) -> None:
    losses = {}
    for at_test in ("pseudo", "cls", "mean"):
        method = make(PTBERT, pseudo_tokens=6, at_test=at_test)
        assert method.encoder.pooling == at_test
        losses[at_test] = method.loss(method.collate(SENTENCES))["contrastive"].item()
    assert losses["cls"] == losses["mean"] == losses["pseudo"]
    assert make(PTBERT, "mean", pseudo_tokens=6).loss(method.collate(SENTENCES))["contrastive"].item() != losses["cls"]


def test_pseudo_tokens_of_the_same_kind_are_trained_on(encoder: Encoder) -> None:
    first = PTBERT(encoder, pseudo_tokens=6).encoder.pseudo
    assert PTBERT(encoder, pseudo_tokens=6, queue_size=9).encoder.pseudo is first
    assert PTBERT(encoder, pseudo_tokens=6, at_test="cls").encoder.pseudo is first
    assert PTBERT(encoder, pseudo_tokens=7).encoder.pseudo is not first
    method = PTBERT(encoder, pseudo_tokens=6, keys="pooled", queue_size=9, momentum=0.5, temperature=0.1, view=sorted)
    assert (method.queue.size, method.momentum, method.temperature, method.view) == (9, 0.5, 0.1, sorted)
    assert encoder.pseudo.settings["keys"] == "pooled"


def test_heads_are_attentions_over_slices_of_the_vectors() -> None:
    torch.manual_seed(2)
    pseudo = PseudoTokens(D, 3, heads=2, bias=True).eval()
    y, mask = tokens()
    h = pseudo.pseudo(y, mask)
    query, key, value = pseudo.query(pseudo.embedding), pseudo.key(y), pseudo.value(y)
    for head in range(2):
        part = slice(head * D // 2, (head + 1) * D // 2)
        expected = attention_weights(query[:, part], key[..., part], mask) @ value[..., part]
        assert torch.allclose(h[..., part], expected, atol=1e-6)


def test_the_released_code_s_pseudo_tokens_average_noise_and_learn_nothing(encoder: Encoder) -> None:
    """The noise of h falls with their number. Without dropout their number has no effect."""
    torch.manual_seed(0)
    layers = PseudoTokens(D, 1, bias=True).state_dict()
    del layers["embedding"]
    spread, still = [], []
    y = torch.randn(40, 1, D)
    for count in (1, 64):
        pseudo = PseudoTokens(D, count, keys="pooled", heads=2, bias=True, dropout=0.3)
        pseudo.load_state_dict(layers, strict=False)
        drawn = torch.stack([pseudo.back(y, pseudo.pseudo(y)) for _ in range(30)])
        spread.append(float(drawn.std(0).mean()))
        drawn.square().sum().backward()
        assert pseudo.embedding.grad is not None
        assert pseudo.embedding.grad.abs().max() < 1e-5 * pseudo.value.weight.grad.abs().max()
        still.append(pseudo.eval().back(y, pseudo.pseudo(y)))
    assert spread[1] < 0.75 * spread[0]  # the second attention's own dropout stays
    assert torch.allclose(still[0], still[1], atol=1e-5)


def test_as_released_the_momentum_encoder_starts_at_random(encoder: Encoder) -> None:
    method = PTBERT(encoder, pseudo_tokens=4, released=True)
    ours, theirs = (branch.word_embeddings.weight for branch in (method.encoder, method.momentum_encoder))
    assert not torch.allclose(ours, theirs)
    assert abs(float(torch.corrcoef(torch.stack([ours.flatten(), theirs.flatten()]))[0, 1])) < 0.1
    assert encoder.pseudo is not None
    assert encoder.pseudo.settings == {
        "dim": 32, "count": 4, "keys": "pooled", "pooling": "cls", "heads": 2, "bias": True, "dropout": 0.1
    }  # fmt: skip
