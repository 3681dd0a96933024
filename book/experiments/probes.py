"""Evaluations of the records alone: small heads trained on frozen vectors, and words in their contexts.

Universal (section 4) reports STS-B and SICK-R "first trained as a regression task", as SentEval does (Conneau and Kiela
2018, after Tai et al. 2015), and the accuracy on SemEval-2013 task 5(a) (Korkontzelos et al. 2013). The encoder itself
is never trained here. It encodes the words of SCWS alone; `evaluate_in_context` reads them in their contexts.

Differs from SentEval (`senteval/tools/relatedness.py`, `sick.py` and `sts.py`):

- Random numbers come from a generator of the call's own, so they are others, and the caller's are left alone.
- A correlation that is not defined is nan, not 0.
- The loss is the sum of squares over a batch, as its code asks for in a way that today's PyTorch ignores.

Differs from the paper: it fine-tunes its own encoder on SemEval's training pairs, and does not say what classifier it
uses. Here, for all encoders alike, it is a logistic regression on frozen vectors.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sentlab import metrics
from sentlab.data.rows import Corpus, LabelledPair, ScoredPair, WordPairInContext
from sentlab.encoder import Encoder
from sentlab.encoder.inference import tokenized
from sentlab.evaluation import Evaluation
from sentlab.evaluation import evaluate as evaluate_rows
from sentlab.evaluation.sts import DECIMALS, TextEncoder, encode_pairs
from sentlab.training.losses import pair_features
from torch import Tensor

from experiments.corpora import load

BINS = 5  # of a score, at 1, 2, ... 5
BATCH = 64
EPOCHS_PER_CHECK, LAST_CHECK_AFTER, FAILED_CHECKS = 50, 1000, 4  # epochs, epochs, checks without a new best
STRENGTHS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # C of the logistic regression, the inverse of its L2 penalty
FOLDS = 5
CHUNK = 256  # contexts whose token vectors are in memory at once


def evaluate(encoder: TextEncoder, corpus: Corpus[Any], **options: Any) -> Evaluation:
    """Score an encoder on rows of any kind: as `sentlab.evaluation.evaluate`, and labelled pairs by a classifier.

    The classifier learns from the `train` split of the corpus of that name; its score is the accuracy x 100. A
    `sentlab.Encoder` gets a second score for WordPairInContext rows, `NAME in context`.
    """
    if not isinstance(corpus[0], LabelledPair):
        result = evaluate_rows(encoder, corpus, **options)
        if isinstance(corpus[0], WordPairInContext) and isinstance(encoder, Encoder):
            result.scores[f"{corpus.name} in context"] = evaluate_in_context(encoder, corpus)
        return result
    right = evaluate_identification(encoder, load(corpus.name, "train"), corpus)
    return Evaluation({corpus.name: 100 * float(right.mean())}, 100.0 * right, None, None, dict(corpus.left_out))


def evaluate_relatedness(encoder: TextEncoder, corpora: str | Sequence[Corpus[ScoredPair]], *, seed: int = 0) -> float:
    """Train a head on graded pairs of sentences, and correlate what it predicts with human scores: Spearman x 100.

    The head sees `[|u - v|; u * v]`, gives a distribution over the scores 1 to 5, and predicts its mean. It is trained
    on the train split, chosen by Pearson's correlation on the dev split, and reported on the test split.

    `corpora`: `stsb` or `sick`, or three corpora: train, dev, test. `seed`: of the head and the order.
    Source: Conneau and Kiela (2018), "SentEval", section 3; Tai et al. (2015), section 4.2.
    """
    if isinstance(corpora, str):
        corpora = [load(corpora, split) for split in ("train", "dev", "test")]
    golds = [np.array([pair.score for pair in corpus]) for corpus in corpora]
    targets = torch.from_numpy(relatedness_targets(golds[0]))
    parts = _features(encoder, corpora, "|u-v|,u*v")  # and a last one of 1, whose weight is the bias
    train, dev, test = (torch.nn.functional.pad(part, (0, 1), value=1.0) for part in parts)
    weights = _train_head(train, targets, dev, golds[1], torch.Generator().manual_seed(seed))
    return 100 * metrics.spearman(_predict(weights, test), golds[2])


def relatedness_targets(scores: Any) -> np.ndarray:
    """Spread each score (n,) over its two neighbours among 1 to 5, so that it is their mean: float32 (n, 5).

    Below 1, where STS-B has scores, only the upper neighbour's share is there, which no distribution can reach.
    Source: Tai et al. (2015), section 4.2, for scores from 1 on; SentEval's `encode_labels` for all.

    Example:
        >>> relatedness_targets([3.5]).tolist()
        [[0.0, 0.0, 0.5, 0.5, 0.0]]
    """
    apart = np.abs(np.asarray(scores, np.float64)[:, None] - np.arange(1, BINS + 1))
    return np.maximum(1 - apart, 0).astype(np.float32)


def evaluate_identification(
    encoder: TextEncoder, train: Corpus[LabelledPair], test: Corpus[LabelledPair]
) -> np.ndarray:
    """Train a logistic regression on labelled pairs, and return which of the test pairs it labels as they are, (n,).

    It sees `[u; v; |u - v|; u * v]`, standardised to mean 0 and variance 1 on the training pairs. Its strength is the
    one of `STRENGTHS` that is best in a cross validation of five folds of the training pairs, the smallest of equals.

    `train`, `test`: rows with two labels, each label at least five times in `train`.
    Source: Korkontzelos et al. (2013), "SemEval-2013 Task 5: Evaluating Phrasal Semantics", for the task.
    """
    from sklearn.linear_model import LogisticRegression  # which takes a second or two to import
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train_features, test_features = _features(encoder, [train, test], "u,v,|u-v|,u*v")
    search = GridSearchCV(  # its pipeline standardises on what is not held out, and refits on all at the end
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": STRENGTHS},
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0),
    )
    search.fit(train_features.numpy(), [pair.label for pair in train])
    return np.asarray(search.predict(test_features.numpy()) == np.array([pair.label for pair in test]))


@torch.no_grad()
def _train_head(features: Tensor, targets: Tensor, dev: Tensor, gold: np.ndarray, generator: torch.Generator) -> Tensor:
    """Adam on batches of 64; every 50 epochs Pearson on dev tells whether to keep the weights, and when to stop.

    Features are (n, F + 1), the last one 1, and targets (n, 5). Returns the best weights, bias last, (F + 1, 5).
    """
    bound = (features.shape[1] - 1) ** -0.5  # as torch.nn.Linear begins
    weights = (2 * torch.rand(features.shape[1], BINS, generator=generator) - 1) * bound
    optimizer = torch.optim.Adam([weights], fused=True)
    best, highest = weights, math.nan
    epochs = failed = 0
    while failed < FAILED_CHECKS and epochs <= LAST_CHECK_AFTER:
        for _ in range(EPOCHS_PER_CHECK):
            order = torch.randperm(len(features), generator=generator)
            for x, y in zip(features[order].split(BATCH), targets[order].split(BATCH), strict=True):
                weights.grad = _gradient(weights, x, y)
                optimizer.step()
        epochs += EPOCHS_PER_CHECK
        pearson = metrics.pearson(_predict(weights, dev), gold)
        if epochs == EPOCHS_PER_CHECK or pearson > highest or math.isnan(highest):
            best, highest = weights.clone(), pearson
        else:
            failed += 1
    return best


def _gradient(weights: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Of the sum of (softmax(x W) - y)^2 over a batch: (F + 1, 5). Written out, it takes half of autograd's time."""
    p = torch.softmax(x @ weights, dim=-1)  # (B, 5)
    slope = 2 * (p - y) * p  # the loss's in p, times p
    return x.T @ (slope - p * slope.sum(dim=-1, keepdim=True))


