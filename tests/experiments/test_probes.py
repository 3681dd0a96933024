"""Trained heads: targets by hand, training against a literal loop in autograd, and corpora with a known answer."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from experiments import probes
from experiments.probes import evaluate_identification, evaluate_relatedness, relatedness_targets
from torch import nn

from sentlab.data.rows import Corpus, LabelledPair, ScoredPair
from sentlab.evaluation.metrics import pearson


class Numbers:
    """Encodes "1 2 3" as the vector of these numbers."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return np.array([[float(part) for part in text.split()] for text in texts])


def text(vector: np.ndarray) -> str:
    return " ".join(f"{value:.6f}" for value in vector)


def scored(split: str, n: int, seed: int, score: Callable[[np.ndarray, np.ndarray], float]) -> Corpus[ScoredPair]:
    rng = np.random.default_rng(seed)
    pairs = [(rng.normal(size=6), rng.normal(size=6)) for _ in range(n)]
    rows = tuple(ScoredPair(text(u), text(v), score(u, v)) for u, v in pairs)
    return Corpus("distance", split, rows, f"{split} by hand", {"no gold": seed})


def near(u: np.ndarray, v: np.ndarray) -> float:
    """Linear in |u - v|, which the head sees."""
    return float(np.clip(5.5 - 0.4 * np.abs(u - v).sum(), 1, 5))


Three = list[Corpus[ScoredPair]]


@pytest.fixture(scope="module")
def three() -> Three:
    return [scored("train", 300, 1, near), scored("dev", 60, 2, near), scored("test", 100, 3, near)]


@pytest.mark.parametrize(
    ("score", "row"),
    [
        (1, [1, 0, 0, 0, 0]),
        (3, [0, 0, 1, 0, 0]),
        (5, [0, 0, 0, 0, 1]),
        (3.6, [0, 0, 0.4, 0.6, 0]),
        (1.25, [0.75, 0.25, 0, 0, 0]),
        (4.9, [0, 0, 0, 0.1, 0.9]),
        (0.6, [0.6, 0, 0, 0, 0]),
        (0, [0, 0, 0, 0, 0]),
    ],
)
def test_targets_by_hand(score: float, row: list[float]) -> None:
    targets = relatedness_targets([score, 2])
    assert targets.dtype == np.float32
    assert targets == pytest.approx(np.array([row, [0, 1, 0, 0, 0]]))


def test_targets_have_the_score_as_their_mean() -> None:
    scores = np.random.default_rng(0).uniform(0, 5, 200)
    targets = relatedness_targets(scores)
    assert targets @ np.arange(1, 6) == pytest.approx(scores, abs=1e-5)
    assert targets.sum(1) == pytest.approx(np.minimum(scores, 1), abs=1e-6)
    assert (targets >= 0).all()


def test_the_gradient_is_autograds() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(9, 5, generator=generator, dtype=torch.float64)
    x, y = torch.randn(7, 9, generator=generator).double(), torch.rand(7, 5, generator=generator).double()
    leaf = weights.clone().requires_grad_()
    (torch.softmax(x @ leaf, -1) - y).square().sum().backward()
    assert leaf.grad is not None
    assert torch.allclose(probes._gradient(weights, x, y), leaf.grad)


