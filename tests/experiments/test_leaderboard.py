"""The leaderboard: scores of kept encoders, resampled items, and paired comparisons with the best."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import leaderboard, records
from experiments.leaderboard import compare_rows
from experiments.results_rows import LeaderboardResults
from experiments.settings_rows import LeaderboardSettings, RowSettings, TestSettings
from experiments.significance import resample
from experiments.static import BagOfWords
from experiments.sweep import run_sweep

from sentlab import data
from sentlab.data import Corpus
from sentlab.encoder import Encoder
from sentlab.evaluation import Evaluation, scores_over
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval
from sentlab.evaluation.sts import evaluate_sts
from sentlab.evaluation.words import evaluate_similarity


def judged(rng: np.random.Generator, gold: np.ndarray, noise: float, seeds: int = 1) -> list[Evaluation]:
    return [Evaluation({}, gold + noise * rng.normal(size=len(gold)), gold, "spearman") for _ in range(seeds)]


def scored(values: np.ndarray) -> list[Evaluation]:
    """Items that are scores themselves."""
    return [Evaluation({}, values, None, None)]


def test_a_column_averages_tests_and_seeds_and_compares_with_the_best() -> None:
    rng = np.random.default_rng(4)
    golds = [rng.normal(size=200), rng.normal(size=100)]
    noise = {"good": 1.0, "twin": 1.0, "bad": 5.0, "beside": 0.3}
    tests = [{row: judged(rng, gold, amount, seeds=3) for row, amount in noise.items()} for gold in golds]
    drawn = resample(tests, 500, np.random.default_rng(0), {row: row for row in noise})
    column = compare_rows(drawn, beside=["beside"])
    results, best = column.rows, column.best
    assert best in ("good", "twin")
    for row, found in results.items():
        seeds = np.mean([scores_over(test[row]) for test in tests], axis=0)
        assert found.score == pytest.approx(seeds.mean(), abs=0.006)
        assert found.spread == pytest.approx(seeds.std(ddof=1), abs=0.006)
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.score < found.high
    assert results[best].p is None
    assert results[best].difference is None
    worse = column.between("bad", best)
    assert worse.value == pytest.approx(results["bad"].difference)
    assert worse.low is not None
    assert worse.high is not None
    assert worse.low < worse.value < worse.high < 0
    better = column.between(best, "bad")
    assert (better.value, better.low, better.high, better.p) == (-worse.value, -worse.high, -worse.low, worse.p)
    assert worse.p == results["bad"].p == pytest.approx(6 * 2 / 501, abs=1e-5)  # the least of 500 draws, for six pairs
    (twin,) = {"good", "twin"} - {best}
    assert (results[twin].p or 0) > 0.05
    assert (results["bad"].p or 1) < 0.05
    assert (results["bad"].difference or 0) < 0
    assert (results["beside"].difference or 0) > 0
    assert (results["beside"].p or 1) < 0.05


def test_a_row_with_one_seed_has_no_interval_and_no_p() -> None:
    rng = np.random.default_rng(4)
    gold = rng.normal(size=50)
    tests = [{"raw": judged(rng, gold, 1.0), "one": judged(rng, gold, 1.0), "three": judged(rng, gold, 1.0, seeds=3)}]
    trained = {"one": "one", "three": "three"}
    column = compare_rows(resample(tests, 30, np.random.default_rng(0), trained), beside=["one"])
    rows = column.rows
    assert rows["one"].low is rows["one"].p is None
    assert column.between("one", "raw").low is column.between("one", "raw").p is None
    assert rows["raw"].low is not None  # an untrained encoder has no seeds
    assert {rows["raw"].p, rows["three"].p} > {None}


def test_a_leaderboard_with_a_row_of_one_seed_is_read_as_it_was_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    gold = rng.normal(size=50)
    tests = [{"raw": judged(rng, gold, 1.0), "one": judged(rng, gold, 1.0)}]
    column = compare_rows(resample(tests, 30, rng, {"one": "one"}))
    settings = LeaderboardSettings(
        rows={row: RowSettings(record=row) for row in ("raw", "one")},
        columns={"STS": [TestSettings(corpus="toy-sts")]},
        max_length=64,
        resamples=30,
        seed=0,
    )
    results = LeaderboardResults(columns={"STS": column}, tests={"toy-sts": {"raw": [1.0], "one": [2.0]}})
    records.LeaderboardRecord(settings=settings, results=results).save(tmp_path / "board.json")
    assert records.read(tmp_path / "board.json").results == results


@pytest.fixture
def asked(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A leaderboard of an encoder as it is and of a sweep over two seeds, in a folder of results, on short corpora."""
    monkeypatch.chdir(tmp_path)
    load = data.load

    def first_rows(name: str, split: str) -> Corpus[Any]:
        corpus = load(name, split)
        return replace(corpus, rows=corpus.rows[:80])

    monkeypatch.setattr(data, "load", first_rows)
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    plain: dict[str, Any] = {"encoder": encoder, "dev": "toy-sts", "test": ["toy-sts"], "threads": 1}
    fitted = plain | {
        "method": {"name": "Flow", "arguments": {"steps": 2, "epochs": 1}},
        "data": {"corpus": "toy-sentences"},
        "train": None,
    }
    several = {"run": fitted | {"keep": True}, "over": {"method.arguments.seed": [0, 1]}}
    (tmp_path / "raw.json").write_text(json.dumps({"kind": "run", "settings": plain}))
    (tmp_path / "flow.json").write_text(json.dumps({"kind": "sweep", "settings": several}))
    run_sweep(tmp_path / "flow.json")
    settings = {
        "rows": {
            "raw [CLS]": {"record": "raw"},
            "raw mean": {"record": "raw", "pooling": "mean"},
            "mapped": {"record": "flow"},
        },
        "columns": {
            "STS": [{"corpus": "toy-sts"}, {"corpus": "toy-sts-hard"}],
            "search": [{"corpus": "toy-duplicates"}],
            "rank": [{"corpus": "toy-reranking"}],
            "words": [{"corpus": "toy-words"}],
        },
        "max_length": 64,
        "resamples": 20,
        "seed": 0,
        "threads": 1,
    }
    path = tmp_path / "leaderboard.json"
    path.write_text(json.dumps({"kind": "leaderboard", "settings": settings}))
    return path


