"""Masked-LM on sentences: the loss against a loop over masked tokens, and which tokens are masked."""

from __future__ import annotations

import pytest
from trained import SENTENCES, Make

from sentlab.methods import MaskedLM


def test_the_loss_is_the_mean_over_the_masked_words(make: Make) -> None:
    method = make(MaskedLM)
    batch = method.collate(SENTENCES * 3)
    hidden = method.encoder.hidden_states(batch["corrupted_ids"], batch["attention_mask"])[-1]
    losses = []
    for row, place in batch["chosen"].nonzero().tolist():
        logits = method.encoder.lm_head(hidden[row, place][None])[0]
        losses.append(-logits.log_softmax(-1)[batch["input_ids"][row, place]].item())
    assert method.loss(batch)["mlm"].item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    masked = set(batch["input_ids"][batch["chosen"]].tolist())
    assert masked.isdisjoint(method.encoder.tokenizer.all_special_ids)
    unchanged = batch["corrupted_ids"] == batch["input_ids"]
    assert unchanged[~batch["chosen"]].all()
    assert not unchanged[batch["chosen"]].all()
