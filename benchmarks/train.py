"""Training steps: SimCSE against sentence-transformers, each method against its matrix products, two processes.

    python benchmarks/train.py [--batch 64] [--steps 12] [--rounds 5] [--threads 1]

Encoder `tiny`, [CLS], float32, on STS sentences (or the toy world's). The products alone: as many floating-point
operations as torch counts in the matrix products of one step, at the rate of a product of 1024 x 128 by 128 x 512. Two
processes share each batch, each on a core of its own (Linux). The pre-training of an encoder of 4 layers of 256 in
bfloat16 is there too, on random tokens. For PaSeR with a large vocabulary there is also the same step with logits at
every padded position, with the same weights, sentences and losses.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from encode import PEER, sentences
from experiments.pretrain import MaskedLM, Sheets, new_encoder
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from side_by_side import BFLOAT16, OURS, Row, added_by, alone, in_turn, main, medians, parser_of, times_as_fast
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, BertForMaskedLM, TrainerCallback

from sentlab import Encoder, TrainConfig, data, fit, set_seed
from sentlab.encoder.pooling import POOLINGS
from sentlab.methods import PTBERT, MoCo, PaSeR, SimCSE
from sentlab.methods.paser import decoding_signal
from sentlab.training import losses

METHODS = {"SimCSE": SimCSE, "MoCo": MoCo, "PT-BERT": PTBERT, "PaSeR": PaSeR}
LEARNING_RATE, MAX_LENGTH, SCALE = 1e-4, 64, 20.0  # SCALE is one over SimCSE's temperature
LAYERS, WIDTH, SHEET, TOKENS = 4, 256, 4096, 18_000  # of the encoder that is pre-trained; tokens a second wanted
LENGTH, VOCABULARY, IGNORE = 32, 30_522, -100  # of the step of PaSeR with logits everywhere
PRETRAINING, LARGE, EVERYWHERE, RANK = "pre-training", "large vocabulary", "logits everywhere", "LOCAL_RANK"
Steps = Callable[[], Sequence[float]]  # trains, and returns when each step ended


def encoder() -> Encoder:
    return Encoder.from_pretrained("tiny", pooling="cls", max_length=MAX_LENGTH, device="cpu")


def train(method: Any, rows: Any, config: TrainConfig) -> list[float]:
    ends: list[float] = []
    set_seed(0)
    fit(method, rows, config, progress=False, on_step=lambda *_: ends.append(time.perf_counter()))
    return ends


def of_method(name: str, texts: Sequence[str], args: argparse.Namespace) -> Steps:
    if name == PRETRAINING:
        return lambda: pretrain(args.steps)
    config = TrainConfig(steps=args.steps, batch_size=args.batch, learning_rate=LEARNING_RATE)
    return lambda: train(METHODS[name](encoder()), texts, config)


def of_peer(texts: Sequence[str], args: argparse.Namespace) -> Steps:
    """The same loss in sentence-transformers: pairs of equal texts, of which dropout makes two vectors."""
    ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            ends.append(time.perf_counter())

    def steps() -> list[float]:
        ends.clear()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoder().save(folder)
            model = SentenceTransformer(folder, device="cpu")
            model.max_seq_length = MAX_LENGTH
            sizes = {"max_steps": args.steps, "per_device_train_batch_size": args.batch, "learning_rate": LEARNING_RATE}
            quiet = {"save_strategy": "no", "logging_strategy": "no", "report_to": [], "disable_tqdm": True}
            settings = SentenceTransformerTrainingArguments(output_dir=folder, use_cpu=True, **sizes, **quiet)
            rows = Dataset.from_dict({"anchor": [*texts], "positive": [*texts]})
            loss = MultipleNegativesRankingLoss(model, scale=SCALE)
            SentenceTransformerTrainer(model, settings, rows, loss=loss, callbacks=[Clock()]).train()
        return [*ends]

    return steps


def pretrain(steps: int) -> list[float]:
    tokenizer = encoder().tokenizer
    ids = np.random.default_rng(0).integers(1000, len(tokenizer), SHEET * (steps + 8)).astype(np.uint16)
    sheets = Sheets(ids, np.arange(0, len(ids), 16), tokenizer.cls_token_id, tokenizer.sep_token_id, SHEET)
    with tempfile.TemporaryDirectory() as folder:
        untrained = new_encoder(tokenizer, LAYERS, WIDTH, Path(folder) / "untrained")
        untrained.model.set_attn_implementation("eager")
        config = TrainConfig(steps=steps, batch_size=1, learning_rate=1e-3, precision="bfloat16")
        return train(MaskedLM(untrained), sheets, config)


def step_seconds(contestants: Mapping[str, Steps], rounds: int) -> dict[str, list[float]]:
    """Return the median step of each contestant in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds):
        for name in list(contestants)[:: -1 if turn % 2 else 1]:
            seconds[name].append(float(np.median(np.diff(contestants[name]()))))
    return seconds


