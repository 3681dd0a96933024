"""A phrase index of real text: how long it takes to make and to search, and how much memory a search needs.

    python benchmarks/index.py [--words 2000000] [--phrases 64] [--rounds 5] [--threads 1]

Encoder `tiny`. The texts are the paragraphs under SENTLAB_DATA/text, or sentences of the toy world. Making an index of
a tenth of them is compared with encoding the same texts alone, searching with reading all vectors once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from candidates import drawn_phrases
from experiments import toy
from experiments.cost import SpeedRow
from library import Library, load_encoder, most_memory, text_files
from side_by_side import OURS, alone, in_turn, parser_of, settled, times_as_fast, told

from sentlab import Encoder, PhraseIndex
from sentlab.encoder.inference import computes_bfloat16

ONE, EACH, MEMORY, MORE = 0.25, 0.03, 60, 1.2  # goals for 2 M words: seconds, seconds, MiB, times the encoder's time


def paragraphs(words: int, encoder: Encoder) -> tuple[list[str], str]:
    """Texts of about so many words, and what they are."""
    if "SENTLAB_DATA" in os.environ:
        files = text_files([Path(os.environ["SENTLAB_DATA"]) / "text"])
        return Library.read(files, words, encoder).paragraphs, "words of novels, Wikipedia and a textbook"
    return [*toy.load("toy-sentences", "train", size=words // 8)], "words of the toy world"


def make(texts: list[str], encoder: Encoder, folder: Path, precision: str | None = None) -> PhraseIndex:
    index = PhraseIndex(encoder)
    index.add(texts, precision=precision, progress=False)
    index.save(folder)
    return index


def repeated(phrases: list[str], count: int) -> list[str]:
    return [phrases[i % len(phrases)] for i in range(count)]


def rows(asked: argparse.Namespace) -> Iterator[SpeedRow]:
    encoder = load_encoder("tiny")
    texts, what = paragraphs(asked.words, encoder)
    with TemporaryDirectory(prefix="sentlab-index-") as scratch:
        folder = Path(scratch) / "words.index"
        some, alone_takes = texts[::10], "encoding alone"

        def make_some(precision: str | None = None) -> int:
            with TemporaryDirectory(dir=scratch) as place:
                return make(some, encoder, Path(place) / "some", precision).words

        of_some = Path(scratch) / "some.json"  # a child that read all texts would reuse the memory of the others
        of_some.write_text(json.dumps(some))
        ways = {OURS: make_some, alone_takes: lambda: encoder.encode_tokens(some, progress=False)}
        if computes_bfloat16():
            ways["in bfloat16"] = lambda: make_some("bfloat16")
        times, results = in_turn(ways, asked.rounds)
        longer = 1 / times_as_fast(times, alone_takes)  # by the median of all rounds
        yield SpeedRow(
            work=f"Make an index of {results[OURS]:,} {what}",
            threads=asked.threads,
            unit="s",
            figures={name: round(float(np.median(own)), 2) for name, own in times.items()},
            goal=f"{MORE} times the time of encoding (it takes {longer:.2f} times as long)",
            met=longer <= MORE,
            memory=memory_of("making", of_some, asked),
        )
        index = make(texts, encoder, folder)
        phrases = repeated(drawn_phrases(index), asked.phrases)
        vectors = np.empty((index.words, encoder.dim), np.float16)
        vectors.fill(1.0)
        times, _ = in_turn(
            {
                OURS: lambda: index.search(phrases[:1], 10),
                "together": lambda: index.search(phrases, 10),
                "reading all vectors once": lambda: int(vectors.view(np.uint64).sum()),
            },
            asked.rounds,
        )
        memory = memory_of("one", folder, asked)
        figures = {name: round(float(np.median(own)), 3) for name, own in times.items()}
        size = index.words / 2e6
        yield SpeedRow(
            work=f"Find a phrase in {index.words:,} {what}",
            threads=asked.threads,
            unit="s",
            figures={name: figures[name] for name in (OURS, "reading all vectors once")},
            goal=f"{ONE * size:.2f} s, which is {ONE} s for 2 million words; {MEMORY} MiB",
            met=figures[OURS] <= ONE * size and memory <= MEMORY,
            memory=memory,
        )
        each = figures["together"] / len(phrases)
        yield SpeedRow(
            work=f"Find {len(phrases)} phrases at once in {index.words:,} {what}",
            threads=asked.threads,
            unit="s a phrase",
            figures={OURS: round(each, 4), "one alone": figures[OURS]},
            goal=f"{EACH * size:.3f} s a phrase, which is {EACH} s for 2 million words",
            met=each <= EACH * size,
            memory=memory_of("together", folder, asked),
        )


def memory_of(work: str, on: Path, asked: argparse.Namespace) -> float:
    """The MiB that some work on the index in a folder, or on texts in a file, adds to the memory of a process."""
    numbers = ["--threads", asked.threads, "--phrases", asked.phrases]
    return round(alone([__file__, *numbers, "--alone", work, "--on", on]) / 2**20, 1)


def added(asked: argparse.Namespace) -> int:
    """The bytes that the work of a child adds to its memory."""
    encoder = load_encoder("tiny")
    encoder.encode_tokens(["once"], progress=False)  # loads what is loaded once
    if asked.alone == "making":
        texts = json.loads(asked.on.read_text())
        with TemporaryDirectory(prefix="sentlab-index-") as place:
            return most_memory(lambda: make(texts, encoder, Path(place) / "some"))
    phrases = repeated(drawn_phrases(PhraseIndex.load(asked.on, encoder)), asked.phrases)
    phrases = phrases if asked.alone == "together" else phrases[:1]
    return most_memory(lambda: PhraseIndex.load(asked.on, encoder).search(phrases, 10))


def main() -> int:
    parser = parser_of(__doc__, words=2_000_000, phrases=64)
    parser.add_argument("--on", type=Path, help=argparse.SUPPRESS)
    asked = settled(parser)
    if asked.alone:  # the child
        print(json.dumps(added(asked)))
        return 0
    return told(rows(asked), asked)


if __name__ == "__main__":
    sys.exit(main())
