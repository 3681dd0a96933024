"""The files of a phrase index: how segments are written, committed by one process of several, checked and cleaned up.

A folder of the index holds a manifest and segments, each of some texts::

    phrases.json           the manifest: what the index is, and its segments with their sizes and checksums
    phrases.lock           locked while a process changes the list of segments

    segment-HEX/vectors    float16 or float32 (W, D)
    segment-HEX/lengths    float16 (K, W), as `sentlab.search.shortlist` rounds one over the length of each span
    segment-HEX/spans      int32 (W, 2), a word's characters

    segment-HEX/words      int64 (n + 1,), each text's first word
    segment-HEX/texts      the texts in UTF-8
    segment-HEX/bytes      int64 (n + 1,), where each text begins

    .segment.HEX.new/      segments that a process is writing

HEX are random digits, so two processes never write the same segment. A segment is complete and on the disk before
the manifest names it, and the manifest is replaced as a whole: a kill at any moment leaves the old index or the new
one. What a killed process leaves goes when texts are added next. No other file of the folder is ever removed.

Indexes that were merged share the files of segments by hard links, as no file of a segment is ever written again. A
file that is damaged is then damaged in all of them.

`sentlab.files` says how the manifest and copies of an index are replaced, and when what is left of them goes.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from filelock import FileLock

from sentlab import files
from sentlab.files import clear, replacing, to_disk, write_json
from sentlab.search.edges import word_kinds
from sentlab.search.shortlist import rounded_lengths

FORMAT = "sentlab phrase index 3"
MANIFEST, LOCK = "phrases.json", "phrases.lock"
SEGMENT = re.compile(r"segment-[0-9a-f]{32}")
FILES = ("vectors", "lengths", "spans", "words", "bytes", "texts")
DTYPES = ("float16", "float32")
COMPARED = ("encoder", "min_size", "max_size", "dtype", "dim")  # of a manifest, where indexes are to be one
SMALL = 2**16  # bytes of a file that is as soon read as mapped
SECONDS = 60.0  # to wait for another process, which holds the lock for some milliseconds


@dataclass(frozen=True)
class Extent:
    """How much a segment holds, the scale of its lengths, and the CRC-32 of each of its files in hexadecimal digits."""

    name: str
    texts: int
    words: int
    bytes: int
    scale: float
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
    """The files of a segment, read or mapped into memory; `damage` says what is wrong with them, as far as we know.

    `first_text` and `first_word` are the places in the index of the first ones.
    """

    def __init__(
        self, folder: Path, extent: Extent, manifest: Manifest, first_text: int = 0, first_word: int = 0
    ) -> None:
        self.extent, self.first_text, self.first_word = extent, first_text, first_word
        self.damage: str | None = None
        self._place, self._read = folder / extent.name, False
        self.vectors = self._mapped("vectors", manifest.dtype, extent.words, manifest.dim)
        self.lengths = self._mapped("lengths", "float16", manifest.max_size, extent.words)
        self.spans = self._mapped("spans", "int32", extent.words, 2)
        self.words = self._mapped("words", "int64", extent.texts + 1)
        self.bytes = self._mapped("bytes", "int64", extent.texts + 1)
        self.texts = self._mapped("texts", "uint8", extent.bytes)

    def check(self, *, again: bool = False) -> str | None:
        """Read all files, at the first call or `again`, and return what is wrong with them; None if nothing is."""
        if again or not self._read:
            for name, expected in self.extent.checksums.items():
                try:
                    if checksum(self._place / name) != expected:
                        self._damaged(name, "is not what was written")
                except OSError as error:
                    if error.errno == errno.EMFILE:  # no fault of the file
                        raise
                    self._damaged(name, f"cannot be read ({error})")
            self._read = True
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
        if not size or found != size:
            return np.empty(shape, dtype)
        if size < SMALL:
            return np.fromfile(path, dtype).reshape(shape)
        # never changes the file, and unlike np.memmap holds no descriptor, of which a process may have but a thousand
        mapped = torch.from_file(os.fspath(path), shared=False, size=int(np.prod(shape)), dtype=getattr(torch, dtype))
        return mapped.view(shape).numpy()

    def _damaged(self, name: str, what: str) -> None:
        last = self.first_text + self.extent.texts - 1
        what = f"{self.extent.name}/{name} {what}; it holds texts {self.first_text} to {last}"
        self.damage = self.damage or what


@contextmanager
def enough_files(folder: Path) -> Iterator[None]:
    """Say what to do where the system refuses this process one more open file of the index in a folder."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # torch has the reason in words alone
        if os.strerror(errno.EMFILE) not in str(error):
            raise
        what = "too many files are open in this process to use this index; close some, or raise the limit (ulimit -n)"
        raise OSError(errno.EMFILE, what, os.fspath(folder)) from error


