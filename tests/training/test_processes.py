"""Two processes that share a batch have the gradients that one process has of the whole of it, with every method."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import shared_batch
import torch
from shared_batch import CASES, TRAINED, gradients, in_float64, make
from torch import Tensor
from trained import FILLED


@pytest.fixture(scope="module")
def two(small_encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes computed. Both run a single time for all tests."""
    folder = tmp_path_factory.mktemp("two")
    command = [sys.executable, shared_batch.__file__, str(small_encoder_folder), str(folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


def whole(first: dict[str, Tensor], second: dict[str, Tensor]) -> dict[str, Tensor]:
    """One batch of the rows of two, in turn. Those of Universal, where rows name others, come one after the other."""
    batch = {}
    for name, one in first.items():
        two = second[name]
        if name == "task":
            batch[name] = one
        elif name in ("first", "second", "labels"):
            batch[name] = torch.cat([one, two + (name != "labels") * len(first["input_ids"])])
        elif name == "negatives":  # row numbers
            batch[name] = torch.stack([2 * one, 2 * two + 1], dim=1).flatten(0, 1)
        else:
            length, fill = max(one.shape[-1], two.shape[-1]), FILLED.get(name.rpartition(".")[2], 0)
            both = [torch.nn.functional.pad(x, (0, length - x.shape[-1]), value=fill) for x in (one, two)]
            if "first" in first:
                batch[name] = torch.cat(both)
            else:
                rows = one.shape.index(shared_batch.SHARE)
                batch[name] = torch.stack(both, dim=rows + 1).flatten(rows, rows + 1)
    return batch


@pytest.mark.parametrize("name", CASES)
def test_gradients_and_queue_are_those_of_one_process(
    two: list[dict[str, Any]], small_encoder_folder: Path, name: str
) -> None:
    first, second = (outputs[name] for outputs in two)
    batches = [whole(*pair) for pair in zip(first["batches"], second["batches"], strict=True)]
    with in_float64():
        method = make(name, str(small_encoder_folder))
        alone = gradients(method, method.loss, batches)
    for step, wanted in enumerate(alone):
        largest = max(float(x.abs().max()) for x in wanted.values())
        assert largest > 1e-5
        for rank, got in enumerate((first["gradients"][step], second["gradients"][step])):
            assert got.keys() == wanted.keys()
            far = {key: float((got[key] - wanted[key]).abs().max()) / largest for key in wanted}
            worst = max(far, key=lambda key: far[key])
            assert far[worst] < 1e-9, f"{worst}, step {step}, process {rank}"
    if first["queue"]:
        for queue in (first["queue"], second["queue"]):
            assert queue["pushed"] == method.queue.pushed == 2 * shared_batch.SHARE * shared_batch.ROUNDS
            torch.testing.assert_close(queue["vectors"], method.queue.vectors, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", TRAINED)
def test_fit_on_rows_that_fill_no_whole_batches_ends_as_in_one_process(
    two: list[dict[str, Any]], small_encoder_folder: Path, name: str
) -> None:
    with in_float64():
        weights, losses = shared_batch.trained(name, str(small_encoder_folder))
    for outputs in two:
        got, history = outputs["fit"][name]
        assert history == [pytest.approx(row, rel=1e-9) for row in losses]
        for key, value in weights.items():
            torch.testing.assert_close(got[key], value, rtol=0, atol=1e-9)


def test_rows_that_processes_cannot_share_equally_are_refused(two: list[dict[str, Any]]) -> None:
    assert [outputs["a batch of 7"] for outputs in two] == ["refused"] * 2
