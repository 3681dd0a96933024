"""The scorecard: every verdict follows from a difference, its interval and the table's other claims."""

from __future__ import annotations

import contextlib
import itertools
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from experiments import records
from experiments.encoders import encoders_of
from experiments.leaderboard import kept_evaluation
from experiments.records import LeaderboardRecord, ScorecardRecord, SweepRecord
from experiments.scorecard import at_start, has_run, printed_effect, scorecard, verdicts
from experiments.settings_rows import Claim, Printed, RowSettings, TestSettings
from experiments.significance import Estimate
from experiments.sweep import run_or_read, runs_of, runs_with

from sentlab import data
from sentlab.data import Corpus, published
from sentlab.encoder import Encoder
from sentlab.evaluation.sts import evaluate_sts

BOOK = Path(__file__).resolve().parents[2] / records.FOLDER


def difference(value: float, p: float | None) -> Estimate:
    ends = (None, None) if p is None else (value - 1, value + 1)
    return Estimate(value, *ends, p)


def test_a_claim_holds_fails_or_is_undecided() -> None:
    estimates = {
        (0, "tiny"): difference(2.0, 0.001),
        (1, "tiny"): difference(-2.0, 0.001),
        (2, "tiny"): difference(0.5, 0.6),
        (3, "tiny"): difference(9.0, None),  # a single run decides nothing
        (4, "tiny"): None,
        (5, "tiny"): difference(1.0, 0.03),  # and with the others of the table it is not significant
        (5, "small"): difference(1.0, 0.03),
    }
    found = verdicts(estimates)
    said = {key: one.verdict for key, one in found.items()}
    assert said == {
        (0, "tiny"): "holds",
        (1, "tiny"): "fails",
        (2, "tiny"): "undecided",
        (3, "tiny"): "undecided",
        (4, "tiny"): "not run yet",
        (5, "tiny"): "undecided",
        (5, "small"): "holds",
    }
    assert found[0, "tiny"].p == pytest.approx(0.004)  # four p-values count
    assert found[3, "tiny"].low is None


