"""The files of a phrase index: a manifest, and segments of texts, which never change once they are written::

    phrases.json           the manifest: what the index is, and its segments with their sizes and checksums.
    phrases.lock           held by the process that adds texts, one at a time.
    segment-HEX/vectors    float16 or float32 (W, D), a vector a word: the sum of its tokens' vectors.
    segment-HEX/lengths    float16 (K, W), one over the length of each span, as `rounded_inverses` gives it.
    segment-HEX/spans      int32 (W, 2), a word's characters in its text.
    segment-HEX/kinds      uint8 (W,), as `word_kind` says.
    segment-HEX/words      int64 (n + 1,), each text's first word.
    segment-HEX/texts      the texts in UTF-8.
    segment-HEX/bytes      int64 (n + 1,), where each text begins.

A segment is on the disk before the manifest names it, and the manifest is replaced as a whole: a kill at any moment
leaves the old index or the new one. HEX are random digits. Adding texts removes segments that no manifest names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from unicodedata import category
from uuid import uuid4

import numpy as np
import torch
from filelock import FileLock

from sentlab.files import clear, replacing, to_disk, write_json
from sentlab.search.spans import inverse_lengths, window

FORMAT = "sentlab phrase index 4"
MANIFEST, LOCK = "phrases.json", "phrases.lock"
SEGMENT = re.compile(r"segment-[0-9a-f]{32}")
FILES = ("vectors", "lengths", "spans", "kinds", "words", "bytes", "texts")
DTYPES = ("float16", "float32")
SMALL = 2**16  # bytes of a file that is as soon read as mapped
SECONDS = 60.0  # to wait for another process that adds texts
CHUNK = 2**13  # words in work at once
SMALLEST, LARGEST = 2.0**-12, 2.0**15  # what float16 keeps to 11 bits

# Kinds of words, as bits. A hit begins or ends with such a word only where the phrase does: "king", not "of a king,"
PUNCTUATION, NEVER_FIRST, NEVER_LAST = 1, 2, 4
FIRST, LAST = PUNCTUATION | NEVER_FIRST, PUNCTUATION | NEVER_LAST
SIGNS = "=<>|~^`"  # symbols that stand between words; of the others, "$" and "+" belong to numbers
PARTS_OF_WORDS = "%‰&@#§"  # punctuation for Unicode
BETWEEN = frozenset(
    "of and or but nor than as if because although though whereas while which who whom whose in on at by for from with "
    "into onto upon among between during until since via per".split()
)
OPEN = frozenset(
    "a an the my your its our their every to am is are was were be been has had will would shall should can could may "
    "might must".split()
)

Words = tuple[int, np.ndarray, np.ndarray]  # a text's number, some words' vectors (w, D), their characters (w, 2)


@dataclass(frozen=True)
class Extent:
    """How much a segment holds, the scale of its inverse lengths, and the CRC-32 of each of its files."""

    name: str
    texts: int
    words: int
    bytes: int
    scale: float
    checksums: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    """What an index is, and its segments in the order in which they were added."""

    encoder: str  # fingerprint
    min_size: int
    max_size: int
    dtype: str
    dim: int
    segments: tuple[Extent, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest in a folder."""
        path = folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"no phrase index in {folder}: give a folder that PhraseIndex.save wrote")
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
            if entries.pop("format") != FORMAT:
                raise ValueError(f"it is not of the format {FORMAT!r}")
            manifest = cls(**entries | {"segments": tuple(Extent(**extent) for extent in entries["segments"])})
            for extent in manifest.segments:  # no path that leaves the folder, and no file that is never checked
                if not SEGMENT.fullmatch(extent.name) or extent.checksums.keys() != {*FILES}:
                    raise ValueError("it names files that no index has")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"{path} is damaged, or of another version of sentlab: {error}; make the index anew"
            raise ValueError(message) from error
        return manifest

    def write(self, folder: Path) -> None:
        write_json(folder / MANIFEST, {"format": FORMAT} | asdict(self))


