"""ConSERT: NT-Xent against a loop, each view against what it must and must not touch, and where it is applied."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from trained import SENTENCES, Make
from transformers import BertTokenizer, RobertaConfig, RobertaModel

from sentlab.encoder import Encoder
from sentlab.methods import ConSERT, consert
from sentlab.methods.consert import dropout, feature_cutoff, nt_xent, shuffled_positions, token_cutoff

LENGTHS = [5, 1, 9, 12, 3]
MASK = (torch.arange(12) < torch.tensor(LENGTHS).unsqueeze(1)).long()  # (5, 12)


def slow_nt_xent(u: Tensor, v: Tensor, temperature: float) -> float:
    vectors = [row.tolist() for row in (*u, *v)]
    count, total = len(u), 0.0

    def power(i: int, j: int) -> float:
        dot = sum(x * y for x, y in zip(vectors[i], vectors[j], strict=True))
        return math.exp(dot / math.hypot(*vectors[i]) / math.hypot(*vectors[j]) / temperature)

    for i in range(2 * count):
        partner = i + count if i < count else i - count
        total -= math.log(power(i, partner) / sum(power(i, j) for j in range(2 * count) if j != i))
    return total / (2 * count)


def test_nt_xent_equals_its_formula_written_out() -> None:
    torch.manual_seed(0)
    u, v = torch.randn(5, 7), 4 * torch.randn(5, 7)
    u.requires_grad_()
    loss = nt_xent(u, v, 0.4)
    assert loss.item() == pytest.approx(slow_nt_xent(u.detach(), v, 0.4), abs=1e-5)
    assert nt_xent(v, u, 0.4).item() == pytest.approx(loss.item(), abs=1e-6)  # both directions count
    loss.backward()
    assert u.grad is not None
    assert u.grad.isfinite().all()
    eye = torch.eye(4)  # own partner at cosine 1, the six others at 0, itself left out
    assert nt_xent(eye, 3 * eye, 0.5).item() == pytest.approx(math.log(1 + 6 * math.exp(-2)), abs=1e-6)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(nt_xent(u, v, 0.4), loss)


def test_shuffling_permutes_the_tokens_positions_and_leaves_padding() -> None:
    torch.manual_seed(0)
    seen = set()
    for _ in range(200):
        positions = shuffled_positions(MASK)
        for row, length in zip(positions.tolist(), LENGTHS, strict=True):
            assert sorted(row[:length]) == list(range(length))
            assert row[length:] == list(range(length, 12))
        seen.add(tuple(positions[4, :3].tolist()))
    assert len(seen) == 6  # all orders of three tokens


def test_token_cutoff_zeroes_whole_tokens_and_no_padding() -> None:
    torch.manual_seed(0)
    hit = torch.zeros(5, 12)
    for _ in range(200):
        x = torch.rand(5, 12, 8) + 1
        cut = token_cutoff(x, MASK, 0.5)
        zero = (cut == 0).all(2)
        assert torch.equal(cut[~zero], x[~zero])
        assert zero.sum(1).tolist() == [int(length * 0.5) for length in LENGTHS]
        assert not zero[MASK == 0].any()
        hit += zero
    assert (hit[2, :9] > 50).all()  # any token may fall, the first and the last too


def test_feature_cutoff_zeroes_the_same_dimensions_in_all_tokens_of_a_sentence() -> None:
    torch.manual_seed(0)
    x = torch.rand(5, 12, 8) + 1
    patterns = set()
    for _ in range(50):
        cut = feature_cutoff(x, MASK, 0.2)
        zero = (cut == 0).all(1)  # (5, 8)
        assert torch.equal(cut == 0, zero.unsqueeze(1).expand_as(cut))
        assert torch.equal(cut[cut != 0], x[cut != 0])
        assert zero.sum(1).tolist() == [1] * 5
        patterns |= {tuple(row) for row in zero.tolist()}
    assert len(patterns) > 5  # each sentence draws its own


def test_dropout_zeroes_single_elements_and_scales_none() -> None:
    torch.manual_seed(0)
    x, mask = torch.rand(4, 50, 100) + 1, torch.ones(4, 50)
    cut = dropout(x, mask, 0.2)
    zero = cut == 0
    assert torch.equal(cut[~zero], x[~zero])
    assert abs(zero.float().mean().item() - 0.2) < 5 * math.sqrt(0.2 * 0.8 / x.numel())
    assert zero.float().mean(2).max() < 0.45  # no whole token
    assert zero.float().mean(1).max() < 0.5  # no whole dimension
    assert torch.equal(dropout(x, mask, 0.0), x)


def test_the_loss_is_nt_xent_of_views_made_by_hand(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    method = make(ConSERT, "mean", temperature=0.3, cutoff=0.3)
    encoder, batch = method.encoder, method.collate(SENTENCES)
    lengths = batch["attention_mask"].sum(1).tolist()

    def backwards(mask: Tensor) -> Tensor:
        rows = [[*reversed(range(n)), *range(n, mask.shape[1])] for n in lengths]
        return torch.tensor(rows)

    def third(embeddings: Tensor, mask: Tensor, rate: float) -> Tensor:
        assert rate == 0.3
        embeddings = embeddings.clone()
        embeddings[:, :, ::3] = 0
        return embeddings

    monkeypatch.setattr(consert, "shuffled_positions", backwards)
    monkeypatch.setitem(consert.CUTS, "feature_cutoff", third)
    fast = method.loss(batch)["contrastive"].item()
    bert, u, v = encoder.backbone, [], []
    for ids, length in zip(batch["input_ids"], lengths, strict=True):
        ids = ids[:length].unsqueeze(0)
        # attention knows no order: reversed tokens at ordinary places are ordinary tokens at reversed places
        u.append(bert(input_ids=ids.flip(1)).last_hidden_state[0].mean(0))
        x = bert.embeddings(input_ids=ids)  # type: ignore[operator]
        x[:, :, ::3] = 0
        for layer in bert.encoder.layer:  # type: ignore[union-attr]
            x = layer(x)
        v.append(x[0].mean(0))
    assert fast == pytest.approx(slow_nt_xent(torch.stack(u).detach(), torch.stack(v).detach(), 0.3), abs=1e-5)


def test_positions_of_roberta_start_behind_its_padding(
    small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    tokenizer = BertTokenizer.from_pretrained(small_encoder_folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    vocabulary = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    config = RobertaConfig(**sizes, **vocabulary, max_position_embeddings=70)
    encoder = Encoder(RobertaModel(config, add_pooling_layer=False), tokenizer, "mean", 64)
    method = ConSERT(encoder, views=("shuffle", "none"))
    monkeypatch.setattr(consert, "shuffled_positions", lambda mask: torch.arange(mask.shape[1]).expand_as(mask))
    tokens = encoder.tokenize(SENTENCES)
    shuffled = method._vectors("shuffle", tokens["input_ids"], tokens["attention_mask"])
    assert torch.allclose(shuffled, encoder(**tokens), atol=1e-6)


def test_the_encoder_keeps_dropout_off_and_views_come_from_the_global_generator(make: Make) -> None:
    method = make(ConSERT, dropout=0.3)
    assert method.training
    assert not any(part.training for part in method.encoder.modules())
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(method.loss(method.collate(SENTENCES))["contrastive"].item())
    assert losses[0] == losses[1] != losses[2]
    assert not method.encoder.backbone.embeddings._forward_hooks
