"""An index of phrases: every span of words of every text, searched by meaning (SLICE, section 3)::

    index = sentlab.PhraseIndex(encoder)
    index.add(texts)
    index.save("novels.index")
    hits = index.search(["a walk by the sea"], k=5)  # a list of hits for each phrase

We keep one vector a word, the sum of its tokens' vectors. `sentlab.search.shortlist` finds the best of all spans with
them, and `sentlab.search.index_files` describes the files. Spans are of whole words or marks, inside one text.
"""

from __future__ import annotations

import os
import shutil
import weakref
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from sentlab.encoder import Encoder
from sentlab.encoder.inference import own_world, progress_bar, strings, tokenized
from sentlab.search import index_files as files
from sentlab.search.index_files import CHUNK, FIRST, LAST, Manifest, Segment, Words, word_kind
from sentlab.search.shortlist import best_in
from sentlab.search.spans import check_sizes
from sentlab.text.words import tight, token_starts, word_boundaries

if TYPE_CHECKING:
    import pandas as pd

PASSAGES = 1024  # encoded at a time
CHARACTERS = 2**20  # of text in a segment: about 200,000 words, some minutes of work on one core


class Hit(NamedTuple):
    """A span of words that was found: the characters [start, end) of a text."""

    text: int  # counted from 0 in the order in which texts were added
    start: int
    end: int
    words: str
    similarity: float  # cosine with the phrase


