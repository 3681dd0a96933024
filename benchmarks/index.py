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
from itertools import cycle, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from experiments import toy
from library import PHRASES, Library, load_encoder, most_memory, text_files
from side_by_side import BFLOAT16, OURS, Row, alone, in_turn, main, medians, parser_of, times_as_fast

from sentlab import Encoder, PhraseIndex

ONE, EACH, MEMORY, MORE = 0.25, 0.03, 60, 1.2  # goals for 2 M words: seconds, seconds, MiB, times the encoder's time


def paragraphs(words: int, encoder: Encoder) -> tuple[list[str], str]:
    """Return texts of about so many words, and what they are."""
    if "SENTLAB_DATA" in os.environ:
        files = text_files([Path(os.environ["SENTLAB_DATA"]) / "text"])
        return Library.read(files, words, encoder).paragraphs, "words of novels, Wikipedia and a textbook"
    return [*toy.load("toy-sentences", "train", size=words // 8)], "words of the toy world"


def make(texts: list[str], encoder: Encoder, folder: Path, precision: str | None = None) -> PhraseIndex:
    index = PhraseIndex(encoder)
    index.add(texts, precision=precision, progress=False)
    index.save(folder)
    return index


def phrases_of(index: PhraseIndex, count: int) -> list[str]:
    """Return phrases of two to seven words, drawn from the texts of an index, and those of the library."""
    drawn, phrases = Random(0), [*PHRASES]
    while len(phrases) < len(PHRASES) + 32:
        words, size = index[drawn.randrange(len(index))].split(), drawn.randint(2, 7)
        if len(words) > size and any(letter.isalpha() for letter in "".join(words)):
            first = drawn.randrange(len(words) - size)
            phrases.append(" ".join(words[first : first + size]))
    return [*islice(cycle(phrases), count)]


def rows(args: argparse.Namespace) -> Iterator[Row]:
    encoder, threads = load_encoder("tiny"), {"threads": args.threads}
    texts, what = paragraphs(args.words, encoder)
    with TemporaryDirectory(prefix="sentlab-index-") as scratch:
        folder, some = Path(scratch) / "words.index", texts[::10]

        def make_some(precision: str | None = None) -> int:
            with TemporaryDirectory(dir=scratch) as place:
                return make(some, encoder, Path(place) / "some", precision).word_count

        ways = {OURS: make_some, "encoding alone": lambda: encoder.encode_tokens(some, progress=False)}
        if BFLOAT16:
            ways["in bfloat16"] = lambda: make_some("bfloat16")
        seconds, results = in_turn(ways, args.rounds)
        longer = 1 / times_as_fast(seconds, "encoding alone")
        texts_of_some = Path(scratch) / "some.json"  # a child that read all texts would reuse the memory of the others
        texts_of_some.write_text(json.dumps(some))
        yield threads | {
            "work": f"Make an index of {results[OURS]:,} {what}",
            "unit": "s",
            "figures": medians(seconds, 2),
            "goal": f"{MORE} times the time of encoding (it takes {longer:.2f} times as long)",
            "met": longer <= MORE,
            "memory": alone(__file__, "making", args, on=texts_of_some),
        }
        index = make(texts, encoder, folder)
        phrases, vectors = phrases_of(index, args.phrases), np.ones((index.word_count, encoder.dim), np.float16)
        searches = {
            OURS: lambda: index.search(phrases[:1], 10),
            "together": lambda: index.search(phrases, 10),
            "reading all vectors once": lambda: int(vectors.view(np.uint64).sum()),
        }
        figures = medians(in_turn(searches, args.rounds)[0])
        memory, size = alone(__file__, "one", args, on=folder), index.word_count / 2e6
        yield threads | {
            "work": f"Find a phrase in {index.word_count:,} {what}",
            "unit": "s",
            "figures": {name: figures[name] for name in (OURS, "reading all vectors once")},
            "goal": f"{ONE * size:.2f} s, which is {ONE} s for 2 million words; {MEMORY} MiB",
            "met": figures[OURS] <= ONE * size and memory <= MEMORY,
            "memory": memory,
        }
        each = figures["together"] / len(phrases)
        yield threads | {
            "work": f"Find {len(phrases)} phrases at once in {index.word_count:,} {what}",
            "unit": "s a phrase",
            "figures": {OURS: round(each, 4), "one alone": figures[OURS]},
            "goal": f"{EACH * size:.3f} s a phrase, which is {EACH} s for 2 million words",
            "met": each <= EACH * size,
            "memory": alone(__file__, "together", args, on=folder),
        }


def work(args: argparse.Namespace) -> float:
    """Return the MiB that making an index, or opening and searching one, adds to the memory of this process."""
    encoder = load_encoder("tiny")
    encoder.encode_tokens(["once"], progress=False)  # loads what is loaded once
    if args.alone == "making":
        texts = json.loads(args.on.read_text())
        with TemporaryDirectory(prefix="sentlab-index-") as place:
            return most_memory(lambda: make(texts, encoder, Path(place) / "some"))
    phrases = phrases_of(PhraseIndex.load(args.on, encoder), args.phrases if args.alone == "together" else 1)
    return most_memory(lambda: PhraseIndex.load(args.on, encoder).search(phrases, 10))


if __name__ == "__main__":
    parser = parser_of(__doc__, words=2_000_000, phrases=64)
    parser.add_argument("--on", type=Path, help=argparse.SUPPRESS)
    sys.exit(main(parser, rows, work))