def operations(steps: Steps, count: int) -> float:
    """Count the floating-point operations in the matrix products of one step, the mean of some steps."""
    whole = patch.object(losses, "split_head", return_value=None)  # the counter does not know its parts
    with whole, FlopCounterMode(display=False) as counter:
        steps()
    return counter.get_total_flops() / count


def operations_a_second(rounds: int) -> float:
    """Measure a matrix product like those of the encoder."""
    left, right, times = torch.randn(1024, 128), torch.randn(128, 512), 200
    seconds, _ = in_turn({"product": lambda: [left @ right for _ in range(times)]}, rounds)
    return 2 * left.numel() * right.shape[1] * times / float(np.median(seconds["product"]))


def in_processes(name: str, count: int, args: argparse.Namespace) -> tuple[float, float]:
    """Return the median seconds of a step, and the MiB that the steps add to the peak of the first process."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", __file__]
    command += ["--alone", name, f"--batch={args.batch}", f"--steps={args.steps}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), float(memory)


class Everywhere(PaSeR):
    """PaSeR with both losses computed the plain way: logits for all B x L positions, most of them thrown away."""

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        ids, mask = batch["input_ids"], batch["attention_mask"]
        count, length = ids.shape
        copies = torch.cat([ids, batch["masked_ids"], batch["corrupted_ids"]])
        hidden = self.encoder.hidden_states(copies, mask.repeat(3, 1))
        vectors = POOLINGS[self.encoder.pooling](tuple(h[: 2 * count] for h in hidden), mask.repeat(2, 1))
        signal = decoding_signal(vectors[:count], vectors[count:], self.m, self.n)
        targets = F.pad(batch["targets"], (0, length - batch["targets"].shape[1]), value=IGNORE)  # (B, L)
        before = targets[:, :-1].masked_fill(targets[:, :-1] == IGNORE, self.encoder.tokenizer.pad_token_id)
        words = F.pad(before, (1, 0), value=self.encoder.tokenizer.cls_token_id)  # (B, L)
        states = self.decoder(signal, self.encoder.word_embeddings(words))  # (B, L, D)
        labels = ids.masked_fill(~batch["chosen"], IGNORE)
        pairs = {"generative": (states, targets), "mlm": (hidden[-1][-count:], labels)}
        return {
            name: F.cross_entropy(self.encoder.require()(x).flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
            for name, (x, labels) in pairs.items()
        }


def large_step(kind: type[PaSeR]) -> Callable[[], dict[str, float]]:
    """Return a step of PaSeR on one batch, and a raw encoder of the size of `tiny` with the large vocabulary."""
    tiny = Encoder.from_pretrained("tiny", device="cpu")
    torch.manual_seed(0)
    config = BertConfig.from_dict(tiny.backbone.config.to_dict() | {"vocab_size": VOCABULARY})
    encoder = Encoder(BertForMaskedLM(config), tiny.tokenizer, "cls", LENGTH)
    method = kind(encoder).eval()  # without dropout both steps have the same losses
    batch = method.collate(list(data.load("toy-sentences", "train")[:64]))
    for name, value in batch.items():  # padded to the full length, as the plain way pads
        missing = 0 if name == "targets" else LENGTH - value.shape[1]
        batch[name] = F.pad(value, (0, missing), value=tiny.tokenizer.pad_token_id if name.endswith("ids") else 0)
    optimizer = torch.optim.AdamW(method.parameters(), fused=True)

    def step() -> dict[str, float]:
        losses = method.loss(batch)
        sum(losses.values()).backward()
        nn.utils.clip_grad_norm_(method.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return {name: float(value.detach()) for name, value in losses.items()}

    return step


def large_row(args: argparse.Namespace) -> Row:
    kinds = {OURS: PaSeR, EVERYWHERE: Everywhere}
    first = {name: large_step(kind)() for name, kind in kinds.items()}  # from equal weights
    difference = max(abs(first[OURS][name] - value) for name, value in first[EVERYWHERE].items())
    seconds, _ = in_turn({name: large_step(kind) for name, kind in kinds.items()}, args.rounds)
    ratio = times_as_fast(seconds, EVERYWHERE)
    return {
        "work": f"A step of PaSeR, 64 sentences of {LENGTH} tokens, {VOCABULARY:,} pieces",
        "threads": args.threads,
        "unit": "s",
        "figures": medians(seconds),
        "ratio": ratio,
        "goal": f"5 times as fast; equal losses (they differ by {difference:.0e})",
        "met": ratio >= 5 and difference <= 1e-4,
        "memory": alone(__file__, LARGE, args),
    }


def rows(args: argparse.Namespace) -> Iterator[Row]:
    texts, what = sentences(args.batch * args.steps)
    about = {"threads": args.threads, "unit": "s"}

    def memory(name: str) -> float:
        return alone(__file__, name, args, steps=4)

    seconds = step_seconds({"SimCSE": of_method("SimCSE", texts, args), PEER: of_peer(texts, args)}, args.rounds)
    figures, ratio = medians(seconds), times_as_fast(seconds, PEER, "SimCSE")
    yield about | {
        "work": f"A step of SimCSE, {args.batch} {what}, tiny",
        "figures": {OURS: figures["SimCSE"], PEER: figures[PEER]},
        "ratio": ratio,
        "goal": "1.5 times as fast",
        "met": ratio >= 1.5,
        "memory": memory("SimCSE"),
    }
    rate = operations_a_second(args.rounds)
    for name in METHODS:
        steps = of_method(name, texts, args)
        step = medians(step_seconds({name: steps}, args.rounds))[name]
        products = operations(steps, args.steps) / rate
        yield about | {
            "work": f"A step of {name}, {args.batch} {what}, tiny",
            "figures": {OURS: step, "its matrix products alone": round(products, 3)},
            "goal": f"at most twice the time of its matrix products (it takes {step / products:.1f} times as long)",
            "met": step <= 2 * products,
            "memory": memory(name),
        }
    if BFLOAT16:
        step = float(np.median(step_seconds({OURS: lambda: pretrain(args.steps)}, args.rounds)[OURS]))
        yield about | {
            "work": f"Pre-train {LAYERS} layers of {WIDTH}, {SHEET:,} tokens a step, bfloat16",
            "unit": "tokens/s",
            "figures": {OURS: round(SHEET / step)},
            "goal": f"{TOKENS:,} tokens a second",
            "met": SHEET / step >= TOKENS,
            "memory": memory(PRETRAINING),
        }
    yield large_row(args)
    for name in ("SimCSE", "MoCo"):
        turns = [(in_processes(name, 1, args), in_processes(name, 2, args)) for _ in range(args.rounds)]
        seconds = {"one process": [one[0] for one, _ in turns], OURS: [two[0] for _, two in turns]}
        ratio = times_as_fast(seconds, "one process")
        yield about | {
            "work": f"A step of {name}, {args.batch} {what}, tiny, two processes",
            "figures": {key: medians(seconds)[key] for key in (OURS, "one process")},
            "ratio": ratio,
            "goal": "1.5 times as fast as one process",
            "met": ratio >= 1.5,
            "memory": max(two[1] for _, two in turns),
        }


def work(args: argparse.Namespace) -> float:
    if args.alone == LARGE:
        return added_by(large_step(PaSeR))
    return added_by(of_method(args.alone, sentences(args.batch * args.steps)[0], args))


def work_as_process(args: argparse.Namespace) -> None:
    """Train as one of the processes that `in_processes` starts; the first one says what it measured."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(os.environ[RANK]) % len(cores)]})
    ends: list[float] = []
    steps = of_method(args.alone, sentences(args.batch * args.steps)[0], args)
    memory = added_by(lambda: ends.extend(steps()))
    if os.environ[RANK] == "0":
        print(json.dumps([float(np.median(np.diff(ends))), memory]), flush=True)


if __name__ == "__main__":
    parser = parser_of(__doc__, batch=64, steps=12)
    if RANK in os.environ:
        work_as_process(parser.parse_args())
    else:
        sys.exit(main(parser, rows, work))
