"""The index of phrases: what it finds, and that parts of it, merged or side by side, find the same."""

from __future__ import annotations

import copy
import errno
import gc
import os
import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.search import Hit, PhraseIndex, join, phrase_index
from sentlab.search.phrase_index import encode_words, passages
from sentlab.text.words import word_boundaries

TEXTS = [
    "The old man plays the guitar in the garden.",
    "",
    "a girl doesn't read the book ; the dog runs",
    "  café 😀  naïve dogs — eat bread\n\nand apples ",
    "The old man plays the guitar in the garden.",  # ties with the first
    "water",
    "the king sells a red car by the river",
]
PHRASES = ["the old man", "guitar music in a garden", "in", "a dog eats"]


def saved(encoder: Encoder, texts: list[str], folder: Path, **options: Any) -> PhraseIndex:
    index = PhraseIndex(encoder, **{"max_size": 4} | options)
    index.add(texts)
    index.save(folder)
    return index


def ragged(words: str, phrase: str) -> bool:
    """Whether a span begins or ends as no phrase does, and as this phrase does not."""
    own, wanted = (re.findall(r"[\w']+|\S", text.lower()) for text in (words, phrase))
    mark, between, before = re.compile(r"[^\w\s😀]"), {"in", "and", "on", "by"}, {"the", "a", "is"}
    opened, closed = (bool(mark.match(own[i])) and not mark.match(wanted[i]) for i in (0, -1))
    opened |= own[0] in between and wanted[0] not in between
    closed |= own[-1] in between | before and wanted[-1] not in between | before
    return opened or closed


def slow_hits(encoder: Encoder, phrase: str, sizes: range, trim: bool) -> list[tuple[float, int, int, int]]:
    """(similarity, text, start, end) of all spans of words, best first, without those that overlap a better one."""
    query = encoder.encode_tokens([phrase])[0][0].astype(np.float64).mean(0)
    spans = []
    for number, (vectors, offsets) in enumerate(encoder.encode_tokens(TEXTS)):
        edges = word_boundaries(TEXTS[number], offsets)
        for first in range(len(edges) - 1):
            for last in range(first + sizes.start, min(first + sizes.stop, len(edges))):
                mean = vectors[edges[first] : edges[last]].astype(np.float64).mean(0)
                cosine = query @ mean / np.linalg.norm(query) / np.linalg.norm(mean)
                place = int(offsets[edges[first], 0]), int(offsets[edges[last] - 1, 1])
                if not trim or not ragged(TEXTS[number][slice(*place)], phrase):
                    spans.append((cosine, number, *place))
    hits: list[tuple[float, int, int, int]] = []
    for hit in sorted(spans, key=lambda hit: (-round(hit[0], 5), *hit[1:])):
        if all(hit[1] != other[1] or hit[2] >= other[3] or hit[3] <= other[2] for other in hits):
            hits.append(hit)
    return hits


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float16", 1e-3)])
def test_search_is_that_of_all_spans(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, dtype: str, tolerance: float, trim: bool
) -> None:
    monkeypatch.setattr(phrase_index, "CHARACTERS", 60)  # so that there are several segments
    index = PhraseIndex(encoder, min_size=2, max_size=4, dtype=dtype)
    index.add(TEXTS[:3])
    index.add(iter(TEXTS[3:]))
    assert (len(index), len(list(index.folder.glob("*/vectors")))) == (7, 3)
    phrases = ["guitar music", "in the garden", "dogs are eating", "a book ;", "doesn't", "plays the", "In — and"]
    for phrase, hits in zip(phrases, index.search(phrases, 6, trim=trim), strict=True):
        slow = slow_hits(encoder, phrase, range(2, 5), trim)[:6]
        np.testing.assert_allclose([hit.similarity for hit in hits], [hit[0] for hit in slow], atol=tolerance)
        assert all(hit.words == TEXTS[hit.text][hit.start : hit.end] for hit in hits)
        if dtype == "float32":
            assert [(hit.text, hit.start, hit.end) for hit in hits] == [hit[1:] for hit in slow]


