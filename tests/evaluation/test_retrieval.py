"""Retrieval and reranking: hand-worked rankings, a slow full-matrix oracle, ties, chunks and memory."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from trained import Angles

from sentlab.data import toy
from sentlab.data.rows import Corpus, DuplicateQuestion, RankingQuery
from sentlab.evaluation import Evaluation, retrieval
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval, nearest, relevant_places, top_k


class Letters:
    """Counts letters: a crude encoder with many ties."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[text.lower().count(letter) for letter in "aeiost"] for text in texts], np.float32)


class Collapsed:
    def encode(self, texts: list[str]) -> np.ndarray:
        return np.ones((len(texts), 3), np.float32)


def duplicates(*rows: tuple[str, str | None]) -> Corpus[DuplicateQuestion]:
    return Corpus("q", "test", tuple(DuplicateQuestion(*row) for row in rows), "made by the test", {"missing": 2})


def candidates(*rows: tuple[str, dict[str, bool]]) -> Corpus[RankingQuery]:
    made = (RankingQuery(query, tuple(texts), tuple(texts.values())) for query, texts in rows)
    return Corpus("r", "test", tuple(made), "made by the test")


def slow_cosine(x: list[float], y: list[float]) -> float:
    dot = math.fsum(a * b for a, b in zip(x, y, strict=True))
    length = math.sqrt(math.fsum(a * a for a in x) * math.fsum(b * b for b in y))
    return round(dot / length, 9) + 0.0 if length else 0.0


def slow_average_precision(ranking: list[bool]) -> Fraction:
    precisions = [Fraction(sum(ranking[: i + 1]), i + 1) for i, hit in enumerate(ranking) if hit]
    return sum(precisions, Fraction()) / len(precisions)


def slow_reciprocal_rank(ranking: list[bool], at: int) -> Fraction:
    return next((Fraction(1, i) for i, hit in enumerate(ranking[:at], 1) if hit), Fraction())


def mrr(result: Evaluation) -> float:
    return result.scores[next(name for name in result.scores if name.endswith("mrr@10"))]


# around 0 the corpus is ranked 10 20 40 70 100, around 90 it is 100 70 40 20 10
HAND = duplicates(("0", "10"), ("0", "40"), ("90", "70"), ("20", None), ("100", None), ("0", "10"), ("10", None))


def test_retrieval_by_hand():
    encoder = Angles()
    result = evaluate_retrieval(encoder, HAND)
    assert result.score() == pytest.approx(100 * ((1 + 2 / 3) / 2 + 1 / 2) / 2)
    assert mrr(result) == pytest.approx(100 * (1 + 1 / 2) / 2)
    assert result.left_out == {"missing": 2}
    assert result.items.tolist() == pytest.approx([100 * (1 + 2 / 3) / 2, 50])
    assert [sorted(call) for call in encoder.calls] == [sorted(["0", "90", "10", "40", "70", "20", "100"])]


def test_a_query_skips_its_own_text_alone():
    # 0 is in the corpus: nearest to the query 0, where it is skipped, and to the query 5, where it counts
    corpus = duplicates(("0", "40"), ("5", "70"), ("33", "0"))
    result = evaluate_retrieval(Angles(), corpus)
    # 0: [40] 70 (own text skipped); 5: 0 40 [70]; 33: 40 [0] and 70 come at 7, 33 and 37 degrees
    assert mrr(result) == pytest.approx(100 * (1 + 1 / 3 + 1 / 2) / 3)
    assert result.score() == pytest.approx(mrr(result))


def test_a_query_to_which_only_itself_is_relevant_is_left_out_and_counted():
    corpus = duplicates(("0", "0"), ("50", "50"), ("50", "60"), ("55", None))
    result = evaluate_retrieval(Angles(), corpus)
    assert result.left_out == {"missing": 2, "query whose own text alone is relevant": 1}
    assert result.score() == pytest.approx(50)  # 55 is nearer to 50 than 60 is


def test_a_tie_counts_against_the_encoder():
    corpus = duplicates(("a", "b"), ("a", "c"), ("d", None), ("e", None), ("f", "a"))
    result = evaluate_retrieval(Collapsed(), corpus)
    # a: d, e before b, c (its own text is skipped); f: b, c, d, e before a
    assert result.score() == pytest.approx(100 * ((1 / 3 + 2 / 4) / 2 + 1 / 5) / 2)
    assert mrr(result) == pytest.approx(100 * (1 / 3 + 1 / 5) / 2)
    reranked = evaluate_reranking(Collapsed(), candidates(("q", {"a": True, "b": False, "c": True, "d": False})))
    assert reranked.score() == pytest.approx(100 * (1 / 3 + 2 / 4) / 2)


def test_reranking_by_hand():
    corpus = candidates(
        ("0", {"40": False, "10": False, "20": True, "-30": True}),  # 10 [20] [-30] 40
        ("90", {"80": False, "70": False}),  # nothing to find
        ("90", {"70": True, "80": True}),  # nothing to miss
    )
    result = evaluate_reranking(Angles(), corpus)
    assert result.score() == pytest.approx(100 * ((1 / 2 + 2 / 3) / 2 + 1) / 2)
    assert mrr(result) == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert result.left_out == {"query without a relevant candidate": 1}
    with pytest.raises(ValueError, match="relevant"):
        evaluate_reranking(Angles(), [RankingQuery("q", ("a", "b"), (True,))])


