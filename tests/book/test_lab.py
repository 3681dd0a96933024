"""Chapters outside the built book: in JupyterLab as `make lab` opens it, and alone, as on Colab or Kaggle."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from browser import Browser

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"


def lab_options() -> list[str]:
    """What `make lab` gives to JupyterLab."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    return re.search(r"^lab:.*\n.*-m jupyterlab (.*)$", recipe, re.M)[1].split()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of JupyterLab on a copy of the chapters, without settings of the user."""
    pytest.importorskip("jupyterlab")
    shutil.copytree(BOOK, tmp_path / "book", ignore=shutil.ignore_patterns("results", "trained", "encoders"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token="]
    places = {f"JUPYTER{name}_DIR": str(tmp_path / "own") for name in ("_CONFIG", "LAB_SETTINGS", "LAB_WORKSPACES")}
    with (tmp_path / "log.txt").open("w") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *quiet, *lab_options()],
            cwd=tmp_path / "book",
            env=os.environ | places,
            stdout=log,
            stderr=log,
        )
    try:
        end = time.monotonic() + 60
        while "is running at" not in (tmp_path / "log.txt").read_text(encoding="utf-8"):
            assert time.monotonic() < end, (tmp_path / "log.txt").read_text(encoding="utf-8")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/lab"
    finally:
        running.kill()  # it would wait for its kernels, which end when it has
        running.wait(30)


@pytest.mark.slow
def test_jupyterlab_opens_the_contents_and_shows_citations(lab: str, browser: Browser) -> None:
    browser.problems.clear()
    browser.open(f"{lab}/tree/{lab_options()[-1]}", width=1400)
    links = "[...document.querySelectorAll('.jp-Notebook a')].filter(link => link.pathname.endsWith('.ipynb'))"
    browser.wait(f"{links}.length > 15")
    browser.get(f"{links}.find(link => link.pathname.endsWith('/paser.ipynb')).click()")
    browser.wait("document.querySelector('[data-cited]')")
    assert "Wu and Zhao, 2022" in browser.get(
        "[...document.querySelectorAll('[data-cited]')].map(e => e.dataset.cited)"
    )
    assert browser.get("document.querySelectorAll('[title=\"Citation Not Found\"]').length") == 0
    assert browser.get("document.querySelectorAll('.Toastify__toast').length") == 0  # no news
    assert browser.problems == []


def first_cell() -> str:
    """What README says to run first on Colab or Kaggle."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(r"```\n(!git clone.*?)```", readme, re.S)[1]


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no repository to clone")
def test_a_chapter_runs_alone_after_the_first_cell(tmp_path: Path) -> None:
    """In an empty folder and an environment that has all but sentlab. It is the last commit that is cloned."""
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    own = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")})
    Path(own, "here.pth").write_text(sysconfig.get_path("purelib"))  # the packages, without editable installations
    notebook = nbformat.read(BOOK / "which.ipynb", as_version=4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    cells = [first_cell().replace("ADDRESS", ROOT.as_uri()), *code, "print(sentlab.__file__)"]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "chapter.ipy").write_text("\n".join(cells))
    # without a network: pip takes only what is there
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | offline
    run = subprocess.run(
        [python, "-m", "IPython", "--colors=NoColor", "chapter.ipy"],
        cwd=tmp_path / "work",
        env=env,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip().endswith(str(Path(own, "sentlab", "__init__.py"))), run.stdout + run.stderr
