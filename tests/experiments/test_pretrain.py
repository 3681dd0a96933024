"""Pre-training: sheets hold whole sentences' beginnings and every token once; the program makes a usable encoder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments import pretrain

from sentlab.encoder import Encoder


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
def test_the_program_makes_an_encoder_that_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").mkdir()
    lines = [f"The farmer number {i} sold {i % 7} brown horses at the market. He was glad." for i in range(3000)]
    (tmp_path / "text" / "small.txt").write_text("\n".join(lines))
    threads = torch.get_num_threads()

    def make(out: str, **options: object) -> Encoder:
        given = {"text": tmp_path / "text", "out": tmp_path / out, "work": tmp_path / f"{out}-work"} | options
        words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
        monkeypatch.setattr(sys, "argv", ["pretrain", *words, "--threads", "1"])
        pretrain.main()
        torch.set_num_threads(threads)
        return Encoder.from_pretrained(tmp_path / out)

    encoder = make("out", tokens=40e3, layers=1, width=32, vocabulary=600)
    assert encoder.lm_head is not None
    assert encoder.tokenizer.convert_tokens_to_ids("farmer") != encoder.tokenizer.unk_token_id
    with pytest.raises(ValueError, match="was prepared from other"):  # on top of the run that is there
        make("out", tokens=40e3)
    start = {"start": tmp_path / "out", "vocabulary": tmp_path / "out"}
    more = make("more", tokens=40e3, sheet=512, decay=0.5, dropout=0.1, **start)
    assert more.tokenizer.get_vocab() == encoder.tokenizer.get_vocab()
    assert not torch.equal(more.word_embeddings.weight, encoder.word_embeddings.weight)
    settings = json.loads((tmp_path / "more" / "pretraining.json").read_text())["settings"]
    assert [settings[name] for name in ("sheet", "decay", "dropout", "start")] == [512, 0.5, 0.1, "out"]
