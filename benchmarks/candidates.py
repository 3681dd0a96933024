"""Candidates from FAISS that are scored exactly, against the search of all spans: recall, memory and time a phrase.

    python benchmarks/candidates.py --text FILE-OR-FOLDER ... [--words 2000000] [--size 5] [--grow 1] [--keep FOLDER]

Text is read and indexed as benchmarks/library.py does it. FAISS (`pip install faiss-cpu`) gets the vector of the span
of `--size` words from each word on, and keeps 32 bytes of it (IVF, product quantisation). For a phrase it gives the
words whose vectors are nearest, and the index scores all spans that begin there, or up to 8 words before or 4 after.

Recall is the share of the ten hits of the search of all spans that are found so; "first" is how often its first hit
is. Phrases are those of benchmarks/library.py and phrases drawn from the text. Each way has a process of its own.
Memory is what opening and searching add to it, without the pages of mapped files, which the system takes back when it
needs them. Seconds are those of the CPU, one thread, for one phrase at a time; "together" is a phrase of all at once.

`--grow 4` adds three copies of all vectors, with noise that turns each by about 27 degrees: larger, but not new text.
`--keep` leaves the indexes in a folder and takes those that are there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import faiss
import numpy as np
import torch
from experiments.records import Notes
from library import PHRASES, Library, load_encoder, make_index, most_memory, seconds, text_files

from sentlab import PhraseIndex
from sentlab.search import Hit
from sentlab.search.index_files import Segment, write_segment, writing

HITS, DRAWN, TIMED = 10, 32, 4  # hits a phrase; phrases that are drawn; phrases that are timed one at a time
CELLS, PROBED, BYTES = 1024, 128, 32  # of FAISS: cells, those that are searched, bytes a vector
SAMPLE = 64 * CELLS  # vectors that FAISS learns cells from
CANDIDATES = (200, 800, 3200)  # words a phrase
AROUND = np.arange(-8, 5)  # words at which spans may begin, from a candidate on
NOISE = 0.5  # of a vector's length


def drawn_phrases(index: PhraseIndex) -> list[str]:
    """Two to seven words of texts of the index."""
    random, found = Random(0), [*PHRASES]
    while len(found) < len(PHRASES) + DRAWN:
        words, count = index[random.randrange(len(index))].split(), random.randint(2, 7)
        if len(words) > count and any(letter.isalpha() for letter in "".join(words)):
            first = random.randrange(len(words) - count)
            found.append(" ".join(words[first : first + count]))
    return found


def noisy(segment: Segment, copy: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The words of each text, with noise."""
    random = np.random.default_rng([copy, segment.first_word])
    for number, (first, last) in enumerate(zip(segment.words[:-1], segment.words[1:], strict=True)):
        vectors = segment.vectors[first:last].astype(np.float32)
        noise = random.standard_normal(vectors.shape, np.float32)
        noise *= NOISE * np.linalg.norm(vectors, axis=1, keepdims=True) / np.sqrt(vectors.shape[1])
        yield number, vectors + noise, segment.spans[first:last]


def grow(folder: Path, copies: int, out: Path) -> None:
    """An index of the segments of another, and of copies of them with noise."""
    PhraseIndex.merge([folder], out)
    with writing(out) as manifest:
        segments = [*manifest.segments]
        for copy in range(1, copies):
            for number, extent in enumerate(manifest.segments):
                segment = Segment(out, extent, manifest, first_word=number)
                texts = [segment.text(number) for number in range(extent.texts)]
                segments.append(write_segment(out, texts, noisy(segment, copy), manifest))
        replace(manifest, segments=tuple(segments)).write(out)


def make_engine(index: PhraseIndex, size: int, out: Path) -> None:
    random, parts = np.random.default_rng(0), []
    for _, vectors in index.span_vectors(size):
        parts.append(vectors[random.random(len(vectors)) < SAMPLE / index.words])
    engine = faiss.index_factory(parts[0].shape[1], f"IVF{CELLS},PQ{BYTES}", faiss.METRIC_INNER_PRODUCT)
    engine.train(np.concatenate(parts))
    for words, vectors in index.span_vectors(size):
        engine.add_with_ids(vectors, words)
    faiss.write_index(engine, str(out))


def open_exact(place: Path, encoder: Any, asked: argparse.Namespace) -> Callable[[Sequence[str]], list[list[Hit]]]:
    index = PhraseIndex.load(place / asked.index, encoder)
    return lambda phrases: index.search(phrases, HITS)


