"""All spans of a text by cumulated products, against making and normalising the vector of every span.

    python benchmarks/spans.py [--tokens 100000] [--dim 384] [--sizes 20] [--rounds 5] [--threads 1]

Both ways find the best span of the same text for the same queries, in turn in one process.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import torch
from side_by_side import OURS, Row, added_by, alone, in_turn, main, medians, parser_of, times_as_fast
from torch import Tensor
from torch.nn import functional as F

from sentlab.search.spans import Spans, best_spans

PLAIN = "span vectors"
GOALS = {64: 20.0, 1: 60.0}  # queries -> times as fast


def by_vectors(queries: Tensor, tokens: Tensor, sizes: int) -> Spans:
    """Search the plain way: all span vectors, K x T x D numbers in float32, normalised; then their products.

    A span's vector is a difference of cumulated ones, in float64, for in float32 a long text leaves too little of it.
    """
    cumulated = F.pad(tokens.double().cumsum(0), (0, 0, 1, 0))  # (T + 1, D)
    spans = range(1, sizes + 1)
    vectors = [F.normalize((cumulated[size:] - cumulated[:-size]).float(), dim=1) for size in spans]
    best = tokens.new_full((len(queries),), -torch.inf)
    start, end = (torch.zeros_like(best, dtype=torch.int64) for _ in range(2))
    queries = F.normalize(queries, dim=1)
    for size, spans_of_size in enumerate(vectors, 1):
        score, at = (spans_of_size @ queries.T).max(0)
        better = score > best
        for kept, new in ((best, score), (start, at), (end, at + size)):
            kept[better] = new[better]
    return Spans(best, start, end)


def ways(args: argparse.Namespace, queries: int, tokens: int | None = None) -> dict[str, Callable[[], Spans]]:
    """Return both ways on queries and tokens with a common part, as an encoder's have."""
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(args.dim, generator=generator)
    text, phrases = (torch.randn(n, args.dim, generator=generator).add_(common) for n in (args.tokens, queries))
    text = text[:tokens]
    return {
        OURS: lambda: best_spans(phrases, text, max_size=args.sizes),
        PLAIN: lambda: by_vectors(phrases, text, args.sizes),
    }


def rows(args: argparse.Namespace) -> Iterator[Row]:
    memory = {way: alone(__file__, way, args) for way in (OURS, PLAIN)}
    for queries, wanted in GOALS.items():
        searches = ways(args, queries)
        seconds, spans = in_turn(searches, args.rounds)
        ours, plain = spans[OURS], spans[PLAIN]
        same = bool(((plain.start == ours.start) & (plain.end == ours.end)).all())
        same = same and float((plain.score - ours.score).abs().max()) <= 1e-5
        ratio, less = times_as_fast(seconds, PLAIN), memory[PLAIN] / memory[OURS]
        yield {
            "work": f"Best of all spans of {args.tokens:,} tokens to {args.sizes}, D {args.dim}, {queries} phrase(s)",
            "threads": args.threads,
            "unit": "s",
            "figures": medians(seconds, 4),
            "ratio": ratio,
            "goal": f"{wanted:g} times as fast; the same spans; a fifteenth of the memory (it is 1/{less:.0f})",
            "met": ratio >= wanted and same and less >= 15,
            "memory": memory[OURS],
        }


def work(args: argparse.Namespace) -> float:
    ways(args, max(GOALS), 1000)[args.alone]()  # loads what is loaded once
    return added_by(ways(args, max(GOALS))[args.alone])


if __name__ == "__main__":
    sys.exit(main(parser_of(__doc__, tokens=100_000, dim=384, sizes=20), rows, work))
