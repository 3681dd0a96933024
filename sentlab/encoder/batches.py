"""Texts to batches of token ids: checked, distinct, sorted by length, padded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from sentlab.encoder import Encoder


@dataclass(frozen=True)
class TokenBatch:
    """Some of the texts, tokenised and padded on the right: `rows` (B,) are their positions among the texts."""

    rows: np.ndarray
    input_ids: Tensor  # (B, L)
    attention_mask: Tensor  # (B, L)
    encodings: list[Any]  # the tokenizer's, one a text


_TOKENIZING = Lock()


def tokenized(encoder: Encoder, texts: list[str], **settings: Any) -> Any:
    """Call the tokenizer of an encoder. Threads take turns: a call sets truncation for all callers, and then reads."""
    with _TOKENIZING:
        return encoder.tokenizer(texts, **settings)


def checked(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list.

    Raises:
        TypeError: the texts are one string, or an item is not a string. The message says which.
        ValueError: an item holds half of a surrogate pair, which is no character.
    """
    return list(strings(texts))


def strings(texts: Iterable[str]) -> Iterator[str]:
    """Yield each of the texts, and raise as `checked`."""
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts[:40]!r}; put it into a list: [text]")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):
        raise TypeError(f"texts is a {type(texts).__name__}: pass the texts alone, such as list(table['text'])")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{i}] is {type(text).__name__}, not a string: {text!r:.60}")
        try:
            text.isascii() or text.encode()
        except UnicodeEncodeError as error:  # half of a pair, which JSON can escape
            raise ValueError(f"texts[{i}] holds half of a surrogate pair ({error})") from error
        yield text


def padded(encoder: Encoder, texts: Iterable[str]) -> Any:
    """Return the tokenizer's batch, with tensors (B, L), of texts that are cut to max_length and padded to the longest.

    Raises:
        TypeError, ValueError: as `checked`; also a ValueError where there are no texts.
    """
    if not (texts := checked(texts)):
        raise ValueError("no texts to tokenize")
    batch = tokenized(
        encoder,
        texts,
        truncation=True,
        max_length=encoder.max_length,
        padding=True,
        return_special_tokens_mask=True,
        return_tensors="pt",
    )
    warn_if_cut(encoder, batch.encodings)
    return batch


def distinct(texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts in order of appearance, and the position of each text's equal among them, (n,)."""
    position: dict[str, int] = {}
    inverse = np.array([position.setdefault(text, len(position)) for text in texts], dtype=np.int64)
    return list(position), inverse


def token_batches(encodings: list[Any], start: int, budget: int, pad_id: int, device: torch.device) -> list[TokenBatch]:
    """Batch encodings, one a text, from long to short; `start`: the first text's position, `budget`: padded tokens."""
    lengths = np.array([len(encoding) for encoding in encodings])
    order = np.argsort(-lengths, kind="stable")
    batches: list[TokenBatch] = []
    while len(order):
        rows, order = np.split(order, [max(1, budget // lengths[order[0]])])
        batch = [encodings[i] for i in rows]
        mask = np.arange(lengths[rows[0]]) < lengths[rows, None]  # (B, L)
        ids = np.full(mask.shape, pad_id)
        ids[mask] = np.concatenate([encoding.ids for encoding in batch])
        padded = torch.from_numpy(ids).to(device)
        batches.append(TokenBatch(rows + start, padded, torch.from_numpy(mask).long().to(device), batch))
    return batches


def warn_if_cut(encoder: Encoder, encodings: list[Any]) -> None:
    """Warn that texts are cut at a length that nobody has chosen; Python shows such a warning once a model."""
    if encoder.max_length == encoder.assumed_length and any(encoding.overflowing for encoding in encodings):
        warnings.warn(
            f"texts are cut at max_length={encoder.max_length} tokens, the default, because "
            f"{encoder.backbone.config.name_or_path} does not say how many to take, and it has positions for more; "
            "give max_length to from_pretrained",
            stacklevel=2,
        )