def _predict(weights: Tensor, features: Tensor) -> np.ndarray:
    """The mean of each distribution over the scores 1 to 5: (n,)."""
    shares = torch.softmax(features @ weights, dim=-1).double()
    return (shares @ torch.arange(1, BINS + 1, dtype=torch.float64)).numpy()


def _features(encoder: TextEncoder, corpora: Sequence[Corpus[Any]], features: str) -> list[Tensor]:
    """For each corpus of n pairs its features on the CPU, float32 (n, F)."""
    pairs = encode_pairs(encoder, corpora)
    tensors = ([torch.from_numpy(metrics.as_rows(part.astype(np.float32))) for part in pair] for pair in pairs)
    return [pair_features(u, v, features) for u, v in tensors]


def evaluate_in_context(encoder: Encoder, corpus: Corpus[WordPairInContext]) -> float:
    """Return Spearman x 100 on pairs of words in their contexts, by `vectors_in_context` (Huang et al. 2012).

    Its last layer is used, whatever its pooling. A fitted `post` does not apply to tokens.
    """
    a = vectors_in_context(encoder, [row.context_a for row in corpus], [row.span_a for row in corpus])
    b = vectors_in_context(encoder, [row.context_b for row in corpus], [row.span_b for row in corpus])
    cosines = metrics.cosine_similarity(a, b).round(DECIMALS)
    return 100 * metrics.spearman(cosines, [row.score for row in corpus])


def vectors_in_context(encoder: Encoder, contexts: Sequence[str], spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """Average the last layer's vectors of each word's own tokens, in as much of its context as the encoder takes.

    A context that is too long is cut to whole words, as many before the marked one as behind it, where there are.

    `contexts`: n texts. `spans`: n character spans (start, end): `context[start:end]` is the word.
    Returns float32 (n, D). Zero where the word has no token among the first `max_length` ones of its window.
    """
    vectors = np.zeros((len(contexts), encoder.model.config.hidden_size), np.float32)
    for first in range(0, len(contexts), CHUNK):
        some = slice(first, first + CHUNK)
        windows = [_fitting(encoder, *of) for of in zip(contexts[some], spans[some], strict=True)]
        texts = [context[slice(*window)] for context, window in zip(contexts[some], windows, strict=True)]
        tokens = encoder.encode_tokens(texts, progress=False, precision="float32")
        for i, ((start, _), (of_tokens, offsets)) in enumerate(zip(windows, tokens, strict=True), first):
            inside = _inside(offsets + start, spans[i])
            if inside.any():
                vectors[i] = of_tokens[inside].mean(axis=0)
    return vectors


def _fitting(encoder: Encoder, context: str, span: tuple[int, int]) -> tuple[int, int]:
    """The character span of the part that fits the encoder, in whole words around the marked one."""
    words = np.array([word.span() for word in re.finditer(r"\S+", context)])  # (W, 2)
    marked = np.flatnonzero(_inside(words, span))
    budget = encoder.max_length - encoder.tokenizer.num_special_tokens_to_add()

    def window(reach: int) -> tuple[int, int]:
        return int(words[max(marked[0] - reach, 0), 0]), int(words[min(marked[-1] + reach, len(words) - 1), 1])

    def tokens(reach: int) -> int:
        part = context[slice(*window(reach))]
        # not verbose, or it warns of texts longer than the model takes, which is why they are cut here
        return len(tokenized(encoder, [part], add_special_tokens=False, verbose=False)["input_ids"][0])

    return window(bisect_right(range(1, len(words)), budget, key=tokens))


def _inside(parts: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    """Which of the spans (n, 2) share a character with `span`."""
    return (parts[:, 0] < span[1]) & (parts[:, 1] > span[0])
