"""Hard pairs: which pairs they are, what is counted, how they are loaded, and how many public ones there are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sentlab import data
from sentlab.data.hard_pairs import NEGATIVE, POSITIVE, hard_pairs
from sentlab.data.rows import Corpus, LabelledPair, ScoredPair
from sentlab.evaluation import sts as evaluation


def pair(score: float, words_a: int, words_b: int) -> ScoredPair:
    return ScoredPair(" ".join(["a"] * words_a), "  ".join(["b"] * words_b), score)  # white space, however wide


def corpus(*rows: object) -> Corpus:
    return Corpus("mine", "dev", rows, "my file", {"no gold": 2})


@pytest.mark.parametrize(
    ("score", "words_a", "words_b", "hard"),
    [
        (4.0, 3, 9, True), (5.0, 9, 3, True), (4.0, 3, 8, False), (5.0, 3, 3, False), (3.99, 3, 9, False),
        (1.0, 3, 4, True), (0.0, 4, 3, True), (0.0, 3, 3, True), (1.0, 3, 5, False), (1.01, 3, 3, False),
        (0.0, 3, 9, False), (2.5, 3, 3, False), (2.5, 3, 9, False),
    ],
)  # fmt: skip
def test_a_pair_is_hard_where_its_lengths_mislead(score: float, words_a: int, words_b: int, hard: bool) -> None:
    always = pair(5.0, 1, 20)
    found = hard_pairs(corpus(always, pair(score, words_a, words_b)))
    assert list(found) == [always, *([pair(score, words_a, words_b)] if hard else [])]


def test_the_others_are_counted_and_the_origin_is_kept() -> None:
    rows = (pair(5.0, 2, 9), pair(3.0, 2, 9), pair(0.2, 4, 4), pair(5.0, 4, 4))
    found = hard_pairs(corpus(*rows))
    assert found.rows == (rows[0], rows[2])
    assert (found.name, found.split, found.source) == ("mine-hard", "dev", "hard pairs of my file")
    assert found.left_out == {"no gold": 2, "neither": 2}


def test_positive_means_the_same_as_in_evaluation() -> None:
    assert evaluation.POSITIVE == POSITIVE > NEGATIVE


def test_errors_name_the_corpus() -> None:
    with pytest.raises(
        ValueError, match=r"mine \(dev\) has no hard pair: .* 4 or more .* 5 words .* 1 or less .* 2 words"
    ):
        hard_pairs(corpus(pair(5.0, 3, 3)))
    with pytest.raises(ValueError, match=r"mine \(dev\) must hold ScoredPair rows; it holds LabelledPair"):
        hard_pairs(corpus(pair(0.0, 3, 3), LabelledPair("a", "b", "neutral")))
    with pytest.raises(TypeError, match=r"give a Corpus, not a tuple: Corpus\('mine', "):
        hard_pairs(corpus(pair(5.0, 3, 3))[:1])  # type: ignore[arg-type]


class LengthEncoder:
    """Sentences of one length are the same to it; those of other lengths are unlike."""

    def encode(self, texts: list[str], /) -> np.ndarray:
        angle = np.array([len(text.split()) for text in texts]) / 20
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_hard_pairs_are_loaded_and_evaluated_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "STS/STS12-en-test"
    folder.mkdir(parents=True)
    (folder / "STS.input.x.txt").write_text("a b c\td e f\na\tb c d e f g h\na\ta\n")
    (folder / "STS.gs.x.txt").write_text("0.5\n4.5\n5\n")
    found = data.load("sts12-hard", folder=tmp_path)
    assert [row.score for row in found] == [0.5, 4.5]
    assert found.name == "sts12-hard"
    assert evaluation.evaluate_sts(LengthEncoder(), "sts12-hard", folder=tmp_path).scores[
        "sts12-hard"
    ] == pytest.approx(-100)
    assert evaluation.evaluate_sts(LengthEncoder(), found).left_out == {"sts12-hard": {"neither": 1}}
    with pytest.raises(ValueError, match="sts12-hard has no split 'train'; it has test"):
        data.load("sts12-hard", "train")


def test_toy_hard_pairs_mislead_an_encoder_of_lengths() -> None:
    found = data.load("toy-sts-hard")
    positive = sum(row.score >= POSITIVE for row in found)
    assert (positive, len(found) - positive, found.left_out) == (7, 121, {"neither": 1500 - 128})
    result = evaluation.evaluate_sts(LengthEncoder(), ["toy-sts", found])
    assert result.scores["toy-sts-hard"] < 0 < result.scores["toy-sts"]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("year", "positive", "negative"),
    [("sts12", 99, 182), ("sts13", 20, 247), ("sts14", 177, 318), ("sts15", 30, 291), ("sts16", 19, 196)],
)
def test_public_hard_pairs(real_data: Path, year: str, positive: int, negative: int) -> None:
    golds = [row.score for row in data.load(f"{year}-hard", folder=real_data)]
    assert sum(gold >= POSITIVE for gold in golds) == positive
    assert sum(gold <= NEGATIVE for gold in golds) == negative
    assert len(golds) == positive + negative
