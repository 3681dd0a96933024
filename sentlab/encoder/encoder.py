"""The encoder of every chapter: a tokenizer, a BERT-like backbone with its masked-LM head, and a pooling."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from sentlab.encoder.files import (
    load_model,
    load_post,
    load_pseudo,
    locate,
    positions,
    quiet,
    replace,
    saved_settings,
    write_sentence_transformers,
)
from sentlab.encoder.fingerprint import fingerprint
from sentlab.encoder.inference import evaluating, fast_arithmetic, in_threads
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.encoder.vector_maps import Flow, Whitening

DEFAULT_POOLING, DEFAULT_MAX_LENGTH = "cls", 64
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 65_536}  # padded tokens; the CPU's fits the caches (benchmarks/encode.py)
TEXTS_PER_CHUNK = 16_384  # tokenised and sorted at a time, which bounds the memory
SECONDS_BEFORE_PROGRESS = 3.0
# In most masked-LM models the head is what is left without the backbone; in this one a bare function sits in between.
HEAD_MODULES = {"distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector")}


@dataclass(frozen=True)
class TokenBatch:
    """Some of the texts, tokenised and padded on the right: `rows` (B,) are their positions among the texts."""

    rows: np.ndarray
    input_ids: Tensor  # (B, L)
    attention_mask: Tensor  # (B, L)
    offsets: list[np.ndarray]  # a text: (its tokens, 2) character start and end
    special: list[np.ndarray]  # a text: (its tokens,) True at [CLS], [SEP]


class Encoder(nn.Module):
    """Sentences in, vectors out.

    Args:
        model: a transformers model, with a masked-LM head or without.
        tokenizer: its fast tokenizer.
        pooling: a name in `sentlab.encoder.pooling.POOLINGS`, or "pseudo": what `pseudo` makes of the last layer.
        max_length: tokens a text, special tokens included; what is longer is cut at the end.
        post: a fitted map that every pooled vector goes through, or None. It fits the pooling and the weights that it
            was fitted with (`sentlab.methods.postprocess`): after a change of either, fit again.
        pseudo: the pseudo tokens that PT-BERT has trained with this model, or None.

    Raises:
        ValueError: an unknown pooling, a max_length the model has no positions for, or a map of vectors of another
            dimension.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pooling: str,
        max_length: int,
        post: Whitening | Flow | None = None,
        pseudo: PseudoTokens | None = None,
    ) -> None:
        super().__init__()
        if pooling not in [*POOLINGS, *(["pseudo"] if pseudo is not None else [])]:
            raise ValueError(_unknown(pooling))
        longest, shortest = positions(model.base_model), tokenizer.num_special_tokens_to_add() + 1
        if not shortest <= max_length <= longest:
            raise ValueError(f"max_length is {max_length}; this model takes {shortest} to {longest} tokens")
        if not tokenizer.is_fast:
            raise ValueError("the tokenizer has no fast version (tokenizer.json), so it knows no character offsets")
        if post is not None and post.in_dim != model.config.hidden_size:
            raise ValueError(
                f"post maps vectors of {post.in_dim} dimensions; this model has {model.config.hidden_size}"
            )
        self.model = model
        self.post = post
        self.pseudo = pseudo
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.max_length = max_length

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path = "tiny",
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        revision: str | None = None,
        device: str | torch.device | None = None,
    ) -> Encoder:
        """Load an encoder, all of its weights or none.

        Args:
            source: `"tiny"`, the bundled encoder; a folder; a model's name on the hub; or `"package:NAME"`, the folder
                `model` in an installed Python package.
            pooling: None takes what the folder was saved with (by `save` or sentence-transformers), else `cls`.
                A final Normalize module of sentence-transformers is `encode(..., normalize=True)` here.
            max_length: tokens a text; None takes what the folder was saved with, else 64.
            revision: a branch, tag or commit of the hub.
            device: None takes CUDA where there is one.

        Raises:
            FileNotFoundError: no such folder.
            OSError: neither a folder nor a hub model that can be reached, or one without safetensors weights.
            ValueError: weights that the model needs are missing or have another shape, a saved pooling that is not
                known here, or a pooling other than the one that a saved `post` was fitted with.
        """
        place = locate(source)
        with quiet():
            try:
                model = load_model(place, revision)
                tokenizer = AutoTokenizer.from_pretrained(place, revision=revision)
                saved = saved_settings(place, revision, read_pooling=pooling is None)
                post = load_post(place, revision, saved, pooling)
                pseudo = load_pseudo(place, revision, saved)
            except OSError as error:
                tried = f"the hub model {place!r}, revision {revision or 'main'}"
                tried = f"the folder {place}" if Path(place).is_dir() else f"{tried} (there is no such folder)"
                raise OSError(f"cannot load an encoder from {tried}; it needs safetensors weights: {error}") from error
        longest = min(tokenizer.model_max_length, positions(model.base_model))
        if max_length is None:
            max_length = saved.get("max_length") or min(DEFAULT_MAX_LENGTH, longest)
        encoder = cls(model, tokenizer, pooling or saved.get("pooling", DEFAULT_POOLING), max_length, post, pseudo)
        return encoder.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    @property
    def backbone(self) -> PreTrainedModel:
        """The model without its head."""
        return cast(PreTrainedModel, self.model.base_model)

    @property
    def lm_head(self) -> nn.Module | None:
        """The masked-LM head, (..., D) -> (..., V) logits; None if the checkpoint has none. It shares its modules."""
        if self.model is self.backbone:
            return None
        rest = {name: part for name, part in self.model.named_children() if part is not self.backbone}
        names = HEAD_MODULES.get(self.model.config.model_type) or [
            n for n in rest if any(True for _ in rest[n].parameters())
        ]
        return rest[names[0]] if len(names) == 1 else nn.Sequential(*(rest[name] for name in names))

    @property
    def dim(self) -> int:
        """D of the vectors that `encode` returns, the hidden size unless `post` leaves fewer dimensions."""
        return self.model.config.hidden_size if self.post is None else self.post.out_dim

    @property
    def device(self) -> torch.device:
        """Where the weights are, and the tensors that `tokenize` makes."""
        return self.word_embeddings.weight.device

    @property
    def word_embeddings(self) -> nn.Embedding:
        """The backbone's input word embeddings, (V, D) in BERT."""
        return cast(nn.Embedding, self.backbone.get_input_embeddings())

    def fingerprint(self, *, tokens: bool = False) -> str:
        """Return 16 hexadecimal digits that change with anything that decides the vectors of `encode`.

        They cover the backbone's weights and architecture, the tokenizer, the pooling, `max_length`, `post` and
        `pseudo`. They do not cover the masked-LM head, dropout, the device or the name of the source, and they
        survive `save`. It takes about 20 ms for the bundled encoder, and a second for 400 MB of weights.

        Args:
            tokens: True covers only what decides the vectors of `encode_tokens`, so that another pooling does not
                change the digits.

        Example:
            >>> encoder = sentlab.Encoder.from_pretrained()
            >>> encoder.fingerprint() == sentlab.Encoder.from_pretrained().fingerprint()
            True
        """
        return fingerprint(self, tokens=tokens)

    def tokenize(self, texts: Iterable[str]) -> dict[str, Tensor]:
        """Texts to `input_ids` and `attention_mask`, (B, L) on `device`; cut to max_length, padded to the longest."""
        batch = self.tokenizer(
            checked(texts), truncation=True, max_length=self.max_length, padding=True, return_tensors="pt"
        )
        return {name: batch[name].to(self.device) for name in ("input_ids", "attention_mask")}

    def hidden_states(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """(B, L), or (B, L, D) where words have been looked up, and (B, L) -> the embedding output, then each layer's;
        (B, L, D) each."""
        output = self.backbone(
            **{"input_ids" if input_ids.ndim == 2 else "inputs_embeds": input_ids},
            attention_mask=attention_mask,
            output_hidden_states=True,
            return_dict=True,
        )
        return output.hidden_states

    def pool(self, hidden_states: tuple[Tensor, ...], attention_mask: Tensor, pooling: str | None = None) -> Tensor:
        """What `hidden_states` gives, and (B, L) -> (B, D), by a pooling; None: the encoder's own."""
        pooling = pooling or self.pooling
        if pooling == "pseudo" and self.pseudo is not None:
            return self.pseudo(hidden_states[-1], attention_mask)
        if pooling not in POOLINGS:
            raise ValueError(_unknown(pooling))
        return POOLINGS[pooling](hidden_states, attention_mask)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, pooling: str | None = None) -> Tensor:
        """(B, L), (B, L) -> (B, D), pooled (see `pool`), and then mapped by `post` where there is one."""
        pooled = self.pool(self.hidden_states(input_ids, attention_mask), attention_mask, pooling)
        if self.post is None:
            return pooled
        with torch.autocast(pooled.device.type, enabled=False):  # it makes small differences large
            return self.post(pooled.float())

    def encode(
        self,
        texts: Iterable[str],
        *,
        normalize: bool = False,
        tokens_per_batch: int | None = None,
        progress: bool | None = None,
    ) -> np.ndarray:
        """Encode texts for use: no gradient, no dropout, bfloat16 arithmetic on CUDA. Changes no state.

        Args:
            texts: n texts. Equal ones are encoded once; an empty one is [CLS] [SEP]; a long one is cut to max_length.
            normalize: scale each vector to length 1.
            tokens_per_batch: padded tokens in a batch (a text longer than that makes a batch alone); None chooses.
            progress: True shows a bar, False none; None shows one once the work has taken three seconds.

        Returns:
            float32 (n, D), in the order of the texts; (0, D) for no texts.

        Raises:
            TypeError: a bare string, or an item that is not a string (the message says which).
        """
        distinct, inverse = _distinct(checked(texts))
        vectors = np.zeros((len(distinct), self.dim), dtype=np.float32)

        def pooled(batch: TokenBatch) -> np.ndarray:  # (B, D)
            result = self(batch.input_ids, batch.attention_mask).float()
            return (F.normalize(result, dim=-1) if normalize else result).cpu().numpy()

        for batch, result in self._run(pooled, distinct, tokens_per_batch, progress):
            vectors[batch.rows] = result
        return vectors[inverse]

    def encode_tokens(
        self, texts: Iterable[str], *, tokens_per_batch: int | None = None, progress: bool | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The last layer's vectors of each text's tokens, special tokens left out; `post` does not touch them.

        Args and Raises: as in `encode`.

        Returns:
            A text: vectors, float32 (t, D), and offsets, int64 (t, 2): character start and end of each token in the
            text. An empty text has t = 0. Equal texts share their arrays.
        """
        distinct, inverse = _distinct(checked(texts))
        found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty(0))] * len(distinct)

        def last_layer(batch: TokenBatch) -> np.ndarray:  # (B, L, D)
            return self.hidden_states(batch.input_ids, batch.attention_mask)[-1].float().cpu().numpy()

        for batch, result in self._run(last_layer, distinct, tokens_per_batch, progress):
            for row, vectors, offsets, special in zip(batch.rows, result, batch.offsets, batch.special, strict=True):
                found[row] = vectors[: len(special)][~special], offsets[~special]
        return [found[i] for i in inverse]

    def save(self, folder: str | Path) -> None:
        """Write a folder that `from_pretrained` and `sentence_transformers.SentenceTransformer` load.

        With a `Flow` as `post`, or the pooling "pseudo", only `from_pretrained` does: sentence_transformers refuses the
        folder, for it could only give other vectors. An encoder saved there before is replaced, and only once the new
        one is written in full.

        Raises:
            FileExistsError: the folder holds something that is no part of a saved encoder; nothing is changed.
        """
        target = Path(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with quiet():
                self.model.save_pretrained(new)
                self.tokenizer.save_pretrained(new)
            write_sentence_transformers(self, new)
            replace(target, new)
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def _run(
        self,
        compute: Callable[[TokenBatch], np.ndarray],
        texts: list[str],
        tokens_per_batch: int | None,
        progress: bool | None,
    ) -> Iterator[tuple[TokenBatch, np.ndarray]]:
        """Each batch of the texts with what `compute` makes of it, for which all modules are in evaluation mode."""
        budget = tokens_per_batch or TOKENS_PER_BATCH.get(self.device.type, TOKENS_PER_BATCH["cpu"])
        delay = 0.0 if progress else SECONDS_BEFORE_PROGRESS
        arithmetic = fast_arithmetic(self.device)

        def without_gradient(batch: TokenBatch) -> np.ndarray:
            with torch.inference_mode(), arithmetic():
                return compute(batch)

        bar = tqdm(total=len(texts), unit=" texts", disable=progress is False, delay=delay, desc="encode")
        with evaluating(self), bar:
            for start in range(0, len(texts), TEXTS_PER_CHUNK):
                batches = self._batches(texts[start : start + TEXTS_PER_CHUNK], start, budget)
                results = in_threads(without_gradient, batches, self.device)
                for batch, result in zip(batches, results, strict=True):
                    yield batch, result
                    bar.update(len(batch.rows))

    def _batches(self, texts: list[str], start: int, budget: int) -> list[TokenBatch]:
        """The texts from long to short, as many a batch as its tokens allow; `start` is the position of the first."""
        encodings = self.tokenizer(
            texts,
            truncation=True,
            max_length=self.max_length,
            return_attention_mask=False,
            return_token_type_ids=False,
        ).encodings
        lengths = np.array([len(encoding) for encoding in encodings])
        order = np.argsort(-lengths, kind="stable")
        batches: list[TokenBatch] = []
        first = 0
        while first < len(order):
            longest = int(lengths[order[first]])
            rows = order[first : first + max(1, budget // longest)]
            batches.append(self._pad([encodings[i] for i in rows], rows + start, longest))
            first += len(rows)
        return batches

    def _pad(self, encodings: list[Any], rows: np.ndarray, longest: int) -> TokenBatch:
        ids = np.full((len(rows), longest), self.tokenizer.pad_token_id, dtype=np.int64)  # (B, L)
        mask = np.zeros((len(rows), longest), dtype=np.int64)
        for i, encoding in enumerate(encodings):
            ids[i, : len(encoding)] = encoding.ids
            mask[i, : len(encoding)] = 1
        return TokenBatch(
            rows,
            torch.from_numpy(ids).to(self.device),
            torch.from_numpy(mask).to(self.device),
            [np.array(encoding.offsets, dtype=np.int64) for encoding in encodings],
            [np.array(encoding.special_tokens_mask, dtype=bool) for encoding in encodings],
        )


def checked(texts: Iterable[str]) -> list[str]:
    """The texts as a list; TypeError for a bare string, or for an item that is no string (the message says which)."""
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts[:40]!r}; put it into a list: [text]")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{i}] is {type(text).__name__}, not a string: {text!r:.60}")
    return texts


def _unknown(pooling: str) -> str:
    need = "; that needs an encoder that PTBERT has trained" if pooling == "pseudo" else ""
    return f"unknown pooling {pooling!r}{need}; choose one of {', '.join(POOLINGS)}"


def _distinct(texts: list[str]) -> tuple[list[str], np.ndarray]:
    """The distinct texts in order of appearance, and for each text the position of its equal among them, (n,)."""
    position: dict[str, int] = {}
    inverse = np.array([position.setdefault(text, len(position)) for text in texts], dtype=np.int64)
    return list(position), inverse
