"""What dropout leaves of encoders before they are trained: the first thing to measure before a method is blamed.

python -m experiments dropout book/results/NAME.json ... [--again]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sentlab.data import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate_sts
from sentlab.methods import MaskedLM
from sentlab.training import randomness
from tqdm import tqdm

from experiments import records
from experiments import results_rows as found
from experiments.notes import Notes
from experiments.records import DropoutRecord
from experiments.results import Number
from experiments.under_dropout import UnderDropout

BATCH = 64


def dropout(path: Path) -> DropoutRecord:
    """Score each encoder at each rate, and write the scores into the record.

    Raises:
        FileNotFoundError: an encoder or the corpus is not there; says which.
    """
    record, notes, began = records.read_as(DropoutRecord, path), Notes(), time.monotonic()
    settings = record.settings
    corpus: Corpus[ScoredPair] = notes.load(settings.corpus, "dev")
    texts = list(dict.fromkeys(pair.text_a for pair in corpus))
    measured = {}
    for name, own in tqdm(settings.encoders.items(), desc="encoders", unit=" encoders"):
        encoder = Encoder.from_pretrained(**own.model_dump(exclude_unset=True))
        scores: dict[str, dict[float, list[Number]]] = {}
        for pooling in settings.poolings:
            encoder.pooling = pooling
            scores[pooling] = {
                p: [
                    round(evaluate_sts(UnderDropout(encoder, p, seed=seed), corpus, progress=False).average, 3)
                    for seed in settings.seeds
                ]
                for p in settings.rates
            }
        losses = [masked_lm(encoder, texts, seed) for seed in settings.seeds] if encoder.lm_head is not None else None
        measured[name] = found.UnderDropout(masked_lm=losses, scores=scores)
    record.results = found.DropoutResults(encoders=measured)
    record.provenance = notes.provenance(records.command_of(record, path), time.monotonic() - began)
    record.save(path)
    return record


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
