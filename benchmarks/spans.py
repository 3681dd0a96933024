"""All spans of a text by cumulated products, against making and normalising the vector of every span.

    python benchmarks/spans.py [--tokens 100000] [--dim 384] [--sizes 20] [--queries 64] [--rounds 5] [--threads 1]

Both ways find the best span of the same text for the same queries, in turn in one process. With more than one thread
the program also compares with itself at one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator

import numpy as np
import torch
from experiments.cost import SpeedRow
from side_by_side import OURS, added_by, alone, in_turn, parser_of, settled, times_as_fast, told
from torch import Tensor
from torch.nn import functional as F

from sentlab.search.spans import Spans, best_spans

PLAIN = "span vectors"
GOALS = {64: 20.0, 1: 60.0}  # queries -> times as fast


def by_vectors(queries: Tensor, tokens: Tensor, sizes: int) -> Spans:
    """The plain way: all span vectors, K x T x D numbers in float32, normalised; then their products with the queries.

    A span's vector is a difference of cumulated ones, in float64, for in float32 a long text leaves too little of it.
    """
    cumulated = F.pad(tokens.double().cumsum(0), (0, 0, 1, 0))  # (T + 1, D)
    spans = range(1, sizes + 1)
    vectors = [F.normalize((cumulated[size:] - cumulated[:-size]).float(), dim=1) for size in spans]
    best = tokens.new_full((len(queries),), -torch.inf)
    start, end = (torch.zeros_like(best, dtype=torch.int64) for _ in range(2))
    queries = F.normalize(queries, dim=1)
    for size, found in enumerate(vectors, 1):
        score, at = (found @ queries.T).max(0)
        better = score > best
        for held, new in ((best, score), (start, at), (end, at + size)):
            held[better] = new[better]
    return Spans(best, start, end)


def ways(queries: Tensor, tokens: Tensor, sizes: int) -> dict[str, Callable[[], Spans]]:
    return {
        OURS: lambda: best_spans(queries, tokens, max_size=sizes),
        PLAIN: lambda: by_vectors(queries, tokens, sizes),
    }


def text(asked: argparse.Namespace, queries: int) -> tuple[Tensor, Tensor]:
    """Queries and tokens with a common part, as an encoder's have."""
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(asked.dim, generator=generator)
    tokens, found = (torch.randn(n, asked.dim, generator=generator).add_(common) for n in (asked.tokens, queries))
    return found, tokens


def rows(asked: argparse.Namespace) -> Iterator[SpeedRow]:
    memory = {way: alone([__file__, "--tokens", asked.tokens, "--alone", way]) for way in (OURS, PLAIN)}
    for queries, wanted in GOALS.items():
        asked_for = ways(*text(asked, queries), asked.sizes)
        seconds, found = in_turn(asked_for, asked.rounds)
        ours, plain = found[OURS], found[PLAIN]
        same = bool(((plain.start == ours.start) & (plain.end == ours.end)).all())
        same = same and float((plain.score - ours.score).abs().max()) <= 1e-5
        ratio, less = times_as_fast(seconds, PLAIN), memory[PLAIN] / memory[OURS]
        work = f"Best of all spans of {asked.tokens:,} tokens to {asked.sizes}, D {asked.dim}, {queries} phrase(s)"
        yield SpeedRow(
            work=work,
            threads=asked.threads,
            unit="s",
            figures={way: round(float(np.median(times)), 4) for way, times in seconds.items()},
            ratio=ratio,
            goal=f"{wanted:g} times as fast; the same spans; a fifteenth of the memory (it is 1/{less:.0f})",
            met=ratio >= wanted and same and less >= 15,
            memory=memory[OURS],
        )
        if asked.threads > 1:
            yield with_one_thread(work, asked_for[OURS], memory[OURS], asked)


def with_one_thread(work: str, search: Callable[[], Spans], memory: float, asked: argparse.Namespace) -> SpeedRow:
    """The same search with fewer threads."""

    def at(threads: int) -> Callable[[], Spans]:
        def run() -> Spans:
            torch.set_num_threads(threads)
            return search()

        return run

    one = f"{OURS}, one thread"
    seconds, _ = in_turn({OURS: at(asked.threads), one: at(1)}, asked.rounds)
    torch.set_num_threads(asked.threads)
    ratio = times_as_fast(seconds, one)
    figures = {name: round(float(np.median(times)), 4) for name, times in seconds.items()}
    # what is as fast differs by a few per cent from round to round
    goal, met = "no slower than with one thread", ratio >= 0.95
    return SpeedRow(
        work=work, threads=asked.threads, unit="s", figures=figures, ratio=ratio, goal=goal, met=met, memory=memory
    )


def main() -> int:
    asked = settled(parser_of(__doc__, tokens=100_000, dim=384, sizes=20))
    if asked.alone:  # the child
        queries, tokens = text(asked, max(GOALS))
        ways(queries, tokens[:1000], asked.sizes)[asked.alone]()  # loads what is loaded once
        print(json.dumps(added_by(ways(queries, tokens, asked.sizes)[asked.alone])))
        return 0
    return told(rows(asked), asked)


if __name__ == "__main__":
    sys.exit(main())
