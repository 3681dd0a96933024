"""The files of a phrase index: how segments are written, committed by one process of several, checked and cleaned up.

A folder of the index holds a manifest and segments, each of some texts::

    phrases.json           the manifest: what the index is, and its segments with their sizes and checksums
    phrases.lock           locked while a process changes the list of segments

    segment-HEX/vectors    float16 or float32 (W, D)
    segment-HEX/spans      int32 (W, 2), a word's characters
    segment-HEX/words      int64 (n + 1,), each text's first word
    segment-HEX/texts      the texts in UTF-8
    segment-HEX/bytes      int64 (n + 1,), where each text begins

    .segment.HEX.new/      segments that a process is writing

HEX are random digits, so two processes never write the same segment. A segment is complete and on the disk before
the manifest names it, and the manifest is replaced as a whole: a kill at any moment leaves the old index or the new
one. What a killed process leaves goes when texts are added next. No other file of the folder is ever removed.

`sentlab.files` says how the manifest and copies of an index are replaced, and when what is left of them goes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from filelock import FileLock

from sentlab import files
from sentlab.files import clear, replacing, to_disk, write_json
from sentlab.search.edges import word_kinds

FORMAT = "sentlab phrase index 2"
MANIFEST, LOCK = "phrases.json", "phrases.lock"
SEGMENT = re.compile(r"segment-[0-9a-f]{32}")
FILES = ("vectors", "spans", "words", "bytes", "texts")
DTYPES = ("float16", "float32")
SECONDS = 60.0  # to wait for another process, which holds the lock for some milliseconds


@dataclass(frozen=True)
class Extent:
    """How much a segment holds, and the CRC-32 of each of its files in hexadecimal digits."""

    name: str
    texts: int
    words: int
    bytes: int
    checksums: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    """What an index is, and its segments in the order in which they were committed."""

    encoder: str  # fingerprint
    min_size: int
    max_size: int
    dtype: str
    dim: int
    segments: tuple[Extent, ...] = ()

    def write(self, folder: Path) -> None:
        write_json(folder / MANIFEST, {"format": FORMAT} | asdict(self))


class Segment:
    """The files of a segment, mapped into memory; `damage` says what is wrong with them, as far as we know.

    `first_text` and `first_word` are the places in the index of the first ones.
    """

    def __init__(
        self, folder: Path, extent: Extent, dtype: str, dim: int, first_text: int = 0, first_word: int = 0
    ) -> None:
        self.extent, self.first_text, self.first_word = extent, first_text, first_word
        self.damage: str | None = None
        self._place, self._read = folder / extent.name, False
        self.vectors = self._mapped("vectors", dtype, extent.words, dim)
        self.spans = self._mapped("spans", "int32", extent.words, 2)
        self.words = self._mapped("words", "int64", extent.texts + 1)
        self.bytes = self._mapped("bytes", "int64", extent.texts + 1)
        self.texts = self._mapped("texts", "uint8", extent.bytes)

    def check(self, *, again: bool = False) -> str | None:
        """Read all files, at the first call or `again`, and return what is wrong with them; None if nothing is."""
        if again or not self._read:
            self._read = True
            for name, expected in self.extent.checksums.items():
                try:
                    if checksum(self._place / name) != expected:
                        self._damaged(name, "is not what was written")
                except OSError as error:
                    self._damaged(name, f"cannot be read ({error})")
        return self.damage

    def text(self, number: int) -> str:
        return self.texts[self.bytes[number] : self.bytes[number + 1]].tobytes().decode()

    @cached_property
    def kinds(self) -> np.ndarray:
        """The kind of each word, uint8 (W,); see `sentlab.search.edges`."""
        return word_kinds(self.texts, self.bytes, self.words, self.spans)

    def _mapped(self, name: str, dtype: str, *shape: int) -> np.ndarray:
        path, size = self._place / name, np.dtype(dtype).itemsize * int(np.prod(shape))
        found = path.stat().st_size if path.is_file() else None
        if not path.resolve().is_relative_to(self._place.parent.resolve()):
            found = None
            self._damaged(name, "is a link that leads out of the index")
        elif found != size:
            self._damaged(name, "is missing" if found is None else f"has {found:,} bytes instead of {size:,}")
        return np.memmap(path, dtype, "r", shape=shape) if size and found == size else np.empty(shape, dtype)

    def _damaged(self, name: str, what: str) -> None:
        last = self.first_text + self.extent.texts - 1
        what = f"{self.extent.name}/{name} {what}; it holds texts {self.first_text} to {last}"
        self.damage = self.damage or what


def checksum(path: Path) -> str:
    """CRC-32 of a file, eight hexadecimal digits: it finds damage, and reads three times as fast as SHA-256."""
    value = 0
    with open(path, "rb") as file:
        while block := file.read(2**20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def write_segment(
    stage: Path, texts: list[str], encoded: Iterable[tuple[int, np.ndarray, np.ndarray]], dtype: str, first: int = 0
) -> Extent:
    """Write a segment of texts that `encode_words` has encoded; `first` is the number of the first one in messages."""
    place = stage / f"segment-{uuid4().hex}"
    place.mkdir()
    counts = np.zeros(len(texts), dtype=np.int64)
    with open(place / "vectors", "wb") as vectors_file, open(place / "spans", "wb") as spans_file:
        for number, vectors, spans in encoded:
            with np.errstate(over="ignore"):
                kept = vectors.astype(dtype)
            if not np.isfinite(kept).all():
                raise ValueError(
                    f"texts[{first + number}] has a word whose vector {dtype} cannot hold, with values up to "
                    f"{np.abs(vectors).max():.3g}: {texts[number]!r:.60}. Make the index with dtype='float32'; if that "
                    "fails too, the encoder is broken"
                )
            counts[number] += len(vectors)
            vectors_file.write(kept.tobytes())
            spans_file.write(spans.astype(np.int32).tobytes())
    raw = [text.encode() for text in texts]
    (place / "texts").write_bytes(b"".join(raw))
    for file, lengths in {"words": counts.tolist(), "bytes": [len(text) for text in raw]}.items():
        (place / file).write_bytes(np.cumsum([0, *lengths], dtype=np.int64).tobytes())
    _segment_to_disk(place)
    checksums = {name: checksum(place / name) for name in FILES}
    return Extent(place.name, len(texts), int(counts.sum()), sum(map(len, raw)), checksums)


def copy_index(source: Path, target: Path, manifest: Manifest) -> None:
    """Copy an index to a folder that is empty or not there, whole or not at all."""
    with replacing(target) as new:
        new.mkdir()
        for extent in manifest.segments:
            shutil.copytree(source / extent.name, new / extent.name)
        manifest.write(new)


def _segment_to_disk(place: Path) -> None:
    for name in FILES:
        to_disk(place / name)
    to_disk(place)


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A folder to write segments in. It goes at the end, and so does what killed processes have left."""
    clear(folder)  # of a save
    with FileLock(folder / LOCK, timeout=SECONDS):  # under which segments appear and are committed
        committed = {extent.name for extent in read_manifest(folder).segments}
        for path in folder.iterdir():
            if SEGMENT.fullmatch(path.name) and path.name not in committed:
                shutil.rmtree(path)
    with files.staging(folder / "segment") as stage:
        yield stage