@pytest.fixture
def path(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    load = data.load

    def first_rows(name: str, split: str, folder: None = None) -> Corpus[Any]:
        corpus = load(name, split)
        return replace(corpus, rows=corpus.rows[:80])

    monkeypatch.setattr(data, "load", first_rows)
    for name, pooling in (("cls", "cls"), ("mean", "mean")):
        encoder = {"source": str(small_encoder_folder), "pooling": pooling, "max_length": 16}
        settings = {"encoder": encoder, "dev": "toy-sts", "test": []}
        (tmp_path / f"{name}.json").write_text(json.dumps({"kind": "run", "settings": settings}))
    later = settings | {"method": {"name": "Whitening"}, "data": {"corpus": "toy-sentences"}}
    (tmp_path / "later.json").write_text(json.dumps({"kind": "run", "settings": later}))
    claim = {"paper": "PaSeR", "where": "Table 1", "tests": [{"corpus": "toy-sts"}]}
    side = {name: {"record": name} for name in ("cls", "mean", "later")}
    printed = {"paper": "paser", "table": "1", "column": "average"}
    printed |= {"ours": "BERT-base mean", "theirs": "BERT-base [CLS]"}
    claims = [
        claim | {
            "text": "mean beats [CLS]",
            "printed": printed,
            "sides": {"small": {"ours": side["mean"], "theirs": side["cls"]}},
        },
        claim | {"text": "whitening helps", "sides": {"small": {"ours": side["later"], "theirs": side["cls"]}}},
        {"paper": "SLICE", "where": "section 5", "text": "people agree", "untested": "there are no people here"},
    ]  # fmt: skip
    path = tmp_path / "scorecard.json"
    settings = {"claims": claims, "max_length": 16, "resamples": 50, "seed": 0, "threads": 1}
    path.write_text(json.dumps({"kind": "scorecard", "settings": settings}))
    return path


def test_a_scorecard_sets_each_claim_beside_its_paper(path: Path, small_encoder_folder: Path) -> None:
    record = scorecard(path)
    assert records.read(path).results == record.results
    assert record.results
    first, second, third = record.results.claims
    scores = [
        evaluate_sts(Encoder.from_pretrained(small_encoder_folder, pooling=own, max_length=16), ["toy-sts"]).average
        for own in ("mean", "cls")
    ]
    assert first.found["small"].difference == pytest.approx(scores[0] - scores[1], abs=0.006)
    assert first.printed == pytest.approx(52.57 - 31.40)
    assert second.found["small"].verdict == "not run yet"
    assert (third.found, third.untested) == ({}, "there are no people here")
    assert not record.done  # a claim waits
    assert [claim.text for claim in record.results.waiting] == ["whitening helps"]
    counts = record.results.counts("small")
    assert list(counts.index) == ["PaSeR", "SLICE"]
    assert counts.loc["PaSeR", ["undecided", "not run yet"]].sum() == 2
    assert counts.loc["SLICE", "cannot be tested"] == 1


def test_a_scorecard_that_is_asked_for_more_is_no_longer_done(path: Path) -> None:
    content = json.loads(path.read_text())
    del content["settings"]["claims"][1]
    path.write_text(json.dumps(content))
    scorecard(path)
    assert records.read(path).done
    content = json.loads(path.read_text())
    claims = content["settings"]["claims"]
    sides = {"small": claims[0]["sides"]["small"], "other": claims[0]["sides"]["small"]}
    for changed in ([*claims, claims[0] | {"text": "a new one"}], [claims[0] | {"sides": sides}, claims[1]]):
        content["settings"]["claims"] = changed
        path.write_text(json.dumps(content))
        assert not records.read(path).done


def test_a_side_without_a_score_is_refused_by_name(path: Path) -> None:
    encoder = {"source": "words", "pooling": "mean", "max_length": 16}
    words = {"encoder": encoder, "dev": "toy-sts", "test": []}
    (path.parent / "words.json").write_text(json.dumps({"kind": "run", "settings": words}))
    content = json.loads(path.read_text())
    first = content["settings"]["claims"][0]
    first["tests"] = [{"corpus": "toy-words"}]  # of which the bag of words makes the same for all pairs
    first["sides"]["small"]["ours"]["record"] = "words"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"scorecard\.json: mean beats \[CLS\]: words on toy-words: the score is nan"):
        scorecard(path)


def test_a_side_counts_when_its_own_runs_of_a_sweep_are_done(path: Path) -> None:
    run = json.loads((path.parent / "later.json").read_text())["settings"]
    run["method"]["arguments"] = {"dim": 16}
    over = {"method.arguments.dim": [4, 8]}
    place = path.parent / "dims.json"
    place.write_text(json.dumps({"kind": "sweep", "settings": {"run": run, "over": over}}))
    record = records.read_as(SweepRecord, place)
    four, eight = (RowSettings(record="dims", where={"method.arguments.dim": dim}) for dim in (4, 8))
    assert [has_run(side, path) for side in (four, eight)] == [False, False]
    run_or_read(runs_with(four.where, record, place)[0], path.parent / records.SWEEPS)
    assert [has_run(side, path) for side in (four, eight)] == [True, False]
    assert not has_run(RowSettings(record="dims"), path)
    assert [run.settings.method.arguments["dim"] for run in runs_of(place, four.where) if run.settings.method] == [4]


def test_a_record_that_is_not_there_is_an_error_and_not_a_run_to_come(path: Path) -> None:
    content = json.loads(path.read_text())
    content["settings"]["claims"][0]["sides"]["small"]["ours"]["record"] = "maen"
    path.write_text(json.dumps(content))
    with pytest.raises(FileNotFoundError, match="maen"):
        scorecard(path)


def test_a_record_that_has_no_runs_is_an_error_and_not_a_run_to_come(path: Path) -> None:
    with pytest.raises(ValueError, match=r"scorecard\.json is of the kind scorecard"):
        has_run(RowSettings(record="scorecard"), path)