def test_saved_loaded_and_grown(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = PhraseIndex(encoder, max_size=np.int64(3))  # as a length of NumPy is
    index.add(TEXTS)
    scratch, hits = index.folder, index.search(["the dog", "café"], 4)
    with pytest.raises(TypeError, match="not saved"):
        pickle.dumps(index)
    assert index.search([], 3) == PhraseIndex(encoder).search([], 3) == []
    with pytest.raises(ValueError, match="no words"):
        index.search(["a", " "])
    index.save(tmp_path / "deep" / "index")
    assert not scratch.exists()
    monkeypatch.chdir(tmp_path)
    loaded = PhraseIndex.load("deep/index", encoder)
    assert list(loaded) == TEXTS
    for each in (index, loaded, copy.copy(loaded)):
        assert each.search(["the dog", "café"], 4) == hits
    monkeypatch.chdir("/")
    loaded.add(["the dog runs"])  # is written where it is
    assert (
        PhraseIndex.load(loaded.folder, encoder).search(["the dog runs"], 1)[0][0].text
        == loaded.search(["the dog runs"], 1)[0][0].text
        == 7
    )
    index.add(["a cat"])
    assert (len(index), index[7], index[-1]) == (9, "the dog runs", "a cat")
    row = loaded.table(["runs"], [[Hit(7, 8, 12, "runs", 0.5)]], around=5).iloc[0]
    assert row.tolist() == ["runs", 0.5, "runs", " dog ", "", 7, 8, 12]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["index"]


def test_an_iterable_that_fails_leaves_what_was_written(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_index, "CHARACTERS", 5)

    def texts() -> Iterator[str]:
        yield "the dog runs"
        raise OSError("the source is gone")

    index = PhraseIndex(encoder)
    with pytest.raises(OSError, match="gone"):
        index.add(texts())
    with pytest.raises(TypeError):
        index.add(["a cat sits", 3])
    assert list(index) == ["the dog runs", "a cat sits"]


def test_texts_of_several_indexes_in_one_folder_stay(encoder: Encoder, tmp_path: Path) -> None:
    saved(encoder, TEXTS, tmp_path / "index")
    first, second = (PhraseIndex.load(tmp_path / "index", encoder) for _ in range(2))
    first.add(["one river"])
    second.add(["two books"])
    again = PhraseIndex.load(tmp_path / "index", encoder)
    assert [hits[0].text for hits in again.search(["one river", "two books"], 1)] == [7, 8]
    assert second.search(PHRASES) == again.search(PHRASES)
    shutil.rmtree(tmp_path / "index")
    saved(encoder, ["another index"], tmp_path / "index")
    with pytest.raises(RuntimeError, match="another index"):
        first.add(["the dog"])


def test_another_encoder_is_refused(encoder: Encoder, small_encoder_folder: Path, tmp_path: Path) -> None:
    saved(encoder, TEXTS, tmp_path / "index")
    other = Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu", max_length=32)
    index = PhraseIndex.load(tmp_path / "index", other)  # the pooling has no part in it
    with torch.no_grad():
        other.word_embeddings.weight[7] += 0.1  # one row: what a short training may do
    for call in (index.search, index.add, lambda _: PhraseIndex.load(tmp_path / "index", other)):
        with pytest.raises(ValueError, match="other weights"):
            call(["the dog"])


def test_a_vector_too_large_for_float16_is_refused(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Encoder.encode_tokens

    def larger(self: Encoder, texts: list[str], **options: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(vectors * np.float32(1e6), offsets) for vectors, offsets in real(self, texts, **options)]

    index, exact = PhraseIndex(encoder), PhraseIndex(encoder, dtype="float32")
    index.add(TEXTS)
    monkeypatch.setattr(Encoder, "encode_tokens", larger)
    with pytest.raises(ValueError, match="dtype='float32'"):
        index.add(["the river"])
    assert list(index) == TEXTS
    exact.add(["the river"])
    assert exact.search(["water"], 1)[0][0].text == 0


def test_the_folder_of_an_index_that_is_not_saved_goes_with_it(encoder: Encoder, tmp_path: Path) -> None:
    kept, dropped = PhraseIndex(encoder), PhraseIndex(encoder)
    kept.add(TEXTS)
    folders = kept.folder, dropped.folder
    phrase_index._remove(folders[0], os.getpid() + 1)  # what a fork that ends does
    with pytest.raises(FileExistsError):
        kept.save(kept.folder / "deeper")  # would go with the folder
    kept.save(tmp_path / "kept")
    del kept, dropped
    gc.collect()
    assert not folders[1].exists()
    assert not folders[0].exists()
    assert len(PhraseIndex.load(tmp_path / "kept", encoder)) == len(TEXTS)


def test_a_long_text_is_searched_to_its_end(encoder: Encoder) -> None:
    text = "the man runs. " * 20 + "café " * 50 + "x" * 100 + " the girl plays the guitar in a cafe\u0301"
    places = passages(encoder, ["short", text, ""])
    assert [place for place in places if place[0] != 1] == [(0, 0, 5), (2, 0, 0)]
    cut = [text[start:end] for number, start, end in places if number == 1]
    assert "".join(cut) == text
    sizes = [len(ids) for ids in encoder.tokenizer(cut, add_special_tokens=False)["input_ids"]]
    assert sizes == [len(offsets) for _, offsets in encoder.encode_tokens(cut)]
    assert max(sizes) <= 30
    assert all(passage.strip().endswith(".") for passage in cut[:3])
    index = PhraseIndex(encoder)
    index.add(["short", text])
    ((hit,),) = index.search(["the girl plays the guitar"], 1)
    assert (hit.text, text[hit.start : hit.end]) == (1, hit.words)
    start, end = index._segments[0].spans[-1]
    assert text[start:end] == "cafe\u0301"  # with the mark of its last letter
    assert end == len(text)


def test_words_have_no_white_space_where_a_tokenizer_counts_it(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "the dog  runs\nhome. "
    offsets = np.array([(0, 3), (3, 7), (7, 13), (13, 14), (14, 18), (18, 19), (19, 20)])
    vectors = np.arange(7 * encoder.dim, dtype=np.float32).reshape(7, -1)
    monkeypatch.setattr(encoder, "encode_tokens", lambda texts, **_: [(vectors, offsets)])
    ((number, words, spans),) = encode_words(encoder, [text])
    assert number == 0
    assert [text[a:b] for a, b in spans] == ["the", "dog", "runs", "home", "."]
    expected = vectors[[0, 1, 2, 4, 5]]
    expected[3] += vectors[3]  # a line break before a word counts to it
    np.testing.assert_array_equal(words, expected)


@pytest.fixture
def parts(encoder: Encoder, tmp_path: Path) -> list[Path]:
    """Of three texts, of none, and of the others."""
    cut = {"first": TEXTS[:3], "empty": [], "second": TEXTS[3:]}
    return [saved(encoder, texts, tmp_path / name).folder for name, texts in cut.items()]


@pytest.mark.parametrize("linked", [True, False])
def test_a_merged_index_is_that_of_all_texts(
    encoder: Encoder, parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EXDEV, "another disk")

    if not linked:
        monkeypatch.setattr(os, "link", link)
    PhraseIndex.merge(parts, tmp_path / "merged")
    assert {path.stat().st_nlink for path in (tmp_path / "merged").glob("segment-*/*")} == {2 if linked else 1}
    shards = [PhraseIndex.load(folder, encoder) for folder in parts]
    merged = PhraseIndex.load(tmp_path / "merged", encoder)
    for k in (0, 1, 3, 50):
        joined = join([shard.search(PHRASES, k) for shard in shards], [len(shard) for shard in shards], k)
        assert joined == merged.search(PHRASES, k)
    whole = saved(encoder, TEXTS, tmp_path / "whole")  # its lengths have another scale
    for hits, expected in zip(merged.search(PHRASES, 20), whole.search(PHRASES, 20), strict=True):
        assert [hit[:4] for hit in hits] == [hit[:4] for hit in expected]
        np.testing.assert_allclose([h.similarity for h in hits], [h.similarity for h in expected], atol=1e-3)
    for folder in parts:
        shutil.rmtree(folder)
    merged.add(["one more text"])
    assert list(PhraseIndex.load(merged.folder, encoder)) == [*TEXTS, "one more text"]


def test_a_merge_that_is_refused_leaves_nothing(encoder: Encoder, parts: list[Path], tmp_path: Path) -> None:
    first, _, second = parts
    longer = saved(encoder, ["water"], tmp_path / "longer", max_size=5).folder
    other = saved(Encoder.from_pretrained("tiny", device="cpu"), ["water"], tmp_path / "other").folder
    damaged = Path(shutil.copytree(second, tmp_path / "damaged"))
    next(damaged.glob("*/texts")).unlink()
    for folders in ([], [first, longer], [first, other], [first, first], [first, damaged]):
        with pytest.raises((ValueError, FileExistsError), match=r"index|segment"):  # one that is there twice exists
            PhraseIndex.merge(folders, tmp_path / "merged")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match="empty"):
        PhraseIndex.merge([first], second)
    assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("size", [1, 3, 20])
def test_span_vectors_are_those_of_the_spans_from_each_word(encoder: Encoder, size: int) -> None:
    index = PhraseIndex(encoder)
    for texts in (TEXTS[:3], TEXTS[3:]):
        index.add(texts)
    words = np.concatenate([segment.vectors for segment in index._segments]).astype(np.float64)
    counts = np.concatenate([np.diff(segment.first_words) for segment in index._segments])
    ends = np.repeat(counts.cumsum(), counts)
    expected = np.stack([words[i : min(i + size, end)].sum(0) for i, end in enumerate(ends)])
    numbers, vectors = (np.concatenate(both) for both in zip(*index.span_vectors(size), strict=True))
    assert numbers.tolist() == list(range(index.word_count))
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


def test_candidates_are_scored_as_a_search_does(encoder: Encoder) -> None:
    index = PhraseIndex(encoder, max_size=4)
    index.add(TEXTS)
    everywhere, nowhere = [np.arange(-5, index.word_count + 5)] * 4, [[]] * 4
    assert index.search(PHRASES, 5, starts=everywhere) == index.search(PHRASES, 5)
    assert index.search(PHRASES, 5, starts=nowhere) == nowhere
    with pytest.raises(IndexError):
        index.search(PHRASES, starts=[[0]])
    faiss = pytest.importorskip("faiss", reason="FAISS is not installed: pip install faiss-cpu")
    engine = faiss.IndexIDMap(faiss.IndexFlatIP(encoder.dim))
    for words, vectors in index.span_vectors(size=3):
        engine.add_with_ids(vectors, words)
    _, nearest = engine.search(index.phrase_vectors(PHRASES), 5)
    around = nearest[:, :, None] + np.arange(-3, 3)
    assert index.search(PHRASES, 1, starts=around.reshape(4, -1)) == index.search(PHRASES, 1)
