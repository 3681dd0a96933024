"""Static embeddings of model2vec: means by hand, every evaluation, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from experiments.run import RunRecord, RunSettings, run
from experiments.static import BagOfWords, StaticEncoder, load
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from sentlab import data
from sentlab.data.rows import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.evaluation.sts import evaluate_sts

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
    encoder = StaticEncoder.from_pretrained(folder)
    vectors = encoder.encode(["dog runs", "cat", "unheard"])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, encoder.dim)
    np.testing.assert_allclose(vectors, [[1, 2], [1.5, 0.5], [0, 0]])
    assert encoder.encode([]).shape == (0, encoder.dim)
    lengths = np.linalg.norm(encoder.encode(["dog runs", "cat"], normalize=True), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_it_takes_part_in_sts(folder: Path) -> None:
    rows = [ScoredPair("dog", "cat", 4.0), ScoredPair("dog", "runs", 1.0), ScoredPair("cat", "runs", 2.0)]
    assert evaluate_sts(
        StaticEncoder.from_pretrained(folder), Corpus("own", "test", rows, "the test")
    ).average == pytest.approx(100)


def test_the_cosine_of_two_bags_of_words_counts_their_common_words() -> None:
    texts = ["The dog runs, the DOG!", "the cat runs", "It\u2019s raining", "...", "\u0c15 dog"]
    found = BagOfWords().encode(texts, normalize=True)
    assert found.dtype == np.float32
    assert found.shape == (5, BagOfWords.dim)
    expected = np.zeros((5, 5))
    words = [{"the", "dog", "runs"}, {"the", "cat", "runs"}, {"it", "s", "raining"}, set(), {"\u0c15", "dog"}]
    for i, one in enumerate(words):
        for j, other in enumerate(words):
            expected[i, j] = len(one & other) / max(1, len(one) * len(other)) ** 0.5
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-6)
    assert set(np.unique(BagOfWords().encode(texts))) == {0, 1}
    assert BagOfWords().encode([]).shape == (0, BagOfWords.dim)
    assert isinstance(load({"source": "words"}), BagOfWords)


def test_load_tells_static_embeddings_from_encoders(folder: Path, small_encoder_folder: Path) -> None:
    assert isinstance(load({"source": str(folder), "pooling": "mean", "max_length": 64}), StaticEncoder)
    assert isinstance(load({"source": str(small_encoder_folder), "pooling": "mean"}), Encoder)


def record(folder: Path) -> RunRecord:
    settings = {
        "encoder": {"source": str(folder), "pooling": "mean", "max_length": 64},
        "dev": "toy-sts",
        "test": ["toy-sts"],
    }
    return RunRecord(settings=RunSettings.model_validate(settings), name="static", folder=folder.parent)


def test_a_run_records_its_scores_and_its_weights(model: StaticModel, folder: Path) -> None:
    made = run(record(folder))
    assert made.results
    assert -100 <= made.results.before.scores["mean"]["toy-sts"] <= 100
    first = made.provenance.encoder.fingerprint
    other = StaticModel(model.embedding + 1, model.tokenizer, config={"normalize": False})
    other.save_pretrained(str(folder))
    assert run(record(folder)).provenance.encoder.fingerprint != first
