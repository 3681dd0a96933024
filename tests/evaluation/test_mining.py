"""Phrases in contexts: each set-up against loops, and matches and ties by hand."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sentlab import metrics
from sentlab.data.rows import Corpus, PhraseInContext
from sentlab.encoder import Encoder
from sentlab.evaluation import mining
from sentlab.evaluation.mining import evaluate_mining

WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")


def corpus(*rows: tuple[str, str, str, float], name: str = "made") -> Corpus[PhraseInContext]:
    """Rows of a phrase, a context, the match in it, and a gold."""
    made = (
        PhraseInContext(a, text, text.index(match), text.index(match) + len(match), s) for a, text, match, s in rows
    )
    return Corpus(name, "test", tuple(made), "made by the test", {"no gold": 2})


REAL = corpus(
    ("a dog runs", "in the old village a dog isn't walking by the river, slowly .", "a dog isn't walking", 3.0),
    ("the king reads a letter", "A man, who is old, is reading books and the king buys bread!", "is reading", 2.0),
    ("girl", "the child eats and the girls play", "the girls", 4.5), ("a red boat", "boat", "boat", 4.0),
)  # fmt: skip


class Letters:
    """Encodes a text as how many of each letter it has, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return np.array([[Counter(text.lower())[chr(c)] for c in range(97, 123)] for text in texts], np.float32)


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu")


def cosine(u: np.ndarray, v: np.ndarray) -> float:
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


def every_span(text: str, max_size: int) -> list[tuple[int, int]]:
    """Characters of all n-grams, by start and then by size."""
    words = [match.span() for match in WORD.finditer(text)]
    return [(words[i][0], words[j][1]) for i in range(len(words)) for j in range(i, min(i + max_size, len(words)))]


def test_full_is_the_cosine_with_the_whole_context(encoder: Encoder) -> None:
    result = evaluate_mining(encoder, REAL, "full")
    vectors = [encoder.encode([row.phrase, row.context]) for row in REAL]
    assert result.similarities == pytest.approx(np.array([cosine(*pair) for pair in vectors]), abs=1e-5)
    gold = [row.score for row in REAL]
    assert result.pearson == 100 * metrics.pearson(result.similarities, gold)
    assert result.spearman == 100 * metrics.spearman(result.similarities, gold)
    assert result.matches is None
    assert math.isnan(result.found)


@pytest.fixture(autouse=True)
def chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "CONTEXTS", 3)  # so that the rows are several chunks


@pytest.mark.parametrize("max_size", [1, 3])
def test_ngrams_equal_a_loop(encoder: Encoder, max_size: int) -> None:
    result = evaluate_mining(encoder, REAL, "ngrams", max_size=max_size)
    for row, similarity, match in zip(REAL, result.similarities, result.matches, strict=True):
        spans = every_span(row.context, max_size)
        (query,), vectors = encoder.encode([row.phrase]), encoder.encode([row.context[slice(*span)] for span in spans])
        scores = [cosine(query, vector) for vector in vectors]
        assert similarity == pytest.approx(max(scores), abs=1e-5)
        assert scores[spans.index(tuple(match))] == pytest.approx(max(scores), abs=1e-5)


@pytest.mark.parametrize("max_size", [1, 50])
@pytest.mark.parametrize("setup", ["spans", "start_end"])
def test_spans_equal_a_loop_over_one_pass(encoder: Encoder, max_size: int, setup: mining.Setup) -> None:
    def vector(tokens: np.ndarray) -> np.ndarray:
        return tokens.mean(0) if setup == "spans" else np.concatenate([tokens[0], tokens[-1]])

    result = evaluate_mining(encoder, REAL, setup, max_size=max_size)
    for row, similarity, match in zip(REAL, result.similarities, result.matches, strict=True):
        (own, _), (tokens, offsets) = encoder.encode_tokens([row.phrase, row.context])
        spans = every_span(row.context, max_size)
        scores = [
            cosine(vector(own), vector(tokens[(offsets[:, 0] >= start) & (offsets[:, 1] <= end)]))
            for start, end in spans
        ]
        assert similarity == pytest.approx(max(scores), abs=1e-5)
        assert scores[spans.index(tuple(match))] == pytest.approx(max(scores), abs=1e-5)


def test_found_is_the_share_of_good_rows_whose_match_overlaps_by_half() -> None:
    rows = corpus(
        ("abc", "xx abc yy", "abc", 5.0),  # the match itself
        ("abc", "xx abc yyyyyy", "abc yyyyyy", 4.0),  # 3 of 10 characters
        ("abcd", "xx abcd yyy", "abcd yyy", 4.0),  # 4 of 8
        ("abc", "xx abc yy abc", "yy", 3.9),  # not looked at; of equal spans the first is the match
    )
    result = evaluate_mining(Letters(), rows, "ngrams", max_size=1)
    assert result.matches.tolist() == [[3, 6], [3, 6], [3, 7], [3, 6]]
    assert result.found == pytest.approx(100 * 2 / 3)
    none = corpus(("abc", "xx abc yy", "abc", 3.9), ("yy", "xx abc yy", "yy", 1.0))
    assert math.isnan(evaluate_mining(Letters(), none, "ngrams").found)


def test_a_match_outside_its_context_is_refused(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="places"):
        evaluate_mining(encoder, [*REAL[:1], replace(REAL[1], end=900)])


@pytest.mark.parametrize("setup", ["full", "ngrams", "spans"])
def test_texts_that_would_be_cut_are_refused(small_encoder_folder: Path, setup: mining.Setup) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu", max_length=24)
    longest = max(len(row) for row in encoder.tokenizer([row.context for row in REAL])["input_ids"])
    encoder.max_length = longest - 1
    with pytest.raises(ValueError, match=rf"max_length={longest}$"):
        evaluate_mining(encoder, REAL, setup)
    encoder.max_length = longest
    evaluate_mining(encoder, REAL, setup)
    encoder.prompts, encoder.default_prompt_name = {"query": "query: "}, "query"
    if setup == "spans":  # token vectors take no prompt
        evaluate_mining(encoder, REAL, setup)
    else:
        with pytest.raises(ValueError, match="max_length"):
            evaluate_mining(encoder, REAL, setup)


def test_matches_have_no_white_space_at_their_ends(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("dog", "the dog runs", "dog", 5.0)

    def with_spaces(texts: list[str], **_: object) -> list[tuple[np.ndarray, np.ndarray]]:
        places = {"the dog runs": [(0, 3), (3, 7), (7, 12)], "dog": [(0, 3)]}
        return [(np.eye(4, dtype=np.float32)[[0, 1, 2]] if " " in text else np.eye(4, dtype=np.float32)[[1]],
                 np.array(places[text])) for text in texts]  # fmt: skip

    monkeypatch.setattr(Encoder, "encode_tokens", lambda self, texts, **more: with_spaces(texts))
    found = evaluate_mining(encoder, corpus(row, row), "spans")
    assert found.matches is not None
    assert found.matches.tolist() == [[4, 7], [4, 7]]
    assert found.found == 100
