"""Post-processing baselines: BERT-whitening and BERT-flow behind an encoder that stays as it is.

The two maps, their papers and how they differ from those stand in `sentlab.encoder.vector_maps`; this puts them to work.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch

from sentlab.encoder import Encoder
from sentlab.encoder.vector_maps import Flow, Whitening

__all__ = ["Flow", "Whitening", "postprocessed"]


def postprocessed(encoder: Encoder, kind: Whitening | Flow, sentences: Sequence[str]) -> Encoder:
    """An encoder whose pooled vectors go through a whitening or a flow that was fitted to unlabelled sentences.

    Args:
        encoder: stays as it is; a `post` that it has is left out. The result shares its model, so fit again after
            training that.
        kind: `Whitening(...)` or `Flow(...)`; a copy of it is fitted.
        sentences: N texts, encoded once. A text that occurs twice counts twice.

    Raises:
        ValueError: the vectors are too few or too alike; see `Whitening.fit` and `Flow.fit`.
    """
    plain = Encoder(encoder.model, encoder.tokenizer, encoder.pooling, encoder.max_length, pseudo=encoder.pseudo)
    vectors = torch.from_numpy(plain.encode(sentences)).to(encoder.device)  # (N, D)
    plain.post = copy.deepcopy(kind).fit(vectors)
    return plain
