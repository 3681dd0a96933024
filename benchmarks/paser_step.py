"""One training step of PaSeR, with logits where a label is, against the same step with logits at every padded position.

    python benchmarks/paser_step.py [--batch 64] [--length 32] [--vocabulary 30522] [--rounds 5] [--threads 1]

Both steps have the same weights, sentences and losses, in one run. Large matrices divide better among threads than
small ones, so with several threads the ratio falls.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from experiments.cost import SpeedRow
from side_by_side import OURS, added_by, alone, in_turn, parser_of, settled, times_as_fast, told
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM

from sentlab import Encoder, data
from sentlab.encoder.pooling import POOLINGS
from sentlab.methods import PaSeR
from sentlab.methods.paser import IGNORE, decoding_signal

SMALLEST_RATIO, PLAIN = 5.0, "logits everywhere"


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
        states = self.decoder(signal, self.encoder.word_embeddings(self._teacher_inputs(targets)))  # (B, L, D)
        labels = ids.masked_fill(~batch["chosen"], IGNORE)
        pairs = {"generative": (states, targets), "mlm": (hidden[-1][-count:], labels)}
        return {
            name: F.cross_entropy(self._head(x).flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
            for name, (x, labels) in pairs.items()
        }


KINDS: dict[str, type[PaSeR]] = {OURS: PaSeR, PLAIN: Everywhere}


def prepare(kind: type[PaSeR], asked: argparse.Namespace) -> tuple[PaSeR, dict[str, Tensor]]:
    """A PaSeR on a raw encoder of the bundled one's size, but with the large vocabulary, and one batch for it."""
    tiny = Encoder.from_pretrained("tiny", device="cpu")
    torch.manual_seed(0)
    config = BertConfig.from_dict(tiny.backbone.config.to_dict() | {"vocab_size": asked.vocabulary})
    encoder = Encoder(BertForMaskedLM(config), tiny.tokenizer, "cls", asked.length)
    method = kind(encoder, dropout=0.0).eval()  # without dropout both steps have the same losses
    batch = method.collate(list(data.load("toy-sentences", "train")[: asked.batch]))
    for name, value in batch.items():  # padded to the full length, as the plain way pads
        missing = 0 if name == "targets" else asked.length - value.shape[1]
        batch[name] = F.pad(value, (0, missing), value=tiny.tokenizer.pad_token_id if name.endswith("ids") else 0)
    return method, batch


def step(method: nn.Module, batch: dict[str, Tensor], optimizer: torch.optim.Optimizer) -> dict[str, float]:
    losses = method.loss(batch)  # type: ignore[operator]
    sum(losses.values()).backward()
    nn.utils.clip_grad_norm_(method.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return {name: float(value.detach()) for name, value in losses.items()}


def stepping(name: str, asked: argparse.Namespace) -> Callable[[], dict[str, float]]:
    method, batch = prepare(KINDS[name], asked)
    optimizer = torch.optim.AdamW(method.parameters(), fused=True)
    return lambda: step(method, batch, optimizer)


def rows(asked: argparse.Namespace) -> Iterator[SpeedRow]:
    first = {name: stepping(name, asked)() for name in KINDS}  # from equal weights
    difference = max(abs(first[OURS][name] - value) for name, value in first[PLAIN].items())
    seconds, _ = in_turn({name: stepping(name, asked) for name in KINDS}, asked.rounds)
    ratio = times_as_fast(seconds, PLAIN)
    sizes = [f"--{name}={getattr(asked, name)}" for name in ("batch", "length", "vocabulary", "threads")]
    yield SpeedRow(
        work=f"A step of PaSeR, {asked.batch} sentences of {asked.length} tokens, {asked.vocabulary:,} pieces",
        threads=asked.threads,
        unit="s",
        figures={name: round(float(np.median(times)), 3) for name, times in seconds.items()},
        ratio=ratio,
        goal=f"{SMALLEST_RATIO:g} times as fast; equal losses (they differ by {difference:.0e})",
        met=ratio >= SMALLEST_RATIO and difference <= 1e-4,
        memory=alone([__file__, *sizes, "--alone", OURS]),
    )


def main() -> int:
    asked = settled(parser_of(__doc__, batch=64, length=32, vocabulary=30_522))
    if asked.alone:  # the child
        print(json.dumps(added_by(stepping(asked.alone, asked))))
        return 0
    return told(rows(asked), asked)


if __name__ == "__main__":
    sys.exit(main())
