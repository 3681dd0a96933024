"""What a page computes, against the package: tokens, vectors, quality in int8, and time. For Node.js.

    python benchmarks/page.py [--encoder FOLDER] [--corpus stsb] [--sentences 500]

A page runs the same file, `encoder.js`, in a browser. Exits with 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from experiments.page import ASSETS, export, rounded
from promises import Promise, told

from sentlab import Encoder, data
from sentlab.evaluation.metrics import cosine_similarity, spearman

LEAST_COSINE, LEAST_IN_INT8 = 0.999, 0.99
MOST_LOST, MOST_MB, MOST_MS = 0.2, 2.5, 15.0  # of Spearman x 100

PROGRAM = """
const { Encoder } = require(process.argv[2]);
require(process.argv[3]);
const texts = JSON.parse(require("fs").readFileSync(process.argv[4], "utf-8"));
const encoder = new Encoder(globalThis.sentlabEncoders.mine);
const found = texts.map((text) => ({ ids: encoder.tokenize(text).ids, vector: [...encoder.encode(text)] }));
const long = texts.find((text) => encoder.tokenize(text).ids.length === 20) ?? texts[0];
const times = [];
for (let i = 0; i < 60; i++) {
  const began = performance.now();
  encoder.encode(long);
  times.push(performance.now() - began);
}
const ms = times.slice(10).sort((a, b) => a - b)[25];
console.log(JSON.stringify({ found, ms, tokens: encoder.tokenize(long).ids.length }));
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--encoder", default="tiny", help="default: the bundled one")
    parser.add_argument("--corpus", default="stsb", help="of pairs, whose dev split is read; default: stsb")
    parser.add_argument("--sentences", type=int, default=500, help="whose tokens and vectors are compared")
    asked = parser.parse_args()
    if not (node := shutil.which("node")):
        print("needs Node.js (the program node)", file=sys.stderr)
        return 2
    encoder = Encoder.from_pretrained(asked.encoder)
    pairs = data.load(asked.corpus, "dev")
    texts = [text for pair in pairs for text in (pair.text_a, pair.text_b)]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        script = export(encoder, folder / "mine.js", "mine")
        size = script.stat().st_size / 1e6
        (folder / "run.js").write_text(PROGRAM)
        (folder / "texts.json").write_text(json.dumps(texts))
        files = [str(path) for path in (folder / "run.js", ASSETS / "encoder.js", script, folder / "texts.json")]
        printed = subprocess.run([node, *files], capture_output=True, text=True, check=True).stdout
    there = json.loads(printed)
    vectors = np.array([own["vector"] for own in there["found"]])
    ids = encoder.tokenizer(texts, truncation=True, max_length=encoder.max_length)["input_ids"]
    plain = np.asarray(encoder.encode(texts, progress=False))
    in_int8 = np.asarray(rounded(encoder).encode(texts, progress=False))
    gold = [pair.score for pair in pairs]
    page, float32 = (100 * spearman(cosine_similarity(own[0::2], own[1::2]), gold) for own in (vectors, plain))
    n = min(asked.sentences, len(texts))

    differ = sum(own["ids"] != expected for own, expected in zip(there["found"][:n], ids[:n], strict=True))
    same, whole = (float(cosine_similarity(vectors[:n], theirs[:n]).min()) for theirs in (in_int8, plain))
    promises: list[Promise] = [
        (f"token ids of {n} sentences are the tokenizer's", f"{differ} differ", differ == 0),
        (
            "cosine with the vectors of the same weights",
            f"at least {same:.6f}",
            same >= LEAST_COSINE,
        ),
        ("cosine with the vectors in float32", f"at least {whole:.4f}", whole >= LEAST_IN_INT8),
        (
            f"Spearman x 100 on {asked.corpus} dev, {len(pairs):,} pairs",
            f"int8 {page:.2f}, float32 {float32:.2f}",
            abs(page - float32) <= MOST_LOST,
        ),
        ("size of the script", f"{size:.2f} MB", size <= MOST_MB),
        (f"a sentence of {there['tokens']} tokens", f"{there['ms']:.1f} ms", there["ms"] < MOST_MS),
    ]
    return told(promises)


if __name__ == "__main__":
    sys.exit(main())
