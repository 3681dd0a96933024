"""SimCSE: a sentence encoded twice with different dropout is the positive pair; the batch holds the negatives.

Gao, Yao and Chen (2021), "SimCSE: Simple Contrastive Learning of Sentence Embeddings". In the unsupervised mode
(Eq. 4), dropout is a sentence's only augmentation. In the supervised mode (Eq. 5), an anchor's positive is a sentence
that follows from it. Sentences that contradict one of the batch's anchors are further negatives.

Differs from the paper:
  - The linear and tanh head on [CLS] is used in training only, in both modes. The paper drops it at test for the
    unsupervised model only. Other poolings have no head.

Differs from the released code:
  - It keeps the head of supervised models at test. Here `SimCSE.encoder` never contains it.
  - It can weight an anchor's own hard negative, but does not by default. Here there is no such weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.text.views import View, viewed
from sentlab.training.losses import corrupt, encode_in_parts, info_nce, masked_lm_loss
from sentlab.training.processes import own_first
from sentlab.training.randomness import dropout_of


class SimCSE(nn.Module):
    """Trains `encoder` on plain sentences (unsupervised) or on `Triple` rows (supervised).

    Args:
        encoder: trained in place. Its pooling makes the sentence vectors. With the pooling "cls", a linear and tanh
            `head` follows in training. It is no part of `encoder`.
        temperature: what cosines are divided by; 0.05 in the paper.
        mlm: weight of an auxiliary masked-language-model loss. The paper uses 0.1.
        view: (words, random numbers) -> words, the second copy of a plain sentence, drawn anew each time. None leaves
            the sentence unchanged. Table 1 of the paper has crops and deletions.

    Example:
        >>> method = sentlab.methods.SimCSE(sentlab.Encoder.from_pretrained())
        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(self, encoder: Encoder, *, temperature: float = 0.05, mlm: float = 0.0, view: View | None = None):
        super().__init__()
        if mlm:
            encoder.require("mask")
        self.encoder, self.temperature, self.mlm, self.view = encoder, temperature, mlm, view
        self.head = cls_head(encoder)
        self.to(encoder.device)

    def collate(self, rows: Sequence[Any]) -> dict[str, Tensor]:
        """Tokenise B sentences or triples.

        Gives `input_ids` and `attention_mask`, (2, B, L) for sentences, each twice, and (3, B, L) for triples: anchors,
        positives, negatives. With `mlm` also `corrupted_ids` and `chosen`, of the same shape.
        """
        if isinstance(rows[0], Triple):
            if self.view is not None:
                raise ValueError("a view is the second copy of a plain sentence, and a Triple has none: pass view=None")
            batch = tokenize_triples(self.encoder, rows)
        else:
            second = rows if self.view is None else viewed(rows, self.view)
            batch = _stack(self.encoder.tokenize([*rows, *second]), 2)
        if self.mlm:
            batch["corrupted_ids"], batch["chosen"] = corrupt(batch["input_ids"], self.encoder.tokenizer)
        return batch

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `contrastive`, Eq. 4 for sentences and Eq. 5 for triples, and `mlm` where asked for."""
        copies, count = batch["input_ids"].shape[:2]
        ids, mask = batch["input_ids"].flatten(0, 1), batch["attention_mask"].flatten(0, 1)  # (copies * B, L) each
        dropout = self.encoder.training and any(dropout_of(self.encoder.backbone).values())
        if copies == 2 and self.view is None and not dropout:
            raise ValueError("without dropout the copies are equal: use sentlab.training.set_dropout or another method")
        vectors, _ = encode_in_parts(self.encoder, ids, mask)  # each row gets a dropout mask of its own
        h = self.head(vectors)  # (copies * B, D)
        losses = {"contrastive": info_nce(h[:count], own_first(h[count:]), self.temperature)}
        if self.mlm:
            _, hidden = encode_in_parts(self.encoder, batch["corrupted_ids"].flatten(0, 1), mask)
            chosen = batch["chosen"].flatten(0, 1)
            losses["mlm"] = self.mlm * masked_lm_loss(self.encoder.require(), hidden, ids, chosen)
        return losses

    def counts(self, batch: dict[str, Tensor]) -> dict[str, int]:
        """Count the masked tokens, over which `mlm` is a mean."""
        return {"mlm": int(batch["chosen"].sum())} if self.mlm else {}

    def after_step(self) -> None: ...  # nothing changes between steps


def tokenize_triples(encoder: Encoder, rows: Sequence[Triple]) -> dict[str, Tensor]:
    """Tokenise anchors, positives and negatives: `input_ids` and `attention_mask`, (3, B, L) each."""
    texts = [getattr(row, part) for part in ("anchor", "positive", "negative") for row in rows]
    return _stack(encoder.tokenize(texts), 3)


def _stack(tokens: dict[str, Tensor], copies: int) -> dict[str, Tensor]:
    """(copies * B, L) -> (copies, B, L)."""
    return {name: tensor.unflatten(0, (copies, -1)) for name, tensor in tokens.items()}


def cls_head(encoder: Encoder) -> nn.Module:
    """Make what follows the pooling in training, (B, D) -> (B, D): for "cls" a linear layer and tanh, else nothing."""
    if encoder.pooling != "cls":
        return nn.Identity()
    dim = encoder.backbone.config.hidden_size  # `post`, which training leaves out, may shrink what `encode` returns
    linear = nn.Linear(dim, dim, dtype=torch.float32)
    nn.init.normal_(linear.weight, std=0.02)  # as BERT's own layers start
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh())
