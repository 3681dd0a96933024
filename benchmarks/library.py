"""A library of real text, mined for phrases: time, memory and what is found, with an index of phrases and without one.

    python benchmarks/library.py --text FILE-OR-FOLDER ... [--encoder NAME] [--words 2000000] [--out FILE]

The texts are `.txt` files, a paragraph a line, also packed as `.xz` or `.gz`. Equally many words of each file are read,
in whole lines drawn at random. All ways look for a phrase in the same paragraphs, which an encoder reads at once:

    index         `sentlab.PhraseIndex` in float16; all spans of up to 20 words are compared
    paragraphs    a vector a paragraph in float16, a matrix product; finds paragraphs
    bm25          the words themselves; finds paragraphs
    span vectors  a vector a span in float16, a matrix product; of a part of the paragraphs, evenly spread
    ngrams        every span as a text through the encoder; only made, and of a smaller part

Each search has a process of its own. Memory is what opening and searching add to it, without the pages of mapped files
(Linux). Seconds are those of the CPU, one thread. What was measured on a part says on how many words.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from bm25s import BM25
from experiments.peers import okapi
from experiments.records import FOLDER, Benchmark, Notes, place_of
from experiments.run import weights_fingerprint
from side_by_side import memory

from sentlab.encoder import Encoder
from sentlab.search.index_files import Manifest, Segment
from sentlab.search.phrase_index import PhraseIndex, passages
from sentlab.text.words import lower_words

PHRASES = (
    "a storm at sea; she could not sleep that night; he asked her to marry him; an unexpected letter; the death of his "
    "father; the king was killed in battle; the capital and largest city; made of iron and steel"
).split("; ")
MAX_SIZE = 20  # words a span
POOLING, MAX_LENGTH, SEED = "mean", 128, 0  # SEED: of the lines that are drawn
HITS, CONTEXT, START = 3, 60, 200  # hits a phrase; characters shown on either side of one, and of a paragraph
SPAN_WORDS, NGRAM_WORDS = 50_000, 1_000  # in the parts of which span vectors and n-grams are made
CHUNK, ROUNDS = 65_536, 3  # vectors in a matrix product
SAME = 0.002  # two similarities of the same span in float16 differ by less

Hits = list[list[Any]]  # for each phrase: similarity, paragraph or span, and for spans of it start and end
Search = Callable[[Sequence[str]], Hits]


def text_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files, and of folders all text files in them."""
    return [file for path in paths for file in (sorted(path.glob("*.txt*")) if path.is_dir() else [path])]


