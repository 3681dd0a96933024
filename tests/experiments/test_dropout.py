"""The kind `dropout`: what dropout leaves of encoders, in a record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from experiments import __main__ as recorded
from experiments import plan, records
from experiments.dropout import dropout, masked_lm
from experiments.records import DropoutRecord
from experiments.under_dropout import UnderDropout

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.evaluation import evaluate_sts

ENCODER = {"source": "tiny", "pooling": "cls", "max_length": 32}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    settings = {"encoders": {"tiny": ENCODER}, "poolings": ["cls", "mean"], "rates": [0.0, 0.3], "seeds": [0, 1]}
    place = tmp_path / "under-dropout.json"
    place.write_text(json.dumps({"kind": "dropout", "settings": settings | {"corpus": "toy-sts"}}))
    return place


def test_the_record_holds_what_the_evaluation_finds(path: Path) -> None:
    results = dropout(path).results
    assert results is not None
    read = records.read_as(DropoutRecord, path)
    assert read.results == results
    own = results.encoders["tiny"]
    encoder, corpus = Encoder.from_pretrained("tiny", pooling="mean", max_length=32), data.load("toy-sts", "dev")
    expected = evaluate_sts(UnderDropout(encoder, 0.3, seed=1), corpus, progress=False).average
    assert own.scores["mean"][0.3][1] == pytest.approx(expected, abs=1e-3)
    assert own.scores["cls"][0.0][0] == own.scores["cls"][0.0][1] > own.scores["cls"][0.3][0]
    assert own.masked_lm is not None
    assert own.masked_lm[1] == pytest.approx(masked_lm(encoder, list(dict.fromkeys(p.text_a for p in corpus)), 1))
    assert 1 < own.masked_lm[0] < 10
    assert read.source.command.endswith("under-dropout.json")


def test_it_runs_from_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded.main(["dropout", str(path)]) == 0
    assert "tiny" in capsys.readouterr().out


def test_an_encoder_that_is_not_there_is_named(path: Path) -> None:
    content = json.loads(path.read_text())
    content["settings"]["encoders"]["mine"] = ENCODER | {"source": "runs/other/encoder"}
    path.write_text(json.dumps(content))
    (entry,) = plan.entries(path.parent)
    assert any("other" in line for line in plan.lacks(entry))
    assert plan.reads(entry.record) == ["other"]
