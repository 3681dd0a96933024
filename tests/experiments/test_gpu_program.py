"""The program for ten minutes on a GPU, dry-run on a CPU: all is made, in small files, and goes on where it was."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments import gpu, pretrain, records

from sentlab.encoder import Encoder
from sentlab.training import TrainConfig, fit
from sentlab.training.randomness import dropout_of


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "small.txt").write_text("The farmer sold his horse. He was glad.\n")
    return str(tmp_path / "text")


@pytest.mark.slow
def test_a_dry_run_takes_two_steps_of_each_and_goes_on_where_it_was(text: str, capsys: pytest.CaptureFixture) -> None:
    place = Path("runs/dry-run")
    assert gpu.main(["--text", text, "--dry-run", "--minutes", "0"]) == 1  # killed at once
    assert "something is left" in capsys.readouterr().out
    assert not (place / "results").exists()
    assert gpu.main(["--text", text, "--dry-run"]) == 0
    encoder = Encoder.from_pretrained(place / gpu.TRAINED)
    assert set(dropout_of(encoder).values()) == {0.1}
    for method in gpu.METHODS:
        record = records.get(f"{gpu.NAME}/{method}", place / "results")
        assert record.results.chosen
        assert record.settings.run.encoder.source == str(gpu.TRAINED)
        assert record.runs[0].results.training["dev"][-1]["step"] == 2
    made = {path: path.read_bytes() for path in (place / "trained").rglob("*") if path.is_file()}
    trials = {path: path.read_text().count('"fingerprint"') for path in (place / "results").rglob("*.json")}
    assert gpu.main(["--text", text, "--dry-run"]) == 0
    assert all(path.read_bytes() == content for path, content in made.items())
    assert all(path.read_text().count('"fingerprint"') == count for path, count in trials.items())


def test_the_weights_of_the_encoder_fit_into_small_files_and_load(tmp_path: Path) -> None:
    tokenizer = Encoder.from_pretrained("tiny").tokenizer
    encoder = pretrain.new_encoder(tokenizer, 6, 384, tmp_path / "new")
    pretrain.export(encoder, tmp_path / "out", 0.1)
    sizes = [path.stat().st_size for path in (tmp_path / "out").iterdir()]
    assert max(sizes) < 16 * 2**20 < sum(sizes)
    again = Encoder.from_pretrained(tmp_path / "out")
    assert np.allclose(again.encode(["a dog"]), encoder.eval().encode(["a dog"]), atol=1e-2)


def test_programs_run_side_by_side_until_the_time_is_over() -> None:
    assert gpu.within(60.0, time.sleep, [(0.0,), (0.1,)])
    began = time.monotonic()
    assert not gpu.within(1.0, time.sleep, [(0.0,), (600.0,)])
    assert time.monotonic() - began < 60
    with pytest.raises(RuntimeError, match="search_from failed"):
        gpu.within(60.0, gpu.search_from, [("nothing", False)])


def test_dropout_begins_at_its_step_and_where_a_checkpoint_left_it(small_encoder_folder: Path, tmp_path: Path) -> None:
    sheets = [np.full((2, 8), 5 + i, np.uint16) for i in range(20)]
    config = TrainConfig(steps=6, batch_size=1, checkpoint_every=1)

    def train(folder: Path, until: int = 0) -> tuple[list[set[float]], dict[str, torch.Tensor]]:
        torch.manual_seed(0)
        method, seen = pretrain.MaskedLM(Encoder.from_pretrained(small_encoder_folder), 0.3, 3), []

        def watch(step: int, _: object) -> None:
            seen.append({*dropout_of(method.encoder).values()})
            if step == until:
                raise KeyboardInterrupt

        fit(method, sheets, config, folder=folder, resume=True, progress=False, on_step=watch)
        return seen, method.encoder.state_dict()

    seen, whole = train(tmp_path / "whole")
    assert seen == [{0.0}] * 3 + [{0.3}] * 3
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "parts", until=5)
    seen, resumed = train(tmp_path / "parts")
    assert seen == [{0.3}] * 2
    assert all(torch.equal(value, resumed[name]) for name, value in whole.items())
