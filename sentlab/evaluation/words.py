"""Words and phrases, alone and in context: does the cosine of two vectors rank pairs as people do?

Universal (section 4 and Table 2): Spearman's correlation of cosines with human scores on SimLex-999 (Hill et al. 2015),
the two halves of WS-353 (Agirre et al. 2009), MEN (Bruni et al. 2012), SCWS (Huang et al. 2012) and phrase pairs of
PPDB. The paper encodes the words of SCWS alone; their contexts are for what Huang et al. (2012) made the set for, to
tell a word's senses apart.

What the paper leaves open, and what is done here:
  - Words without a vector. They are scored like any other pair, and `SimilarityResult.unknown` counts them.
  - Ties. A word paired with itself has the cosine 1, but for its last bits: cosines are rounded to nine decimals, so
    that equal ones share a rank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sentlab.data.rows import Corpus, PhrasePair, WordPair, WordPairInContext
from sentlab.encoder import Encoder
from sentlab.evaluation import metrics
from sentlab.evaluation.inputs import TextEncoder, encode_groups, one_corpus, several_corpora
from sentlab.extras import need

if TYPE_CHECKING:
    import pandas as pd

DECIMALS = 9  # of a cosine; what is behind them is rounding error
CHUNK = 256  # contexts whose token vectors are in memory at once

Pair = WordPair | PhrasePair | WordPairInContext
KINDS = (WordPair, PhrasePair, WordPairInContext)


@dataclass(frozen=True, repr=False, eq=False)
class SimilarityResult:
    """What `evaluate_similarity` or `evaluate_in_context` found.

    Args:
        scores: corpus -> Spearman x 100, such as {"simlex": 60.75}; nan where all cosines are the same.
        pairs: corpus -> number of scored pairs.
        unknown: corpus -> how many of them hold a word that the encoder does not know. They are scored all the same. A
            zero vector gives 0. [UNK] as a token gives the cosine with its vector.
        left_out: corpus -> reason -> number of pairs left out.
        sources: corpus -> where its pairs came from.
        cosines: corpus -> the cosine of each pair, float64 (n,), in order.
    """

    scores: dict[str, float]
    pairs: dict[str, int]
    unknown: dict[str, int]
    left_out: dict[str, dict[str, int]]
    sources: dict[str, str]
    cosines: dict[str, np.ndarray]

    @property
    def average(self) -> float:
        """Unweighted mean over the corpora; nan where a corpus's value is."""
        return float(np.mean(list(self.scores.values())))

    def table(self) -> pd.DataFrame:
        """One row; a column a corpus, in order, and `average`."""
        pandas = need("pandas", "eval")
        return pandas.DataFrame([{**self.scores, "average": self.average}], index=["spearman x 100"])

    def __repr__(self) -> str:
        values = ", ".join(
            f"{name} {value:.2f} ({self.unknown[name]:,} of {self.pairs[name]:,} pairs with an unknown word)"
            for name, value in self.scores.items()
        )
        return f"SimilarityResult({values}; average {self.average:.2f}; spearman x 100)"

    def _repr_html_(self) -> str:
        return self.table().to_html(float_format="{:.2f}".format)


