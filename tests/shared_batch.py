"""Every method on batches that two processes share: `python tests/shared_batch.py ENCODER FOLDER` is the two.

They write the batches, gradients and queues of each case, and what `fit` makes of some, to `FOLDER/RANK.pt`.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from sentlab import methods
from sentlab.data.rows import LabelledPair, PhrasePair, Triple
from sentlab.encoder import Encoder
from sentlab.methods.universal import task_rows
from sentlab.text.views import random_crop
from sentlab.training import TrainConfig, fit, set_dropout, set_seed
from sentlab.training.loop import Losses

ROUNDS, SHARE = 2, 4  # batches of a case, and rows of a process in each
SENTENCES = """
A young girl plays the guitar in a small village. | Two dogs are running | He is not in it.
the old farmer sees a red car, a blue boat and the market by the river | the king reads a letter | a cat
The doctor reads a letter to the sad king! | A woman sells apples. | who runs in the city? | a bird eats
a child eats bread by the road and a man eats an apple in the garden | She writes | the teacher buys a piano
They swim. | a slow train and a quick horse | what do you do with his big old book, and why do you do it?
""".replace("\n", "|").split("|")
SENTENCES = [text.strip() for text in SENTENCES if text.strip()]
TRIPLES = [Triple(SENTENCES[i], SENTENCES[i - 1], SENTENCES[i - 2]) for i in range(16)]
PAIRS = [LabelledPair(SENTENCES[i], SENTENCES[i - 1], ("neutral", "entailment")[i % 2]) for i in range(16)]
PHRASES = [
    PhrasePair(text, f"{text} too", ("equivalence", "independent")[i % 2], 1.0) for i, text in enumerate(SENTENCES)
]
Build = Callable[[Encoder], Any]


def universal(encoder: Encoder) -> nn.Module:
    return methods.Universal(encoder, negatives=2, paraphrases=PHRASES)


def task(**rows: Any) -> Sequence[Any]:
    return list(task_rows(**rows))


# name -> pooling of the encoder, encoder -> method, rows; no case draws numbers in its loss
CASES: dict[str, tuple[str, Build, Sequence[Any]]] = {
    "ConSERT": ("cls", lambda encoder: methods.ConSERT(encoder, views=("none", "none")), SENTENCES),
    "ContrastiveTension": ("cls", lambda encoder: methods.ContrastiveTension(encoder, negatives=2), SENTENCES),
    "MaskedLM": ("cls", methods.MaskedLM, SENTENCES),
    "MoCo": ("cls", lambda encoder: methods.MoCo(encoder, queue_size=10), SENTENCES),
    "PTBERT": ("cls", lambda encoder: methods.PTBERT(encoder, pseudo_tokens=5, queue_size=10), SENTENCES),
    "PTBERT, released": ("cls", lambda encoder: methods.PTBERT(encoder, pseudo_tokens=5, released=True), SENTENCES),
    "PaSeR": ("cls", lambda encoder: methods.PaSeR(encoder, decoder_layers=1), SENTENCES),
    "PaSeR, no mlm": ("cls", lambda encoder: methods.PaSeR(encoder, decoder_layers=1, mlm=False), SENTENCES),
    "SLICE": ("mean", methods.SLICE, TRIPLES),
    "SLICE, in_batch": ("mean", lambda encoder: methods.SLICE(encoder, in_batch=True), TRIPLES),
    "SimCSE, sentences": ("cls", lambda encoder: methods.SimCSE(encoder, view=random_crop), SENTENCES),
    "SimCSE, mlm": ("mean", lambda encoder: methods.SimCSE(encoder, view=random_crop, mlm=0.1), SENTENCES),
    "SimCSE, hard negatives": ("cls", methods.SimCSE, TRIPLES),
    "SupervisedPaSeR": ("cls", lambda encoder: methods.SupervisedPaSeR(encoder, decoder_layers=1), TRIPLES),
    "Universal, nli": ("mean", universal, task(nli=PAIRS)),
    "Universal, pi": ("mean", universal, task(pi=PHRASES)),
}
# their batches draw no numbers either, so that `fit` can train them
TRAINED = ("MoCo", "PaSeR, no mlm", "SLICE, in_batch", "SimCSE, hard negatives")
CONFIG = TrainConfig(steps=5, batch_size=4, learning_rate=1e-3)
UNEVEN = 11  # rows: three do not fill an epoch's last batch


load = cache(lambda folder, pooling: Encoder.from_pretrained(folder, pooling=pooling, device="cpu"))


def make(name: str, folder: str) -> Any:
    """The method of a case without dropout, the same each time."""
    pooling, build, _ = CASES[name]
    set_seed(0)
    method = build(copy.deepcopy(load(folder, pooling)))
    set_dropout(method, 0.0)
    return method.double().train()


@contextlib.contextmanager
def in_float64() -> Iterator[None]:
    """Compute in float64 where methods ask for float32, so that what differs is no rounding."""
    single = Tensor.float
    torch.set_default_dtype(torch.float64)
    Tensor.float = Tensor.double  # type: ignore[method-assign]
    try:
        yield
    finally:
        Tensor.float = single  # type: ignore[method-assign]
        torch.set_default_dtype(torch.float32)


def gradients(
    method: Any, module: Callable[[Any], Any], batches: Sequence[dict[str, Tensor]]
) -> list[dict[str, Tensor]]:
    """The gradients of each batch, without a step of the weights in between; queues move on."""
    steps = []
    for batch in batches:
        sum(module(batch).values()).backward()
        steps.append({name: x.grad for name, x in method.named_parameters() if x.grad is not None})
        method.zero_grad()
        method.after_step()
    return steps


def trained(name: str, folder: str) -> tuple[dict[str, Tensor], list[dict[str, float]]]:
    """What `fit` makes of a case: the weights and buffers, and the losses of its history."""
    method = make(name, folder)
    config = replace(CONFIG, accumulate=2 if "mlm" in name else 1)
    history = fit(method, CASES[name][2][:UNEVEN], config, progress=False)
    return method.state_dict(), history.losses


def work(folder: str, rank: int) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for name, (_, _, rows) in CASES.items():
        method = make(name, folder)
        module = DistributedDataParallel(Losses(method), find_unused_parameters=True)
        set_seed(rank)
        shares = [rows[first + rank : first + 2 * SHARE : 2] for first in range(0, ROUNDS * 2 * SHARE, 2 * SHARE)]
        batches = [method.collate(share) for share in shares]
        queue = getattr(method, "queue", None)
        outputs[name] = {"batches": batches, "gradients": gradients(method, module, batches)}
        outputs[name]["queue"] = {} if queue is None else queue.state_dict()
    outputs["fit"] = {name: trained(name, folder) for name in TRAINED}
    try:
        fit(make("MoCo", folder), SENTENCES, TrainConfig(steps=1, batch_size=7), progress=False)
    except ValueError:
        outputs["a batch of 7"] = "refused"
    return outputs


if __name__ == "__main__":
    encoder, into = sys.argv[1], Path(sys.argv[2])
    child = os.fork()  # before any work, and after the imports: they take longer than all else
    number = 0 if child else 1
    os.environ |= {"ACCELERATE_USE_CPU": "true", "WORLD_SIZE": "2", "RANK": str(number), "LOCAL_RANK": str(number)}
    os.environ["MASTER_ADDR"] = "localhost"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{into / 'store'}", rank=number, world_size=2)
    with in_float64():
        torch.save(work(encoder, number), into / f"{number}.pt")
    dist.destroy_process_group()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
