"""Words in context against a literal loop, and what of a long context is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.words_in_context import evaluate_in_context, vectors_in_context
from scipy import stats

from sentlab.data.rows import Corpus, WordPairInContext
from sentlab.encoder import Encoder
from sentlab.evaluation.words import evaluate_similarity


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=12, device="cpu")


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
