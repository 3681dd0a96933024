"""Inference at full speed, with the results of plain inference: batches, packed weights, threads, bfloat16."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from tqdm import tqdm

from sentlab.encoder.batches import TokenBatch, token_batches, tokenized, warn_if_cut

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from sentlab.encoder import Encoder

SECONDS_BEFORE_PROGRESS = 3.0
PRECISIONS = ("float32", "bfloat16")
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 65_536}  # padded tokens; the CPU's fits the caches (benchmarks/encode.py)
TEXTS_PER_CHUNK = 16_384  # tokenised and sorted at a time, which bounds the memory
_EVALUATING = Lock()
_MODES: list[dict[nn.Module, bool]] = []  # what each `evaluating` that is open will give back


class PackedLinear(TorchFunctionMode):
    """While active, linear layers on the CPU run in oneDNN, each weight laid out for it once: the same float32 sums.

    The default is a BLAS call that lays out the weight anew each time.

    Args:
        dtype: what inputs, weights and results are rounded to; float32 or bfloat16.
    """

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.dtype = dtype
        # the weight itself keeps its id from being given again
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


def computed(
    encoder: Encoder,
    compute: Callable[[TokenBatch], np.ndarray],
    texts: list[str],
    tokens_per_batch: int | None,
    progress: bool | None,
    precision: str | None = None,
) -> Iterator[tuple[TokenBatch, np.ndarray]]:
    """Yield each batch of the texts with what `compute` makes of it, without gradient, in evaluation mode."""
    budget = default_tokens(encoder.device) if tokens_per_batch is None else tokens_per_batch
    if budget < 1:
        raise ValueError(f"tokens_per_batch must be 1 or more, got {tokens_per_batch}")
    arithmetic = fast_arithmetic(encoder.device, precision)

    def without_gradient(batch: TokenBatch) -> np.ndarray:
        with torch.inference_mode(), arithmetic():
            return compute(batch)

    with evaluating(encoder), progress_bar(len(texts), progress, unit=" texts", desc="encode") as bar:
        for start in range(0, len(texts), TEXTS_PER_CHUNK):
            encodings = tokenized(
                encoder,
                texts[start : start + TEXTS_PER_CHUNK],
                truncation=True,
                max_length=encoder.max_length,
                return_attention_mask=False,
                return_token_type_ids=False,
            ).encodings
            warn_if_cut(encoder, encodings)
            batches = token_batches(encodings, start, budget, encoder.tokenizer.pad_token_id, encoder.device)
            results = in_threads(without_gradient, batches, encoder.device)
            for batch, result in zip(batches, results, strict=True):
                yield batch, result
                bar.update(len(batch.rows))


def default_tokens(device: torch.device) -> int:
    """Return the number of padded tokens in a batch on a device where nobody says how many."""
    return TOKENS_PER_BATCH.get(device.type, TOKENS_PER_BATCH["cpu"])


def fast_arithmetic(
    device: torch.device, precision: str | None = None
) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """Choose what to compute a batch under: autocast for bfloat16; packed linear layers on a CPU if torch has oneDNN.

    Args:
        precision: `float32`, `bfloat16`, or None: bfloat16 on CUDA, else float32.

    Raises:
        ValueError: another precision.
    """
    if precision not in (None, *PRECISIONS):
        raise ValueError(
            f"precision is {precision!r}; choose one of {', '.join(PRECISIONS)}, or None. Vectors of fewer bytes come "
            "from sentence_transformers.util.quantize_embeddings"
        )
    half = precision == "bfloat16" or (precision is None and device.type == "cuda")
    if half and device.type == "cpu" and not computes_bfloat16():
        warnings.warn("this CPU has no bfloat16 arithmetic: the texts are encoded in float32", stacklevel=5)
        half = False
    castable = torch.amp.is_autocast_available(device.type)
    packed = None
    if device.type == "cpu" and torch.backends.mkldnn.is_available():
        packed = PackedLinear(torch.bfloat16 if half else torch.float32)  # all batches and threads share its weights

    @contextlib.contextmanager
    def arithmetic() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            # a caller's autocast is turned off: it holds in the caller's thread, and not in those of `in_threads`
            if half or (castable and torch.is_autocast_enabled(device.type)):
                stack.enter_context(torch.autocast(device.type, dtype=torch.bfloat16, enabled=half))
            if packed:
                stack.enter_context(packed)
            yield

    return arithmetic


def computes_bfloat16() -> bool:
    """Return whether this CPU multiplies matrices of bfloat16, with AVX512-BF16 or AMX. Others are slower at it."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def in_threads(
    compute: Callable[[TokenBatch], np.ndarray], batches: list[TokenBatch], device: torch.device
) -> Iterator[np.ndarray]:
    """Yield `compute` of each batch in order; on a CPU a batch a thread, which wastes less than all threads on each."""
    threads = torch.get_num_threads()
    workers = min(threads, len(batches)) if device.type == "cpu" else 1
    if workers == 1:
        yield from map(compute, batches)
        return
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads // workers,))
    try:
        yield from pool.map(compute, batches)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # the default of new threads, which the workers have changed


@contextlib.contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Keep a module in evaluation mode, without dropout, while open; then give each part back the mode that it had.

    Threads may do so at once, also with modules that share parts: the last gives back what the first has found.
    """
    with _EVALUATING:
        modes = {part: part.training for part in module.modules()}
        for others in _MODES:
            modes |= {part: others[part] for part in modes.keys() & others.keys()}
        _MODES.append(modes)
    try:
        module.eval()
        yield
    finally:
        with _EVALUATING:
            _MODES.remove(modes)
            for part in set(modes).difference(*_MODES):
                part.training = modes[part]


def without_recording_hooks(model: PreTrainedModel) -> PreTrainedModel:
    """Return a model that shares all tensors, without the hooks that record hidden states, which pickle cannot take.

    Transformers adds them when it needs them. The model itself keeps its own: a thread may be recording right now.
    """
    result = copy.deepcopy(model, {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())})
    for part in result.modules():
        part.__dict__.pop("_output_capturing_hooks_installed", None)
        for key, hook in list(part._forward_hooks.items()):
            if hook.__module__ == "transformers.utils.output_capturing":
                del part._forward_hooks[key]
    return result


def allow_recording(model: PreTrainedModel) -> None:
    """Let a model that was unpickled give its hidden states: transformers notes who can when it makes a model."""
    from transformers import PreTrainedModel
    from transformers.utils.output_capturing import _CAN_RECORD_REGISTRY

    for part in model.modules():
        if isinstance(part, PreTrainedModel):
            _CAN_RECORD_REGISTRY[part] = part._can_record_outputs


def progress_bar(total: int | None, progress: bool | None, **settings: Any) -> tqdm:
    """Open a bar; None shows it once the work has taken three seconds. TQDM_DISABLE=1 hides it in any case."""
    if progress is False:  # tqdm reads the environment for what it is not told, so True must not be passed on
        settings["disable"] = True
    elif progress is None:
        settings["delay"] = SECONDS_BEFORE_PROGRESS
    return tqdm(total=total, **settings)
