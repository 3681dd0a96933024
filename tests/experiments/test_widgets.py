"""Widgets in a browser without a network: typing, sliding, clicking and keys, and the numbers of the package."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from browser import Browser
from experiments import records, widgets
from experiments.widgets import rounded

from sentlab.encoder import Encoder
from sentlab.methods import PaSeR
from sentlab.metrics import cosine_similarity, spearman
from sentlab.search.spans import span_scores
from sentlab.text.phrases import Phrase
from sentlab.text.words import word_boundaries
from sentlab.training import set_seed

RESULTS = Path(__file__).resolve().parents[2] / "book" / "results"
PASSAGE = "We had booked a double room. The staff weren't friendly, but the breakfast was excellent and the bed soft."
DONE = "document.querySelector('.sentlab-widget').dataset.done"


def slide_to(browser: Browser, value: float) -> None:
    browser.get(
        f"{{ const range = document.querySelector('input[type=range]'); range.value = {value};"
        " range.dispatchEvent(new Event('input')); }"
    )


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return rounded(Encoder.from_pretrained("tiny"))


@pytest.fixture(scope="module")
def paser() -> PaSeR:
    set_seed(0)
    method = PaSeR(Encoder.from_pretrained("tiny", pooling="cls"), decoder_layers=2, m=1.0, n=1.0)
    with torch.no_grad():
        for weight in method.decoder.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return rounded(method)


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


def choose_second(browser: Browser) -> None:
    before = browser.get(DONE)
    browser.get("{ const s = document.querySelector('select'); s.value = 1; s.dispatchEvent(new Event('change')); }")
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
    choose_second(browser)
    assert numbers() == pytest.approx(expected(*widgets.PAIRS[1][1:]), abs=0.006)
    assert widgets.WITHOUT not in browser.get("document.body.textContent")
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
    slide_to(browser, 300)
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
    choose_second(browser)
    assert browser.texts("mark") != before
    assert browser.problems == []


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


def test_the_map_lists_the_recorded_neighbours_of_a_sentence(browser: Browser, tmp_path: Path) -> None:
    record = records.get("leaderboard/map", RESULTS)
    html = widgets.sentence_map(record)
    assert html.count("</script>") == html.count("<script>")  # and none of a sentence
    show(browser, tmp_path, html, until="document.querySelector('.sl-points > [transform]')")
    browser.hover(*browser.centre(".sl-points > *", 7))
    assert browser.texts(".sl-tip")[0].startswith(record.results["texts"][7])
    browser.click(*browser.centre(".sl-points > *", 7))
    assert record.results["texts"][7] in browser.texts(".sl-head")[0]
    for number, drawing in enumerate(record.results["drawings"].values()):
        neighbours = [record.results["texts"][rank[7]] for rank in drawing["neighbours"]]
        assert browser.texts(f".sl-cards table:nth-child({number + 1}) .sl-sentence") == neighbours
    assert browser.problems == []


@pytest.mark.parametrize("width", [390, 1000])
def test_nothing_is_wider_than_the_page(
    browser: Browser, encoder: Encoder, paser: PaSeR, tmp_path: Path, width: int
) -> None:
    parts = [
        widgets.compare({"raw [CLS]": (encoder, "cls"), "raw mean over all tokens": (encoder, "mean")}),
        widgets.spans({"raw": encoder}, PASSAGE * 3, "good breakfast", weights=False),
        widgets.bootstrap([1.0, 2.0, 3.0] * 20, {"a": [1.0, 2.0, 3.0] * 20, "b": [1.0, 3.0, 2.0] * 20}),
        widgets.dropout(encoder, "A man is playing a guitar.", ["A dog runs."]),
        widgets.decoder({"300": paser}, "The old farmer sold his brown horse to a kind teacher.", [1, 2, 9]),
    ]
    show(browser, tmp_path, "".join(parts), width=width)
    browser.wait("[...document.querySelectorAll('.sentlab-widget')].every(node => node.dataset.done)")
    assert browser.get("document.documentElement.scrollWidth") <= width
    assert browser.problems == []