def test_damaged_runs_of_a_sweep_are_an_error_and_not_runs_to_come(path: Path) -> None:
    run = json.loads((path.parent / "later.json").read_text())["settings"]
    place = path.parent / "dims.json"
    over = {"method.arguments": [{"dim": 4}]}
    place.write_text(json.dumps({"kind": "sweep", "settings": {"run": run, "over": over}}))
    record = records.read_as(SweepRecord, place)
    own = run_or_read(record.settings.runs()[0], path.parent / records.SWEEPS)
    assert has_run(RowSettings(record="dims"), path)
    (path.parent / records.SWEEPS / f"{own.settings.run_name}.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        has_run(RowSettings(record="dims"), path)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"untested": "no"}, "give tests and sides"),
        ({"sides": {}}, "give tests and sides"),
        ({"tests": []}, "give tests"),
    ],
)
def test_a_claim_is_tested_or_says_why_not(path: Path, changed: dict[str, Any], says: str) -> None:
    content = json.loads(path.read_text())
    content["settings"]["claims"][0] |= changed
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=says):
        records.read(path)


def test_effects_are_differences_of_printed_cells() -> None:
    table = published.table("slice", 1)
    single = table[table["setup"] == "single forward pass"]["pearson"]
    cells = {"paper": "slice", "table": "1", "ours": "SLICE (ours)", "theirs": "BERT", "column": "pearson"}
    own = Printed(**cells, within={"setup": "single forward pass"}, scale=100)
    assert printed_effect(own) == pytest.approx(100 * (single["SLICE (ours)"] - single["BERT"]))
    hard = Printed(
        paper="ptbert", table="1", ours="sts12", theirs="sts12", column="original", theirs_column="sub-dataset"
    )
    assert printed_effect(hard) == pytest.approx(68.40 - 66.54)
    baseline = Printed(**cells | {"theirs": "BM-25 (Okapi)"}, theirs_within={"setup": "baseline"}, scale=100)
    own = baseline.model_copy(update={"within": {"setup": "single forward pass"}})
    assert printed_effect(own) == pytest.approx(100 * (single["SLICE (ours)"] - 0.342))


@pytest.mark.realdata
def test_what_encoders_gave_each_item_has_the_scores_of_their_records(real_data: Path) -> None:
    """Texts of over 64 pieces are cut in the records, and not for the scorecard: scores may differ by 0.1.

    Runs that read 32 pieces cut more texts.
    """
    tests = {name: TestSettings(corpus=name) for name in [f"sts{year}" for year in range(12, 17)] + ["stsb"]}
    for setup in ("spans", "full"):
        tests[f"stsb-context {setup} pearson"] = TestSettings(corpus="stsb-context", setup=setup)
    corpora = {test.corpus: data.load(test.corpus, "test", real_data) for test in tests.values()}
    folders = sorted((BOOK / records.SWEEPS).glob(f"*/{records.ITEMS}"))
    assert folders
    for folder in folders:
        run = records.read_as(records.RunRecord, folder.parent.with_suffix(".json"))
        assert run.results
        assert run.results.after
        source = {"source": str(folder.with_name(records.ENCODER))}
        recorded = {name: score for name, score in run.results.after.own.items() if name in tests}
        assert len(recorded) >= 2
        near = 0.1 if run.settings.encoder.max_length >= 64 else 2.0
        for name, score in recorded.items():
            found = kept_evaluation(source, None, tests[name], corpora[tests[name].corpus], 128)
            assert found.score() == pytest.approx(score, abs=near), f"{run.name}: {name}"


def scores_of_runs(side: RowSettings, test: TestSettings, path: Path) -> list[float | int | None]:
    """What the runs of a row say themselves; None where a run was not measured so."""
    place = records.path_of(side.record, path)
    name = f"{test} pearson" if test.setup else str(test)
    found = []
    for run in runs_of(place, side.where):
        assert run.results
        scores = run.results.final.scores
        found.append(scores.get(side.pooling or next(iter(scores)), {}).get(name))
    return found


