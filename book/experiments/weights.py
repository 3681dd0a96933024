"""Which weights an encoder has, by a short name: what a record began with, and what is there now."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import torch
from sentlab.encoder import Encoder
from sentlab.encoder.storage import BUNDLED

from experiments.static import BagOfWords, StaticEncoder, load


def weights_fingerprint(encoder: Encoder | StaticEncoder | BagOfWords) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the backbone's weights, or of what has no layers."""
    weights: Any = encoder.backbone if isinstance(encoder, Encoder) else encoder
    digest = hashlib.sha256()
    for name, value in sorted(weights.state_dict().items()):
        digest.update(name.encode() + torch.as_tensor(value).detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def fingerprint_now(source: str) -> str | None:
    """Return the `weights_fingerprint` of a bundled encoder or of a folder; None for others, and if it is gone."""
    if source in BUNDLED:
        return _fingerprint_of_bundled(source)
    return weights_fingerprint(load({"source": source})) if Path(source).is_dir() else None


@cache
def _fingerprint_of_bundled(name: str) -> str:
    return weights_fingerprint(Encoder.from_pretrained(name))
