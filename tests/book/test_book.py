"""The book's sources, and, where `make book` has run, its pages."""

from __future__ import annotations

import ast
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
from experiments import tables

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
HTML = ROOT / "_build" / "html"

CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
ENTRY = re.compile(r"^@\w+\{\s*([^,\s]+)\s*,(.*?)^\}", re.MULTILINE | re.DOTALL)
NO_ALT = re.compile(r"!\[\s*\]\(|<img(?![^>]*\balt=\"[^\"]+\")[^>]*>")
FIGURE = re.compile(r"^([`:]{3,})\{(?:figure|image)\}.*?^\1", re.MULTILINE | re.DOTALL)
LOCAL_PATH = re.compile(r"""file://|["'](?:/|~/|[A-Za-z]:\\)\w|\]\(/|\b[A-Z]:\\""")


def toc_entries() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *(page["file"] for chapter in chapters for page in (chapter, *chapter.get("sections", ())))]


CONTENTS = BOOK / "00-contents.ipynb"  # of JupyterLab


def chapter_paths() -> list[Path]:
    return sorted({*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")} - {CONTENTS})


def code_of(path: Path) -> str:
    """The code of a notebook, all cells one behind the other."""
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


def text_problems(text: str) -> list[str]:
    """What is wrong with a piece of Markdown."""
    problems = [f"image without alternative text: {found.group()[:60]}" for found in NO_ALT.finditer(text)]
    problems += [f"figure without :alt: {f.group()[:60]!r}" for f in FIGURE.finditer(text) if ":alt:" not in f.group()]
    return problems + [f"local path: {found.group()}" for found in LOCAL_PATH.finditer(text)]


def notebook_problems(text: str, says_preset: bool = True) -> list[str]:
    """What is wrong with a notebook, given as the file's text.

    Args:
        says_preset: the first code cell has to name the preset, if the notebook computes more than pictures of records.
    """
    try:
        notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
    except Exception as error:
        return [f"not a valid notebook: {error}"]
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        return ["has no cell ids: save it as nbformat 4.5 or later"]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    problems = []
    if any(cell.outputs or cell.execution_count is not None for cell in code):
        problems.append("holds stored outputs: run .venv/bin/jupyter nbconvert --clear-output --inplace book/*.ipynb")
    computes = any(re.search(r"\b(preset|Encoder|encode|fit|live)\b", cell.source) for cell in code)
    if says_preset and computes and "preset" not in code[0].source.lower():
        problems.append("the first code cell does not print the preset")
    for cell in notebook.cells:
        found = text_problems(cell.source)
        problems += found if cell.cell_type == "markdown" else [p for p in found if p.startswith("local path")]
    return problems


def test_chapters_are_clean() -> None:
    found = {}
    for path in chapter_paths():
        text = path.read_text(encoding="utf-8")
        found[path.name] = (
            text_problems(text) if path.suffix == ".md" else notebook_problems(text, path.stem != "index")
        )
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_chapters_are_the_contents() -> None:
    entries = toc_entries()
    missing = [e for e in entries if not any((ROOT / f"{e}{suffix}").is_file() for suffix in ("", ".ipynb", ".md"))]
    unlisted = [p.name for p in chapter_paths() if f"book/{p.stem}" not in entries]
    assert (missing, unlisted) == ([], [])
    assert len(entries) == len(set(entries))


def test_jupyterlab_has_the_chapters_in_reading_order() -> None:
    notebook = nbformat.read(CONTENTS, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert [cell.cell_type for cell in notebook.cells] == ["markdown"]
    links = re.findall(r"^- (\d+) · \[[^]]+\]\(([^)]+)\)$", notebook.cells[0].source, re.M)
    # not what only the built book shows: pages out of docstrings and out of the bibliography
    chapters = [name for name in toc_entries() if not re.match(r"book/(index$|api|references$)", name)]
    files = [next(path.name for s in (".ipynb", ".md") if (path := ROOT / f"{e}{s}").is_file()) for e in chapters]
    assert [link for _, link in links] == files
    assert [int(number) for number, _ in links] == list(range(1, len(files) + 1))


METHODS = ("paser", "universal", "moco", "pseudo-tokens", "slice")
EXPERIMENTS = ("paser-experiments", "universal-experiments", "ptbert-experiments", "slice-experiments")


@pytest.mark.parametrize(
    ("name", "words", "cells"), [*((name, 1400, 15) for name in METHODS), *((name, 1200, 20) for name in EXPERIMENTS)]
)
def test_chapters_are_short_and_end_with_five_lines(name: str, words: int, cells: int) -> None:
    chapter = nbformat.read(BOOK / f"{name}.ipynb", as_version=4).cells
    text = "\n".join(cell.source for cell in chapter if cell.cell_type == "markdown")
    prose = re.sub(r"```(python|bash).*?```", "", text, flags=re.S)
    assert len(re.findall(r"[^\W\d_][\w'’-]*", prose)) <= words
    assert len(chapter) <= cells
    assert "**What you will learn**" in text
    assert re.search(r"Reading takes \w+ minutes, and running", text)
    (learned,) = re.findall(r"What you have learned(?:\*\*)?\n\n(.*?)(?:\n\n|\Z)", text, re.S)
    assert len(re.findall(r"^(?:- |\d\. )", learned, re.M)) == 5


def test_references_exist_and_are_complete() -> None:
    entries = ENTRY.findall((BOOK / "references.bib").read_text(encoding="utf-8"))
    keys = [key for key, _ in entries]
    assert len(keys) == len(set(keys))
    needed = ("title", "author", "year")
    assert [key for key, body in entries if not all(re.search(rf"^\s*{f}\s*=", body, re.M) for f in needed)] == []
    texts = {path.name: path.read_text(encoding="utf-8") for path in chapter_paths()}
    cited = {(n, key.strip()) for n, text in texts.items() for keys in CITED.findall(text) for key in keys.split(",")}
    assert {(name, key) for name, key in cited if key not in keys} == set()


READERS = {"linked": 1, "runs": 0, "best_on_dev": 0, "values": 0, "get": 0}  # the place of a record's name


def records_named(code: str) -> set[str]:
    """Names of records that a chapter types to read or to link to them."""
    named: list[ast.expr] = []
    for node in ast.walk(ast.parse(code)):
        reader = ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and reader in READERS:
            named += node.args[READERS[reader] :][:1]
    found = {node.value for node in named if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {name for name in found if "/" in name}


def test_records_that_chapters_link_to_are_files() -> None:
    named = {(path.name, name) for path in BOOK.glob("*.ipynb") for name in records_named(code_of(path))}
    assert ("paser-experiments.ipynb", "tiny-paser/depth") in named
    assert {pair for pair in named if not (BOOK / "results" / f"{pair[1]}.json").is_file()} == set()


CLEAN = nbformat.v4.new_notebook(
    cells=[
        nbformat.v4.new_markdown_cell(
            "# One\n![a plot](x.png) and a ratio 1 / 2\n```{figure} x.png\n:alt: a plot\n```"
        ),
        nbformat.v4.new_code_cell("print(f'preset: {preset}', '/'.join(parts))"),
    ]
)


@pytest.mark.parametrize(
    ("cell", "changes", "problem"),
    [
        (1, {"execution_count": 3}, "holds stored outputs"),
        (1, {"outputs": [nbformat.v4.new_output("stream", text="hello")]}, "holds stored outputs"),
        (1, {"source": "encoder.encode(['hello'])"}, "does not print the preset"),
        (1, {"source": "preset = open('/home/me/data.txt')"}, "local path"),
        (0, {"source": "![](x.png)"}, "without alternative text"),
        (0, {"source": '<img src="x.png">'}, "without alternative text"),
        (0, {"source": "```{figure} x.png\nA caption\n```"}, "without :alt:"),
        (0, {"cell_type": "cod"}, "not a valid notebook"),
    ],
)
def test_problems_of_chapters_are_seen(cell: int, changes: dict, problem: str) -> None:
    assert notebook_problems(nbformat.writes(CLEAN)) == []
    notebook = nbformat.from_dict(CLEAN.copy())
    notebook.cells = [nbformat.from_dict(c | (changes if i == cell else {})) for i, c in enumerate(CLEAN.cells)]
    problems = notebook_problems(nbformat.v4.writes_json(notebook))
    assert len(problems) == 1
    assert problem in problems[0]


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


def dead_links(pages: dict[Path, Page]) -> list[str]:
    """Links between the pages, or to files beside them, that lead nowhere."""
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
    return dead


def test_pages_load_nothing_from_the_network(pages: dict[Path, Page]) -> None:
    assert [f"{path.name}: {address}" for path, page in pages.items() for address in page.loaded] == []


def test_pages_lead_nowhere_dead(pages: dict[Path, Page]) -> None:
    assert dead_links(pages) == []


def test_recorded_numbers_lead_to_their_records(pages: dict[Path, Page]) -> None:
    links = {
        path.stem: {link for link in page.links if link.startswith("records.html#record-")}
        for path, page in pages.items()
        # beside them lie pages of source, some under the names of chapters
        if path.parent.name == "book" and path.name != "records.html"
    }
    # that they all have their anchor is part of the test above
    chapters = ("pooling", "data", "library", "paper-and-code")
    chapters += tuple(path.stem for path in BOOK.glob("*-experiments.ipynb"))
    assert [chapter for chapter in chapters if not links[chapter]] == []
    assert min(len(links[chapter]) for chapter in chapters if chapter.endswith("-experiments")) > 2
    unlinked = [path.name for path, page in pages.items() if any("records.ipynb#" in link for link in page.links)]
    assert unlinked == []


def test_pages_show_no_link_as_text(pages: dict[Path, Page]) -> None:
    # of pages of source, such text is code
    shown = [path.name for path in pages if path.parent.name == "book" and "&lt;a class=" in path.read_text("utf-8")]
    assert shown == []


def test_pages_describe_their_images(pages: dict[Path, Page]) -> None:
    assert [f"{path.name}: {image}" for path, page in pages.items() for image in page.mute] == []


def test_pages_show_without_errors_in_the_width_there_is(pages: dict[Path, Page], browser: Browser) -> None:
    broken = "[...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
    found = []
    for path in sorted(pages):
        for width in (1280, 390) if path.parent.name == "book" else ():
            browser.problems.clear()
            browser.open(path, width=width, height=900)
            found += [f"{path.name}: {problem}" for problem in browser.problems + browser.get(broken)]
            if (wide := browser.get("document.documentElement.scrollWidth")) > width:
                found.append(f"{path.name}: {wide} pixels wide on a screen of {width}")
    assert found == []


@pytest.fixture(scope="module")
def build() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BOOK)
        return importlib.import_module("build")


def test_links_to_records_are_made_for_the_pages(build: ModuleType) -> None:
    link = tables.linked("54.3 ± 0.6", "ptbert/moco")
    page = Page(build.link_records(f"<p>records.ipynb#record-ptbert/moco {link}</p>"))
    assert page.links == ["records.html#record-ptbert/moco"]
    assert build.link_records("<p>records.ipynb#record-moco</p>") == "<p>records.ipynb#record-moco</p>"


def test_what_runs_is_kept_and_what_fails_is_left_to_jupyter_book(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(BOOK)  # for the processes, too
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "BUILD", tmp_path / "_build")
    (tmp_path / "book").mkdir()
    (tmp_path / "_config.yml").write_text("execute: {timeout: 60}")
    for name, code in {"good": "import os; print(os.environ['TQDM_DISABLE'])", "bad": "1 / 0"}.items():
        nbformat.write(
            nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), tmp_path / f"book/{name}.ipynb"
        )
    assert build.run_chapters() == ["bad.ipynb"]
    said = capsys.readouterr().out
    assert "bad.ipynb: FAILED" in said
    assert "good.ipynb: " in said
    cache = build.get_cache(str(tmp_path / "_build" / ".jupyter_cache"))
    (record,) = cache.list_cache_records()
    kept = cache.get_cache_bundle(record.pk).nb
    assert kept.cells[0].outputs[0]["text"] == "1\n"
    assert cache.match_cache_notebook(nbformat.read(tmp_path / "book/good.ipynb", as_version=4)).pk == record.pk
    (tmp_path / "book/bad.ipynb").unlink()
    assert build.run_chapters() == []
    assert capsys.readouterr().out == ""  # nothing waits


def test_problems_of_pages_are_seen(tmp_path: Path) -> None:
    (tmp_path / "there.png").touch()
    path = tmp_path / "page.html"
    path.touch()
    page = Page(
        '<script src="https://cdn/x.js"></script><link href="//cdn/y.css"><img src="there.png" alt="../_images/ab.png">'
        '<h2 id="here"></h2><a href="#here"></a><a href="#gone"></a><a href="gone.html"></a><a href="https://ok"></a>'
    )
    assert page.loaded == ["https://cdn/x.js", "//cdn/y.css"]
    assert page.mute == ["there.png"]
    assert dead_links({path: page}) == ["page.html: #gone", "page.html: gone.html"]
