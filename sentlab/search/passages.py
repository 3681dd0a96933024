"""The vectors of all words of texts that may be longer than the encoder reads at once: they are cut into passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from unicodedata import category

import numpy as np

from sentlab.encoder import Encoder
from sentlab.encoder.inference import tokenized
from sentlab.text.words import tight, token_starts, word_boundaries

PASSAGES = 1024  # encoded at a time
CHARACTERS = 2**20  # of text in a segment: about 200,000 words, some minutes of work on one core


def groups(texts: Iterable[str]) -> Iterator[list[str]]:
    """Give the texts in order, about CHARACTERS of characters at a time."""
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def encode_words(
    encoder: Encoder, texts: list[str], precision: str | None = None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Give of each passage the number of its text, its words' vectors (w, D) and their characters in the text (w, 2).

    A word's vector is the sum of its tokens' vectors. A passage without words is left out.
    """
    places = passages(encoder, texts)
    for first in range(0, len(places), PASSAGES):
        group = places[first : first + PASSAGES]
        cut = [texts[number][start:end] for number, start, end in group]
        found = encoder.encode_tokens(cut, precision=precision, progress=False)
        for (number, start, _), passage, (vectors, offsets) in zip(group, cut, found, strict=True):
            edges = word_boundaries(passage, offsets)
            if len(edges) > 1:
                spans = np.stack([offsets[edges[:-1], 0], offsets[edges[1:] - 1, 1]], axis=1)
                spans[:, 1] = [behind_marks(passage, end) for end in spans[:, 1].tolist()]
                spans = np.array([tight(passage, *span) for span in spans.tolist()])
                words = spans[:, 0] < spans[:, 1]  # for some tokenizers a line break is a token
                if words.any():
                    yield number, np.add.reduceat(vectors, edges[:-1])[words], spans[words] + start


def behind_marks(text: str, end: int) -> int:
    """Return the end of a word with the marks of its last letter, which some tokenizers leave out."""
    while end < len(text) and category(text[end]).startswith("M"):
        end += 1
    return end


def passages(encoder: Encoder, texts: list[str]) -> list[tuple[int, int, int]]:
    """Find where to cut texts so the encoder's max_length cuts nothing off: (text, start, end) in characters, in order.

    A text that fits is one passage. The others are cut in the second half of what fits: best behind a sentence, else at
    white space, else between words.
    """
    room = encoder.max_length - encoder.tokenizer.num_special_tokens_to_add()
    places = [(number, 0, len(text)) for number, text in enumerate(texts)]
    whole: list[tuple[int, int, int]] = []
    while places:
        unplaced = [texts[number][start:end] for number, start, end in places]
        # verbose=False: no warning of texts that are too long, as finding them is what this is for
        encodings = tokenized(encoder, unplaced, add_special_tokens=False, verbose=False).encodings
        again: list[tuple[int, int, int]] = []
        for place, encoding in zip(places, encodings, strict=True):
            number, start, end = place
            cuts = _cuts(texts[number][start:end], np.array(encoding.offsets), room) if len(encoding) > room else []
            edges = [start, *(start + cut for cut in cuts), end]
            parts = [(number, a, b) for a, b in pairwise(edges)]
            # cut off from its neighbours a passage may have a token more, so it is measured again
            (whole if len(parts) == 1 else again).extend(parts)
        places = again
    return sorted(whole)


def _cuts(text: str, offsets: np.ndarray, room: int) -> list[int]:
    """The characters where to cut a text, whose tokens are at `offsets` (T, 2), into parts of at most `room` tokens."""
    starts, ends = token_starts(text, offsets), offsets[:, 1]
    rank = np.zeros(len(offsets), dtype=np.int64)  # of a cut before each token
    rank[word_boundaries(text, offsets)[:-1]] = 1
    rank[1:][starts[1:] > ends[:-1]] = 2
    behind = np.array([text[end - 1] in ".!?…" for end in ends[:-1]])
    rank[1:][behind & (rank[1:] == 2)] = 3
    cuts, first = [], 0
    while len(offsets) - first > room:
        nearest = np.arange(first + room, first + room // 2, -1)
        first = int(nearest[rank[nearest].argmax()])
        cuts.append(int(starts[first]))
    return [cut for cut in dict.fromkeys(cuts) if 0 < cut < len(text)]
