"""One call for every kind of rows: scores of an encoder, and the value of each item behind them.

The kind of a row decides the evaluation, here and nowhere else:

| rows | evaluation | main score x 100 | items |
| --- | --- | --- | --- |
| ScoredPair | `pair_cosines` | Spearman, all pairs together | cosines |
| WordPair, PhrasePair, WordPairInContext | `evaluate_similarity` | Spearman | cosines |
| PhraseInContext | `evaluate_mining` | Pearson | similarities |
| DuplicateQuestion | `evaluate_retrieval` | mean average precision | average precision x 100 of each query |
| RankingQuery | `evaluate_reranking` | mean average precision | average precision x 100 of each query |
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sentlab import metrics
from sentlab.data import DuplicateQuestion, PhraseInContext, RankingQuery, ScoredPair
from sentlab.data.rows import Corpus
from sentlab.evaluation import words
from sentlab.evaluation.mining import Setup, evaluate_mining
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval
from sentlab.evaluation.sts import CORRELATIONS, Correlation, Rows, TextEncoder, one_corpus, pair_cosines

KINDS = (ScoredPair, *words.KINDS, PhraseInContext, DuplicateQuestion, RankingQuery)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What `evaluate` found.

    Args:
        scores: name -> score x 100, such as {"quora map": 55.1, "quora mrr@10": 60.2}. The main score is the first.
        items: the cosine of each item, or its score x 100. Float64 (n,), in order.
        gold: the human score of each item, float64 (n,). None where an item's value is a score by itself.
        correlation: how items and gold make the main score. None where it is the mean of the items.
        left_out: reason -> number of rows or queries that are not scored.
    """

    scores: dict[str, float]
    items: np.ndarray
    gold: np.ndarray | None
    correlation: Correlation | None
    left_out: dict[str, int] = field(default_factory=dict)

    def score(self, chosen: np.ndarray | slice = slice(None)) -> float:
        """Return the main score x 100 over chosen items: a slice, or indices, which may repeat (a bootstrap's draw)."""
        if self.gold is None or self.correlation is None:
            return float(self.items[chosen].mean())
        return 100 * CORRELATIONS[self.correlation](self.items[chosen], self.gold[chosen])


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
        >>> result = evaluate(sentlab.Encoder.from_pretrained(pooling="mean"), "toy-sts", progress=False)
        >>> all_pairs, first_hundred = result.scores["toy-sts"], result.score(np.arange(100))
    """
    corpus = one_corpus(rows, *KINDS, folder=folder)
    name, kind, left_out = corpus.name, type(corpus[0]), dict(corpus.left_out)
    if kind in (DuplicateQuestion, RankingQuery):
        rank = evaluate_retrieval if kind is DuplicateQuestion else evaluate_reranking
        ranked = rank(encoder, corpus, progress=progress)
        scores, items = {f"{name} map": ranked.map, f"{name} mrr@10": ranked.mrr}, ranked.precisions
        left_out = ranked.left_out
    elif kind is PhraseInContext:
        mined = evaluate_mining(encoder, corpus, setup or "spans", progress=progress)
        measures = {"pearson": mined.pearson, "spearman": mined.spearman, "found": mined.found}
        scores = {f"{name} {mined.setup} {key}": value for key, value in measures.items()}
        if math.isnan(mined.found):  # nothing was sought, or there is nothing to find
            del scores[f"{name} {mined.setup} found"]
        items = mined.similarities
    elif kind is ScoredPair:
        items = pair_cosines(encoder, corpus, progress=progress)
        scores = {name: 100 * metrics.spearman(items, [row.score for row in corpus])}
    else:
        similar = words.evaluate_similarity(encoder, corpus, progress=progress)
        scores, items = similar.scores, similar.cosines[name]
    return Evaluation(scores, items, *gold_of(corpus), left_out)


def gold_of(corpus: Corpus[Any]) -> tuple[np.ndarray | None, Correlation | None]:
    """Return the gold (n,) of a corpus and its correlation in `evaluate`: None where an item is a score by itself."""
    if not hasattr(corpus[0], "score"):
        return None, None
    gold = np.array([row.score for row in corpus], np.float64)
    return gold, "pearson" if isinstance(corpus[0], PhraseInContext) else "spearman"


def dev_score(rows: Rows, *, setup: Setup | None = None) -> Callable[[TextEncoder], float]:
    """Return a dev score for `fit`: it maps an encoder to Spearman x 100, or to the main score where there is no gold.

    Args:
        rows, setup: as in `evaluate`, but of a name the `dev` split is loaded. A test split warns: what chooses must
            not see it.

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
