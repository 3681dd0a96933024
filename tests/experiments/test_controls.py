"""Controls of SLICE: first and last tokens against a loop with its gradient, and whole passages against SLICE's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from experiments import run
from experiments.controls import StartEnd, WholePassage
from torch import Tensor

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.methods import SLICE
from sentlab.training import TrainConfig, fit

ROW = Triple("a dog runs", "in the old village an animal is running by the river, slowly", "a teacher sleeps")
OTHER = Triple("girl", "the child is eating, and the girls play the guitar", "nobody eats")


@pytest.fixture
def make(small_encoder_folder: Path) -> Callable[..., SLICE]:
    def build(kind: type[SLICE], **arguments: Any) -> SLICE:
        return kind(Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu"), **arguments).eval()

    return build


def groups() -> tuple[Tensor, Tensor, Tensor]:
    """Queries (1, 3, D), tokens (1, 3, L, D), units (1, 3, L): words of one to three tokens, specials, padding."""
    generator = torch.Generator().manual_seed(0)
    queries, tokens = (torch.randn(shape, generator=generator).double() for shape in ((1, 3, 5), (1, 3, 9, 5)))
    rows = [[-1, 0, 1, 1, 1, 2, 3, 3, -1], [-1, 0, 0, 1, 2, -1, -1, -1, -1], [-1, 0, 1, 2, 3, 4, 5, 6, -1]]
    return queries, tokens, torch.tensor([rows])


def test_first_and_last_tokens_have_the_value_and_the_gradient_of_the_full_maximum(make: Callable[..., SLICE]) -> None:
    method = make(StartEnd, max_size=3)
    queries, tokens, units = groups()
    queries = torch.cat([queries, queries.flip(-1)], dim=-1).detach().requires_grad_()
    tokens.requires_grad_()
    fast = method.similarities(queries, tokens, units)  # (G, Q, P)
    slow = torch.zeros_like(fast)
    for g, q, p in itertools.product(*map(range, fast.shape)):
        words = [(units[g, p] == word).nonzero().flatten().tolist() for word in range(int(units[g, p].max()) + 1)]
        spans = [words[i : i + size] for size in (1, 2, 3) for i in range(len(words) - size + 1)]
        ends = [torch.cat([tokens[g, p, span[0][0]], tokens[g, p, span[-1][-1]]]) for span in spans]
        slow[g, q, p] = ((1 + F.cosine_similarity(queries[g, q], torch.stack(ends), dim=-1)) / 2).max()
    torch.testing.assert_close(fast, slow)
    weights = torch.randn_like(fast)
    gradients = [torch.autograd.grad((weights * x).sum(), (queries, tokens)) for x in (fast, slow)]
    torch.testing.assert_close(*gradients)


def test_whole_passages_are_the_longest_spans(make: Callable[..., SLICE]) -> None:
    """A passage of n words has one span of n words, and that is all that SLICE sees where nothing shorter counts."""
    method = make(WholePassage)
    batch = method.collate([Triple(ROW.anchor, ROW.positive, ROW.positive)])
    assert method.loss(batch)["contrastive"].item() == pytest.approx(math.log(2), abs=1e-5)
    queries, tokens, _ = groups()
    units = torch.arange(9).expand(1, 3, 9)
    longest = make(SLICE, min_size=9, max_size=9).similarities(queries, tokens, units)
    torch.testing.assert_close(method.similarities(queries, tokens, units), longest)
    changed, padded = tokens.clone(), units.clone()
    padded[..., 7:] = -1
    changed[..., 7:, :] = 99.0  # padding has no effect
    torch.testing.assert_close(*(method.similarities(queries, x, padded) for x in (tokens, changed)))
    assert (method.similarities(queries, tokens, torch.full_like(units, -1)) == 0).all()


@pytest.mark.parametrize("kind", [StartEnd, WholePassage])
def test_controls_train_and_records_name_them(make: Callable[..., SLICE], kind: type[SLICE]) -> None:
    assert run.METHODS[kind.__name__] is kind
    method = make(kind, in_batch=True)
    before = method.loss(method.collate([ROW, OTHER]))["contrastive"].item()
    fit(method, [ROW, OTHER], TrainConfig(steps=8, batch_size=2, learning_rate=2e-3), progress=False)
    assert method.eval().loss(method.collate([ROW, OTHER]))["contrastive"].item() < before
