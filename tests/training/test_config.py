"""Several corpora in one: whose turn it is, and which rows a batch is drawn from."""

from __future__ import annotations

from collections import Counter

import pytest

from sentlab.training import TrainConfig
from sentlab.training.config import Tasks
from sentlab.training.loop import batch_indices

ROWS = Tasks(("a", "b", "a", "c"), a=range(100, 110), b="xyz", c=[7.0])


def test_the_turn_is_kept_exactly_and_every_batch_is_of_one_task() -> None:
    assert [ROWS[i] for i in (0, 9, 10, 12, 13)] == [("a", 100), ("a", 109), ("b", "x"), ("b", "z"), ("c", 7.0)]
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
    with pytest.raises(ValueError, match="needs rows and a turn"):
        Tasks(("a",), a=[1], b=[2])
