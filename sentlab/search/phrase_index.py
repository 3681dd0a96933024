"""An index of phrases: every span of words of every text, searched by meaning (SLICE, section 3)::

    index = sentlab.PhraseIndex(encoder)
    index.add(texts)
    index.save("novels.index")
    for hit in index.search(["a walk by the sea"], k=5)[0]:
        print(hit.similarity, hit.words)

What is kept is one vector a word, the sum of its tokens' vectors, beside the texts: `sentlab.spans` makes of them the
similarities of all spans. Spans are of whole words, a punctuation mark is one, and never cross the end of a text.

A folder of the index holds a manifest and segments, each of some texts::

    phrases.json      what the index is, and its segments with their sizes; what it does not name is not there
    00000/vectors     float16 or float32 (W, D)          00000/texts    the texts in UTF-8, one after the other
    00000/spans       int32 (W, 2), a word's characters  00000/bytes    int64 (n + 1,), where each text begins
    00000/words       int64 (n + 1,), each text's first word

A segment is committed by the manifest that names it, which appears whole or not at all. A kill while texts are added
costs the segment that was being written, and nothing else; its remains go when texts are added next.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sized
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from tqdm import tqdm

from sentlab.encoder import Encoder
from sentlab.encoder.encoder import SECONDS_BEFORE_PROGRESS, checked
from sentlab.encoder.files import quiet
from sentlab.files import write_json
from sentlab.search.phrase_index_files import FORMAT, MANIFEST, Extent, Segment, read_manifest
from sentlab.search.spans import Scored, apart, check_sizes, scored
from sentlab.text.words import word_boundaries

DTYPES = ("float16", "float32")
CHARACTERS = 2**20  # of text in a segment: about 200,000 words, some minutes of work on one core
PASSAGES = 1024  # encoded at a time
SAMPLE = 1000  # numbers of each weight that go into the fingerprint: all weights would take seconds to read


@dataclass(frozen=True)
class Hit:
    """A span of words that was found.

    Args:
        text: which text it is in, counted from 0 in the order in which texts were added.
        start, end: its characters [start, end) there.
        words: the characters themselves.
        similarity: its cosine with the phrase.
    """

    text: int
    start: int
    end: int
    words: str
    similarity: float


class PhraseIndex:
    """All spans of the texts that are added, to be searched by meaning.

    Until it is saved an index is in a temporary folder. From then on it is in the folder where it was saved, or that it
    was loaded from, and what is added is committed there, a segment of about a million characters at a time.

    Args:
        encoder: gives each token its vector; best one that SLICE has trained. A text longer than its max_length is
            encoded in passages, which end with a sentence or at least a word, so nothing is left out.
        min_size: words a span has at least.
        max_size: and at most.
        dtype: `float16`, half the space for differences of about 0.0002 in a similarity, or `float32`.

    Raises:
        ValueError: sizes or a dtype that there are not.
    """

    def __init__(self, encoder: Encoder, *, min_size: int = 1, max_size: int = 20, dtype: str = "float16") -> None:
        check_sizes(min_size, max_size)
        if dtype not in DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
        self.encoder = encoder
        self.min_size, self.max_size, self.dtype = min_size, max_size, dtype
        self._fingerprint = fingerprint(encoder)
        self._segments: list[Segment] = []
        self._scratch: TemporaryDirectory[str] | None = TemporaryDirectory(prefix="sentlab-phrases-")
        self.folder = Path(self._scratch.name)
        write_json(self.folder / MANIFEST, self._manifest())

    @classmethod
    def load(cls, folder: str | Path, encoder: Encoder) -> PhraseIndex:
        """Open a saved index: its files are mapped into memory, and read where they are needed.

        Args:
            folder: where it was saved.
            encoder: with the weights and the vocabulary that it was made with.

        Raises:
            FileNotFoundError: no such folder.
            ValueError: the folder is no phrase index, it is damaged, or it was made with another encoder.
        """
        folder = Path(folder)
        manifest = read_manifest(folder)
        index = cls(encoder, **{name: manifest[name] for name in ("min_size", "max_size", "dtype")})
        if manifest["encoder"] != index._fingerprint:
            raise ValueError(
                f"{folder} was made with another encoder (fingerprint {manifest['encoder']}, this one has "
                f"{index._fingerprint}); load the index with that one, or make a new index"
            )
        index._move_to(folder, [Extent(**extent) for extent in manifest["segments"]])
        return index

    def __len__(self) -> int:
        """The number of texts."""
        return sum(segment.extent.texts for segment in self._segments)

    @property
    def words(self) -> int:
        """The number of words of all texts."""
        return sum(segment.extent.words for segment in self._segments)

    def __repr__(self) -> str:
        sizes = f"spans of {self.min_size} to {self.max_size}"
        return f"PhraseIndex({len(self):,} texts, {self.words:,} words, {sizes}, {self.dtype}; {self.folder})"

    def add(self, texts: Iterable[str], *, progress: bool | None = None) -> None:
        """Add texts after those that are there.

        Args:
            texts: any iterable; it is read as it is encoded. An empty text counts, and is never found.
            progress: True shows a bar, False none; None shows one once the work has taken three seconds.

        Raises:
            TypeError: a bare string, or an item that is not a string (the message says which). Texts before it may
                have been added: `len(index)` tells.
            RuntimeError: something else has changed the folder since the index was opened.
        """
        if isinstance(texts, str):
            checked(texts)  # says what to do instead
        self._clean()
        delay = 0.0 if progress else SECONDS_BEFORE_PROGRESS
        total = len(texts) if isinstance(texts, Sized) else None
        with tqdm(total=total, unit=" texts", disable=progress is False, delay=delay, desc="add") as bar:
            for group in _groups(texts):
                self._commit(self._write(group))
                bar.update(len(group))

    def search(self, phrases: Iterable[str], k: int = 10) -> list[list[Hit]]:
        """The spans that mean most nearly the same as each phrase; no two of a phrase's hits overlap.

        A phrase's vector is the mean of its own tokens' vectors, special tokens left out: what a span's is (SLICE,
        section 3.1). Every span of every text is compared, a chunk of words at a time, so memory does not grow with
        the index.

        Args:
            phrases: Q texts.
            k: hits a phrase; fewer only where there is nothing left that does not overlap.

        Returns:
            For each phrase its hits by falling similarity, of equals the first text's first.

        Raises:
            TypeError: as `Encoder.encode`.
            ValueError: a phrase without any word, or k below 1.
        """
        phrases = checked(phrases)
        queries = np.zeros((len(phrases), self._dim), dtype=np.float32)
        seen = np.zeros(len(phrases), dtype=bool)
        for number, vectors, _ in self._encode(phrases):
            queries[number] += vectors.sum(0)
            seen[number] |= len(vectors) > 0
        if not seen.all():
            raise ValueError(f"phrases[{seen.argmin()}] has no words to search for: {phrases[seen.argmin()]!r:.60}")
        unit = F.normalize(torch.from_numpy(queries), dim=1)
        firsts = np.cumsum([0, *(segment.extent.words for segment in self._segments)])
        blocks = (
            Scored(rows, int(first) + start, scores)
            for first, segment in zip(firsts, self._segments, strict=False)
            for rows, start, scores in scored(unit, segment.vectors, segment.words, self.min_size, self.max_size)
        )
        found = apart(blocks, len(phrases), k, self.min_size, self.max_size)
        return [[self._hit(firsts, *span) for span in spans] for spans in found]

    def save(self, folder: str | Path) -> None:
        """Keep the index in a folder, which it is in from then on: what is added later is committed there.

        Raises:
            FileExistsError: the folder holds something; nothing is changed.
        """
        target = Path(folder)
        if target.exists() and target.resolve() == self.folder.resolve():
            return  # all that was added is there
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError(
                f"{target} is not empty; choose a new folder, or add to the index that it holds after PhraseIndex.load"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            new.mkdir()
            for segment in self._segments:
                shutil.copytree(self.folder / segment.extent.name, new / segment.extent.name)
            write_json(new / MANIFEST, self._manifest())
            os.replace(new, target)  # an empty folder may be there
        finally:
            shutil.rmtree(new, ignore_errors=True)
        self._move_to(target, [segment.extent for segment in self._segments])

    @property
    def _dim(self) -> int:
        return self.encoder.backbone.config.hidden_size

    def _manifest(self, *new: Extent) -> dict[str, Any]:
        sizes = {"min_size": self.min_size, "max_size": self.max_size, "dtype": self.dtype, "dim": self._dim}
        extents = [*(segment.extent for segment in self._segments), *new]
        return {"format": FORMAT, "encoder": self._fingerprint, **sizes, "segments": [asdict(e) for e in extents]}

    def _move_to(self, folder: Path, extents: list[Extent]) -> None:
        self._segments = [Segment(folder, extent, self.dtype, self._dim) for extent in extents]
        self.folder = folder
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _clean(self) -> None:
        """Remove what an interrupted `add` has left: segments and manifests that were not committed."""
        if read_manifest(self.folder) != self._manifest():
            raise RuntimeError(f"{self.folder} was changed since this index was opened; open it again with load")
        committed = {segment.extent.name for segment in self._segments}
        for path in self.folder.iterdir():
            if re.fullmatch(r"\d{5,}", path.name) and path.name not in committed:
                shutil.rmtree(path)
            elif re.fullmatch(rf"\.{re.escape(MANIFEST)}\.\d+\.part", path.name):
                path.unlink()

    def _write(self, texts: list[str]) -> Extent:
        """Write a segment that nothing knows of yet."""
        name = f"{len(self._segments):05d}"
        place = self.folder / name
        place.mkdir()
        counts = np.zeros(len(texts), dtype=np.int64)
        with open(place / "vectors", "wb") as vectors_file, open(place / "spans", "wb") as spans_file:
            for number, vectors, spans in self._encode(texts):
                counts[number] += len(vectors)
                vectors_file.write(vectors.astype(self.dtype).tobytes())
                spans_file.write(spans.astype(np.int32).tobytes())
        encoded = [text.encode() for text in texts]
        (place / "texts").write_bytes(b"".join(encoded))
        for file, lengths in {"words": counts.tolist(), "bytes": [len(text) for text in encoded]}.items():
            (place / file).write_bytes(np.cumsum([0, *lengths], dtype=np.int64).tobytes())
        return Extent(name, len(texts), int(counts.sum()), sum(map(len, encoded)))

    def _commit(self, extent: Extent) -> None:
        segment = Segment(self.folder, extent, self.dtype, self._dim)
        write_json(self.folder / MANIFEST, self._manifest(extent))
        self._segments.append(segment)

    def _encode(self, texts: list[str]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """A passage after the other: the number of its text, its words' vectors (w, D) and their characters (w, 2)."""
        places = passages(self.encoder, texts)
        for first in range(0, len(places), PASSAGES):
            group = places[first : first + PASSAGES]
            cut = [texts[number][start:end] for number, start, end in group]
            found = self.encoder.encode_tokens(cut, progress=False)
            for (number, start, _), passage, (vectors, offsets) in zip(group, cut, found, strict=True):
                edges = word_boundaries(passage, offsets)
                if len(edges) > 1:
                    spans = np.stack([offsets[edges[:-1], 0], offsets[edges[1:] - 1, 1]], axis=1)
                    yield number, np.add.reduceat(vectors, edges[:-1]), spans + start

    def _hit(self, firsts: np.ndarray, similarity: float, start: int, end: int) -> Hit:
        """The hit that the words [start, end) of the whole index are; `firsts`: where its segments begin."""
        number = int(np.searchsorted(firsts, start, side="right")) - 1
        segment, first = self._segments[number], int(firsts[number])
        text = int(np.searchsorted(segment.words, start - first, side="right")) - 1
        begin, stop = int(segment.spans[start - first, 0]), int(segment.spans[end - first - 1, 1])
        before = sum(segment.extent.texts for segment in self._segments[:number])
        return Hit(before + text, begin, stop, segment.text(text)[begin:stop], similarity)


