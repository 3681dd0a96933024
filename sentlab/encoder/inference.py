"""Inference at full speed, in float32 with the results of plain inference: batches, packed weights, threads."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier, Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from tqdm import tqdm

from sentlab.data.rows import refuse_table

if TYPE_CHECKING:
    from sentlab.encoder import Encoder

TEXTS_PER_CHUNK = 16_384  # tokenised and sorted at a time, which bounds the memory
_TOKENIZING = Lock()


@dataclass(frozen=True)
class TokenBatch:
    """Some of the texts, tokenised and padded on the right: `rows` (B,) are their positions among the texts."""

    rows: np.ndarray
    input_ids: Tensor  # (B, L)
    attention_mask: Tensor  # (B, L)
    encodings: list[Any]  # the tokenizer's, one a text


Compute = Callable[[TokenBatch], np.ndarray]


def strings(texts: Iterable[str]) -> Iterator[str]:
    """Yield each of the texts; a TypeError where they are something else, whose parts would be encoded in silence."""
    refuse_table(texts, "texts")
    for i, text in enumerate(texts):
        if not isinstance(text, str) or (not text.isascii() and re.search("[\ud800-\udfff]", text)):
            raise TypeError(f"texts[{i}] is {type(text).__name__}, not a string of whole characters: {text!r:.60}")
        yield text


def distinct(texts: Iterable[str]) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts in order of appearance, and the position of each text's equal among them, (n,)."""
    position: dict[str, int] = {}
    inverse = np.array([position.setdefault(text, len(position)) for text in strings(texts)], dtype=np.int64)
    return list(position), inverse


def token_budget(device: torch.device) -> int:
    """Return the padded tokens of a batch; on a CPU they fit the caches (benchmarks/encode.py)."""
    return 65_536 if device.type == "cuda" else 512


def tokenized(encoder: Encoder, texts: list[str], **settings: Any) -> Any:
    """Call the tokenizer of an encoder, and warn of texts that are cut at a length that nobody has chosen."""
    with _TOKENIZING:  # threads take turns: a call sets truncation for all callers, and then reads
        batch = encoder.tokenizer(texts, **settings)
    if encoder.max_length == encoder.assumed_length and any(encoding.overflowing for encoding in batch.encodings):
        name = encoder.backbone.config.name_or_path
        warnings.warn(f"texts are cut at max_length={encoder.max_length}, which {name} does not set", stacklevel=2)
    return batch


def padded(encoder: Encoder, texts: Iterable[str]) -> Any:
    """Return the tokenizer's batch, tensors (B, L), of texts that are cut to max_length and padded to the longest."""
    settings: dict[str, Any] = {"truncation": True, "max_length": encoder.max_length, "padding": True}
    settings |= {"padding_side": "right", "return_special_tokens_mask": True, "return_tensors": "pt"}
    return tokenized(encoder, list(strings(texts)), **settings)


