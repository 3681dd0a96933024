"""Pre-training: sheets hold whole sentences' beginnings and every token once; the program makes a usable encoder."""

from __future__ import annotations

import dataclasses
import json
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments.pretraining import pretrain

from sentlab.data import toy
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


def test_sentences_end_where_they_should() -> None:
    text = 'He said "No." Then he left. Was it 3.5 km? Yes! (Maybe.) It was.'
    assert pretrain.SENTENCE_END.split(text) == [
        'He said "No."',
        "Then he left.",
        "Was it 3.5 km?",
        "Yes!",
        "(Maybe.)",
        "It was.",
    ]


def test_the_saved_configuration_names_the_dropout_of_methods(small_encoder_folder: Path, tmp_path: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder)
    before = encoder.backbone.config.hidden_dropout_prob
    pretrain.export(encoder, tmp_path / "out")
    saved = Encoder.from_pretrained(tmp_path / "out").backbone.config
    assert (saved.hidden_dropout_prob, saved.attention_probs_dropout_prob) == (0.02, 0.02)
    assert encoder.backbone.config.hidden_dropout_prob == before


def test_a_file_that_is_not_read_is_not_listed(
    small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "text"
    text.mkdir()
    (text / "a.txt").write_text("A dog runs.\n")
    (text / "b.txt.xz").write_bytes(lzma.compress(b"The king reads.\n"))
    (text / "c.txt.gz").write_bytes(b"no text")
    (text / "d.txt~").write_text("an editor's copy")
    assert list(pretrain.documents(text)) == ["A dog runs.", "The king reads."]
    few = toy.load("toy-sentences", "train")
    monkeypatch.setattr(toy, "load", lambda *_: dataclasses.replace(few, rows=few.rows[:20]))
    pretrain.prepare(text, tmp_path / "work", str(small_encoder_folder), 0)
    listed = json.loads((tmp_path / "work" / "prepared.json").read_text())["text"]
    assert list(listed) == ["a.txt", "b.txt.xz"]


def test_a_sheet_that_blocks_do_not_fill_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 256"):
        pretrain.Sheets(np.arange(4000, dtype=np.uint16), np.arange(0, 4000, 10), 1, 2, size=1000)


@pytest.mark.slow
def test_the_program_makes_an_encoder_that_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text"
    text.mkdir()
    lines = [f"The farmer number {i} sold {i % 7} brown horses at the market. He was glad." for i in range(3000)]
    (text / "small.txt").write_text("\n".join(lines))
    asked = ["--text", text, "--out", tmp_path / "out", "--work", tmp_path / "work", "--tokens", "40e3"]
    small = ["--layers", "1", "--width", "32", "--vocabulary", "600", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["pretraining", *map(str, asked), *small])
    threads = torch.get_num_threads()
    pretrain.main()
    torch.set_num_threads(threads)
    with pytest.raises(SystemExit) as stopped:
        pretrain.main()  # on top of the run that is there
    assert stopped.value.code == 2
    assert "add --resume to go on from it" in capsys.readouterr().err
    encoder = Encoder.from_pretrained(tmp_path / "out")
    assert encoder.lm_head is not None
    assert encoder.word_embeddings.weight.dtype == torch.float32
    assert encoder.tokenizer.convert_tokens_to_ids("farmer") != encoder.tokenizer.unk_token_id
    assert len({tuple(row) for row in encoder.encode(["A farmer.", "A horse."]).tolist()}) == 2
    again = [
        "--sheet",
        512,
        "--decay",
        0.5,
        "--dropout",
        0.1,
        "--start",
        tmp_path / "out",
        "--vocabulary",
        tmp_path / "out",
    ]
    asked[3], asked[5] = tmp_path / "more", tmp_path / "more-work"
    monkeypatch.setattr(sys, "argv", ["pretraining", *map(str, [*asked, "--threads", 1, *again])])
    pretrain.main()
    torch.set_num_threads(threads)
    more = Encoder.from_pretrained(tmp_path / "more")
    assert more.tokenizer.get_vocab() == encoder.tokenizer.get_vocab()
    assert not torch.equal(more.word_embeddings.weight, encoder.word_embeddings.weight)
    settings = json.loads((tmp_path / "more" / "pretraining.json").read_text())["settings"]
    assert [settings[name] for name in ("sheet", "decay", "dropout", "start")] == [512, 0.5, 0.1, "out"]
    assert settings["arithmetic"] == "bfloat16"
    card = (tmp_path / "out" / "README.md").read_text()
    assert "1 layers of 32" in card
    assert "| mean |" in card or "Not measured" in card
    assert (tmp_path / "out" / "loss.png").stat().st_size > 1000
