"""The index of phrases: what it finds, what it keeps through kills, and which folders it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import sentlab
from sentlab.encoder import Encoder
from sentlab.search import phrase_index
from sentlab.search.phrase_index import PhraseIndex, fingerprint, passages
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
    index = PhraseIndex(encoder, max_size=5)
    index.add(TEXTS)
    index.save(tmp_path / "index")
    return tmp_path / "index"


def slow_hits(encoder: Encoder, texts: list[str], phrase: str, sizes: range) -> list[tuple[float, int, int, int]]:
    """(similarity, text, start, end) of all spans of words, best first, without those that overlap a better one."""
    query = encoder.encode_tokens([phrase])[0][0].astype(np.float64).mean(0)
    found = []
    for number, (vectors, offsets) in enumerate(encoder.encode_tokens(texts)):
        edges = word_boundaries(texts[number], offsets)
        for first in range(len(edges) - 1):
            for last in range(first + sizes.start, min(first + sizes.stop, len(edges))):
                mean = vectors[edges[first] : edges[last]].astype(np.float64).mean(0)
                cosine = query @ mean / np.linalg.norm(query) / np.linalg.norm(mean)
                found.append((cosine, number, int(offsets[edges[first], 0]), int(offsets[edges[last] - 1, 1])))
    hits: list[tuple[float, int, int, int]] = []
    for hit in sorted(found, key=lambda hit: (-round(hit[0], 5), *hit[1:])):
        if all(hit[1] != other[1] or hit[2] >= other[3] or hit[3] <= other[2] for other in hits):
            hits.append(hit)
    return hits


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float16", 1e-3)])
def test_search_is_that_of_all_spans(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, dtype: str, tolerance: float
) -> None:
    monkeypatch.setattr(phrase_index, "CHARACTERS", 60)  # so that there are several segments
    index = PhraseIndex(encoder, min_size=2, max_size=4, dtype=dtype)
    index.add(TEXTS[:3])
    index.add(iter(TEXTS[3:]))
    assert (len(index), len(list(index.folder.glob("0*")))) == (6, 3)
    phrases = ["guitar music", "dogs are eating", "doesn't"]
    for phrase, hits in zip(phrases, index.search(phrases, 6), strict=True):
        slow = slow_hits(encoder, TEXTS, phrase, range(2, 5))[:6]
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


def test_a_long_text_is_searched_to_its_end(encoder: Encoder) -> None:
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
    assert isinstance(again._segments[0].vectors, np.memmap)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_what_was_committed_survives_a_kill(
    encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Killed(BaseException):
        pass

    def die(*args: object) -> None:
        raise Killed

    before = PhraseIndex.load(saved, encoder).search(["the dog"], 4)
    monkeypatch.setattr(phrase_index, "CHARACTERS", 1)
    for name in ("_write", "_commit"):  # within a segment, and between it and the manifest
        index = PhraseIndex.load(saved, encoder)
        real, left = getattr(PhraseIndex, name), [2]  # the second segment is not committed

        def second(self: PhraseIndex, value: object, real: Callable = real, left: list[int] = left) -> object:
            left[0] -= 1
            if left[0]:
                return real(self, value)
            if real.__name__ == "_write":
                (self.folder / f"{len(self._segments):05d}").mkdir()
                (self.folder / f"{len(self._segments):05d}" / "vectors").write_bytes(b"half")
            raise Killed

        count = len(index)
        with monkeypatch.context() as patch:
            patch.setattr(PhraseIndex, name, second)
            with pytest.raises(Killed):
                index.add(["one book", "two cats", "three"])
        (saved / f".{phrase_index.MANIFEST}.123.part").write_text("{")  # as a kill in writing the manifest leaves it
        index = PhraseIndex.load(saved, encoder)
        assert len(index) == count + 1
        assert index.search(["the dog"], 4)[0][0] == before[0][0]
        assert len(list(saved.glob("0*"))) == len(index._segments) + 1
        index.add([])
        assert len(list(saved.glob("0*"))) == len(index._segments)
        assert not list(saved.glob(".*"))
    monkeypatch.setattr(phrase_index.shutil, "copytree", die)
    with pytest.raises(Killed):
        index.save(tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index"]
    assert index.folder == saved


def test_an_iterable_that_fails_leaves_what_was_committed(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_index, "CHARACTERS", 5)

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


def test_two_writers_are_told(encoder: Encoder, saved: Path) -> None:
    first, second = (PhraseIndex.load(saved, encoder) for _ in range(2))
    first.add(["the dog"])
    with pytest.raises(RuntimeError, match="was changed since"):
        second.add(["the cat"])
    assert len(PhraseIndex.load(saved, encoder)) == len(first) == 7


def test_another_encoder_is_refused(encoder: Encoder, saved: Path, small_encoder_folder: Path) -> None:
    other = Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu")
    assert PhraseIndex.load(saved, other)  # the pooling has no part in it
    with torch.no_grad():
        for weight in other.backbone.encoder.layer[1].output.dense.parameters():
            weight += 0.1
    with pytest.raises(ValueError, match=f"made with another encoder .*{fingerprint(encoder)}.*{fingerprint(other)}"):
        PhraseIndex.load(saved, other)


def test_damaged_and_foreign_folders_are_refused(encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    manifest = json.loads((saved / "phrases.json").read_text())

    def rewritten(**changes: object) -> Callable[[Path], object]:
        return lambda folder: (folder / "phrases.json").write_text(json.dumps(manifest | changes))

    damages: dict[str, Callable[[Path], object]] = {
        "is no phrase index: it has no phrases.json": lambda folder: (folder / "phrases.json").unlink(),
        "phrases.json is not JSON": lambda folder: (folder / "phrases.json").write_text('{"format": '),
        "is not of the format": rewritten(format="another"),
        "must hold dim, dtype, encoder": rewritten(segments=[{"name": "00000"}]),
        "unknown dtype 'int8'": rewritten(dtype="int8"),
        "sizes must be 1 <= min_size <= max_size": rewritten(max_size=0),
        "00001/vectors is missing": rewritten(
            segments=[*manifest["segments"], manifest["segments"][0] | {"name": "00001"}]
        ),
        r"damaged: 00000/vectors has 100 bytes instead of \d": lambda folder: (
            (folder / "00000/vectors").open("r+").truncate(100)
        ),
        "damaged: 00000/texts is missing; make it anew": lambda folder: (folder / "00000/texts").unlink(),
    }
    for i, (message, damage) in enumerate(damages.items()):
        folder = shutil.copytree(saved, tmp_path / f"copy{i}")
        damage(folder)
        with pytest.raises(ValueError, match=message):
            PhraseIndex.load(folder, encoder)
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        PhraseIndex.load(tmp_path / "nowhere", encoder)


def test_other_folders_are_left_alone(encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    index = PhraseIndex(encoder)
    with pytest.raises(FileExistsError, match="is not empty"):
        index.save(saved)
    assert len(PhraseIndex.load(saved, encoder)) == 6
    (tmp_path / "empty").mkdir()
    index.save(tmp_path / "empty")
    assert len(PhraseIndex.load(tmp_path / "empty", encoder)) == 0


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


def test_progress(encoder: Encoder, capsys: pytest.CaptureFixture[str]) -> None:
    index = PhraseIndex(encoder)
    index.add(["the dog"], progress=False)
    index.add(["the dog"])
    assert capsys.readouterr().err == ""
    index.add(["the dog", "a cat"], progress=True)
    assert "2/2" in capsys.readouterr().err
    index.add(iter(["the dog"]), progress=True)
    assert "add: 1 texts" in capsys.readouterr().err
