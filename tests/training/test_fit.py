"""fit(): schedule, order of the data, what is kept, and that a killed run ends as if nothing had happened."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from safetensors.torch import load_file
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.methods import MaskedLM, PaSeR
from sentlab.training import TrainConfig, fit, randomness, set_seed
from sentlab.training.config import Tasks
from sentlab.training.loop import as_rows, batch_indices, schedule
from sentlab.training.randomness import dropout_of, set_dropout


class Weights(Encoder):
    """An encoder that is nothing but a linear layer."""

    device, pooling = torch.device("cpu"), "cls"

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.model, self.post, self.trainings = nn.Linear(4, 1), None, []

    def fingerprint(self, *, tokens: bool = False) -> str:
        return "a line"


class Line(nn.Module):
    """y = a x with dropout, a state that only after_step() moves, and random numbers drawn in collate."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.encoder = Weights()
        self.dropout = nn.Dropout(0.3)
        self.register_buffer("average", torch.zeros(1, 4))
        self.steps = 0
        self.seen: list[float] = []

    @property
    def weight(self) -> nn.Linear:
        return self.encoder.model

    def collate(self, rows: Sequence[float]) -> dict[str, Tensor]:
        self.seen += rows
        x = torch.tensor(rows)[:, None] + 0.1 * torch.randn(len(rows), 4)
        return {"x": x, "y": x.sum(1, keepdim=True)}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        error = self.weight(self.dropout(batch["x"])) - batch["y"]
        return {"square": (error**2).mean(), "pull": 0.01 * (self.weight.weight - self.average).pow(2).sum()}

    def after_step(self) -> None:
        self.average.mul_(0.9).add_(self.weight.weight.detach(), alpha=0.1)
        self.steps += 1


ROWS = [i / 40 for i in range(40)]


def config(**changes: object) -> TrainConfig:
    settings = {"steps": 23, "batch_size": 8, "learning_rate": 0.05, "checkpoint_every": 1, "eval_every": 5}
    return TrainConfig(**{**settings, **changes})  # type: ignore[arg-type]


def state(method: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in method.state_dict().items()}


def quiet(method: nn.Module, settings: TrainConfig, **more: object):
    return fit(method, ROWS, settings, progress=False, **more)  # type: ignore[arg-type]


def closeness(encoder: Encoder) -> float:
    return -(encoder.model.weight.detach() - 1).abs().sum().item()


def look(step: int, method: Any) -> dict[str, Any] | None:
    """An `on_step` that returns a number of NumPy now and then."""
    return {"weight": np.float32(method.encoder.model.weight.sum().item())} if step % 4 == 0 else None


