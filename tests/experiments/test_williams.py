"""Williams's test between recorded encoders, and where the encoders come from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from experiments import records
from experiments.encoders import encoders_of
from experiments.leaderboard import kept_evaluation
from experiments.settings_rows import RowSettings, TestSettings
from experiments.sweep import run_sweep
from experiments.williams import williams_tests
from experiments.word_vectors import WordVectors

from sentlab import data
from sentlab.data import Corpus
from sentlab.encoder import Encoder
from sentlab.evaluation.mining import bm25, evaluate_mining, williams


def settings(folder: Path) -> dict[str, Any]:
    return {
        "encoder": {"source": str(folder), "pooling": "cls", "max_length": 16},
        "method": {"name": "PTBERT", "arguments": {"pseudo_tokens": 4}},
        "words": "toy",
        "data": {"corpus": "toy-sentences"},
        "train": {"steps": 2, "batch_size": 8, "learning_rate": 0.01, "seed": 0},
        "dev": "toy-sts",
        "test": ["toy-sts"],
        "poolings": ["mean"],
        "watch": 1,
        "keep": True,
        "threads": 1,
    }


@pytest.fixture
def recorded(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sweep over two seeds whose encoders were kept, in a folder of results that is also the working directory."""
    monkeypatch.chdir(tmp_path)
    asked = {"run": settings(small_encoder_folder), "over": {"train.seed": [0, 1]}}
    (tmp_path / "both.json").write_text(json.dumps({"kind": "sweep", "settings": asked}))
    run_sweep(tmp_path / "both.json")
    return tmp_path


def write(path: Path, kind: str, settings: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"kind": kind, "settings": settings}))
    return path


def test_a_kept_sweep_leaves_the_encoders_and_what_was_seen(recorded: Path) -> None:
    for path in (recorded / "sweeps").glob("*.json"):
        run = records.read_as(records.RunRecord, path)
        assert run.results
        assert run.results.after
        assert run.results.training
        assert not (path.with_suffix("") / "checkpoint.safetensors").exists()
        assert list(run.results.after.scores) == ["pseudo", "cls", "mean"]
        assert list(run.results.before.scores) == ["cls", "mean"]
        assert [row.step for row in run.results.training.geometry] == [1, 2]
        assert all(row.alignment > 0 > row.uniformity for row in run.results.training.geometry)


def test_williams_s_test_holds_each_row_against_the_best_of_its_set_up(recorded: Path) -> None:
    rows = tuple(data.load("toy-contexts")[:40])
    corpus = Corpus("toy-contexts", "test", rows, "the first forty")
    raw = {"encoder": {"source": "tiny", "pooling": "mean", "max_length": 128}, "method": None}
    encoded = {"source": "tiny", "pooling": "mean", "max_length": 128}
    write(recorded / "raw.json", "run", {"encoder": encoded, "dev": "toy-sts", "test": []})
    raw, words = {"record": "raw"}, {"record": "raw", "vectors": "words"}
    both = [raw, {"record": "raw", "setup": "start_end"}]
    tables: list[dict[str, Any]] = [
        {"setup": "spans", "rows": both},
        {"setup": "spans", "max_size": 2, "rows": both},
        {"setup": "full", "rows": [raw, words, {"vectors": "bm25"}]},
    ]
    path = write(recorded / "versus.json", "williams", {"tables": tables, "corpus": "toy-contexts"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "load", lambda name, split: corpus)
        results = williams_tests(path).results
    assert results
    assert records.read(path).results == results
    spans, full = results.table("spans"), results.table("full")
    encoder = Encoder.from_pretrained("tiny", pooling="mean", max_length=128)
    by_span = evaluate_mining(encoder, corpus, "spans")
    by_ends = evaluate_mining(encoder, corpus, "start_end")
    assert spans.loc["raw", "pearson"] == pytest.approx(by_span.pearson, abs=1e-3)
    assert spans.loc["raw start_end", "found"] == pytest.approx(by_ends.found, abs=1e-3)
    gold = [row.score for row in rows]
    tests = williams({"raw": by_span.similarities, "raw start_end": by_ends.similarities}, gold)
    for row in tests.index:
        assert spans.loc[row, "p"] == pytest.approx(tests.loc[row, "p"], abs=1e-3)
    vectors = encoder.word_embeddings.weight.detach().numpy()
    by_words = evaluate_mining(WordVectors(encoder.tokenizer.get_vocab(), vectors, ""), corpus, "full")
    assert full.loc["raw words", "pearson"] == pytest.approx(by_words.pearson, abs=1e-3)
    short = evaluate_mining(encoder, corpus, "spans", max_size=2)
    assert results.table("spans", 2).loc["raw", "pearson"] == pytest.approx(short.pearson, abs=1e-3)
    assert full.loc["bm25", "spearman"] == pytest.approx(bm25(corpus).spearman, abs=1e-3)
    assert results.tables[2].rows[2].found is None


def test_williams_s_test_takes_kept_similarities_where_the_encoder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = Corpus("toy-contexts", "test", tuple(data.load("toy-contexts")[:40]), "the first forty")
    asked = settings(tmp_path) | {
        "encoder": {"source": "tiny", "pooling": "mean", "max_length": 128},
        "method": {"name": "SimCSE", "arguments": {}},
        "train": {"steps": 1, "batch_size": 4, "learning_rate": 0.01, "seed": 0},
        "watch": None,
    }
    write(tmp_path / "trained.json", "sweep", {"run": asked, "over": {"train.seed": [0]}})
    run_sweep(tmp_path / "trained.json")
    trained = {"record": "trained"}
    rows = [trained, {"record": "trained", "vectors": "words"}, {"vectors": "bm25"}]
    chosen: dict[str, Any] = {"tables": [{"setup": "full", "rows": rows}], "corpus": "toy-contexts"}
    monkeypatch.setattr(data, "load", lambda name, split: corpus)
    chosen["tables"].append({"setup": "spans", "rows": [trained, {"vectors": "bm25"}]})
    before = williams_tests(write(tmp_path / "a.json", "williams", chosen)).results
    (source,) = encoders_of(RowSettings(record="trained"), tmp_path / "a.json")
    for setup in ("full", "spans"):
        kept_evaluation(source, None, TestSettings(corpus="toy-contexts", setup=setup), corpus, 128)
    shutil.rmtree(source["source"])
    chosen["tables"][0]["rows"].pop(1)
    after = williams_tests(write(tmp_path / "b.json", "williams", chosen)).results
    assert before
    assert after
    assert before.tables[1].rows[0].found is not None
    assert after.tables[1].rows[0].found is None
    for old, new in zip(before.tables, after.tables, strict=True):
        assert new.rows[0].pearson == pytest.approx(old.rows[0].pearson, abs=1e-4)
        assert new.rows[0].spearman == pytest.approx(old.rows[0].spearman, abs=1e-4)
    chosen["tables"] = [{"setup": "spans", "max_size": 2, "rows": [trained]}]
    with pytest.raises(FileNotFoundError, match="encoder of trained"):
        williams_tests(write(tmp_path / "c.json", "williams", chosen))
