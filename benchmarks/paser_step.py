"""One training step of PaSeR, with logits where a label is, against the same step with logits at every padded position.

    python benchmarks/paser_step.py [--batch 64] [--length 32] [--vocabulary 30522] [--rounds 5] [--threads 1]

Both steps have the same weights, sentences and losses, in one run. Large matrices divide better among threads than
small ones, so with several threads the ratio falls.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from side_by_side import OURS, Row, added_by, alone, in_turn, main, medians, parser_of, times_as_fast
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM

from sentlab import Encoder, data
from sentlab.encoder.pooling import POOLINGS
from sentlab.methods import PaSeR
from sentlab.methods.paser import decoding_signal

IGNORE = -100
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


def stepping(kind: type[PaSeR], args: argparse.Namespace) -> Callable[[], dict[str, float]]:
    """Return a step of PaSeR on one batch, and a raw encoder of the size of `tiny` with the large vocabulary."""
    tiny = Encoder.from_pretrained("tiny", device="cpu")
    torch.manual_seed(0)
    config = BertConfig.from_dict(tiny.backbone.config.to_dict() | {"vocab_size": args.vocabulary})
    encoder = Encoder(BertForMaskedLM(config), tiny.tokenizer, "cls", args.length)
    method = kind(encoder, dropout=0.0).eval()  # without dropout both steps have the same losses
    batch = method.collate(list(data.load("toy-sentences", "train")[: args.batch]))
    for name, value in batch.items():  # padded to the full length, as the plain way pads
        missing = 0 if name == "targets" else args.length - value.shape[1]
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


def rows(args: argparse.Namespace) -> Iterator[Row]:
    kinds = {OURS: PaSeR, PLAIN: Everywhere}
    first = {name: stepping(kind, args)() for name, kind in kinds.items()}  # from equal weights
    difference = max(abs(first[OURS][name] - value) for name, value in first[PLAIN].items())
    seconds, _ = in_turn({name: stepping(kind, args) for name, kind in kinds.items()}, args.rounds)
    ratio = times_as_fast(seconds, PLAIN)
    yield {
        "work": f"A step of PaSeR, {args.batch} sentences of {args.length} tokens, {args.vocabulary:,} pieces",
        "threads": args.threads,
        "unit": "s",
        "figures": medians(seconds),
        "ratio": ratio,
        "goal": f"{SMALLEST_RATIO:g} times as fast; equal losses (they differ by {difference:.0e})",
        "met": ratio >= SMALLEST_RATIO and difference <= 1e-4,
        "memory": alone(__file__, OURS, args),
    }


if __name__ == "__main__":
    parser = parser_of(__doc__, batch=64, length=32, vocabulary=30_522)
    sys.exit(main(parser, rows, lambda args: added_by(stepping(PaSeR, args))))
