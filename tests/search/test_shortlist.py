"""Two passes over many texts: what the quick one leaves always holds the best spans, and the exact one finds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from sentlab.search import shortlist
from sentlab.search.shortlist import Group, Texts, best_in, rounded_lengths

K, D = 5, 8


def texts_of(vectors: np.ndarray, counts: Sequence[int], first: int, groups: Sequence[Group]) -> Texts:
    begins = np.cumsum([0, *counts])
    assert begins[-1] == len(vectors)
    return Texts(vectors, begins, *rounded_lengths(vectors, begins, K), first, groups)


def slowly(
    parts: Sequence[Texts], query: np.ndarray, number: int, k: int, min_size: int, starts: np.ndarray | None = None
) -> list[tuple[int, int]]:
    """Every span, or every one from some places on, one after the other, in float64."""
    spans = []
    for part in parts:
        group = next(own for own in part.groups if number in range(*own.queries.indices(10**6)))
        for begin, end in zip(part.texts[:-1], part.texts[1:], strict=True):
            for start in range(begin, end):
                if starts is not None and part.first + start not in starts:
                    continue
                for stop in range(start + min_size, min(start + K, end) + 1):
                    if group.begins is not None and not (group.begins[start] and group.ends[stop - 1]):
                        continue
                    total = np.asarray(part.vectors[start:stop], np.float64).sum(0)
                    length = np.linalg.norm(total)
                    score = 0.0 if length == 0 else float(query @ total) / length
                    score = round(score * 2**18) / 2**18
                    spans.append((-score, part.first + start, stop - start))
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
@pytest.mark.parametrize(("words", "places"), [(7, None), (64, None), (5000, None), (64, 600), (64, 8)])
def test_the_best_spans_are_those_of_a_slow_search(
    vectors: np.ndarray, words: int, places: int | None, min_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortlist, "WORDS", words)
    monkeypatch.setattr(shortlist, "QUERIES", 2)
    rng = np.random.default_rng(1)
    queries = torch.nn.functional.normalize(torch.from_numpy(rng.normal(size=(5, D))).float(), dim=1)
    begins, ends = rng.random((2, 1200)) < 0.7
    parts = []
    for first, last, counts in ((0, 700, [1, 299, 0, 400]), (700, 700, []), (700, 1200, [100] * 5)):
        here = slice(first, last)
        groups = [Group(slice(0, 3)), Group(slice(3, 5), begins[here], ends[here])]
        parts.append(texts_of(vectors[here], counts, first, groups))
    starts = None if places is None else rng.integers(-20, 1220, (5, places))
    found = best_in(parts, queries, 4, min_size, K, starts)
    for number, query in enumerate(queries.double().numpy()):
        own = None if starts is None else starts[number]
        assert [span[1:] for span in found[number]] == slowly(parts, query, number, 4, min_size, own)


def test_the_quick_pass_leaves_few_places(vectors: np.ndarray) -> None:
    part = texts_of(vectors, [1200], 0, [Group(slice(None))])
    queries = torch.nn.functional.normalize(torch.randn(3, D, generator=torch.manual_seed(0)), dim=1)
    few = shortlist._Shortlist(queries, 1, 1, K, len(vectors))
    few.read(part)
    for number in range(3):
        places = few.places(number)
        assert places is not None
        assert len(places) < 60


@pytest.mark.parametrize("count", [5, shortlist.CACHED, 2 * shortlist.CACHED + 7])
@pytest.mark.parametrize("min_size", [1, 3])
def test_the_compiled_loop_gives_the_same_cosines(count: int, min_size: int) -> None:
    pytest.importorskip("numba")
    assert shortlist._compiled() is not shortlist._best
    random = torch.Generator().manual_seed(0)
    dots, inverse = (torch.randn(rows, count + K - 1, generator=random) for rows in (3, K))
    inverse = inverse[:, :count].abs()
    inverse[:, -1] = 0.0  # a start without any span
    plain = shortlist._best(dots, inverse, min_size)
    assert torch.equal(shortlist._compiled()(dots, inverse, min_size), plain)


@pytest.mark.parametrize("many", [0, 10**9])
def test_large_indexes_are_searched_by_the_compiled_loop_to_the_same_spans(
    vectors: np.ndarray, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortlist, "MANY", many)
    part = texts_of(vectors, [700, 500], 0, [Group(slice(None))])
    queries = torch.nn.functional.normalize(torch.randn(3, D, generator=torch.manual_seed(0)), dim=1)
    loops = []
    monkeypatch.setattr(shortlist, "_compiled", lambda made=shortlist._compiled: loops.append(made()) or made())
    found = best_in([part], queries, 4, 1, K)
    assert len(loops) == (many == 0)
    for number, query in enumerate(queries.double().numpy()):
        assert [span[1:] for span in found[number]] == slowly([part], query, number, 4, 1)


def test_where_nothing_is_alike_all_places_are_scored() -> None:
    """Below a cosine of 0 the quick pass cannot tell a span from none."""
    vectors = np.tile(np.array([[1.0, 0.0]], np.float32), (30, 1))
    part = texts_of(vectors, [30], 0, [Group(slice(None))])
    (found,) = best_in([part], torch.tensor([[-1.0, 0.0]]), 2, 1, K)
    assert found == [(-1.0, 0, 1), (-1.0, 1, 2)]
    (found,) = best_in([part], torch.tensor([[0.0, 0.0]]), 1, 1, K)
    assert found == [(0.0, 0, 1)]


def test_nothing_to_search_and_no_spans_to_find() -> None:
    query = torch.tensor([[1.0, 0.0]])
    assert best_in([], query, 3, 1, K) == [[]]
    with pytest.raises(ValueError, match="k must be at least 1, it is 0"):
        best_in([], query, 0, 1, K)
    short = texts_of(np.ones((2, 2), np.float32), [1, 1], 0, [Group(slice(None))])
    assert best_in([short], query, 3, 2, K) == [[]]


def test_rounded_lengths_say_where_only_the_exact_pass_can_tell(vectors: np.ndarray) -> None:
    lengths, scale = rounded_lengths(vectors, np.array([0, 700, 1200]), K)
    assert lengths.dtype == np.float16
    assert lengths.shape == (K, 1200)
    assert np.isnan(lengths[1, 100])  # two words that cancel
    assert lengths[0, 50] == 0  # a zero vector
    assert (lengths[1:, 699] == 0).all()  # behind a text's end
    assert np.isnan(lengths[0, 400])  # far shorter than the others
    exact = np.linalg.norm(np.asarray(vectors[500:503], np.float64).sum(0))
    assert lengths[2, 500] / scale == pytest.approx(1 / exact, rel=6e-4)
