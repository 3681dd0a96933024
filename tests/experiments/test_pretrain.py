"""Pre-training and the program for ten minutes on a GPU: sheets, a usable encoder, a run that goes on."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments import gpu, pretrain, records

from sentlab.encoder import Encoder
from sentlab.training import TrainConfig, fit
from sentlab.training.randomness import dropout_of


def test_sheets_start_with_sentences_and_wear_special_tokens() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 40, size=4000)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    ids = (np.arange(lengths.sum()) % 60_000).astype(np.uint16)
    sheets = pretrain.Sheets(ids, starts, cls_id=60_001, sep_id=60_002)
    assert len(sheets) > 10
    used: list[int] = []
    for i in range(len(sheets)):
        sheet = sheets[i]
        assert sheet.size == pretrain.SHEET
        assert sheet.shape[1] == pretrain.LENGTHS[i % len(pretrain.LENGTHS)]
        assert (sheet[:, 0] == 60_001).all()
        assert (sheet[:, -1] == 60_002).all()
        for block in sheet[:, 1:-1].astype(int):
            assert (np.diff(block) % 60_000 == 1).all()
        used += sheets.blocks[i].tolist()
    assert set(used) <= set(starts.tolist())
    assert used == sorted(set(used))  # in order, no block twice


def test_the_saved_configuration_names_the_dropout_of_methods(small_encoder_folder: Path, tmp_path: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder)
    before = encoder.backbone.config.hidden_dropout_prob
    pretrain.export(encoder, tmp_path / "out")
    saved = Encoder.from_pretrained(tmp_path / "out").backbone.config
    assert (saved.hidden_dropout_prob, saved.attention_probs_dropout_prob) == (0.02, 0.02)
    assert encoder.backbone.config.hidden_dropout_prob == before


@pytest.mark.slow
def test_the_program_makes_an_encoder_that_loads(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    lines = [f"The farmer number {i} sold {i % 7} brown horses at the market. He was glad." for i in range(3000)]
    (tmp_path / "text" / "small.txt").write_text("\n".join(lines))
    threads = torch.get_num_threads()

    def make(out: str, **options: object) -> Encoder:
        given = {"text": tmp_path / "text", "out": tmp_path / out, "work": tmp_path / f"{out}-work"} | options
        words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
        pretrain.main([*words, "--threads", "1"])
        torch.set_num_threads(threads)
        return Encoder.from_pretrained(tmp_path / out)

    encoder = make("out", tokens=40e3, layers=1, width=32, vocabulary=600)
    assert encoder.lm_head is not None
    assert encoder.tokenizer.convert_tokens_to_ids("farmer") != encoder.tokenizer.unk_token_id
    with pytest.raises(ValueError, match="was prepared from other"):  # on top of the run that is there
        make("out", tokens=40e3)
    with pytest.raises(FileNotFoundError, match="holds no"):  # or it would learn from the toy world alone
        make("empty", text=tmp_path / "txet")
    start = {"start": tmp_path / "out", "vocabulary": tmp_path / "out"}
    more = make("more", tokens=40e3, sheet=512, decay=0.5, dropout=0.1, **start)
    assert more.tokenizer.get_vocab() == encoder.tokenizer.get_vocab()
    assert not torch.equal(more.word_embeddings.weight, encoder.word_embeddings.weight)
    settings = json.loads((tmp_path / "more" / "pretraining.json").read_text())["settings"]
    assert [settings[name] for name in ("sheet", "decay", "dropout", "start")] == [512, 0.5, 0.1, "out"]


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
