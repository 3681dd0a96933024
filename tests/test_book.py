"""The book's sources, and, where `make book` has run, its pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
HTML = ROOT / "_build" / "html"

CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
ENTRY = re.compile(r"^@\w+\{\s*([^,\s]+)\s*,(.*?)^\}", re.MULTILINE | re.DOTALL)
NO_ALT = re.compile(r"!\[\s*\]\(|<img(?![^>]*\balt=\"[^\"]+\")[^>]*>")
FIGURE = re.compile(r"^([`:]{3,})\{(?:figure|image)\}.*?^\1", re.MULTILINE | re.DOTALL)
LOCAL_PATH = re.compile(r"""file://|["'](?:/|~/|[A-Za-z]:\\)\w|\]\(/|\b[A-Z]:\\""")


def toc_entries() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]


def chapter_paths() -> list[Path]:
    return sorted([*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")])


def text_problems(text: str) -> list[str]:
    """What is wrong with a piece of Markdown."""
    problems = [f"image without alternative text: {found.group()[:60]}" for found in NO_ALT.finditer(text)]
    problems += [f"figure without :alt: {f.group()[:60]!r}" for f in FIGURE.finditer(text) if ":alt:" not in f.group()]
    return problems + [f"local path: {found.group()}" for found in LOCAL_PATH.finditer(text)]


def notebook_problems(text: str, says_preset: bool = True) -> list[str]:
    """What is wrong with a notebook, given as the file's text; `says_preset`: its first code cell names the preset."""
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
    if says_preset and code and "preset" not in code[0].source.lower():
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


def test_references_exist_and_are_complete() -> None:
    entries = ENTRY.findall((BOOK / "references.bib").read_text(encoding="utf-8"))
    keys = [key for key, _ in entries]
    assert len(keys) == len(set(keys))
    needed = ("title", "author", "year")
    assert [key for key, body in entries if not all(re.search(rf"^\s*{f}\s*=", body, re.M) for f in needed)] == []
    texts = {path.name: path.read_text(encoding="utf-8") for path in chapter_paths()}
    cited = {(n, key.strip()) for n, text in texts.items() for keys in CITED.findall(text) for key in keys.split(",")}
    assert {(name, key) for name, key in cited if key not in keys} == set()


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
        (1, {"source": "print('hello')"}, "does not print the preset"),
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


def test_pages_describe_their_images(pages: dict[Path, Page]) -> None:
    assert [f"{path.name}: {image}" for path, page in pages.items() for image in page.mute] == []


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
