"""What dropout leaves of encoders before they are trained: the first thing to measure before a method is blamed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from sentlab.encoder import Encoder
from sentlab.encoder.inference import strings
from sentlab.evaluation import evaluate_sts
from sentlab.methods import MaskedLM
from sentlab.training import randomness
from sentlab.training.randomness import set_dropout
from tqdm import tqdm

from experiments.records import Notes, Record, Typed
from experiments.run import EncoderSettings

BATCH = 64


class UnderDropout:
    """Encodes with dropout on, as a training step does, so that one can see what is left of the vectors.

    An encoder pre-trained without dropout may lose nearly all that it knows, and training then starts from there. A
    copy of the encoder gets the probability `p` of every dropout, in [0, 1). The same `seed` gives the same vectors.

    Example:
        >>> noisy = UnderDropout(sentlab.Encoder.from_pretrained(), 0.1)
        >>> result = sentlab.evaluate_sts(noisy, pairs, progress=False)
    """

    def __init__(self, encoder: Encoder, p: float, *, seed: int = 0) -> None:
        self.encoder, self.seed = copy.deepcopy(encoder), seed
        set_dropout(self.encoder, p)

    def encode(self, texts: Sequence[str], **_: Any) -> np.ndarray:
        """Encode texts to vectors (N, D), float32, in order, each after the encoder's default prompt."""
        texts = list(strings(texts))
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


class DropoutSettings(Typed):
    """What dropout leaves of encoders that are not trained: their score on STS, and their loss in masked-LM."""

    encoders: dict[str, EncoderSettings] = Field(min_length=1)  # name -> encoder
    poolings: list[str] = Field(min_length=1)  # of each
    rates: list[Annotated[float, Field(ge=0, lt=1)]] = Field(min_length=1)  # probabilities of dropout; 0 is none
    corpus: str  # pairs, of which the `dev` split is scored; its distinct first texts are masked
    seeds: list[int] = Field(min_length=1)  # of the dropout, and of what is masked


class DropoutRecord(Record):
    """Its results: encoder -> `masked_lm`, losses without dropout, and `scores`, pooling -> probability -> numbers.

    A number for each seed: nats per masked token, and Spearman x 100.
    """

    settings: DropoutSettings

    def table(self, pooling: str) -> pd.DataFrame:
        """Compute the mean score over seeds, a row per encoder and a column per probability."""
        scores = {name: own["scores"][pooling] for name, own in self.results["encoders"].items()}
        return pd.DataFrame({name: {float(p): fmean(x) for p, x in own.items()} for name, own in scores.items()}).T


def dropout(record: DropoutRecord) -> DropoutRecord:
    """Score each encoder at each rate, and write the scores into the record."""
    notes, settings = Notes(), record.settings
    corpus = notes.load(settings.corpus, "dev")
    texts = list(dict.fromkeys(pair.text_a for pair in corpus))
    measured: dict[str, Any] = {}
    for name, source in tqdm(settings.encoders.items(), desc="encoders", unit=" encoders"):
        encoder = Encoder.from_pretrained(**source.model_dump(exclude_unset=True))
        scores: dict[str, dict[str, list[float]]] = {}
        for pooling in settings.poolings:
            encoder.pooling = pooling
            for p in settings.rates:
                noisy = [UnderDropout(encoder, p, seed=seed) for seed in settings.seeds]
                averages = [evaluate_sts(one, corpus, progress=False).average for one in noisy]
                scores.setdefault(pooling, {})[str(p)] = [round(average, 3) for average in averages]
        seeds = settings.seeds if encoder.lm_head is not None else []
        losses = [masked_lm(encoder, texts, seed) for seed in seeds]
        measured[name] = ({"masked_lm": losses} if losses else {}) | {"scores": scores}
    return record.finish({"encoders": measured}, notes)


def masked_lm(encoder: Encoder, texts: Sequence[str], seed: int) -> float:
    """Compute the mean loss over the masked tokens of the texts, in nats, without dropout."""
    method = MaskedLM(encoder).eval()
    total, tokens = 0.0, 0
    with randomness.kept(), torch.no_grad():
        randomness.set_seed(seed)
        for start in range(0, len(texts), BATCH):
            batch = method.collate(texts[start : start + BATCH])
            count = int(batch["chosen"].sum())
            total += float(method.loss(batch)["mlm"]) * count
            tokens += count
    return round(float(np.divide(total, tokens)), 4)
