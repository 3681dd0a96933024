"""Encoders inside a page: the script gives the tokens and vectors of the same weights in Python, offline."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from browser import Browser
from experiments.widgets import ASSETS, export, name_in, packed, rounded

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.methods import PaSeR
from sentlab.metrics import cosine_similarity, spearman
from sentlab.text.phrases import Phrase

TEXTS = [
    "A man is playing a guitar.",
    "  Don't stop -- it's 3.14% (or so)!  ",
    "Crème brûlée in Zürich, naïve façade",
    "东京 is 東京, and 서울 is not",
    "emoji 😀 and a\u200bzero-width \u00ad soft hyphen",
    "tab\tand\nnewline\u00a0no-break space",
    "x" * 101,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "İstanbul ẞtraße ΌΣΟΣ «quoted» — dash … ellipsis “curly”",
    "word " * 80,
    "",
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.from_pretrained("tiny")


@pytest.fixture(scope="module")
def paser() -> PaSeR:
    """With a decoder that is not trained, but says many words."""
    torch.manual_seed(0)
    method = PaSeR(Encoder.from_pretrained("tiny", pooling="cls"), decoder_layers=2, m=1.0, n=1.0).eval()
    with torch.no_grad():
        for weight in method.decoder.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return method


def show(browser: Browser, folder: Path, encoder: Encoder | PaSeR) -> None:
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


def test_token_ids_are_those_of_the_tokenizer(browser: Browser, encoder: Encoder, tmp_path: Path) -> None:
    show(browser, tmp_path, encoder)
    expected = encoder.tokenizer(TEXTS, truncation=True, max_length=encoder.max_length)["input_ids"]
    assert in_page(browser, TEXTS, "encoder.tokenize(text).ids") == expected


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_are_those_of_the_same_weights(
    browser: Browser, encoder: Encoder, tmp_path: Path, pooling: str
) -> None:
    show(browser, tmp_path, encoder)
    own = rounded(encoder)
    own.pooling = pooling
    expected = own.encode(TEXTS, progress=False)
    found = np.array(in_page(browser, TEXTS, f"[...encoder.encode(text, '{pooling}')]"))
    assert found == pytest.approx(np.asarray(expected), abs=2e-4)
    tokens, _ = own.encode_tokens([TEXTS[1]])[0]
    (vectors,) = in_page(browser, [TEXTS[1]], "[...encoder.encodeTokens(text).vectors]")
    assert np.reshape(vectors, tokens.shape) == pytest.approx(np.asarray(tokens), abs=2e-4)


@pytest.mark.realdata
def test_int8_keeps_the_quality_of_real_sentences(
    browser: Browser, encoder: Encoder, tmp_path: Path, real_data: Path
) -> None:
    show(browser, tmp_path, encoder)
    pairs = data.load("stsb", "dev", real_data)[:250]
    texts = [text for pair in pairs for text in (pair.text_a, pair.text_b)]
    expected = encoder.tokenizer(texts, truncation=True, max_length=encoder.max_length)["input_ids"]
    assert in_page(browser, texts, "encoder.tokenize(text).ids") == expected
    found, whole = np.array(in_page(browser, texts, "[...encoder.encode(text)]")), encoder.encode(texts, progress=False)
    assert cosine_similarity(found, np.asarray(rounded(encoder).encode(texts, progress=False))).min() > 0.9999
    gold = [pair.score for pair in pairs]
    in_int8, in_float = (
        100 * spearman(cosine_similarity(vectors[0::2], vectors[1::2]), gold) for vectors in (found, np.asarray(whole))
    )
    assert in_int8 == pytest.approx(in_float, abs=0.3)


def test_the_decoder_says_what_paser_says(browser: Browser, paser: PaSeR, tmp_path: Path) -> None:
    own = rounded(paser)
    assert isinstance(own, PaSeR)
    show(browser, tmp_path, paser)
    text = "The old farmer sold his brown horse to a kind teacher."
    phrases = [Phrase(word, text.index(word), text.index(word) + len(word), 1.0) for word in ("brown horse", "teacher")]
    (said,) = own.reconstruct([text], [phrases])
    places = [[phrase.start, phrase.end] for phrase in phrases]
    (found,) = in_page(browser, [text], f"encoder.read(text, {json.dumps(places)})")
    expected = [own.encoder.tokenizer.tokenize(words) for _, words in said]
    assert [[best[0][0] for best in row if best[0][0]] for row in found] == expected
    assert len({best[0][0] for row in found for best in row}) > 3  # not one word again and again


@pytest.mark.parametrize("setting", [{"pooling": "first_last"}, {"prompts": {"a": "a: "}, "default_prompt_name": "a"}])
def test_an_encoder_that_the_page_cannot_compute_is_refused(encoder: Encoder, setting: dict[str, Any]) -> None:
    other = copy.deepcopy(encoder)
    for name, value in setting.items():
        setattr(other, name, value)
    with pytest.raises(ValueError, match="page"):
        packed(other)


def test_rounded_weights_are_within_half_a_scale(encoder: Encoder) -> None:
    exact, near = (dict(model.backbone.named_parameters()) for model in (encoder, rounded(encoder)))
    for name, weight in exact.items():
        if weight.ndim == 2 and "position" not in name and "token_type" not in name:
            scale = weight.abs().max(dim=1, keepdim=True).values / 127
            assert ((near[name] - weight).abs() <= 0.5001 * scale).all(), name
