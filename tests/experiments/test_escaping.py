"""What users write is text on every page: in a browser, nothing of it runs, and all of it is shown."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from browser import Browser
from experiments import tables, widgets

from sentlab.encoder import Encoder

# each does harm where a page takes it for markup or for a script: it would set `ran`
RUN = "globalThis.ran=1"
HOSTILE = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<!--<script>{RUN}//-->",
    f"<img src=x onerror={RUN}>",
    f'"><svg onload={RUN}>',
    f"' onmouseover='{RUN}' autofocus onfocus='{RUN}",
    f"</textarea></title></style></option></select><img src=x onerror={RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href='javascript:{RUN}'>click</a>",
    f"[click](javascript:{RUN}) ![x](x) **bold** _low_ ~~gone~~ `code` | cell \\",
    "<style>body{display:none}</style>",
    f"&lt;img src=x onerror={RUN}&gt; &amp;amp; &#60;b&#62; &nbsp &copy",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"`${{{RUN}}}` ${{{RUN}}} {{{{{RUN}}}}}",
    f"'; {RUN}; // \"; {RUN}; //",
    f"a\u2028{RUN}\u2029b\u0085c",
    "\u202egnirts eht sehsinif \u2066this\u2069 \u200fmark\u202c end",
    "]]> <![CDATA[ <?php ?> <!DOCTYPE x>",
    "𝔘𝔫𝔦 é ＜script＞ \ufeff\u200b \ud7ff",
]


def fuzzed(count: int, seed: int = 0) -> list[str]:
    """Texts of pieces of all these, and of characters that end a string, an attribute or an element."""
    rng = random.Random(seed)
    pieces = [*"<>&\"'`/=!-;#\\ \u2028\u202e", "</", "-->", "script", "&#x3c;", "<b", "</b>", "onerror=", RUN, *HOSTILE]
    return ["".join(rng.choice(pieces) for _ in range(rng.randint(1, 9))) for _ in range(count)]


TEXTS = list(dict.fromkeys([*HOSTILE, *fuzzed(60)]))
STRANGE = """
    [...document.querySelectorAll("*")].flatMap(node => [...node.attributes].map(own => [node.tagName, own]))
    .filter(([tag, own]) => own.name.startsWith("on") && node_is_not_ours(own) || /^javascript:/i.test(own.value))
    .map(([tag, own]) => `${tag} ${own.name}=${own.value}`)
    .concat([...document.querySelectorAll("img, iframe, object, embed, base, link")].map(x => x.outerHTML))
""".replace("node_is_not_ours(own)", "own.ownerElement.id !== 'find'")


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Callable[..., list[str]]:
    """Show HTML, check that nothing of it ran, and return the texts of what a selector finds."""

    def show(content: str, selector: str, until: str = "true") -> list[str]:
        browser.problems.clear()
        page = tmp_path / "page.html"
        page.write_bytes(f'<!doctype html><meta charset="utf-8"><body><h1>x</h1>{content}<i></i>'.encode())
        browser.open(page, until=until)
        assert browser.get("globalThis.ran") is None
        assert browser.get(STRANGE) == []
        assert browser.problems == []
        assert browser.get("getComputedStyle(document.body).display") == "block"
        assert browser.get("document.querySelectorAll('body > i').length") == 1  # nothing swallowed what follows
        return browser.texts(selector)

    return show


def test_the_fuzz_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    for i, text in enumerate((HOSTILE[0], HOSTILE[3], HOSTILE[4])):
        page = tmp_path / f"{i}.html"
        page.write_text(f"<body><p title='{text}'>{text}</p>", encoding="utf-8")
        browser.open(page, until="globalThis.ran === 1")


def test_tables_show_foreign_tags_as_text(shown: Callable[..., list[str]]) -> None:
    known = re.compile(r"</?(b|br|code|em|mark)>")
    texts = [text for text in TEXTS if not known.search(text)]
    numbers = pd.DataFrame({texts[2]: dict.fromkeys(texts, 1.0)})
    cells = shown(tables.left(pd.DataFrame({"text": texts}, index=texts), texts[0]).to_html(), "td, tbody th, caption")
    assert cells == [unescape(text) for text in [texts[0], *(same for text in texts for same in (text, text))]]
    heads = shown(tables.side_by_side(dict.fromkeys(texts[:9], numbers), texts[1]).to_html(), "th.col_heading")
    assert heads == [unescape(text) for text in [*texts[:9], *[texts[2]] * 9]]
    links = shown("".join(tables.linked(text, text) for text in TEXTS), "a")
    assert links == TEXTS
    table = pd.DataFrame({"a": [tables.linked("12", "x/y"), "<b>1</b>"]})
    assert shown(tables.left(table).to_html(), "td a, td b") == ["12", "1"]


def test_widgets_show_labels_and_texts_as_they_are(shown: Callable[..., list[str]]) -> None:
    tiny = Encoder.from_pretrained("tiny")
    parts = [
        widgets.compare(dict.fromkeys(HOSTILE[:4], (tiny, "mean")), [(text, text, text) for text in TEXTS]),
        widgets.spans(dict.fromkeys(HOSTILE[:3], tiny), HOSTILE[6], HOSTILE[4], weights=False),
        widgets.bootstrap([1.0, 2.0, 3.0], {text: [0.1, 0.2, 0.3] for text in HOSTILE[:5]}),
        widgets.dropout(tiny, HOSTILE[5], HOSTILE[:3]),
    ]
    done = "[...document.querySelectorAll('.sentlab-widget')].every(one => one.dataset.done)"
    found = shown("".join(parts), "option, text, td, th, label, svg ~ *, .sentlab-widget *", done)
    assert {*TEXTS} <= {*found}
    told = "\n".join(found)
    assert all(text in told for text in HOSTILE)