def test_a_leaderboard_holds_what_the_evaluations_say(asked: Path, small_encoder_folder: Path) -> None:
    record = leaderboard.leaderboard(asked)
    assert records.read(asked).results == record.results
    names = ("toy-sts", "toy-sts-hard", "toy-duplicates", "toy-reranking", "toy-words")
    assert set(record.source.data) == {f"{name}/test" for name in names}
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=64)
    expected = {
        "toy-sts": evaluate_sts(encoder, data.load("toy-sts", "test")).average,
        "toy-duplicates": evaluate_retrieval(encoder, data.load("toy-duplicates", "test")).map,
        "toy-reranking": evaluate_reranking(encoder, data.load("toy-reranking", "test")).map,
        "toy-words": evaluate_similarity(encoder, data.load("toy-words", "test")).average,
    }
    assert record.results
    tests = record.results.tests
    for test, score in expected.items():
        assert tests[test]["raw mean"] == [pytest.approx(score, abs=0.006)]
        assert tests[test]["raw [CLS]"] != tests[test]["raw mean"]
    assert len(tests["toy-sts"]["mapped"]) == 2
    both = np.mean([tests["toy-sts"]["mapped"], tests["toy-sts-hard"]["mapped"]])
    assert record.results.columns["STS"].rows["mapped"].score == pytest.approx(both, abs=0.011)
    assert record.results.columns["STS"].best in record.results.columns["STS"].rows


def test_a_row_without_a_score_is_refused_by_name(asked: Path) -> None:
    written = json.loads(asked.read_text())
    written["settings"]["rows"]["bag of words"] = {"record": "words"}  # two words share none, or are the same
    asked.write_text(json.dumps(written))
    encoder = {"source": "words", "pooling": "mean", "max_length": 64}
    words = {"encoder": encoder, "dev": "toy-sts", "test": []}
    (asked.parent / "words.json").write_text(json.dumps({"kind": "run", "settings": words}))
    with pytest.raises(ValueError, match=r"leaderboard\.json: bag of words on toy-words: the score is nan"):
        leaderboard.leaderboard(asked)
    assert json.loads(asked.read_text()) == written


