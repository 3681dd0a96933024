"""Build the book into _build/html: `make book` calls this.

Jupyter Book keeps the outputs of a chapter as long as the chapter's code is
the same. Chapters also depend on the package, on the recorded results and on
the preset, so this drops the kept outputs when one of those has changed, and
skips the build when nothing at all has. Jupyter Book would run the chapters
one after the other; this runs several at once, and leaves to it the outputs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
PAGE = BUILD / "html" / "index.html"
RUN_WITH = BUILD / ".run-with"  # what the kept outputs were computed with
BUILT_FROM = BUILD / ".built-from"  # what the finished book was built from

SETTINGS = ("SENTLAB_PRESET", "SENTLAB_DATA")
INPUTS = "experiments pictures results trained paper-and-code.toml".split()
CODE = ("sentlab", "requirements.txt", *(f"book/{name}" for name in INPUTS))
TEXT = ("book", "_config.yml", "_toc.yml")
ENCODERS = ROOT / "book" / "encoders"  # that chapters write for widgets
TRAINED = ROOT / "book" / "trained"  # encoders of recorded runs, for widgets
CONTENTS = "00-contents.ipynb"  # of JupyterLab: it is no chapter
PASSING = {"__pycache__", ".ipynb_checkpoints", ".ruff_cache", "runs"}
PASSING |= {ENCODERS.name}
AT_ONCE = 4  # chapters, at most: each holds an encoder and data in memory
QUIET = {  # no bars on pages, no debugger advice in the log
    "TQDM_DISABLE": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
# --all: without it a chapter that failed last time counts as done.
# -W -n: a broken link or citation is an error.
PROGRAM = "from jupyter_book.cli.main import main; main()"
BOOK = [sys.executable, "-c", PROGRAM, "build", str(ROOT)]
BOOK += ["--all", "-W", "-n", "--keep-going"]


def fingerprint(names: Iterable[str], *extra: str) -> str:
    """Return the SHA-256 over the paths and contents of all files in `names`,
    which are files or folders of the repository, and over `extra`."""
    digest = hashlib.sha256("\0".join(extra).encode())
    for name in names:
        for path in sorted([ROOT / name, *(ROOT / name).rglob("*")]):
            if path.is_file() and not PASSING & set(
                path.relative_to(ROOT).parts
            ):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                place = path.relative_to(ROOT).as_posix()
                digest.update(f"\0{place}\0{content}".encode())
    return digest.hexdigest()


def read(stamp: Path) -> str:
    return stamp.read_text() if stamp.exists() else ""


def use(settings: dict[str, str]) -> None:
    """Let what this process starts have these environment variables."""
    os.environ.update(settings)


def run_chapter(
    path: Path, timeout: int
) -> tuple[nbformat.NotebookNode, float]:
    """Return the chapter with its outputs, and the seconds that it took."""
    notebook, began = nbformat.read(path, as_version=4), time.monotonic()
    client = NotebookClient(
        notebook,
        timeout=timeout,
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        extra_arguments=["--log-level=40"],  # a kernel's errors, no advice
    )
    try:
        client.execute()
    except CellExecutionError as error:  # cannot be handed to another process
        raise RuntimeError(f"{path.name} fails:\n{error}") from None
    return notebook, time.monotonic() - began


def run_chapters() -> list[str]:
    """Run the chapters whose outputs are not kept, and keep them.

    Those that fail are returned, and left to Jupyter Book, which runs them
    again and shows why.
    """
    cache = get_cache(str(BUILD / ".jupyter_cache"))
    waiting = []
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        try:
            cache.match_cache_notebook(nbformat.read(path, as_version=4))
        except KeyError:
            waiting += [path] if path.name != CONTENTS else []
    if not waiting:
        return []
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    cores = os.cpu_count() or 1
    # with a large encoder a chapter wants the machine, or its GPU, for itself
    large = os.environ.get("SENTLAB_PRESET") == "paper"
    at_once = 1 if large else min(AT_ONCE, cores, len(waiting))
    threads = {"OMP_NUM_THREADS": str(cores // at_once)}
    failed = []
    with ProcessPoolExecutor(
        at_once,
        mp_context=get_context("spawn"),
        initializer=use,
        initargs=({**threads, **os.environ, **QUIET},),
    ) as pool:
        timeout = config["execute"]["timeout"]
        runs = {
            pool.submit(run_chapter, path, timeout): path for path in waiting
        }
        for number, run in enumerate(as_completed(runs), 1):
            place = f"[{number}/{len(runs)}] {runs[run].name}"
            if run.exception():
                print(f"{place}: FAILED", flush=True)
                failed.append(runs[run].name)
                continue
            notebook, seconds = run.result()
            spent = {"execution_seconds": seconds}
            bundle = CacheBundleIn(notebook, str(runs[run]), data=spent)
            cache.cache_notebook_bundle(
                bundle, check_validity=False, overwrite=True
            )
            print(f"{place}: {seconds:.0f} s", flush=True)
    return failed


def ship() -> list[str]:
    """Copy beside the pages what they load or link to: records, and encoders
    of widgets. In a page, a recorded number leads to the page of all records,
    and no longer to its notebook, as it does in JupyterLab.

    Returns:
        The encoders that a page asks for and that are not there.
    """
    pages = BUILD / "html" / "book"
    scripts = [*ENCODERS.glob("*.js"), *TRAINED.glob("*.js")]
    for path in [*(ROOT / "book" / "results").rglob("*.json"), *scripts]:
        copy = BUILD / "html" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    wanted: set[str] = set()
    for page in pages.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        wanted |= set(re.findall(r"(?:encoders|trained)/\w+\.js\b", text))
        notebook, built = (
            f'href="records.{end}#record-' for end in ("ipynb", "html")
        )
        page.write_text(text.replace(notebook, built), encoding="utf-8")
    return sorted(name for name in wanted if not (pages / name).is_file())


def main() -> str | int:
    """Build the book, and return why it is not built, or 0."""
    preset = (f"{name}={os.environ.get(name, '')}" for name in SETTINGS)
    code = fingerprint(CODE, sys.version, *preset)
    everything = fingerprint(TEXT, code)
    if read(BUILT_FROM) == everything and PAGE.exists():
        print(f"Nothing has changed. The book is here: {PAGE}")
        return 0
    BUILT_FROM.unlink(missing_ok=True)
    # no page of a chapter that is gone
    shutil.rmtree(BUILD / "html", ignore_errors=True)
    if read(RUN_WITH) != code:
        shutil.rmtree(BUILD / ".jupyter_cache", ignore_errors=True)
        shutil.rmtree(ENCODERS, ignore_errors=True)
        BUILD.mkdir(exist_ok=True)
        RUN_WITH.write_text(code)
    failed = run_chapters()
    if subprocess.run(BOOK, cwd=ROOT, env=os.environ | QUIET).returncode:
        return "The book was NOT built: see the warnings above."
    if failed:  # and not the second time
        return f"The book was NOT built: {', '.join(failed)} failed at first."
    if absent := ship():
        return (
            f"The book was NOT built: no {', '.join(absent)}. Remove _build,"
            " so that the chapters write them."
        )
    BUILT_FROM.write_text(everything)
    print(f"The book is ready. Open {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
