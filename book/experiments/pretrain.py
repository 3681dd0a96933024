"""Pre-train a small uncased BERT by masked-language modelling alone: how the bundled encoders were made.

    python -m experiments.pretrain --text FOLDER --out FOLDER [--tokens 88e6] [--start FOLDER]

FOLDER holds plain text (`*.txt` or `*.txt.xz`, a paragraph a line). Toy-world sentences of the training split are
added. There is no objective on sentences (Devlin et al. 2019, without next-sentence prediction).
"""

from __future__ import annotations

import argparse
import copy
import json
import lzma
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentlab import methods
from sentlab.data import toy
from sentlab.data.readers import SENTENCE_END
from sentlab.encoder import Encoder
from sentlab.files import write_json
from sentlab.training import TrainConfig, fit, set_dropout, set_seed
from sentlab.training.losses import corrupt, masked_lm_loss
from tokenizers.implementations import BertWordPieceTokenizer
from torch import Tensor
from tqdm import tqdm
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

SHEET = 1024  # default tokens of one optimiser step
# A sheet is cut into blocks of one of these lengths, in turn; from the short ones attention is learned soonest.
LENGTHS = (32, 64, 32, 128, 32, 64, 32, 256)
METHOD_DROPOUT = 0.02  # what the saved configuration names: sentence vectors bear no more, but for --dropout-from


class MaskedLM(methods.MaskedLM):
    """The masked-LM objective on sheets of token ids (n, length), with dropout of a rate from the step `start` on."""

    steps: Tensor

    def __init__(self, encoder: Encoder, rate: float = 0.0, start: int = 0):
        super().__init__(encoder)
        self.rate, self.start = rate, start
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))  # which a checkpoint keeps
        set_dropout(encoder, 0.0)

    def after_step(self) -> None:
        self.steps += 1

    def collate(self, rows: Sequence[np.ndarray]) -> dict[str, Tensor]:  # type: ignore[override]
        set_dropout(self.encoder, self.rate if self.steps >= self.start else 0.0)
        labels = torch.from_numpy(np.concatenate(rows).astype(np.int64))  # (B, L)
        corrupted, chosen = corrupt(labels, self.encoder.tokenizer)
        batch = {"input_ids": corrupted, "labels": labels, "chosen": chosen}
        return {name: value.to(self.encoder.device) for name, value in batch.items()}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        ids = batch["input_ids"]
        hidden = self.encoder.hidden_states(ids, torch.ones_like(ids))[-1]  # (B, L, D)
        assert self.encoder.lm_head is not None
        return {"mlm": masked_lm_loss(self.encoder.lm_head, hidden, batch["labels"], batch["chosen"])}