def test_steps_are_those_of_adamw_with_a_schedule_clipping_and_no_decay_of_biases() -> None:
    method, other = Line(), Line()
    settings = config(steps=6, weight_decay=0.5, max_grad_norm=0.1, betas=(0.5, 0.9), eps=0.01)
    quiet(method, settings)
    set_seed(0)
    weight, bias = other.encoder.model.parameters()
    groups = [{"params": [weight], "weight_decay": 0.5}, {"params": [bias], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.5, 0.9), eps=0.01)
    for step in range(6):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 * schedule(step, 6, settings.warmup)
        batch = other.collate([ROWS[i] for i in batch_indices(step, len(ROWS), settings)])
        sum(other.loss(batch).values()).backward()  # type: ignore[union-attr]
        nn.utils.clip_grad_norm_(other.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
        other.after_step()
    torch.testing.assert_close(state(other), state(method))


@pytest.mark.parametrize(("killed_at", "every"), [(1, 1), (17, 10), (22, 7)])
@pytest.mark.parametrize("keep", ["dev", "last"])
def test_killed_and_resumed_is_bit_identical(tmp_path: Path, killed_at: int, every: int, keep: str) -> None:
    def part(method: Line, every: int = every, **more: Any) -> Any:
        return quiet(method, config(keep=keep, checkpoint_every=every), dev=closeness, **more)

    whole, resumed, again = Line(), Line(), Line()
    expected = part(whole, on_step=look)

    def kill(step: int, method: Line) -> dict[str, Any] | None:
        if step == killed_at:  # before that step is evaluated or written
            raise KeyboardInterrupt
        return look(step, method)

    with pytest.raises(KeyboardInterrupt):
        part(Line(), folder=tmp_path, on_step=kill)
    torch.rand(17), np.random.rand(3)  # noqa: NPY002  the world has moved on meanwhile
    for method in (resumed, again):  # the second time there is nothing to do
        history = part(method, every + 1, folder=tmp_path, resume=True, on_step=look)  # which changes nothing
        for name, value in state(whole).items():
            assert torch.equal(value, method.state_dict()[name]), name
        assert (history.dev, history.losses, history.seen) == (expected.dev, expected.losses, expected.seen)
        assert history.kept_step == expected.kept_step
    assert again.steps == 0
    assert [row["step"] for row in history.seen] == [4, 8, 12, 16, 20]


def test_keep_dev_ends_with_the_best_evaluation() -> None:
    method, scores, weights = Line(), iter([0.0, 1.0, 3.0, 2.0, 0.0, 1.0]), []

    def dev(encoder: Encoder) -> float:
        weights.append(encoder.model.weight.detach().clone())
        return next(scores)

    history = quiet(method, config(keep="dev"), dev=dev)
    assert (history.kept_step, history.best_dev) == (10, 3.0)
    assert torch.equal(method.weight.weight, weights[2])
    assert not torch.equal(method.weight.weight, weights[-1])


def test_an_epoch_sees_every_row_once() -> None:
    method = Line()
    quiet(method, config(steps=None, epochs=2.0))
    assert sorted(method.seen[:40]) == ROWS == sorted(method.seen[40:])
    assert method.seen[:40] != method.seen[40:]


def test_schedule_rises_then_falls_to_zero() -> None:
    rates = [schedule(step, 100, 0.1) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[100] == 0.0
    assert np.all(np.diff(rates[9:]) <= 0)
    rates = [schedule(step, 100, 0.1, 0.2) for step in range(101)]  # falls over the last steps alone
    assert rates[9:81] == [1.0] * 72
    assert rates[90] == pytest.approx(0.5)
    assert rates[100] == 0.0


def test_losses_that_are_not_finite_end_the_run() -> None:
    with pytest.raises(FloatingPointError, match=r"square loss is (inf|nan) at step [2-9]"):
        quiet(Line(), config(learning_rate=1e30))
    method = Line()
    with pytest.raises(FloatingPointError):
        quiet(method, config(learning_rate=1e30, keep="dev", eval_every=1), dev=lambda _: 1.0)
    assert method.weight.weight.isfinite().all()  # the best ones


def test_a_dev_score_that_is_not_finite_is_an_error() -> None:
    scores = iter([1.0, 2.0, math.nan])
    with pytest.raises(FloatingPointError, match="step 10"):
        quiet(Line(), config(), dev=lambda _: next(scores))


def test_a_run_that_only_does_harm_keeps_its_start() -> None:
    method = Line()
    before = state(method)
    history = quiet(method, config(keep="dev", eval_every=None), dev=lambda encoder: -len(method.seen))
    assert [row["step"] for row in history.dev] == [0, 23]
    assert history.kept_step == 0
    assert history.best_dev == 0.0
    assert all(torch.equal(value, method.state_dict()[name]) for name, value in before.items())


def test_evaluation_changes_nothing_in_training() -> None:
    alone, watched = Line(), Line()
    quiet(alone, config())

    def dev(encoder: Encoder) -> float:
        watched.eval()
        assert encoder.pooling == "cls"
        encoder.pooling = "mean"
        return float(torch.rand(3).sum()) + np.random.rand() + random.random()  # noqa: NPY002

    sum(watched.loss(watched.collate(ROWS[:2])).values()).backward()  # a look at gradients before does nothing either
    assert type(quiet(watched, config(steps=np.int64(23), seed=np.int64(0)), dev=dev).settings["seed"]) is int
    assert all(torch.equal(value, watched.state_dict()[name]) for name, value in state(alone).items())


def test_parts_of_unequal_size_count_by_their_rows() -> None:
    whole, parts = Line(), Line()
    histories = []
    for method, accumulate in ((whole, 1), (parts, 4)):
        set_dropout(method, 0.0)
        method.collate = lambda rows: {"x": torch.tensor(rows)[:, None].repeat(1, 4), "y": torch.tensor(rows)[:, None]}
        settings = config(batch_size=16, accumulate=accumulate, steps=5)
        histories.append(fit(method, ROWS[:10], settings, progress=False))  # in parts of 3, 3, 2 and 2 rows
    torch.testing.assert_close(whole.weight.weight, parts.weight.weight)
    assert histories[0].losses[0]["square"] == pytest.approx(histories[1].losses[0]["square"], rel=1e-5)


def test_in_bfloat16_layers_compute_in_it_with_the_weights_of_each_step() -> None:
    kinds = []

    class Watch(Line):
        def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
            kinds.append((output := self.weight(batch["x"])).dtype)
            with torch.autocast("cpu", enabled=False):
                torch.testing.assert_close(output.float(), self.weight(batch["x"]), atol=0.02, rtol=0.02)
            return super().loss(batch)

    history = quiet(Watch(), config(steps=4, precision="bfloat16"))
    assert kinds == [torch.bfloat16] * 4
    assert history.settings["arithmetic"] == "bfloat16"


def test_a_dev_that_fails_at_the_end_leaves_the_trained_weights(tmp_path: Path) -> None:
    def failing(encoder: object) -> float:
        raise OSError("the disk is full")

    once = TrainConfig(steps=3, batch_size=4)
    method = Line()
    with pytest.raises(OSError, match="disk"):
        quiet(method, once, dev=failing, folder=tmp_path)
    assert torch.equal(
        load_file(tmp_path / "checkpoint.safetensors")["method.encoder.model.weight"], method.weight.weight
    )
    history = quiet(Line(), once, dev=lambda encoder: 1.0, folder=tmp_path, resume=True)
    assert [point["step"] for point in history.dev] == [3]  # the score that was missing


def test_rows_come_from_any_iterable_and_in_the_same_order() -> None:
    texts = ["a dog", "b cat", "c cow"]
    for rows in (texts, tuple(texts), set(texts), iter(texts), pd.Series(texts, index=[7, 8, 9]), np.array(texts)):
        sequence = as_rows(rows)
        assert [sequence[i] for i in range(len(sequence))] == texts
    for mistake in ("a dog", {"text": texts}, pd.DataFrame({"text": texts})):
        with pytest.raises(TypeError):
            as_rows(mistake)


def test_what_would_train_something_else_in_silence_is_refused() -> None:
    method = Line()
    for keep, resume in (("dev", False), ("last", True)):  # without `dev`, without `folder`
        with pytest.raises(ValueError, match="needs folder="):
            quiet(method, config(keep=keep), resume=resume)
    method.encoder.post = nn.Identity()
    with pytest.raises(ValueError, match="post"):
        quiet(method, config())
    never = {"steps": 0, "learning_rate": math.nan, "warmup": 10, "decay": 0.95, "keep": "best"}
    for name, value in never.items():
        with pytest.raises(ValueError, match=name):
            config(**{name: value})


def test_a_launcher_s_own_settings_change_nothing_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    def end() -> Tensor:
        AcceleratorState._reset_state(reset_partial_state=True)
        method = Line()
        quiet(method, config(steps=3))
        return method.weight.weight

    usual = end()
    monkeypatch.setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4")
    assert torch.equal(end(), usual)
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    assert torch.equal(end(), usual)
    Accelerator(mixed_precision="no", gradient_accumulation_steps=4)  # which `fit` has left to its user
    AcceleratorState._reset_state(reset_partial_state=True)


def test_parts_that_keep_the_probability_in_an_attribute_are_reached() -> None:
    module = nn.Sequential(nn.MultiheadAttention(8, 2, dropout=0.1), nn.TransformerDecoderLayer(8, 2, 16, 0.1))
    module.append(nn.Dropout1d(0.1)).append(nn.AlphaDropout(0.1))
    assert set(dropout_of(module).values()) == {0.1}
    assert {"0.dropout", "1.multihead_attn.dropout", "1.dropout1.p", "2.p", "3.p"} <= dropout_of(module).keys()
    set_dropout(module, 0.25)
    assert set(dropout_of(module).values()) == {0.25}


def test_random_states_of_gpus_that_are_gone_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    state, seen = randomness.read(), []
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setattr("torch.cuda.set_rng_state", lambda known, device: seen.append((known.tolist(), device)))
    randomness.restore(state | {"cuda": [[1, 2], [3, 4]]})
    assert seen == [([1, 2], 0)]


LETTERS = Tasks(("a", "b", "a", "c"), a=range(100, 110), b="xyz", c=[7.0])


def test_the_turn_is_kept_exactly_and_every_batch_is_of_one_task() -> None:
    assert [LETTERS[i] for i in (0, 9, 10, 12, 13)] == [("a", 100), ("a", 109), ("b", "x"), ("b", "z"), ("c", 7.0)]
    names = []
    for step in range(1000):
        first, count, earlier = LETTERS.place(step)
        rows = [LETTERS[int(i)] for i in first + batch_indices(earlier, count, TrainConfig(batch_size=2))]
        assert len({task for task, _ in rows}) == 1
        names.append(rows[0][0])
    assert names[:8] == ["a", "b", "a", "c"] * 2
    assert Counter(names) == {"a": 500, "b": 250, "c": 250}


def test_each_task_goes_through_its_own_rows_without_a_gap() -> None:
    places = [LETTERS.place(step) for step in range(40)]
    assert [earlier for first, _, earlier in places if first == 0] == list(range(20))
    assert [earlier for first, _, earlier in places if first == 10] == list(range(10))
    with pytest.raises(ValueError, match="needs rows and a turn"):
        Tasks(("a",), a=[1], b=[2])


@pytest.mark.parametrize("make", [partial(PaSeR, decoder_layers=1), MaskedLM])
def test_a_mean_over_tokens_is_the_same_in_parts(make: Any) -> None:
    rows = ["the old king reads a long letter in the old house by the sea", "a dog", "Two cats swim", "It is."]
    losses = []
    for accumulate in (1, 2):
        set_seed(0)
        method = make(Encoder.from_pretrained("tiny", device="cpu"))
        whole = method.collate(rows)
        halves = [{name: x[..., i : i + 2, :] if x.ndim > 1 else x for name, x in whole.items()} for i in (0, 2)]
        batches = iter([whole] if accumulate == 1 else halves)
        method.collate = lambda _, batches=batches: next(batches)
        set_dropout(method, 0.0)
        losses.append(fit(method, rows, config(batch_size=4, steps=1, accumulate=accumulate), progress=False).losses[0])
    for name in {"generative", "mlm"} & losses[0].keys():
        assert losses[0][name] == pytest.approx(losses[1][name], rel=1e-4), name
