"""Word vectors: both text formats as files have them, what is wrong with a line, and means by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from experiments.word_vectors import WordVectors

from sentlab.data.rows import Corpus, ScoredPair
from sentlab.evaluation.sts import evaluate_sts, pair_cosines

GLOVE = """the 1 0 0
dog 0 2 0
cat 0 0.5 -1e-1
runs 4 4 4.25
"""


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    return write(tmp_path / "glove.txt", GLOVE)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("glove.txt", GLOVE),
        ("glove.txt.gz", GLOVE),
        ("no-last-line-feed.txt", GLOVE.rstrip("\n")),
        ("windows.txt", GLOVE.replace("\n", "\r\n")),
        ("fasttext.vec", "4 3\n" + GLOVE.replace("\n", " \n")),  # FastText ends its lines with a space
        ("word2vec.vec.gz", "4 3\n" + GLOVE),
    ],
)
def test_each_format(tmp_path: Path, name: str, text: str) -> None:
    vectors = WordVectors.read(write(tmp_path / name, text))
    assert list(vectors.places) == ["the", "dog", "cat", "runs"]
    assert vectors.vectors.dtype == np.float32
    expected = np.array([[1, 0, 0], [0, 2, 0], [0, 0.5, -0.1], [4, 4, 4.25]], dtype=np.float32)
    assert np.array_equal(vectors.vectors, expected)
    assert (len(vectors), vectors.dim, vectors.source) == (4, 3, name)


@pytest.mark.parametrize("header", ["", "6 2\n"])
def test_words_with_spaces_numbers_and_odd_characters(tmp_path: Path, header: str) -> None:
    words = [",", ". . .", "at name@domain.com", "2", "x\u2028y\u0085z", "\u00a0"]
    text = header + "".join(f"{word} {i} 0.5\n" for i, word in enumerate(words))
    vectors = WordVectors.read(write(tmp_path / "840B.txt", text))
    assert list(vectors.places) == words
    assert vectors.vectors[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_the_first_of_equal_words_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "twice.txt", GLOVE + "dog 9 9 9\nthe 9 9 9\ndog 8 8 8\n")
    vectors = WordVectors.read(path)
    assert vectors.encode(["dog"]).tolist() == [[0, 2, 0]]
    assert len(vectors) == 4
    assert len(WordVectors.read(path, vocabulary=["dog"])) == 1


def test_no_other_words_than_the_vocabulary_are_read(glove: Path) -> None:
    assert list(WordVectors.read(glove, vocabulary={"cat", "dog", "zebra"}).places) == ["dog", "cat"]
    assert WordVectors.read(glove, vocabulary=["runs"]).encode(["runs"]).tolist() == [[4, 4, 4.25]]


@pytest.mark.parametrize("line", ["bird 1 2", "bird 1 2 3 4", "bird 1 2 three", "bird 1 2 nan", "bird 1 2 1e99", ""])
def test_a_wrong_line_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match=r"f\.vec:5"):
        WordVectors.read(write(tmp_path / "f.vec", GLOVE + line + "\n"))


def test_a_header_that_promises_other_words_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="promises 7 words"):
        WordVectors.read(write(tmp_path / "f.vec", "7 3\n" + GLOVE))


def test_a_text_is_the_mean_of_its_known_words(glove: Path) -> None:
    vectors = WordVectors.read(glove)
    encoded = vectors.encode(["The dog runs!", "dog dog cat", "a zebra, the dog", "a zebra", ""])
    assert encoded.dtype == np.float32
    expected = [
        [5 / 3, 2, 4.25 / 3],
        [0, 1.5, -0.1 / 3],
        [0.5, 1, 0],  # of the two known words alone
        [0, 0, 0],
        [0, 0, 0],
    ]
    np.testing.assert_allclose(encoded, expected, atol=1e-6)
    assert vectors.encode([]).shape == (0, 3)
    np.testing.assert_array_equal(vectors.encode(iter(["dog", "cat"])), vectors.vectors[1:3])


def test_sts_takes_word_vectors_and_a_text_without_known_words_has_cosine_0(glove: Path) -> None:
    rows = [ScoredPair("the dog", "dog the", 5.0), ScoredPair("the", "runs", 3.0), ScoredPair("dog", "a zebra", 0.0)]
    corpus = Corpus("three", "test", tuple(rows), "made by the test")
    vectors = WordVectors.read(glove)
    np.testing.assert_allclose(pair_cosines(vectors, corpus), [1, 4 / np.linalg.norm([4, 4, 4.25]), 0], atol=1e-6)
    assert evaluate_sts(vectors, corpus).scores == {"three": pytest.approx(100.0)}
