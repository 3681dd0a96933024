"""An index of phrases: every span of words of every text, searched by meaning (SLICE, section 3)::

    index = sentlab.PhraseIndex(encoder)
    index.add(texts)
    index.save("novels.index")
    found = index.search(["a walk by the sea"], k=5)

`found` is a list of hits for each phrase. `found.table()` is a DataFrame, a notebook shows each hit with the words
around it, and `index[number]` is a whole text.

We keep one vector a word, the sum of its tokens' vectors, beside the texts, and how long the sums of words are.
The module shortlist finds the best of all spans with them. Spans are of whole words, a punctuation mark is one, and
never cross the end of a text. The module phrase_index_files describes the files.
"""

from __future__ import annotations

import operator
import os
import warnings
import weakref
from bisect import bisect_right
from collections.abc import Iterable, Sequence, Sized
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from sentlab.encoder import Encoder
from sentlab.encoder.inference import checked, progress_bar, strings
from sentlab.files import KEPT, stage_for, unstage
from sentlab.search import edges
from sentlab.search import phrase_index_files as files
from sentlab.search.hits import Found, Hit
from sentlab.search.passages import encode_words, groups
from sentlab.search.phrase_index_files import DTYPES, Manifest, Segment
from sentlab.search.shortlist import Texts, best_in
from sentlab.search.spans import check_sizes