class Sheets(Sequence[np.ndarray]):
    """The tokenised text as sheets of `size` tokens, cut into blocks.

    Each block starts at a sentence boundary and is wrapped in [CLS] and [SEP].
    """

    def __init__(self, ids: np.ndarray, starts: np.ndarray, cls_id: int, sep_id: int, size: int = SHEET):
        assert size % max(LENGTHS) == 0, f"a sheet must be a multiple of {max(LENGTHS)} tokens, got {size}"
        self.ids, self.starts, self.cls_id, self.sep_id, self.size = ids, starts, cls_id, sep_id, size
        self.blocks: list[np.ndarray] = []  # of each sheet, the place of its blocks' first tokens
        place = 0
        while True:
            length = LENGTHS[len(self.blocks) % len(LENGTHS)]
            blocks = np.empty(size // length, dtype=np.int64)
            for i in range(len(blocks)):
                after = np.searchsorted(starts, place)
                if after == len(starts) or starts[after] + length - 2 > len(ids):
                    return
                blocks[i] = starts[after]
                place = int(starts[after]) + length - 2
            self.blocks.append(blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, index: int) -> np.ndarray:  # type: ignore[override]
        first = self.blocks[index]
        length = self.size // len(first)
        sheet = np.empty((len(first), length), dtype=np.uint16)
        sheet[:, 0], sheet[:, -1] = self.cls_id, self.sep_id
        sheet[:, 1:-1] = self.ids[first[:, None] + np.arange(length - 2)]
        return sheet


def documents(files: Sequence[Path]) -> Iterator[str]:
    """Yield the paragraphs of text files, long ones in pieces of about a hundred sentences."""
    for path in files:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    sentences = SENTENCE_END.split(line.strip())
                    yield from (" ".join(sentences[i : i + 100]) for i in range(0, len(sentences), 100))


def tokenise(texts: Sequence[str], tokenizer: BertTokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Tokenise all texts into one array of ids, and return it with the places where sentences start."""
    ids: list[np.ndarray] = []
    for i in tqdm(range(0, len(texts), 500), desc="tokenise"):
        sentences = [s for text in texts[i : i + 500] for s in SENTENCE_END.split(text) if s]
        pieces = tokenizer.backend_tokenizer.encode_batch_fast(sentences, add_special_tokens=False)
        ids += [np.array(piece.ids, dtype=np.uint16) for piece in pieces]  # raises where an id does not fit
    ends = np.cumsum([len(of_sentence) for of_sentence in ids])
    return np.concatenate(ids), np.append(0, ends[:-1])


def prepare(text: Path, work: Path, vocabulary: str, seed: int) -> tuple[BertTokenizer, np.ndarray, np.ndarray]:
    """Make the vocabulary (so many pieces, or a saved encoder's) and token ids once, and keep them in `work`."""
    done, files = work / "prepared.json", sorted([*text.glob("*.txt"), *text.glob("*.txt.xz")])
    about = {"text": {path.name: path.stat().st_size for path in files}, "vocabulary": vocabulary, "seed": seed}
    if not done.exists():
        if not files:
            raise FileNotFoundError(f"{text} holds no *.txt or *.txt.xz files")
        work.mkdir(parents=True, exist_ok=True)
        sentences = toy.load("toy-sentences", "train")
        texts = [*documents(files), *(" ".join(sentences[i : i + 20]) for i in range(0, len(sentences), 20))]
        random.Random(seed).shuffle(texts)
        if vocabulary.isdigit():
            source: Any = BertWordPieceTokenizer(lowercase=True)
            limits: dict[str, Any] = {"vocab_size": int(vocabulary), "min_frequency": 5, "limit_alphabet": 120}
            special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]  # ids 0 to 4
            source.train_from_iterator(iter(texts[::8]), special_tokens=special, show_progress=False, **limits)
        else:
            source = Encoder.from_pretrained(vocabulary).tokenizer
        words = dict(sorted(source.get_vocab().items(), key=lambda item: item[1]))
        ids, starts = tokenise(texts, BertTokenizer(vocab=words, do_lower_case=True))
        np.save(work / "ids.npy", ids)
        np.save(work / "starts.npy", starts)
        write_json(done, about | {"toy": sentences.fingerprint, "words": words})  # the last, so that all is there
    prepared = json.loads(done.read_text(encoding="utf-8"))
    if any(prepared[key] != value for key, value in about.items()):
        raise ValueError(f"{work} was prepared from other text or settings; choose another --work folder")
    tokenizer = BertTokenizer(vocab=prepared["words"], do_lower_case=True)
    return tokenizer, np.load(work / "ids.npy", mmap_mode="r"), np.load(work / "starts.npy")


def sinusoids(count: int, width: int) -> Tensor:
    """Encode positions as sines and cosines, (count, width), after Vaswani et al. (2017), section 3.5.

    From random position vectors, attention takes millions of tokens to find a word's neighbours.
    """
    angles = torch.arange(count)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def new_encoder(tokenizer: BertTokenizer, layers: int, width: int, folder: Path) -> Encoder:
    """Build a freshly initialised BERT, through a saved folder so that there is one way to build an `Encoder`."""
    sizes: Any = {"hidden_size": width, "num_attention_heads": width // 32, "intermediate_size": 4 * width}
    config = BertConfig(
        **sizes,
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        max_position_embeddings=max(LENGTHS),
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.02 * (768 / width) ** 0.5,  # BERT-base's 0.02, scaled to keep a layer's output as large
    )
    tokenizer.model_max_length = max(LENGTHS)
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    encoder = Encoder.from_pretrained(str(folder), max_length=max(LENGTHS))
    embeddings: Any = encoder.backbone.embeddings
    positions: Tensor = embeddings.position_embeddings.weight.data
    positions.copy_(0.12 * sinusoids(*positions.shape))  # learned from here on
    return encoder


def export(encoder: Encoder, out: Path, dropout: float = METHOD_DROPOUT) -> None:
    """Save the masked-LM model in half precision, as transformers would: config, tokenizer, model.safetensors."""
    model = copy.deepcopy(encoder.model).half()
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = dropout
    model.save_pretrained(out, max_shard_size="15MB")
    encoder.tokenizer.save_pretrained(out)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.pretrain", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--text", type=Path, required=True, help="folder of *.txt or *.txt.xz files")
    parser.add_argument("--out", type=Path, required=True, help="folder for the finished model")
    parser.add_argument("--work", type=Path, default=Path("runs/pretrain"), help="for ids and checkpoints; it resumes")
    parser.add_argument("--tokens", type=float, default=88e6, help="tokens to train on")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--vocabulary", default="8000", help="number of pieces, or a saved encoder with the vocabulary")
    parser.add_argument("--sheet", type=int, default=SHEET, help="tokens of one optimiser step")
    parser.add_argument("--start", type=Path, help="saved encoder to continue from; default: a new one")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="the peak")
    parser.add_argument("--decay", type=float, help="share of the steps in which the learning rate falls to zero")
    parser.add_argument("--dropout", type=float, default=0.0, help="of all layers while pre-training")
    parser.add_argument("--dropout-from", type=float, default=0.0, help="share of the steps that go before without it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="CPU threads; default: all cores")
    arguments = parser.parse_args(given)
    torch.set_num_threads(arguments.threads)
    tokenizer, ids, starts = prepare(arguments.text, arguments.work, arguments.vocabulary, arguments.seed)
    sheets = Sheets(ids, starts, tokenizer.cls_token_id, tokenizer.sep_token_id, arguments.sheet)
    print(f"{len(ids):,} tokens of text in {len(starts):,} sentences, {len(sheets):,} sheets")
    set_seed(arguments.seed)
    if arguments.start:
        encoder = Encoder.from_pretrained(arguments.start, max_length=max(LENGTHS))
        if encoder.tokenizer.get_vocab() != tokenizer.get_vocab():  # ids would mean other words, in silence
            raise ValueError(f"{arguments.start} has another vocabulary: pass --vocabulary {arguments.start}")
    else:
        encoder = new_encoder(tokenizer, arguments.layers, arguments.width, arguments.work / "untrained")
    if encoder.device.type == "cpu":
        encoder.model.set_attn_implementation("eager")  # a third faster to train than sdpa at these lengths
    chosen: Any = {name: getattr(arguments, name) for name in ("learning_rate", "decay", "seed")}
    chosen |= {"betas": (0.9, 0.98), "warmup": 0.02, "steps": round(arguments.tokens / arguments.sheet)}
    config = TrainConfig(batch_size=1, precision="bfloat16", checkpoint_every=1000, **chosen)
    method = MaskedLM(encoder, arguments.dropout, round(arguments.dropout_from * chosen["steps"]))
    history = fit(method, sheets, config, folder=arguments.work, resume=True)
    export(encoder, arguments.out, arguments.dropout if arguments.dropout_from else METHOD_DROPOUT)
    history.settings |= {name: getattr(arguments, name) for name in "sheet dropout dropout_from layers width".split()}
    history.settings |= {"start": arguments.start.name if arguments.start else None, "lengths": LENGTHS}
    history.save(arguments.out / "pretraining.json")
    print(f"{arguments.out}: masked-LM loss {history.losses[-1]['mlm']:.3f} after {history.kept_step:,} steps")


if __name__ == "__main__":
    main()
