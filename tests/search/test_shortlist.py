"""Two passes over many texts: what the quick one leaves always holds the best spans, and the exact one finds them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch

from sentlab.search import index_files, shortlist
from sentlab.search.index_files import Segment, rounded_inverses
from sentlab.search.shortlist import Edges, best_in

K, D = 5, 8
ANY = (0, 0)


class Part(Segment):
    """Texts of made-up words, of two kinds."""

    def __init__(self, vectors: np.ndarray, counts: Sequence[int], first_word: int = 0) -> None:
        self.vectors, self.first_words, self.first_word = vectors, np.cumsum([0, *counts]), first_word
        self.inverses, self.scale = rounded_inverses(vectors, self.first_words, K)
        self.kinds = np.random.default_rng(first_word).integers(0, 4, len(vectors)).astype(np.uint8)


def slowly(
    parts: Sequence[Part], query: np.ndarray, edges: Edges, k: int, min_size: int, starts: np.ndarray | None = None
) -> list[tuple[int, int]]:
    """Every span, or every one from some places on, one after the other, in float64."""
    spans = []
    for part in parts:
        for begin, end in pairwise(part.first_words.tolist()):
            for start in range(begin, end):
                if starts is not None and part.first_word + start not in starts:
                    continue
                for stop in range(start + min_size, min(start + K, end) + 1):
                    if part.kinds[start] & edges[0] or part.kinds[stop - 1] & edges[1]:
                        continue
                    total = np.asarray(part.vectors[start:stop], np.float64).sum(0)
                    length = np.linalg.norm(total)
                    score = 0.0 if length == 0 else float(query @ total) / length
                    score = round(score * 2**18) / 2**18
                    spans.append((-score, part.first_word + start, stop - start))
    chosen: list[tuple[int, int]] = []
    for _, start, size in sorted(spans):
        if len(chosen) < k and all(start + size <= a or b <= start for a, b in chosen):
            chosen.append((start, start + size))
    return chosen


@pytest.fixture(params=["float16", "float32"])
def vectors(request: pytest.FixtureRequest) -> np.ndarray:
    """Words that like their neighbours, some of which cancel, are zero, or far longer or shorter than others."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, D)) + np.repeat(rng.normal(size=(120, D)), 10, axis=0)
    x[50:52] = 0.0
    x[101] = -x[100]
    x[201] = -x[200] * (1 + 1e-3)
    x[300] *= 1e4
    x[400:405] *= 1e-6
    return x.astype(request.param)


@pytest.mark.parametrize("min_size", [1, 2])
@pytest.mark.parametrize(("chunk", "places"), [(7, None), (64, None), (5000, None), (64, 600), (64, 8)])
def test_the_best_spans_are_those_of_a_slow_search(
    vectors: np.ndarray, chunk: int, places: int | None, min_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (index_files, shortlist):
        monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(shortlist, "QUERIES", 2)
    rng = np.random.default_rng(1)
    queries = torch.nn.functional.normalize(torch.from_numpy(rng.normal(size=(5, D))).float(), dim=1)
    parts = [
        Part(vectors[:700], [1, 299, 0, 400]), Part(vectors[700:700], [], 700), Part(vectors[700:], [100] * 5, 700),
    ]  # fmt: skip
    edges = [(1, 2), (1, 2), (3, 0), (0, 1), ANY]
    starts = None if places is None else rng.integers(-20, 1220, (5, places))
    best = best_in(parts, queries, edges, 4, min_size, K, starts)
    for number, query in enumerate(queries.double().numpy()):
        of_query = None if starts is None else starts[number]
        assert [span[1:] for span in best[number]] == slowly(parts, query, edges[number], 4, min_size, of_query)


def test_the_quick_pass_leaves_few_places(vectors: np.ndarray) -> None:
    queries = torch.nn.functional.normalize(torch.randn(3, D, generator=torch.manual_seed(0)), dim=1)
    few = shortlist._Shortlist(queries, [ANY] * 3, 1, 1, K)
    few.read(Part(vectors, [1200]))
    for number in range(3):
        places = few.places(number)
        assert places is not None
        assert len(places) < 60


@pytest.mark.parametrize("count", [5, shortlist.CACHED, 2 * shortlist.CACHED + 7])
@pytest.mark.parametrize("min_size", [1, 3])
def test_the_quick_cosines_are_those_of_sums(count: int, min_size: int) -> None:
    rng = np.random.default_rng(0)
    dots, inverses = rng.normal(size=(3, count + K - 1)), np.abs(rng.normal(size=(K, count)))
    inverses[:, -1] = 0.0  # a start without any span
    quick = np.empty((3, count), np.float32)
    shortlist._compiled()(dots.astype(np.float32), inverses.astype(np.float32), min_size, quick)
    sums = np.stack([dots[:, size : size + count] for size in range(K)], axis=1).cumsum(1)  # (3, K, count)
    np.testing.assert_allclose(quick, (sums * inverses)[:, min_size - 1 :].max(1), atol=1e-5)


def test_where_nothing_is_alike_all_places_are_scored() -> None:
    """Below a cosine of 0 the quick pass cannot tell a span from none."""
    vectors = np.tile(np.array([[1.0, 0.0]], np.float32), (30, 1))
    part = Part(vectors, [30])
    assert best_in([part], torch.tensor([[-1.0, 0.0]]), [ANY], 2, 1, K) == [[(-1.0, 0, 1), (-1.0, 1, 2)]]
    assert best_in([part], torch.tensor([[0.0, 0.0]]), [ANY], 1, 1, K) == [[(0.0, 0, 1)]]


def test_nothing_to_search_and_no_spans_to_find() -> None:
    query = torch.tensor([[1.0, 0.0]])
    assert best_in([], query, [ANY], 3, 1, K) == [[]]
    assert best_in([Part(np.ones((2, 2), np.float32), [1, 1])], query, [ANY], 3, 2, K) == [[]]


def test_rounded_inverses_say_where_only_the_exact_pass_can_tell(vectors: np.ndarray) -> None:
    inverses, scale = rounded_inverses(vectors, np.array([0, 700, 1200]), K)
    assert inverses.dtype == np.float16
    assert inverses.shape == (K, 1200)
    assert np.isnan(inverses[1, 100])  # two words that cancel
    assert inverses[0, 50] == 0  # a zero vector
    assert (inverses[1:, 699] == 0).all()  # behind a text's end
    assert np.isnan(inverses[0, 400])  # far shorter than the others
    exact = np.linalg.norm(np.asarray(vectors[500:503], np.float64).sum(0))
    assert inverses[2, 500] / scale == pytest.approx(1 / exact, rel=6e-4)
