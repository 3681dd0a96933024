"""Use one index and one encoder many times at once: no wrong hit, nothing lost, equal vectors.

    python benchmarks/concurrency.py [--minutes 5] [--processes 8] [--threads 8] [--seed 0]

Each process opens the same index and, as chance has it, adds texts, searches, encodes, or opens the index anew. A
search is for a text of the index, and right if its best hit is that text. Each hit must be the words that are there,
with the similarity that a fresh encoding gives. In the end the index must hold every text once, those of a process in
its order.
Then threads share one encoder: their vectors must be those of one thread alone. Needs fork (Linux, macOS).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import torch
from promises import Promise, sentences, small_encoder, told

from sentlab.encoder import Encoder
from sentlab.search import Hit, PhraseIndex

OLD, MOST = 200, 20_000  # texts that are there before, and that a process adds at most
ROUNDING = 0.002  # similarities in float16 differ by less
SAME = 1e-5  # and numbers of a vector, which may come from batches of other shapes


def vector(encoder: Encoder, text: str, start: int, end: int) -> np.ndarray:
    """The direction of the sum of the tokens' vectors in the characters [start, end) of a text."""
    ((vectors, offsets),) = encoder.encode_tokens([text])
    inside = (offsets[:, 0] >= start) & (offsets[:, 1] <= end)
    total = vectors[inside].sum(0)
    return total / np.linalg.norm(total)


def wrong(encoder: Encoder, index: PhraseIndex, number: int, found: list[list[Hit]]) -> list[str]:
    """What is wrong with the hits of a search for a text of the index by its number."""
    text = index[number]
    asked = vector(encoder, text, 0, len(text))
    problems = [] if found[0][0].text == number else [f"text {number} was not found, but {found[0][0]}"]
    for hit in found[0]:
        there = index[hit.text]
        if there[hit.start : hit.end] != hit.words:
            problems.append(f"{hit} is not in {there!r}")
        elif abs(float(asked @ vector(encoder, there, hit.start, hit.end)) - hit.similarity) > ROUNDING:
            problems.append(f"{hit} has another similarity")
    return problems


def work(folder: Path, encoder: Encoder, seed: int, until: float, expected: np.ndarray) -> dict[str, int | list[str]]:
    """What a process does until a time; how often it did each, and what went wrong."""
    random, mine, old = Random(seed), sentences(MOST, seed), sentences(OLD)
    index, counts, problems, added = PhraseIndex.load(folder, encoder), Counter[str](), [], 0
    while time.time() < until and added < MOST - 3:
        what = random.choices(("add", "search", "encode", "open"), (4, 8, 8, 1))[0]
        counts[what] += 1
        if what == "add":
            count = random.randint(1, 3)
            index.add(mine[added : added + count], progress=False)
            added += count
        elif what == "search":
            number = random.randrange(len(index))
            problems += wrong(encoder, index, number, index.search([index[number]], 3, trim=False))
        elif what == "encode":
            chosen = random.sample(range(OLD), 4)
            if np.abs(encoder.encode([old[i] for i in chosen]) - expected[chosen]).max() > SAME:
                problems.append(f"texts {chosen} have other vectors")
        else:
            index = PhraseIndex.load(folder, encoder)
    return dict(counts) | {"added": added, "problems": problems}