def open_engine(place: Path, encoder: Any, asked: argparse.Namespace) -> Callable[[Sequence[str]], list[list[Hit]]]:
    index, engine = PhraseIndex.load(place / asked.index, encoder), faiss.read_index(str(place / engine_name(asked)))
    engine.nprobe = PROBED

    def search(phrases: Sequence[str]) -> list[list[Hit]]:
        _, words = engine.search(index.phrase_vectors(phrases), asked.candidates)  # (Q, n)
        return index.search(phrases, HITS, starts=(words[:, :, None] + AROUND).reshape(len(words), -1))

    return search


def engine_name(asked: argparse.Namespace) -> str:
    return f"{asked.index}.{asked.size}.faiss"


def measure(place: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """What a search costs, and what it finds: the child's work."""
    encoder, phrases = load_encoder(asked.encoder), json.loads((place / "phrases.json").read_text())
    encoder.encode_tokens(phrases)  # loads what is loaded once
    opened = open_engine if asked.candidates else open_exact
    memory = most_memory(lambda: opened(place, encoder, asked)(phrases[:TIMED]))
    search = opened(place, encoder, asked)
    found = search(phrases)  # compares the checksums, which is done once
    one = [seconds(lambda phrase=phrase: search([phrase])) for phrase in phrases[:TIMED]]
    together = seconds(lambda: search(phrases)) / len(phrases)
    hits = [[[hit.text, hit.start, hit.end] for hit in own] for own in found]
    return {"memory": memory, "one": float(np.median(one)), "together": together, "hits": hits}


def alone(place: Path, asked: argparse.Namespace, candidates: int) -> dict[str, Any]:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, "--alone", place, "--index", asked.index, "--encoder", asked.encoder]
    command += ["--size", asked.size, "--candidates", candidates]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(place: Path, asked: argparse.Namespace) -> None:
    encoder = load_encoder(asked.encoder)
    if not (place / "words.index").exists():
        library = Library.read(text_files(asked.text), asked.words, encoder)
        make_index(place / "words.index", encoder, library.paragraphs)
    asked.index = "words.index" if asked.grow == 1 else f"grown-{asked.grow}.index"
    if not (place / asked.index).exists():
        grow(place / "words.index", asked.grow, place / asked.index)
    index = PhraseIndex.load(place / asked.index, encoder)
    texts = PhraseIndex.load(place / "words.index", encoder)
    (place / "phrases.json").write_text(json.dumps(drawn_phrases(texts)))
    made = seconds(lambda: make_engine(index, asked.size, place / engine_name(asked)))
    on_disk = [
        sum(file.stat().st_size for file in index.folder.rglob("*")),
        (place / engine_name(asked)).stat().st_size,
    ]
    about = Notes().provenance("", 0.0)
    print(f"{about.date}; {about.device}; torch {torch.__version__}; encoder {asked.encoder}")
    print(f"{index.words:,} words and marks, {on_disk[0] / 1e6:,.0f} MB")
    print(f"FAISS {faiss.__version__}: spans of {asked.size} words, {on_disk[1] / 1e6:,.0f} MB, made in {made:,.0f} s")
    print("candidates  recall@10  first  memory, MB  a phrase, ms  together, ms", flush=True)
    exact = alone(place, asked, 0)
    for candidates in (0, *CANDIDATES):
        got = alone(place, asked, candidates) if candidates else exact
        pairs = [*zip(got["hits"], exact["hits"], strict=True)]
        recall = np.mean([sum(hit in found for hit in wanted) / len(wanted) for found, wanted in pairs])
        first = np.mean([found[:1] == wanted[:1] for found, wanted in pairs])
        print(
            f"{candidates or 'all':>10}  {recall:9.3f}  {first:5.2f}  {got['memory'] / 1e6:10,.0f}  "
            f"{1e3 * got['one']:12,.0f}  {1e3 * got['together']:12,.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--text", type=Path, nargs="+", default=[])
    parser.add_argument("--words", type=int, default=2_000_000)
    parser.add_argument("--size", type=int, default=5, help="words of the spans whose vectors FAISS has")
    parser.add_argument("--grow", type=int, default=1, help="times as many words, by copies with noise")
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument("--keep", type=Path, help="folder in which the indexes stay")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--index", help=argparse.SUPPRESS)
    parser.add_argument("--candidates", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    if asked.alone:  # the child
        print(json.dumps(measure(asked.alone, asked)))
    elif asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
        run(asked.keep, asked)
    else:
        with TemporaryDirectory() as place:
            run(Path(place), asked)


if __name__ == "__main__":
    main()
