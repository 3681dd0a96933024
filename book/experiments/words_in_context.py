"""Words in their contexts: the mean of a word's own tokens, for what Huang et al. (2012) made SCWS for.

Universal encodes the words of SCWS alone; here their contexts tell a word's senses apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sentlab.data.rows import WordPairInContext
from sentlab.encoder import Encoder
from sentlab.encoder.inference import tokenized
from sentlab.evaluation.sts import Rows, one_corpus
from sentlab.evaluation.words import SimilarityResult, similarity_result, unknown_words
from sentlab.text.words import token_starts, word_places

CHUNK = 256  # contexts whose token vectors are in memory at once


def evaluate_in_context(
    encoder: Encoder, corpus: Rows = "scws", *, folder: str | Path | None = None
) -> SimilarityResult:
    """Score an encoder on pairs of words in their contexts, by `vectors_in_context` (Huang et al. 2012).

    Args:
        encoder: its last layer is used, whatever its pooling. A fitted `post` does not apply to tokens.
        corpus: a name, whose `test` split is loaded, a corpus, or a list of rows.
        folder: as in `evaluate_sts`.

    Returns:
        `unknown` counts the pairs in which a word has no token, so that its vector is zero, or the token [UNK].
    """
    rows = one_corpus(corpus, WordPairInContext, folder=folder, least=2)
    a, unknown_a = vectors_in_context(encoder, [row.context_a for row in rows], [row.span_a for row in rows])
    b, unknown_b = vectors_in_context(encoder, [row.context_b for row in rows], [row.span_b for row in rows])
    return similarity_result({rows.name: rows}, [(a, b)], [unknown_a | unknown_b])


def vectors_in_context(
    encoder: Encoder, contexts: Sequence[str], spans: Sequence[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Average the last layer's vectors of each word's own tokens, in as much of its context as the encoder takes.

    A context that is too long is cut to whole words, as many before the marked one as behind it or, near an end of the
    context, all there are on that side and more on the other.

    Args:
        contexts: n texts.
        spans: n character spans (start, end): `context[start:end]` is the word.

    Returns:
        float32 (n, D), and bool (n,): where the encoder does not know the word. Then a token is [UNK], or the vector is
        zero, as the word has no token among the first `max_length` ones of its window.
    """
    for i, (context, (start, end)) in enumerate(zip(contexts, spans, strict=True)):
        if not 0 <= start < end <= len(context):
            raise ValueError(f"spans[{i}] is ({start}, {end}), not a part of its context of {len(context)} characters")
    vectors = np.zeros((len(contexts), encoder.model.config.hidden_size), np.float32)
    for first in range(0, len(contexts), CHUNK):
        some = slice(first, first + CHUNK)
        windows = _windows(encoder, contexts[some], spans[some])
        texts = [context[slice(*window)] for context, window in zip(contexts[some], windows, strict=True)]
        tokens = encoder.encode_tokens(texts, progress=False, precision="float32")
        for i, ((start, _), (of_tokens, offsets)) in enumerate(zip(windows, tokens, strict=True), first):
            inside = _inside(offsets + start, spans[i])
            if inside.any():
                vectors[i] = of_tokens[inside].mean(axis=0)
    words = [context[slice(*span)] for context, span in zip(contexts, spans, strict=True)]
    return vectors, unknown_words(encoder, words, vectors)


def _windows(encoder: Encoder, contexts: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each context the character span of the part that fits the encoder, in whole words around the marked one."""
    budget = encoder.max_length - encoder.tokenizer.num_special_tokens_to_add()
    # not verbose, or it warns of texts longer than the model takes, which is why they are cut here
    batch = tokenized(encoder, list(contexts), add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    starts = [
        token_starts(context, np.array(offsets, np.int64).reshape(-1, 2))
        for context, offsets in zip(contexts, batch["offset_mapping"], strict=True)
    ]
    windows = [_window(*parts, budget) for parts in zip(contexts, spans, starts, strict=True)]
    rooms = dict.fromkeys(range(len(windows)), budget)
    while rooms:  # cut off from its neighbours a window may have a token more, so it is measured again
        cut = [contexts[i][slice(*windows[i])] for i in rooms]
        counts = map(len, tokenized(encoder, cut, add_special_tokens=False, verbose=False)["input_ids"])
        less = {i: room - (count - budget) for (i, room), count in zip(rooms.items(), counts, strict=True)}
        smaller = {i: _window(contexts[i], spans[i], starts[i], room) for i, room in less.items() if room < rooms[i]}
        rooms = {i: less[i] for i, window in smaller.items() if window != windows[i]}
        windows = [smaller.get(i, window) for i, window in enumerate(windows)]
    return windows


def _window(context: str, span: tuple[int, int], starts: np.ndarray, budget: int) -> tuple[int, int]:
    """The widest window of at most `budget` tokens, which begin at starts (t,), with equally many words on both sides.

    At an end of the context one side has fewer.
    """
    words = np.array([word.span() for word in re.finditer(r"\S+", context)], np.int64).reshape(-1, 2)
    marked = np.flatnonzero(_inside(words, span))
    if not len(marked):  # the span holds nothing but spaces, so no token can be its own
        return span
    before = np.searchsorted(starts, [*words[:, 0], len(context)])  # tokens before each word, and all
    if before[marked[-1] + 1] - before[marked[0]] > budget:  # as where a script has no spaces: in smaller words
        words = word_places(context)
        marked = np.flatnonzero(_inside(words, span))
        before = np.searchsorted(starts, [*words[:, 0], len(context)])
    reach = np.arange(len(words))
    low, high = np.maximum(marked[0] - reach, 0), np.minimum(marked[-1] + reach, len(words) - 1)
    fits = before[high + 1] - before[low] <= budget
    widest = max(int(fits.sum()) - 1, 0)
    return int(words[low[widest], 0]), int(words[high[widest], 1])


def _inside(parts: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    """Which of the spans (n, 2) share a character with `span`."""
    return (parts[:, 0] < span[1]) & (parts[:, 1] > span[0])