def evaluate_similarity(
    encoder: TextEncoder,
    corpora: str | Corpus[Any] | Sequence[Any] | Mapping[str, Any],
    *,
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> SimilarityResult:
    """Score an encoder on pairs of words or phrases, each of them encoded alone and without training.

    Args:
        encoder: anything with `.encode(list of n texts)` -> (n, D); called once, on all corpora's distinct texts.
            `unknown` counts zero vectors, as averaged word vectors give them, and for a `sentlab.Encoder` texts that
            have a token [UNK].
        corpora: a name, whose `test` split is loaded, a corpus or a list of rows. They are of WordPair, PhrasePair or
            WordPairInContext, whose contexts are not looked at. A list of names and corpora, or a mapping name -> rows,
            gives several scores.
        folder: where the public files are. See `sentlab.data.load`.
        progress: as in `evaluate_sts`.

    Raises:
        ValueError: no corpora, a corpus named twice, or one with other rows or fewer than two.
        FileNotFoundError: a corpus is nowhere to be found.

    Source: Universal, sections 4.2 and 4.3.
    """
    loaded = list(several_corpora(corpora, *KINDS, folder=folder, least=2).values())
    groups = [[_texts(row)[side] for row in corpus] for corpus in loaded for side in (0, 1)]
    vectors = encode_groups(encoder, *groups, progress=progress)
    unknown = [
        ~group_vectors.any(axis=1) | _has_unknown_token(encoder, group)
        for group, group_vectors in zip(groups, vectors, strict=True)
    ]
    return _result(loaded, vectors, unknown)


def evaluate_in_context(
    encoder: Encoder,
    corpus: str | Corpus[WordPairInContext] | Sequence[WordPairInContext] = "scws",
    *,
    folder: str | Path | None = None,
) -> SimilarityResult:
    """Score an encoder on pairs of words that each stand in a context of their own (Huang et al. 2012).

    A word's vector is `vectors_in_context`; `evaluate_similarity` on the same corpus encodes the words alone.

    Args:
        encoder: its last layer is used, whatever its pooling. A fitted `post` does not apply to tokens.
        corpus: a name, whose `test` split is loaded, a corpus, or a list of rows.
        folder: where the public files are; see `sentlab.data.load`.

    Returns:
        `unknown` counts the pairs in which a word has no token, so that its vector is zero, or the token [UNK].

    Raises:
        TypeError: the encoder has no vectors of tokens.
        ValueError: rows of another type, fewer than two, or a span that is not inside its context.
        FileNotFoundError: the corpus is nowhere to be found.
    """
    if not isinstance(encoder, Encoder):
        raise TypeError(
            f"encoder must be a sentlab.Encoder, which has a vector for each token; it is {type(encoder).__name__}. "
            "Without them contexts say nothing: use evaluate_similarity"
        )
    rows = one_corpus(corpus, WordPairInContext, folder=folder, least=2)
    sides = [
        vectors_in_context(encoder, [row.context_a for row in rows], [row.span_a for row in rows]),
        vectors_in_context(encoder, [row.context_b for row in rows], [row.span_b for row in rows]),
    ]
    return _result([rows], [vectors for vectors, _ in sides], [unknown for _, unknown in sides])


def vectors_in_context(
    encoder: Encoder, contexts: Sequence[str], spans: Sequence[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the last layer's vectors of a word's own tokens, each in as much of its context as the encoder takes.

    A context that is too long is cut to whole words, as many before the marked one as behind it or, near an end of the
    context, all there are on that side and more on the other.

    Args:
        contexts: n texts.
        spans: n character spans (start, end): `context[start:end]` is the word.

    Returns:
        float32 (n, D), and bool (n,): where the encoder does not know the word. Then a token is [UNK], or there is no
        token and the vector is zero: the tokenizer makes nothing of those characters, or they are behind the first
        `max_length` tokens of a string without spaces.

    Raises:
        ValueError: a span is empty or not inside its context; lists of two lengths.
    """
    for i, (context, (start, end)) in enumerate(zip(contexts, spans, strict=True)):
        if not 0 <= start < end <= len(context):
            raise ValueError(f"spans[{i}] is ({start}, {end}), not a part of its context of {len(context)} characters")
    vectors = np.zeros((len(contexts), encoder.model.config.hidden_size), np.float32)
    unknown = np.zeros(len(contexts), bool)
    for first in range(0, len(contexts), CHUNK):
        some = slice(first, first + CHUNK)
        windows = _windows(encoder, contexts[some], spans[some])
        texts = [context[start:end] for context, (start, end) in zip(contexts[some], windows, strict=True)]
        tokens = encoder.encode_tokens(texts, progress=False)
        for i, ((start, _), (found, offsets)) in enumerate(zip(windows, tokens, strict=True), first):
            own = found[_inside(offsets + start, spans[i])]
            if len(own):
                vectors[i] = own.mean(axis=0)
            unknown[i] = not len(own)
    words = [context[start:end] for context, (start, end) in zip(contexts, spans, strict=True)]
    return vectors, unknown | _has_unknown_token(encoder, words)


def _windows(encoder: Encoder, contexts: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each context the character span of the part that fits the encoder, in whole words around the marked one."""
    budget = encoder.max_length - encoder.tokenizer.num_special_tokens_to_add()
    batch = encoder.tokenizer(
        list(contexts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )  # not verbose, or it warns of texts longer than the model takes, which is why they are cut here
    return [
        _window(context, span, np.array(offsets, np.int64).reshape(-1, 2), budget)
        for context, span, offsets in zip(contexts, spans, batch["offset_mapping"], strict=True)
    ]


def _window(context: str, span: tuple[int, int], offsets: np.ndarray, budget: int) -> tuple[int, int]:
    """The widest window of at most `budget` tokens, offsets (t, 2), with as many words on either side as there are."""
    words = np.array([word.span() for word in re.finditer(r"\S+", context)], np.int64).reshape(-1, 2)
    marked = np.flatnonzero(_inside(words, span))
    if not len(marked):  # the span holds nothing but spaces, so no token can be its own
        return span
    before = np.searchsorted(offsets[:, 0], [*words[:, 0], len(context)])  # tokens before each word, and all
    window = words[marked[0], 0], words[marked[-1], 1]
    for reach in range(1, len(words)):
        low, high = max(0, marked[0] - reach), min(len(words) - 1, marked[-1] + reach)
        if before[high + 1] - before[low] > budget:
            break
        window = words[low, 0], words[high, 1]
    return int(window[0]), int(window[1])


def _inside(parts: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    """Which of the spans (n, 2) share a character with `span`."""
    return (parts[:, 0] < span[1]) & (parts[:, 1] > span[0])


def _has_unknown_token(encoder: TextEncoder, texts: Sequence[str]) -> np.ndarray:
    """Of n texts, those in which a tokenizer's [UNK] is a token: bool (n,), False for encoders without a tokenizer."""
    if not isinstance(encoder, Encoder):
        return np.zeros(len(texts), bool)
    ids = encoder.tokenizer(list(texts), truncation=True, max_length=encoder.max_length)["input_ids"]
    return np.array([encoder.tokenizer.unk_token_id in row for row in ids])


def _texts(row: Pair) -> tuple[str, str]:
    return (row.phrase_a, row.phrase_b) if isinstance(row, PhrasePair) else (row.word_a, row.word_b)


def _result(corpora: list[Corpus[Any]], vectors: list[np.ndarray], unknown: list[np.ndarray]) -> SimilarityResult:
    """`vectors` (n, D) and `unknown` (n,) have two entries a corpus: its first texts, its second texts."""
    cosines = [
        metrics.cosine_similarity(u, v).round(DECIMALS) for u, v in zip(vectors[::2], vectors[1::2], strict=True)
    ]
    return SimilarityResult(
        scores={
            corpus.name: 100 * metrics.spearman(values, [row.score for row in corpus])
            for corpus, values in zip(corpora, cosines, strict=True)
        },
        pairs={corpus.name: len(corpus) for corpus in corpora},
        unknown={
            corpus.name: int((a | b).sum()) for corpus, a, b in zip(corpora, unknown[::2], unknown[1::2], strict=True)
        },
        left_out={corpus.name: dict(corpus.left_out) for corpus in corpora},
        sources={corpus.name: corpus.source for corpus in corpora},
        cosines={corpus.name: values for corpus, values in zip(corpora, cosines, strict=True)},
    )
