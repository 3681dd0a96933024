"""The book's sources, and, where `make book` has run, its pages."""

from __future__ import annotations

import importlib
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urldefrag, urlsplit

import nbformat
import pytest
import yaml
from browser import Browser

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
HTML = ROOT / "_build" / "html"
CONTENTS = BOOK / "00-contents.ipynb"  # of JupyterLab

CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
ENTRY = re.compile(r"^@\w+\{\s*([^,\s]+)\s*,(.*?)^\}", re.MULTILINE | re.DOTALL)


def toc_entries() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *(page["file"] for chapter in chapters for page in (chapter, *chapter.get("sections", ())))]


def chapter_paths() -> list[Path]:
    return sorted({*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")} - {CONTENTS})


def test_notebooks_are_valid_and_hold_no_outputs() -> None:
    for path in BOOK.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert not any(cell.outputs or cell.execution_count is not None for cell in code), path.name
        hidden = [cell.metadata for cell in code if "hide-input" in cell.metadata.get("tags", [])]
        assert all(each.get("jupyter", {}).get("source_hidden") for each in hidden), path.name  # in JupyterLab, too


def test_chapters_are_those_of_both_contents() -> None:
    entries = toc_entries()
    assert sorted(entries) == sorted(f"book/{path.stem}" for path in chapter_paths())
    (cell,) = nbformat.read(CONTENTS, as_version=nbformat.NO_CONVERT).cells
    # JupyterLab cannot show pages out of docstrings and out of the bibliography
    listed = [name for name in entries if not re.match(r"book/(index$|api|references$)", name)]
    links = re.findall(r"^- \d+ · \[[^]]+\]\(([^)]+)\)$", cell.source, re.M)
    assert [f"book/{Path(link).stem}" for link in links] == listed


def test_references_exist_and_are_complete() -> None:
    entries = ENTRY.findall((BOOK / "references.bib").read_text(encoding="utf-8"))
    keys = [key for key, _ in entries]
    assert len(keys) == len(set(keys))
    for key, body in entries:
        assert all(re.search(rf"^\s*{field}\s*=", body, re.M) for field in ("title", "author", "year")), key
    for path in chapter_paths():
        cited = ",".join(CITED.findall(path.read_text(encoding="utf-8")))
        assert {key.strip() for key in cited.split(",")} <= {*keys, ""}, path.name


class Page(HTMLParser):
    """Of one page: its ids, its links, what it loads from the network, and its images without useful text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.mute: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        have = {name: value or "" for name, value in attrs}
        target = have.get("href") or have.get("src") or ""
        self.ids |= {have[name] for name in ("id", "name") if name in have}
        if tag in ("a", "img", "script", "link", "iframe") and target:
            self.links.append(target)
        if tag in ("script", "link", "img", "iframe") and re.match(r"(?:https?:)?//", target):
            self.loaded.append(target)
        # myst-nb names an output image after its file, which tells a listener nothing
        if tag == "img" and ("alt" not in have or re.search(r"_images/|\.(?:png|svg|jpe?g)$", have["alt"])):
            self.mute.append(target)


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built: run `make book`")
    return {
        path: Page(path.read_text(encoding="utf-8")) for path in HTML.rglob("*.html") if "_static" not in path.parts
    }


def test_pages_load_nothing_from_the_network_and_describe_their_images(pages: dict[Path, Page]) -> None:
    assert [f"{path.name}: {place}" for path, page in pages.items() for place in (*page.loaded, *page.mute)] == []


def test_figures_are_numbered_from_one_on_every_page(pages: dict[Path, Page]) -> None:
    counts = {}
    for path in pages:
        numbers = re.findall(r"caption-number\">Fig\. (\d+)", path.read_text(encoding="utf-8"))
        assert numbers == [str(1 + i) for i in range(len(numbers))], path.name
        counts[path.stem] = len(numbers)
    assert counts["scorecard"] > 3


def test_pages_lead_nowhere_dead(pages: dict[Path, Page]) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            if not target.exists() or (anchor and known and unquote(anchor) not in known.ids):
                dead.append(f"{path.name}: {link}")
    assert dead == []


def test_pages_show_without_errors_in_the_width_there_is(pages: dict[Path, Page], browser: Browser) -> None:
    broken = "[...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
    problems = []
    for path in sorted(pages):
        for width in (1280, 390) if path.parent.name == "book" else ():
            browser.problems.clear()
            browser.open(path, width=width, height=900)
            problems += [f"{path.name}: {problem}" for problem in browser.problems + browser.get(broken)]
            if (wide := browser.get("document.documentElement.scrollWidth")) > width:
                problems.append(f"{path.name}: {wide} pixels wide on a screen of {width}")
    assert problems == []


@pytest.fixture(scope="module")
def build() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BOOK)
        return importlib.import_module("build")


def test_what_runs_is_kept_and_what_fails_is_left_to_jupyter_book(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BOOK)  # for the processes, too
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "BUILD", tmp_path / "_build")
    (tmp_path / "book").mkdir()
    (tmp_path / "_config.yml").write_text("execute: {timeout: 60}")
    for name, code in {"good": "import os; print(os.environ['TQDM_DISABLE'])", "bad": "1 / 0"}.items():
        cells = [nbformat.v4.new_code_cell(code)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / f"book/{name}.ipynb")
    assert build.run_chapters() == ["bad.ipynb"]
    cache = build.get_cache(str(tmp_path / "_build" / ".jupyter_cache"))
    (record,) = cache.list_cache_records()
    assert cache.get_cache_bundle(record.pk).nb.cells[0].outputs[0]["text"] == "1\n"
    (tmp_path / "book/bad.ipynb").unlink()
    assert build.run_chapters() == []  # nothing waits
