"""Scores of an encoder on any kind of rows, and the value of each item behind them.

The kind of a row decides the evaluation, here and nowhere else:

| rows | evaluation | main score x 100 | items |
| --- | --- | --- | --- |
| ScoredPair, WordPair, PhrasePair, WordPairInContext | `pair_cosines` | Spearman, all pairs together | cosines |
| PhraseInContext | `evaluate_mining` | Pearson | similarities |
| DuplicateQuestion | `evaluate_retrieval` | mean average precision | average precision x 100 of each query |
| RankingQuery | `evaluate_reranking` | mean average precision | average precision x 100 of each query |

Words and phrases are encoded alone and without training, as in Universal (section 4 and Table 2), and SCWS without its
contexts. The paper leaves open what a word without a vector gets. Here a zero vector has the cosine 0 and stays in the
correlation, and [UNK] is a token like any other.
"""

# ruff: noqa: I001  the names of sts are on two lines
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sentlab import metrics
from sentlab.data.rows import Corpus, DuplicateQuestion, PhraseInContext, RankingQuery
from sentlab.evaluation.mining import Setup, evaluate_mining
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval
from sentlab.evaluation.sts import PAIRS, Evaluation, Geometry, Rows, TextEncoder, evaluate_sts, geometry, gold_of
from sentlab.evaluation.sts import one_corpus, pair_cosines, watch_geometry

__all__ = [
    "Evaluation", "Geometry", "TextEncoder", "dev_score", "evaluate", "evaluate_mining", "evaluate_reranking",
    "evaluate_retrieval", "evaluate_sts", "geometry", "gold_of", "pair_cosines", "watch_geometry",
]  # fmt: skip

KINDS = (*PAIRS, PhraseInContext, DuplicateQuestion, RankingQuery)


def evaluate(
    encoder: TextEncoder,
    rows: Rows,
    *,
    setup: Setup | None = None,
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Score an encoder on rows of any kind that an evaluation fits (see above).

    Args:
        encoder, folder, progress: as in `evaluate_sts`.
        rows: a corpus, a list of rows of one kind, or a name. Of a name the `test` split is loaded.
        setup: for PhraseInContext: what of a context is compared, as in `evaluate_mining`. None means `spans`.

    Scores are named after the corpus: `sts12`, `quora map`, `quora mrr@10`, `stsb-context spans pearson`.

    Example:
        >>> encoder = sentlab.Encoder.from_pretrained(pooling="mean")
        >>> result = sentlab.evaluation.evaluate(encoder, "toy-sts", progress=False)
        >>> all_pairs, first_hundred = result.scores["toy-sts"], result.score(np.arange(100))
    """
    corpus = one_corpus(rows, *KINDS, folder=folder)
    name, kind, gold = corpus.name, type(corpus[0]), gold_of(corpus)
    if kind is DuplicateQuestion:
        return evaluate_retrieval(encoder, corpus, progress=progress)
    if kind is RankingQuery:
        return evaluate_reranking(encoder, corpus, progress=progress)
    if kind is not PhraseInContext:
        items = pair_cosines(encoder, corpus, progress=progress)
        return Evaluation({name: 100 * metrics.spearman(items, gold[0])}, items, *gold, dict(corpus.left_out))
    mined = evaluate_mining(encoder, corpus, setup or "spans", progress=progress)
    scores = {f"{name} {mined.setup} {of}": getattr(mined, of) for of in ("pearson", "spearman", "found")}
    if math.isnan(mined.found):  # nothing was sought, or there is nothing to find
        scores.popitem()
    return Evaluation(scores, mined.similarities, *gold, mined.left_out)


def dev_score(rows: Rows, *, setup: Setup | None = None) -> Callable[[TextEncoder], float]:
    """Return a dev score for `fit`: it maps an encoder to Spearman x 100, or to the main score where there is no gold.

    Args:
        rows, setup: as in `evaluate`, but of a name the `dev` split is loaded. A test split warns: it must not choose.

    Example:
        >>> dev = sentlab.dev_score(sentlab.data.load("toy-sts", "dev"))
        >>> score = dev(sentlab.Encoder.from_pretrained(pooling="mean"))
    """
    corpus = one_corpus(rows, *KINDS, split="dev")
    gold, _ = gold_of(corpus)
    if gold is not None and np.ptp(gold) == 0:  # `fit` would find out at its end
        raise ValueError(f"{corpus.name}: a correlation needs rows with different scores; all of them have {gold[0]:g}")
    if isinstance(rows, Corpus) and rows.split == "test":
        warnings.warn(f"{rows.name} is a test split; choose with another, or the test says too much", stacklevel=2)

    def score(encoder: TextEncoder) -> float:
        result = evaluate(encoder, corpus, setup=setup, progress=False)
        return result.score() if result.gold is None else 100 * metrics.spearman(result.items, result.gold)

    # a checkpoint belongs to its dev set
    score.fingerprint = f"{corpus.fingerprint}, {setup}"  # type: ignore[attr-defined]
    return score
