"""Widgets in a browser without a network: typing, sliding, clicking and keys, and the numbers of the package."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch
from browser import Browser, Chromium, chromium, firefox
from experiments import widgets
from experiments.page import export, rounded

from sentlab.encoder import Encoder
from sentlab.evaluation.metrics import cosine_similarity, spearman
from sentlab.methods import PaSeR
from sentlab.search.spans import span_scores
from sentlab.text.phrases import Phrase
from sentlab.text.words import word_boundaries
from sentlab.training import set_seed

PASSAGE = "We had booked a double room. The staff weren't friendly, but the breakfast was excellent and the bed soft."
COPIES = 'circle[fill="#d55e00"]'
DONE = "document.querySelector('.sentlab-widget').dataset.done"


def slide_to(browser: Browser, value: float) -> None:
    browser.get(
        f"{{ const range = document.querySelector('input[type=range]'); range.value = {value};"
        " range.dispatchEvent(new Event('input')); }"
    )


@pytest.fixture(scope="module", params=[chromium, firefox])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with request.param(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return rounded(Encoder.from_pretrained("tiny"))


def show(browser: Browser, folder: Path, content: str, *, width: int = 1000, until: str = DONE) -> None:
    browser.problems.clear()
    page = folder / "page.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><body>{content}</body>', encoding="utf-8")
    browser.open(page, until=until, width=width)


def type_into(browser: Browser, selector: str, text: str) -> None:
    """Replace what an input holds, as a reader would, and wait for the answer."""
    before = browser.get(DONE)
    browser.get(f"{{ const node = document.querySelector({json.dumps(selector)}); node.focus(); node.select(); }}")
    browser.write(text)
    browser.wait(f"{DONE} !== {json.dumps(before)}")


def test_two_sentences_are_compared_while_one_types(browser: Browser, encoder: Encoder, tmp_path: Path) -> None:
    rows = {"raw [CLS]": (encoder, "cls"), "raw mean": (encoder, "mean")}
    show(browser, tmp_path, widgets.compare(rows))

    def numbers() -> list[float]:
        return [float(text.replace("−", "-")) for text in browser.texts(".sw-number")]

    def expected(first: str, second: str) -> list[float]:
        found = []
        for own, pooling in rows.values():
            own = copy.copy(own)
            own.pooling = pooling
            u, v = np.asarray(own.encode([first, second], progress=False))
            found.append(float(cosine_similarity(u[None], v[None])[0]))
        return found

    assert numbers() == pytest.approx(expected(*widgets.PAIRS[0][1:]), abs=0.006)
    type_into(browser, "input[aria-label='second sentence']", "A <b>dog</b> & a cat </script> run.")
    first = widgets.PAIRS[0][1]
    assert numbers() == pytest.approx(expected(first, "A <b>dog</b> & a cat </script> run."), abs=0.006)
    before = browser.get(DONE)
    browser.get("{ const s = document.querySelector('select'); s.value = 1; s.dispatchEvent(new Event('change')); }")
    browser.wait(f"{DONE} !== {json.dumps(before)}")
    assert numbers() == pytest.approx(expected(*widgets.PAIRS[1][1:]), abs=0.006)
    assert widgets.WITHOUT not in browser.get("document.body.textContent")
    assert browser.problems == []


def test_spans_have_the_similarities_of_the_package(browser: Browser, encoder: Encoder, tmp_path: Path) -> None:
    show(browser, tmp_path, widgets.spans({"raw": encoder}, PASSAGE, "good breakfast", longest=6))
    (query, _), (tokens, places) = encoder.encode_tokens(["good breakfast", PASSAGE])
    edges = word_boundaries(PASSAGE, places)
    scores = span_scores(np.asarray(query).mean(0), np.asarray(tokens), max_size=6, boundaries=edges)
    words = [(int(places[i][0]), int(places[j - 1][1])) for i, j in pairwise(edges)]
    assert browser.get("document.querySelectorAll('.sw-cell').length") == np.isfinite(scores).sum()
    start, size = np.unravel_index(np.where(np.isfinite(scores), scores, -9).argmax(), scores.shape)
    best = PASSAGE[words[start][0] : words[start + size][1]]
    assert browser.texts("mark") == [best]
    for key, step in (("ArrowRight", (1, 0)), ("ArrowDown", (0, 1)), ("ArrowUp", (0, -1)), ("ArrowLeft", (-1, 0))):
        browser.get("document.querySelector('svg').focus()")
        browser.press(key)
        start, size = max(0, start + step[0]), max(0, size + step[1])
        size = min(size, np.isfinite(scores[start]).sum() - 1)
        here = PASSAGE[words[start][0] : words[start + size][1]]
        assert browser.texts("mark") == [here]
        (told,) = browser.texts("p[aria-live]")
        assert float(told.rsplit(" ", 1)[1].replace("−", "-")) == pytest.approx(scores[start, size], abs=0.006)
    type_into(browser, "input[aria-label='phrase']", "unfriendly staff")
    type_into(browser, "textarea", "The staff was rude.")
    assert browser.get("document.querySelectorAll('.sw-cell').length") == 5 + 4 + 3 + 2 + 1
    type_into(browser, "textarea", " ")
    assert browser.get("document.querySelectorAll('.sw-cell').length") == 0
    assert browser.problems == []


def test_all_similarities_of_spans_are_exact(browser: Browser, encoder: Encoder, tmp_path: Path) -> None:
    """To 1e-3, each of them."""
    show(browser, tmp_path, widgets.spans({"raw": encoder}, PASSAGE, "good breakfast", longest=6))
    (query, _), (tokens, places) = encoder.encode_tokens(["good breakfast", PASSAGE])
    expected = span_scores(
        np.asarray(query).mean(0), np.asarray(tokens), max_size=6, boundaries=word_boundaries(PASSAGE, places)
    )
    browser.get(
        f"""{{
        const own = new (sentlabEncoder({{}}).Encoder)(Object.values(sentlabEncoders)[0]);
        const text = {json.dumps(PASSAGE)};
        const {{ sums, width }} = sentlabWidgets.wordSums(own.encodeTokens(text), sentlabWidgets.wordsOf(text));
        const query = new Float64Array(width);
        own.encodeTokens("good breakfast").vectors.forEach((value, i) => {{ query[i % width] += value; }});
        globalThis.found = sentlabWidgets.spanScores(query, sums, width, 6);
        }}"""
    )
    found = browser.get("found")
    for start, row in enumerate(found):
        held = expected[start][np.isfinite(expected[start])]
        assert row == pytest.approx(held.tolist(), abs=1e-3)


def test_the_bootstrap_shows_scores_and_differences(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 6, 300).astype(float)
    cosines = {"good": gold + rng.normal(size=300), "twin": gold + rng.normal(size=300), "bad": rng.normal(size=300)}
    show(browser, tmp_path, widgets.bootstrap(gold.tolist(), {name: own.tolist() for name, own in cosines.items()}))
    browser.get(
        "{ const r = document.querySelector('input[type=range]'); r.value = 300; r.dispatchEvent(new Event('input')); }"
    )
    texts = browser.texts("svg text")
    assert [text.split(":")[0] for text in texts] == ["good", "twin", "bad", "twin − good", "bad − good"]
    shown = [float(text.split(": ")[1].split(" ")[0].replace("−", "-")) for text in texts]
    scores = [100 * spearman(own, gold) for own in cosines.values()]
    assert shown == pytest.approx([*scores, scores[1] - scores[0], scores[2] - scores[0]], abs=0.051)
    lines = browser.get("[...document.querySelectorAll('svg circle')].map(node => node.getAttribute('fill'))")
    assert lines[-1] == "#d55e00"  # the bad one differs
    before = browser.texts("svg text")
    browser.click(*browser.centre("button"))
    assert browser.texts("svg text") != before
    assert browser.problems == []


def test_dropout_moves_the_copies_of_a_sentence(browser: Browser, encoder: Encoder, tmp_path: Path) -> None:
    others = ["A dog runs in the park.", "The bank raised its rates.", "It was a cold night."]
    show(browser, tmp_path, widgets.dropout(encoder, "A man is playing a guitar.", others))

    def mean_of_copies(p: float) -> float:
        before = browser.get(DONE)
        slide_to(browser, p)
        browser.wait(f"{DONE} !== {json.dumps(before)}")
        places = browser.get(
            f"[...document.querySelectorAll({json.dumps(COPIES)})].map(n => Number(n.getAttribute('cx')))"
        )
        assert len(places) == 24
        return float(np.mean(places))

    still, some, much = mean_of_copies(0), mean_of_copies(0.02), mean_of_copies(0.3)
    assert still == pytest.approx(330)  # a cosine of 1
    assert still > some > much
    assert browser.problems == []


def test_other_encoders_are_fetched_when_a_reader_begins(
    browser: Browser, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = copy.deepcopy(encoder)
    other.word_embeddings.weight.data.mul_(-1)
    rows = {"raw": (encoder, "mean"), "other": (other, "mean"), "other [CLS]": (other, "cls")}
    show(browser, tmp_path, widgets.compare(rows, folder="encoders"))
    assert len(list((tmp_path / "encoders").iterdir())) == 1
    assert [text == "–" for text in browser.texts(".sw-number")] == [False, True, True]
    assert (tmp_path / "page.html").stat().st_size < 2.5e6
    browser.click(*browser.centre("input"))
    browser.wait("![...document.querySelectorAll('.sw-number')].some(node => node.textContent === '–')")
    own = other.encode([*widgets.PAIRS[0][1:]], progress=False)
    expected = float(cosine_similarity(np.asarray(own)[:1], np.asarray(own)[1:])[0])
    assert float(browser.texts(".sw-number")[2].replace("−", "-")) == pytest.approx(expected, abs=0.006)
    show(browser, tmp_path, widgets.spans({"raw": encoder, "other": other}, PASSAGE, "food", folder="encoders"))
    before = browser.texts("mark")
    browser.get("{ const s = document.querySelector('select'); s.value = 1; s.dispatchEvent(new Event('change')); }")
    browser.wait(f"{DONE} === '2'")
    assert browser.texts("mark") != before
    assert browser.problems == []


def test_an_encoder_that_is_not_there_is_told(
    browser: Browser, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = copy.deepcopy(encoder)
    other.word_embeddings.weight.data.mul_(-1)
    show(browser, tmp_path, widgets.spans({"raw": encoder, "other": other}, PASSAGE, "food", folder="encoders"))
    for script in (tmp_path / "encoders").iterdir():
        script.unlink()
    browser.get("{ const s = document.querySelector('select'); s.value = 1; s.dispatchEvent(new Event('change')); }")
    browser.wait("!document.querySelector('[role=alert]').hidden")
    (told,) = browser.texts("[role=alert]")
    assert "is not there" in told


@pytest.mark.parametrize("width", [390, 1000])
def test_nothing_is_wider_than_the_page(
    browser: Browser, encoder: Encoder, paser: PaSeR, tmp_path: Path, width: int
) -> None:
    rows = {"raw [CLS]": (encoder, "cls"), "raw mean over all tokens": (encoder, "mean")}
    parts = [
        widgets.compare(rows),
        widgets.spans({"raw": encoder}, PASSAGE * 3, "good breakfast", weights=False),
        widgets.bootstrap([1.0, 2.0, 3.0] * 20, {"a": [1.0, 2.0, 3.0] * 20, "b": [1.0, 3.0, 2.0] * 20}),
        widgets.dropout(encoder, "A man is playing a guitar.", ["A dog runs."]),
        widgets.decoder({"300": paser}, "The old farmer sold his brown horse to a kind teacher.", [1, 2, 9]),
    ]
    show(browser, tmp_path, "".join(parts), width=width)
    browser.wait("[...document.querySelectorAll('.sentlab-widget')].every(node => node.dataset.done)")
    assert browser.get("document.documentElement.scrollWidth") <= width
    assert browser.problems == []


def test_cosines_and_golds_must_fit() -> None:
    with pytest.raises(ValueError, match="raw has 2 cosines for 1 gold scores"):
        widgets.bootstrap([1.0], {"raw": [0.1, 0.2]})


@pytest.fixture(scope="module")
def paser() -> PaSeR:
    set_seed(0)
    method = PaSeR(Encoder.from_pretrained("tiny", pooling="cls"), decoder_layers=2, m=1.0, n=1.0)
    with torch.no_grad():
        for weight in method.decoder.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return rounded(method)


def test_the_decoder_says_what_a_reader_hides(
    browser: Browser, paser: PaSeR, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = copy.deepcopy(paser)
    with torch.no_grad():
        first.decoder.positions.weight.add_(torch.randn_like(first.decoder.positions.weight))
    checkpoints = {"0": first, "300": paser}
    sentence = "The old farmer sold his horse."
    html = widgets.decoder(checkpoints, sentence, [1, 2], folder="encoders")
    show(browser, tmp_path, html, until="document.querySelector('.sw-words button')")
    assert (tmp_path / "page.html").stat().st_size < 1e5
    assert browser.texts("[aria-pressed=true]") == ["old", "farmer"]

    def expected(method: PaSeR, text: str, hidden: str) -> list[str]:
        start = text.index(hidden)
        ((_, words),) = method.reconstruct([text], [[Phrase(hidden, start, start + len(hidden), 1.0)]])[0]
        return [words or "(nothing)"]

    browser.click(*browser.centre(".sw-row ~ div button"))  # ask
    browser.wait(f"{DONE} === '1'")
    assert browser.texts(".sw-said") == expected(paser, sentence, "old farmer")
    slide_to(browser, 0)
    browser.wait(f"{DONE} === '2'")
    assert browser.texts(".sw-said") == expected(first, sentence, "old farmer")
    browser.click(*browser.centre(".sw-words button", 1))  # no longer hides "old"
    browser.wait(f"{DONE} === '3'")
    assert browser.texts(".sw-said") == expected(first, sentence, "farmer")
    assert all(float(share) <= 1 for share in browser.texts("li .sw-number"))
    type_into(browser, "input[type=text]", "A <b>cat</b> sleeps.")
    assert browser.texts("[aria-pressed=true]") == []
    assert browser.texts(".sw-said") == []
    assert browser.problems == []


def test_all_widgets_work_over_http_and_by_keys(
    browser: Browser, encoder: Encoder, paser: PaSeR, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = copy.deepcopy(encoder)
    other.word_embeddings.weight.data.mul_(-1)
    gold = [1.0, 2.0, 3.0] * 20
    parts = [
        widgets.spans({"raw": encoder, "other": other}, PASSAGE, "food", folder="encoders"),
        widgets.compare({"raw": (encoder, "cls"), "other": (other, "mean")}, folder="encoders"),
        widgets.bootstrap(gold, {"a": gold, "b": gold[::-1]}),
        widgets.dropout(encoder, "A man is playing a guitar.", ["A dog runs."]),
        widgets.decoder({"0": paser, "300": paser}, "The old farmer sold his horse.", [1, 2], folder="encoders"),
    ]
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset='utf-8'><body>{''.join(parts)}")
    served = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        browser.problems.clear()
        browser.open(f"http://127.0.0.1:{server.server_port}/page.html", until=DONE)
        browser.click(*browser.centre("input[aria-label='first sentence']"))
        browser.wait("[...document.querySelectorAll('.sw-bars .sw-number')].every(node => node.textContent !== '–')")
        browser.click(*browser.centre(".sentlab-widget:last-of-type .sw-row ~ div button"))
        browser.wait("document.querySelector('.sw-said')")
        done = "[...document.querySelectorAll('.sentlab-widget')].map(node => Number(node.dataset.done))"
        assert all(browser.get(done))
        if isinstance(browser, Chromium):  # without a window Firefox gives no button the focus of keys
            for number, control in enumerate(("svg", "select", "button", "input[type=range]", ".sw-words button")):
                own = f"document.querySelectorAll('.sentlab-widget')[{number}]"
                before = browser.get(f"{own}.innerText + {own}.querySelectorAll('circle').length + {own}.dataset.done")
                browser.get(f"{own}.querySelector({json.dumps(control)}).focus()")
                browser.press(
                    {"svg": "ArrowRight", "select": "ArrowDown", "input[type=range]": "End"}.get(control, "Enter")
                )
                browser.wait(
                    f"{own}.innerText + {own}.querySelectorAll('circle').length + {own}.dataset.done"
                    f" !== {json.dumps(before)}"
                )
        server.shutdown()
    assert [problem for problem in browser.problems if "favicon" not in problem] == []


def test_an_encoder_may_be_a_script(browser: Browser, encoder: Encoder, tmp_path: Path) -> None:
    export(encoder, tmp_path / "mine.js", "mine")
    rows: dict[str, tuple[Encoder | str | Path, str]] = {"raw": (encoder, "mean"), "mine": ("mine.js", "mean")}
    with contextlib.chdir(tmp_path):
        html = widgets.compare(rows)
    show(browser, tmp_path, html)
    browser.click(*browser.centre("input"))
    browser.wait("document.querySelectorAll('.sw-number')[1].textContent !== '–'")
    first, second = browser.texts(".sw-number")
    assert first == second
    assert browser.problems == []
