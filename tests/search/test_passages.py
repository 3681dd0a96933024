"""Long texts are cut into passages, and nothing of them is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sentlab.encoder import Encoder
from sentlab.search.passages import encode_words, passages
from sentlab.search.phrase_index import PhraseIndex


def test_a_long_text_is_searched_to_its_end(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu", max_length=32)
    text = "the man runs. " * 20 + "café " * 50 + "x" * 100 + " the girl plays the guitar."
    places = passages(encoder, ["short", text, ""])
    assert [place for place in places if place[0] != 1] == [(0, 0, 5), (2, 0, 0)]
    cut = [text[start:end] for number, start, end in places if number == 1]
    assert "".join(cut) == text
    sizes = [len(offsets) for _, offsets in encoder.encode_tokens(cut)]
    assert sizes == [len(found) for found in encoder.tokenizer(cut, add_special_tokens=False)["input_ids"]]
    assert max(sizes) <= 30
    assert all(passage.strip().endswith(".") for passage in cut[:3])
    index = PhraseIndex(encoder)
    index.add(["short", text])
    (hit,) = index.search(["the girl plays the guitar."], 1)[0]
    assert (hit.text, text[hit.start : hit.end]) == (1, hit.words)
    last = index._segments[0].spans[-1]
    assert text[last[0] : last[1]] == "."
    assert last[1] == len(text)


def test_a_hit_keeps_the_marks_of_its_last_letter(small_encoder_folder: Path) -> None:
    index = PhraseIndex(Encoder.from_pretrained(small_encoder_folder, device="cpu"))
    text = "we met in a cafe\u0301, near the sea"
    index.add([text])
    ends = {text[span[0] : span[1]] for span in index._segments[0].spans}
    assert "cafe\u0301" in ends


def test_words_have_no_white_space_where_a_tokenizer_counts_it(
    small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    text = "the dog  runs\nhome. "
    offsets = np.array([(0, 3), (3, 7), (7, 13), (13, 14), (14, 18), (18, 19), (19, 20)])
    vectors = np.arange(7 * encoder.dim, dtype=np.float32).reshape(7, -1)
    monkeypatch.setattr(encoder, "encode_tokens", lambda texts, **_: [(vectors, offsets)])
    ((number, found, spans),) = encode_words(encoder, [text])
    assert number == 0
    assert [text[a:b] for a, b in spans] == ["the", "dog", "runs", "home", "."]
    alone = vectors[[0, 1, 2, 4, 5]]
    alone[3] += vectors[3]  # a line break before a word counts to it
    np.testing.assert_array_equal(found, alone)
