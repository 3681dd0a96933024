"""Word and phrase similarity: correlations by hand, unknown words, and words in context against a literal loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.word_vectors import WordVectors
from scipy import stats

from sentlab.data.rows import Corpus, PhrasePair, WordPair, WordPairInContext
from sentlab.encoder import Encoder
from sentlab.evaluation.words import evaluate_in_context, evaluate_similarity, vectors_in_context


class Angles:
    """Encodes the text "30" as the unit vector at 30 degrees, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        degrees = np.deg2rad([float(text) for text in texts])
        return np.stack([np.cos(degrees), np.sin(degrees)], axis=1)


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
    assert list(result.table().columns) == ["four", "phrases", "average"]


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


def in_context(*rows: tuple[str, str, float]) -> Corpus[WordPairInContext]:
    """Pairs of contexts in which <...> marks the word."""

    def marked(text: str) -> tuple[str, str, tuple[int, int]]:
        before, word, after = text.replace(">", "<").split("<")
        return word, before + word + after, (len(before), len(before) + len(word))

    made = []
    for a, b, score in rows:
        (word_a, context_a, span_a), (word_b, context_b, span_b) = marked(a), marked(b)
        made.append(WordPairInContext(word_a, word_b, score, context_a, span_a, context_b, span_b))
    return Corpus("marked", "test", tuple(made), "by hand")


SHORT = in_context(
    ("the <dog> eats an apple", "a <king> eats bread", 2.0),
    ("a big <farming>, not a dog", "the <farmer> reads", 6.0),
    ("the dog sees the <dog>", "the <dog> sees the dog", 8.0),
    ("<she>", "who is <she> ?", 9.0),
)


def test_a_word_is_the_mean_of_its_own_tokens(encoder: Encoder) -> None:
    def literal(context: str, span: tuple[int, int]) -> np.ndarray:
        (vectors, offsets), found = encoder.encode_tokens([context])[0], []
        for vector, (start, end) in zip(vectors, offsets, strict=True):
            if span[0] <= start and end <= span[1]:
                found.append(vector)
        return np.mean(found, axis=0)

    a = np.stack([literal(row.context_a, row.span_a) for row in SHORT])
    b = np.stack([literal(row.context_b, row.span_b) for row in SHORT])
    assert len(encoder.encode_tokens(["farming"])[0][0]) > 1  # several pieces
    vectors, unknown = vectors_in_context(encoder, [r.context_a for r in SHORT], [r.span_a for r in SHORT])
    assert vectors == pytest.approx(a, abs=1e-5)
    assert not unknown.any()
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    result = evaluate_in_context(encoder, SHORT)
    assert result.scores["marked"] == pytest.approx(100 * stats.spearmanr(cosines, [2, 6, 8, 9]).statistic)
    assert result.unknown == {"marked": 0}


# the encoder takes 12 tokens, 10 without [CLS] and [SEP]; "apples" is two of them and every other word one
@pytest.mark.parametrize(
    ("context", "window"),
    [
        ("the cat " * 8 + "<dog> " + "is a " * 8, "the cat the cat <dog> is a is a"),  # 9 tokens: five a side are 11
        ("a <dog> " + "is a " * 8, "a <dog> is a is a is a is a"),  # 10, most of them behind
        ("is a " * 8 + "the <dog>", "is a is a is a is a the <dog>"),
        ("the cat " * 8 + "apples <dog> apples " + "is a " * 8, "the cat apples <dog> apples is a"),  # 9
        ("a cat <dog> is on the house", "a cat <dog> is on the house"),
    ],
)
def test_a_long_context_is_cut_to_whole_words_around_the_marked_one(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, context: str, window: str
) -> None:
    assert len(encoder.tokenizer("apples", add_special_tokens=False)["input_ids"]) == 2
    whole, cut = in_context((context, window, 1.0))[0], in_context((window, window, 1.0))[0]
    expected = vectors_in_context(encoder, [cut.context_a], [cut.span_a])[0]
    asked: list[str] = []
    encode_tokens = encoder.encode_tokens

    def listening(texts: list[str], *, progress: bool, precision: str) -> list[tuple[np.ndarray, np.ndarray]]:
        asked.extend(texts)
        return encode_tokens(texts, progress=progress, precision=precision)

    monkeypatch.setattr(encoder, "encode_tokens", listening)
    vectors, unknown = vectors_in_context(encoder, [whole.context_a], [whole.span_a])
    assert asked == [cut.context_a]
    assert vectors == pytest.approx(expected, abs=1e-6)
    assert not unknown.any()


def test_words_without_a_token_are_counted_and_scored_by_0(encoder: Encoder) -> None:
    glued = "bcdfghjklmnpqrstvwxz" + "dog"  # one word: its marked end is behind the twelfth token
    contexts = ["the \u200b\u00ad dog", glued, "a βίος dog", "the dog"]
    spans = [(4, 6), (len(glued) - 3, len(glued)), (2, 6), (4, 7)]
    vectors, unknown = vectors_in_context(encoder, contexts, spans)
    assert unknown.tolist() == [True, True, True, False]
    assert vectors.any(axis=1).tolist() == [False, False, True, True]  # the third is the vector of [UNK]
    rows = [
        WordPairInContext("x", "dog", score, context, span, "the dog", (4, 7))
        for score, context, span in zip((1.0, 2.0, 3.0, 4.0), contexts, spans, strict=True)
    ]
    result = evaluate_in_context(encoder, Corpus("holes", "test", tuple(rows), "by hand"))
    assert result.unknown == {"holes": 3}
    last = vectors[3] @ vectors[2] / np.linalg.norm(vectors[3]) / np.linalg.norm(vectors[2])
    assert result.scores["holes"] == pytest.approx(100 * stats.spearmanr([0, 0, last, 1], [1, 2, 3, 4]).statistic)


@pytest.mark.parametrize("span", [(4, 4), (-1, 2), (4, 8)])
def test_a_span_that_is_no_part_of_its_context(encoder: Encoder, span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="spans"):
        vectors_in_context(encoder, ["the cat", "the dog"], [(0, 3), span])


@pytest.mark.realdata
def test_public_words_alone_and_in_context(real_data: Path) -> None:
    encoder = Encoder.from_pretrained("tiny", pooling="mean", max_length=16, device="cpu")
    alone = evaluate_similarity(encoder, ["simlex", "scws"], folder=real_data)
    there = evaluate_in_context(encoder, folder=real_data)
    assert alone.unknown == {"simlex": 0, "scws": 0}
    assert there.unknown == {"scws": 0}
    assert 20 < alone.scores["scws"] < there.scores["scws"] < 70


def test_a_long_context_without_spaces_is_cut_around_the_marked_word(encoder: Encoder) -> None:
    dog = encoder.tokenizer.convert_tokens_to_ids("dog")
    assert dog != encoder.tokenizer.unk_token_id
    together, apart = ("\u732b" * 100 + between + "dog" + between + "\u732b" * 100 for between in ("", " "))
    for context in (together, apart):
        start = context.index("dog")
        (vector,), (unknown,) = vectors_in_context(encoder, [context], [(start, start + 3)])
        assert np.linalg.norm(vector) > 0, context
        assert not unknown