class Segment:
    """The files of a segment, read or mapped; `first_text` and `first_word` count all before it in the index."""

    def __init__(self, folder: Path, extent: Extent, manifest: Manifest, first_text: int = 0, first_word: int = 0):
        self.extent, self.first_text, self.first_word = extent, first_text, first_word
        self.scale, self._place, self._checked = extent.scale, folder / extent.name, False
        self.vectors = self._mapped("vectors", manifest.dtype, extent.words, manifest.dim)
        self.inverses = self._mapped("lengths", "float16", manifest.max_size, extent.words)
        self.spans = self._mapped("spans", "int32", extent.words, 2)
        self.kinds = self._mapped("kinds", "uint8", extent.words)
        self.first_words = self._mapped("words", "int64", extent.texts + 1)
        self.bytes = self._mapped("bytes", "int64", extent.texts + 1)
        self.texts = self._mapped("texts", "uint8", extent.bytes)

    def check(self, *, again: bool = False) -> Segment:
        """Read all files, at the first call or `again`, and raise a ValueError if a checksum differs."""
        if again or not self._checked:
            for name, expected in self.extent.checksums.items():
                if checksum(self._place / name) != expected:
                    raise self._damaged(name, "is not what was written")
            self._checked = True
        return self

    def text(self, number: int) -> str:
        return self.texts[self.bytes[number] : self.bytes[number + 1]].tobytes().decode()

    def _mapped(self, name: str, dtype: str, *shape: int) -> np.ndarray:
        path, count = self._place / name, int(np.prod(shape))
        size = np.dtype(dtype).itemsize * count
        if not path.resolve().is_relative_to(self._place.parent.resolve()):
            raise self._damaged(name, "is a link that leads out of the index")
        if not path.is_file() or path.stat().st_size != size:
            raise self._damaged(name, f"is missing, or has not {size:,} bytes")
        if size < SMALL:
            return np.fromfile(path, dtype).reshape(shape)
        # never changes the file, and unlike np.memmap holds no descriptor, of which a process may have but a thousand
        mapped = torch.from_file(os.fspath(path), shared=False, size=count, dtype=getattr(torch, dtype))
        return mapped.view(shape).numpy()

    def _damaged(self, name: str, what: str) -> ValueError:
        texts = f"texts {self.first_text} to {self.first_text + self.extent.texts - 1}"
        return ValueError(f"this index is damaged: {self._place / name}, which holds {texts}, {what}; make it anew")


@lru_cache(maxsize=2**16)
def word_kind(word: str) -> int:
    """Return the kind of an English word: PUNCTUATION, NEVER_FIRST and NEVER_LAST as bits."""
    if all(c in SIGNS or (category(c)[0] == "P" and c not in PARTS_OF_WORDS) for c in word):
        return PUNCTUATION
    return NEVER_FIRST | NEVER_LAST if word.lower() in BETWEEN else NEVER_LAST if word.lower() in OPEN else 0


