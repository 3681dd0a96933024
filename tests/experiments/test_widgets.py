"""Widgets and the encoders inside them, in a browser without a network: what a reader does, the package's numbers."""

from __future__ import annotations

import copy
import json
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from browser import Browser
from experiments import records, widgets
from experiments.widgets import ASSETS, export, name_in, packed, rounded

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.methods import PaSeR
from sentlab.metrics import cosine_similarity, spearman
from sentlab.search.spans import span_scores
from sentlab.text.phrases import Phrase
from sentlab.text.words import word_boundaries, word_places
from sentlab.training import set_seed

PASSAGE = "We had booked a double room. The staff weren't friendly, but the breakfast was excellent and the bed soft."
DONE = "document.querySelector('.sentlab-widget').dataset.done"
TEXTS = [
    "A man is playing a guitar.", "  Don't stop -- it's 3.14% (or so)!  ", "Crème brûlée in Zürich, naïve façade",
    "东京 is 東京, and 서울 is not", "emoji 😀 and a\u200bzero-width \u00ad soft hyphen",
    "tab\tand\nnewline\u00a0no-break space", "x" * 101,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "İstanbul ẞtraße ΌΣΟΣ «quoted» — dash … ellipsis “curly”", "word " * 80, "",
]  # fmt: skip


def slide_to(browser: Browser, value: float) -> None:
    browser.get(
        f"{{ const range = document.querySelector('input[type=range]'); range.value = {value};"
        " range.dispatchEvent(new Event('input')); }"
    )


@pytest.fixture(scope="module")
def tiny() -> Encoder:
    return Encoder.from_pretrained("tiny")


@pytest.fixture(scope="module")
def encoder(tiny: Encoder) -> Encoder:
    return rounded(tiny)


@pytest.fixture(scope="module")
def exact_paser() -> PaSeR:
    """With a decoder that is not trained, but says many words."""
    set_seed(0)
    method = PaSeR(Encoder.from_pretrained("tiny", pooling="cls"), decoder_layers=2, m=1.0, n=1.0).eval()
    with torch.no_grad():
        for weight in method.decoder.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return method


@pytest.fixture(scope="module")
def paser(exact_paser: PaSeR) -> PaSeR:
    return rounded(exact_paser)


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
    assert len(found) == len(expected)
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
    assert (tmp_path / "page.html").stat().st_size < 2.5e6
    for pair in widgets.PAIRS[:2]:  # the first has its bars at once
        own = np.asarray(other.encode([*pair[1:]], progress=False))
        expected = float(cosine_similarity(own[:1], own[1:])[0])
        assert float(browser.texts(".sw-number")[2].replace("−", "-")) == pytest.approx(expected, abs=0.006)
        assert browser.get("Object.keys(sentlabEncoders).length") == 1 + (pair != widgets.PAIRS[0])
        choose_second(browser)
    type_into(browser, "input", " ")
    assert browser.texts(".sw-number") == ["–"] * 3
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
    shares = [float(share) for share in browser.texts("li .sw-number")]
    assert 0 <= min(shares) <= max(shares) <= 1
    type_into(browser, "input[type=text]", "A <b>cat</b> sleeps.")
    assert browser.texts("[aria-pressed=true]") == []
    assert browser.texts(".sw-said") == []
    assert browser.problems == []


def test_the_map_lists_the_recorded_neighbours_of_a_sentence(browser: Browser, tmp_path: Path) -> None:
    record = records.get("leaderboard/map")
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


def show_encoder(browser: Browser, folder: Path, encoder: Encoder | PaSeR) -> None:
    """A page with the encoder as `encoder`."""
    script = export(encoder, folder / "weights.js", "mine")
    assert name_in(script) == "mine"
    assert script.stat().st_size < 5e6  # bytes, with the vocabulary and all
    source = (ASSETS / "encoder.js").read_text(encoding="utf-8")
    start = """const own = sentlabEncoder({}); const { mine } = sentlabEncoders;
    const encoder = new (mine.config.decoder ? own.PhraseReader : own.Encoder)(mine);"""
    (folder / "encoder.js").write_text(f"{source}\n{start}", encoding="utf-8")
    (folder / "page.html").write_text(
        '<meta charset="utf-8"><script src="weights.js"></script><script src="encoder.js"></script>', encoding="utf-8"
    )
    browser.open(folder / "page.html", until="typeof encoder === 'object'")


def in_page(browser: Browser, texts: Sequence[str], expression: str) -> Any:
    return json.loads(browser.get(f"JSON.stringify({json.dumps(list(texts))}.map(text => {expression}))"))


