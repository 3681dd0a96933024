"""The one call for all rows: each kind equals its own function, and scores of chosen items are those of these rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.peers import WordVectors
from scipy import stats
from trained import Angles

from sentlab.data import toy
from sentlab.data.rows import Corpus, DuplicateQuestion, PhraseInContext, PhrasePair, ScoredPair, WordPair
from sentlab.encoder import Encoder
from sentlab.evaluation import Evaluation, dev_score, evaluate, gold_of
from sentlab.evaluation.mining import evaluate_mining
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval
from sentlab.evaluation.sts import evaluate_sts, pair_cosines


class Letters:
    """Encodes a text as how many of some letters it has."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[1 + text.lower().count(letter) for letter in "abceinorst"] for text in texts], np.float64)


def corpus_of(name: str, split: str = "test", size: int = 60) -> Corpus[Any]:
    return toy.load(name, split, size=size)


CONTEXTS = [
    PhraseInContext(phrase, context, context.index(match), context.index(match) + len(match), score)
    for phrase, context, match, score in (
        ("a dog runs", "in the old village a dog is walking by the river", "a dog is walking", 4.5),
        ("the king reads a letter", "a man who is old is reading books", "is reading", 2.0),
        ("girl", "the child eats and the girls play", "the girls", 4.5),
        ("a red boat", "the boat is on the river in the city", "the boat", 3.0),
        ("the bread", "a horse eats grass and hay", "hay", 0.5),
    )
]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=128, device="cpu")


def test_scored_pairs_are_sts() -> None:
    corpus = corpus_of("toy-sts")
    result = evaluate(Letters(), corpus)
    assert result.scores == evaluate_sts(Letters(), corpus).scores
    assert np.array_equal(result.items, pair_cosines(Letters(), corpus))
    assert result.gold is not None
    assert result.gold.tolist() == [row.score for row in corpus]
    assert result.correlation == "spearman"


def test_questions_are_retrieval() -> None:
    rows = [DuplicateQuestion(f"how to {a}", f"ways to {a}") for a in ("sing", "run fast", "bake bread", "read")]
    rows.append(DuplicateQuestion("how to swim", "how to swim"))
    result, ranked = evaluate(Letters(), rows), evaluate_retrieval(Letters(), rows)
    assert result.left_out == {"query whose own text alone is relevant": 1}
    assert result.scores == ranked.scores
    assert list(result.scores) == ["rows map", "rows mrr@10"]
    assert result.gold is result.correlation is None


def words(*rows: tuple[str, str, float]) -> list[WordPair]:
    return [WordPair(*row) for row in rows]


def test_words_and_phrases_are_spearman_of_cosines() -> None:
    four = evaluate(Angles(), words(("0", "10", 9.0), ("0", "20", 5.0), ("0", "30", 7.0), ("0", "40", 1.0)))
    assert four.scores == {"rows": pytest.approx(100 * (1 - 6 * 2 / (4 * 15)))}  # two neighbours swapped
    phrases = [PhrasePair("0", "10", "equivalence", 0.1), PhrasePair("10", "40", "independent", 0.9)]
    assert evaluate(Angles(), phrases).scores == {"rows": pytest.approx(-100)}


def test_a_word_with_itself_ties_with_every_other_such_pair() -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 7))
    itself = np.array([v @ v / (np.linalg.norm(v) * np.linalg.norm(v)) for v in vectors])
    assert len(set(itself.tolist())) > 1  # rounding errors, which must not become ranks

    class Rows:
        def encode(self, texts: list[str]) -> np.ndarray:
            return vectors[[int(text) for text in texts]]

    pairs = [(str(i), str(i), float(i % 3)) for i in range(20)] + [(str(i), str(i + 10), -1.0) for i in range(20, 30)]
    cosines = [1.0] * 20 + [
        float(vectors[i] @ vectors[i + 10] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[i + 10]))
        for i in range(20, 30)
    ]
    expected = stats.spearmanr(cosines, [score for _, _, score in pairs]).statistic
    assert evaluate(Rows(), words(*pairs)).score() == pytest.approx(100 * expected, abs=1e-9)


