"""The files of a phrase index: its manifest and its segments, as `sentlab.search.phrase_index` describes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "sentlab phrase index 1"
MANIFEST = "phrases.json"


@dataclass(frozen=True)
class Extent:
    """How much a segment holds, as the manifest says."""

    name: str
    texts: int
    words: int
    bytes: int


class Segment:
    """The files of a segment, mapped into memory.

    Raises:
        ValueError: a file that is not there, or not of the size that was committed.
    """

    def __init__(self, folder: Path, extent: Extent, dtype: str, dim: int) -> None:
        self.extent = extent

        def mapped(name: str, dtype: str, *shape: int) -> np.ndarray:
            path, size = folder / extent.name / name, np.dtype(dtype).itemsize * int(np.prod(shape))
            found = path.stat().st_size if path.is_file() else None
            if found != size:
                what = "is missing" if found is None else f"has {found:,} bytes instead of {size:,}"
                raise ValueError(f"the phrase index in {folder} is damaged: {extent.name}/{name} {what}; make it anew")
            return np.memmap(path, dtype, "r", shape=shape) if size else np.empty(shape, dtype)

        self.vectors = mapped("vectors", dtype, extent.words, dim)
        self.spans = mapped("spans", "int32", extent.words, 2)
        self.words = mapped("words", "int64", extent.texts + 1)
        self.bytes = mapped("bytes", "int64", extent.texts + 1)
        self.texts = mapped("texts", "uint8", extent.bytes)

    def text(self, number: int) -> str:
        return self.texts[self.bytes[number] : self.bytes[number + 1]].tobytes().decode()


def read_manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}; give one that PhraseIndex.save has written")
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder} is no phrase index: it has no {MANIFEST}")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"the phrase index in {folder} is damaged: {MANIFEST} is not JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{path} is not of the format {FORMAT!r}; make the index anew")
    keys = {"format", "encoder", "min_size", "max_size", "dtype", "dim", "segments"}
    extents = manifest.get("segments")
    known = isinstance(extents, list) and all(
        isinstance(extent, dict)
        and list(extent) == list(Extent.__dataclass_fields__)
        and [type(value) for value in extent.values()] == [str, int, int, int]
        for extent in extents
    )
    if manifest.keys() != keys or not known:
        raise ValueError(f"the phrase index in {folder} is damaged: {MANIFEST} must hold {', '.join(sorted(keys))}")
    return manifest
