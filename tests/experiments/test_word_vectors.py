"""Word vectors: both text formats as files have them, what is wrong with a line, and means by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from experiments.word_vectors import WordVectors

from sentlab.data.rows import Corpus, ScoredPair
from sentlab.evaluation.sts import evaluate_sts, pair_cosines
from sentlab.text.words import tokens

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


# reading


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
    with pytest.raises(ValueError, match=r"glove\.txt: none of its 4 words is in the vocabulary"):
        WordVectors.read(glove, vocabulary=["zebra"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GLOVE + "bird 1 2\n", r"f\.vec:5: expected a word and 3 values, found 2 values: bird 1 2"),
        (GLOVE + "bird 1 2 3 4\n", r"f\.vec:5: expected a word and 3 values, found more values"),
        (GLOVE + "bird 1 2 three\n", r"f\.vec:5: .*'three'"),
        (GLOVE + "bird 1 2 nan\n", r"f\.vec:5: a value is not finite: nan"),
        (GLOVE + "bird 1 2 1e99\n", r"f\.vec:5: a value is not finite: 1e99"),
        (GLOVE + "\n", r"f\.vec:5: expected a word and 3 values, found 0 values"),
        (GLOVE + " 1 2 3\n", r"f\.vec:5: expected a word"),
        ("4 2\n" + GLOVE, r"f\.vec:2: expected a word and 2 values, found more values"),
        ("4 4\n" + GLOVE, r"f\.vec:2: expected a word and 4 values, found 3 values"),
        ("7 3\n" + GLOVE, r"f\.vec:1: the header promises 7 words, but 4 follow"),
        ("3 3\n" + GLOVE, r"f\.vec:1: the header promises 3 words, but 4 follow"),
        ("word\n", r"f\.vec:1: expected a word and its values, found 0 values"),
        ("", r"f\.vec: none of its 0 words could be read"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WordVectors.read(write(tmp_path / "f.vec", text))


def test_files_that_are_no_text_or_cut_off(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(GLOVE.encode() + "caf\u00e9 1 2 3\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.txt:5: expected UTF-8, found byte 0xe9"):
        WordVectors.read(tmp_path / "latin.txt")
    (tmp_path / "cut.gz").write_bytes(gzip.compress((GLOVE * 300).encode())[:-30])
    with pytest.raises(ValueError, match=r"cut\.gz: not a whole gzip file"):
        WordVectors.read(tmp_path / "cut.gz", vocabulary=["the"])
    (tmp_path / "plain.gz").write_bytes(GLOVE.encode())
    with pytest.raises(ValueError, match=r"plain\.gz: not a whole gzip file"):
        WordVectors.read(tmp_path / "plain.gz")
    packed = bytearray(gzip.compress((GLOVE * 300).encode()))
    packed[20:40] = b"\xff" * 20
    (tmp_path / "noise.gz").write_bytes(packed)
    with pytest.raises(ValueError, match=r"noise\.gz: not a whole gzip file"):
        WordVectors.read(tmp_path / "noise.gz")
    with pytest.raises(FileNotFoundError):
        WordVectors.read(tmp_path / "nowhere.txt")


# encoding


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The dog RUNS.", "the dog runs"),
        ('A well-known dog\'s "3.5" kg!', "a well known dog 's 3.5 kg"),
        ("I don't, he can\u2019t: we're; they'll", "i do n't he ca n't we 're they 'll"),
        ("It is n't the dog 's 1,000 'cats'", "it is n't the dog 's 1,000 cats"),
        ("Dunn\u2019s under_score \u00c9tude 4x4", "dunn 's under score \u00e9tude 4x4"),
        ("na\u0131\u0308ve cafe\u0301s don't", "na\u0131\u0308ve caf\u00e9s do n't"),
        ("\u0928\u0940 \u092d\u093e!", "\u0928\u0940 \u092d\u093e"),  # vowel signs are marks
        ("?! ...", ""),
        ("", ""),
    ],
)
def test_tokens(text: str, words: str) -> None:
    assert tokens(text) == words.split()


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


def test_what_is_no_list_of_strings_is_refused(glove: Path) -> None:
    with pytest.raises(TypeError, match="put it into a list"):
        WordVectors.read(glove).encode("the dog")
    with pytest.raises(TypeError, match=r"texts\[1\] is NoneType"):
        WordVectors.read(glove).encode(["the dog", None])


def test_sts_takes_word_vectors_and_a_text_without_known_words_has_cosine_0(glove: Path) -> None:
    rows = [ScoredPair("the dog", "dog the", 5.0), ScoredPair("the", "runs", 3.0), ScoredPair("dog", "a zebra", 0.0)]
    corpus = Corpus("three", "test", tuple(rows), "made by the test")
    vectors = WordVectors.read(glove)
    np.testing.assert_allclose(pair_cosines(vectors, corpus), [1, 4 / np.linalg.norm([4, 4, 4.25]), 0], atol=1e-6)
    assert evaluate_sts(vectors, corpus).scores == {"three": pytest.approx(100.0)}
