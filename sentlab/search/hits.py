"""What a search finds: hits with the text around them, as a list, as a table, and as HTML in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

from sentlab.extras import need

if TYPE_CHECKING:
    import pandas as pd

CONTEXT = 60  # characters that a hit keeps of its text, on either side
COLUMNS = ("phrase", "similarity", "words", "before", "after", "text", "start", "end")


@dataclass(frozen=True)
class Hit:
    """A span of words that was found: the characters [start, end) of a text, and what stands around them there."""

    text: int  # counted from 0 in the order in which texts were added
    start: int
    end: int
    words: str
    similarity: float  # cosine with the phrase
    before: str = ""  # up to CONTEXT characters, whole words where there are several
    after: str = ""

    @classmethod
    def of(cls, number: int, text: str, start: int, end: int, similarity: float) -> Hit:
        """Make the hit that the characters [start, end) of a text are."""
        before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
        if start > CONTEXT and not text[start - CONTEXT - 1].isspace():
            before = before.removeprefix(_word(re.split(r"\s", before, maxsplit=1)))
        if len(text) > end + CONTEXT and not text[end + CONTEXT].isspace():
            after = after.removesuffix(_word(re.split(r"\s(?=\S*$)", after, maxsplit=1)[::-1]))
        return cls(number, start, end, text[start:end], similarity, before, after)

    def _repr_html_(self) -> str:
        return f"{escape(self.before)}<mark>{escape(self.words)}</mark>{escape(self.after)}"


class Found(list[list[Hit]]):
    """The hits of each phrase, in the order of the phrases: a list, which a notebook shows as a table.

    Args:
        phrases: what was searched for.
        hits: of each phrase.
    """

    def __init__(self, phrases: Iterable[str], hits: Iterable[list[Hit]]) -> None:
        super().__init__(hits)
        self.phrases = list(phrases)

    def table(self) -> pd.DataFrame:
        """Return one row per hit, with the columns phrase, similarity, words, before, after, text, start and end."""
        rows = [
            {"phrase": phrase} | asdict(hit) for phrase, hits in zip(self.phrases, self, strict=True) for hit in hits
        ]
        return need("pandas", "data").DataFrame(rows, columns=list(COLUMNS))

    def _repr_html_(self) -> str:
        left = ' style="text-align: left"'
        head = "".join(f"<th{left}>{name}</th>" for name in ("phrase", "similarity", "in context", "text"))
        rows = [
            f"<tr><td{left}>{'' if n else escape(phrase)}</td><td>{hit.similarity:.3f}</td>"
            f"<td{left}>{hit._repr_html_()}</td><td>{hit.text}</td></tr>"
            for phrase, hits in zip(self.phrases, self, strict=True)
            for n, hit in enumerate(hits)
        ]
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _word(parts: list[str]) -> str:
    """The first part, cut off in the middle of a word; nothing where it is the only one."""
    return parts[0] if len(parts) > 1 else ""
