"""Summaries of search results, also where the book is opened as files.

Sphinx fetches a page to show the words around a hit. Browsers refuse that for
`file:` addresses. So this writes the text of all pages into one script, which
the search page alone loads and which answers those fetches.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

NAME = "search-texts.js"
UNREAD = (nodes.raw, nodes.comment, nodes.image, nodes.target)
ANSWER = """// Written by book/_ext/search_texts.py.
const texts = %s;
window.fetch = (address) => {
  const page = new URL(address, document.baseURI).pathname;
  const isIt = (name) => page.endsWith(`/${name}.html`);
  const text = texts[Object.keys(texts).find(isIt)];
  return Promise.resolve(new Response(text ?? ""));
};
"""


def text_of(node: nodes.Node) -> str:
    """Return what a page says as HTML, with its sections and nothing else."""
    if isinstance(node, nodes.Text):
        return escape(node.astext())
    output = node.get("nb_element") == "cell_code_output"
    if output or isinstance(node, UNREAD):
        return ""
    apart = "" if isinstance(node, nodes.TextElement) else "\n"
    text = apart.join(text_of(child) for child in node.children)
    if isinstance(node, nodes.section):
        return f'<section id="{node["ids"][0]}">{text}</section>'
    if isinstance(node, nodes.definition_list_item) and node[0]["ids"]:
        return f'<div id="{node[0]["ids"][0]}">{text}</div>'
    return text


def keep(app: Sphinx, page: str, _: str, __: Any, tree: Any) -> None:
    """Keep the text of a page, and let the search page load all of them."""
    if page == "search":
        app.add_js_file(NAME)
    elif tree is not None:
        app.search_texts[page] = f'<div role="main">{text_of(tree)}</div>'


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the texts beside the other scripts."""
    if not error and app.builder.format == "html":
        script = Path(app.outdir, "_static", NAME)
        texts = json.dumps(app.search_texts)
        script.write_text(ANSWER % texts, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.search_texts = {}  # all pages are written by one process
    app.connect("html-page-context", keep)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
