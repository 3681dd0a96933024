"""The interactive picture in a browser without a network: hovering, clicking, choosing, typing."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from browser import Browser
from experiments import plots
from experiments.interactive import interactive_layout
from experiments.page import ASSETS
from experiments.records import MapRecord
from experiments.results_rows import MapDrawing, MapNumbers, MapResults
from experiments.settings_rows import MapSettings, RowSettings, UmapSettings
from hostile import HOSTILE
from matplotlib.colors import to_hex

BUILT = Path(__file__).resolve().parents[2] / "_build" / "html" / "book" / "geometry.html"
WORDINGS, SCENES, TOPICS = 3, 4, ["kitchen", "travel"]
LABELS = ["raw", "SimCSE", "PaSeR"]
TEXTS = [f"Sentence {i} {HOSTILE[i % len(HOSTILE)]}" for i in range(WORDINGS * SCENES * len(TOPICS))]


def record() -> MapRecord:
    """Made-up points: each encoder has its own, and its own neighbours."""
    rng, n = Random(0), len(TEXTS)
    rows, numbers = {}, {}
    for label in LABELS:
        planes = {name: [[round(rng.uniform(-1, 1), 3) for _ in range(n)] for _ in "xy"] for name in ("PCA", "UMAP")}
        order = [rng.sample([j for j in range(n) if j != i], 4) for i in range(n)]
        rows[label] = MapDrawing(
            share=0.25,
            planes=planes,
            neighbours=[[row[rank] for row in order] for rank in range(4)],
            cosines=[[round(0.9 - rank / 10, 3)] * n for rank in range(4)],
        )
        names = ("same_scene", "same_topic", "kept_by_pca", "kept_by_umap")
        numbers[label] = MapNumbers(**{name: rng.uniform(0, 100) for name in names})
    scene = [i // WORDINGS for i in range(n)]
    topic = [number // SCENES for number in scene]
    results = MapResults(numbers=numbers, texts=TEXTS, topic=topic, scene=scene, drawings=rows)
    return MapRecord(settings=settings(), results=results, name="map")


def drawings() -> dict[str, MapDrawing]:
    results = record().results
    assert results
    return results.drawings


def settings() -> MapSettings:
    rows = {label: RowSettings(record="raw") for label in LABELS}
    own = {"topics": TOPICS, "scenes": SCENES, "wordings": WORDINGS, "seed": 0, "neighbours": 4}
    return MapSettings(rows=rows, umap=UmapSettings(), **own)  # type: ignore[arg-type]


def show(browser: Browser, page: Path, **how: Any) -> None:
    """Open a page and wait for its picture."""
    browser.open(page, until="document.querySelector('.sl-points > [transform]')", **how)
    assert browser.get("globalThis.ran") is None


def places(browser: Browser, picture: int = 0) -> list[list[float]]:
    """Where the points of a picture are drawn."""
    dots = f"document.querySelectorAll('.sentlab-widget')[{picture}].querySelectorAll('.sl-points > *')"
    return browser.get(f"[...{dots}].map(dot => dot.getAttribute('transform').match(/-?[\\d.]+/g).map(Number))")


@pytest.fixture
def page(tmp_path: Path, browser: Browser) -> Path:
    """Two pictures on one page."""
    browser.problems.clear()
    path = tmp_path / "page.html"
    path.write_text(
        f'<!doctype html><meta charset="utf-8">{interactive_layout(record())}{interactive_layout(record())}',
        encoding="utf-8",
    )
    return path


def test_hovering_shows_the_sentence_and_leaving_hides_it(browser: Browser, page: Path) -> None:
    show(browser, page)
    for i in (0, 7, 23):
        x, y = browser.centre(".sl-points > *", i)
        browser.hover(x, y)
        assert browser.texts(".sl-tip")[0] == TEXTS[i] + TOPICS[i // (WORDINGS * SCENES)]
        assert browser.get("document.querySelector('.sl-tip').checkVisibility()")
    browser.hover(*browser.centre(".sl-numbers"))
    assert not browser.get("document.querySelector('.sl-tip').checkVisibility()")
    assert browser.problems == []


def test_clicking_lists_the_neighbours_under_every_method(browser: Browser, page: Path) -> None:
    show(browser, page)
    browser.click(*browser.centre(".sl-points > *", 5))
    assert TEXTS[5] in browser.texts(".sl-head")[0]
    assert browser.texts(".sl-cards caption button") == LABELS
    for number, label in enumerate(LABELS):
        drawn = drawings()[label]
        found = [rank[5] for rank in drawn.neighbours]
        card = f".sl-cards table:nth-child({number + 1})"
        assert browser.texts(f"{card} .sl-sentence") == [TEXTS[i] for i in found]
        assert browser.texts(f"{card} td:last-child") == [f"{rank[5]:.2f}" for rank in drawn.cosines]
        signs = ["✓" if i // WORDINGS == 5 // WORDINGS else "" for i in found]
        assert browser.texts(f"{card} td:first-child") == signs
        assert f"{signs.count('✓')} of {WORDINGS - 1} wordings" in browser.texts(f"{card} caption")[0]
    # the picture marks the neighbours under the method that it shows
    assert len(browser.get("[...document.querySelectorAll('.sl-map path:is(.sl-same, .sl-other)')].map(String)")) == 4
    neighbour = drawings()["raw"].neighbours[0][5]
    browser.click(*browser.centre(".sl-cards table:nth-child(1) .sl-sentence"))
    assert TEXTS[neighbour] in browser.texts(".sl-head")[0]
    browser.click(*browser.centre(".sl-close"))
    assert browser.texts(".sl-cards table") == []
    assert browser.problems == []


def test_choosing_a_method_or_a_projection_moves_the_points(browser: Browser, page: Path) -> None:
    show(browser, page)
    first, beside = places(browser, 0), places(browser, 1)
    browser.click(*browser.centre(".sl-set button[aria-label='the next method']"))
    second = places(browser, 0)
    assert first != second
    assert browser.texts(".sl-numbers b")[0] == "SimCSE"
    browser.click(*browser.centre("[aria-label='projection'] button", 1))
    assert places(browser, 0) not in (first, second)
    browser.click(*browser.centre("[aria-label='projection'] button", 0))
    assert places(browser, 0) == second
    choose = "document.querySelector('select')"
    browser.get(f"{choose}.value = 0; {choose}.dispatchEvent(new Event('change'))")
    assert places(browser, 0) == first
    assert places(browser, 1) == beside == first  # the other picture on the page stays as it is
    assert browser.problems == []


def test_points_glide_unless_the_reader_prefers_stillness(browser: Browser, page: Path) -> None:
    dot = "document.querySelector('.sl-points > *')"
    look = f"new MutationObserver(() => seen.push({dot}.getAttribute('transform')))"
    ends = []
    for still in (True, False):
        show(browser, page, still=still)
        browser.get(f"window.seen = []; {look}.observe({dot}, {{attributes: true}})")
        browser.click(*browser.centre(".sl-set button[aria-label='the next method']"))
        if not still:
            browser.wait(f"seen.at(-1) === {json.dumps(ends[0])}")  # in the end they are where they jump otherwise
        seen = browser.get("[...new Set(seen)]")
        assert len(seen) == 1 if still else len(seen) > 2
        ends.append(seen[-1])
    assert browser.problems == []


def test_the_points_keep_the_shape_of_the_plane(browser: Browser, page: Path) -> None:
    show(browser, page)
    x, y = drawings()["raw"].planes["UMAP"]
    drawn = places(browser)
    scale = (drawn[1][0] - drawn[0][0]) / (x[1] - x[0])
    for i in range(1, len(x)):
        assert drawn[i][0] - drawn[0][0] == pytest.approx(scale * (x[i] - x[0]), abs=0.5)
        assert drawn[i][1] - drawn[0][1] == pytest.approx(-scale * (y[i] - y[0]), abs=0.5)


def test_keys_walk_pin_and_end_it(browser: Browser, page: Path) -> None:
    show(browser, page)
    browser.get("document.querySelector('.sl-map svg').focus()")
    browser.press("ArrowRight")
    seen = browser.texts(".sl-tip")[0]
    at = next(i for i, text in enumerate(TEXTS) if seen.startswith(text))
    browser.press("ArrowRight")
    after = next(i for i, text in enumerate(TEXTS) if browser.texts(".sl-tip")[0].startswith(text))
    drawn = places(browser)
    assert drawn[after][0] > drawn[at][0]
    browser.press("Enter")
    assert TEXTS[after] in browser.texts(".sl-head")[0]
    browser.press("Escape")
    assert not browser.get("document.querySelector('.sl-tip').checkVisibility()")
    browser.press("Escape")
    assert browser.texts(".sl-head") == []
    assert browser.problems == []


def test_words_are_found_and_topics_stand_alone(browser: Browser, page: Path) -> None:
    show(browser, page)
    faint = "[...document.querySelectorAll('.sl-points')[0].children].filter(dot => dot.matches('.sl-dim')).length"
    browser.click(*browser.centre("input[type=search]"))
    browser.write("sentence 1")
    assert browser.texts(".sl-count")[0] == "11 found"  # 1 and 10 to 19
    assert browser.get(faint) == len(TEXTS) - 11
    browser.press("Enter")
    assert TEXTS[1] in browser.texts(".sl-head")[0]
    browser.press("Enter")
    assert TEXTS[10] in browser.texts(".sl-head")[0]
    browser.get("document.querySelector('input[type=search]').value = ''")
    browser.click(*browser.centre(".sl-legend button", 1))
    assert browser.get(faint) == WORDINGS * SCENES
    browser.click(*browser.centre(".sl-legend button", 1))
    assert browser.get(faint) == 0
    assert browser.problems == []


def test_a_narrow_page_is_not_wider_than_its_screen(browser: Browser, page: Path) -> None:
    show(browser, page, width=390)
    browser.click(*browser.centre(".sl-points > *", 5))
    assert browser.get("document.documentElement.scrollWidth") <= 390
    assert max(x for x, _ in places(browser)) < 390
    for i in range(len(TEXTS)):  # the sentence of a point at the border stays inside too
        browser.hover(*browser.centre(".sl-points > *", i))
        ends = browser.get("(b => [b.left, b.right])(document.querySelector('.sl-tip').getBoundingClientRect())")
        assert 0 <= ends[0] < ends[1] <= 390


def test_problems_of_a_page_are_seen(browser: Browser, page: Path) -> None:
    page.write_text(page.read_text() + "<script>fetch('https://example.org/x.js'); missing()</script>")
    show(browser, page)
    browser.wait("performance.now() > 1000")  # the request is told a little later
    seen = " ".join(browser.problems)
    assert "missing is not defined" in seen
    assert "https://example.org/x.js" in seen


def test_the_built_chapter_works(browser: Browser) -> None:
    if not BUILT.is_file():
        pytest.skip("the chapter is not built: run `make book`")
    browser.problems.clear()
    show(browser, BUILT)
    browser.hover(*browser.centre(".sl-points > *", 3))
    text = browser.texts(".sl-tip")[0]
    browser.click(*browser.centre(".sl-points > *", 3))
    assert text.startswith(browser.texts(".sl-head b")[0].strip("“”") or "nothing is listed")
    methods = browser.texts(".sl-map ~ .sl-neighbours caption button")
    assert methods == browser.texts(".sentlab-widget option")
    assert len(methods) > 1
    before = places(browser)
    browser.click(*browser.centre(".sl-set button[aria-label='the next method']"))
    assert places(browser) != before
    assert browser.problems == []


def test_no_text_ends_the_script_and_static_pictures_have_the_same_colours() -> None:
    html = interactive_layout(record())
    assert html.count("</script>") == html.count("<script>")  # and none of a sentence
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    script = (ASSETS / "map.js").read_text(encoding="utf-8")
    assert json.dumps([to_hex(colour) for colour in plots.PALETTE[:5]]) in script


def test_a_record_without_results_is_refused() -> None:
    with pytest.raises(ValueError, match="map has no results yet: run `python -m experiments map`"):
        interactive_layout(MapRecord(settings=settings(), name="map"))
