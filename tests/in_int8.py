"""What an encoder becomes when a page holds its weights in int8."""

from __future__ import annotations

import copy

import numpy as np
import torch

from sentlab.encoder import Encoder
from sentlab.report.page import quantised


def rounded(encoder: Encoder) -> Encoder:
    """The encoder with the matrices that its script holds."""
    own = copy.deepcopy(encoder)
    with torch.no_grad():
        for name, weight in own.backbone.named_parameters():
            if weight.ndim == 2 and "token_type" not in name and "position" not in name:
                values, scales = quantised(weight)
                weight.copy_(torch.from_numpy(values.astype(np.float32) * scales[:, None]))
        places, kinds = (
            own.backbone.get_parameter(f"embeddings.{x}_embeddings.weight") for x in ("position", "token_type")
        )
        values, scales = quantised(places + kinds[0])
        places.copy_(torch.from_numpy(values.astype(np.float32) * scales[:, None]) - kinds[0])
    return own
