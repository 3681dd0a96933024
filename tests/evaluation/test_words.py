"""Word and phrase similarity: correlations by hand, unknown words, and words in context against a literal loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from angles import Angles
from experiments.peers import WordVectors
from scipy import stats

from sentlab.data.rows import Corpus, PhrasePair, WordPair
from sentlab.encoder import Encoder
from sentlab.evaluation.words import evaluate_similarity


def words(name: str, *rows: tuple[str, str, float]) -> Corpus[WordPair]:
    return Corpus(name, "test", tuple(WordPair(*row) for row in rows), f"{name}.txt", {"no score": 1})


FOUR = words("four", ("0", "10", 9.0), ("0", "20", 5.0), ("0", "30", 7.0), ("0", "40", 1.0))


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=12, device="cpu")


def test_the_score_is_spearman_of_cosines_by_hand() -> None:
    result = evaluate_similarity(Angles(), FOUR)
    assert result.scores == {"four": pytest.approx(100 * (1 - 6 * 2 / (4 * 15)))}  # two neighbours swapped
    assert result.unknown == {"four": 0}
    assert result.left_out == {"four": {"no score": 1}}


def test_words_and_phrases_are_encoded_once_together_and_averaged() -> None:
    rows = (PhrasePair("0", "10", "equivalence", 0.1), PhrasePair("10", "40", "independent", 0.9))
    encoder = Angles()
    result = evaluate_similarity(encoder, [FOUR, Corpus("phrases", "test", rows, "by hand")])
    assert [sorted(call) for call in encoder.calls] == [["0", "10", "20", "30", "40"]]
    assert result.scores["phrases"] == pytest.approx(-100)
    assert result.average == pytest.approx((80 - 100) / 2)


def test_a_word_with_itself_ties_with_every_other_such_pair() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(40, 7))
    own = np.array([v @ v / (np.linalg.norm(v) * np.linalg.norm(v)) for v in vectors])
    assert len(set(own.tolist())) > 1  # rounding errors, which must not become ranks

    class Rows:
        def encode(self, texts: list[str]) -> np.ndarray:
            return vectors[[int(text) for text in texts]]

    pairs = [(str(i), str(i), float(i % 3)) for i in range(20)] + [(str(i), str(i + 10), -1.0) for i in range(20, 30)]
    cosines = [1.0] * 20 + [
        float(vectors[i] @ vectors[i + 10] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[i + 10]))
        for i in range(20, 30)
    ]
    expected = stats.spearmanr(cosines, [score for _, _, score in pairs]).statistic
    assert evaluate_similarity(Rows(), words("own", *pairs)).scores["own"] == pytest.approx(100 * expected, abs=1e-9)


def test_pairs_with_a_zero_vector_are_counted_and_scored_by_0() -> None:
    table = np.array([[1, 0], [0.6, 0.8], [-1, 0.1]], np.float32)
    vectors = WordVectors({"sun": 0, "moon": 1, "anti": 2}, table, "by hand")
    corpus = words("sky", ("sun", "moon", 9), ("sun", "zzz", 5), ("qqq", "zzz", 4), ("sun", "anti", 1))
    result = evaluate_similarity(vectors, corpus)
    assert result.unknown == {"sky": 2}
    expected = stats.spearmanr([0.6, 0, 0, -1], [9, 5, 4, 1]).statistic
    assert result.scores["sky"] == pytest.approx(100 * expected)


def test_a_transformer_does_not_know_what_its_tokenizer_does_not(encoder: Encoder) -> None:
    corpus = words("unk", ("dog", "cat", 3), ("dog", "βίος", 2), ("the βίος", "cat", 1), ("king", "house", 0))
    assert evaluate_similarity(encoder, corpus).unknown == {"unk": 2}
