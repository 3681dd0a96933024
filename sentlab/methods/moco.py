"""MoCo: contrast with a queue of vectors from a slowly moving copy of the encoder.

He, Fan, Wu, Xie and Girshick (2020), "Momentum Contrast for Unsupervised Visual Representation Learning", as PT-BERT
uses it for sentences ("MoCo-BERT", Eqs. 4 and 5). The trained encoder makes a sentence's query. The momentum encoder,
whose weights follow slowly, makes its positive and all negatives. The negatives are the momentum vectors (MoCo's keys)
of the batch's other sentences and, from a queue, of earlier batches: more negatives, which cost no encoding.

Differs from the paper:
  - PT-BERT does not say what share of the words a view changes. Here each view has its own rate (`sentlab.text.views`).
  - Eq. 4's M vectors are the queue as it will be with this batch: the batch's vectors, then the newest earlier ones.
    A slot that was never filled is no negative. In MoCo, a new queue holds random vectors.

Differs from the released code:
  - MoCo's code takes all negatives from the queue, and pushes vectors into it inside `forward`. Here those of the batch
    are among the negatives from the first step on. The queue changes in `after_step` alone.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.methods.simcse import cls_head
from sentlab.text.views import View, viewed
from sentlab.training.losses import encode_in_parts, info_nce
from sentlab.training.processes import of_all_processes


class Queue(nn.Module):
    """The last `size` vectors that were put in: a ring buffer that knows how many there ever were."""

    vectors: Tensor
    pushed: Tensor

    def __init__(self, size: int, dim: int):
        super().__init__()
        self.size = size
        self.register_buffer("vectors", torch.zeros(size, dim, dtype=torch.float32))
        self.register_buffer("pushed", torch.zeros((), dtype=torch.long))

    def push(self, vectors: Tensor) -> None:
        """Put in (N, D), over the oldest; of more than `size` the last ones stay."""
        slots = (self.pushed + torch.arange(len(vectors), device=self.pushed.device))[-self.size :] % self.size
        self.vectors[slots] = vectors[-self.size :].detach().to(self.vectors.dtype)
        self.pushed += len(vectors)

    def newest(self, count: int) -> Tensor:
        """Return up to `count` vectors, the oldest of them first, (at most `count`, D)."""
        end = int(self.pushed)
        held = max(0, min(count, self.size, end))
        return self.vectors[torch.arange(end - held, end, device=self.vectors.device) % self.size]


class MoCo(nn.Module):
    """Trains `encoder` on plain sentences.

    Args:
        encoder: trained in place, with the pooling that it has when MoCo is made. A `head` follows, as in `SimCSE`.
        queue_size: M of Eq. 4. A query is compared with so many momentum vectors, the batch's, all of these, included.
        momentum: lambda of Eq. 5, in [0, 1). The momentum encoder keeps this share of its weights in a step.
        temperature: what cosines are divided by, as in SimCSE; the two above are PT-BERT's (§4.2).
        view: (words, random numbers) -> words, the sentence as the momentum encoder reads it, drawn anew each time
            (PT-BERT, Table 3). None leaves the sentence unchanged.

    Example:
        >>> method = sentlab.methods.MoCo(sentlab.Encoder.from_pretrained(), queue_size=32)
        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        queue_size: int = 256,
        momentum: float = 0.885,
        temperature: float = 0.05,
        view: View | None = None,
    ):
        super().__init__()
        self.encoder, self.momentum, self.temperature, self.view = encoder, momentum, temperature, view
        self.pooling = encoder.pooling  # of training; the encoder's own may be changed for use
        self.head = cls_head(encoder)
        self.momentum_encoder, self.momentum_head = copy.deepcopy((encoder, self.head))
        self.momentum_encoder.requires_grad_(False)
        self.momentum_encoder.post = None  # as `fit` wants of the encoder
        self.momentum_head.requires_grad_(False)
        self.queue = Queue(queue_size, encoder.model.config.hidden_size)
        self._coming: list[Tensor] = []  # momentum vectors of this step's batch, or of its parts
        self.to(encoder.device)

    def train(self, mode: bool = True) -> MoCo:
        """Set the mode as for any module, and forget the vectors of losses that no step followed."""
        super().train(mode)
        self._coming.clear()
        return self

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise B sentences, (B, L), and with a view what the momentum encoder reads of them, `view_...` (B, L')."""
        batch = self.encoder.tokenize(rows)
        if self.view is not None:
            other = self.encoder.tokenize(viewed(rows, self.view))
            batch |= {f"view_{name}": tensor for name, tensor in other.items()}
        return batch

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `contrastive`, Eq. 4. In training mode the batch's momentum vectors wait for `after_step`."""
        vectors, _ = encode_in_parts(self.encoder, batch["input_ids"], batch["attention_mask"], self.pooling)
        h = self.head(vectors)  # (B, D)
        prefix = "view_" if self.view is not None else ""
        tokens = batch[f"{prefix}input_ids"], batch[f"{prefix}attention_mask"]
        with torch.no_grad():
            vectors, _ = encode_in_parts(self.momentum_encoder, *tokens, self.pooling)
            momentum_h = self.momentum_head(vectors).float()  # (B, D)
            coming = of_all_processes(momentum_h)
            others = [theirs for theirs in coming if theirs is not momentum_h]
            earlier = self.queue.newest(self.queue.size - len(coming) * len(momentum_h))
        if self.training:
            self._coming.append(torch.stack(coming, dim=1).flatten(0, 1))  # in the order of the whole batch
        return {"contrastive": info_nce(h, torch.cat([momentum_h, *others, earlier]), self.temperature)}

    @torch.no_grad()
    def after_step(self) -> None:
        """Update the momentum weights (Eq. 5), and put the batch's momentum vectors into the queue."""
        for online, slow in ((self.encoder, self.momentum_encoder), (self.head, self.momentum_head)):
            for theta_q, theta_k in zip(online.parameters(), slow.parameters(), strict=True):
                theta_k.lerp_(theta_q, 1 - self.momentum)
        for vectors in self._coming:
            self.queue.push(vectors)
        self._coming.clear()
