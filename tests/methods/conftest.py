"""Methods on a small encoder, the same weights every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from trained import Make

from sentlab.encoder import Encoder
from sentlab.training import set_dropout


@pytest.fixture
def make(small_encoder_folder: Path) -> Make:
    """(class, its settings) -> the method in training mode, without dropout unless one asks."""

    def build(kind: Any, pooling: str = "cls", *, max_length: int = 64, dropout: float = 0.0, **settings: Any) -> Any:
        torch.manual_seed(0)
        encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=max_length, device="cpu")
        method = kind(encoder, **settings).train()
        set_dropout(method, dropout)
        return method

    return build
