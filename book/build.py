"""Build the book into _build/html: `make book` calls this.

Jupyter Book keeps the outputs of a chapter as long as the chapter's code is
the same. Chapters also depend on the package, on the recorded results and on
the preset, so this drops the kept outputs when one of those has changed, and
skips the build when nothing at all has.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
PAGE = BUILD / "html" / "index.html"
RUN_WITH = BUILD / ".run-with"  # what the kept outputs were computed with
BUILT_FROM = BUILD / ".built-from"  # what the finished book was built from

SETTINGS = ("SENTLAB_PRESET", "SENTLAB_DATA")
CODE = ("sentlab", "book/results", "requirements.txt")
TEXT = ("book", "_config.yml", "_toc.yml")
PASSING = {"__pycache__", ".ipynb_checkpoints"}


def fingerprint(root: Path, names: Iterable[str], *extra: str) -> str:
    """SHA-256 over the paths and contents of all files in `names` (files or
    folders below `root`) and over `extra`."""
    digest = hashlib.sha256("\0".join(extra).encode())
    for name in names:
        for path in sorted([root / name, *(root / name).rglob("*")]):
            if path.is_file() and not PASSING & set(path.parts):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(
                    f"\0{path.relative_to(root).as_posix()}\0{content}".encode()
                )
    return digest.hexdigest()


def read(stamp: Path) -> str:
    return stamp.read_text() if stamp.exists() else ""


def ship_records() -> None:
    """Copy the records beside the pages, which link to them; not the encoders
    that sweeps keep, which lie deeper."""
    results = ROOT / "book" / "results"
    for path in [*results.glob("*.json"), *results.glob("*/*.json")]:
        copy = BUILD / "html" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def main() -> int:
    code = fingerprint(
        ROOT,
        CODE,
        sys.version,
        *(f"{name}={os.environ.get(name, '')}" for name in SETTINGS),
    )
    everything = fingerprint(ROOT, TEXT, code)
    if read(BUILT_FROM) == everything and PAGE.exists():
        print(f"Nothing has changed. The book is here: {PAGE}")
        return 0
    BUILT_FROM.unlink(missing_ok=True)
    shutil.rmtree(
        BUILD / "html", ignore_errors=True
    )  # no page of a chapter that is gone
    if read(RUN_WITH) != code:
        shutil.rmtree(BUILD / ".jupyter_cache", ignore_errors=True)
        BUILD.mkdir(exist_ok=True)
        RUN_WITH.write_text(code)
    # --all: without it a chapter that failed last time counts as done.
    # -W -n: a broken link or citation is an error.
    program = [
        sys.executable,
        "-c",
        "from jupyter_book.cli.main import main; main()",
    ]
    command = [
        *program,
        "build",
        str(ROOT),
        "--all",
        "-W",
        "-n",
        "--keep-going",
    ]
    quiet = {
        "TQDM_DISABLE": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }  # no bars on pages, no debugger advice in the log
    if subprocess.run(command, cwd=ROOT, env=os.environ | quiet).returncode:
        print(
            "The book was NOT built: see the warnings and tracebacks above.",
            file=sys.stderr,
        )
        return 1
    ship_records()
    BUILT_FROM.write_text(everything)
    print(f"The book is ready. Open {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
