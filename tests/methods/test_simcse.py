"""SimCSE: Eqs. 4 and 5 against loops, dropout as the only augmentation, and what is kept out of the encoder."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.methods import SimCSE
from sentlab.training import TrainConfig, fit, set_dropout

SENTENCES = [
    "A young girl plays the guitar in a small village.",
    "Two dogs are running",
    "the old farmer sees a red car, a blue boat and the market by the river",
    "He is not in it.",
]
TRIPLES = [
    Triple("a dog runs in the garden", "an animal is running", "a dog sleeps"),
    Triple("the king reads a letter", "a man is reading", "the king sings a song in the house of the teacher"),
    Triple("a girl eats bread", "the child is eating", "nobody eats"),
]


@pytest.fixture
def make(small_encoder_folder: Path) -> Callable[..., SimCSE]:
    def build(pooling: str = "cls", **settings: float) -> SimCSE:
        torch.manual_seed(0)
        encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu")
        return SimCSE(encoder, **settings).train()

    return build


def without_dropout(method: SimCSE) -> SimCSE:
    set_dropout(method, 0.0)
    return method


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
def test_unsupervised_loss_equals_equation_4(make: Callable[..., SimCSE], pooling: str) -> None:
    method = make(pooling, temperature=0.1)
    batch = method.collate(SENTENCES)
    seen: list[Tensor] = []
    method.head.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    fast = method.loss(batch)["contrastive"].item()
    h = [with_head(method, vector) for vector in seen[0]]  # sentence i is row i and row 4 + i
    slow = 0.0
    for i in range(4):
        denominator = sum(math.exp(cosine(h[i], h[4 + j]) / 0.1) for j in range(4))
        slow -= math.log(math.exp(cosine(h[i], h[4 + i]) / 0.1) / denominator) / 4
    assert fast == pytest.approx(slow, abs=1e-5)
    assert cosine(h[0], h[4]) < 0.9999  # dropout made two vectors of one sentence


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_supervised_loss_equals_equation_5(make: Callable[..., SimCSE], pooling: str) -> None:
    method = without_dropout(make(pooling, temperature=0.2))
    fast = method.loss(method.collate(TRIPLES))["contrastive"].item()

    def vector(text: str) -> Tensor:
        return with_head(method, method.encoder(**method.encoder.tokenize([text]))[0])

    slow = 0.0
    for row in TRIPLES:
        anchor, denominator = vector(row.anchor), 0.0
        for other in TRIPLES:
            denominator += math.exp(cosine(anchor, vector(other.positive)) / 0.2)
            denominator += math.exp(cosine(anchor, vector(other.negative)) / 0.2)
        slow -= math.log(math.exp(cosine(anchor, vector(row.positive)) / 0.2) / denominator) / 3
    assert fast == pytest.approx(slow, abs=1e-5)


def test_batches_hold_each_view(make: Callable[..., SimCSE]) -> None:
    method = make()
    for rows, parts in ((SENTENCES, [SENTENCES] * 2), (TRIPLES, None)):
        parts = parts or [[r.anchor for r in TRIPLES], [r.positive for r in TRIPLES], [r.negative for r in TRIPLES]]
        batch = method.collate(rows)
        assert set(batch) == {"input_ids", "attention_mask"}
        for view, texts in enumerate(parts):
            for i, text in enumerate(texts):
                kept = batch["input_ids"][view, i][batch["attention_mask"][view, i].bool()].tolist()
                assert kept == method.encoder.tokenizer(text)["input_ids"]


def test_padding_changes_nothing(make: Callable[..., SimCSE]) -> None:
    method = without_dropout(make("mean"))
    batch = method.collate(TRIPLES)
    longer = {name: nn.functional.pad(tensor, (0, 5)) for name, tensor in batch.items()}
    assert torch.allclose(method.loss(batch)["contrastive"], method.loss(longer)["contrastive"], atol=1e-6)


def test_sentences_without_active_dropout_are_refused_and_triples_are_not(make: Callable[..., SimCSE]) -> None:
    for method in (without_dropout(make()), make().eval()):
        with pytest.raises(ValueError, match="set_dropout"):
            method.loss(method.collate(SENTENCES))
        assert method.loss(method.collate(TRIPLES))["contrastive"].item() > 0


def test_mlm_reads_the_corrupted_copy_and_is_weighted(make: Callable[..., SimCSE]) -> None:
    method = without_dropout(make(mlm=0.1))
    torch.manual_seed(0)
    batch = method.collate(TRIPLES)
    tokenizer, encoder = method.encoder.tokenizer, method.encoder
    never = torch.isin(batch["input_ids"], torch.tensor([tokenizer.cls_token_id, tokenizer.sep_token_id]))
    assert batch["chosen"].any()
    assert not (batch["chosen"] & (never | (batch["attention_mask"] == 0))).any()
    assert (batch["corrupted_ids"] != batch["input_ids"]).any()
    assert torch.equal(batch["corrupted_ids"][~batch["chosen"]], batch["input_ids"][~batch["chosen"]])
    slow, count = 0.0, 0
    for view, row, column in batch["chosen"].nonzero().tolist():
        ids, mask = batch["corrupted_ids"][view, row : row + 1], batch["attention_mask"][view, row : row + 1]
        logits = encoder.lm_head(encoder.hidden_states(ids, mask)[-1])[0, column]  # type: ignore[misc]
        slow -= torch.log_softmax(logits, 0)[batch["input_ids"][view, row, column]].item()
        count += 1
    losses = method.loss(batch)
    assert set(losses) == {"contrastive", "mlm"}
    assert losses["mlm"].item() == pytest.approx(0.1 * slow / count, abs=1e-5)


@pytest.mark.parametrize(
    ("rows", "settings"), [(TRIPLES, {}), (SENTENCES, {"mlm": 0.1}), (SENTENCES, {"pooling": "mean"})]
)
def test_fit_changes_encoder_and_head(make: Callable[..., SimCSE], rows: list, settings: dict) -> None:
    method = make(**settings)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    history = fit(method, rows * 3, TrainConfig(steps=5, batch_size=4, learning_rate=1e-3), progress=False)
    after = method.state_dict()
    for part in ("encoder.model.bert.encoder", *(["head"] if "pooling" not in settings else [])):
        assert all(not torch.equal(before[n], after[n]) for n in before if n.startswith(part) and "weight" in n), part
    assert set(history.losses[0]) == {"step", "contrastive", *(["mlm"] if "mlm" in settings else [])}
    assert not any("head" in name for name in method.encoder.state_dict() if "cls.predictions" not in name)


def test_the_head_is_only_for_cls_and_never_in_encode(make: Callable[..., SimCSE], small_encoder_folder: Path) -> None:
    assert isinstance(make("mean").head, nn.Identity)
    plain = Encoder.from_pretrained(small_encoder_folder, pooling="cls", device="cpu").encode(SENTENCES)
    assert (make("cls").encoder.encode(SENTENCES) == plain).all()
    assert abs(make("cls").head[0].weight.std().item() - 0.02) < 0.002  # type: ignore[index]


def test_loss_changes_no_state(make: Callable[..., SimCSE]) -> None:
    method = make(mlm=0.1)
    batch = method.collate(SENTENCES)
    copies = {name: tensor.clone() for name, tensor in batch.items()}
    state = {name: value.clone() for name, value in method.state_dict().items()}
    method.loss(batch)
    method.after_step()
    assert method.training
    assert all(torch.equal(value, state[name]) for name, value in method.state_dict().items())
    assert all(torch.equal(value, copies[name]) for name, value in batch.items())