def passages(encoder: Encoder, texts: list[str]) -> list[tuple[int, int, int]]:
    """Where to cut texts so that the encoder's max_length cuts nothing off: (text, start, end) in characters, in order.

    A text that fits is one passage. The others are cut in the second half of what fits: best behind a sentence, else at
    white space, else between words.
    """
    room = encoder.max_length - encoder.tokenizer.num_special_tokens_to_add()
    places = [(number, 0, len(text)) for number, text in enumerate(texts)]
    whole: list[tuple[int, int, int]] = []
    while places:
        with quiet():  # about texts that are too long, which is what this is for
            encodings = encoder.tokenizer(
                [texts[number][start:end] for number, start, end in places], add_special_tokens=False
            ).encodings
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
    starts, ends = offsets[:, 0], offsets[:, 1]
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


def fingerprint(encoder: Encoder) -> str:
    """First 16 hexadecimal digits of the SHA-256 of what gives tokens their vectors.

    Of each weight of the backbone some thousand numbers, evenly spread, and the vocabulary; not of the pooling.
    """
    digest = hashlib.sha256(json.dumps(sorted(encoder.tokenizer.get_vocab().items())).encode())
    for name, value in sorted(encoder.backbone.state_dict().items()):
        sample = value.detach().flatten()[:: max(1, value.numel() // SAMPLE)]
        digest.update(f"{name} {tuple(value.shape)}".encode() + sample.float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _groups(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in order, about CHARACTERS of them at a time."""
    group: list[str] = []
    size = 0
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{i}] is {type(text).__name__}, not a string: {text!r:.60}")
        group.append(text)
        size += len(text)
        if size >= CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group
