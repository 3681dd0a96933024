"""Trained heads: targets by hand, training against a literal loop in autograd. Words in context against a loop."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments import probes
from experiments.corpora import load
from experiments.probes import (
    evaluate_identification,
    evaluate_in_context,
    evaluate_relatedness,
    relatedness_targets,
    vectors_in_context,
)
from scipy import stats
from torch import nn

from sentlab.data.rows import Corpus, LabelledPair, ScoredPair, WordPairInContext
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate as evaluate_rows
from sentlab.metrics import pearson, spearman


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


def test_targets_by_hand() -> None:
    rows = {3: [0, 0, 1, 0, 0], 5: [0, 0, 0, 0, 1], 3.6: [0, 0, 0.4, 0.6, 0], 0.6: [0.6, 0, 0, 0, 0], 0: [0] * 5}
    targets = relatedness_targets(list(rows))
    assert targets.dtype == np.float32
    assert targets == pytest.approx(np.array(list(rows.values())))


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
    assert result == pytest.approx(100 * spearman(predict(kept, test), test_golds), abs=0.01)


def test_a_seed_repeats_and_the_callers_random_state_stays(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "EPOCHS_PER_CHECK", 1)
    monkeypatch.setattr(probes, "LAST_CHECK_AFTER", 3)
    before = torch.get_rng_state(), random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    one = evaluate_relatedness(Numbers(), three, seed=1)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (random.getstate(), repr(np.random.get_state())) == before[1:]  # noqa: NPY002
    torch.manual_seed(99)
    assert evaluate_relatedness(Numbers(), three, seed=1) == one
    assert evaluate_relatedness(Numbers(), three, seed=2) != one


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


def test_identification_is_learned_and_the_scale_of_vectors_tells_nothing() -> None:
    class Scaled(Numbers):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts) * [1000, 0.01, 1, 1]

    for encoder in (Numbers(), Scaled()):
        right = evaluate_identification(encoder, same("train", 90, 1), same("test", 60, 2, wrong=6))
        assert right.tolist() == [False] * 6 + [True] * 54  # all but the six whose label is wrong
        assert len(encoder.calls) == 1


def test_labelled_pairs_are_scored_by_the_classifier_of_their_train_split(monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = same("train", 90, 1), same("test", 60, 2, wrong=6)
    monkeypatch.setattr(probes, "load", lambda name, split: {("same", "train"): train}[name, split])
    result = probes.evaluate(Numbers(), test, setup=None, progress=False)
    assert result.scores == {"same": pytest.approx(90)}
    assert result.score() == pytest.approx(90)


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=12, device="cpu")


def in_context(*rows: tuple[str, str, float]) -> Corpus[WordPairInContext]:
    """Pairs of contexts in which <...> marks the word."""

    def marked(text: str) -> tuple[str, str, tuple[int, int]]:
        before, word, after = text.replace(">", "<").split("<")
        return word, before + word + after, (len(before), len(before) + len(word))

    made = []
    for a, b, score in rows:
        (word_a, context_a, span_a), (word_b, context_b, span_b) = marked(a), marked(b)
        made.append(WordPairInContext(word_a, word_b, score, context_a, span_a, context_b, span_b))
    return Corpus("marked", "test", tuple(made), "by hand")


SHORT = in_context(
    ("the <dog> eats an apple", "a <king> eats bread", 2.0), ("a big <farming>, not a dog", "the <farmer> reads", 6.0),
    ("the dog sees the <dog>", "the <dog> sees the dog", 8.0), ("<she>", "who is <she> ?", 9.0),
)  # fmt: skip


def test_a_word_is_the_mean_of_its_own_tokens(encoder: Encoder) -> None:
    def literal(context: str, span: tuple[int, int]) -> np.ndarray:
        (vectors, offsets), found = encoder.encode_tokens([context])[0], []
        for vector, (start, end) in zip(vectors, offsets, strict=True):
            if span[0] <= start and end <= span[1]:
                found.append(vector)
        return np.mean(found, axis=0)

    a = np.stack([literal(row.context_a, row.span_a) for row in SHORT])
    b = np.stack([literal(row.context_b, row.span_b) for row in SHORT])
    assert len(encoder.encode_tokens(["farming"])[0][0]) > 1  # several pieces
    vectors = vectors_in_context(encoder, [r.context_a for r in SHORT], [r.span_a for r in SHORT])
    assert vectors == pytest.approx(a, abs=1e-5)
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    expected = 100 * stats.spearmanr(cosines, [2, 6, 8, 9]).statistic
    assert evaluate_in_context(encoder, SHORT) == pytest.approx(expected)


# the encoder takes 12 tokens, 10 without [CLS] and [SEP]; "apples" is two of them and every other word one
@pytest.mark.parametrize(
    ("context", "window"),
    [
        ("the cat " * 8 + "<dog> " + "is a " * 8, "the cat the cat <dog> is a is a"),  # 9 tokens: five a side are 11
        ("a <dog> " + "is a " * 8, "a <dog> is a is a is a is a"),  # 10, most of them behind
        ("is a " * 8 + "the <dog>", "is a is a is a is a the <dog>"),
        ("the cat " * 8 + "apples <dog> apples " + "is a " * 8, "the cat apples <dog> apples is a"),  # 9
        ("a cat <dog> is on the house", "a cat <dog> is on the house"),
    ],
)
def test_a_long_context_is_cut_to_whole_words_around_the_marked_one(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, context: str, window: str
) -> None:
    assert len(encoder.tokenizer("apples", add_special_tokens=False)["input_ids"]) == 2
    whole, cut = in_context((context, window, 1.0))[0], in_context((window, window, 1.0))[0]
    expected = vectors_in_context(encoder, [cut.context_a], [cut.span_a])
    asked: list[str] = []
    encode_tokens = encoder.encode_tokens

    def listening(texts: list[str], *, progress: bool, precision: str) -> list[tuple[np.ndarray, np.ndarray]]:
        asked.extend(texts)
        return encode_tokens(texts, progress=progress, precision=precision)

    monkeypatch.setattr(encoder, "encode_tokens", listening)
    vectors = vectors_in_context(encoder, [whole.context_a], [whole.span_a])
    assert asked == [cut.context_a]
    assert vectors == pytest.approx(expected, abs=1e-6)
    assert vectors.any()


def test_words_without_a_token_are_scored_by_0(encoder: Encoder) -> None:
    glued = "bcdfghjklmnpqrstvwxz" + "dog"  # one word: its marked end is behind the twelfth token
    contexts = ["the \u200b\u00ad dog", glued, "a βίος dog", "the dog"]
    spans = [(4, 6), (len(glued) - 3, len(glued)), (2, 6), (4, 7)]
    vectors = vectors_in_context(encoder, contexts, spans)
    assert vectors.any(axis=1).tolist() == [False, False, True, True]  # the third is the vector of [UNK]
    rows = [
        WordPairInContext("x", "dog", score, context, span, "the dog", (4, 7))
        for score, context, span in zip((1.0, 2.0, 3.0, 4.0), contexts, spans, strict=True)
    ]
    result = evaluate_in_context(encoder, Corpus("holes", "test", tuple(rows), "by hand"))
    last = vectors[3] @ vectors[2] / np.linalg.norm(vectors[3]) / np.linalg.norm(vectors[2])
    assert result == pytest.approx(100 * stats.spearmanr([0, 0, last, 1], [1, 2, 3, 4]).statistic)


@pytest.mark.realdata
def test_public_words_alone_and_in_context(real_data: Path) -> None:
    encoder = Encoder.from_pretrained("tiny", pooling="mean", max_length=16, device="cpu")
    alone = evaluate_rows(encoder, "scws", folder=real_data).score()
    assert 20 < alone < evaluate_in_context(encoder, load("scws", folder=real_data)) < 70
