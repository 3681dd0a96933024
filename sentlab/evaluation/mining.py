"""Phrases in longer texts: does the similarity of a phrase with its context rank pairs as people grade the best match?

SLICE (section 5 and Table 1) compares set-ups by what of the context is set against the phrase:

- `full`: the context, encoded as one text.
- `ngrams`: the most similar of all n-grams of 1 to MAX_SIZE words, each encoded by itself.
- `spans`: the same n-grams, each the mean of its tokens' vectors, out of a single pass of the context.
- `start_end`: as `spans`, but a span or phrase is its first and last token's vectors side by side (DensePhrases).

What the paper leaves open, and what is done here:

- What a word is. In both set-ups `sentlab.text.words.word_boundaries` defines it, so a punctuation mark is one too.
- The query. In `spans` it is the mean of the phrase's own tokens, as in SLICE's training, else what `encode` gives.
- Ties. Of equally similar n-grams the first counts, and of those the shortest.
- Texts longer than the encoder takes. Nothing is cut: such a corpus is refused.

Averaged word vectors have no context, so to them a single pass is what `ngrams` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sentlab import metrics
from sentlab.data.rows import POSITIVE, Corpus, PhraseInContext
from sentlab.encoder import Encoder
from sentlab.encoder.inference import tokenized
from sentlab.evaluation.sts import Rows, TextEncoder, encode_groups, one_corpus
from sentlab.search.spans import best_spans
from sentlab.text.words import tight, word_boundaries, word_places

Setup = Literal["full", "ngrams", "spans", "start_end"]
MAX_SIZE = 20  # words; at least as long as 90% of the paper's phrases
DECIMALS = 6  # of a similarity; what is behind them is rounding error of float32
Best = tuple[np.ndarray, np.ndarray]  # of each row's best n-gram the similarity (n,), and the characters (n, 2)
CONTEXTS = 256  # whose vectors, of tokens or of n-grams, are in memory at once
OVERLAP = 0.5  # intersection over union from which on a match counts as found


@dataclass(frozen=True, eq=False)
class MiningResult:
    """What `evaluate_mining` found.

    Args:
        pearson, spearman: correlations of similarities and gold x 100. NaN where all similarities are the same.
        found: of the rows with a gold of 4 or more, the share x 100 whose best n-gram is the true match. Characters in
            both are at least half of the characters in either. NaN without such a row, or where n-grams are not sought.
        similarities: of each row, float64 (n,), in order.
        matches: characters [start, end) of each row's best n-gram, int64 (n, 2). None where n-grams are not sought.
        left_out: reason -> number of rows that are not scored.
    """

    setup: str
    pearson: float
    spearman: float
    found: float
    similarities: np.ndarray
    matches: np.ndarray | None
    left_out: dict[str, int]


def evaluate_mining(
    encoder: TextEncoder,
    corpus: Rows,
    setup: Setup = "spans",
    *,
    max_size: int = MAX_SIZE,
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> MiningResult:
    """Score an encoder on PhraseInContext rows, by the similarity of each phrase with its context.

    Args:
        encoder: anything with `encode`; for `spans` and `start_end` a `sentlab.Encoder`, whose last layer is used,
            whatever its pooling and without a fitted `post`. Only of a `sentlab.Encoder` is it known what it would cut.
        setup: what of a context is compared, as above.
        max_size: words an n-gram has at most. Not for `full`.
        corpus, folder, progress: as in `evaluate_sts`. No bar is shown by `spans` and `start_end`.

    Source: SLICE, section 5 and Table 1.
    """
    if setup not in get_args(Setup):
        raise ValueError(f"unknown setup {setup!r}; choose one of {', '.join(get_args(Setup))}")
    corpus = one_corpus(corpus, PhraseInContext, folder=folder)
    if any(not 0 <= row.start < row.end <= len(row.context) for row in corpus):
        raise ValueError(f"{corpus.name}: start and end are places of characters in the context; a row has others")
    if isinstance(encoder, Encoder):
        prompt = encoder.prompt if setup in ("full", "ngrams") else ""
        every = [prompt + text for row in corpus for text in (row.phrase, row.context)]
        longest = max(map(len, tokenized(encoder, every, verbose=False)["input_ids"]))
        if longest > encoder.max_length:
            where = f"{corpus.name} ({corpus.split})"
            raise ValueError(f"{where} has texts of up to {longest} tokens: load the encoder with max_length={longest}")
    if setup == "full":
        texts = [row.phrase for row in corpus], [row.context for row in corpus]
        phrases, contexts = encode_groups(encoder, *texts, progress=progress)
        return _result(corpus, setup, metrics.cosine_similarity(phrases, contexts).round(DECIMALS))
    if setup == "ngrams":
        return _result(corpus, setup, *_best_ngrams(encoder, corpus, max_size, progress))
    assert isinstance(encoder, Encoder), "spans need the token vectors of a sentlab.Encoder"
    return _result(corpus, setup, *_best_spans(encoder, corpus, max_size, setup))


def _best_ngrams(encoder: TextEncoder, corpus: Corpus[PhraseInContext], max_size: int, progress: bool | None) -> Best:
    """N-grams are encoded as texts."""
    similarities, matches = np.empty(len(corpus)), np.empty((len(corpus), 2), np.int64)
    for first in range(0, len(corpus), CONTEXTS):
        rows = corpus[first : first + CONTEXTS]
        places = [word_places(row.context) for row in rows]
        # of each row, characters (M, 2) by start, and then by end
        spans = [[(a, b) for i, (a, _) in enumerate(words) for _, b in words[i : i + max_size]] for words in places]
        texts = [[row.context[start:end] for start, end in of_row] for row, of_row in zip(rows, spans, strict=True)]
        phrases, *ngrams = encode_groups(encoder, [row.phrase for row in rows], *texts, progress=progress)
        for i, (phrase, vectors) in enumerate(zip(phrases, ngrams, strict=True)):  # (D,), (M, D)
            scores = metrics.cosine_similarity(np.broadcast_to(phrase, vectors.shape), vectors).round(DECIMALS)
            best = scores.argmax()  # the first of equals
            similarities[first + i], matches[first + i] = scores[best], spans[i][best]
    return similarities, matches


def _best_spans(encoder: Encoder, corpus: Corpus[PhraseInContext], max_size: int, setup: Setup) -> Best:
    """N-grams are spans of a context that is encoded once."""
    similarities, matches = np.empty(len(corpus)), np.empty((len(corpus), 2), np.int64)
    for first in range(0, len(corpus), CONTEXTS):
        rows = corpus[first : first + CONTEXTS]
        sides = [row.phrase for row in rows], [row.context for row in rows]
        phrases, contexts = (encoder.encode_tokens(texts, progress=False, precision="float32") for texts in sides)
        for i, (row, (phrase, _), (vectors, offsets)) in enumerate(zip(rows, phrases, contexts, strict=True), first):
            boundaries = word_boundaries(row.context, offsets)
            if setup == "spans":
                query = phrase.mean(axis=0, keepdims=True)  # (1, D)
                best = best_spans(query, vectors, max_size=max_size, boundaries=boundaries)
                similarities[i], start, end = (values.item() for values in best)
            else:
                similarities[i], start, end = _best_start_end(phrase, vectors, boundaries, max_size)
            matches[i] = tight(row.context, int(offsets[start, 0]), int(offsets[end - 1, 1]))
    return similarities, matches


def _best_start_end(phrase: np.ndarray, tokens: np.ndarray, edges: np.ndarray, max_size: int) -> tuple[float, int, int]:
    """The span whose first and last token are most like those of a phrase: cosine, first token, one after its last."""
    first, last = (tokens[places].astype(np.float64) for places in (edges[:-1], edges[1:] - 1))  # (W, D)
    dots = (first @ phrase[0])[:, None] + last @ phrase[-1]  # (W, W): spans from word i to word j
    lengths = np.sqrt((first**2).sum(1)[:, None] + (last**2).sum(1)) * np.linalg.norm(phrase[[0, -1]])
    cosines = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0).round(DECIMALS)
    sizes = np.arange(len(first)) - np.arange(len(first))[:, None] + 1
    cosines[(sizes < 1) | (sizes > max_size)] = -np.inf
    i, j = np.unravel_index(cosines.argmax(), cosines.shape)
    return float(cosines[i, j]), int(edges[i]), int(edges[j + 1])


def _result(corpus: Corpus[Any], setup: str, cosines: np.ndarray, matches: np.ndarray | None = None) -> MiningResult:
    gold = np.array([row.score for row in corpus])
    pearson, spearman = (100 * correlate(cosines, gold) for correlate in (metrics.pearson, metrics.spearman))
    found, positive = math.nan, gold >= POSITIVE
    if matches is not None and positive.any():
        true = np.array([(row.start, row.end) for row in corpus])
        shared = (np.minimum(matches[:, 1], true[:, 1]) - np.maximum(matches[:, 0], true[:, 0])).clip(min=0)
        either = (matches[:, 1] - matches[:, 0]) + (true[:, 1] - true[:, 0]) - shared
        found = 100 * float((shared >= OVERLAP * either)[positive].mean())
    return MiningResult(setup, pearson, spearman, found, cosines, matches, dict(corpus.left_out))
