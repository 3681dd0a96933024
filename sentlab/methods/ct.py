"""Contrastive Tension: two copies of an encoder, trained apart, learn to agree on equal sentences and on no others.

Carlsson, Gyllensten, Gogoulou, Ylipää Hellqvist and Sahlgren (2021), "Semantic Re-tuning with Contrastive Tension".
Both copies start with the same weights and share none. The first encodes one sentence of a pair and the second the
other; their dot product is the logit of the two being the same sentence. A batch is made of groups, each with one
identical pair and a few pairs that are not. Dropout is off, as in the released code, so that nothing but the weights
sets the copies apart. Dot products are not scaled, and those of wide encoders are large from the start: learn slowly
(the released code goes down from 1e-5 to 2e-6).

Differs from the paper:
  - A group's other sentences are drawn from the batch, so that each copy encodes a batch's sentences once, rather than
    from the whole corpus.
  - Sentences equal to the group's own are never drawn as its negatives.
  - The vectors come from the encoder's own pooling; the paper takes the mean over the tokens.

Differs from the released code:
  - It draws both sentences of a negative pair anew; here, as in the paper's batches, the group's sentence is one.
  - It steps after every two groups of eight pairs, with RMSprop; here after as many groups as there are rows, with
    whatever optimiser trains the method.
  - It scores both copies on a dev set between epochs and saves the better one. Here `encoder` is always the second
    copy, the one that meets the negatives, and `twin` the first, which can be scored as well.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.encoder import Encoder


def tension_loss(first: Tensor, second: Tensor, negatives: Tensor) -> Tensor:
    """Binary cross entropy of B groups of pairs, with the dot products as logits.

    Args:
        first: vectors of the B sentences from the first copy, (B, D).
        second: vectors of the same sentences from the second copy, (B, D).
        negatives: for each sentence which others are paired with it, row numbers (B, K).

    Returns:
        The mean over the B (1 + K) pairs, a float32 scalar in nats.

    Source: Carlsson et al. (2021), with the groups of its appendix A.1.
    """
    own = torch.arange(len(negatives), device=negatives.device).unsqueeze(1)
    partners = second.float()[torch.cat([own, negatives], dim=1)]  # (B, 1 + K, D)
    logits = (first.float().unsqueeze(1) * partners).sum(-1)  # (B, 1 + K)
    labels = torch.zeros_like(logits)
    labels[:, 0] = 1.0
    return F.binary_cross_entropy_with_logits(logits, labels)


class ContrastiveTension(nn.Module):
    """Trains `encoder` and a twin of it on plain sentences.

    Args:
        encoder: trained in place; the second copy, and the one to use afterwards.
        negatives: non-identical pairs for each identical one (the paper's K).

    Raises:
        ValueError: `negatives` below 1.
    """

    def __init__(self, encoder: Encoder, *, negatives: int = 7):
        super().__init__()
        if negatives < 1:
            raise ValueError(f"negatives must be at least 1, got {negatives}")
        self.encoder, self.negatives = encoder, negatives
        self.twin = Encoder(copy.deepcopy(encoder.model), encoder.tokenizer, encoder.pooling, encoder.max_length)
        self.train()

    def train(self, mode: bool = True) -> ContrastiveTension:
        """As for any module, but both copies stay without dropout."""
        super().train(mode)
        self.encoder.eval()
        self.twin.eval()
        return self

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise, and draw the negatives of each sentence without repetition from torch's global generator.

        Args:
            rows: B plain sentences.

        Returns:
            `input_ids` and `attention_mask`, (B, L), and `negatives`, row numbers (B, K), on the encoder's device.

        Raises:
            TypeError: one string, or a row that is not one.
            ValueError: fewer than K other sentences in the batch for one of its rows.
        """
        batch = self.encoder.tokenize(rows)
        numbers: dict[str, int] = {}
        number = torch.tensor([numbers.setdefault(row, len(numbers)) for row in rows])
        same = number.unsqueeze(0) == number.unsqueeze(1)  # (B, B)
        others = int((~same).sum(1).min()) if len(rows) else 0
        if others < self.negatives:
            raise ValueError(
                f"negatives={self.negatives}, but a sentence has only {others} others in this batch of {len(rows)}: "
                "make the batch larger or negatives smaller"
            )
        drawn = torch.rand(same.shape).masked_fill(same, -1.0).topk(self.negatives, dim=1).indices  # (B, K)
        return {**batch, "negatives": drawn.to(self.encoder.device)}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """`contrastive`: the paper's binary cross entropy, averaged over all pairs."""
        tokens = batch["input_ids"], batch["attention_mask"]
        return {"contrastive": tension_loss(self.twin(*tokens), self.encoder(*tokens), batch["negatives"])}

    def after_step(self) -> None:
        """Nothing changes between steps."""
