"""The index of phrases: what it finds, what it keeps through kills, and which folders it refuses."""

from __future__ import annotations

import copy
import gc
import multiprocessing
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

import sentlab
from sentlab.encoder import Encoder
from sentlab.search import passages
from sentlab.search.phrase_index import PhraseIndex
from sentlab.text.words import word_boundaries

TEXTS = [
    "The old man plays the guitar in the garden.",
    "",
    "a girl doesn't read the book ; the dog runs",
    "  café 😀  naïve dogs — eat bread\n\nand apples ",
    "The old man plays the guitar in the garden.",
    "water",
]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, device="cpu", max_length=32)


@pytest.fixture
def saved(encoder: Encoder, tmp_path: Path) -> Path:
    index = PhraseIndex(encoder, max_size=np.int64(5))  # as a length of NumPy is
    index.add(TEXTS)
    index.save(tmp_path / "index")
    return tmp_path / "index"


@pytest.mark.filterwarnings("ignore:this CPU has no bfloat16 arithmetic")
def test_an_index_made_in_bfloat16_is_nearly_the_same(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, tokens = [], encoder.encode_tokens

    def encode_tokens(*texts: Any, **more: Any) -> Any:
        asked.append(more["precision"])
        return tokens(*texts, **more)

    monkeypatch.setattr(encoder, "encode_tokens", encode_tokens)
    whole, half = PhraseIndex(encoder, dtype="float32"), PhraseIndex(encoder, dtype="float32")
    whole.add(TEXTS)
    half.add(TEXTS, precision="bfloat16")
    assert asked == [None, "bfloat16"]
    vectors, rounded = (torch.tensor(index._segments[0].vectors[:]) for index in (whole, half))
    cosines = torch.cosine_similarity(vectors, rounded)
    assert cosines.min() > 0.999
    with pytest.raises(ValueError, match="choose one of float32, bfloat16"):
        half.add(["one"], precision="int8")


def ragged(words: str, phrase: str) -> bool:
    """Whether a span begins or ends as no phrase does, and as this phrase does not."""
    own, asked = (re.findall(r"[\w']+|\S", text.lower()) for text in (words, phrase))
    mark, between, before = re.compile(r"[^\w\s😀]"), {"in", "and", "on"}, {"the", "a", "is"}
    opened, closed = (bool(mark.match(own[i])) and not mark.match(asked[i]) for i in (0, -1))
    opened |= own[0] in between and asked[0] not in between
    closed |= own[-1] in between | before and asked[-1] not in between | before
    return opened or closed


def slow_hits(
    encoder: Encoder, texts: list[str], phrase: str, sizes: range, trim: bool
) -> list[tuple[float, int, int, int]]:
    """(similarity, text, start, end) of all spans of words, best first, without those that overlap a better one."""
    query = encoder.encode_tokens([phrase])[0][0].astype(np.float64).mean(0)
    found = []
    for number, (vectors, offsets) in enumerate(encoder.encode_tokens(texts)):
        edges = word_boundaries(texts[number], offsets)
        for first in range(len(edges) - 1):
            for last in range(first + sizes.start, min(first + sizes.stop, len(edges))):
                mean = vectors[edges[first] : edges[last]].astype(np.float64).mean(0)
                cosine = query @ mean / np.linalg.norm(query) / np.linalg.norm(mean)
                place = int(offsets[edges[first], 0]), int(offsets[edges[last] - 1, 1])
                if not trim or not ragged(texts[number][slice(*place)], phrase):
                    found.append((cosine, number, *place))
    hits: list[tuple[float, int, int, int]] = []
    for hit in sorted(found, key=lambda hit: (-round(hit[0], 5), *hit[1:])):
        if all(hit[1] != other[1] or hit[2] >= other[3] or hit[3] <= other[2] for other in hits):
            hits.append(hit)
    return hits


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float16", 1e-3)])
def test_search_is_that_of_all_spans(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, dtype: str, tolerance: float, trim: bool
) -> None:
    monkeypatch.setattr(passages, "CHARACTERS", 60)  # so that there are several segments
    index = PhraseIndex(encoder, min_size=2, max_size=4, dtype=dtype)
    index.add(TEXTS[:3])
    index.add(iter(TEXTS[3:]))
    assert (len(index), len(list(index.folder.glob("*/vectors")))) == (6, 3)
    phrases = ["guitar music", "in the garden", "dogs are eating", "a book ;", "doesn't", "plays the", "In — and"]
    for phrase, hits in zip(phrases, index.search(phrases, 6, trim=trim), strict=True):
        slow = slow_hits(encoder, TEXTS, phrase, range(2, 5), trim)[:6]
        np.testing.assert_allclose([hit.similarity for hit in hits], [hit[0] for hit in slow], atol=tolerance)
        assert all(hit.words == TEXTS[hit.text][hit.start : hit.end] for hit in hits)
        if dtype == "float32":
            assert [(hit.text, hit.start, hit.end) for hit in hits] == [hit[1:] for hit in slow]


def test_a_phrase_finds_itself(encoder: Encoder) -> None:
    index = PhraseIndex(encoder, dtype="float32")
    assert sentlab.PhraseIndex is PhraseIndex
    index.add(TEXTS)
    (hits,) = index.search([TEXTS[3]], 1)
    assert hits[0].similarity == pytest.approx(1, abs=1e-5)
    assert (hits[0].text, hits[0].words) == (3, TEXTS[3].strip())
    twice = index.search([TEXTS[0]], 2)[0]
    assert [(hit.text, hit.words) for hit in twice] == [(0, TEXTS[0]), (4, TEXTS[0])]


def test_hits_begin_and_end_as_phrases_do(encoder: Encoder) -> None:
    texts = ["of the king, (the «girl») Of a river …", "and, of THE", "$5 = 50%"]
    index, single = PhraseIndex(encoder, max_size=3), PhraseIndex(encoder, max_size=1)
    index.add(texts)
    single.add(texts)
    words = {hit.words for hit in index.search(["king girl"], 50)[0]} - {"$", "%"}
    assert not [each for each in words if re.search(r"(?i)^(of|and)\b|^[^\w$]|[^\w%]$|\b(of|and|the|a)$", each)]
    assert {hit.words for hit in single.search(["king"], 50)[0]} == {"king", "girl", "river", "$", "5", "50", "%"}
    assert [hit.words for hit in index.search([", of"], 1)[0]] == [", of"]
    assert len(single.search(["king"], 50, trim=False)[0]) == single.words


def test_texts_come_back_with_the_words_around_a_hit(
    encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "CHARACTERS", 10)
    index = PhraseIndex.load(saved, encoder)
    index.add(["the dog runs", "water"])
    index = PhraseIndex.load(saved, encoder)
    texts = [*TEXTS, "the dog runs", "water"]
    assert list(index) == texts
    assert (index[3], index[-1], index[np.int64(6)]) == (TEXTS[3], "water", "the dog runs")
    for number in (8, -9):
        with pytest.raises(IndexError, match="the index holds 8"):
            index[number]
    for hits in index.search(["the dog", "café", "in the garden"], 3):
        for hit in hits:
            whole = texts[hit.text]
            assert hit.before + hit.words + hit.after == whole  # shorter than what a hit keeps
            assert (hit.start, hit.words) == (len(hit.before), whole[hit.start : hit.end])


def test_a_damaged_text_is_not_given_back(encoder: Encoder, saved: Path) -> None:
    (place,) = saved.glob("*/texts")
    place.write_bytes(b"x" * place.stat().st_size)
    with pytest.raises(ValueError, match=r"is damaged: .*texts is not what was written"):
        PhraseIndex.load(saved, encoder)[0]


def test_no_more_hits_than_there_are(encoder: Encoder) -> None:
    index = PhraseIndex(encoder)
    assert index.search(["dog"]) == [[]]
    index.add([])
    index.add(["", " \n"])
    assert (len(index), index.words, index.search(["dog"], 3)) == (2, 0, [[]])
    index.add(["water"])
    assert [hit.text for hit in index.search(["dog"], 3)[0]] == [2]
    assert index.search([]) == []
    fewer = PhraseIndex(encoder, min_size=2)
    fewer.add(["water"])
    assert fewer.search(["dog"]) == [[]]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_saved_and_loaded(encoder: Encoder, tmp_path: Path, dtype: str) -> None:
    index = PhraseIndex(encoder, min_size=2, max_size=3, dtype=dtype)
    index.add(TEXTS)
    scratch, hits = index.folder, index.search(["the dog"], 4)
    index.save(tmp_path / "deep" / "index")
    assert not scratch.exists()
    loaded = PhraseIndex.load(tmp_path / "deep" / "index", encoder)
    assert repr(loaded) == repr(index)
    assert (loaded.min_size, loaded.max_size, loaded.dtype) == (2, 3, dtype)
    assert loaded.search(["the dog"], 4) == index.search(["the dog"], 4) == hits
    loaded.add(["the dog runs"])  # is committed where it is
    loaded.save(loaded.folder)
    again = PhraseIndex.load(str(loaded.folder), encoder)
    assert len(again) == len(loaded) == 7
    assert again.search(["the dog runs"], 1)[0][0].text == 6
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_an_iterable_that_fails_leaves_what_was_committed(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "CHARACTERS", 5)

    def texts() -> Iterator[str]:
        yield "the dog runs"
        raise OSError("the source is gone")

    index = PhraseIndex(encoder)
    with pytest.raises(OSError, match="gone"):
        index.add(texts())
    assert len(index) == 1
    with pytest.raises(TypeError, match=r"texts\[1\] is int, not a string: 3"):
        index.add(["a cat sits", 3])
    assert len(index) == 2
    with pytest.raises(TypeError, match="put it into a list"):
        index.add("a bare string")


def test_the_work_of_several_indexes_in_one_folder_stays(
    encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "CHARACTERS", 1)
    first, second, third = (PhraseIndex.load(saved, encoder) for _ in range(3))

    def texts() -> Iterator[str]:
        yield "one river"
        second.add(["two books"])  # while the first is in the middle of its work
        yield "three horses"

    first.add(texts())
    third.add(["four trains"])
    assert (len(first), len(second), len(third)) == (9, 8, 10)
    again = PhraseIndex.load(saved, encoder)
    new = ["one river", "two books", "three horses", "four trains"]
    assert [hits[0].text for hits in again.search(new, 1)] == [6, 7, 8, 9]
    assert again.search(new, 2) == third.search(new, 2)
    assert again.verify() == []


PHRASES = [
    "one river",
    "two books",
    "big horses",
    "small trains",
    "old kings",
    "young cats",
    "red apples",
    "blue birds",
]


def add_slowly(folder: Path, encoder_folder: Path, word: str, barrier: Any) -> None:
    """Add eight texts in eight segments, in a process; every segment starts with that of the other process."""
    index = PhraseIndex.load(folder, Encoder.from_pretrained(encoder_folder, device="cpu", max_length=32))
    for text in PHRASES:
        barrier.wait()
        index.add([f"{word} {text}"], progress=False)


@pytest.mark.slow
def test_processes_add_to_one_folder(encoder: Encoder, saved: Path, small_encoder_folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, words = context.Barrier(2), ("the", "an")
    processes = [context.Process(target=add_slowly, args=(saved, small_encoder_folder, w, barrier)) for w in words]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    index = PhraseIndex.load(saved, encoder)
    assert len(index) == len(TEXTS) + 16
    assert index.verify() == []
    for word in words:
        phrases = [f"{word} {text}" for text in PHRASES]
        found = [hits[0] for hits in index.search(phrases, 1)]
        assert [hit.words for hit in found] == phrases
        assert [hit.text for hit in found] == sorted(hit.text for hit in found)


def test_folders_of_the_user_are_left_alone(encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    for name in ("20240101", "00001", "segment-notes", ".adding-1", "segment-" + "x" * 32):
        (saved / name).mkdir()
        (saved / name / "thesis.txt").write_text("years of work")
    index = PhraseIndex.load(saved, encoder)
    index.add(["the dog"])
    assert len(list(saved.glob("*/thesis.txt"))) == 5
    other = PhraseIndex(encoder)
    with pytest.raises(FileExistsError, match="is not empty"):
        other.save(saved)
    assert len(PhraseIndex.load(saved, encoder)) == 7
    (tmp_path / "empty").mkdir()
    other.save(tmp_path / "empty")
    assert len(PhraseIndex.load(tmp_path / "empty", encoder)) == 0
    with pytest.raises(ValueError, match="is inside the index itself"):
        other.save(tmp_path / "empty" / "deeper")


def test_an_index_saved_where_it_is_stays_and_others_go(encoder: Encoder) -> None:
    kept, dropped = PhraseIndex(encoder), PhraseIndex(encoder)
    kept.add(TEXTS)
    folders = kept.folder, dropped.folder
    kept.save(kept.folder)
    del kept, dropped
    gc.collect()
    assert not folders[1].exists()
    assert len(PhraseIndex.load(folders[0], encoder)) == len(TEXTS)
    shutil.rmtree(folders[0])


def test_folders_may_be_relative_or_of_the_user(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    index = PhraseIndex(encoder)
    index.save("index")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    index.add(["the dog"])
    assert len(PhraseIndex.load("~/index", encoder)) == 1
    index.save("~/copy")
    assert len(PhraseIndex.load(tmp_path / "copy", encoder)) == 1


def test_another_encoder_is_refused(encoder: Encoder, saved: Path, small_encoder_folder: Path) -> None:
    other = Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu", max_length=32)
    index = PhraseIndex.load(saved, other)  # the pooling has no part in it
    before = other.fingerprint(tokens=True)
    with torch.no_grad():
        other.word_embeddings.weight[7] += 0.1  # one row: what a short training may do
    message = f"made with another encoder .*{before}.*{other.fingerprint(tokens=True)}"
    for call in (
        lambda: index.search(["the dog"]),
        lambda: index.add(["the dog"]),
        lambda: PhraseIndex.load(saved, other),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert len(PhraseIndex.load(saved, encoder)) == len(TEXTS)


def test_a_vector_too_large_for_float16_is_refused(
    encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Encoder.encode_tokens

    def larger(self: Encoder, texts: list[str], **options: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        found = real(self, texts, **options)
        return [
            (vectors * np.float32(1e6 if "river" in text else 1), offsets)
            for text, (vectors, offsets) in zip(texts, found, strict=True)
        ]

    monkeypatch.setattr(Encoder, "encode_tokens", larger)
    monkeypatch.setattr(passages, "CHARACTERS", 10)
    index = PhraseIndex.load(saved, encoder)
    with pytest.raises(ValueError, match=r"texts\[3\] has a word whose vector float16 cannot hold.*: 'the river'"):
        index.add(["the dog runs", "the cat sits", "water", "the river"])
    assert len(PhraseIndex.load(saved, encoder)) == len(index) == len(TEXTS) + 2
    exact = PhraseIndex(encoder, dtype="float32")
    exact.add(["the river"])
    assert exact.search(["water"], 1)[0][0].text == 0


def test_refusals_name_what_is_wrong(encoder: Encoder) -> None:
    index = PhraseIndex(encoder)
    index.add(["the dog"])
    for message, call in {
        r"phrases\[1\] has no words to search for: ' '": lambda: index.search(["a", " "]),
        "k must be at least 1, it is 0": lambda: index.search(["a"], 0),
        "unknown dtype 'float8'; choose one of float16, float32": lambda: PhraseIndex(encoder, dtype="float8"),
        "they are 3 and 2": lambda: PhraseIndex(encoder, min_size=3, max_size=2),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="put it into a list"):
        index.search("the dog")
    with pytest.raises(TypeError, match=r"k must be a whole number, it is 2\.5"):
        index.search(["a"], 2.5)


def test_progress(encoder: Encoder, capsys: pytest.CaptureFixture[str]) -> None:
    index = PhraseIndex(encoder)
    index.add(["the dog"], progress=False)
    index.add(["the dog"])
    assert capsys.readouterr().err == ""
    index.add(["the dog", "a cat"], progress=True)
    assert "2/2" in capsys.readouterr().err
    index.add(iter(["the dog"]), progress=True)
    assert "add: 1 texts" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_leaves_the_index_of_its_parent(encoder: Encoder) -> None:
    index = PhraseIndex(encoder)
    index.add(TEXTS)
    removing = index._scratch
    assert removing
    call = removing.peek()
    assert call
    _, remove, (*place, process), _ = call
    assert process == os.getpid()
    remove(*place, process + 1)  # what a child that ends does
    assert len(PhraseIndex.load(index.folder, encoder)) == len(TEXTS)
    folder = index.folder
    removing()
    assert not folder.exists()


def test_an_index_is_copied_once_it_is_saved(small_encoder_folder: Path, tmp_path: Path) -> None:
    index = PhraseIndex(Encoder.from_pretrained(small_encoder_folder, device="cpu"))
    index.add(["the dog runs", "a man plays the guitar"], progress=False)
    for copied in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="this index is not saved"):
            copied(index)
    index.save(tmp_path / "index")
    own = index.search(["guitar"], 1)
    again = pickle.loads(pickle.dumps(index))
    twin = copy.copy(index)
    del index
    assert twin.search(["guitar"], 1) == again.search(["guitar"], 1) == own