class PhraseIndex:
    """All spans of the texts that are added, to be searched by meaning.

    A text longer than the encoder's max_length is encoded in passages, so nothing is left out.

    An index is in a temporary folder until it is saved. From then on what is added is committed where it was saved or
    loaded from, a segment of about a million characters at a time. Several processes may add to one folder. Each of
    them sees the segments of the others once it has added or loaded again.

    Args:
        encoder: gives each token its vector. SLICE trains one for this.
        min_size: words a span has at least.
        max_size: and at most.

        dtype: `float16` or `float32`. The former takes half the space and changes a similarity by about 0.0002.

    Raises:
        ValueError: sizes or a dtype that there are not.

    Example:
        >>> index = sentlab.PhraseIndex(sentlab.Encoder.from_pretrained(pooling="mean"))
        >>> index.add(["The farmer sold the brown horse at the market.", "A man plays the guitar."], progress=False)
        >>> index.search(["guitar"], k=1)[0][0].words
        'guitar'
    """

    _scratch: weakref.finalize | None = None  # removes the folder of an index that is not saved

    def __init__(self, encoder: Encoder, *, min_size: int = 1, max_size: int = 20, dtype: str = "float16") -> None:
        check_sizes(min_size, max_size)
        if dtype not in DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
        place = Path(gettempdir()).resolve() / "sentlab-phrases"
        folder, lock = stage_for(place)
        self._scratch = weakref.finalize(self, unstage, folder, lock, place, os.getpid())
        dim = encoder.backbone.config.hidden_size
        manifest = Manifest(encoder.fingerprint(tokens=True), int(min_size), int(max_size), dtype, dim)
        manifest.write(folder)
        self._open(folder, manifest, encoder)

    @classmethod
    def load(cls, folder: str | Path, encoder: Encoder, *, skip_damaged: bool = False) -> PhraseIndex:
        """Open a saved index: its files are mapped into memory, and read where they are needed; small ones are read.

        We check the sizes of the files here. The first search reads them all and compares their checksums.

        Args:
            encoder: with the weights, the tokenizer and the max_length that it was made with.

            skip_damaged: True leaves damaged segments out, with a warning that names them. The texts of the others keep
                their numbers. False: a damaged segment is an error, here or in the first search.

        Raises:
            ValueError: the folder is no phrase index, it is damaged, or it was made with another encoder.
            OSError: this process has too many files open.
        """
        folder = Path(folder).expanduser().resolve()
        index = cls.__new__(cls)
        with files.enough_files(folder):
            index._open(folder, files.read_manifest(folder), encoder, skip_damaged)
        index._check_encoder()
        index._sound(read=False)
        return index

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle and copy keep: of an index that is saved, so that its folder outlives this process."""
        if self._scratch is not None and self._scratch.alive:
            raise TypeError("this index is not saved, and its folder goes with it: save(folder) before you copy it")
        return self.__dict__ | {"_scratch": None}

    def __len__(self) -> int:
        """The number of texts."""
        return sum(segment.extent.texts for segment in self._segments)

    def __getitem__(self, number: int) -> str:
        """A text as it was added, by its number; a loop over the index gives all of them.

        Raises:
            IndexError: there is no such text.
            ValueError: the segment that holds it is damaged.
        """
        number = operator.index(number)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no text {number}: the index holds {len(self)}")
        number %= len(self)
        segment = self._segments[bisect_right(self._segments, number, key=lambda segment: segment.first_text) - 1]
        if damage := segment.check():
            raise ValueError(f"the phrase index in {self.folder} is damaged: {damage}")
        return segment.text(number - segment.first_text)

    @property
    def words(self) -> int:
        """The number of words of all texts."""
        return sum(segment.extent.words for segment in self._segments)

    def __repr__(self) -> str:
        sizes = f"spans of {self.min_size} to {self.max_size}"
        return f"PhraseIndex({len(self):,} texts, {self.words:,} words, {sizes}, {self.dtype}; {self.folder})"

    def add(self, texts: Iterable[str], *, precision: str | None = None, progress: bool | None = None) -> None:
        """Add texts after those that are there.

        A kill costs the segment that is being written, and nothing else. Segments of several processes follow each
        other in the order in which they are committed.

        Args:
            texts: any iterable; it is read as it is encoded. An empty text counts, and is never found. A text that is
                there already is added once more, and found twice.
            precision: of the encoder's arithmetic, as in `Encoder.encode`: `bfloat16` is quicker where the CPU has AMX.

            progress: True shows a bar, False none; None shows one once the work has taken three seconds.

        Raises:
            TypeError: an item is not a string. Texts before it may have been added: `len(index)` tells.
            ValueError: the encoder has changed, the precision is unknown, or float16 cannot hold a text's vector.
            RuntimeError: the folder holds another index since this one was opened.
            TimeoutError: another process holds the lock of the index for a minute.
            OSError: this process has too many files open, or the disk is full.
        """
        self._check_encoder()
        total = len(texts) if isinstance(texts, Sized) else None
        with progress_bar(total, progress, unit=" texts", desc="add") as bar, files.staging(self.folder) as stage:
            first = 0
            for group in groups(strings(texts)):
                words = encode_words(self.encoder, group, precision)
                extent = files.write_segment(stage, group, words, self._manifest, first)
                self._follow(files.commit(self.folder, stage, extent, self._manifest))
                first += len(group)
                bar.update(len(group))

    def search(
        self, phrases: Iterable[str], k: int = 10, *, trim: bool = True, starts: Sequence[Any] | None = None
    ) -> Found:
        """Return the spans most similar to each phrase; no two hits of a phrase overlap.

        A phrase's vector is the mean of its own tokens' vectors, as a span's is (SLICE, section 3.1). Every span of
        every text counts, but for those that `trim` leaves out: a quick pass over all words leaves the places where the
        best ones can begin, and these are scored exactly. Memory grows with the index by a byte a word, for `trim`.

        Args:
            phrases: Q texts.
            k: hits a phrase; fewer only where there is nothing left that does not overlap.

            trim: compare only spans that begin and end as a phrase does: not "of a king,", but "king". Punctuation
                and some English words are left out at the edges, unless the phrase has one there too.
                `sentlab.search.edges` lists them. False compares all spans.

            starts: for each phrase, the words at which its hits may begin, as integers; words are counted from 0
                through the whole index, and numbers of no word are ignored. None: any word. Candidates that another
                library has found are scored exactly by this, see `sentlab.search.scale.span_vectors`.

        Returns:
            For each phrase its hits by falling similarity, of equals the first text's first: a list, which has a
            `table()` and shows itself in a notebook.

        Raises:
            ValueError: a phrase without any word, k below 1, starts not of each phrase, an encoder that has changed
                since the texts were added, or a damaged segment (see `load`).
        """
        phrases = checked(phrases)
        if starts is not None and len(starts) != len(phrases):
            raise ValueError(f"starts must be of each of the {len(phrases)} phrases, and are of {len(starts)}")
        queries, ends = self._read(phrases)
        allowed = (
            [(first & edges.FIRST, last & edges.LAST) for first, last in ends] if trim else [(0, 0)] * len(phrases)
        )
        order = sorted(range(len(phrases)), key=allowed.__getitem__)  # phrases with equal edges are searched together
        begins = None if starts is None else [np.asarray(starts[number], np.int64) for number in order]
        texts = [
            Texts(
                own.vectors,
                own.words,
                own.lengths,
                own.extent.scale,
                own.first_word,
                edges.groups(own.kinds, allowed, trim),
            )
            for own in self._sound(read=True)
        ]
        found: list[list[Hit]] = [[]] * len(phrases)
        best = best_in(texts, queries[order], k, self.min_size, self.max_size, begins)
        for number, spans in zip(order, best, strict=True):
            found[number] = [self._hit(*span) for span in spans]
        return Found(phrases, found)

    def phrase_vectors(self, phrases: Iterable[str]) -> np.ndarray:
        """Return the vectors of length 1 that phrases are searched by, float32 (Q, D)."""
        return self._read(checked(phrases))[0].numpy()

    @staticmethod
    def merge(folders: Iterable[str | Path], out: str | Path) -> None:
        """Make one index of several saved ones, such as processes or machines have made of a part of the texts each.

        The new folder shares the files of segments with the old ones by hard links, so nothing is encoded or copied;
        on another disk they are copied. Either way the old folders stay whole, and may be removed. Texts are numbered
        in the order of the folders. After a kill there is the whole index or none.

        Args:
            folders: of indexes that were made with the same encoder, sizes and dtype.
            out: a new folder, or an empty one.

        Raises:
            FileExistsError: `out` holds something; nothing is changed.
            ValueError: no folder, or one that holds no phrase index, another encoder's, or one that is damaged; two
                that hold the same texts.

        Example:
            >>> PhraseIndex.merge(["part-0.index", "part-1.index"], "whole.index")             # doctest: +SKIP
            >>> index = PhraseIndex.load("whole.index", encoder)                               # doctest: +SKIP
        """
        files.merge([Path(folder).expanduser().resolve() for folder in folders], Path(out).expanduser().resolve())

    def save(self, folder: str | Path) -> None:
        """Keep the index in a folder, which it is in from then on: what is added later is committed there.

        Raises:
            FileExistsError: the folder holds something; nothing is changed.
            ValueError: a segment is damaged, or the folder is inside the index.
        """
        target = Path(folder).expanduser().resolve()
        if target == self.folder:  # all that was added is there
            if self._scratch is not None:
                self._scratch.detach()
                (self.folder / KEPT).touch()
            return
        if target.is_relative_to(self.folder):
            raise ValueError(f"{target} is inside the index itself; choose another folder")
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError(
                f"{target} is not empty; choose a new folder, or add to the index that it holds after PhraseIndex.load"
            )
        if damaged := self.verify():
            raise ValueError(f"cannot save the phrase index in {self.folder}, which is damaged: {'; '.join(damaged)}")
        files.copy_index([(self.folder, self._manifest)], target)
        if self._scratch is not None:
            self._scratch()
        self._open(target, self._manifest, self.encoder)

    def verify(self) -> list[str]:
        """Read all files, compare their checksums, and return a line for each damaged segment."""
        return [damage for segment in self._segments if (damage := segment.check(again=True))]

    def _open(self, folder: Path, manifest: Manifest, encoder: Encoder, skip_damaged: bool = False) -> None:
        self.encoder, self.folder, self._skip_damaged = encoder, folder, skip_damaged
        self.min_size, self.max_size, self.dtype = manifest.min_size, manifest.max_size, manifest.dtype
        self._segments: list[Segment] = []
        self._follow(manifest)

    def _follow(self, manifest: Manifest) -> None:
        """Open the segments that a newer manifest has in addition."""
        for extent in manifest.segments[len(self._segments) :]:
            self._segments.append(Segment(self.folder, extent, manifest, len(self), self.words))
        self._manifest = manifest

    def _read(self, phrases: list[str]) -> tuple[torch.Tensor, list[tuple[int, int]]]:
        """Of each phrase its vector, of length 1, and the kinds of its first and last word."""
        self._check_encoder()
        queries = np.zeros((len(phrases), self._manifest.dim), dtype=np.float32)
        seen = np.zeros(len(phrases), dtype=bool)
        ends: list[tuple[int, int]] = [(0, 0)] * len(phrases)
        for number, vectors, places in encode_words(self.encoder, phrases):
            queries[number] += vectors.sum(0)
            first, last = edges.phrase_kinds(phrases[number], places)
            ends[number] = (ends[number][0] if seen[number] else first, last)
            seen[number] |= len(vectors) > 0
        if not seen.all():
            raise ValueError(f"phrases[{seen.argmin()}] has no words to search for: {phrases[seen.argmin()]!r:.60}")
        return F.normalize(torch.from_numpy(queries), dim=1), ends

    def _check_encoder(self) -> None:
        if (now := self.encoder.fingerprint(tokens=True)) != self._manifest.encoder:
            raise ValueError(
                f"{self.folder} was made with another encoder (fingerprint {self._manifest.encoder}, this one has "
                f"{now}): weights, tokenizer or max_length differ, perhaps by training. Load the index with the "
                "encoder that made it, or make a new index"
            )

    def _sound(self, *, read: bool) -> list[Segment]:
        """The segments that can be searched, by what we know or `read`; a damaged one is an error or a warning."""
        sound = []
        for segment in self._segments:
            if damage := segment.check() if read else segment.damage:
                what = f"the phrase index in {self.folder} is damaged: {damage}"
                if not self._skip_damaged:
                    raise ValueError(
                        f"{what}. Load it with skip_damaged=True to search the other texts, or make it anew"
                    )
                warnings.warn(f"{what}, which are left out", stacklevel=3)
            else:
                sound.append(segment)
        return sound

    def _hit(self, similarity: float, start: int, end: int) -> Hit:
        """The hit that the words [start, end) of the whole index are."""
        segment = self._segments[bisect_right(self._segments, start, key=lambda segment: segment.first_word) - 1]
        first, last = start - segment.first_word, end - segment.first_word - 1
        text = int(np.searchsorted(segment.words, first, side="right")) - 1
        begin, stop = int(segment.spans[first, 0]), int(segment.spans[last, 1])
        return Hit.of(segment.first_text + text, segment.text(text), begin, stop, similarity)
