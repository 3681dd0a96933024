"""Training steps: SimCSE against sentence-transformers' trainer, and each method against its matrix products alone.

    python benchmarks/train.py [--batch 64] [--steps 12] [--rounds 5] [--threads 1]

Encoder `tiny`, [CLS], float32, on STS sentences (or the toy world's). The products alone: as many floating-point
operations as torch counts in the matrix products of one step, at the rate of a product of 1024 x 128 by 128 x 512. The
pre-training of an encoder of 4 layers of 256 in bfloat16 is there too, on random tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from datasets import Dataset
from encode import PEER, sentences
from experiments.cost import SpeedRow
from experiments.pretrain import MaskedLM, Sheets, new_encoder
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from side_by_side import OURS, added_by, alone, in_turn, of_steps, parser_of, settled, times_as_fast, told
from torch.utils.flop_counter import FlopCounterMode
from transformers import TrainerCallback

from sentlab import Encoder, TrainConfig, fit, set_seed
from sentlab.methods import PTBERT, MoCo, PaSeR, SimCSE
from sentlab.training import losses

METHODS = {"SimCSE": SimCSE, "MoCo": MoCo, "PT-BERT": PTBERT, "PaSeR": PaSeR}
LEARNING_RATE, MAX_LENGTH, SCALE = 1e-4, 64, 20.0  # SCALE is one over SimCSE's temperature
LAYERS, WIDTH, SHEET, TOKENS = 4, 256, 4096, 18_000  # of the encoder that is pre-trained; tokens a second wanted
Steps = Callable[[], Sequence[float]]  # trains, and returns when each step ended


def encoder() -> Encoder:
    return Encoder.from_pretrained("tiny", pooling="cls", max_length=MAX_LENGTH, device="cpu")


def of_method(name: str, texts: Sequence[str], asked: argparse.Namespace, steps: int | None = None) -> Steps:
    config = TrainConfig(steps=steps or asked.steps, batch_size=asked.batch, learning_rate=LEARNING_RATE)
    return lambda: stamped(METHODS[name](encoder()), texts, config)


def stamped(method: Any, rows: Any, config: TrainConfig) -> list[float]:
    ends: list[float] = []
    set_seed(0)
    fit(method, rows, config, progress=False, on_step=lambda *_: ends.append(time.perf_counter()))
    return ends


class Stamps(TrainerCallback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.ends.append(time.perf_counter())


def of_peer(texts: Sequence[str], asked: argparse.Namespace) -> Steps:
    """The same loss in sentence-transformers: pairs of equal texts, of which dropout makes two vectors."""

    def train() -> list[float]:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoder().save(folder)
            model = SentenceTransformer(folder, device="cpu")
            model.max_seq_length = MAX_LENGTH
            settings = SentenceTransformerTrainingArguments(
                output_dir=folder,
                max_steps=asked.steps,
                per_device_train_batch_size=asked.batch,
                learning_rate=LEARNING_RATE,
                save_strategy="no",
                logging_strategy="no",
                report_to=[],
                disable_tqdm=True,
                use_cpu=True,
            )
            stamps, rows = Stamps(), Dataset.from_dict({"anchor": [*texts], "positive": [*texts]})
            loss = MultipleNegativesRankingLoss(model, scale=SCALE)
            trainer = SentenceTransformerTrainer(model, settings, rows, loss=loss, callbacks=[stamps])
            trainer.train()
        return stamps.ends

    return train


def operations(name: str, texts: Sequence[str], asked: argparse.Namespace) -> float:
    """Floating-point operations in the matrix products of one step, the mean of some steps."""
    whole = patch.object(losses, "split_head", return_value=None)  # the counter does not know its parts
    with whole, FlopCounterMode(display=False) as counter:
        of_method(name, texts, asked)()
    return counter.get_total_flops() / asked.steps


def rate(rounds: int) -> float:
    """Floating-point operations a second in a matrix product like those of the encoder."""
    left, right, times = torch.randn(1024, 128), torch.randn(128, 512), 200
    seconds, _ = in_turn({"product": lambda: [left @ right for _ in range(times)]}, rounds)
    return 2 * left.numel() * right.shape[1] * times / float(np.median(seconds["product"]))


def pretraining(asked: argparse.Namespace) -> Steps:
    def train() -> list[float]:
        tokenizer = encoder().tokenizer
        ids = np.random.default_rng(0).integers(1000, len(tokenizer), SHEET * (asked.steps + 8)).astype(np.uint16)
        starts = np.arange(0, len(ids), 16)
        sheets = Sheets(ids, starts, tokenizer.cls_token_id, tokenizer.sep_token_id, SHEET)
        with tempfile.TemporaryDirectory() as folder:
            made = new_encoder(tokenizer, LAYERS, WIDTH, Path(folder) / "untrained")
            made.model.set_attn_implementation("eager")
            config = TrainConfig(steps=asked.steps, batch_size=1, learning_rate=1e-3, precision="bfloat16")
            return stamped(MaskedLM(made), sheets, config)

    return train


def rows(asked: argparse.Namespace) -> Iterator[SpeedRow]:
    texts, what = sentences(asked.batch * asked.steps)
    speed = rate(asked.rounds)
    seconds = of_steps({"SimCSE": of_method("SimCSE", texts, asked), PEER: of_peer(texts, asked)}, asked.rounds)
    ratio = times_as_fast(seconds, PEER, "SimCSE")
    yield SpeedRow(
        work=f"A step of SimCSE, {asked.batch} {what}, tiny",
        threads=asked.threads,
        unit="s",
        figures={OURS: median(seconds["SimCSE"]), PEER: median(seconds[PEER])},
        ratio=ratio,
        goal="1.5 times as fast",
        met=ratio >= 1.5,
        memory=memory("SimCSE", asked),
    )
    for name in METHODS:
        own = seconds.get(name) or of_steps({name: of_method(name, texts, asked)}, asked.rounds)[name]
        alone_for = operations(name, texts, asked) / speed
        times = float(np.median(own)) / alone_for
        yield SpeedRow(
            work=f"A step of {name}, {asked.batch} {what}, tiny",
            threads=asked.threads,
            unit="s",
            figures={OURS: median(own), "its matrix products alone": round(alone_for, 3)},
            goal=f"at most twice the time of its matrix products (it takes {times:.1f} times as long)",
            met=times <= 2,
            memory=memory(name, asked),
        )
    step = median(of_steps({"pre-training": pretraining(asked)}, asked.rounds)["pre-training"])
    yield SpeedRow(
        work=f"Pre-train {LAYERS} layers of {WIDTH}, {SHEET:,} tokens a step, bfloat16",
        threads=asked.threads,
        unit="tokens/s",
        figures={OURS: round(SHEET / step)},
        goal=f"{TOKENS:,} tokens a second",
        met=SHEET / step >= TOKENS,
        memory=memory("pre-training", asked),
    )


def median(seconds: Sequence[float]) -> float:
    return round(float(np.median(seconds)), 3)


def memory(name: str, asked: argparse.Namespace) -> float:
    """MiB that some steps add to the peak of a process of its own."""
    return float(alone([__file__, "--batch", asked.batch, "--steps", 4, "--threads", asked.threads, "--alone", name]))


def main() -> int:
    asked = settled(parser_of(__doc__, batch=64, steps=12))
    if asked.alone:  # the child
        texts, _ = sentences(asked.batch * asked.steps)
        work = pretraining(asked) if asked.alone == "pre-training" else of_method(asked.alone, texts, asked)
        print(json.dumps(added_by(work)))
        return 0
    return told(rows(asked), asked)


if __name__ == "__main__":
    sys.exit(main())
