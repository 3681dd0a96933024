"""Universal: what a batch holds, what the loss is, and which negatives may be drawn."""

from __future__ import annotations

import copy
import math
from collections import Counter
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sentlab.data.rows import LabelledPair, PhrasePair
from sentlab.encoder import Encoder
from sentlab.methods.universal import LABELS, Negatives, Universal, task_rows
from sentlab.training import TrainConfig, fit, set_seed, train_heads_first

NLI = [
    LabelledPair("a man plays the guitar", "a man plays", "entailment"),
    LabelledPair("a man plays the guitar", "a man eats bread", "contradiction"),
    LabelledPair("a dog runs", "a small dog runs", "neutral"),
    LabelledPair("the boy reads a book", "a boy reads", "entailment"),
]
PHRASES = [
    PhrasePair("big dog", "the dog", "entailment", 0.6), PhrasePair("man", "boy", "independent", 0.4),
    PhrasePair("quick", "not slow", "equivalence", 0.9), PhrasePair("quick", "running", "equivalence", 0.8),
    PhrasePair("small house", "little house", "equivalence", 1.0),
]  # fmt: skip


@pytest.fixture
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=16)


def method(encoder: Encoder, **settings: Any) -> Universal:
    torch.manual_seed(0)
    return Universal(encoder, **({"paraphrases": PHRASES} | settings)).eval()


@pytest.mark.parametrize(
    ("names", "turn"),
    [
        (("nli", "pi", "ptc"), ("nli", "pi", "nli", "ptc")),
        (("nli", "ptc"), ("nli", "ptc")),
        (("pi", "ptc"), ("pi", "ptc")),
    ],
)
def test_nli_is_every_second_batch(names: tuple[str, ...], turn: tuple[str, ...]) -> None:
    rows = task_rows(**{name: NLI if name == "nli" else PHRASES for name in names})
    assert rows.turn == turn


def test_a_batch_of_paraphrases_holds_k_negatives_a_target(encoder: Encoder) -> None:
    batch = method(encoder, negatives=2).collate([("pi", row) for row in PHRASES[:3]])
    assert batch["labels"].tolist() == [0, 1, 1] * 3
    assert [len(set(batch["first"][i : i + 3].tolist())) for i in (0, 3, 6)] == [1, 1, 1]
    texts = encoder.tokenizer.batch_decode(batch["input_ids"], skip_special_tokens=True)
    pool = {text for row in PHRASES for text in (row.phrase_a, row.phrase_b)}
    assert set(texts) <= pool


@pytest.mark.parametrize("task", ["nli", "pi", "ptc"])
@pytest.mark.parametrize("features", ["|u-v|", "u,v,|u-v|,u*v"])
def test_the_loss_is_the_papers_softmax_one_pair_at_a_time(encoder: Encoder, task: str, features: str) -> None:
    universal = method(encoder, pair_features=features)
    batch = universal.collate([(task, row) for row in (NLI if task == "nli" else PHRASES)])
    losses = universal.loss(batch)
    texts = encoder.tokenizer.batch_decode(batch["input_ids"], skip_special_tokens=True)
    if task != "pi":
        columns = zip(batch["first"], batch["second"], batch["labels"], strict=True)
        said = [(texts[a], texts[b], LABELS[task][label]) for a, b, label in columns]
        assert said == [astuple(row)[:3] for row in (NLI if task == "nli" else PHRASES)]
    total = 0.0
    with torch.no_grad():
        for a, b, label in zip(batch["first"], batch["second"], batch["labels"], strict=True):
            u, v = torch.from_numpy(encoder.encode([texts[a], texts[b]]))
            x = torch.cat([{"u": u, "v": v, "|u-v|": abs(u - v), "u*v": u * v}[name] for name in features.split(",")])
            scores = universal.heads[task].weight @ x
            total -= float(scores[label] - scores.exp().sum().log())
    assert losses.keys() == {task}
    assert losses[task].item() == pytest.approx(total / len(batch["labels"]), abs=1e-5)


def test_negatives_are_never_known_paraphrases_and_all_other_second_sides_come_up() -> None:
    torch.manual_seed(0)
    more = [PhrasePair("Big Dog", "red dog", "equivalence", 1.0), PhrasePair("man", "quick", "equivalence", 1.0)]
    negatives = Negatives([*PHRASES, *more], 3)
    drawn = Counter()
    for _ in range(600):
        three = negatives.draw("big dog")
        assert len(set(three)) == 3
        drawn.update(three)
    assert drawn.keys() == {"boy", "not slow", "running", "little house", "quick"}
    assert min(drawn.values()) > 600 * 3 / 5 * 0.8  # each as often as the others
    assert "quick" not in {phrase for _ in range(100) for phrase in negatives.draw("running")}  # either way round
    assert len(set(negatives.draw("a phrase of no pair"))) == 3


def test_a_rows_own_paraphrase_is_no_negative_of_it_where_the_drawn_pairs_lack_the_row(encoder: Encoder) -> None:
    row = PhrasePair("a phrase of no pair", PHRASES[0].phrase_b, "equivalence", 1.0)
    universal = method(encoder, negatives=2)
    for _ in range(20):
        labels = universal._pairs("pi", row)
        assert [label for _, phrase, label in labels if phrase == row.phrase_b] == ["paraphrase"]
    sides = {pair.phrase_b.casefold() for pair in PHRASES}
    with pytest.raises(ValueError, match="negatives of 'a phrase of no pair' cannot be drawn"):
        universal.negatives.draw("a phrase of no pair", *sides)  # type: ignore[union-attr]


def test_rows_say_which_tasks_there_are(encoder: Encoder) -> None:
    rows = task_rows(nli=NLI, pi=PHRASES)
    torch.manual_seed(0)
    one, other = Universal(encoder, tasks=rows), Universal(encoder, tasks=("nli", "pi"), paraphrases=PHRASES)
    assert [*one.heads] == [*other.heads] == ["nli", "pi"]
    assert one.negatives is not None
    assert one.negatives.phrases == other.negatives.phrases
    assert Universal(encoder, tasks=task_rows(nli=NLI)).negatives is None


def test_heads_train_first_as_by_hand(encoder: Encoder) -> None:
    rows, config = task_rows(nli=NLI, pi=PHRASES), TrainConfig(steps=4, batch_size=2, learning_rate=1e-3)
    results, losses = [], []
    for by_hand in (True, False):
        set_seed(0)
        method = Universal(copy.deepcopy(encoder), tasks=rows)
        if by_hand:
            method.encoder.requires_grad_(False)
            heads = fit(method, rows, replace(config, learning_rate=0.01), progress=False)
            method.encoder.requires_grad_(True)
            whole = fit(method, rows, config, progress=False)
        else:
            heads, whole = train_heads_first(method, rows, config, progress=False)
        results.append(method.state_dict())
        losses.append((heads.losses, whole.losses))
    assert all(torch.equal(value, results[1][name]) for name, value in results[0].items())
    assert losses[0] == losses[1]
    assert all(weights.requires_grad for weights in method.encoder.parameters())


def test_a_training_of_heads_that_fails_leaves_the_encoder_trainable(encoder: Encoder) -> None:
    rows = task_rows(nli=NLI)
    method = Universal(encoder, tasks=rows)
    encoder.word_embeddings.requires_grad_(False)
    trained = [weights.requires_grad for weights in encoder.parameters()]
    with pytest.raises(FloatingPointError):
        train_heads_first(method, rows, TrainConfig(steps=3, batch_size=2, learning_rate=math.inf), progress=False)
    assert [weights.requires_grad for weights in encoder.parameters()] == trained
