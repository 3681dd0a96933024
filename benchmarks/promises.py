"""What the programs that try the package's promises share: a small encoder, texts, and a table of what was found."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from sentlab.encoder import Encoder

WORDS = (
    "the a an old young king queen dog cat river house garden letter market reads writes sees finds walks runs plays "
    "small red quiet happy slow by in of on with and near under before"
).split()
Promise = tuple[str, str, bool]  # what is promised, what was found, whether it was kept


def small_encoder(seed: int = 0, pooling: str = "mean", max_length: int = 32) -> Encoder:
    """An encoder of two layers with random weights and a vocabulary of some words, letters and digits."""
    signs = [*string.ascii_lowercase, *string.digits]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS, *signs, *(f"##{sign}" for sign in signs)]
    tokenizer = BertTokenizer(vocab={piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, do_lower_case=True)
    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes))
    return Encoder(model, tokenizer, pooling, max_length).eval()


def sentences(count: int, seed: int = 0, words: int = 8) -> list[str]:
    """Texts of some words drawn at random, each with a number that no other has."""
    random = Random(seed)
    return [" ".join([*random.choices(WORDS, k=words), f"{seed}x{number}."]) for number in range(count)]


def contents(folder: Path) -> dict[str, str]:
    """The files in a folder and the folders under it, each with a hash of its content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def told(promises: Sequence[Promise]) -> int:
    """Print what was promised and what was found; return the exit status, 1 where a promise is broken."""
    width, other = (max(len(row[column]) for row in promises) for column in (0, 1))
    for promise, figure, kept in promises:
        print(f"{promise:<{width}}  {figure:>{other}}  {'kept' if kept else 'BROKEN'}")
    return 0 if all(kept for _, _, kept in promises) else 1
