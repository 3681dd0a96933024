"""What JupyterLab shows of a chapter's text, by the extension in `book/_lab`."""

from __future__ import annotations

import json
from pathlib import Path

from browser import Browser

BOOK = Path(__file__).resolve().parents[2] / "book"
EXTENSION = BOOK / "_lab/labextensions/sentlab-myst/static/remoteEntry.js"
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
        "BIBLIOGRAPHY": (BOOK / "references.bib").read_text(encoding="utf-8"),
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
