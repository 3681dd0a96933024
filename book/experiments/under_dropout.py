"""An encoder as its training sees it: with dropout on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sentlab.encoder import Encoder
from sentlab.encoder.inference import checked
from sentlab.training import randomness
from sentlab.training.randomness import set_dropout

BATCH = 64


class UnderDropout:
    """Encodes with dropout on, as a training step does, so that one can see what is left of the vectors.

    An encoder that was pre-trained without dropout may lose nearly all that it knows. Training at that rate then
    starts from the worse vectors.

    Args:
        encoder: stays as it is; a copy is used.
        p: the probability of every dropout, at least 0 and below 1.
        seed: of the dropout masks. The same seed gives the same vectors.

    Raises:
        ValueError: p is out of range.

    Example:
        >>> noisy = UnderDropout(sentlab.Encoder.from_pretrained(), 0.1)
        >>> result = sentlab.evaluate_sts(noisy, pairs, progress=False)
    """

    def __init__(self, encoder: Encoder, p: float, *, seed: int = 0) -> None:
        self.encoder, self.seed = copy.deepcopy(encoder), seed
        set_dropout(self.encoder, p)

    def encode(self, texts: Sequence[str], **_: Any) -> np.ndarray:
        """Encode texts to vectors (N, D), float32, in order, each after the encoder's default prompt.

        Further arguments of `Encoder.encode` are ignored.
        """
        texts = checked(texts)
        self.encoder.train()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors = np.zeros((len(texts), self.encoder.dim), dtype=np.float32)
        with randomness.kept(), torch.no_grad():
            randomness.set_seed(self.seed)
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                batch = self.encoder.tokenize(self.encoder.prompt + texts[i] for i in rows)
                vectors[rows] = self.encoder(batch["input_ids"], batch["attention_mask"]).float().cpu().numpy()
        return vectors
