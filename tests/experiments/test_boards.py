"""The leaderboard, the scorecard and Williams's test: scores of kept encoders, and what is compared with what."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import isnan, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from experiments import corpora, published, records
from experiments.leaderboard import RowSettings, TestSettings, compare_rows, leaderboard
from experiments.peers import BagOfWords, WordVectors
from experiments.scorecard import Claim, Printed, at_start, has_run, printed_effect, scorecard, verdicts
from experiments.search import runs_of, sweep
from experiments.significance import Drawn, resample
from experiments.williams import WilliamsRow, WilliamsTable, bm25, mine, williams, williams_tests

from sentlab import metrics
from sentlab.data import Corpus, PhraseInContext
from sentlab.encoder import Encoder
from sentlab.evaluation import Evaluation, evaluate
from sentlab.evaluation.mining import evaluate_mining
from sentlab.evaluation.sts import evaluate_sts

BOOK = records.FOLDER


def judged(rng: np.random.Generator, gold: np.ndarray, noise: float, seeds: int = 1) -> list[Evaluation]:
    return [Evaluation({}, gold + noise * rng.normal(size=len(gold)), gold, "spearman") for _ in range(seeds)]


def test_a_column_averages_tests_and_seeds_and_compares_with_the_best() -> None:
    rng = np.random.default_rng(4)
    golds = [rng.normal(size=200), rng.normal(size=100)]
    noise = {"good": 1.0, "twin": 1.0, "bad": 5.0, "beside": 0.3}
    tests = [{row: judged(rng, gold, amount, seeds=3) for row, amount in noise.items()} for gold in golds]
    column = compare_rows(resample(tests, 500, np.random.default_rng(0), {row: row for row in noise}), ["beside"])
    rows, best = column.rows, column.best
    assert best in ("good", "twin")
    for name, row in rows.items():
        seeds = np.mean([[seed.score() for seed in test[name]] for test in tests], axis=0)
        assert row.score == pytest.approx(seeds.mean(), abs=0.006)
        assert row.spread == pytest.approx(seeds.std(ddof=1), abs=0.006)
        assert row.low < row.score < row.high
    assert rows[best].p is rows[best].difference is None
    worse, better = column.between("bad", best), column.between(best, "bad")
    assert worse.value == rows["bad"].difference
    assert worse.low < worse.value < worse.high < 0
    assert (better.value, better.low, better.high, better.p) == (-worse.value, -worse.high, -worse.low, worse.p)
    assert worse.p == rows["bad"].p
    assert (worse.p or 1) < 0.001
    (twin,) = {"good", "twin"} - {best}
    assert (rows[twin].p or 0) > 0.05 > (rows["beside"].p or 1)
    assert (rows["beside"].difference or 0) > 0


@pytest.fixture
def place(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results with an encoder as it is and a sweep over two fitted maps, on short corpora."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    load = corpora.load

    def first_rows(name: str, split: str = "test", *more: Any) -> Corpus[Any]:
        corpus = load(name, split, *more)
        return replace(corpus, rows=corpus.rows[:80])

    monkeypatch.setattr(corpora, "load", first_rows)
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    plain: dict[str, Any] = {"encoder": encoder, "dev": "toy-sts", "test": ["toy-sts"], "threads": 1}
    flow = {"name": "Flow", "arguments": {"steps": 2, "epochs": 1}}
    fitted = plain | {"method": flow, "data": {"corpus": "toy-sentences"}, "keep": True}
    write("raw", "run", plain)
    write("words", "run", plain | {"encoder": {"source": "words", "pooling": "mean", "max_length": 64}})
    sweep(write("flow", "sweep", {"run": fitted, "over": {"method.arguments.seed": [0, 1]}}))
    return tmp_path


def write(name: str, kind: str, settings: dict[str, Any]) -> Any:
    (records.FOLDER / f"{name}.json").write_text(json.dumps({"kind": kind, "settings": settings}))
    return records.get(name)


BOARD: dict[str, Any] = {
    "rows": {
        "raw [CLS]": {"record": "raw"},
        "raw mean": {"record": "raw", "pooling": "mean"},
        "mapped": {"record": "flow"},
    },
    "columns": {
        "STS": [{"corpus": "toy-sts"}, {"corpus": "toy-sts-hard"}],
        "rank": [{"corpus": "toy-duplicates"}, {"corpus": "toy-reranking"}],
        "words": [{"corpus": "toy-words"}],
    },
    "max_length": 64,
    "resamples": 20,
    "seed": 0,
    "threads": 1,
}


def test_a_leaderboard_holds_what_the_evaluations_say(
    place: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = leaderboard(write("board", "leaderboard", BOARD))
    assert records.get("board").results == record.results
    assert len(record.source.data) == 5
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=64)
    names = ("toy-sts", "toy-duplicates", "toy-reranking", "toy-words")
    expected = {name: evaluate(encoder, corpora.load(name, "test")).score() for name in names}
    assert record.results
    tests = record.results.tests
    for test, score in expected.items():
        assert tests[test]["raw mean"] == [pytest.approx(score, abs=0.006)]
        assert tests[test]["raw [CLS]"] != tests[test]["raw mean"]
    hard = evaluate(encoder, corpora.hard_pairs(corpora.load("toy-sts", "test"))).score()
    assert tests["toy-sts-hard"]["raw mean"] == [pytest.approx(hard, abs=0.006)]
    assert not any("hard" in name for name in np.load(place / "raw.npz").files)  # hard pairs are among all pairs
    assert len(tests["toy-sts"]["mapped"]) == 2
    both = np.mean([tests["toy-sts"]["mapped"], tests["toy-sts-hard"]["mapped"]])
    assert record.results.columns["STS"].rows["mapped"].score == pytest.approx(both, abs=0.011)

    # what encoders gave is kept beside their records, until an encoder changes
    assert {path.name for path in place.glob("*.npz")} == {"raw.npz", "flow.npz"}
    monkeypatch.setattr("experiments.leaderboard.evaluate", None)
    shutil.rmtree("runs")
    assert leaderboard(record).results == record.results
    encoder.word_embeddings.weight.data *= 2
    encoder.save(place / "other")
    settings = json.loads((place / "raw.json").read_text())["settings"]
    settings["encoder"]["source"] = str(place / "other")
    write("raw", "run", settings)
    with pytest.raises(TypeError):  # evaluated again
        leaderboard(record)


def test_a_row_without_a_score_is_refused(place: Path) -> None:
    columns = {"words": [{"corpus": "toy-words"}]}
    board = write("board", "leaderboard", BOARD | {"rows": {"bag of words": {"record": "words"}}, "columns": columns})
    with pytest.raises(ValueError, match="bag of words on toy-words"):  # two words share none, or are the same
        leaderboard(board)


def test_pairs_that_chose_settings_can_be_left_out_of_a_test(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"all": [{"corpus": "toy-sts"}], "unseen": [{"corpus": "toy-sts", "without": "toy-sts"}]}
    rows = {"words": {"record": "words"}, "raw": {"record": "raw"}}
    load = corpora.load
    pairs = load("toy-sts", "test")
    seen = (replace(pairs[3], text_a=pairs[3].text_b, text_b=pairs[3].text_a), *pairs[10:30])

    def with_shared_pairs(name: str, split: str) -> Corpus[Any]:
        return replace(load(name, split), rows=seen) if (name, split) == ("toy-sts", "dev") else load(name, split)

    monkeypatch.setattr(corpora, "load", with_shared_pairs)
    results = leaderboard(write("board", "leaderboard", BOARD | {"columns": columns, "rows": rows})).results
    assert results
    rest = Corpus("rest", "test", tuple(pair for i, pair in enumerate(pairs) if i != 3 and not 10 <= i < 30), "here")
    for name, corpus in {"toy-sts": pairs, "toy-sts without toy-sts dev": rest}.items():
        assert results.tests[name]["words"] == [pytest.approx(evaluate_sts(BagOfWords(), corpus).average, abs=0.006)]
    assert results.columns["unseen"].rows["words"].score == results.tests["toy-sts without toy-sts dev"]["words"][0]


def side(value: float, error: float = 0.1, seeds: int = 3) -> Drawn:
    """A row whose seeds spread little, and whose score on the items is known up to an error."""
    items = np.random.default_rng(0).normal(size=200)
    scores = value + np.array([0.01, 0.0, -0.01])[:seeds]
    return Drawn(scores, error * (items - items.mean()) / items.std(ddof=1), f"{value} {error}")


def test_every_verdict_is_given_for_its_reason() -> None:
    zero = Drawn(np.zeros(1), np.zeros(200), None)
    cases: dict[str, tuple[Any, float | None, str]] = {  # text -> our side, the paper's effect, the verdict
        "better": (side(2.0), 4.0, "holds"),
        "worse": (side(-2.0), 4.0, "fails"),
        "near": (side(0.1, 0.5), 4.0, "no effect"),
        "far from the paper's": (side(0.1, 1.5), 4.0, "smaller than the paper's"),
        "wide": (side(0.1, 1.5), 2.0, "open"),
        "without a printed effect": (side(0.1, 1.5), None, "open"),
        "once": (side(9.0, seeds=1), 4.0, "open"),  # a single run decides nothing
        "by its first seed": (Drawn(np.array([9.0, 0.1, -0.1]), side(0.0).resampled, "first"), 4.0, "open"),
        "later": (None, 4.0, "not run yet"),
        "at its start": (side(9.0), 4.0, "not tested"),
    }
    claims = [Claim(paper="SLICE", where="Table 1", text=text) for text in cases]
    printed = {text: effect for text, (_, effect, _) in cases.items()}
    pairs = {(text, "tiny"): ours and (ours, zero) for text, (ours, _, _) in cases.items()}
    tests = verdicts(claims, printed, pairs, {("at its start", "tiny"): "ours"})
    assert {text: test.verdict for (text, _), test in tests.items()} == {text: case[2] for text, case in cases.items()}
    assert tests["better", "tiny"].without_first == "holds"
    assert tests["by its first seed", "tiny"].without_first == "no effect"


def test_our_own_comparisons_are_a_family_of_their_own() -> None:
    zero = Drawn(np.zeros(1), np.zeros(200), None)
    wheres = {"one": "Table 1", "two": "Table 1", "ours": "control of Table 1"}
    claims = [Claim(paper="SLICE", where=where, text=text) for text, where in wheres.items()]
    pairs = {(text, "tiny"): (side(5.0, 0.1 if text == "one" else 2.4), zero) for text in wheres}
    one, two, ours = verdicts(claims, dict.fromkeys(wheres), pairs, {}).values()
    assert two.p == ours.p  # of two tests the larger p stays as it is
    assert (one.p or 1) < (two.p or 0)


def test_a_scorecard_sets_each_claim_beside_its_paper(place: Path, small_encoder_folder: Path) -> None:
    later = records.get("raw").settings.model_dump(exclude_unset=True)
    write("later", "run", later | {"method": {"name": "Whitening"}, "data": {"corpus": "toy-sentences"}})
    claim = {"paper": "PaSeR", "where": "Table 1", "tests": [{"corpus": "toy-sts"}]}
    printed = {"paper": "paser", "table": "1", "column": "average"}
    printed |= {"ours": "BERT-base mean", "theirs": "BERT-base [CLS]"}
    raw, mean = {"record": "raw"}, {"record": "raw", "pooling": "mean"}
    first = claim | {"text": "mean wins", "printed": printed, "sides": {"small": {"ours": mean, "theirs": raw}}}
    second = claim | {"text": "it helps", "sides": {"small": {"ours": {"record": "later"}, "theirs": raw}}}
    third = {"paper": "SLICE", "where": "control of section 5", "text": "people agree", "untested": "no people here"}
    asked = {"claims": [first, second, third], "max_length": 16, "resamples": 50, "seed": 0, "threads": 1}
    record = scorecard(write("card", "scorecard", asked))
    assert records.get("card").results == record.results
    assert record.results
    one, two, three = record.results.claims
    pairs = corpora.load("toy-sts", "test")
    scores = [
        evaluate_sts(Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=16), pairs).average
        for pooling in ("mean", "cls")
    ]
    assert one.found["small"].difference == pytest.approx(scores[0] - scores[1], abs=0.006)
    assert one.printed == pytest.approx(52.57 - 31.40)
    assert two.found["small"].verdict == "not run yet"
    assert (three.found, three.untested) == ({}, "no people here")
    assert not record.done  # a claim waits
    assert record.results.counts("small")[["not run yet", "not tested"]].to_numpy().tolist() == [[1, 0], [0, 0]]
    assert scorecard(write("card", "scorecard", asked | {"claims": [first, third]})).done
    more = records.get("card").model_copy()
    more.settings = more.settings.model_validate(asked | {"claims": [first, third | {"text": "a new one"}]})
    assert not more.done
    with pytest.raises(FileNotFoundError):  # a slip of the pen is no run to come
        has_run(RowSettings(record="maen"), place)


def test_effects_are_differences_of_printed_cells() -> None:
    table = published.table("slice", 1)
    single = table[table["setup"] == "single forward pass"]["pearson"]
    cells = {"paper": "slice", "table": "1", "ours": "SLICE (ours)", "column": "pearson"}
    within = {"setup": "single forward pass"}
    beside = Printed(**cells, theirs="BERT", within=within, scale=100)
    assert printed_effect(beside) == pytest.approx(100 * (single["SLICE (ours)"] - single["BERT"]))
    other = Printed(**cells, theirs="BM-25 (Okapi)", within=within, theirs_within={"setup": "baseline"}, scale=100)
    assert printed_effect(other) == pytest.approx(100 * (single["SLICE (ours)"] - 0.342))


def test_recorded_effects_are_those_of_the_papers_cells_and_sides_at_step_0_are_known() -> None:
    record = records.get("scorecard/claims")
    for claim, result in zip(record.settings.claims, record.results.claims, strict=True):
        assert result.printed == (None if claim.printed is None else round(printed_effect(claim.printed), 4))
        for encoder, test in result.found.items():
            assert test.at_start == at_start(claim.sides[encoder], BOOK), claim.text
    words = next(one for one in record.results.claims if one.text.startswith("Paraphrases make word vectors"))
    nli, both = fmean([57.94, 24.93, 29.95, 47.56]), fmean([59.62, 69.38, 57.39, 64.39])  # without MEN, as our test
    assert words.printed == pytest.approx(both - nli, abs=0.01)


@cache
def final_scores(side: str) -> list[Any]:
    row = RowSettings.model_validate_json(side)
    return [run.results.final.scores for run in runs_of(records.get(row.record), row.where) if run.results]


def scores_of_runs(side: RowSettings, test: TestSettings) -> list[float | int | None]:
    """What the runs of a row say themselves; None where a run was not measured so."""
    name, scores = f"{test} pearson" if test.setup else str(test), final_scores(side.model_dump_json())
    return [own.get(side.pooling or next(iter(own)), {}).get(name) for own in scores]


def test_boards_are_not_older_than_their_runs() -> None:
    """A run that is trained again has other scores; the records cut at 64 tokens, so scores may differ by 0.1."""
    compared_scores = 0
    for name in ("sentences", "texts", "contexts", "hard-pairs"):
        record = records.get(f"leaderboard/{name}")
        tests = [test for column in record.settings.columns.values() for test in column if not test.without]
        for test, (row, side) in itertools.product(tests, record.settings.rows.items()):
            scores = scores_of_runs(side, test)
            if None not in scores:
                compared_scores += 1
                assert record.results.tests[str(test)][row] == pytest.approx(scores, abs=0.111), (name, row)
    card = records.get("scorecard/claims")
    for claim, result in zip(card.settings.claims, card.results.claims, strict=True):
        for encoder, pair in claim.sides.items():
            sides = [[scores_of_runs(side, test) for test in claim.tests] for side in (pair.ours, pair.theirs)]
            gap = result.found[encoder].difference
            if gap is not None and not any(None in scores for side in sides for scores in side):
                compared_scores += 1
                assert gap == pytest.approx(np.mean(sides[0]) - np.mean(sides[1]), abs=0.1), claim.text  # type: ignore[arg-type]
    assert compared_scores > 110


def test_williams_s_test_holds_each_row_against_the_best_of_its_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    rows = tuple(corpora.load("toy-contexts")[:40])
    corpus = Corpus("toy-contexts", "test", rows, "the first forty")
    encoded = {"source": "tiny", "pooling": "mean", "max_length": 128}
    write("raw", "run", {"encoder": encoded, "dev": "toy-sts", "test": []})
    raw, words = {"record": "raw"}, {"record": "raw", "vectors": "words"}
    both = [raw, {"record": "raw", "setup": "start_end"}]
    tables: list[dict[str, Any]] = [
        {"setup": "spans", "rows": both}, {"setup": "spans", "max_size": 2, "rows": both},
        {"setup": "full", "rows": [raw, words, {"vectors": "bm25"}]},
    ]  # fmt: skip
    record = write("versus", "williams", {"tables": tables, "corpus": "toy-contexts"})
    monkeypatch.setattr(corpora, "load", lambda name, split: corpus)
    record = williams_tests(record)
    assert records.get("versus").results == record.results
    (*_, spans), (*_, two_words), (*_, full) = record.tables()
    encoder = Encoder.from_pretrained("tiny", pooling="mean", max_length=128)
    by_span, by_ends = (evaluate_mining(encoder, corpus, setup) for setup in ("spans", "start_end"))
    assert spans.loc["raw", "pearson"] == pytest.approx(by_span.pearson, abs=1e-3)
    assert spans.loc["raw start_end", "found"] == pytest.approx(by_ends.found, abs=1e-3)
    gold = [row.score for row in rows]
    tests = williams({"raw": by_span.similarities, "raw start_end": by_ends.similarities}, gold)
    for row in tests.index:
        assert spans.loc[row, "p"] == pytest.approx(tests.loc[row, "p"], abs=1e-3)
    vectors = encoder.word_embeddings.weight.detach().numpy()
    by_words = evaluate_mining(WordVectors(encoder.tokenizer.get_vocab(), vectors), corpus, "full")
    assert full.loc["raw words", "pearson"] == pytest.approx(by_words.pearson, abs=1e-3)
    short = evaluate_mining(encoder, corpus, "spans", max_size=2)
    assert two_words.loc["raw", "pearson"] == pytest.approx(short.pearson, abs=1e-3)
    assert full.loc["bm25", "spearman"] == pytest.approx(100 * metrics.spearman(bm25(corpus), gold), abs=1e-3)


def test_bm25_scores_of_each_context_for_its_phrase_are_those_of_the_formula() -> None:
    texts = {"A whale?": "a cat sleeps", "dogs or a Dog?": "A dog, a dog barks!", "fog": "rain", "sky": "snow falls"}
    rows = tuple(PhraseInContext(phrase, context, 0, 1, 1.0) for phrase, context in texts.items())
    weight, mean, k1, b = log((4 - 1 + 0.5) / (1 + 0.5)), (3 + 5 + 1 + 2) / 4, 1.5, 0.75  # "dog" is in one of four
    expected = weight * 2 / (2 + k1 * (1 - b + b * 5 / mean))  # "a" is in half of them and weighs nothing
    scores = bm25(Corpus("made", "test", rows, "made by the test"))
    assert scores.tolist() == pytest.approx([0, expected, 0, 0], abs=1e-5)


def test_williams_sets_each_row_against_the_best() -> None:
    random = np.random.default_rng(0)
    gold = random.normal(size=100)
    rows = {"poor": gold + 4 * random.normal(size=100), "good": gold + 0.5 * random.normal(size=100)}
    rows["near"] = rows["good"] + 0.1 * random.normal(size=100)
    table = williams(rows, gold)
    best = max(rows, key=lambda name: np.corrcoef(rows[name], gold)[0, 1])
    assert best != "poor"
    for name, values in rows.items():
        r, r_best, between = (
            np.corrcoef(a, b)[0, 1] for a, b in ((values, gold), (rows[best], gold), (values, rows[best]))
        )
        t, p = (0.0, 1.0) if name == best else metrics.williams_test(r, r_best, between, 100)
        assert table.loc[name].tolist() == pytest.approx([100 * r, 100 * (r - r_best), t, p], abs=1e-9)
    assert table.loc["poor", "t"] < 0
    assert table.loc["poor", "p"] < 0.05


def test_of_an_encoder_that_is_gone_what_a_board_has_kept_counts(save: Callable[..., None], results: Path) -> None:
    save("gone", 1.0)
    corpus = Corpus("made", "test", (PhraseInContext("a dog", "I saw a dog.", 6, 11, 4.0),) * 2, "made by the test")
    row = WilliamsRow(record="gone")
    table = WilliamsTable(setup="ngrams", rows=[row])
    with pytest.raises(FileNotFoundError, match="the encoder of gone is not in"):
        mine(row, table, corpus, results)
    name = f"own-32-made-ngrams-{corpus.fingerprint}"
    records.write_items(results / "gone.npz", {name: np.array([0.25, 0.5])})
    similarities, found = mine(row, table, corpus, results)
    assert (similarities.tolist(), isnan(found)) == ([0.25, 0.5], True)
    with pytest.raises(FileNotFoundError):  # with other spans it would have other similarities
        mine(row, table.model_copy(update={"max_size": 5}), corpus, results)
