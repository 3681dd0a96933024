"""An encoder of angles, for scores that a reader can work out by hand."""

from __future__ import annotations

import numpy as np


class Angles:
    """Encodes the text "30" as the unit vector at 30 degrees, and remembers what it was asked."""

    def __init__(self, dtype: type = np.float32) -> None:
        self.calls: list[list[str]] = []
        self.dtype = dtype

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        degrees = np.deg2rad([float(text) for text in texts])
        return np.stack([np.cos(degrees), np.sin(degrees)], axis=1).astype(self.dtype)
