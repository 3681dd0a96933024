"""Files and folders that appear whole or not at all.

What is written for `NAME` is written in the folder `.NAME.HEX.new` beside it, HEX being 8 random digits, and moved to
`NAME` when it is complete. The folder holds a lock while its process is alive. What a killed process leaves goes when
`NAME` is next written.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock
from safetensors import SafetensorError

LOCK, OLD, KEPT = "alive", "old", "kept"  # in a folder .NAME.HEX.new; KEPT: it is not to be removed


@contextmanager
def replacing(path: str | Path, *, full: bool = False) -> Iterator[Path]:
    """Give a place to write a file or a folder, which is moved to `path` when the block ends well, and removed if not.

    After a kill or a power failure too `path` holds the old content or the new one.

    Args:
        path: of the file or folder. Folders above it are made. One that is there passes its mode on. A link stays, and
            what it leads to is replaced.
        full: replace a folder that holds something too.

    Raises:
        FileExistsError: `path` is a folder that holds something, and `full` is False.
    """
    path = Path(path)
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    with staging(target) as stage:
        new = stage / path.name  # its ending is the one that was asked for
        yield new
        for part in (*new.rglob("*"), new):
            to_disk(part)
        with suppress(FileNotFoundError):  # nothing is there to be replaced
            shutil.copymode(target, new)
        _move(new, target, full)
        to_disk(target.parent)


@contextmanager
def staging(path: Path) -> Iterator[Path]:
    """Give a folder beside `path` to write in, which goes at the end; a failure to write names `path`."""
    stage, lock = stage_for(path)
    try:
        yield stage
    except OSError as error:
        if error.errno and not error.filename:  # what the system says of a full disk
            error.filename = os.fspath(path)
        raise
    except SafetensorError as error:
        raise OSError(f"cannot write {path}: {error}") from error
    finally:
        unstage(stage, lock, path)


def stage_for(path: Path) -> tuple[Path, FileLock]:
    """Make a folder `.NAME.HEX.new` beside `path` and hold its lock; those of killed processes go."""
    clear(path)
    while True:
        stage = path.with_name(f".{path.name}.{uuid4().hex[:8]}.new")
        stage.mkdir(mode=0o700)
        lock = FileLock(stage / LOCK)
        try:
            lock.acquire(timeout=0)
        except (TimeoutError, FileNotFoundError):  # another process has cleared it before it was locked
            continue
        return stage, lock


def unstage(stage: Path, lock: FileLock, path: Path, process: int | None = None) -> None:
    """Remove a folder of `stage_for`; bring back what was about to be replaced.

    Args:
        process: that may do it; a fork of it may not, as the folder is still in use there. None: any.
    """
    if process not in (None, os.getpid()):
        return
    if (stage / OLD).exists() and not path.exists():
        os.rename(stage / OLD, path)
    shutil.rmtree(stage, ignore_errors=True)
    lock.release()
    shutil.rmtree(stage, ignore_errors=True)  # what Windows keeps while it is open; descriptors may have been lacking


def clear(path: Path) -> None:
    """Remove what killed processes have left of writing `path`."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.new")
    user = getattr(os, "geteuid", int)()  # in a folder that users share nobody opens the locks of others
    for stage in [*path.parent.iterdir()] if path.parent.is_dir() else []:
        if name.fullmatch(stage.name):
            with suppress(OSError):  # a process is writing there, or has just removed it
                if stage.lstat().st_uid == user and not stage.is_symlink() and not (stage / KEPT).exists():
                    lock = FileLock(stage / LOCK)
                    lock.acquire(timeout=0)
                    unstage(stage, lock, path)


def _move(new: Path, path: Path, full: bool) -> None:
    try:
        os.replace(new, path)
    except OSError as error:
        if not (new.is_dir() and path.is_dir()):
            raise
        if not full:
            raise FileExistsError(f"{path} is not empty; choose a new folder") from error
        if not _exchange(new, path):
            os.rename(path, new.with_name(OLD))
            os.rename(new, path)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders swap their names in one step, where the system can do that (Linux); tell whether it did."""
    swap = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return swap is not None and swap(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


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
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # a file may be read-only
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
