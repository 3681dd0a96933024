"""SimCSE: Eqs. 4 and 5 against loops, dropout as the only augmentation, and what is kept out of the encoder."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from trained import SENTENCES, TRIPLES, Make

from sentlab.methods import SimCSE


def cosine(u: Tensor, v: Tensor) -> float:
    u, v = u.detach().tolist(), v.detach().tolist()
    return sum(x * y for x, y in zip(u, v, strict=True)) / math.hypot(*u) / math.hypot(*v)


def with_head(method: SimCSE, vector: Tensor) -> Tensor:
    if method.encoder.pooling != "cls":
        return vector
    linear = method.head[0]  # type: ignore[index]
    return torch.tensor(
        [math.tanh((row @ vector + b).item()) for row, b in zip(linear.weight, linear.bias, strict=True)]
    )


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_unsupervised_loss_equals_equation_4(make: Make, pooling: str) -> None:
    method = make(SimCSE, pooling, dropout=0.1, temperature=0.1)
    seen: list[Tensor] = []
    method.head.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    fast = method.loss(method.collate(SENTENCES))["contrastive"].item()
    h = [with_head(method, vector) for vector in seen[0]]  # sentence i is row i and row 4 + i
    slow = 0.0
    for i in range(4):
        denominator = sum(math.exp(cosine(h[i], h[4 + j]) / 0.1) for j in range(4))
        slow -= math.log(math.exp(cosine(h[i], h[4 + i]) / 0.1) / denominator) / 4
    assert fast == pytest.approx(slow, abs=1e-5)
    assert cosine(h[0], h[4]) < 0.9999  # dropout made two vectors of one sentence


def test_a_view_is_the_second_copy_of_a_sentence(make: Make) -> None:
    method = make(SimCSE, view=lambda words, rng: words[::-1])
    turned = method.encoder.tokenize([*SENTENCES, *(" ".join(text.split()[::-1]) for text in SENTENCES)])
    assert torch.equal(method.collate(SENTENCES)["input_ids"].flatten(0, 1), turned["input_ids"])
    with pytest.raises(ValueError, match="second copy"):
        method.collate(TRIPLES)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_supervised_loss_equals_equation_5(make: Make, pooling: str) -> None:
    method = make(SimCSE, pooling, temperature=0.2)

    def vector(text: str) -> Tensor:
        return with_head(method, method.encoder(**method.encoder.tokenize([text]))[0])

    slow = 0.0
    for row in TRIPLES:
        anchor, denominator = vector(row.anchor), 0.0
        for other in TRIPLES:
            denominator += math.exp(cosine(anchor, vector(other.positive)) / 0.2)
            denominator += math.exp(cosine(anchor, vector(other.negative)) / 0.2)
        slow -= math.log(math.exp(cosine(anchor, vector(row.positive)) / 0.2) / denominator) / len(TRIPLES)
    assert method.loss(method.collate(TRIPLES))["contrastive"].item() == pytest.approx(slow, abs=1e-5)


def test_sentences_that_nothing_sets_apart_are_refused_and_triples_are_not(make: Make) -> None:
    for method in (make(SimCSE), make(SimCSE, dropout=0.1).eval()):
        with pytest.raises(ValueError, match="set_dropout"):
            method.loss(method.collate(SENTENCES))
        assert method.loss(method.collate(TRIPLES))["contrastive"].item() > 0
    with pytest.raises(ValueError, match="no negatives"):
        make(SimCSE, dropout=0.1).loss(make(SimCSE).collate(SENTENCES[:1]))


def test_mlm_reads_the_corrupted_copy_and_is_weighted(make: Make) -> None:
    method = make(SimCSE, mlm=0.1)
    batch, encoder = method.collate(TRIPLES), method.encoder
    special = torch.isin(batch["input_ids"], torch.tensor([encoder.tokenizer.cls_token_id]))
    assert batch["chosen"].any()
    assert not (batch["chosen"] & (special | (batch["attention_mask"] == 0))).any()
    assert torch.equal(batch["corrupted_ids"][~batch["chosen"]], batch["input_ids"][~batch["chosen"]])
    slow = []
    for view, row, column in batch["chosen"].nonzero().tolist():
        ids, mask = batch["corrupted_ids"][view, row : row + 1], batch["attention_mask"][view, row : row + 1]
        logits = encoder.lm_head(encoder.hidden_states(ids, mask)[-1])[0, column]
        slow.append(-torch.log_softmax(logits, 0)[batch["input_ids"][view, row, column]].item())
    assert method.loss(batch)["mlm"].item() == pytest.approx(0.1 * sum(slow) / len(slow), abs=1e-5)


def test_the_head_is_only_for_cls_and_never_in_encode(make: Make) -> None:
    assert isinstance(make(SimCSE, "mean").head, nn.Identity)
    method = make(SimCSE)
    assert abs(method.head[0].weight.std().item() - 0.02) < 0.002
    before = method.encoder.encode(SENTENCES)
    nn.init.normal_(method.head[0].weight)
    assert (method.encoder.encode(SENTENCES) == before).all()
