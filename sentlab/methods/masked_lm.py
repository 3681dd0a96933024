"""Masked-language modelling on sentences: the control of every method that also sees new texts.

Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", section 3.1.
There is no objective on the sentence vector. What a method gains over it is not due to more steps on these texts.

Differs from the paper:
  - There is no next-sentence prediction, and a row is one sentence, not a block of text.
  - An [UNK] is never masked, here as in SimCSE and in pre-training, but PaSeR may mask one.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.training.losses import corrupt, encode_in_parts, masked_lm_loss


class MaskedLM(nn.Module):
    """Trains `encoder` and its masked-LM head on plain sentences.

    Example:
        >>> method = sentlab.methods.MaskedLM(sentlab.Encoder.from_pretrained())
        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(self, encoder: Encoder):
        super().__init__()
        encoder.require("mask")
        self.encoder = encoder

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise B sentences and mask them: `input_ids`, `attention_mask`, `corrupted_ids`, `chosen`, (B, L) each."""
        batch = self.encoder.tokenize(rows)
        batch["corrupted_ids"], batch["chosen"] = corrupt(batch["input_ids"], self.encoder.tokenizer)
        return batch

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `mlm`, in nats per masked token."""
        _, hidden = encode_in_parts(self.encoder, batch["corrupted_ids"], batch["attention_mask"])
        return {"mlm": masked_lm_loss(self.encoder.require(), hidden, batch["input_ids"], batch["chosen"])}

    def counts(self, batch: dict[str, Tensor]) -> dict[str, int]:
        """Count the masked tokens, over which `mlm` is a mean."""
        return {"mlm": int(batch["chosen"].sum())}

    def after_step(self) -> None: ...  # nothing changes between steps