def test_training_is_that_of_a_linear_layer_and_early_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol once more, literally, with torch's modules and the same random numbers."""
    monkeypatch.setattr(probes, "EPOCHS_PER_CHECK", 10)
    noise = np.random.default_rng(4)  # in the scores of few pairs, so that the head soon gets worse on dev

    def noisy(u: np.ndarray, v: np.ndarray) -> float:
        return float(np.clip(near(u, v) + noise.normal(0, 2), 0, 5))

    three = [scored("train", 150, 1, noisy), scored("dev", 60, 2, noisy), scored("test", 100, 3, noisy)]
    result = evaluate_relatedness(Numbers(), three, seed=5)

    def parts(corpus: Corpus[ScoredPair]) -> tuple[torch.Tensor, list[float]]:
        u, v = (Numbers().encode([getattr(p, side) for p in corpus]) for side in ("text_a", "text_b"))
        return torch.tensor(np.concatenate([abs(u - v), u * v], 1), dtype=torch.float32), [p.score for p in corpus]

    (train, golds), (dev, dev_golds), (test, test_golds) = map(parts, three)
    targets = torch.tensor(relatedness_targets(golds))
    generator = torch.Generator().manual_seed(5)
    start = (2 * torch.rand(13, 5, generator=generator) - 1) / math.sqrt(12)
    layer = nn.Linear(12, 5)
    layer.load_state_dict({"weight": start[:-1].T, "bias": start[-1]})
    optimizer = torch.optim.Adam(layer.parameters())

    def predict(layer: nn.Linear, features: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            return (layer(features).softmax(1) @ torch.arange(1.0, 6.0)).numpy()

    best, kept, kept_after, worse = -2.0, layer, 0, 0
    for check in range(1, 101):
        for _ in range(10):
            order = torch.randperm(150, generator=generator)
            for i in range(0, 150, 64):
                rows = order[i : i + 64]
                loss = nn.functional.mse_loss(layer(train[rows]).softmax(1), targets[rows], reduction="sum")
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        found = pearson(predict(layer, dev), dev_golds)
        if found > best:
            best, kept, kept_after = found, copy.deepcopy(layer), 10 * check
        else:
            worse += 1
        if worse == 4:
            break
    assert worse == 4
    assert 10 < kept_after < 1000
    assert result.epochs == kept_after
    assert result.dev_pearson == pytest.approx(100 * best, abs=1e-3)
    assert result.pearson == pytest.approx(100 * pearson(predict(kept, test), test_golds), abs=1e-3)


def test_a_seed_repeats_and_the_callers_random_state_stays(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "EPOCHS_PER_CHECK", 1)
    monkeypatch.setattr(probes, "LAST_CHECK_AFTER", 3)
    before = torch.get_rng_state(), random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    one = evaluate_relatedness(Numbers(), three, seed=1)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (random.getstate(), repr(np.random.get_state())) == before[1:]  # noqa: NPY002
    torch.manual_seed(99)
    assert evaluate_relatedness(Numbers(), three, seed=1) == one
    assert evaluate_relatedness(Numbers(), three, seed=2).pearson != one.pearson
    assert one.epochs <= 4  # a check after each epoch, and the last one behind LAST_CHECK_AFTER


def same(split: str, n: int, seed: int, wrong: int = 0) -> Corpus[LabelledPair]:
    """n pairs of one vector with nearly itself (`1`) or with another (`0`), two of three being `1`."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        u = rng.normal(size=4)
        alike = i % 3 > 0
        v = u + 0.05 * rng.normal(size=4) if alike else u + rng.choice([-3, 3], 4)
        rows.append(LabelledPair(text(u), text(v), str(int(alike != (i < wrong)))))
    return Corpus("same", split, tuple(rows), f"{split} by hand", {"no label": seed})


def test_identification_is_learned_and_counts_hits_on_test_only() -> None:
    encoder = Numbers()
    result = evaluate_identification(encoder, same("train", 90, 1), same("test", 60, 2, wrong=6))
    assert len(encoder.calls) == 1
    assert result.accuracy == pytest.approx(90)  # all but the six whose label is wrong
    assert result.train_accuracy == pytest.approx(100)
    assert (result.right.mean(), result.right.shape) == (pytest.approx(0.9), (60,))
    assert result.strength in probes.STRENGTHS


def test_labelled_pairs_are_scored_by_the_classifier_of_their_train_split(monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = same("train", 90, 1), same("test", 60, 2, wrong=6)
    monkeypatch.setattr(probes, "load", lambda name, split: {("same", "train"): train}[name, split])
    result = probes.evaluate(Numbers(), test, setup=None, progress=False)
    assert result.scores == {"same": pytest.approx(90)}
    assert result.score() == pytest.approx(90)


def test_strength_does_not_depend_on_the_test_corpus_and_the_scale_of_vectors_tells_nothing() -> None:
    train = same("train", 90, 1, wrong=20)
    results = [evaluate_identification(Numbers(), train, same("test", 60, 2, wrong=wrong)) for wrong in (0, 40)]
    assert results[0].strength == results[1].strength
    assert results[0].train_accuracy == results[1].train_accuracy
    assert results[0].accuracy > results[1].accuracy

    class Scaled(Numbers):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts) * [1000, 0.01, 1, 1]

    scaled = evaluate_identification(Scaled(), train, same("test", 60, 2))
    assert scaled.accuracy == pytest.approx(results[0].accuracy)
