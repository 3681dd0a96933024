"""Every trained method, made small, with rows that it takes; and an encoder of angles, for scores one can work out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from experiments import controls
from torch import nn

from sentlab import methods
from sentlab.data.rows import LabelledPair, PhrasePair, Triple
from sentlab.encoder import Encoder
from sentlab.methods.universal import task_rows
from sentlab.text.views import random_swap
from sentlab.training import set_dropout

Make = Callable[..., Any]  # the fixture `make`
SENTENCES = [
    "A young girl plays the guitar in a small village.", "Two dogs are running",
    "the old farmer sees a red car and the market by the river", "The doctor reads a letter to the sad king!",
]  # fmt: skip
EIGHT = [*SENTENCES, "He is not in it.", "the king reads a letter", "a child eats bread by the road", "who runs?"]
TRIPLES = [Triple(SENTENCES[i], SENTENCES[i - 1], SENTENCES[i - 2]) for i in range(4)]
PAIRS = [LabelledPair(SENTENCES[i], SENTENCES[i - 1], "neutral") for i in range(4)]
FILLED = {"targets": -100, "units": -1, "query_units": -1}  # what padding holds, where it is not 0
PHRASES = [PhrasePair(a, b, "equivalence", 1.0) for a, b in (("a big dog", "a dog"), ("the king", "a king"))]

# name -> pooling of the encoder, encoder -> method, rows
METHODS: dict[str, tuple[str, Callable[[Encoder], nn.Module], Sequence[Any]]] = {
    "ConSERT": ("cls", methods.ConSERT, SENTENCES),
    "ContrastiveTension": ("cls", lambda encoder: methods.ContrastiveTension(encoder, negatives=2), SENTENCES),
    "MaskedLM": ("cls", methods.MaskedLM, SENTENCES),
    "MoCo": ("cls", lambda encoder: methods.MoCo(encoder, queue_size=8), SENTENCES),
    "PTBERT": ("cls", lambda encoder: methods.PTBERT(encoder, pseudo_tokens=5, queue_size=8), SENTENCES),
    "PaSeR": ("cls", lambda encoder: methods.PaSeR(encoder, decoder_layers=2), SENTENCES),
    "SLICE": ("mean", methods.SLICE, TRIPLES),
    "SLICE, in batch": ("mean", lambda encoder: methods.SLICE(encoder, in_batch=True), TRIPLES),
    "SimCSE": ("cls", methods.SimCSE, TRIPLES),
    "SimCSE, view": ("mean", lambda encoder: methods.SimCSE(encoder, mlm=0.1, view=random_swap), SENTENCES),
    "StartEnd": ("mean", controls.StartEnd, TRIPLES),
    "WholePassage": ("mean", controls.WholePassage, TRIPLES),
    "SupervisedPaSeR": ("cls", lambda encoder: methods.SupervisedPaSeR(encoder, decoder_layers=1), TRIPLES),
    "Universal": (
        "mean",
        lambda encoder: methods.Universal(encoder, negatives=1, paraphrases=PHRASES),
        task_rows(nli=PAIRS, pi=PHRASES, ptc=PHRASES),
    ),
}


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


class Angles:
    """Encodes the text "30" as the unit vector at 30 degrees, and remembers what it was asked."""

    def __init__(self, dtype: type = np.float32) -> None:
        self.calls: list[list[str]] = []
        self.dtype = dtype

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        degrees = np.deg2rad([float(text) for text in texts])
        return np.stack([np.cos(degrees), np.sin(degrees)], axis=1).astype(self.dtype)