def drawn_lines(path: Path, words: int) -> list[str]:
    """Draw lines of a file until there are that many words; return them in the order of the file."""
    with {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    order = [number for number, line in enumerate(lines) if line.strip()]
    Random(SEED).shuffle(order)
    kept: dict[int, str] = {}
    for number in order:
        if words <= 0:
            break
        taken = lines[number].split()[:words]
        kept[number] = " ".join(taken)
        words -= len(taken)
    return [kept[number] for number in sorted(kept)]


FILES = {"index": "index", "paragraphs": "paragraphs.npy", "bm25": "bm25", "span vectors": "spans.npy"}


def opened(way: str, place: Path, encoder: Encoder) -> Search:
    """Open what lies on disk for a way to search."""
    path = place / FILES[way]
    if way == "index":
        index = PhraseIndex.load(path, encoder)
        return lambda phrases: [
            [[h.similarity, h.text, h.start, h.end] for h in hits] for hits in index.search(phrases, HITS, trim=False)
        ]
    if way == "bm25":
        bm25 = BM25.load(path, show_progress=False)
        return lambda phrases: [[best(bm25.get_scores(lower_words(phrase)))] for phrase in phrases]
    vectors = np.load(path, mmap_mode="r")
    if way == "paragraphs":
        return lambda phrases: nearest(vectors, encoder.encode(phrases))
    return lambda phrases: nearest(vectors, np.stack([words.mean(0) for words, _ in encoder.encode_tokens(phrases)]))


def best(scores: np.ndarray) -> list[Any]:
    return [float(scores.max()), int(scores.argmax())]


def normalised(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def nearest(vectors: np.ndarray, queries: np.ndarray) -> Hits:
    """Of many vectors (n, D) of length 1 the nearest one to each query (Q, D), and their cosine."""
    queries = normalised(queries)
    nearest = [[-np.inf, 0] for _ in queries]
    for first in range(0, len(vectors), CHUNK):
        scores = queries @ vectors[first : first + CHUNK].astype(np.float32).T  # (Q, c)
        for row, (score, place) in enumerate(map(best, scores)):
            nearest[row] = max(nearest[row], [score, first + place], key=lambda hit: hit[0])
    return [[hit] for hit in nearest]


def make_index(folder: Path, encoder: Encoder, paragraphs: list[str]) -> None:
    index = PhraseIndex(encoder, max_size=MAX_SIZE)
    index.add(paragraphs)
    index.save(folder)


def make_paragraphs(place: Path, encoder: Encoder, paragraphs: list[str]) -> None:
    np.save(place / FILES["paragraphs"], encoder.encode(paragraphs, normalize=True).astype(np.float16))


def make_bm25(place: Path, paragraphs: list[str]) -> None:
    okapi(paragraphs).save(place / FILES["bm25"], show_progress=False)


def make_span_vectors(place: Path) -> None:
    """The normalised vector of every span of the part, of the vectors of words in its index."""
    words = [vectors.astype(np.float64) for vectors, _ in indexed_words(place / "part")]
    shape = (count_spans(place / "part"), words[0].shape[1])
    out, row = np.lib.format.open_memmap(place / "spans.npy", "w+", np.float16, shape), 0
    for vectors in words:
        cumulated = np.pad(vectors.cumsum(0), ((1, 0), (0, 0)))
        for size in range(1, min(MAX_SIZE, len(vectors)) + 1):
            spans = normalised(cumulated[size:] - cumulated[:-size])
            out[row : row + len(spans)] = spans
            row += len(spans)


def indexed_words(folder: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each paragraph of an index its words: their vectors (w, D) and characters (w, 2)."""
    manifest = Manifest.read(folder)
    for extent in manifest.segments:
        segment = Segment(folder, extent, manifest)
        edges = segment.first_words[1:-1]
        yield from zip(np.split(segment.vectors, edges), np.split(segment.spans, edges), strict=True)


def ngrams(paragraph: str, places: np.ndarray) -> list[str]:
    """All spans of a paragraph's words, whose characters are (w, 2), as texts."""
    starts, ends = places.T
    return [
        paragraph[starts[first] : ends[last]]
        for first in range(len(places))
        for last in range(first, min(first + MAX_SIZE, len(places)))
    ]


def count_spans(folder: Path) -> int:
    """How many spans the paragraphs of an index have."""
    words = np.array([len(vectors) for vectors, _ in indexed_words(folder)])
    return int(np.maximum(words[:, None] - np.arange(MAX_SIZE), 0).sum())


def count_words(paragraphs: Sequence[str]) -> int:
    return sum(len(paragraph.split()) for paragraph in paragraphs)


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def most_memory(work: Callable[[], Any]) -> float:
    """Return the MiB that some work adds at most to the memory of this process, looked at every few milliseconds."""
    readings, done = [memory("RssAnon")], threading.Event()

    def look() -> None:
        while not done.wait(0.002):
            readings.append(memory("RssAnon"))

    watch = threading.Thread(target=look)
    watch.start()
    try:
        work()
    finally:
        done.set()
        watch.join()
    return round(max(*readings, memory("RssAnon")) - readings[0], 1)


def load_encoder(source: str) -> Encoder:
    return Encoder.from_pretrained(source, pooling=POOLING, max_length=MAX_LENGTH, device="cpu")


def measure(way: str, place: Path, source: str) -> dict[str, Any]:
    """Measure what a search costs, and what it finds: the child's work."""
    encoder = load_encoder(source)
    encoder.encode_tokens(PHRASES)  # loads what is loaded once
    most = most_memory(lambda: opened(way, place, encoder)(PHRASES))
    search = opened(way, place, encoder)
    works: dict[str, Callable[[], Any]] = {
        "open": lambda: opened(way, place, encoder),
        "search one": lambda: search(PHRASES[:1]),
        "search all": lambda: search(PHRASES),
    }
    times = {name: float(np.median([seconds(work) for _ in range(ROUNDS)])) for name, work in works.items()}
    return {"seconds": times, "memory": round(most * 2**20), "hits": search(PHRASES)}


def alone(way: str, place: Path, source: str) -> dict[str, Any]:
    """Call `measure` in a process of its own."""
    command = [sys.executable, __file__, "--alone", way, str(place), "--encoder", source]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def size_on_disk(path: Path) -> int:
    return sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())


def without_place(path: Path) -> str:
    """Return a path as a record may hold it: below SENTLAB_DATA, or only its name."""
    above = Path(os.environ.get("SENTLAB_DATA", "nowhere")).resolve()
    inside = path.resolve().is_relative_to(above)
    return str(Path("SENTLAB_DATA") / path.resolve().relative_to(above)) if inside else path.name


@dataclass(frozen=True)
class Library:
    """Paragraphs of the lines of some files."""

    files: list[Path]
    lines: list[str]  # of all files
    file: list[int]  # of each line the number of its file
    places: list[tuple[int, int, int]]  # of each paragraph its line, and its characters [start, end) there

    @classmethod
    def read(cls, files: list[Path], words: int, encoder: Encoder) -> Library:
        """Read equally many words of each file."""
        drawn = [drawn_lines(file, words // len(files)) for file in files]
        lines, numbers = [line for lines in drawn for line in lines], range(len(files))
        if not lines:
            raise ValueError(f"{words:,} words were to be read of {', '.join(map(str, files))}, and there are none")
        return cls(files, lines, [n for n in numbers for _ in drawn[n]], passages(encoder, lines))

    @property
    def paragraphs(self) -> list[str]:
        return [self.lines[line][start:end] for line, start, end in self.places]

    def hit(self, similarity: float, paragraph: int, start: int, end: int) -> dict[str, Any]:
        line, offset, _ = self.places[paragraph]
        text, start, end = self.lines[line], offset + start, offset + end
        about = {"similarity": round(similarity, 4), "words": text[start:end], "file": self.files[self.file[line]].name}
        return about | {"before": text[max(0, start - CONTEXT) : start], "after": text[end : end + CONTEXT]}

    def paragraph(self, score: float, paragraph: int) -> dict[str, Any]:
        words = self.paragraphs[paragraph][:START]
        return {"score": round(score, 4), "words": words, "file": self.files[self.file[self.places[paragraph][0]]].name}

    def about(self, number: int, file: Path) -> dict[str, Any]:
        """Describe a file for a record."""
        return {
            "rows": sum(self.file[line] == number for line, _, _ in self.places),
            "words": count_words([line for line, of in zip(self.lines, self.file, strict=True) if of == number]),
            "fingerprint": hashlib.sha256(file.read_bytes()).hexdigest()[:16],
            "source": without_place(file),
        }


def compare(
    paragraphs: list[str], encoder: Encoder, source: str, place: Path
) -> tuple[dict[str, Any], dict[str, Hits]]:
    """What each way costs, and what it finds; all that is made lies in a folder."""
    part = paragraphs[:: max(1, round(count_words(paragraphs) / SPAN_WORDS))]
    made = {
        "index": seconds(lambda: make_index(place / "index", encoder, paragraphs)),
        "paragraphs": seconds(lambda: make_paragraphs(place, encoder, paragraphs)),
        "bm25": seconds(lambda: make_bm25(place, paragraphs)),
        "part": seconds(lambda: make_index(place / "part", encoder, part)),
        "span vectors": seconds(lambda: make_span_vectors(place)),
    }
    made["span vectors"] += made["part"]
    searches = {way: alone(way, place, source) for way in FILES}
    ways = {
        way: {
            "words": count_words(part if way == "span vectors" else paragraphs),
            "seconds to make": round(made[way], 2),
            "bytes": size_on_disk(place / FILES[way]),
            "bytes of memory": search["memory"],
            **{f"seconds to {what}": round(value, 5) for what, value in search["seconds"].items()},
        }
        for way, search in searches.items()
    }
    words = sum(len(vectors) for vectors, _ in indexed_words(place / "index"))
    ways["index"] |= {"words and marks": words, "spans": count_spans(place / "index")}
    ways["index"]["bytes in float32"] = ways["index"]["bytes"] + 2 * words * encoder.dim

    ours = [hits[0].similarity for hits in PhraseIndex.load(place / "part", encoder).search(PHRASES, 1, trim=False)]
    plain = [hits[0][0] for hits in searches["span vectors"]["hits"]]
    same = int((np.abs(np.subtract(ours, plain)) < SAME).sum())
    ways["span vectors"] |= {"spans": count_spans(place / "part"), "same best": same}

    read = [(text, places) for text, (_, places) in zip(part, indexed_words(place / "part"), strict=True)]
    read = read[:: max(1, round(count_words(part) / NGRAM_WORDS))]
    texts = [ngram for text, places in read for ngram in ngrams(text, places)]
    ways["ngrams"] = {"words": count_words([text for text, _ in read]), "spans": len(texts)}
    ways["ngrams"]["seconds to make"] = round(seconds(lambda: encoder.encode(texts)), 2)
    return ways, {way: search["hits"] for way, search in searches.items()}


def run(files: list[Path], source: str, words: int, out: Path) -> Benchmark:
    """Make and search the library in all ways, and write the record."""
    began, encoder = time.monotonic(), load_encoder(source)
    library = Library.read(files, words, encoder)
    shown = without_place(Path(source)) if Path(source).is_dir() else source
    texts = [without_place(file) for file in files]
    used = {"source": shown, "pooling": POOLING, "max_length": MAX_LENGTH}
    settings = {"encoder": used, "text": texts, "words": words, "seed": SEED, "phrases": PHRASES}
    settings |= {"max_size": MAX_SIZE, "dtype": "float16", "threads": 1}
    with TemporaryDirectory(prefix="sentlab-library-") as scratch:
        ways, hits_of = compare(library.paragraphs, encoder, source, Path(scratch))
    hits = {
        phrase: {
            "index": [library.hit(*span) for span in hits_of["index"][row]],
            "paragraphs": library.paragraph(*hits_of["paragraphs"][row][0]),
            "bm25": library.paragraph(*hits_of["bm25"][row][0]),
        }
        for row, phrase in enumerate(PHRASES)
    }
    notes = Notes()
    notes.data = {file.name: library.about(number, file) for number, file in enumerate(files)}
    record = Benchmark(kind="library", settings=settings, **place_of(out), results={"ways": ways, "hits": hits})
    command = f"python benchmarks/library.py --text {' '.join(texts)} --encoder {shown} --words {words}"
    command += f" --out book/results/{record.name}.json"
    start = {"source": shown, "fingerprint": weights_fingerprint(encoder), "dim": encoder.dim}
    record.provenance = notes.provenance(command, time.monotonic() - began, encoder=start)
    record.save()
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs="+", type=Path, default=[], help="text files, or folders of them")
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument("--words", type=int, default=2_000_000, help="of all files together")
    parser.add_argument("--out", type=Path, default=FOLDER / "library" / "tiny.json")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    os.environ.update({"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""})
    torch.set_num_threads(1)
    if args.alone:
        way, place = args.alone
        print(json.dumps(measure(way, Path(place), args.encoder)))
        return 0
    if not args.text:
        parser.error("name the texts: --text FILE-OR-FOLDER ...")
    record = run(text_files(args.text), args.encoder, args.words, args.out)
    print(json.dumps(record.results["ways"], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
