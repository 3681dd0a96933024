"""Inference at full speed, with the results of plain inference: packed weights, threads, bfloat16 on CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

Item = TypeVar("Item")
Result = TypeVar("Result")


class PackedLinear(TorchFunctionMode):
    """While active, linear layers on the CPU run in oneDNN, each weight laid out for it once: the same float32 sums.

    The default is a BLAS call that lays out the weight anew each time, and on processors not made by Intel is a slower
    one; the layout is what `torch.compile` does to frozen weights too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.packed: dict[int, tuple[Tensor, Tensor]] = {}  # the weight itself keeps its id from being given again

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.linear or kwargs or args[0].dtype is not torch.float32 or args[0].is_cuda:
            return func(*args, **(kwargs or {}))
        x, weight, bias = args if len(args) == 3 else (*args, None)
        if id(weight) not in self.packed:
            self.packed[id(weight)] = weight, torch.ops.mkldnn._reorder_linear_weight(weight.detach())
        return torch.ops.mkldnn._linear_pointwise(x, self.packed[id(weight)][1], bias, "none", [], "")


def fast_arithmetic(device: torch.device) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """What to compute a batch under: bfloat16 on CUDA, packed linear layers on a CPU for which torch has oneDNN."""
    if device.type == "cuda":
        return lambda: torch.autocast("cuda", dtype=torch.bfloat16)
    if device.type == "cpu" and torch.backends.mkldnn.is_available():
        packed = PackedLinear()  # one for all batches and threads, which share its weights
        return lambda: packed
    return contextlib.nullcontext


def in_threads(compute: Callable[[Item], Result], batches: list[Item], device: torch.device) -> Iterator[Result]:
    """`compute` of each batch, in order; on a CPU a batch a thread, which wastes less than all threads on each."""
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
    """Evaluation mode, without dropout, while open; then each part gets back the mode that it had."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
