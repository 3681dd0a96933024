"""How the built pages look: nothing cut, text that can be read in both themes, on paper and in search results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser import Browser

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"

# What is wider than its place, of what is in sight. A table in a fold may scroll, and one in a frame of its own.
CUT = """[...document.querySelectorAll(SELECTOR)]
    .filter(node => node.getClientRects().length && !node.closest("details, [style*=overflow]"))
    .filter(node => node.scrollWidth > node.clientWidth + 1
        || node.offsetWidth > node.closest(".output, .pst-scrollable-table-container, article").clientWidth + 1)
    .map(node => (node.caption ?? node).textContent.trim().slice(0, 60))"""

# Text whose contrast with what is behind it is below 4.5. `opacity` counts, pictures do not.
PALE = """(() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const parts = colour => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
        return [red, green, blue, alpha / 255];
    };
    const over = (top, ground) => [0, 1, 2].map(i => top[i] * top[3] + ground[i] * (1 - top[3]));
    const light = colour => {
        const linear = colour.map(part => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const above = node => node ? [...above(node.parentElement), node] : [];
    const pale = new Set();
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const node = texts.currentNode.parentElement;
        const style = getComputedStyle(node);
        const unseen = !node.getClientRects().length || style.visibility === "hidden" || node.offsetWidth < 3;
        if (!texts.currentNode.data.trim() || unseen || node.closest("svg, canvas, script, style")) continue;
        const line = above(node).map(each => getComputedStyle(each));
        const ground = line.reduce((below, each) => over(parts(each.backgroundColor), below), [255, 255, 255]);
        const opacity = line.reduce((product, each) => product * each.opacity, 1);
        const [red, green, blue, alpha] = parts(style.color);
        const both = [light(over([red, green, blue, alpha * opacity], ground)), light(ground)].sort((a, b) => b - a);
        const contrast = (both[0] + 0.05) / (both[1] + 0.05);
        if (contrast < 4.5) pale.add(`${style.color} on ${ground.map(Math.round)}: ${contrast.toFixed(1)}`);
    }
    return [...pale];
})()"""


@pytest.fixture(scope="module")
def chapters() -> list[Path]:
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built: run `make book`")
    return sorted((HTML / "book").glob("*.html"))


def cut(browser: Browser, selector: str) -> list[str]:
    return browser.get(CUT.replace("SELECTOR", f"'{selector}'"))


def test_no_code_is_cut_and_no_table_in_sight_on_a_laptop(chapters: list[Path], browser: Browser) -> None:
    found = {}
    for page in chapters:
        browser.open(page, width=1280, height=900)
        found[page.name] = cut(browser, ".bd-article pre, .bd-article table")
        browser.open(page, width=390, height=900)
        found[f"{page.name}, phone"] = cut(browser, ".bd-article pre")
    assert {name: places for name, places in found.items() if places} == {}


def test_text_can_be_read_in_both_themes(chapters: list[Path], browser: Browser) -> None:
    found = {}
    for page in chapters:
        browser.open(page, width=1280, height=900)
        for theme in ("light", "dark"):
            browser.get(f"document.documentElement.dataset.theme = '{theme}'")
            browser.get("document.getAnimations().forEach(each => each.finish())")
            found[f"{page.name}, {theme}"] = browser.get(PALE)
    assert {name: pale for name, pale in found.items() if pale} == {}


def test_a_dark_page_prints_as_a_light_one_with_folded_tables_open(chapters: list[Path], browser: Browser) -> None:
    browser.open(HTML / "book" / "scorecard.html")
    state = """[document.documentElement.dataset.theme,
        document.querySelectorAll('details.below-input:not([open])').length]"""
    browser.get("document.documentElement.dataset.theme = 'dark'")
    theme, folded = browser.get(state)
    assert (theme, folded > 2) == ("dark", True)
    browser.get("dispatchEvent(new Event('beforeprint'))")
    assert browser.get(state) == ["light", 0]
    browser.get("dispatchEvent(new Event('afterprint'))")
    assert browser.get(state) == [theme, folded]


def test_search_results_have_summaries_in_files_too(chapters: list[Path], browser: Browser) -> None:
    browser.problems.clear()
    hits = "[...document.querySelectorAll('ul.search li')]"
    listed = "document.querySelector('.search-summary')?.innerText.startsWith('Search finished')"  # one hit at a time
    address = f"{HTML.as_uri()}/search.html?q=momentum"
    browser.open(address, until=f"{listed} && {hits}.every(hit => hit.children[1])", width=390, height=900)
    summaries = browser.get(f"{hits}.map(hit => hit.children[1].textContent)")
    assert len(summaries) > 2
    assert any("momentum" in summary.lower() for summary in summaries)
    assert browser.get("document.scrollingElement.scrollWidth") <= 390
    assert browser.problems == []


def test_the_first_page_compares_two_sentences_under_six_encoders(chapters: list[Path], browser: Browser) -> None:
    browser.problems.clear()
    page = HTML / "book" / "index.html"
    assert page.stat().st_size < 2.9e6
    browser.open(page, until="document.querySelector('.sentlab-widget').dataset.done")
    labels = browser.texts(".sw-bars > span:nth-child(3n + 1)")
    assert labels == ["raw [CLS]", "raw mean", "SimCSE", "MoCo", "PaSeR", "Universal"]
    assert all(0.5 < float(text) <= 1 for text in browser.texts(".sw-bars .sw-number"))  # of two paraphrases
    browser.click(*browser.centre("input[aria-label='first sentence']"))
    browser.wait("![...document.querySelectorAll('.sw-bars .sw-number')].some(node => node.textContent === '–')")
    assert len(set(browser.texts(".sw-bars .sw-number"))) > 2
    browser.get("document.querySelector('input[aria-label=\"second sentence\"]').select()")
    browser.write("The bank raised its interest rates.")
    before = ",".join(browser.texts(".sw-bars .sw-number"))
    shown = "[...document.querySelectorAll('.sw-bars .sw-number')].map(node => node.textContent).join()"
    browser.wait(f"{shown} !== {before!r}")
    assert browser.problems == []


# what JupyterLab shows of a chapter's text
EXTENSION = ROOT / "book/_lab/labextensions/sentlab-myst/static/remoteEntry.js"
GLUED = [(62.5, ".0f"), (63.5, ".0f"), (11.45, ".1f"), (-0.04, ".2f"), (16053, ","), (0.5, "+.1f"), ("a 'b'", "")]
APP = """
const outputs = VALUES.map(([name, text]) => ({metadata: {scrapbook: {name}},
  data: {"application/papermill.record/text/plain": [text]}}));
