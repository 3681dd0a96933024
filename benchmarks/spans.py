"""All spans of a text by cumulated products, against making and normalising the vector of every span.

    python benchmarks/spans.py [--tokens 100000] [--dim 384] [--sizes 20] [--queries 64] [--rounds 3] [--threads 1]
                               [--longest 3000000]

Both ways find the best span of the same text for the same queries, in turn in one process, timed in seconds of the CPU,
which other work on the computer changes least; memory is what the search adds to the peak of a process of its own
(Linux). Ends with exit status 1 if the best spans differ, or if sentlab is less than 8 times as fast for many queries,
less than 50 times for one, or takes more than a fifteenth of the memory.
Then a table from 10,000 tokens on, with span vectors where they take at most 4 GB.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from sentlab.search.spans import Spans, best_spans

SMALLEST_RATIO, SMALLEST_RATIO_OF_ONE, SMALLEST_MEMORY_RATIO, LARGEST_DIFFERENCE = 8.0, 50.0, 15.0, 1e-5
LENGTHS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
MOST_BYTES = 4e9  # of span vectors


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


def by_products(queries: Tensor, tokens: Tensor, sizes: int) -> Spans:
    return best_spans(queries, tokens, max_size=sizes)


WAYS: dict[str, Callable[[Tensor, Tensor, int], Spans]] = {"span vectors": by_vectors, "sentlab": by_products}


def text(tokens: int, dim: int, queries: int) -> tuple[Tensor, Tensor]:
    """Queries and tokens with a common part, as an encoder's have."""
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(dim, generator=generator)
    asked, found = (torch.randn(n, dim, generator=generator).add_(common) for n in (queries, tokens))
    return asked, found


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024


def alone(way: str, tokens: int, asked: argparse.Namespace) -> tuple[float, float]:
    """Seconds, and MiB that it adds, of one way in a process of its own."""
    sizes = [f"--{name}={getattr(asked, name)}" for name in ("dim", "sizes", "queries", "threads")]
    command = [sys.executable, __file__, *sizes, f"--tokens={tokens}", "--alone", way]
    seconds, memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(memory)


def measure_alone(asked: argparse.Namespace) -> None:
    queries, tokens = text(asked.tokens, asked.dim, asked.queries)
    WAYS[asked.alone](queries, tokens[:1000], asked.sizes)  # loads what is loaded once
    before, start = peak(), time.perf_counter()
    WAYS[asked.alone](queries, tokens, asked.sizes)
    print(time.perf_counter() - start, peak() - before)


def side_by_side(queries: Tensor, tokens: Tensor, asked: argparse.Namespace) -> tuple[float, bool]:
    """How many times as fast sentlab is, and whether the best spans are the same."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    found: dict[str, Spans] = {}
    for _ in range(asked.rounds):
        for way, search in WAYS.items():
            start = time.process_time()
            found[way] = search(queries, tokens, asked.sizes)
            seconds[way].append(time.process_time() - start)
    for way, times in seconds.items():
        print(f"{way:<14} {np.median(times):8.3f} s for {len(queries)} (median of {asked.rounds})")
    ratios = np.divide(seconds["span vectors"], seconds["sentlab"])
    print(f"ratio          {np.median(ratios):8.1f}   ({min(ratios):.1f} to {max(ratios):.1f})")
    plain, ours = found["span vectors"], found["sentlab"]
    difference = float((plain.score - ours.score).abs().max())
    same = int(((plain.start == ours.start) & (plain.end == ours.end)).sum())
    print(f"best spans     {same} of {len(queries)} the same, scores differ by {difference:.1e}")
    return float(np.median(ratios)), same == len(queries) and difference <= LARGEST_DIFFERENCE


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    for name, value in {"tokens": 100_000, "dim": 384, "sizes": 20, "queries": 64, "rounds": 3, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--longest", type=int, default=LENGTHS[-1], help="tokens, in the table; 0: no table")
    parser.add_argument("--alone", choices=WAYS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    if asked.alone:  # the child
        measure_alone(asked)
        return 0

    print(f"{asked.tokens:,} tokens of {asked.dim} numbers, spans to {asked.sizes}, {asked.threads} thread(s), CPU")
    queries, tokens = text(asked.tokens, asked.dim, asked.queries)
    many, same = side_by_side(queries, tokens, asked)
    one, same_one = side_by_side(queries[:1], tokens, asked)
    del queries, tokens
    memory = {way: alone(way, asked.tokens, asked)[1] for way in WAYS}
    less = memory["span vectors"] / memory["sentlab"]
    print(f"memory         {memory['span vectors']:,.0f} and {memory['sentlab']:,.0f} MiB, ratio {less:.0f}")
    good = same and same_one and many >= SMALLEST_RATIO and one >= SMALLEST_RATIO_OF_ONE
    good = good and less >= SMALLEST_MEMORY_RATIO
    wanted = f"equal spans and ratios of {SMALLEST_RATIO}, {SMALLEST_RATIO_OF_ONE} and {SMALLEST_MEMORY_RATIO}"
    print("ok" if good else f"FAILED: wanted {wanted}")

    lengths = [n for n in LENGTHS if n <= asked.longest]
    print("\n    tokens        sentlab          span vectors" if lengths else "")
    for count in lengths:
        ways = ["sentlab", "span vectors"] if 4 * count * asked.dim * asked.sizes <= MOST_BYTES else ["sentlab"]
        cells = ("{:8.2f} s {:6,.0f} MiB".format(*alone(way, count, asked)) for way in ways)
        print(f"{count:10,}", *cells, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
