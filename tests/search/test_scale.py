"""Indexes of parts of the texts, merged or searched side by side, find what one index of all texts finds."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.search import PhraseIndex, passages
from sentlab.search.hits import Hit
from sentlab.search.scale import joined, search_shards, span_vectors

TEXTS = [
    "The old man plays the guitar in the garden.",
    "a girl reads the book ; the dog runs",
    "",
    "café — the old man eats bread and apples",
    "The old man plays the guitar in the garden.",  # ties with the first
    "water",
    "the king sells a red car by the river",
]
PHRASES = ["the old man", "guitar music in a garden", "in", "a dog eats"]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, device="cpu", max_length=32)


def made(encoder: Encoder, texts: list[str], folder: Path, **options: object) -> Path:
    index = PhraseIndex(encoder, **{"max_size": 4, **options})
    index.add(texts)
    index.save(folder)
    return folder


@pytest.fixture
def parts(encoder: Encoder, tmp_path: Path) -> list[Path]:
    """Of three texts, of none, and of the other four."""
    cut = {"first": TEXTS[:3], "empty": [], "second": TEXTS[3:]}
    return [made(encoder, texts, tmp_path / name) for name, texts in cut.items()]


@pytest.fixture
def whole(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PhraseIndex:
    """All texts, added by one process."""
    monkeypatch.setattr(passages, "CHARACTERS", 60)
    return PhraseIndex.load(made(encoder, TEXTS, tmp_path / "whole"), encoder)


def places(hits: list[Hit]) -> list[tuple[int, int, int]]:
    return [(hit.text, hit.start, hit.end) for hit in hits]


def test_a_merged_index_is_that_of_all_texts(
    encoder: Encoder, parts: list[Path], whole: PhraseIndex, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for folder in parts for path in folder.rglob("*") if path.is_file()}
    PhraseIndex.merge(parts, tmp_path / "deep" / "merged")
    assert {path: path.read_bytes() for path in before} == before
    for folder in parts:
        shutil.rmtree(folder)
    merged = PhraseIndex.load(tmp_path / "deep" / "merged", encoder)
    assert list(merged) == TEXTS
    assert merged.verify() == []
    for found, wanted in zip(merged.search(PHRASES, 20), whole.search(PHRASES, 20), strict=True):
        assert places(found) == places(wanted)
        np.testing.assert_allclose([h.similarity for h in found], [h.similarity for h in wanted], atol=1e-3)
    merged.add(["one more text"])
    assert PhraseIndex.load(merged.folder, encoder)[7] == "one more text"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["merged"]


@pytest.mark.parametrize("linked", [True, False])
def test_a_merge_copies_only_where_it_cannot_link(
    encoder: Encoder, parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EXDEV, "another disk")

    if not linked:
        monkeypatch.setattr(os, "link", link)
    PhraseIndex.merge(parts, tmp_path / "merged")
    files = [*(tmp_path / "merged").glob("segment-*/*")]
    assert len(files) == 12
    assert {path.stat().st_nlink for path in files} == {2 if linked else 1}
    assert list(PhraseIndex.load(tmp_path / "merged", encoder)) == TEXTS


def test_a_merge_that_is_refused_leaves_nothing(encoder: Encoder, parts: list[Path], tmp_path: Path) -> None:
    first, _, second = parts
    made(encoder, ["water"], tmp_path / "longer", max_size=5, dtype="float32")
    made(Encoder.from_pretrained("tiny", device="cpu"), ["water"], tmp_path / "other")
    shutil.copytree(first, tmp_path / "again")
    shutil.copytree(first, tmp_path / "damaged")
    next((tmp_path / "damaged").glob("*/texts")).unlink()
    for folders, message in {
        (): "there is no index",
        (first, "longer"): r"first and .*longer cannot be one: max_size 4 and 5, dtype 'float16' and 'float32'\.",
        (first, "other"): rf"other cannot be one: encoder '{encoder.fingerprint(tokens=True)}' and '\w+', dim 32 and",
        (first, "again"): "first and .*again hold the same texts: both have segment-",
        (second, first, "damaged"): "cannot merge the phrase index in .*damaged, which is damaged: segment-.*missing",
        (first, tmp_path): "is no phrase index",
    }.items():
        with pytest.raises(ValueError, match=message):
            PhraseIndex.merge([tmp_path / folder for folder in folders], tmp_path / "merged")
    with pytest.raises(FileExistsError, match="second is not empty"):
        PhraseIndex.merge([first], second)
    assert list(PhraseIndex.load(second, encoder)) == TEXTS[3:]
    names = {"first", "empty", "second", "longer", "other", "again", "damaged"}
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize("k", [1, 3, 50])
@pytest.mark.parametrize("trim", [True, False])
def test_shards_have_the_hits_of_one_index(
    encoder: Encoder, parts: list[Path], tmp_path: Path, k: int, trim: bool
) -> None:
    PhraseIndex.merge(parts, tmp_path / "merged")
    wanted = PhraseIndex.load(tmp_path / "merged", encoder).search(PHRASES, k, trim=trim)
    shards = [PhraseIndex.load(folder, encoder) for folder in parts]
    found = search_shards(shards, iter(PHRASES), k, trim=trim)
    assert found == wanted
    assert found.phrases == wanted.phrases
    assert found.table().equals(wanted.table())
    for hits, *own in zip(found, *(shard.search(PHRASES, k, trim=trim) for shard in shards), strict=True):
        assert len(hits) == min(k, sum(map(len, own)))  # no shard has 50


def test_of_equal_hits_the_first_text_comes_first(encoder: Encoder, tmp_path: Path) -> None:
    shards = [
        PhraseIndex.load(made(encoder, texts, tmp_path / name), encoder)
        for name, texts in {"a": ["the dog"], "b": ["water", "the dog"], "c": ["the dog"]}.items()
    ]
    (found,) = search_shards(shards, ["the dog"], 3)
    assert places(found) == [(0, 0, 7), (2, 0, 7), (3, 0, 7)]
    assert len({hit.similarity for hit in found}) == 1
    (found,) = joined([shard.search(["the dog"], 3) for shard in shards], [1, 2, 1], 2)
    assert places(found) == [(0, 0, 7), (2, 0, 7)]


def test_shards_that_differ_are_refused(encoder: Encoder, parts: list[Path], tmp_path: Path) -> None:
    longer = PhraseIndex.load(made(encoder, ["water"], tmp_path / "longer", max_size=5), encoder)
    index = PhraseIndex.load(parts[0], encoder)
    with pytest.raises(ValueError, match="longer cannot be one: max_size 4 and 5"):
        search_shards([index, longer], ["water"])
    with pytest.raises(ValueError, match="give at least one"):
        search_shards([], ["water"])
    with pytest.raises(TypeError, match="put it into a list"):
        search_shards([index], "water")
    assert search_shards([index], []) == []


@pytest.mark.parametrize("size", [1, 3, 20])
def test_span_vectors_are_those_of_the_spans_from_each_word(whole: PhraseIndex, size: int) -> None:
    words = np.concatenate([segment.vectors for segment in whole._segments]).astype(np.float64)
    counts = np.concatenate([np.diff(segment.words) for segment in whole._segments])
    ends = np.repeat(counts.cumsum(), counts)
    wanted = np.stack([words[i : min(i + size, end)].sum(0) for i, end in enumerate(ends)])
    numbers, vectors = (np.concatenate(both) for both in zip(*span_vectors(whole, size), strict=True))
    assert numbers.tolist() == list(range(whole.words))
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)
    with pytest.raises(ValueError, match="size must be at least 1 word, it is 0"):
        next(span_vectors(whole, 0))


def test_candidates_are_scored_as_a_search_does(whole: PhraseIndex) -> None:
    numbers, vectors = next(span_vectors(whole, 4))
    queries = whole.phrase_vectors([TEXTS[0][:18], *PHRASES])
    assert int(numbers[(queries[0] @ vectors.T).argmax()]) == 0  # "The old man plays"
    everywhere = [np.arange(-5, whole.words + 5)] * len(PHRASES)
    assert whole.search(PHRASES, 5, starts=everywhere) == whole.search(PHRASES, 5)
    nowhere: list[list[int]] = [[]] * len(PHRASES)
    assert whole.search(PHRASES, 5, starts=nowhere) == [[]] * len(PHRASES)
    best = [hits[0] for hits in whole.search(PHRASES, 1)]
    few = [[7, 0], [2], [0], [15, 15]]
    found = whole.search(PHRASES, 5, starts=few)
    for hits, starts, top in zip(found, few, best, strict=True):
        assert len(hits) <= len(set(starts))
        assert all(hit.similarity <= top.similarity for hit in hits)
    torch.testing.assert_close(torch.from_numpy(queries).norm(dim=1), torch.ones(len(queries)))
    with pytest.raises(ValueError, match="starts must be of each of the 4 phrases, and are of 1"):
        whole.search(PHRASES, starts=[[0]])


def test_the_best_hits_begin_near_candidates_of_faiss(whole: PhraseIndex) -> None:
    faiss = pytest.importorskip("faiss", reason="FAISS is not installed: pip install faiss-cpu")
    engine = faiss.IndexIDMap(faiss.IndexFlatIP(32))
    for words, vectors in span_vectors(whole, size=3):
        engine.add_with_ids(vectors, words)
    _, nearest = engine.search(whole.phrase_vectors(PHRASES), 5)
    around = nearest[:, :, None] + np.arange(-3, 3)
    found = whole.search(PHRASES, 1, starts=around.reshape(len(PHRASES), -1))
    assert found == whole.search(PHRASES, 1)