const source = SOURCE, node = document.querySelector("div"), ran = {model: {type: "code", sharedModel: {}, outputs: {
  toJSON: () => outputs}}};
const cells = [{node, model: {type: "markdown", sharedModel: {source}}}];
const app = {shell: {widgets: () => [{content: {widgets: cells}}]},
  serviceManager: {contents: {get: async () => ({content: BIBLIOGRAPHY})}}};
_JUPYTERLAB["sentlab-myst"].get().then(module => module().default.activate(app)).then(() => { window.ready = true; });
"""


def test_numbers_and_citations_read_in_jupyterlab_as_in_the_book(browser: Browser, tmp_path: Path) -> None:
    keys = [f"n{i}" + (f":{form}" if form else "") for i, (_, form) in enumerate(GLUED)]
    fill = {
        "VALUES": [(f"n{i}", repr(value)) for i, (value, _) in enumerate(GLUED)],
        "SOURCE": " ".join(f"{{glue:text}}`{key}`" for key in keys),
        "BIBLIOGRAPHY": (ROOT / "book/references.bib").read_text(encoding="utf-8"),
    }
    app = APP
    for name, value in fill.items():
        app = app.replace(name, json.dumps(value))
    shown = "".join(f"<span>{key}</span>" for key in [*keys, "other"])
    cited = "<span title='Citation Not Found'>wu2022paser</span>"
    scripts = f"<script>{EXTENSION.read_text(encoding='utf-8')}</script><script>{app}</script>"
    page = tmp_path / "page.html"
    page.write_text(f"<meta charset=utf-8><div>{shown}</div>{cited}{scripts}", encoding="utf-8")
    browser.open(page, until="window.ready")
    read = "[...document.querySelectorAll('span')].map(node => node.dataset.shown ?? null)"
    assert browser.get(read)[: len(keys) + 1] == ["…"] * len(keys) + [None]  # before its cell has run
    browser.get("cells.push(ran) && document.body.append(document.createElement('p'))")
    browser.wait("document.querySelector('span').dataset.shown != '…'")
    assert browser.get(read) == [*(format(value, form) for value, form in GLUED), None, "Wu and Zhao (2022)"]
