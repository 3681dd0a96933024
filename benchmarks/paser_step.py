"""One training step of PaSeR, with logits where a label is, against the same step with logits at every padded position.

    python benchmarks/paser_step.py [--batch 64] [--length 32] [--vocabulary 30522] [--rounds 5] [--threads 1]

Both steps have the same weights, sentences and losses (checked to 1e-4), in one run; memory is what a step adds to the
peak of a process of its own (Linux). Ends with exit status 1 if sentlab's step is less than five times as fast. Large
matrices divide better among threads than small ones, so with several threads the ratio falls.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM

from sentlab import Encoder, data
from sentlab.encoder.pooling import POOLINGS
from sentlab.methods import PaSeR
from sentlab.methods.paser import decoding_signal
from sentlab.methods.paser_decoder import IGNORE

SMALLEST_RATIO = 5.0


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


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=30_522)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory-of", choices=("sentlab", "everywhere"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    kinds: dict[str, type[PaSeR]] = {"everywhere": Everywhere, "sentlab": PaSeR}
    if asked.memory_of:  # the child
        method, batch = prepare(kinds[asked.memory_of], asked)
        optimizer = torch.optim.AdamW(method.parameters(), fused=True)
        before = peak()
        step(method, batch, optimizer)
        print(peak() - before)
        return 0

    print(
        f"batch {asked.batch}, length {asked.length}, vocabulary {asked.vocabulary:,}, {asked.threads} thread(s), CPU"
    )
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    losses: dict[str, dict[str, float]] = {}
    steps = {}
    for name, kind in kinds.items():
        method, batch = prepare(kind, asked)
        steps[name] = partial(step, method, batch, torch.optim.AdamW(method.parameters(), fused=True))
        losses[name] = steps[name]()  # warms up, from equal weights
    for _ in range(asked.rounds):  # in turn, so that both see the same machine
        for name in kinds:
            start = time.perf_counter()
            steps[name]()
            seconds[name].append(time.perf_counter() - start)
    for name, times in seconds.items():
        child = subprocess.run(
            [sys.executable, *sys.argv, "--memory-of", name], capture_output=True, text=True, check=True
        )
        print(
            f"{name:<12} {np.median(times):7.2f} s a step (median of {asked.rounds}), {float(child.stdout):6,.0f} MiB"
        )
    ratio = float(np.median(np.divide(seconds["everywhere"], seconds["sentlab"])))  # of steps side by side
    difference = max(abs(losses["sentlab"][name] - value) for name, value in losses["everywhere"].items())
    print(f"ratio        {ratio:7.2f}\nlosses differ by {difference:.1e}")
    good = ratio >= SMALLEST_RATIO and difference <= 1e-4
    print("ok" if good else f"FAILED: wanted a ratio of at least {SMALLEST_RATIO} and equal losses")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
