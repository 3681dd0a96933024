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
CODE = (
    "sentlab",
    "book/pictures",
    "book/experiments",
    "book/results",
    "book/trained",
    "book/paper-and-code.toml",
    "requirements.txt",
)
TEXT = ("book", "_config.yml", "_toc.yml")
ENCODERS = ROOT / "book" / "encoders"  # that chapters write for widgets
TRAINED = ROOT / "book" / "trained"  # encoders of recorded runs, for widgets
CONTENTS = "00-contents.ipynb"  # of JupyterLab: it is no chapter
PASSING = {"__pycache__", ".ipynb_checkpoints", "runs", ENCODERS.name}
AT_ONCE = 4  # chapters, at most: each holds an encoder and data in memory
QUIET = {
    "TQDM_DISABLE": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}  # no bars on pages, no debugger advice in the log


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


def use(settings: dict[str, str]) -> None:
    """Let what this process starts have these environment variables."""
    os.environ.update(settings)


def run_chapter(
    path: Path, timeout: int
) -> tuple[nbformat.NotebookNode, float]:
    """The chapter with its outputs, and the seconds that it took."""
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
        if path.name == CONTENTS:
            continue
        try:
            cache.match_cache_notebook(nbformat.read(path, as_version=4))
        except KeyError:
            waiting.append(path)
    if not waiting:
        return []
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    cores = os.cpu_count() or 1
    # with a large encoder a chapter wants the machine, or its GPU, for itself
    large = os.environ.get("SENTLAB_PRESET") == "paper"
    at_once = 1 if large else min(AT_ONCE, cores, len(waiting))
    settings = {
        "OMP_NUM_THREADS": str(cores // at_once),
        **os.environ,
        **QUIET,
    }
    with ProcessPoolExecutor(
        at_once,
        mp_context=get_context("spawn"),
        initializer=use,
        initargs=(settings,),
    ) as pool:
        timeout = config["execute"]["timeout"]
        runs = {
            pool.submit(run_chapter, path, timeout): path for path in waiting
        }
        failed = []
        for number, run in enumerate(as_completed(runs), 1):
            place = f"[{number}/{len(runs)}] {runs[run].name}"
            if run.exception():
                print(f"{place}: FAILED", flush=True)
                failed.append(runs[run].name)
                continue
            notebook, seconds = run.result()
            bundle = CacheBundleIn(
                notebook, str(runs[run]), data={"execution_seconds": seconds}
            )
            cache.cache_notebook_bundle(
                bundle, check_validity=False, overwrite=True
            )
            print(f"{place}: {seconds:.0f} s", flush=True)
    return failed


def ship_records() -> None:
    """Copy the records beside the pages, which link to them."""
    for path in (ROOT / "book" / "results").rglob("*.json"):
        copy = BUILD / "html" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def ship_encoders() -> list[str]:
    """Copy the encoders of widgets beside the pages, which load them, and
    return those that a page asks for and that are not there."""
    pages = BUILD / "html" / "book"
    for folder in (ENCODERS, TRAINED):
        if folder.is_dir():
            shutil.copytree(
                folder,
                pages / folder.name,
                ignore=lambda _, names: [x for x in names if x[-3:] != ".js"],
                dirs_exist_ok=True,
            )
    asked = {
        name
        for page in pages.glob("*.html")
        for name in re.findall(
            rf"(?:{ENCODERS.name}|{TRAINED.name})/\w+\.js",
            page.read_text(encoding="utf-8"),
        )
    }
    return sorted(name for name in asked if not (pages / name).is_file())


def link_records(page: str) -> str:
    """The HTML of a page in which recorded numbers lead to the page of all
    records, and no longer to its notebook, as they do in JupyterLab."""
    return page.replace(
        'href="records.ipynb#record-', 'href="records.html#record-'
    )


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
        shutil.rmtree(ENCODERS, ignore_errors=True)
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
    failed = run_chapters()
    if subprocess.run(command, cwd=ROOT, env=os.environ | QUIET).returncode:
        print(
            "The book was NOT built: see the warnings and tracebacks above.",
            file=sys.stderr,
        )
        return 1
    if failed:  # and not the second time
        print(
            f"The book was NOT built: {', '.join(failed)} failed at first.",
            file=sys.stderr,
        )
        return 1
    ship_records()
    if absent := ship_encoders():
        print(
            f"The book was NOT built: no {', '.join(absent)}. Remove _build,"
            " so that the chapters write them.",
            file=sys.stderr,
        )
        return 1
    for path in (BUILD / "html" / "book").glob("*.html"):
        page = path.read_text(encoding="utf-8")
        path.write_text(link_records(page), encoding="utf-8")
    BUILT_FROM.write_text(everything)
    print(f"The book is ready. Open {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
