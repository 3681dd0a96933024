"""What the results of all evaluations share: a table of one row, and where the rows came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sentlab.data.rows import Corpus
from sentlab.extras import need

if TYPE_CHECKING:
    import pandas as pd


class Result:
    """A result that has a table, which a notebook shows."""

    def _row(self) -> tuple[str, dict[str, Any]]:
        """The name of the table's row, and its columns."""
        raise NotImplementedError

    def table(self) -> pd.DataFrame:
        """Return one row: the scores x 100, and what they are of."""
        name, columns = self._row()
        return need("pandas", "eval").DataFrame([columns], index=[name])

    def _repr_html_(self) -> str:
        return self.table().to_html(float_format="{:,.2f}".format)


@dataclass(frozen=True, repr=False)
class CorporaResult(Result):
    """A result on several corpora, or on the splits of one.

    Args:
        corpora: name, or split, -> the rows.
    """

    corpora: dict[str, Corpus[Any]]

    @property
    def pairs(self) -> dict[str, int]:
        """Number of pairs of each."""
        return {name: len(corpus) for name, corpus in self.corpora.items()}

    @property
    def left_out(self) -> dict[str, dict[str, int]]:
        """Of each, reason -> number of pairs left out."""
        return {name: dict(corpus.left_out) for name, corpus in self.corpora.items()}

    @property
    def sources(self) -> dict[str, str]:
        """Where the pairs of each came from."""
        return {name: corpus.source for name, corpus in self.corpora.items()}
