"""One batch that several processes share: what makes their losses together the loss of the whole batch.

`fit` averages gradients over the processes. That is right for a loss that is a mean over equally many rows of each. A
loss that compares rows with each other needs the rows of all processes (`of_all_processes`). A mean over something that
rows have more or less of, such as masked tokens, needs the number in all (`share_of_mean`). All make the same calls.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor


def of_all_processes(rows: Tensor) -> list[Tensor]:
    """Gather the rows of every process, by rank, with a gradient: (N, ...) each. A process's own are `rows` itself."""
    if _processes() == 1:
        return [rows]
    from torch.distributed.nn.functional import all_gather  # that of `torch.distributed` would cut the graph

    parts = list(all_gather(rows))
    parts[dist.get_rank()] = rows
    return parts


def own_first(rows: Tensor) -> Tensor:
    """Return this process's rows, then those of the others: (N, D) -> (processes * N, D), with a gradient."""
    return torch.cat([rows, *(part for part in of_all_processes(rows) if part is not rows)])


def share_of_mean(count: int, device: torch.device) -> float:
    """Return what a mean over `count` things is multiplied by, so that the processes' average is the mean over all."""
    if _processes() == 1:
        return 1.0
    total = torch.tensor(count, device=device)
    dist.all_reduce(total)
    return count * _processes() / max(1, int(total))


def _processes() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