def test_retrieval_agrees_with_a_full_sort():
    corpus = toy.load("toy-duplicates", "test", size=150)
    answers: dict[str, set[str]] = {}
    for row in corpus:
        if row.duplicate:
            answers.setdefault(row.question, set()).add(row.duplicate)
    texts = {row.duplicate or row.question for row in corpus}
    vector = {text: Letters().encode([text])[0].tolist() for text in texts | set(answers)}
    rankings = []
    for query, wanted in answers.items():
        others = [(-slow_cosine(vector[query], vector[text]), text in wanted) for text in texts - {query}]
        rankings.append([hit for _, hit in sorted(others)])
    result = evaluate_retrieval(Letters(), corpus)
    assert result.score() == pytest.approx(100 * float(sum(map(slow_average_precision, rankings)) / len(rankings)))
    assert mrr(result) == pytest.approx(100 * float(sum(slow_reciprocal_rank(r, 10) for r in rankings) / len(rankings)))
    assert 0 < mrr(result) < result.score() < 100


def set_chunk(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many rows of the corpus are scaled at once, and the cosines of a query or a few are in memory."""
    monkeypatch.setattr(retrieval, "ROWS", rows)
    monkeypatch.setattr(retrieval, "COSINES", 60 * rows)


def small_integers(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """23 queries and 60 texts on a coarse grid, so that many cosines are equal, with some rows of zeros."""
    random = np.random.default_rng(seed)
    return random.integers(-1, 2, (23, 3)).astype(np.float32), random.integers(-2, 3, (60, 3)).astype(np.float32)


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_top_k_is_the_head_of_a_full_sort(chunk, monkeypatch):
    set_chunk(chunk, monkeypatch)
    queries, corpus = small_integers(0)
    for k in (1, 5, 60):
        cosines, places = top_k(queries, corpus, k)
        assert cosines.shape == places.shape == (23, k)
        for query, values, found in zip(queries.tolist(), cosines.tolist(), places.tolist(), strict=True):
            slow = [slow_cosine(query, x) for x in corpus.tolist()]
            expected = sorted(range(60), key=lambda i: (-slow[i], i))[:k]
            assert found == expected
            assert values == pytest.approx([slow[i] for i in expected], abs=1e-12)


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_relevant_places_are_those_of_a_full_sort(chunk, monkeypatch):
    set_chunk(chunk, monkeypatch)
    queries, corpus = small_integers(1)
    random = np.random.default_rng(2)
    lists = [random.permutation(60)[:8].tolist() for _ in queries]
    relevant = [places[: i % 5] for i, places in enumerate(lists)]  # for some queries none
    ignored = [places[5:] for places in lists]
    found = relevant_places(queries, corpus, relevant, ignored)
    assert len(found) == len(queries)
    for i, query in enumerate(queries.tolist()):
        kept = [j for j in range(60) if j not in ignored[i]]
        order = sorted(kept, key=lambda j: (-slow_cosine(query, corpus[j].tolist()), j in relevant[i]))
        assert found[i].tolist() == [place for place, j in enumerate(order, 1) if j in relevant[i]]
    everything = relevant_places(queries, corpus, relevant)
    assert any(a.tolist() != b.tolist() for a, b in zip(found, everything, strict=True))


def test_length_and_chunk_change_nothing(monkeypatch):
    random = np.random.default_rng(3)
    queries, corpus = random.normal(size=(50, 96)), random.normal(size=(300, 96))
    corpus[200] = 7 * corpus[11]  # a tie, for lengths do not count
    cosines, places = top_k(queries, corpus, 300)
    relevant = [[int(i), int(i) + 150] for i in random.integers(150, size=50)]
    ranks = relevant_places(queries, corpus, relevant)
    order = {(q, i): place for q, row in enumerate(places.tolist()) for place, i in enumerate(row)}
    assert all(order[q, 200] == order[q, 11] + 1 for q in range(50))
    for chunk in (1, 13, 64):
        set_chunk(chunk, monkeypatch)
        again = top_k(queries * 3, torch.tensor(corpus), 300)  # rounded, so the order of a sum does not matter
        assert (again[0] == cosines).all()
        assert (again[1] == places).all()
        assert all(map(np.array_equal, relevant_places(queries, corpus, relevant), ranks))


def test_nearest_by_hand():
    table = nearest(Angles(), ["0", "90", "0"], ["80", "0", "10", "10", "50"], k=2)
    assert table.index.tolist() == [("0", 1), ("0", 2), ("90", 1), ("90", 2)]
    assert table["text"].tolist() == ["10", "50", "80", "50"]  # 0 does not find itself
    assert table["cosine"].tolist() == pytest.approx([math.cos(math.radians(a)) for a in (10, 50, 10, 40)], abs=1e-6)
    assert len(nearest(Angles(), ["0"], ["0", "10"], k=5)) == 1
