"""Encoders that read no context: means by hand, both text formats of word vectors, and bags of words."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from experiments.peers import BagOfWords, StaticEncoder, WordVectors, load
from experiments.run import RunRecord, RunSettings, fingerprint_now, run, weights_fingerprint
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn

from sentlab import data
from sentlab.data.rows import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.evaluation.sts import evaluate_sts, pair_cosines

KNOWN = {"dog": (2, 0), "cat": (1.5, 0.5), "runs": (0, 4)}


@pytest.fixture
def model() -> StaticModel:
    """A model of three words with known vectors and of the words of toy STS with random ones."""
    texts = [text for pair in data.load("toy-sts", "test") for text in (pair.text_a, pair.text_b)]
    others = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text)} - set(KNOWN))
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(["[UNK]", *KNOWN, *others])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    drawn = np.random.default_rng(0).normal(size=(len(others), 2))
    vectors = np.concatenate([[(9, 9)], list(KNOWN.values()), drawn]).astype(np.float32)
    return StaticModel(vectors, tokenizer, config={"normalize": False})


@pytest.fixture
def folder(model: StaticModel, tmp_path: Path) -> Path:
    """That model as model2vec saves it."""
    model.save_pretrained(str(tmp_path / "static"))
    return tmp_path / "static"


def test_a_vector_is_the_mean_of_the_known_words(folder: Path) -> None:
    encoder = StaticEncoder(folder)
    vectors = encoder.encode(["dog runs", "cat", "unheard"])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, encoder.dim)
    np.testing.assert_allclose(vectors, [[1, 2], [1.5, 0.5], [0, 0]])


def test_the_cosine_of_two_bags_of_words_counts_their_common_words() -> None:
    texts = ["The dog runs, the DOG!", "the cat runs", "It\u2019s raining", "...", "\u0c15 dog"]
    vectors = BagOfWords().encode(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, BagOfWords.dim)
    expected = np.zeros((5, 5))
    words = [{"the", "dog", "runs"}, {"the", "cat", "runs"}, {"it", "s", "raining"}, set(), {"\u0c15", "dog"}]
    for i, one in enumerate(words):
        for j, other in enumerate(words):
            expected[i, j] = len(one & other) / max(1, len(one) * len(other)) ** 0.5
    pairs = Corpus("all", "test", tuple(ScoredPair(a, b, 1.0) for a in texts for b in texts), "made by the test")
    np.testing.assert_allclose(pair_cosines(BagOfWords(), pairs).reshape(5, 5), expected, atol=1e-6)
    assert isinstance(load({"source": "words"}), BagOfWords)


def test_load_tells_static_embeddings_from_encoders(folder: Path, small_encoder_folder: Path) -> None:
    assert isinstance(load({"source": str(folder), "pooling": "mean", "max_length": 64}), StaticEncoder)
    assert isinstance(load({"source": str(small_encoder_folder), "pooling": "mean"}), Encoder)


def record(folder: Path) -> RunRecord:
    settings = {
        "encoder": {"source": str(folder), "pooling": "mean", "max_length": 64}, "dev": "toy-sts", "test": ["toy-sts"],
    }  # fmt: skip
    return RunRecord(settings=RunSettings.model_validate(settings), name="static", folder=folder.parent)


def test_a_run_records_its_scores_and_its_weights(model: StaticModel, folder: Path) -> None:
    made = run(record(folder))
    assert made.results
    score = evaluate_sts(StaticEncoder(folder), data.load("toy-sts", "test"), progress=False).average
    assert made.results.before.scores["mean"]["toy-sts"] == pytest.approx(score, abs=0.006)
    first = made.provenance.encoder["fingerprint"]
    StaticModel(model.embedding + 1, model.tokenizer, config={"normalize": False}).save_pretrained(str(folder))
    assert run(record(folder), again=True).provenance.encoder["fingerprint"] != first
    encoder = Encoder.from_pretrained("tiny")
    encoder.post = nn.Linear(1, 1)  # in the place of whitening
    assert weights_fingerprint(encoder) != fingerprint_now("tiny")


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
        ("windows.txt.gz", GLOVE.replace("\n", "\r\n")),
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


def test_words_with_spaces_numbers_and_odd_characters(tmp_path: Path) -> None:
    words = [",", ". . .", "at name@domain.com", "2", "x\u2028y\u0085z", "\u00a0"]
    text = "6 2\n" + "".join(f"{word} {i} 0.5\n" for i, word in enumerate(words))
    vectors = WordVectors.read(write(tmp_path / "840B.txt", text))
    assert list(vectors.places) == words
    assert vectors.vectors[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_the_first_of_equal_words_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "twice.txt", GLOVE + "dog 9 9 9\nthe 9 9 9\ndog 8 8 8\n")
    vectors = WordVectors.read(path)
    assert vectors.encode(["dog"]).tolist() == [[0, 2, 0]]
    assert len(vectors.places) == 4


@pytest.mark.parametrize("more", ["", " three", " nan"])
def test_a_wrong_line_is_an_error(tmp_path: Path, more: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        WordVectors.read(write(tmp_path / "f.vec", f"{GLOVE}bird 1 2{more}\n"))


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
    np.testing.assert_array_equal(vectors.encode(iter(["dog", "cat"])), vectors.vectors[1:3])


def test_sts_takes_word_vectors_and_a_text_without_known_words_has_cosine_0(glove: Path) -> None:
    rows = [ScoredPair("the dog", "dog the", 5.0), ScoredPair("the", "runs", 3.0), ScoredPair("dog", "a zebra", 0.0)]
    corpus = Corpus("three", "test", tuple(rows), "made by the test")
    vectors = WordVectors.read(glove)
    np.testing.assert_allclose(pair_cosines(vectors, corpus), [1, 4 / np.linalg.norm([4, 4, 4.25]), 0], atol=1e-6)
    assert evaluate_sts(vectors, corpus).scores == {"three": pytest.approx(100.0)}
