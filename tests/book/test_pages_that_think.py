"""The widgets of the built book, with the encoders that lie beside its pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html" / "book"
MOST = 2.5e6  # bytes that a widget may add to a page before a reader touches it
WITHOUT_WIDGET = 0.4e6  # of a page's own text and pictures


@pytest.fixture
def built(browser: Browser) -> Browser:
    if not PAGES.is_dir():
        pytest.skip("the book is not built: run `make book`")
    browser.problems.clear()
    return browser


def numbers(browser: Browser) -> list[str]:
    return browser.texts(".sw-bars .sw-number")


def test_the_first_page_compares_two_sentences_under_six_encoders(built: Browser) -> None:
    page = PAGES / "index.html"
    assert page.stat().st_size < MOST + WITHOUT_WIDGET
    built.open(page, until="document.querySelector('.sentlab-widget').dataset.done")
    labels = built.texts(".sw-bars > span:nth-child(3n + 1)")
    assert labels == ["raw [CLS]", "raw mean", "SimCSE", "MoCo", "PaSeR", "Universal"]
    assert [text == "–" for text in numbers(built)] == [False, False, True, True, True, True]
    built.click(*built.centre("input[aria-label='first sentence']"))
    built.wait("![...document.querySelectorAll('.sw-bars .sw-number')].some(node => node.textContent === '–')")
    assert len(set(numbers(built))) > 2
    built.get("document.querySelector('input[aria-label=\"second sentence\"]').select()")
    built.write("The bank raised its interest rates.")
    before = ",".join(numbers(built))
    shown = "[...document.querySelectorAll('.sw-bars .sw-number')].map(node => node.textContent).join()"
    built.wait(f"{shown} !== {before!r}")
    assert built.problems == []


def test_the_decoder_answers_in_its_chapter(built: Browser) -> None:
    page = PAGES / "paser.html"
    built.open(page, until="document.querySelector('.sw-words button')")
    built.click(*built.centre(".sw-row ~ div button"))
    built.wait("document.querySelector('.sw-said')")
    last = built.texts(".sw-said")
    assert last[0]
    built.get(
        "{ const range = document.querySelector('.sw-row input[type=range]'); range.value = 0;"
        " range.dispatchEvent(new Event('input')); }"
    )
    built.wait(f"document.querySelector('.sw-said').textContent !== {last[0]!r}")
    assert built.problems == []