def hostile_texts(count: int) -> list[str]:
    """Characters of every category, marks and joiners, many scripts, emoji, and what the tokenizer has added."""
    kinds: dict[str, list[str]] = {"Cn": ["\ufffe", "\ufdd0"]}
    for character in map(chr, range(sys.maxunicode + 1)):
        if (kind := unicodedata.category(character)) not in ("Cs", "Cn"):
            kinds.setdefault(kind, []).append(character)
    kinds["joiners"] = [*"\u0301\u0308\u200d\u200c\u00ad\u200b\u2060\ufeff\x0c\x1c\x85\u0600", "\r\n"]
    kinds["words"] = "[MASK] [SEP] [UNK] [CLS] [PAD] [mask] the horse isn't 3.5 日本語 カタカナー ひらがな 々".split()
    kinds["more words"] = "กำลัง မြန်မာ ខ្មែរ हिन्दी مرحبا שלום 한국어 😀 👩‍🚀 🇩🇪 👍🏽 ❤️ a_b ΌΣΟΣ İstanbul".split()
    random, spaces = Random(0), [" "] * 9
    every = [*kinds.values(), kinds["words"], kinds["more words"], kinds["joiners"], spaces, spaces, spaces]
    return ["".join(random.choice(random.choice(every)) for _ in range(random.randint(1, 30))) for _ in range(count)]


def test_tokens_and_words_are_those_of_the_package(browser: Browser, tiny: Encoder, tmp_path: Path) -> None:
    show_encoder(browser, tmp_path, tiny)
    browser.get((ASSETS / "widgets.js").read_text(encoding="utf-8"))
    texts = ["page\x0cstart", *TEXTS, *hostile_texts(2000)]
    expected = tiny.tokenizer(texts, truncation=True, max_length=tiny.max_length)["input_ids"]
    assert in_page(browser, texts, "encoder.tokenize(text).ids") == expected
    texts = [text for text in texts if text.strip()]
    words = "sentlabWidgets.wordsOf(text).map(([start, end]) => text.slice(start, end))"
    found = in_page(browser, texts, words)
    expected = [[text[start:end] for start, end in word_places(text)] for text in texts]
    assert [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_are_those_of_the_same_weights(browser: Browser, tiny: Encoder, tmp_path: Path, pooling: str) -> None:
    show_encoder(browser, tmp_path, tiny)
    own = rounded(tiny)
    own.pooling = pooling
    expected = own.encode(TEXTS, progress=False)
    found = np.array(in_page(browser, TEXTS, f"[...encoder.encode(text, '{pooling}')]"))
    assert found == pytest.approx(np.asarray(expected), abs=2e-4)
    tokens, _ = own.encode_tokens([TEXTS[1]])[0]
    (vectors,) = in_page(browser, [TEXTS[1]], "[...encoder.encodeTokens(text).vectors]")
    assert np.reshape(vectors, tokens.shape) == pytest.approx(np.asarray(tokens), abs=2e-4)


@pytest.mark.realdata
def test_int8_keeps_the_quality_of_real_sentences(
    browser: Browser, tiny: Encoder, tmp_path: Path, real_data: Path
) -> None:
    show_encoder(browser, tmp_path, tiny)
    pairs = data.load("stsb", "dev", real_data)[:250]
    texts = [text for pair in pairs for text in (pair.text_a, pair.text_b)]
    expected = tiny.tokenizer(texts, truncation=True, max_length=tiny.max_length)["input_ids"]
    assert in_page(browser, texts, "encoder.tokenize(text).ids") == expected
    found, whole = np.array(in_page(browser, texts, "[...encoder.encode(text)]")), tiny.encode(texts, progress=False)
    assert cosine_similarity(found, np.asarray(rounded(tiny).encode(texts, progress=False))).min() > 0.9999
    gold = [pair.score for pair in pairs]
    in_int8, in_float = (
        100 * spearman(cosine_similarity(vectors[0::2], vectors[1::2]), gold) for vectors in (found, np.asarray(whole))
    )
    assert in_int8 == pytest.approx(in_float, abs=0.3)


def test_the_decoder_says_what_paser_says(browser: Browser, exact_paser: PaSeR, tmp_path: Path) -> None:
    own = rounded(exact_paser)
    assert isinstance(own, PaSeR)
    show_encoder(browser, tmp_path, exact_paser)
    text = "The old farmer sold his brown horse to a kind teacher."
    phrases = [Phrase(word, text.index(word), text.index(word) + len(word), 1.0) for word in ("brown horse", "teacher")]
    (said,) = own.reconstruct([text], [phrases])
    places = [[phrase.start, phrase.end] for phrase in phrases]
    (found,) = in_page(browser, [text], f"encoder.read(text, {json.dumps(places)})")
    expected = [own.encoder.tokenizer.tokenize(words) for _, words in said]
    assert [[best[0][0] for best in row if best[0][0]] for row in found] == expected
    assert len({best[0][0] for row in found for best in row}) > 3  # not one word again and again


@pytest.mark.parametrize("setting", [{"pooling": "first_last"}, {"prompts": {"a": "a: "}, "default_prompt_name": "a"}])
def test_an_encoder_that_the_page_cannot_compute_is_refused(tiny: Encoder, setting: dict[str, Any]) -> None:
    other = copy.deepcopy(tiny)
    for name, value in setting.items():
        setattr(other, name, value)
    with pytest.raises(ValueError, match="page"):
        packed(other)


def test_rounded_weights_are_within_half_a_scale(tiny: Encoder) -> None:
    exact, near = (dict(model.backbone.named_parameters()) for model in (tiny, rounded(tiny)))
    for name, weight in exact.items():
        if weight.ndim == 2 and "position" not in name and "token_type" not in name:
            scale = weight.abs().max(dim=1, keepdim=True).values / 127
            assert ((near[name] - weight).abs() <= 0.5001 * scale).all(), name
