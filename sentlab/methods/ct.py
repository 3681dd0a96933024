"""Contrastive Tension: two copies of an encoder, trained apart, learn to agree on equal sentences and on no others.

Carlsson, Gyllensten, Gogoulou, Ylipää Hellqvist and Sahlgren (2021), "Semantic Re-tuning with Contrastive Tension".
Both copies start with the same weights and share none. The first encodes one sentence of a pair and the second the
other; their dot product is the logit of the two being the same sentence. A batch is made of groups, each with one
identical pair and a few pairs that are not. Dropout is off, as in the released code, so that nothing but the weights
sets the copies apart. Dot products are not scaled, and those of wide encoders are large from the start. Choose a small
learning rate (the released code goes down from 1e-5 to 2e-6).

Differs from the paper:
  - A group's other sentences come from the batch, not from the whole corpus. Each copy thus encodes a sentence once.
    With several processes, they come from the rows of the group's own process.
  - Sentences equal to the group's own are never drawn as its negatives.
  - The vectors come from the encoder's own pooling. The paper takes the mean over the tokens.

Differs from the released code:
  - It draws both sentences of a negative pair anew. Here, as in the paper's batches, the group's sentence is one.
  - It steps after every two groups of eight pairs, with RMSprop. Here a step has a group for each row of its batch.
  - It scores both copies on a dev set between epochs and saves the better one. Here `encoder` is always the second
    copy, which reads the negatives. You can score the first one, `twin`, as well.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.encoder.inference import distinct
from sentlab.training.losses import encode_in_parts


def tension_loss(first: Tensor, second: Tensor, negatives: Tensor) -> Tensor:
    """Compute the binary cross entropy of B groups of pairs, with the dot products as logits.

    `first` and `second`, (B, D), are what the two copies make of the same B sentences. `negatives`, (B, K), are numbers
    of the rows that each is paired with, too. Returns the mean over the B (1 + K) pairs, a float32 scalar in nats.

    Source: Carlsson et al. (2021), with the groups of its appendix A.1.
    """
    itself = torch.arange(len(negatives), device=negatives.device).unsqueeze(1)
    partners = second.float()[torch.cat([itself, negatives], dim=1)]  # (B, 1 + K, D)
    logits = (first.float().unsqueeze(1) * partners).sum(-1)  # (B, 1 + K)
    labels = torch.zeros_like(logits)
    labels[:, 0] = 1.0
    return F.binary_cross_entropy_with_logits(logits, labels)


class ContrastiveTension(nn.Module):
    """Trains `encoder` and a twin of it on plain sentences.

    Args:
        encoder: trained in place. It is the second copy, and the one to use afterwards.
        negatives: non-identical pairs for each identical one, the paper's K.

    Example:
        >>> method = sentlab.methods.ContrastiveTension(sentlab.Encoder.from_pretrained(pooling="mean"))
        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(self, encoder: Encoder, *, negatives: int = 7):
        super().__init__()
        if negatives < 1 or encoder.pooling == "pseudo":
            raise ValueError(f"negatives={negatives} must be at least 1; pseudo tokens are not trained: change pooling")
        self.encoder, self.negatives = encoder, negatives
        self.twin = Encoder(copy.deepcopy(encoder.model), encoder.tokenizer, encoder.pooling, encoder.max_length)
        self.train()

    def train(self, mode: bool = True) -> ContrastiveTension:
        """Set the mode as for any module, but keep both copies without dropout."""
        super().train(mode)
        self.encoder.eval()
        self.twin.eval()
        return self

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise B sentences, and draw negatives of each without repetition from torch's global generator.

        Gives `input_ids` and `attention_mask`, (B, L), and `negatives`, row numbers (B, K), on the encoder's device.
        """
        batch = self.encoder.tokenize(rows)
        number = torch.from_numpy(distinct(rows)[1])  # equal rows have the same
        same = number.unsqueeze(0) == number.unsqueeze(1)  # (B, B)
        others = int((~same).sum(1).min())
        if others < self.negatives:
            raise ValueError(f"negatives={self.negatives}, but a sentence has only {others} others in its batch")
        drawn = torch.rand(same.shape).masked_fill(same, -1.0).topk(self.negatives, dim=1).indices  # (B, K)
        return batch | {"negatives": drawn.to(self.encoder.device)}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `contrastive`: the paper's binary cross entropy, averaged over all pairs."""
        tokens = batch["input_ids"], batch["attention_mask"]
        first, _ = encode_in_parts(self.twin, *tokens)  # (B, D)
        second, _ = encode_in_parts(self.encoder, *tokens)  # (B, D)
        return {"contrastive": tension_loss(first, second, batch["negatives"])}

    def after_step(self) -> None: ...  # nothing changes between steps
