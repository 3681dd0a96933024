"""The toy world: corpora of every kind in a small English, with gold by construction, for trials without files.

Its generator, `experiments.toy` beside the book, draws scenes and puts them into words in several syntactic forms; what
is known of the scenes is the gold. These are its rows of seed 0. Train, dev and test share no scene.
Results on it are to be called what they are: results on the toy world.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sentlab.data import rows
from sentlab.data.rows import Corpus

WORLD = Path(__file__).resolve().parents[1] / "assets" / "toy-world.jsonl.xz"  # a line a corpus and split
ROWS: dict[str, type] = {
    "toy-sentences": str, "toy-sts": rows.ScoredPair, "toy-nli": rows.Triple, "toy-nli-pairs": rows.LabelledPair,
    "toy-phrases": rows.PhrasePair, "toy-words": rows.WordPair, "toy-duplicates": rows.DuplicateQuestion,
    "toy-reranking": rows.RankingQuery, "toy-contexts": rows.PhraseInContext,
}  # fmt: skip
NAMES = tuple(ROWS)


def load(name: str, split: str = "test", folder: Any = None, *, size: int | None = None) -> Corpus[Any]:
    """Load a corpus of the toy world: its rows, or the first `size` of them. No folder is read."""
    corpus = _whole(name, split)
    if size is not None and not 0 < size <= len(corpus):
        raise ValueError(f"{name} has {len(corpus)} rows in {split!r}; size must be from 1 to that, not {size}")
    return replace(corpus, rows=corpus.rows[:size])


@cache
def _whole(name: str, split: str) -> Corpus[Any]:
    with lzma.open(WORLD, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(json.dumps({"name": name, "split": split})[:-1]):
                row, values = ROWS[name], json.loads(line)["rows"]
                if row is not str:
                    values = [row(*(tuple(part) if isinstance(part, list) else part for part in of)) for of in values]
                return Corpus(name, split, tuple(values), "toy world, seed 0")
    raise ValueError(f"the toy world has {', '.join(NAMES)} in train, dev and test; not {name!r} in {split!r}")
