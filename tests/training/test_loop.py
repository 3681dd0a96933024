"""fit(): schedule, order of the data, what is kept, and that a killed run ends as if nothing had happened."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.training import TrainConfig, fit, set_dropout, set_seed
from sentlab.training.fit import batch_indices, schedule


class Weights(Encoder):
    """An encoder that is nothing but a linear layer."""

    device, pooling = torch.device("cpu"), "cls"

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.model, self.post, self._trainings = nn.Linear(4, 1), None, []


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


def killed(at: int) -> Callable[[int, nn.Module], None]:
    """What `on_step` takes to interrupt a run after a step, before that step is evaluated or written."""

    def kill(step: int, method: nn.Module) -> None:
        if step == at:
            raise KeyboardInterrupt

    return kill


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


def test_an_encoder_with_a_map_fitted_to_its_vectors_is_not_trained_under_it() -> None:
    method = Line()
    method.encoder.post = nn.Identity()
    with pytest.raises(ValueError, match="fit it after training"):
        quiet(method, config())


@pytest.mark.parametrize("killed_at", [1, 7, 22])
@pytest.mark.parametrize("keep", ["dev", "last"])
def test_killed_and_resumed_is_bit_identical(tmp_path: Path, killed_at: int, keep: str) -> None:
    whole = Line()
    expected = quiet(whole, config(keep=keep), dev=closeness)
    with pytest.raises(KeyboardInterrupt):
        quiet(Line(), config(keep=keep), dev=closeness, folder=tmp_path, on_step=killed(killed_at))
    torch.rand(17), np.random.rand(3)  # noqa: NPY002  the world has moved on meanwhile
    resumed = Line()
    history = quiet(resumed, config(keep=keep), dev=closeness, folder=tmp_path, resume=True)
    for name, value in state(whole).items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    assert (history.dev, history.losses) == (expected.dev, expected.losses)
    assert history.kept_step == expected.kept_step


def test_what_on_step_sees_is_kept_with_the_history_also_over_an_interruption(tmp_path: Path) -> None:
    def look(step: int, method: Line) -> dict[str, float] | None:
        return {"weight": method.encoder.model.weight.sum().item()} if step % 4 == 0 else None

    expected = quiet(Line(), config(), on_step=look)
    with pytest.raises(KeyboardInterrupt):
        quiet(
            Line(),
            config(),
            folder=tmp_path,
            on_step=lambda step, method: killed(17)(step, method) or look(step, method),
        )
    found = quiet(Line(), config(), folder=tmp_path, resume=True, on_step=look)
    assert [row["step"] for row in expected.seen] == list(range(4, expected.settings["steps"] + 1, 4))
    assert found.seen == expected.seen


def test_a_checkpoint_that_is_cut_off_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        quiet(Line(), config(checkpoint_every=10), folder=tmp_path, on_step=killed(17))
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors is damaged or cut off"):
        quiet(Line(), config(checkpoint_every=10), folder=tmp_path, resume=True)


def test_killed_between_checkpoints_goes_back_to_the_last_one(tmp_path: Path) -> None:
    whole, resumed = Line(), Line()
    quiet(whole, config(checkpoint_every=10))
    with pytest.raises(KeyboardInterrupt):
        quiet(Line(), config(checkpoint_every=10), folder=tmp_path, on_step=killed(17))
    quiet(resumed, config(checkpoint_every=10), folder=tmp_path, resume=True)
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in state(whole).items())


def test_resume_of_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    first, again = Line(), Line()
    quiet(first, config(), folder=tmp_path)
    quiet(again, config(), folder=tmp_path, resume=True)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in state(first).items())
    assert again.steps == 0


def test_arithmetic_that_auto_chooses_is_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        quiet(Line(), config(), folder=tmp_path, on_step=killed(3))
    monkeypatch.setattr(sys.modules["sentlab.training.fit"], "_in_bfloat16", lambda method, config: True)
    with pytest.raises(ValueError, match="arithmetic: 'float32' then, 'bfloat16' now"):
        quiet(Line(), config(), folder=tmp_path, resume=True)


def test_a_folder_is_never_overwritten_or_mixed_up(tmp_path: Path) -> None:
    quiet(Line(), config(), folder=tmp_path)
    with pytest.raises(ValueError, match="resume=True"):
        quiet(Line(), config(), folder=tmp_path)
    with pytest.raises(ValueError, match=r"learning_rate: 0.05 then, 0.1 now"):
        quiet(Line(), config(learning_rate=0.1), folder=tmp_path, resume=True)


def test_same_seed_same_weights_other_seed_others() -> None:
    runs = [Line(), Line(), Line()]
    for method, seed in zip(runs, (0, 0, 1), strict=True):
        quiet(method, config(seed=seed))
    assert torch.equal(runs[0].weight.weight, runs[1].weight.weight)
    assert not torch.equal(runs[0].weight.weight, runs[2].weight.weight)


def test_keep_dev_ends_with_the_best_evaluation() -> None:
    method, scores, weights = Line(), iter([0.0, 1.0, 3.0, 2.0, 0.0, 1.0]), []

    def dev(encoder: Encoder) -> float:
        weights.append(encoder.model.weight.detach().clone())
        return next(scores)

    history = quiet(method, config(keep="dev"), dev=dev)
    assert (history.kept_step, history.best_dev) == (10, 3.0)
    assert torch.equal(method.weight.weight, weights[2])
    assert not torch.equal(method.weight.weight, weights[-1])
    assert history.table()["kept"].tolist() == [False, False, True, False, False, False]


def test_an_accumulation_that_another_loop_left_open_holds_no_step() -> None:
    other = nn.Linear(1, 1)
    accelerator = Accelerator(gradient_accumulation_steps=4, cpu=True)
    model, _ = accelerator.prepare(other, torch.optim.SGD(other.parameters()))
    with accelerator.accumulate(model):
        accelerator.backward(model(torch.ones(1, 1)).sum())
    assert not accelerator.sync_gradients
    method = Line()
    before = state(method)
    quiet(method, config(steps=1))
    accelerator.gradient_state._set_sync_gradients(True)
    assert not torch.equal(method.weight.weight, before["encoder.model.weight"])
    expected = Line()
    quiet(expected, config(steps=1))
    assert torch.equal(method.weight.weight, expected.weight.weight)


def test_accumulated_parts_give_the_gradient_of_the_whole_batch() -> None:
    class Plain(Line):
        def collate(self, rows: Sequence[float]) -> dict[str, Tensor]:
            x = torch.tensor(rows)[:, None] * torch.arange(1.0, 5.0)
            return {"x": x, "y": x.sum(1, keepdim=True)}

    whole, parts = Plain(), Plain()
    for method, accumulate in ((whole, 1), (parts, 4)):
        set_dropout(method, 0.0)
        quiet(method, config(accumulate=accumulate))
    torch.testing.assert_close(whole.weight.weight, parts.weight.weight)


def test_an_epoch_sees_every_row_once() -> None:
    method = Line()
    quiet(method, config(steps=None, epochs=2.0))
    assert sorted(method.seen[:40]) == ROWS == sorted(method.seen[40:])
    assert method.seen[:40] != method.seen[40:]


def test_order_of_rows_is_a_pure_function_of_the_step() -> None:
    settings = config(batch_size=16)
    batches = [batch_indices(step, 40, settings) for step in range(4)]
    assert all(len(batch) == 16 for batch in batches)
    assert len(set(np.concatenate(batches[:2]))) == 32
    assert np.array_equal(batches[3], batch_indices(3, 40, settings))
    assert len(batch_indices(0, 5, settings)) == 5  # fewer rows than a batch: all of them


def test_schedule_rises_then_falls_to_zero() -> None:
    rates = [schedule(step, 100, 0.1) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[100] == 0.0
    assert np.all(np.diff(rates[9:]) <= 0)


def test_schedule_falls_over_the_last_steps_alone_where_decay_says_so() -> None:
    rates = [schedule(step, 100, 0.1, 0.2) for step in range(101)]
    assert rates[9:81] == [1.0] * 72
    assert rates[90] == pytest.approx(0.5)
    assert rates[100] == 0.0
    assert schedule(100, 100, 0.1, 0.0) == 1.0


def test_history_is_written_whole(tmp_path: Path) -> None:
    quiet(Line(), config(), dev=closeness, folder=tmp_path)
    written = json.loads((tmp_path / "history.json").read_text())
    assert written["settings"]["learning_rate"] == 0.05
    assert [row["step"] for row in written["dev"]] == [0, 5, 10, 15, 20, 23]
    assert written["losses"][-1].keys() == {"step", "square", "pull"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.safetensors", "history.json"]


def test_losses_that_are_not_finite_are_named_with_their_step() -> None:
    with pytest.raises(FloatingPointError, match=r"square loss is (inf|nan) at step [2-9]: .* learning_rate"):
        quiet(Line(), config(learning_rate=1e30))

    class Broken(Line):
        def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"broken": torch.nan * super().loss(batch)["square"]}

    with pytest.raises(FloatingPointError, match=r"broken loss is nan at step 1: .* arguments"):
        quiet(Broken(), config())


def test_a_gradient_that_is_not_finite_is_named() -> None:
    class Steep(Line):
        def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"root": (0 * self.weight.weight).sum().sqrt()}

    with pytest.raises(FloatingPointError, match="norm is nan at step 1"):
        quiet(Steep(), config(steps=1))


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_dev_score_that_is_not_finite_is_an_error(score: float) -> None:
    scores = iter([1.0, 2.0, score])
    with pytest.raises(FloatingPointError, match=f"dev returned {score} at step 10"):
        quiet(Line(), config(), dev=lambda _: next(scores))
    with pytest.raises(TypeError, match="dev must return a number, got a NoneType at step 0"):
        quiet(Line(), config(), dev=lambda _: None)


def test_a_run_that_only_does_harm_keeps_its_start() -> None:
    method = Line()
    before = state(method)
    history = quiet(method, config(keep="dev", eval_every=None), dev=lambda encoder: -len(method.seen))
    assert [row["step"] for row in history.dev] == [0, 23]
    assert history.kept_step == 0
    assert history.best_dev == 0.0
    assert history.table().set_index("step")["kept"].to_dict() == {0: True, 23: False}
    assert all(torch.equal(value, method.state_dict()[name]) for name, value in before.items())


def test_evaluation_changes_nothing_in_training() -> None:
    alone, watched = Line(), Line()
    quiet(alone, config())

    def dev(encoder: Encoder) -> float:
        watched.eval()
        return float(torch.rand(3).sum()) + np.random.rand() + random.random()  # noqa: NPY002

    quiet(watched, config(), dev=dev)
    assert all(torch.equal(value, watched.state_dict()[name]) for name, value in state(alone).items())


def test_parts_of_unequal_size_count_by_their_rows() -> None:
    whole, parts = Line(), Line()
    found = []
    for method, accumulate in ((whole, 1), (parts, 4)):
        set_dropout(method, 0.0)
        method.collate = lambda rows: {"x": torch.tensor(rows)[:, None].repeat(1, 4), "y": torch.tensor(rows)[:, None]}
        settings = config(batch_size=16, accumulate=accumulate, steps=5)
        found.append(fit(method, ROWS[:10], settings, progress=False))  # in parts of 3, 3, 2 and 2 rows
    torch.testing.assert_close(whole.weight.weight, parts.weight.weight)
    assert found[0].losses[0]["square"] == pytest.approx(found[1].losses[0]["square"], rel=1e-5)


def test_losses_logged_after_a_resume_cover_the_same_steps(tmp_path: Path) -> None:
    expected = quiet(Line(), config(checkpoint_every=7))
    with pytest.raises(KeyboardInterrupt):
        quiet(Line(), config(checkpoint_every=7), folder=tmp_path, on_step=killed(9))
    found = quiet(Line(), config(checkpoint_every=7), folder=tmp_path, resume=True)
    assert found.losses == expected.losses


def test_seeded_lines_give_the_same_numbers(case: tuple[Callable[[], Any], Sequence[Any]]) -> None:
    make, rows = case
    ends = []
    for _ in range(2):
        set_seed(7)
        method = make()
        fit(method, rows, TrainConfig(steps=2, batch_size=4, learning_rate=1e-3), progress=False)
        ends.append(state(method))
    assert all(torch.equal(value, ends[1][name]) for name, value in ends[0].items())


def test_a_seed_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        set_seed(-1)


def test_clear_errors() -> None:
    with pytest.raises(ValueError, match="dev function"):
        quiet(Line(), config(keep="dev"))


def test_on_a_cpu_bfloat16_is_for_methods_with_few_shapes() -> None:
    kinds = []

    class Watch(Line):
        def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
            kinds.append(self.weight(batch["x"]).dtype)
            return super().loss(batch)

    class FewShapes(Watch):
        few_shapes = True

    histories = [
        quiet(FewShapes(), config(steps=1, precision="bfloat16")),
        quiet(FewShapes(), config(steps=1)),
    ]
    assert kinds == [torch.bfloat16, torch.float32]
    assert [history.settings["arithmetic"] for history in histories] == ["bfloat16", "float32"]
    with pytest.raises(ValueError, match=r'"bfloat16" would fill .* on a CPU.* pass "auto" or "float32"'):
        quiet(Watch(), config(steps=1, precision="bfloat16"))


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        import torch
        from accelerate import PartialState
        from safetensors.torch import save_file
        from sentlab.encoder import Encoder
        from sentlab.training import fit, TrainConfig

        class Weights(Encoder):
            device, pooling = torch.device("cpu"), "cls"
            def __init__(self):
                torch.nn.Module.__init__(self)
                self.model, self.post, self._trainings = torch.nn.Linear(1, 1), None, []

        class Line(torch.nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(1)
                self.heads = torch.nn.ModuleList([torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)])
                self.batches = 0
                self.encoder = Weights()
                self.encoder.requires_grad_(False)
            def collate(self, rows):
                x = torch.tensor(rows)[:, None] * torch.arange(1.0, 5.0)
                self.batches += 1  # a head is used in every second step
                return {"x": x, "y": x.sum(1, keepdim=True), "head": torch.tensor(self.batches % 2)}
            def loss(self, batch):
                head = self.heads[int(batch["head"])]
                return {"square": ((head(batch["x"]) - batch["y"]) ** 2).mean()}
            def after_step(self):
                pass

        method, rows = Line(), [i / 40 for i in range(40)]
        config = TrainConfig(steps=9, batch_size=8, learning_rate=0.05, eval_every=3, checkpoint_every=3, keep="dev")
        calls = []
        def dev(encoder):
            calls.append(PartialState().process_index)
            return float(len(calls))
        fit(method, rows, config, dev, folder=sys.argv[1], progress=False)
        assert set(calls) <= {0}
        assert PartialState().num_processes == int(sys.argv[3])
        if PartialState().is_main_process:
            save_file(method.state_dict(), sys.argv[2])
        """)
    )
    weights = []
    for number in (1, 2):
        launch = ["torch.distributed.run", "--standalone", "--nproc_per_node", str(number)]
        done = tmp_path / f"{number}.safetensors"
        command = [sys.executable, "-m", *launch, str(script), str(tmp_path / f"run{number}"), str(done), str(number)]
        env = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
        ended = subprocess.run(command, capture_output=True, text=True, env=env)
        assert ended.returncode == 0, ended.stderr[-2000:]
        weights.append(load_file(done))
    torch.testing.assert_close(weights[0], weights[1])


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
    found = quiet(Line(), once, dev=lambda encoder: 1.0, folder=tmp_path, resume=True)
    assert [point["step"] for point in found.dev] == [3]  # the score that was missing


def test_on_step_may_return_numbers_of_numpy(tmp_path: Path) -> None:
    found = quiet(Line(), config(), folder=tmp_path, on_step=lambda step, method: {"norm": np.float32(1.5)})
    assert found.seen[0] == {"step": 1, "norm": 1.5}
    assert json.loads((tmp_path / "history.json").read_text())["seen"] == found.seen


def test_an_error_in_a_batch_names_its_rows_in_the_data() -> None:
    class Picky(Line):
        def collate(self, rows: Sequence[float]) -> dict[str, Tensor]:
            if 13.0 in rows:
                raise ValueError("row 1 is unlucky")
            return super().collate(rows)

    rows = [float(i) for i in range(40)]
    with pytest.raises(ValueError, match="unlucky") as error:
        fit(Picky(), rows, TrainConfig(steps=40, batch_size=4), progress=False)
    (note,) = error.value.__notes__
    assert re.match(r"This batch holds the rows (.*\b)?13\b.* of the data", note)


def test_the_folder_of_a_run_may_be_in_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    quiet(Line(), config(), folder="~/run")
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()