def test_pairs_that_chose_settings_can_be_left_out_of_a_test(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads(asked.read_text())
    columns = {"all": [{"corpus": "toy-sts"}], "unseen": [{"corpus": "toy-sts", "without": "toy-sts"}]}
    content["settings"] |= {"columns": columns, "rows": {"words": {"record": "words"}, **content["settings"]["rows"]}}
    asked.write_text(json.dumps(content))
    words = {"encoder": {"source": "words", "pooling": "mean", "max_length": 64}, "dev": "toy-sts", "test": ["toy-sts"]}
    (asked.parent / "words.json").write_text(json.dumps({"kind": "run", "settings": words}))
    load = data.load
    pairs = load("toy-sts", "test")
    seen = (replace(pairs[3], text_a=pairs[3].text_b, text_b=pairs[3].text_a), *pairs[10:30])

    def with_shared_pairs(name: str, split: str) -> Corpus[Any]:
        return replace(load(name, split), rows=seen) if (name, split) == ("toy-sts", "dev") else load(name, split)

    monkeypatch.setattr(data, "load", with_shared_pairs)
    record = leaderboard.leaderboard(asked)
    assert set(record.source.data) == {"toy-sts/test", "toy-sts/dev"}
    assert record.results
    rest = Corpus("rest", "test", tuple(pair for i, pair in enumerate(pairs) if i != 3 and not 10 <= i < 30), "here")
    tests = record.results.tests
    for name, corpus in {"toy-sts": pairs, "toy-sts without toy-sts dev": rest}.items():
        assert tests[name]["words"] == [pytest.approx(evaluate_sts(BagOfWords(), corpus).average, abs=0.006)]
    assert record.results.columns["unseen"].rows["words"].score == tests["toy-sts without toy-sts dev"]["words"][0]
    content["settings"]["columns"] = {"search": [{"corpus": "toy-duplicates", "without": "toy-sts"}]}
    asked.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"toy-duplicates without toy-sts dev: only pairs with scores"):
        leaderboard.leaderboard(asked)


def test_what_was_found_is_kept_until_an_encoder_changes(
    asked: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = leaderboard.leaderboard(asked)

    def refuse(*_: Any, **__: Any) -> np.ndarray:
        raise AssertionError("encoded again")

    monkeypatch.setattr(leaderboard, "evaluate", refuse)
    assert leaderboard.leaderboard(asked).results == first.results
    copy = asked.parent / "other"
    encoder = Encoder.from_pretrained(small_encoder_folder)
    encoder.word_embeddings.weight.data *= 2
    encoder.save(copy)
    changed = json.loads((asked.parent / "raw.json").read_text())
    changed["settings"]["encoder"]["source"] = str(copy)
    (asked.parent / "raw.json").write_text(json.dumps(changed))
    with pytest.raises(AssertionError, match="encoded again"):
        leaderboard.leaderboard(asked)


def test_rows_beside_have_to_be_rows() -> None:
    row = {"record": "raw/tiny", "pooling": "cls"}
    asked = {"rows": {"b": row}, "columns": {"STS": [{"corpus": "stsb"}]}, "max_length": 64, "resamples": 10, "seed": 0}
    with pytest.raises(ValueError, match="beside names B, which is no row; there is b"):
        LeaderboardSettings(**asked, beside=["B"])
    with pytest.raises(ValueError, match="beside names all rows"):
        LeaderboardSettings(**asked, beside=["b"])


def test_a_column_without_tests_is_refused_when_the_file_is_read(asked: Path) -> None:
    content = json.loads(asked.read_text())
    content["settings"]["columns"]["none"] = []
    asked.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"leaderboard\.json: settings\.columns\.none: .* at least 1 item"):
        records.read(asked)


def test_a_row_cannot_take_a_map_that_was_fitted_with_another_pooling(asked: Path) -> None:
    content = json.loads(asked.read_text())
    content["settings"]["rows"]["mapped"]["pooling"] = "mean"
    asked.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="pooling"):
        leaderboard.leaderboard(asked)
