"""Words and phrases, alone and in context: does the cosine of two vectors rank pairs as people do?

Universal (section 4 and Table 2): Spearman's correlation of cosines with human scores on SimLex-999 (Hill et al. 2015),
the two halves of WS-353 (Agirre et al. 2009), MEN (Bruni et al. 2012), SCWS (Huang et al. 2012) and phrase pairs of
PPDB. The paper encodes the words of SCWS alone, without the contexts that Huang et al. (2012) give them.

What the paper leaves open, and what is done here:
  - Words without a vector. They are scored like any other pair, and `Correlations.unknown` counts them.
  - Ties. A word paired with itself has the cosine 1, but for its last bits: cosines are rounded to nine decimals, so
    that equal ones share a rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sentlab import metrics
from sentlab.data.rows import Corpus, PhrasePair, WordPair, WordPairInContext
from sentlab.encoder import Encoder
from sentlab.encoder.inference import tokenized
from sentlab.evaluation.sts import Correlations, Rows, TextEncoder, encode_pairs, several_corpora, sides

DECIMALS = 9  # of a cosine; what is behind them is rounding error
KINDS = (WordPair, PhrasePair, WordPairInContext)


def evaluate_similarity(
    encoder: TextEncoder, corpora: Rows, *, folder: str | Path | None = None, progress: bool | None = None
) -> Correlations:
    """Score an encoder on pairs of words or phrases, each of them encoded alone and without training.

    The arguments are those of `evaluate_sts`, with WordPair, PhrasePair or WordPairInContext rows, contexts left aside.
    `unknown` counts zero vectors, as averaged word vectors give them; of a `sentlab.Encoder` texts with [UNK] too.

    Source: Universal, sections 4.2 and 4.3.
    """
    loaded = several_corpora(corpora, *KINDS, folder=folder)
    vectors = encode_pairs(encoder, loaded.values(), progress)
    unknown = [
        unknown_words(encoder, first, u) | unknown_words(encoder, second, v)
        for (first, second), (u, v) in zip(map(sides, loaded.values()), vectors, strict=True)
    ]
    return similarity_result(loaded, vectors, unknown)


def unknown_words(encoder: TextEncoder, texts: Sequence[str], vectors: np.ndarray) -> np.ndarray:
    """Tell which texts have a zero vector (n, D) or the token [UNK] of a `sentlab.Encoder`: bool (n,)."""
    unknown = np.asarray(~vectors.any(axis=1))
    if isinstance(encoder, Encoder):
        ids = tokenized(encoder, list(texts), truncation=True, max_length=encoder.max_length)["input_ids"]
        unknown |= np.array([encoder.tokenizer.unk_token_id in row for row in ids])
    return unknown


def similarity_result(
    corpora: dict[str, Corpus[Any]], vectors: Sequence[tuple[np.ndarray, np.ndarray]], unknown: Sequence[np.ndarray]
) -> Correlations:
    """Score pairs by their cosines: `vectors` are two (n, D) for each corpus of n pairs, and `unknown` is one (n,)."""
    scores, counts, cosines = {}, {}, {}
    for (name, corpus), (u, v), of_corpus in zip(corpora.items(), vectors, unknown, strict=True):
        cosines[name] = metrics.cosine_similarity(u, v).round(DECIMALS)
        scores[name] = 100 * metrics.spearman(cosines[name], [row.score for row in corpus])
        counts[name] = int(of_corpus.sum())
    left_out = {name: corpus.left_out for name, corpus in corpora.items()}
    return Correlations("spearman x 100", scores, cosines, left_out, unknown=counts)
