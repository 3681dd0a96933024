"""Readers of texts to train on: running text cut into sentences, and the triples of MS MARCO and WikiQA.

As in `readers`, an error names the file and the line, and whatever is left out is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import cycle, islice
from pathlib import Path
from random import Random

from sentlab.data.readers import files
from sentlab.data.readers.files import RawPair, Read, streamed
from sentlab.data.rows import LabelledPair, Triple, added_up

SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'’”)])) +(?=[\"'‘“(]*[A-Z0-9])")
MIN_WORDS = 5  # of a sentence to learn from; shorter ones are often pieces, cut off after "U.S." or the like


def read_sentences(path: str | Path) -> Read[str]:
    """Read sentences to learn from, one a line, each once; leave out blank lines and those under `MIN_WORDS` words.

    Args:
        path: plain text, also compressed as `.gz` or `.xz`.
    """
    return _sentences(streamed(path))


def read_articles(path: str | Path) -> Read[str]:
    """Read the sentences of running text, a paragraph a line, cut at `SENTENCE_END`; else as `read_sentences`."""
    return _sentences(sentence for line in streamed(path) for sentence in SENTENCE_END.split(line))


def read_captions(path: str | Path) -> Read[str]:
    """Read captions of pictures, `Flickr8k.token.txt`: `picture.jpg#0`, white space and a caption."""

    def caption(line: str, n: int) -> str:
        if found := re.fullmatch(r"\S+#\d+\s+(.+)", line):
            return found[1]
        raise ValueError(f"{path}:{n}: expected `picture.jpg#0`, a tab and a caption, found {line[:40]!r}")

    return _sentences(caption(line, n) for n, line in enumerate(streamed(path), 1))


def read_msmarco(path: str | Path, limit: int | None = None) -> Read[Triple]:
    """Read MS MARCO's passage triples, `triples.train.small.tsv`: query, positive and negative passage, tab-separated.

    The file has 39,780,811 lines and 27 GB, so it is read line by line and no further than to the limit. Its queries
    and positive passages come again and again; each is in memory once.

    Args:
        path: the file, also compressed as `.gz` or `.xz`.
        limit: the number of lines to read; None: all.
    """
    rows: list[Triple] = []
    known: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    lines = files.columns_of(path, 3, "query, positive and negative passage, separated by tabs;")
    for columns, _ in islice(lines, limit):
        if all(columns):
            query, positive = (known.setdefault(text, text) for text in columns[:2])
            rows.append(Triple(query, positive, columns[2]))
        else:
            left_out["blank text"] += 1
    return Read(rows, dict(left_out))


def read_wikiqa(questions: str | Path, sentences: str | Path, labels: str | Path) -> Read[Triple]:
    """Read WikiQA, tokenised, in three files that go line by line together: `<split>_{a,b}.toks` and `<split>_sim.txt`.

    Every sentence that answers its question makes a triple with one that does not: the question's wrong sentences in
    an order that is drawn from the question, one after the other, and again from the first. Sentences that are in no
    triple are counted; most questions of the original release have no answer at all.
    """
    return _answers(files.lines_together(questions, sentences, labels))


def read_wikiqa_tsv(path: str | Path) -> Read[Triple]:
    """Read WikiQA as released, `WikiQA-{train,dev,test}.tsv`; columns are found by the names in the header row.

    They are `Question`, `Sentence` and `Label`; quotes are plain text. Triples are those of `read_wikiqa`.
    """
    lines = files.csv_columns(path, ("Question", "Sentence", "Label"), "\t", quotes=False)
    return _answers((question, sentence, label, where) for (question, sentence, label), where in lines)


def _answers(raw: Iterable[RawPair]) -> Read[Triple]:
    """Questions with candidates, each labelled 1 or 0, as triples; how is said in `read_wikiqa`."""

    def row(question: str, sentence: str, label: str, where: str) -> LabelledPair:
        if label not in ("0", "1"):
            raise ValueError(f"{where}: expected a label of 0 or 1, found {label!r}")
        return LabelledPair(question, sentence, label)

    pairs, left_out = files.pair_rows(raw, row, missing=())
    found: dict[str, dict[str, dict[str, None]]] = {}  # question -> label -> sentences, each once, in file order
    for pair in pairs:
        found.setdefault(pair.text_a, {"1": {}, "0": {}})[pair.label][pair.text_b] = None
    rows: list[Triple] = []
    for question, sentences in found.items():
        wrong = [sentence for sentence in sentences["0"] if sentence not in sentences["1"]]
        Random(question).shuffle(wrong)
        rows += (Triple(question, right, other) for right, other in zip(sentences["1"], cycle(wrong), strict=False))
    unused = len(pairs) - len({(row.anchor, text) for row in rows for text in (row.positive, row.negative)})
    return Read(rows, added_up(left_out, {"sentence of no triple": unused}))


def _sentences(texts: Iterable[str]) -> Read[str]:
    stripped, left_out = files.text_rows(texts)
    kept = [text for text in stripped if len(text.split()) >= MIN_WORDS]
    once = list(dict.fromkeys(kept))
    counts = {f"fewer than {MIN_WORDS} words": len(stripped) - len(kept), "repeated sentence": len(kept) - len(once)}
    return Read(once, added_up(left_out, counts))
