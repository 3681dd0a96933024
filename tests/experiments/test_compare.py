"""Comparisons of recorded runs: what a paired bootstrap over pairs says, and where the encoders come from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentlab import data
from sentlab.data import Corpus
from sentlab.encoder import Encoder
from sentlab.encoder.word_vectors import WordVectors
from sentlab.evaluation.metrics import spearman
from sentlab.evaluation.mining import bm25, evaluate_mining, williams
from sentlab.evaluation.sts import pair_cosines
from sentlab.experiments import records
from sentlab.experiments.compare import average, compare
from sentlab.experiments.sweep import sweep


def settings(folder: Path) -> dict[str, Any]:
    return {
        "encoder": {"source": str(folder), "pooling": "cls", "max_length": 16},
        "method": {"name": "PTBERT", "pseudo_tokens": 4},
        "words": "toy",
        "data": "toy-sentences",
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
    over = {"train.seed": [0, 1]}
    content = {"settings": settings(small_encoder_folder), "over": over}
    (tmp_path / "both.json").write_text(json.dumps(content))
    sweep(content["settings"], over, folder=tmp_path / "sweeps", progress=False)
    return tmp_path


def asking(place: Path, *comparisons: list[str]) -> Path:
    path = place / "versus.json"
    chosen = {"compare": comparisons, "test": ["toy-sts", "toy-sts-hard"], "resamples": 20, "seed": 0}
    path.write_text(json.dumps({"settings": chosen}))
    return path


def test_the_average_is_over_sets_and_seeds() -> None:
    rng = np.random.default_rng(0)
    scores, cosines = rng.normal(size=30), rng.normal(size=(30, 2))
    sets = np.repeat([0, 1], [20, 10])
    expected = [spearman(cosines[sets == s, seed], scores[sets == s]) for s in (0, 1) for seed in (0, 1)]
    found = average(np.column_stack([scores, sets]), cosines, sets=2)
    assert found == pytest.approx(100 * sum(expected) / 4)


def test_a_comparison_is_of_the_kept_encoders_of_all_seeds(recorded: Path) -> None:
    path = asking(recorded, ["both", "pseudo", "both", "mean"], ["both", "mean", "both", "mean"])
    record = compare(path)
    assert records.read(path).results == record.results
    assert record.command.startswith("python -m sentlab.experiments.compare")
    assert set(record.data) == {"toy-sts/test", "toy-sts-hard/test"}
    found = record.results["average"]
    assert found["both mean - both mean"] == {"difference": 0.0, "low": 0.0, "high": 0.0}
    scores: dict[str, list[float]] = {"pseudo": [], "mean": []}
    for run in sorted((recorded / "sweeps").glob("*.json")):
        encoder = Encoder.from_pretrained(run.with_suffix("") / "encoder")
        for pooling, held in scores.items():
            encoder.pooling = pooling
            for name in ("toy-sts", "toy-sts-hard"):
                corpus = data.load(name)
                held.append(100 * spearman(pair_cosines(encoder, corpus), [pair.score for pair in corpus]))
    result = found["both pseudo - both mean"]
    assert result["difference"] == pytest.approx(np.mean(scores["pseudo"]) - np.mean(scores["mean"]), abs=0.01)
    assert result["low"] < result["difference"] < result["high"]


def test_a_kept_sweep_leaves_the_encoders_and_what_was_seen(recorded: Path) -> None:
    for path in (recorded / "sweeps").glob("*.json"):
        run = records.read(path)
        assert not (path.with_suffix("") / "checkpoint.safetensors").exists()
        assert list(run.results["after"]) == ["pseudo", "cls", "mean"]
        assert list(run.results["before"]) == ["cls", "mean"]
        assert [row["step"] for row in run.seen] == [1, 2]
        assert all(row["alignment"] > 0 > row["uniformity"] for row in run.seen)


def test_williams_s_test_holds_each_row_against_the_best_of_its_set_up(recorded: Path) -> None:
    rows = tuple(data.load("toy-contexts")[:40])
    corpus = Corpus("toy-contexts", "test", rows, "the first forty")
    raw = {"encoder": {"source": "tiny", "pooling": "mean", "max_length": 128}, "method": None}
    (recorded / "raw.json").write_text(json.dumps({"settings": raw}))
    path = recorded / "versus.json"
    both = ["raw", "raw start_end"]
    full = ["raw", "raw words", "bm25"]
    chosen = {"williams": {"spans": both, "spans 2": both, "full": full}, "test": ["toy-contexts"]}
    path.write_text(json.dumps({"settings": chosen}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sentlab.experiments.compare.remember", lambda record, name, split: corpus)
        found = compare(path).results
    encoder = Encoder.from_pretrained("tiny", pooling="mean", max_length=128)
    by_span = evaluate_mining(encoder, corpus, "spans")
    by_ends = evaluate_mining(encoder, corpus, "start_end")
    assert found["spans"]["raw"]["pearson"] == pytest.approx(by_span.pearson, abs=1e-3)
    assert found["spans"]["raw start_end"]["found"] == pytest.approx(by_ends.found, abs=1e-3)
    gold = [row.score for row in rows]
    tests = williams({"raw": by_span.similarities, "raw start_end": by_ends.similarities}, gold)
    for row in tests.index:
        assert found["spans"][row]["p"] == pytest.approx(tests.loc[row, "p"], abs=1e-3)
    vectors = encoder.word_embeddings.weight.detach().numpy()
    words = evaluate_mining(WordVectors(encoder.tokenizer.get_vocab(), vectors, ""), corpus, "full")
    assert found["full"]["raw words"]["pearson"] == pytest.approx(words.pearson, abs=1e-3)
    short = evaluate_mining(encoder, corpus, "spans", max_size=2)
    assert found["spans 2"]["raw"]["pearson"] == pytest.approx(short.pearson, abs=1e-3)
    assert found["full"]["bm25"]["spearman"] == pytest.approx(bm25(corpus).spearman, abs=1e-3)
    assert "found" not in found["full"]["bm25"]


def test_an_encoder_that_was_not_kept_is_asked_for(recorded: Path) -> None:
    for folder in (recorded / "sweeps").glob("*/encoder"):
        shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError, match=r"encoder of both .* with `keep`"):
        compare(asking(recorded, ["both", "pseudo", "both", "mean"]))
