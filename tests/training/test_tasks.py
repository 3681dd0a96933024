"""Several corpora in one: whose turn it is, and which rows a batch is drawn from."""

from __future__ import annotations

from collections import Counter

import pytest

from sentlab.training import TrainConfig
from sentlab.training.fit import batch_indices
from sentlab.training.tasks import Tasks

ROWS = Tasks(("a", "b", "a", "c"), a=range(100, 110), b="xyz", c=[7.0])


def test_rows_stand_beside_their_task() -> None:
    assert len(ROWS) == 14
    assert [ROWS[i] for i in (0, 9, 10, 12, 13)] == [("a", 100), ("a", 109), ("b", "x"), ("b", "z"), ("c", 7.0)]
    assert ROWS[-1] == ("c", 7.0)
    assert ROWS[8:11] == [("a", 108), ("a", 109), ("b", "x")]
    for beyond in (14, -15):
        with pytest.raises(IndexError, match="of 14"):
            ROWS[beyond]


def test_the_turn_is_kept_exactly_and_every_batch_is_of_one_task() -> None:
    names = []
    for step in range(1000):
        first, count, earlier = ROWS.place(step)
        rows = [ROWS[int(i)] for i in first + batch_indices(earlier, count, TrainConfig(batch_size=2))]
        assert len({task for task, _ in rows}) == 1
        names.append(rows[0][0])
    assert names[:8] == ["a", "b", "a", "c"] * 2
    assert Counter(names) == {"a": 500, "b": 250, "c": 250}


def test_each_task_goes_through_its_own_rows_without_a_gap() -> None:
    places = [ROWS.place(step) for step in range(40)]
    assert [earlier for first, _, earlier in places if first == 0] == list(range(20))
    assert [earlier for first, _, earlier in places if first == 10] == list(range(10))
    config = TrainConfig(batch_size=5)
    seen = [i for step in (0, 2) for first, count, at in [ROWS.place(step)] for i in batch_indices(at, count, config)]
    assert sorted(seen) == list(range(10))  # an epoch of `a`


@pytest.mark.parametrize(
    ("turn", "corpora"),
    [(("a",), {"a": []}), (("a",), {"a": [1], "b": [2]}), (("a", "b"), {"a": [1]})],
)
def test_every_task_needs_rows_and_a_turn(turn: tuple[str, ...], corpora: dict[str, list[int]]) -> None:
    with pytest.raises(ValueError, match="every task needs rows and a turn"):
        Tasks(turn, **corpora)
