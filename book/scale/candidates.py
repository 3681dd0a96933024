"""Search with candidates from FAISS, beside the search of all spans.

    python candidates.py INDEX [--encoder tiny] [--size 5]

INDEX is a folder of a PhraseIndex. FAISS gets the vector of the span of
`--size` words from each word on, and keeps 32 bytes of it. For a phrase it
gives the words whose vectors are nearest, and the index scores all spans that
begin there, or up to 8 words before or 4 after. Recall is the share of the
ten hits of the exact search that are found so; "first" is how often its
first hit is. The phrases are drawn from the texts of the index.
"""

import argparse
import time
from random import Random

import faiss
import numpy as np
import torch

import sentlab

CELLS, PROBED, BYTES = 1024, 128, 32  # all, those searched; bytes a vector
AROUND = np.arange(-8, 5)  # words where spans may begin, from a candidate on


def drawn_phrases(index, count=40):
    random, phrases = Random(0), []
    while len(phrases) < count:
        words = index[random.randrange(len(index))].split()
        size = random.randint(2, 7)
        if len(words) > size:
            first = random.randrange(len(words) - size)
            phrases.append(" ".join(words[first : first + size]))
    return phrases


def make_engine(index, size):
    random, sample = np.random.default_rng(0), []
    for _, vectors in index.span_vectors(size):
        share = 64 * CELLS / index.word_count
        sample.append(vectors[random.random(len(vectors)) < share])
    engine = faiss.index_factory(
        sample[0].shape[1],
        f"IVF{CELLS},PQ{BYTES}",
        faiss.METRIC_INNER_PRODUCT,
    )
    engine.train(np.concatenate(sample))
    for words, vectors in index.span_vectors(size):
        engine.add_with_ids(vectors, words)
    engine.nprobe = PROBED
    return engine


def search(index, engine, phrases, candidates):
    """Find ten hits a phrase; with 0 candidates among all spans."""
    if not candidates:
        return index.search(phrases, 10)
    _, words = engine.search(index.phrase_vectors(phrases), candidates)
    starts = (words[:, :, None] + AROUND).reshape(len(phrases), -1)
    return index.search(phrases, 10, starts=starts)


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("index")
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument("--size", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    encoder = sentlab.Encoder.from_pretrained(args.encoder)
    index = sentlab.PhraseIndex.load(args.index, encoder)
    phrases, engine = drawn_phrases(index), make_engine(index, args.size)
    exact = search(index, engine, phrases, 0)
    print("candidates  recall@10  first  a phrase, ms  together, ms")
    for candidates in (0, 200, 800, 3200):
        hits = search(index, engine, phrases, candidates)
        pairs = list(zip(hits, exact, strict=True))
        recall = np.mean([len({*a} & {*b}) / len(b) for a, b in pairs])
        first = np.mean([a[:1] == b[:1] for a, b in pairs])
        one = np.median(
            [
                seconds(
                    lambda p=p, n=candidates: search(index, engine, [p], n)
                )
                for p in phrases[:4]
            ]
        )
        each = seconds(lambda n=candidates: search(index, engine, phrases, n))
        print(
            f"{candidates or 'all':>10}  {recall:9.3f}  {first:5.2f}  "
            f"{1e3 * one:12,.0f}  {1e3 * each / len(phrases):12,.0f}"
        )


if __name__ == "__main__":
    main()