def token_batches(encodings: list[Any], start: int, budget: int, pad_id: int, device: torch.device) -> list[TokenBatch]:
    """Batch encodings, one a text, from long to short; `start`: the first text's position, `budget`: padded tokens."""
    lengths = np.array([len(encoding) for encoding in encodings])
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]  # some tokenizers add nothing to ""
    batches: list[TokenBatch] = []
    while len(order):
        rows, order = np.split(order, [max(1, budget // lengths[order[0]])])
        batch = [encodings[i] for i in rows]
        mask = np.arange(lengths[rows[0]]) < lengths[rows, None]  # (B, L)
        ids = np.full(mask.shape, pad_id)
        ids[mask] = np.concatenate([encoding.ids for encoding in batch])
        ids_tensor, mask_tensor = torch.from_numpy(ids).to(device), torch.from_numpy(mask).long().to(device)
        batches.append(TokenBatch(rows + start, ids_tensor, mask_tensor, batch))
    return batches


def computed(
    encoder: Encoder, compute: Compute, texts: list[str], tokens_per_batch: int | None, progress: bool | None,
    precision: str | None = None,
) -> Iterator[tuple[TokenBatch, np.ndarray]]:  # fmt: skip
    """Yield each batch of the texts with what `compute` makes of it, without gradient, in evaluation mode."""
    budget = tokens_per_batch or token_budget(encoder.device)
    compute = fast(compute, encoder.device, precision)
    settings: dict[str, Any] = {"truncation": True, "max_length": encoder.max_length, "return_token_type_ids": False}
    with evaluating(encoder), progress_bar(len(texts), progress, unit=" texts", desc="encode") as bar:
        for start in range(0, len(texts), TEXTS_PER_CHUNK):
            chunk = texts[start : start + TEXTS_PER_CHUNK]
            encodings = tokenized(encoder, chunk, **settings, return_attention_mask=False).encodings
            batches = token_batches(encodings, start, budget, encoder.tokenizer.pad_token_id, encoder.device)
            results = in_threads(compute, batches, encoder.device)
            for batch, result in zip(batches, results, strict=True):
                yield batch, result
                bar.update(len(batch.rows))


def in_threads(compute: Compute, batches: list[TokenBatch], device: torch.device) -> Iterator[np.ndarray]:
    """Yield `compute` of each batch in order; on a CPU a batch a thread, which wastes less than all threads on each."""
    threads = torch.get_num_threads()
    workers = min(threads, len(batches)) if device.type == "cpu" else 1
    if workers <= 1:
        yield from map(compute, batches)
        return
    begun = Barrier(workers + 1)

    def begin() -> None:
        torch.set_num_threads(threads // workers)
        begun.wait()

    pool = ThreadPoolExecutor(workers, initializer=begin)
    try:
        results = pool.map(compute, batches)
        begun.wait()
        torch.set_num_threads(threads)  # the default of new threads, which the workers have changed
        yield from results
    finally:
        begun.abort()  # of workers that still wait, as after an interrupt
        pool.shutdown(cancel_futures=True)


class PackedLinear(TorchFunctionMode):
    """While active, linear layers on the CPU run in oneDNN, each weight laid out for it once: the same float32 sums.

    `F.linear` on a CPU is a BLAS call that lays out the weight anew each time, which costs much for batches as small
    as ours. With the layout kept, `encode` takes 0.7 of the time with the bundled encoder `tiny`, and 0.55 with
    `small`. The two operators are those that torch.compile emits for a linear layer on a CPU. They are private to
    torch, and used nowhere else in sentlab. Without this mode `encode` gives the same vectors.
    """

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.dtype = dtype  # of the sums, float32 or bfloat16
        # by the weight's id, beside the weight itself, which keeps the id from being given again
        self.packed: dict[int, tuple[Tensor, Tensor, Tensor | None]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.linear or kwargs or args[1].dtype is not torch.float32 or args[1].is_cuda:
            return func(*args, **(kwargs or {}))
        if self.dtype is torch.bfloat16 and not torch.is_autocast_enabled("cpu"):
            return func(*args)  # where the encoder turns autocast off, such as behind the pooling
        x, weight, bias = args if len(args) == 3 else (*args, None)
        if id(weight) not in self.packed:
            rounded = torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(self.dtype))
            self.packed[id(weight)] = weight, rounded, None if bias is None else bias.detach().to(self.dtype)
        _, weight, bias = self.packed[id(weight)]
        return torch.ops.mkldnn._linear_pointwise(x.to(self.dtype), weight, bias, "none", [], "")


def fast(compute: Compute, device: torch.device, precision: str | None) -> Compute:
    """Return `compute` without gradient, under autocast for bfloat16, and in oneDNN on a CPU for which torch has it."""
    if precision not in (None, "float32", "bfloat16"):
        raise ValueError(f"precision must be float32, bfloat16 or None; it is {precision!r}")
    half = device.type == "cuda" if precision is None else precision == "bfloat16"
    packed: contextlib.AbstractContextManager = contextlib.nullcontext()
    if device.type == "cpu" and torch.backends.mkldnn.is_available():
        packed = PackedLinear(torch.bfloat16 if half else torch.float32)  # all batches and threads share its weights

    def fast_compute(batch: TokenBatch) -> np.ndarray:
        # also turns off a caller's autocast, which holds in the caller's thread, and not in those of `in_threads`
        with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=half), packed:
            return compute(batch)

    return fast_compute


@contextlib.contextmanager
def own_world() -> Iterator[None]:
    """Shut out a caller's autocast and another default dtype, also as a decorator of what callers call."""
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        # without a cache: one inside, in bfloat16, would keep its copies of the first step's weights
        with torch.autocast("cpu", enabled=False, cache_enabled=False), torch.autocast("cuda", enabled=False):
            yield
    finally:
        torch.set_default_dtype(dtype)


@contextlib.contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Keep a module in evaluation mode, without dropout, while open; then give each part back the mode that it had.

    Threads that share a module in training mode must take turns: the first to end gives dropout back.
    """
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode


def progress_bar(total: int | None, progress: bool | None, **settings: Any) -> tqdm:
    """Open a bar; None shows it once the work has taken three seconds. TQDM_DISABLE=1 hides it in any case."""
    if progress is False:  # tqdm reads the environment for what it is not told, so True must not be passed on
        settings["disable"] = True
    elif progress is None:
        settings["delay"] = 3.0
    return tqdm(total=total, **settings)
