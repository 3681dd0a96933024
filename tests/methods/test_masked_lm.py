"""Masked-LM on sentences: the loss against a loop over masked tokens, and training that lowers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentlab.encoder import Encoder
from sentlab.methods import MaskedLM
from sentlab.training import TrainConfig, fit, set_dropout, set_seed

SENTENCES = ["A young girl plays the guitar.", "Two dogs are running by the river and the road.", "He is in it."]


@pytest.fixture
def method(small_encoder_folder: Path) -> MaskedLM:
    return MaskedLM(Encoder.from_pretrained(small_encoder_folder, device="cpu"))


def test_the_loss_is_the_mean_over_the_masked_tokens(method: MaskedLM) -> None:
    set_seed(3)
    batch = method.eval().collate(SENTENCES * 3)
    assert 0 < batch["chosen"].sum() < batch["attention_mask"].sum()
    hidden = method.encoder.hidden_states(batch["corrupted_ids"], batch["attention_mask"])[-1]
    assert method.encoder.lm_head is not None
    losses = []
    for row, place in batch["chosen"].nonzero().tolist():
        logits = method.encoder.lm_head(hidden[row, place][None])[0]
        losses.append(-logits.log_softmax(-1)[batch["input_ids"][row, place]].item())
    assert method.loss(batch)["mlm"].item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_only_words_are_masked(method: MaskedLM) -> None:
    set_seed(0)
    batch = method.collate(SENTENCES * 20)
    tokenizer = method.encoder.tokenizer
    assert set(batch["input_ids"][batch["chosen"]].tolist()).isdisjoint(tokenizer.all_special_ids)
    unchanged = batch["corrupted_ids"] == batch["input_ids"]
    assert unchanged[~batch["chosen"]].all()
    assert not unchanged[batch["chosen"]].all()


def test_training_lowers_the_loss(method: MaskedLM) -> None:
    set_dropout(method, 0.0)
    history = fit(method, SENTENCES * 8, TrainConfig(steps=40, batch_size=8, learning_rate=3e-3), progress=False)
    assert history.losses[-1]["mlm"] < 0.7 * history.losses[0]["mlm"]
