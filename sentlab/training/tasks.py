"""Several corpora to train on at once: each batch is of one of them, and a fixed turn says of which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Tasks(Sequence[Any]):
    """Rows of several tasks, each beside the name of its task: `("nli", LabelledPair(...))`. `fit` asks `place`.

    Args:
        turn: the tasks in their order, over and over; each at least once.
        corpora: task -> its rows.

    Raises:
        ValueError: a task without rows, or one that has no turn, or a turn of no task.

    Source: Universal, section 3.3.
    """

    def __init__(self, turn: Sequence[str], **corpora: Sequence[Any]):
        if not turn or set(turn) != corpora.keys() or not all(len(rows) for rows in corpora.values()):
            raise ValueError(f"every task needs rows and a turn; the turn is {list(turn)}, rows are of {list(corpora)}")
        self.turn, self.corpora = tuple(turn), corpora
        self.rows = [(task, row) for task, rows in corpora.items() for row in rows]

    def place(self, step: int) -> tuple[int, int, int]:
        """Return which rows the batch of a step is drawn from, and how many batches were drawn from them before.

        Returns:
            The first row, how many rows from there on, and the earlier batches: a pure function of the step.
        """
        rounds, at = divmod(step, len(self.turn))
        task = self.turn[at]
        tasks = list(self.corpora)
        first = sum(len(self.corpora[before]) for before in tasks[: tasks.index(task)])
        return first, len(self.corpora[task]), rounds * self.turn.count(task) + self.turn[:at].count(task)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]