def test_pairs_with_a_zero_vector_are_scored_by_0() -> None:
    table = np.array([[1, 0], [0.6, 0.8], [-1, 0.1]], np.float32)
    vectors = WordVectors({"sun": 0, "moon": 1, "anti": 2}, table)
    result = evaluate(vectors, words(("sun", "moon", 9), ("sun", "zzz", 5), ("qqq", "zzz", 4), ("sun", "anti", 1)))
    assert result.items[1:3].tolist() == [0, 0]
    assert result.score() == pytest.approx(100 * stats.spearmanr([0.6, 0, 0, -1], [9, 5, 4, 1]).statistic)


@pytest.mark.parametrize("setup", [None, "full", "ngrams"])
def test_phrases_in_contexts_are_mining(encoder: Encoder, setup: Any) -> None:
    found, mined = evaluate(encoder, CONTEXTS, setup=setup), evaluate_mining(encoder, CONTEXTS, setup or "spans")
    name = f"rows {setup or 'spans'}"
    expected = {f"{name} pearson": mined.pearson, f"{name} spearman": mined.spearman}
    if setup != "full":  # where no match is sought
        expected[f"{name} found"] = mined.found
    assert found.scores == expected
    assert np.array_equal(found.items, mined.similarities)
    assert found.correlation == "pearson"
    assert found.score() == mined.pearson


def test_the_score_of_chosen_items_is_that_of_their_rows() -> None:
    corpus = corpus_of("toy-sts")
    chosen = np.random.default_rng(0).integers(len(corpus), size=len(corpus))  # with repeats
    drawn = Corpus("toy-sts", "test", tuple(corpus[int(i)] for i in chosen), "drawn")
    assert evaluate(Letters(), corpus).score(chosen) == pytest.approx(evaluate(Letters(), drawn).scores["toy-sts"])
    assert evaluate(Letters(), corpus).score(slice(20)) == pytest.approx(
        evaluate(Letters(), corpus[:20]).scores["rows"]
    )
    assert Evaluation({}, np.array([0.0, 50.0, 100.0]), None, None).score([0, 1, 1]) == pytest.approx(100 / 3)


@pytest.mark.parametrize("name", ["toy-sts", "toy-words", "toy-reranking", "toy-duplicates"])
def test_stored_items_with_the_gold_of_their_rows_are_the_evaluation(name: str) -> None:
    corpus = corpus_of(name)
    found = evaluate(Letters(), corpus)
    assert Evaluation({}, found.items, *gold_of(corpus)).score() == pytest.approx(next(iter(found.scores.values())))


def test_dev_scores_are_those_of_sts_and_mining(encoder: Encoder) -> None:
    assert dev_score(CONTEXTS, setup="ngrams")(encoder) == evaluate_mining(encoder, CONTEXTS, "ngrams").spearman
    questions = corpus_of("toy-reranking", "dev")
    assert dev_score(questions)(Letters()) == pytest.approx(evaluate_reranking(Letters(), questions).score())


def test_what_no_dev_score_can_be_made_of_is_refused_at_once() -> None:
    same = [ScoredPair("a", "b", 2.0), ScoredPair("a", "c", 2.0)]
    with pytest.raises(ValueError, match="different scores"):
        dev_score(same)
    with pytest.warns(UserWarning, match="test split"):
        dev_score(corpus_of("toy-sts"))


def test_scores_are_computed_in_float32_on_every_device(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, calls = Encoder.from_pretrained("tiny", pooling="mean"), set()

    def listening(name: str) -> Any:
        original = getattr(encoder, name)

        def call(texts: list[str], **options: Any) -> Any:
            calls.add((name, options.get("precision")))
            return original(texts, **options)

        return call

    for name in ("encode", "encode_tokens"):
        monkeypatch.setattr(encoder, name, listening(name))
    for setup in ("spans", "ngrams", "full"):
        evaluate_mining(encoder, CONTEXTS, setup=setup, progress=False)
    assert calls == {("encode", "float32"), ("encode_tokens", "float32")}