def forked(folder: Path, out: Path, encoder: Encoder, seed: int, until: float, expected: np.ndarray) -> int:
    """Start `work` in a process of its own; return its number."""
    if process := os.fork():
        return process
    try:
        out.write_text(json.dumps(work(folder, encoder, seed, until, expected)), encoding="utf-8")
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def processes_share(count: int, minutes: float, seed: int, place: Path) -> list[Promise]:
    """Some processes use one index."""
    encoder = small_encoder()
    index = PhraseIndex(encoder)
    index.add(sentences(OLD))
    index.save(place / "index")
    expected = encoder.encode(sentences(OLD))
    seeds = [1 + seed * count + number for number in range(count)]
    outs = {own: place / f"{own}.json" for own in seeds}
    until = time.time() + 60 * minutes
    children = [forked(place / "index", outs[own], encoder, own, until, expected) for own in seeds]
    failed = [own for own, child in zip(seeds, children, strict=True) if os.waitpid(child, 0)[1]]
    done = {own: json.loads(out.read_text(encoding="utf-8")) for own, out in outs.items() if out.exists()}
    problems = [problem for found in done.values() for problem in found["problems"]]
    for problem in problems[:10]:
        print(problem, file=sys.stderr)
    index = PhraseIndex.load(place / "index", encoder)
    index.verify()  # raises an error where a file is damaged
    there = list(index)
    lost = len(sentences(OLD)) - sum(a == b for a, b in zip(sentences(OLD), there, strict=False))
    for own, found in done.items():
        texts = sentences(found["added"], own)
        kept = [text for text in there if text.endswith(".") and text.rsplit(" ", 1)[-1].startswith(f"{own}x")]
        lost += sum(a != b for a, b in zip(texts, kept, strict=False)) + abs(len(texts) - len(kept))
    total = OLD + sum(found["added"] for found in done.values())
    index.add([])  # the next start
    beside = [path.name for path in place.iterdir() if path.name != "index" and path.suffix != ".json"]
    known = {"phrases.json", "phrases.lock"}
    beside += [p.name for p in (place / "index").iterdir() if p.name not in known and not p.name.startswith("segment-")]
    did = {what: sum(found.get(what, 0) for found in done.values()) for what in ("search", "encode", "add", "open")}
    return [
        (f"{count} processes for {minutes:g} minutes end well", f"{len(failed)} failed", not failed),
        (f"{did['search']:,} searches, {did['encode']:,} encodings", f"{len(problems)} wrong", not problems),
        (f"{did['add']:,} times added, {did['open']:,} times opened", f"{lost} of {total:,} texts lost", not lost),
        ("the index holds no other text", f"{len(there) - total} more", len(there) == total),
        ("nothing is left over", f"{len(beside)} files", not beside),
    ]


def threads_share(count: int, rounds: int, seed: int) -> list[Promise]:
    """Some threads use one encoder, with texts of many lengths."""
    encoder, random = small_encoder(), Random(seed)
    texts = [text for words in range(1, 13) for text in sentences(4, words, words)]
    batches = [random.sample(texts, random.randint(1, len(texts))) for _ in range(rounds)]

    def vectors(batch: list[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        return encoder.encode(batch), [own for own, _ in encoder.encode_tokens(batch)]

    expected = [vectors(batch) for batch in batches]
    with ThreadPoolExecutor(count) as pool:
        tasks = [pool.submit(vectors, batch) for batch in batches]
    problems = [str(error) for task in tasks if (error := task.exception())]
    print(*sorted(set(problems)), sep="\n", end="", file=sys.stderr)
    differ = len(problems) + sum(
        not (np.array_equal(found[0], plain[0]) and all(map(np.array_equal, found[1], plain[1])))
        for task, plain in zip(tasks, expected, strict=True)
        if not task.exception()
        for found in [task.result()]
    )
    return [(f"{count} threads encode {rounds:,} batches with one encoder", f"{differ} differ", not differ)]


def share(minutes: float, processes: int = 8, threads: int = 8, seed: int = 0, rounds: int = 1000) -> list[Promise]:
    """Share an index and an encoder, and say what was found of what is promised."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="sentlab-share-") as work:
        promises = processes_share(processes, minutes, seed, Path(work).resolve())
    return promises + threads_share(threads, rounds, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="of the processes; default: 5")
    parser.add_argument("--processes", type=int, default=8, help="default: 8")
    parser.add_argument("--threads", type=int, default=8, help="default: 8")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(f"{asked.processes} processes share an index for {asked.minutes:g} minutes", file=sys.stderr)
    return told(share(asked.minutes, asked.processes, asked.threads, asked.seed))


if __name__ == "__main__":
    sys.exit(main())