def checksum(path: Path) -> str:
    """Compute the CRC-32 of a file, eight hexadecimal digits.

    It finds damage, and reads three times as fast as SHA-256.
    """
    value = 0
    with open(path, "rb") as file:
        while block := file.read(2**20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def write_segment(
    stage: Path, texts: list[str], encoded: Iterable[tuple[int, np.ndarray, np.ndarray]], manifest: Manifest, first: int
) -> Extent:
    """Write a segment of texts that `encode_words` has encoded; `first` is the number of the first one in messages."""
    dtype = manifest.dtype
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
    for file, sizes in {"words": counts.tolist(), "bytes": [len(text) for text in raw]}.items():
        (place / file).write_bytes(np.cumsum([0, *sizes], dtype=np.int64).tobytes())
    vectors = np.fromfile(place / "vectors", dtype).reshape(-1, manifest.dim)
    lengths, scale = rounded_lengths(vectors, np.cumsum([0, *counts]), manifest.max_size)
    (place / "lengths").write_bytes(lengths.tobytes())
    _segment_to_disk(place)
    checksums = {name: checksum(place / name) for name in FILES}
    return Extent(place.name, len(texts), int(counts.sum()), sum(map(len, raw)), scale, checksums)


def copy_index(
    parts: Sequence[tuple[Path, Manifest]], target: Path, copy: Callable[[str, str], object] = shutil.copy2
) -> None:
    """Copy indexes, one or several that are alike, to a folder that is empty or not there, whole or not at all."""
    with replacing(target) as new:
        new.mkdir()
        for folder, manifest in parts:
            for extent in manifest.segments:
                shutil.copytree(folder / extent.name, new / extent.name, copy_function=copy)
        replace(parts[0][1], segments=tuple(extent for _, own in parts for extent in own.segments)).write(new)


def merge(folders: Sequence[Path], target: Path) -> None:
    """Merge indexes as `PhraseIndex.merge` says.

    A segment is never written again, so that two indexes can share its files.
    """
    parts = [(folder, read_manifest(folder)) for folder in folders]
    check_alike(parts)
    seen: dict[str, Path] = {}
    for folder, manifest in parts:
        for extent in manifest.segments:
            if damage := Segment(folder, extent, manifest).damage:
                raise ValueError(f"cannot merge the phrase index in {folder}, which is damaged: {damage}")
            if extent.name in seen:
                raise ValueError(f"{seen[extent.name]} and {folder} hold the same texts: both have {extent.name}")
            seen[extent.name] = folder
    copy_index(parts, target, _link)


def check_alike(parts: Sequence[tuple[Path, Manifest]]) -> None:
    """Raise a ValueError that names what keeps indexes from being one, or that there are none."""
    if not parts:
        raise ValueError("there is no index: give at least one")
    first, wanted = parts[0]
    for folder, manifest in parts[1:]:
        pairs = {key: (getattr(wanted, key), getattr(manifest, key)) for key in COMPARED}
        if differ := [f"{key} {one!r} and {two!r}" for key, (one, two) in pairs.items() if one != two]:
            raise ValueError(
                f"the indexes in {first} and {folder} cannot be one: {', '.join(differ)}. "
                "Make all with one encoder and the same arguments"
            )


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk, or on one that has no hard links
        shutil.copy2(source, target)


def _segment_to_disk(place: Path) -> None:
    for name in FILES:
        to_disk(place / name)
    to_disk(place)


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Remove what killed processes have left, and yield a folder to write segments in, which goes at the end."""
    with enough_files(folder):
        clear(folder)  # of a save
        clear(folder / MANIFEST)  # of the last commit, after which there may be nothing more to add
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
        # only what can be opened is committed, or a second `add` after an error would store the text again
        for place, part in [*((folder, part) for part in now.segments[len(opened.segments) :]), (stage, extent)]:
            Segment(place, part, now)
        os.replace(stage / extent.name, folder / extent.name)
        to_disk(folder)
        new = replace(now, segments=(*now.segments, extent))
        new.write(folder)
    return new


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the index in a folder.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: the folder holds no index, a damaged one, or one that another version of sentlab wrote.
    """
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
    kinds = {"name": str, "texts": int, "words": int, "bytes": int, "scale": float, "checksums": dict}
    for number, extent in enumerate(found["segments"]):
        if _kinds(extent) != kinds:
            return f"must hold {', '.join(kinds)} of segments[{number}]"
        name, *counts, scale, checksums = (extent[key] for key in kinds)
        if not SEGMENT.fullmatch(name):
            return f"names a segment that sentlab does not write: {name!r}"
        if min(counts) < 0:
            return f"has no counts of segments[{number}]: {counts}"
        if not 0 < scale < float("inf"):
            return f"has no scale of segments[{number}]: {scale}"
        if set(checksums) != set(FILES):
            return f"must hold checksums of {', '.join(FILES)} of segments[{number}]"
    names = {extent["name"] for extent in found["segments"]}
    return "names a segment twice" if len(names) < len(found["segments"]) else None


def _kinds(entries: Any) -> dict[str, type]:
    return {key: type(value) for key, value in entries.items()} if isinstance(entries, dict) else {}
