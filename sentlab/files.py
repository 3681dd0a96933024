"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, which is moved onto it when the block ends well and removed when it fails.

    After a power failure too `path` holds the old file or the new one.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        to_disk(temporary)
        os.replace(temporary, path)
        to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Raise a ValueError that names the file where it is no JSON, no UTF-8, or no safetensors file, or cut off."""
    try:
        yield
    except (json.JSONDecodeError, UnicodeDecodeError, SafetensorError) as error:
        raise ValueError(f"{path} is damaged or cut off: {error}. Get the file anew") from error


def to_disk(path: Path) -> None:
    """Wait until the content of a file, or the list of names in a folder, is on the disk (fsync)."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as indented JSON, a list of numbers on one line, whole or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    # a JSON string has no line breaks of its own, so only lists can match
    text = re.sub(r"\[\n[\s\d.,eE+NaInfity-]+\]", lambda found: " ".join(found[0].split()), text)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