def commit(folder: Path, stage: Path, extent: Extent, opened: Manifest) -> Manifest:
    """Move a segment from the stage behind all that others have committed since `opened`; return the new manifest."""
    with FileLock(folder / LOCK, timeout=SECONDS):
        now = read_manifest(folder)
        if replace(now, segments=now.segments[: len(opened.segments)]) != opened:
            raise RuntimeError(f"{folder} holds another index since this one was opened; open it with PhraseIndex.load")
        os.replace(stage / extent.name, folder / extent.name)
        to_disk(folder)
        new = replace(now, segments=(*now.segments, extent))
        new.write(folder)
    return new


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the index in a folder; a ValueError if it is none that this version of sentlab wrote."""
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}; give one that PhraseIndex.save has written")
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder} is no phrase index: it has no {MANIFEST}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"the phrase index in {folder} is damaged: {MANIFEST} is not JSON: {error}") from error
    if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
        raise ValueError(
            f"{path} is not of the format {FORMAT!r}: another version of sentlab wrote it; make the index anew"
        )
    if problem := _problem(found):
        raise ValueError(f"the phrase index in {folder} is damaged: {MANIFEST} {problem}; make it anew")
    return Manifest(**found | {"segments": tuple(Extent(**extent) for extent in found["segments"])})


def _problem(found: dict[str, Any]) -> str | None:
    """What is wrong with the entries of a manifest."""
    kinds = {"encoder": str, "min_size": int, "max_size": int, "dtype": str, "dim": int, "segments": list}
    if _kinds(found) != kinds:
        return f"must hold {', '.join(sorted(kinds))}"
    if found["dtype"] not in DTYPES or not 1 <= found["min_size"] <= found["max_size"] or found["dim"] < 1:
        return f"has values that no index has: {', '.join(f'{key} {found[key]!r}' for key in list(kinds)[1:5])}"
    kinds = {"name": str, "texts": int, "words": int, "bytes": int, "checksums": dict}
    for number, extent in enumerate(found["segments"]):
        if _kinds(extent) != kinds:
            return f"must hold {', '.join(kinds)} of segments[{number}]"
        name, *counts, checksums = (extent[key] for key in kinds)
        if not SEGMENT.fullmatch(name):
            return f"names a segment that sentlab does not write: {name!r}"
        if min(counts) < 0:
            return f"has no counts of segments[{number}]: {counts}"
        if set(checksums) != set(FILES):
            return f"must hold checksums of {', '.join(FILES)} of segments[{number}]"
    names = {extent["name"] for extent in found["segments"]}
    return "names a segment twice" if len(names) < len(found["segments"]) else None


def _kinds(entries: Any) -> dict[str, type]:
    return {key: type(value) for key, value in entries.items()} if isinstance(entries, dict) else {}
