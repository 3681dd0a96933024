"""Files and folders that appear whole or not at all.

What is written for `NAME` is written in the folder `.NAME.RANDOM.new` beside it, and moved to `NAME` when complete.
That folder holds a lock while its process is alive. What a killed process leaves goes when `NAME` is next written.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from filelock import FileLock


@contextmanager
def replacing(path: str | Path, *, full: bool = False) -> Iterator[Path]:
    """Give a place to write a file or a folder, which is moved to `path` when the block ends well, and removed if not.

    After a power failure too `path` holds the old content or the new. `full`: replace a folder that holds something.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    clear(target)
    stage = Path(tempfile.mkdtemp(prefix=_stem(target), suffix=".new", dir=target.parent))
    (new := stage / "new" / Path(path).name).parent.mkdir()  # beside the names below, whatever its own is
    with FileLock(stage / "alive"):
        try:
            yield new
            (stage / "plain").touch()
            for part in (*new.rglob("*"), new):
                if part.is_file() and part.stat().st_nlink == 1:  # safetensors lets nobody but the owner read
                    shutil.copymode(stage / "plain", part)
                to_disk(part)
            if target.exists():
                shutil.copymode(target, new)
            if full and target.is_dir():  # which a folder can replace only if it is empty
                os.rename(target, stage / "old")
            os.replace(new, target)
            to_disk(target.parent)
        finally:
            _remove(stage, target)


def _remove(stage: Path, target: Path) -> None:
    if (stage / "old").exists() and not target.exists():
        os.rename(stage / "old", target)
    shutil.rmtree(stage, ignore_errors=True)


def clear(path: Path) -> None:
    """Remove what killed processes have left of writing `path`, and bring back a folder that they put aside."""
    for stage in path.parent.glob(f"{glob.escape(_stem(path))}{'?' * 8}.new"):  # not those of NAME.5
        with suppress(OSError), FileLock(stage / "alive", timeout=0):  # a Timeout is an OSError: some process writes
            _remove(stage, path)


def _stem(path: Path) -> str:
    """The beginning of what is written beside `path`; of a name near the 255 bytes that systems allow, a hash."""
    return f".{path.name if len(name := os.fsencode(path.name)) < 240 else sha256(name).hexdigest()}."


def to_disk(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk (fsync)."""
    if os.name != "nt":  # which opens no folders
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as indented JSON, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def optional(package: str, advice: str) -> Any:
    """Import a package that sentlab does not depend on; where it is missing, say what to install."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}: pip install {advice}") from error