def checksum(path: Path) -> str:
    """Compute the CRC-32 of a file; it finds damage, and reads three times as fast as SHA-256."""
    value = 0
    with open(path, "rb") as file:
        while block := file.read(2**20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


@contextmanager
def writing(folder: Path) -> Iterator[Manifest]:
    """Hold the lock of an index, give its manifest, and remove in the end the segments that none names."""
    with FileLock(folder / LOCK, timeout=SECONDS):
        manifest = Manifest.read(folder)
        try:
            yield manifest
        finally:
            for written in (folder, folder / MANIFEST):
                clear(written)  # of what a killed process has left
            named = {extent.name for extent in Manifest.read(folder).segments}
            for path in folder.iterdir():
                if SEGMENT.fullmatch(path.name) and path.name not in named:
                    shutil.rmtree(path)


def write_segment(folder: Path, texts: list[str], encoded: Iterable[Words], manifest: Manifest) -> Extent:
    """Write a segment of texts, of which `encode_words` gives the words, to the disk."""
    place = folder / f"segment-{uuid4().hex}"
    place.mkdir()
    counts = np.zeros(len(texts), dtype=np.int64)
    kinds = bytearray()
    with open(place / "vectors", "wb") as vectors_file, open(place / "spans", "wb") as spans_file:
        for number, vectors, spans in encoded:
            with np.errstate(over="ignore"):
                rounded = vectors.astype(manifest.dtype)
            if not np.isfinite(rounded).all():
                text = f"{texts[number]!r:.60}"
                raise ValueError(f"{manifest.dtype} cannot hold a word's vector of {text}: pass dtype='float32'")
            counts[number] += len(vectors)
            vectors_file.write(rounded.tobytes())
            spans_file.write(spans.astype(np.int32).tobytes())
            kinds += bytes(word_kind(texts[number][start:end]) for start, end in spans.tolist())
    raw = [text.encode() for text in texts]
    first_words, begins = (np.cumsum([0, *numbers], dtype=np.int64) for numbers in (counts, map(len, raw)))
    vectors = np.fromfile(place / "vectors", manifest.dtype).reshape(-1, manifest.dim)
    inverses, scale = rounded_inverses(vectors, first_words, manifest.max_size)
    for name, array in {"words": first_words, "bytes": begins, "lengths": inverses}.items():
        (place / name).write_bytes(array.tobytes())
    (place / "kinds").write_bytes(kinds)
    (place / "texts").write_bytes(b"".join(raw))
    for path in (*place.iterdir(), place, folder):
        to_disk(path)
    checksums = {name: checksum(place / name) for name in FILES}
    return Extent(place.name, len(texts), int(first_words[-1]), int(begins[-1]), scale, checksums)


def rounded_inverses(vectors: np.ndarray, first_words: np.ndarray, max_size: int) -> tuple[np.ndarray, float]:
    """Compute one over the length of every span's sum, times a scale: float16 (K, W), and the scale.

    It is 0 for a span of length 0, and for one that crosses the end of its text. It is NaN where only the exact pass
    can tell: the words all but cancel, or the length is far from those of words. `vectors` are (W, D), and
    `first_words` (n + 1,) each text's first word, and W.
    """
    count = len(vectors)
    rounded = np.zeros((max_size, count), dtype=np.float16)
    chunks = (np.asarray(vectors[first : first + CHUNK], np.float32) for first in range(0, count, CHUNK))
    norms = np.concatenate([np.zeros(0), *(np.linalg.norm(chunk, axis=1) for chunk in chunks)])
    scale = float(np.median(norms[norms > 0])) if (norms > 0).any() else 1.0
    for first in range(0, count, CHUNK):
        starts = np.arange(first, min(first + CHUNK, count))
        chunk = window(torch.from_numpy(vectors), first, len(starts), max_size).float()
        inverses, cancelled = inverse_lengths(chunk, len(starts), max_size)
        inverses *= scale
        inverses[cancelled | (inverses > LARGEST) | ((inverses < SMALLEST) & (inverses > 0))] = torch.nan
        ends = first_words[np.searchsorted(first_words, starts, side="right")]  # of the words' texts
        inverses[torch.from_numpy(ends - starts) <= torch.arange(max_size)[:, None]] = 0.0
        rounded[:, starts] = inverses.numpy()
    return rounded, scale


def copy_index(parts: Sequence[tuple[Path, Manifest]], target: Path, copy: Callable = shutil.copy2) -> None:
    """Copy one index, or several that are alike, to a folder that is empty or not there, whole or not at all."""
    with replacing(target) as new:
        new.mkdir()
        for folder, manifest in parts:
            for extent in manifest.segments:
                Segment(folder, extent, manifest)  # refuses one whose files are not all there
                shutil.copytree(folder / extent.name, new / extent.name, copy_function=copy)
        segments = tuple(extent for _, manifest in parts for extent in manifest.segments)
        replace(parts[0][1], segments=segments).write(new)


def link(source: str, target: str) -> None:
    """Give a file a second name, or copy it."""
    try:
        os.link(source, target)
    except OSError:  # on another disk, or on one that has no hard links
        shutil.copy2(source, target)