def test_leaderboards_are_not_older_than_their_runs() -> None:
    """A run that is trained again has other scores; the records cut at 64 tokens, so scores may differ by 0.1.

    Both are rounded to two decimals.
    """
    compared = 0
    for record in records.load("leaderboard/*", BOOK):
        if not isinstance(record, LeaderboardRecord):
            continue
        assert record.results
        path = BOOK / f"{record.name}.json"
        tests = [test for column in record.settings.columns.values() for test in column if not test.without]
        for test, (row, side) in itertools.product(tests, record.settings.rows.items()):
            own = scores_of_runs(side, test, path)
            if None not in own:
                compared += 1
                assert record.results.tests[str(test)][row] == pytest.approx(own, abs=0.111), (record.name, row)
    assert compared > 90


def test_the_scorecard_is_not_older_than_its_runs() -> None:
    path, compared = BOOK / "scorecard" / "claims.json", 0
    record = records.read_as(ScorecardRecord, path)
    assert record.results
    for claim, result in zip(record.settings.claims, record.results.claims, strict=True):
        for encoder, pair in claim.sides.items():
            if (difference := result.found[encoder].difference) is None:
                continue
            means = [
                [np.mean(own) for test in claim.tests if None not in (own := scores_of_runs(side, test, path))]
                for side in (pair.ours, pair.theirs)
            ]
            if all(len(own) == len(claim.tests) for own in means):
                compared += 1
                assert difference == pytest.approx(np.mean(means[0]) - np.mean(means[1]), abs=0.1), claim.text
    assert compared > 20


def test_a_side_that_no_training_has_helped_is_known() -> None:
    path = BOOK / "scorecard" / "claims.json"
    sides = {claim.text: claim.sides for claim in records.read_as(ScorecardRecord, path).settings.claims}
    expected = {
        "PT-BERT beats MoCo": "ours",
        "Noun phrases are better to mask than verb phrases": "theirs",
        "PaSeR beats the raw [CLS]": None,  # one side is not trained at all
        "PaSeR beats whitening": None,  # which has no steps
        "From Wikipedia, PT-BERT with one pooled key beats MoCo": None,  # one seed of three
    }
    for text, which in expected.items():
        assert at_start(sides[text]["tiny"], path) == which


def test_where_may_name_the_data_of_a_run() -> None:
    record = records.read_as(ScorecardRecord, BOOK / "scorecard" / "claims.json")
    claim = next(own for own in record.settings.claims if own.text.startswith("Paraphrases make word vectors"))
    for side in (claim.sides["tiny"].ours, claim.sides["tiny"].theirs):
        with contextlib.suppress(
            FileNotFoundError
        ):  # which runs of the sweep it is, comes before whether they are there
            assert len(encoders_of(side, BOOK / "scorecard" / "claims.json", or_items=True)) == 3


def test_effects_of_the_recorded_scorecard_are_those_of_the_papers_cells() -> None:
    record = records.read_as(ScorecardRecord, BOOK / "scorecard" / "claims.json")
    assert record.results
    for claim, own in zip(record.settings.claims, record.results.claims, strict=True):
        assert own.printed == (None if claim.printed is None else round(printed_effect(claim.printed), 4))
    words = next(
        own for own in record.results.claims if own.text == "Paraphrases make word vectors better than NLI alone"
    )
    nli, both = fmean([57.94, 24.93, 29.95, 47.56]), fmean([59.62, 69.38, 57.39, 64.39])  # without MEN, as our test
    assert words.printed == pytest.approx(both - nli, abs=0.01)


def test_a_claim_takes_whole_tests() -> None:
    row = {"record": "raw/tiny", "pooling": "cls"}
    claim = {"paper": "PaSeR", "where": "here", "text": "It helps", "sides": {"tiny": {"ours": row, "theirs": row}}}
    with pytest.raises(ValueError, match="It helps: `without` is for the tests of a leaderboard"):
        Claim(**claim, tests=[{"corpus": "sts12", "without": "stsb"}])
