"""A checkpoint belongs to one run: any other argument, encoder, row or setting is refused, and named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from sentlab import set_seed
from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.evaluation import dev_score
from sentlab.methods import MoCo, PaSeR, SimCSE, Universal
from sentlab.methods.universal import task_rows
from sentlab.text.views import compose, random_deletion, random_swap
from sentlab.training import TrainConfig, fit, randomness
from sentlab.training.made_by import describe, made_by
from sentlab.training.tasks import Tasks

ROWS = ["a dog runs", "the king reads a letter", "a girl eats bread", "two cars are on the road"]
CONFIG = TrainConfig(steps=2, batch_size=4, checkpoint_every=1)


@pytest.fixture
def encoder(small_encoder_folder: Path) -> Callable[..., Encoder]:
    return partial(Encoder.from_pretrained, small_encoder_folder, device="cpu")


def train(method: Any, folder: Path, rows: Any = ROWS, config: TrainConfig = CONFIG, **more: Any) -> Any:
    return fit(method, rows, config, folder=folder, progress=False, **{"resume": True, **more})


def other_weights(encoder: Encoder) -> Encoder:
    with torch.no_grad():
        encoder.word_embeddings.weight[7, 3] += 1e-6
    return encoder


def otherwise_tokenized(encoder: Encoder) -> Encoder:
    encoder.tokenizer.backend_tokenizer.normalizer.lowercase = False
    return encoder


CHANGES: dict[str, tuple[str, Callable[[Callable[..., Encoder]], dict[str, Any]]]] = {
    "temperature": ("temperature: 0.05 then, 5.0 now", lambda e: {"method": MoCo(e(), temperature=5.0)}),
    "momentum": ("momentum: 0.885 then, 0.5 now", lambda e: {"method": MoCo(e(), momentum=0.5)}),
    "queue_size": ("queue.vectors", lambda e: {"method": MoCo(e(), queue_size=8)}),
    "view": ("view: None then", lambda e: {"method": MoCo(e(), view=random_deletion)}),
    "class": ("method: ", lambda e: {"method": SimCSE(e())}),
    "pooling": ("pooling: 'cls' then, 'mean' now", lambda e: {"method": MoCo(e(pooling="mean"))}),
    "max_length": ("max_length: 64 then, 16 now", lambda e: {"method": MoCo(e(max_length=16))}),
    "weights": ("encoder.weights", lambda e: {"method": MoCo(other_weights(e()))}),
    "tokenizer": ("tokenizer", lambda e: {"method": MoCo(otherwise_tokenized(e()))}),
    "a row": ("rows: '4 rows, ", lambda e: {"rows": [*ROWS[:3], "two cars are on the roads"]}),
    "order of rows": ("rows: '4 rows, ", lambda e: {"rows": ROWS[::-1]}),
    "seed": ("seed: 0 then, 1 now", lambda e: {"config": replace(CONFIG, seed=1)}),
    "learning_rate": ("learning_rate: 3e-05 then, 0.1", lambda e: {"config": replace(CONFIG, learning_rate=0.1)}),
    "dev": ("dev: False then, True now", lambda e: {"dev": lambda encoder: 1.0}),
}


def test_another_pooling_is_refused_where_it_changes_no_weight(encoder: Callable[..., Encoder], tmp_path: Path) -> None:
    """PaSeR has no head behind the pooling, so nothing else tells the two runs from each other."""
    train(PaSeR(encoder(pooling="cls"), decoder_layers=1), tmp_path)
    with pytest.raises(ValueError, match=r"encoder\.pooling: 'cls' then, 'mean' now"):
        train(PaSeR(encoder(pooling="mean"), decoder_layers=1), tmp_path)


@pytest.mark.parametrize("change", CHANGES)
def test_another_run_is_refused_and_its_difference_named(
    encoder: Callable[..., Encoder], tmp_path: Path, change: str
) -> None:
    train(MoCo(encoder()), tmp_path)
    message, changed = CHANGES[change]
    arguments: dict[str, Any] = {"method": MoCo(encoder()), **changed(encoder)}
    with pytest.raises(ValueError, match=message) as error:
        train(folder=tmp_path, **arguments)
    assert "overwrite=True" in str(error.value)


def test_dropout_is_a_part_of_the_run(encoder: Callable[..., Encoder], tmp_path: Path) -> None:
    train(MoCo(encoder()), tmp_path)
    method = MoCo(encoder())
    next(part for part in method.encoder.modules() if isinstance(part, torch.nn.Dropout)).p = 0.2
    with pytest.raises(ValueError, match=r"dropout\.p: 0\.1 then, 0\.2 now"):
        train(method, tmp_path)


def test_heads_are_restored_whatever_was_drawn_for_them(encoder: Callable[..., Encoder], tmp_path: Path) -> None:
    set_seed(0)
    first = SimCSE(encoder())
    train(first, tmp_path)
    set_seed(1)
    second = SimCSE(encoder())
    train(second, tmp_path)
    assert torch.equal(first.head[0].weight, second.head[0].weight)  # type: ignore[index]


def test_overwrite_trains_afresh(encoder: Callable[..., Encoder], tmp_path: Path) -> None:
    train(MoCo(encoder()), tmp_path, config=replace(CONFIG, learning_rate=1e-3))
    set_seed(0)
    method = MoCo(encoder(), temperature=5.0)
    history = train(method, tmp_path, resume=False, overwrite=True)
    set_seed(0)
    alone = MoCo(encoder(), temperature=5.0)
    expected = fit(alone, ROWS, CONFIG, progress=False)
    assert history.losses == expected.losses
    assert torch.equal(method.encoder.word_embeddings.weight, alone.encoder.word_embeddings.weight)
    assert json.loads((tmp_path / "history.json").read_text())["settings"]["learning_rate"] == 3e-5
    with pytest.raises(ValueError, match="one of them"):
        train(MoCo(encoder()), tmp_path, overwrite=True)


def test_overwrite_removes_the_old_checkpoint_at_once(encoder: Callable[..., Encoder], tmp_path: Path) -> None:
    def kill(step: int, method: Any) -> None:
        raise KeyboardInterrupt

    train(MoCo(encoder()), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        train(MoCo(encoder()), tmp_path, resume=False, overwrite=True, on_step=kill)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_does_not_say_what_made_it_is_refused(
    encoder: Callable[..., Encoder], tmp_path: Path
) -> None:
    train(MoCo(encoder()), tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    with safe_open(path, "pt") as file:
        about = {name: value for name, value in file.metadata().items() if name != "made_by"}
    save_file(load_file(path), path, metadata=about)
    with pytest.raises(ValueError, match="does not say what made it"):
        train(MoCo(encoder()), tmp_path)


def test_a_checkpoint_of_a_version_that_knew_patience_is_taken_up(
    encoder: Callable[..., Encoder], tmp_path: Path
) -> None:
    expected = train(MoCo(encoder()), tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    with safe_open(path, "pt") as file:
        about = {name: json.loads(value) for name, value in file.metadata().items()}
    about["history"]["stopped"] = "all steps done"
    about["history"]["settings"]["patience"] = about["made_by"]["config.patience"] = None
    save_file(load_file(path), path, metadata={name: json.dumps(value) for name, value in about.items()})
    assert train(MoCo(encoder()), tmp_path).losses == expected.losses


def test_the_same_lines_make_the_same_run(case: tuple[Callable[[], Any], Any]) -> None:
    make, rows = case
    one, other = make(), make()
    other.encoder.encode(["a text that changes how the tokenizer pads and cuts"])
    assert made_by(one, rows, CONFIG, None, 1) == made_by(other, rows, CONFIG, None, 1)
    fit(other, rows, TrainConfig(steps=2, batch_size=4, learning_rate=1e-3), progress=False)
    assert made_by(one, rows, CONFIG, None, 1) != made_by(other, rows, CONFIG, None, 1)


def test_functions_are_their_names_and_what_they_hold() -> None:
    def within(rate: float) -> Callable[[float], float]:
        return lambda x: rate * x

    same = [
        (random_deletion, random_deletion),
        (partial(random_deletion, rate=0.3), partial(random_deletion, rate=0.3)),
        (compose(random_deletion, random_swap), compose(random_deletion, random_swap)),
        (within(2), within(2)),
    ]
    others = [
        (random_deletion, random_swap),
        (partial(random_deletion, rate=0.3), partial(random_deletion, rate=0.4)),
        (compose(random_deletion, random_swap), compose(random_swap, random_deletion)),
        (within(2), within(3)),
        (lambda x: x, lambda x: 2 * x),
    ]
    assert all(describe(a) == describe(b) for a, b in same)
    assert all(describe(a) != describe(b) for a, b in others)
    json.dumps([describe(a) for a, _ in same + others])


def test_rows_of_tasks_count_with_their_turn(encoder: Callable[..., Encoder]) -> None:
    method = SimCSE(encoder())
    found = [made_by(method, Tasks(turn, a=["x", "y"], b=["z"]), CONFIG, None, 1) for turn in (("a", "b"), ("b", "a"))]
    assert found[0] != found[1]


def test_the_pairs_that_negatives_are_drawn_from_count(encoder: Callable[..., Encoder]) -> None:
    from sentlab.data.rows import PhrasePair

    pairs = [PhrasePair("a dog", "a big dog", "equivalence", 1.0), PhrasePair("a king", "the king", "equivalence", 1.0)]
    more = [*pairs, PhrasePair("a car", "the car", "equivalence", 1.0)]
    rows = task_rows(pi=pairs)
    one, other = (
        made_by(Universal(encoder(), tasks=["pi"], negatives=1, paraphrases=p), rows, CONFIG, None, 1)
        for p in (pairs, more)
    )
    assert {name for name in one if one[name] != other[name]} == {"method.negatives"}


def test_rows_of_every_kind_have_a_hash_of_their_own(encoder: Callable[..., Encoder]) -> None:
    method = PaSeR(encoder(), decoder_layers=1)
    kinds: list[list[Any]] = [
        ["a", "b"],
        ["a\nb", ""],
        [Triple("a", "b", "c"), Triple("a", "b", "d")],
        [torch.ones(2), torch.zeros(2)],
        [torch.zeros(2), torch.ones(2)],
    ]
    assert len({made_by(method, rows, CONFIG, None, 1)["rows"] for rows in kinds}) == len(kinds)


def test_another_dev_set_is_another_run(encoder: Callable[..., Encoder], tmp_path: Path) -> None:
    def dev(of: str) -> Callable[[Encoder], float]:
        def score(_: Encoder) -> float:
            return 1.0

        score.fingerprint = of  # type: ignore[attr-defined]
        return score

    train(SimCSE(encoder()), tmp_path, dev=dev("one corpus"))
    train(SimCSE(encoder()), tmp_path, dev=dev("one corpus"))
    with pytest.raises(ValueError, match="dev: 'one corpus' then, 'another' now"):
        train(SimCSE(encoder()), tmp_path, dev=dev("another"))
    assert dev_score("toy-sts").fingerprint != dev_score("toy-phrases").fingerprint  # type: ignore[attr-defined]


def test_a_launcher_s_own_settings_change_nothing_silently(
    encoder: Callable[..., Encoder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def norms() -> Any:
        set_seed(0)
        AcceleratorState._reset_state(reset_partial_state=True)
        return [row["contrastive"] for row in fit(SimCSE(encoder()), ROWS, CONFIG, progress=False).losses]

    usual = norms()
    monkeypatch.setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4")
    assert norms() == usual
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    with pytest.raises(ValueError, match="mixed_precision='bf16': set it to 'no'"):
        norms()
    AcceleratorState._reset_state(reset_partial_state=True)


def described_elsewhere(code: str, hash_seed: int) -> str:
    """What `describe` says of the function `view` of a script, in a process of its own."""
    script = f"{code}\nfrom sentlab.training.made_by import describe\nprint(describe(view))"
    where = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    return subprocess.run([sys.executable, "-c", script], env=where, capture_output=True, text=True, check=True).stdout


def test_a_users_function_is_its_code_its_defaults_and_what_it_reads() -> None:
    code = textwrap.dedent("""
        RATE = 0.1
        def less(words):
            return words[:2]
        def view(words, rng, *, kept=0.5):
            return less([w for w in words if w not in {"the", "a", "of", "very"}]) if rng.random() < RATE else words
    """)
    first = described_elsewhere(code, 1)
    assert first == described_elsewhere(code, 2)
    changes = [("kept=0.5", "kept=0.9"), ("RATE = 0.1", "RATE = 0.9"), ('"very"', '"not"'), ("words[:2]", "words[:3]")]
    others = {described_elsewhere(code.replace(*change), 1) for change in changes}
    assert len(others | {first}) == 5


def test_random_states_of_gpus_that_are_gone_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    state, seen = randomness.read(), []
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setattr("torch.cuda.set_rng_state", lambda known, device: seen.append((known.tolist(), device)))
    randomness.restore(state | {"cuda": [[1, 2], [3, 4]]})
    assert seen == [([1, 2], 0)]