class PhraseIndex:
    """All spans of the texts that are added, to be searched by meaning.

    A text longer than the encoder's max_length is encoded in passages, so nothing is left out. An index is in a
    temporary folder until it is saved. From then on what is added is written where it was saved or loaded from, a
    segment of about a million characters at a time.

    Args:
        encoder: gives each token its vector. SLICE trains one for this.
        min_size, max_size: words of a span.
        dtype: `float16` or `float32`. The former takes half the space and changes a similarity by about 0.0002.

    Example:
        >>> index = sentlab.PhraseIndex(sentlab.Encoder.from_pretrained(pooling="mean"))
        >>> index.add(["The farmer sold the brown horse at the market.", "A man plays the guitar."], progress=False)
        >>> index.search(["guitar"], k=1)[0][0].words
        'guitar'
    """

    _scratch: weakref.finalize | None = None  # removes the folder of an index that is not saved
    _manifest: Manifest

    def __init__(self, encoder: Encoder, *, min_size: int = 1, max_size: int = 20, dtype: str = "float16") -> None:
        check_sizes(min_size, max_size)
        if dtype not in files.DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(files.DTYPES)}")
        folder = Path(mkdtemp(prefix="sentlab-phrases-")).resolve()
        self._scratch = weakref.finalize(self, _remove, folder, os.getpid())
        dim = encoder.backbone.config.hidden_size
        manifest = Manifest(encoder.fingerprint(tokens=True), int(min_size), int(max_size), dtype, dim)
        manifest.write(folder)
        self._open(folder, manifest, encoder)

    @classmethod
    def load(cls, folder: str | Path, encoder: Encoder) -> PhraseIndex:
        """Open a saved index with the encoder that made it; another one is a ValueError.

        Large files are mapped into memory. The first search reads them all and compares their checksums.
        """
        folder = Path(folder).expanduser().resolve()
        index = cls.__new__(cls)
        index._open(folder, Manifest.read(folder), encoder)
        index._check_encoder()
        return index

    def __getstate__(self) -> dict[str, Any]:
        if self._scratch is not None and self._scratch.alive:
            raise TypeError("this index is not saved, and its folder goes with it: save(folder) before you copy it")
        return self.__dict__ | {"_scratch": None}

    def __len__(self) -> int:
        """The number of texts."""
        return sum(segment.extent.texts for segment in self._segments)

    def __getitem__(self, number: int) -> str:
        """A text as it was added, by its number; a loop over the index gives all of them."""
        number = range(len(self))[number]
        segment = self._segments[bisect_right(self._segments, number, key=lambda segment: segment.first_text) - 1]
        return segment.check().text(number - segment.first_text)

    @property
    def word_count(self) -> int:
        """The number of words of all texts."""
        return sum(segment.extent.words for segment in self._segments)

    @own_world()
    def add(self, texts: Iterable[str], *, precision: str | None = None, progress: bool | None = None) -> None:
        """Add texts after those that are there, and after those that other processes have added since.

        A kill costs the segment that is being written. One process adds at a time, the others wait up to a minute.

        Args:
            texts: any iterable, of which some texts at a time are in memory. An empty text counts, too.
            precision: of the encoder's arithmetic, as in `Encoder.encode`: `bfloat16` is quicker where the CPU has AMX.
            progress: show a bar. None: once the work has taken three seconds.
        """
        self._check_encoder()
        total = len(texts) if isinstance(texts, Sized) else None
        with files.writing(self.folder) as now, progress_bar(total, progress, unit=" texts", desc="add") as bar:
            if replace(now, segments=now.segments[: len(self._segments)]) != self._manifest:
                raise RuntimeError(f"{self.folder} holds another index since this one was opened: load it again")
            self._follow(now)
            for group in groups(strings(texts)):
                extent = files.write_segment(self.folder, group, encode_words(self.encoder, group, precision), now)
                now = replace(now, segments=(*now.segments, extent))
                now.write(self.folder)
                self._follow(now)
                bar.update(len(group))

    @own_world()
    def search(
        self, phrases: Iterable[str], k: int = 10, *, trim: bool = True, starts: Sequence[Any] | None = None
    ) -> list[list[Hit]]:
        """Return the spans most similar to each phrase; no two hits of a phrase overlap.

        A phrase's vector is the mean of its own tokens' vectors, as a span's is (SLICE, section 3.1). None is missed.

        Args:
            phrases: Q texts.
            k: hits a phrase, or fewer where nothing is left that does not overlap.
            trim: compare only spans that begin and end as a phrase does: not "of a king,", but "king". No span has
                punctuation or one of some English words (`index_files.word_kind`) at an edge where the phrase has none.
            starts: for each phrase, where its hits may begin, in words counted from 0 through the index. None is any
                word. This scores the candidates of another library exactly, see `span_vectors`.

        Returns:
            For each phrase its hits by falling similarity, of equals the first text's first.
        """
        queries, words = self._read(list(strings(phrases)))
        barred = [(FIRST & ~word_kind(each[0]), LAST & ~word_kind(each[-1])) if trim else (0, 0) for each in words]
        segments = [segment.check() for segment in self._segments]
        places = None if starts is None else [np.asarray(of_phrase, np.int64) for of_phrase in starts]
        best = best_in(segments, queries, barred, k, self.min_size, self.max_size, places)
        return [[self._hit(*span) for span in spans] for spans in best]

    def table(self, phrases: Iterable[str], hits: Sequence[Sequence[Hit]], around: int = 60) -> pd.DataFrame:
        """Return a row for each hit that `search` found for the phrases, with `around` characters on either side."""
        import pandas as pd  # slow to import

        rows = []
        for phrase, hits_of_one in zip(phrases, hits, strict=True):
            for hit in hits_of_one:
                text = self[hit.text]
                context = {"before": text[max(0, hit.start - around) : hit.start], "after": text[hit.end :][:around]}
                rows.append({"phrase": phrase} | hit._asdict() | context)
        return pd.DataFrame(rows, columns=["phrase", "similarity", "words", "before", "after", "text", "start", "end"])

    def phrase_vectors(self, phrases: Iterable[str]) -> np.ndarray:
        """Return the vectors of length 1 that phrases are searched by, float32 (Q, D)."""
        return self._read(list(strings(phrases)))[0].numpy()

    def span_vectors(self, size: int = 1) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give words, int64 (n,), and their vectors of length 1 or 0, (n, D), for a library of nearest neighbours.

        The vector is that of the span of `size` words from there on, or of fewer where the text ends. Search them with
        `phrase_vectors`, and pass the words found, and those around them, to `search(..., starts=...)`.
        """
        for segment in self._segments:
            segment.check()
            ends = np.repeat(segment.first_words[1:], np.diff(segment.first_words))  # of each word's text
            for first in range(0, len(ends), CHUNK):
                starts = np.arange(first, min(first + CHUNK, len(ends)))
                sums = np.zeros((len(starts), segment.vectors.shape[1]), np.float32)
                for further in range(size):
                    inside = starts + further < ends[starts]
                    sums[inside] += segment.vectors[starts[inside] + further]
                lengths = np.linalg.norm(sums, axis=1, keepdims=True)
                yield segment.first_word + starts, np.divide(sums, lengths, out=sums, where=lengths > 0)

    @staticmethod
    def merge(folders: Iterable[str | Path], out: str | Path) -> None:
        """Make one index of several saved ones, such as processes or machines have made of a part of the texts each.

        Texts are numbered in the order of the folders. `out`, a new folder or an empty one, shares the files of
        segments with the old ones by hard links, or has copies on another disk. After a kill it is whole or not there.
        """
        places = [Path(folder).expanduser().resolve() for folder in folders]
        parts = [(folder, Manifest.read(folder)) for folder in places]
        names = [extent.name for _, manifest in parts for extent in manifest.segments]
        if len({replace(manifest, segments=()) for _, manifest in parts}) != 1 or len({*names}) < len(names):
            raise ValueError("indexes to merge must share encoder, sizes, dtype and no texts, and there must be one")
        # a file of a segment never changes, so two indexes can share it
        files.copy_index(parts, Path(out).expanduser().resolve(), files.link)

    def save(self, folder: str | Path) -> None:
        """Keep the index in a new or empty folder; what is added later is written there."""
        target = Path(folder).expanduser().resolve()
        if target.is_relative_to(self.folder) or (target.exists() and (target.is_file() or any(target.iterdir()))):
            raise FileExistsError(f"{target} is not empty, or is in the index itself: choose a new folder")
        self.verify()
        files.copy_index([(self.folder, self._manifest)], target)
        if self._scratch is not None:
            self._scratch()
        self._open(target, self._manifest, self.encoder)

    def verify(self) -> None:
        """Read all files again and compare their checksums; a ValueError names a damaged one."""
        for segment in self._segments:
            segment.check(again=True)

    def _open(self, folder: Path, manifest: Manifest, encoder: Encoder) -> None:
        self.encoder, self.folder, self._manifest = encoder, folder, manifest
        self.min_size, self.max_size, self.dtype = manifest.min_size, manifest.max_size, manifest.dtype
        self._segments: list[Segment] = []
        self._follow(manifest)

    def _follow(self, manifest: Manifest) -> None:
        """Open the segments that a newer manifest has in addition."""
        for extent in manifest.segments[len(self._segments) :]:
            self._segments.append(Segment(self.folder, extent, manifest, len(self), self.word_count))
        self._manifest = manifest

    def _read(self, phrases: list[str]) -> tuple[torch.Tensor, list[list[str]]]:
        """Return the vectors of phrases (Q, D), of length 1, and the words of each."""
        self._check_encoder()
        queries = np.zeros((len(phrases), self._manifest.dim), dtype=np.float32)
        words: list[list[str]] = [[] for _ in phrases]
        for number, vectors, spans in encode_words(self.encoder, phrases):
            queries[number] += vectors.sum(0)
            words[number] += [phrases[number][start:end] for start, end in spans]
        if [] in words:
            raise ValueError(f"{phrases[words.index([])]!r:.60} has no words to search for")
        return F.normalize(torch.from_numpy(queries), dim=1), words

    def _check_encoder(self) -> None:
        if self.encoder.fingerprint(tokens=True) != self._manifest.encoder:
            raise ValueError(f"{self.folder} has another encoder, other weights or max_length: load that or index anew")

    def _hit(self, similarity: float, start: int, end: int) -> Hit:
        """The hit that the words [start, end) of the whole index are."""
        segment = self._segments[bisect_right(self._segments, start, key=lambda segment: segment.first_word) - 1]
        first, last = start - segment.first_word, end - segment.first_word - 1
        text = int(np.searchsorted(segment.first_words, first, side="right")) - 1
        begin, stop = int(segment.spans[first, 0]), int(segment.spans[last, 1])
        return Hit(segment.first_text + text, begin, stop, segment.text(text)[begin:stop], similarity)


def join(hits: Sequence[Sequence[Sequence[Hit]]], texts: Sequence[int], k: int) -> list[list[Hit]]:
    """Return the best k hits for each phrase of searches in several indexes, which may be on several machines.

    `hits` are what `PhraseIndex.search` returns of each for the same phrases, with the same k or a larger one, and
    `texts` the lengths of the indexes: texts are counted through all of them, as by `merge`.
    """
    firsts = list(accumulate(texts, initial=0))[:-1]
    best = []
    for lists in zip(*hits, strict=True):  # of one phrase; spans of two texts never overlap
        placed = zip(firsts, lists, strict=True)
        counted = [hit._replace(text=first + hit.text) for first, shard in placed for hit in shard]
        best.append(sorted(counted, key=lambda hit: -hit.similarity)[:k])  # of equals the first text's stays first
    return best


def groups(texts: Iterable[str]) -> Iterator[list[str]]:
    """Give the texts in order, about CHARACTERS of characters at a time."""
    group, size = list[str](), 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def encode_words(encoder: Encoder, texts: list[str], precision: str | None = None) -> Iterator[Words]:
    """Give the words of each passage that has some; a word's vector is the sum of its tokens' vectors."""
    places = passages(encoder, texts)
    for first in range(0, len(places), PASSAGES):
        batch = places[first : first + PASSAGES]
        cut = [texts[number][start:end] for number, start, end in batch]
        encoded = encoder.encode_tokens(cut, precision=precision, progress=False)
        for (number, start, _), passage, (vectors, offsets) in zip(batch, cut, encoded, strict=True):
            edges = word_boundaries(passage, offsets)
            if len(edges) > 1:
                places_of_words = zip(offsets[edges[:-1], 0].tolist(), offsets[edges[1:] - 1, 1].tolist(), strict=True)
                spans = np.array([tight(passage, a, b) for a, b in places_of_words])
                words = spans[:, 0] < spans[:, 1]  # for some tokenizers a line break is a token
                if words.any():
                    yield number, np.add.reduceat(vectors, edges[:-1])[words], spans[words] + start


def passages(encoder: Encoder, texts: list[str]) -> list[tuple[int, int, int]]:
    """Find where to cut texts so the encoder's max_length cuts nothing off: (text, start, end) in characters, in order.

    A text that fits is one passage. The others are cut in the second half of what fits: best behind a sentence, else at
    white space, else between words.
    """
    room = encoder.max_length - encoder.tokenizer.num_special_tokens_to_add()
    places = [(number, 0, len(text)) for number, text in enumerate(texts)]
    whole: list[tuple[int, int, int]] = []
    while places:
        cut = [texts[number][start:end] for number, start, end in places]
        encodings = tokenized(encoder, cut, add_special_tokens=False, verbose=False).encodings
        again: list[tuple[int, int, int]] = []
        for (number, start, end), text, encoding in zip(places, cut, encodings, strict=True):
            cuts = _cuts(text, np.array(encoding.offsets), room) if len(encoding) > room else []
            if len(encoding) > room and not cuts:
                raise ValueError(f"{text!r:.60} has more than {room} tokens, all that max_length leaves: raise it")
            parts = [(number, a, b) for a, b in pairwise([start, *(start + place for place in cuts), end])]
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


def _remove(folder: Path, process: int) -> None:
    """Remove the folder of an index that was not saved; a fork of its process leaves it alone."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
