"""What the first page says of results, against the records."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import nbformat
import nltk
import numpy as np
import pytest
from experiments import published, records
from experiments.records import (
    CostRecord,
    DropoutRecord,
    LeaderboardRecord,
    RunRecord,
    ScorecardRecord,
    SearchRecord,
    WilliamsRecord,
)
from experiments.results_rows import NOT_RUN
from experiments.runs import AVERAGES, best_on_dev, dev_curve, runs, scores, values
from experiments.significance import items_of

from sentlab import data
from sentlab.data.catalog import YEARS
from sentlab.encoder import Encoder
from sentlab.methods import PaSeR
from sentlab.text.phrases import chunk_phrases

CELLS = {  # of Universal, Table 2
    "sentences": [f"sts{year}" for year in range(12, 17)],
    "words": AVERAGES["four word sets"],
}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def page() -> str:
    return " ".join((ROOT / "book" / "index.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """The verdict on each claim, with the encoder `tiny`."""
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    assert record.results
    return {claim.text: claim.found["tiny"].verdict for claim in record.results.claims if "tiny" in claim.found}


def test_the_methods_that_it_says_beat_the_raw_vectors_do(page: str, verdicts: dict[str, str]) -> None:
    (named,) = re.findall(r"((?:[A-Z][\w-]+, )*[A-Z][\w-]+ and [A-Z]\w+) beat the raw vectors\.", page)
    methods = set(re.split(r", | and ", named))
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    column = board.results.columns["STS"]
    found = {name: own.score for name, own in column.rows.items()}
    assert found["raw mean"] > found.get("raw [CLS]", 0)
    for name in methods:
        assert found[name] > found["raw mean"]
        assert (column.between(name, "raw mean").p or 1) < 0.05
    tested = {text.split(" beats ")[0] for text in verdicts if text.endswith("beats the raw [CLS]")}
    assert methods == {name for name in tested if verdicts[f"{name} beats the raw [CLS]"] == "holds"} | {"PT-BERT"}
    assert {verdicts[f"{name} beats the raw mean"] for name in methods - {"PT-BERT"}} == {"holds"}


def test_only_paser_beats_a_count_of_common_words_as_pages_say(page: str) -> None:
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    assert board.results
    column = board.results.columns["STS"]
    words = column.rows["common words"].score
    said = f"words that two sentences share scores {words:.1f}, and on `tiny`, of these four only PaSeR scores higher"
    assert said in page
    trained = {name: column.between(name, "common words") for name in ("SimCSE", "MoCo", "PT-BERT", "PaSeR")}
    assert [name for name, gap in trained.items() if gap.value > 0] == ["PaSeR"]
    assert (trained["PaSeR"].low or 0) > 0
    assert f"ConSERT, an older baseline, scores {column.rows['ConSERT'].score:.1f}" in page
    assert "of five trained methods only paser beats whitening and the flow" in text_of("which").lower()
    for straightened in ("whitening", "flow"):
        assert (column.between("PaSeR", straightened).low or 0) > 0
        assert (column.between("ConSERT", straightened).p or 0) > 0.05
    assert "ConSERT's lead is not significant" in text_of("which")
    assert "none of which scores above a count of common words" in text_of("which")
    assert all((column.between(f"small: {name}", "common words").low or 0) > 0 for name in ("SimCSE", "MoCo"))
    assert "On `small` SimCSE and MoCo do; we" in text_of("which")
    larger = column.between("small: SimCSE", "common words")
    assert (larger.low or 0) > 0
    assert larger.p is not None
    assert larger.p < 0.05
    assert "counting common words beats the raw vectors" in text_of("which").lower()
    assert all((column.between(raw, "common words").high or 0) < 0 for raw in ("raw mean", "raw [CLS]"))
    gap = column.between("whitening", "flow")
    said = f"their difference is {gap.value:.1f}, with an interval of {gap.low:.1f} to {gap.high:.1f}".replace("-", "−")
    assert said in text_of("leaderboard")
    pairs = len(column.rows) * (len(column.rows) - 1) // 2
    least = 2 / (board.settings.resamples + 1) * pairs
    assert f"{least:.3f} is the least that 10,000 resamples and {pairs} pairs can give" in text_of("leaderboard")


def test_what_dev_shares_with_the_tests_changes_as_little_as_it_says(real_data: Path) -> None:
    def pairs(name: str, split: str) -> list[object]:
        return items_of(data.load(name, split, real_data)) or []

    dev = pairs("stsb", "dev")
    tests = {own for year in YEARS for own in pairs(year, "test")}
    shared = sum(item in tests for item in dev)
    assert len(dev) == 1500
    for name in ("leaderboard", "measuring"):
        assert f"{shared:,} of" in text_of(name)
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    assert board.results
    everything, rest = (board.results.columns[name].rows for name in ("STS", "STS without dev"))
    assert max(abs(everything[row].score - rest[row].score) for row in rest) < 0.5
    assert "no row changes by more than 0.5 points, and the order on `tiny` stays" in text_of("leaderboard")
    tiny = [row for row in rest if row not in board.settings.beside]
    assert sorted(tiny, key=lambda row: everything[row].score) == sorted(tiny, key=lambda row: rest[row].score)


def test_the_dropout_trap_names_what_paser_gained(page: str) -> None:
    def gain(*names: str) -> float:
        found = [run for name in names for run in runs(name)]
        starts, ends = ([scores(run, "cls", when)["average"] for run in found] for when in ("before", "after"))
        return (sum(ends) - sum(starts)) / len(found)

    short, long = gain("paser/seeds"), gain("paser/seed0", "paser/seed1", "paser/seed2")
    said = (
        f"PaSeR gained {short:.1f} points when we kept the last of 500 steps, and {long:.1f} when we kept the best of "
        "1,000"
    )
    assert said in text_of("dropout-trap")
    assert 1.8 < gain("tiny-sts/paser") / long < 2.2  # "by twice as much"


def test_slices_similarities_are_better_than_the_raw_encoders_as_it_says(page: str, verdicts: dict[str, str]) -> None:
    assert "SLICE's similarities, in one pass, follow the gold scores better than its raw encoder's" in page
    assert verdicts["In one pass, SLICE rates pairs better than the raw encoder"] == "holds"
    assert "though it finds the true match less often" in page
    found = [
        [when.scores["mean"]["stsb-context spans found"] for when in (run.results.before, run.results.after)]
        for run in runs("tiny-context/span-pair")
    ]
    assert all(after < before for before, after in found)


def test_the_first_round_lost_at_dropout_0_1_as_it_says(page: str) -> None:
    assert (
        "In our first round we trained with dropout 0.1, and SimCSE, MoCo and PT-BERT ended below the raw [CLS]."
        in page
    )
    for name in ("paser/simcse", "ptbert/simcse-wiki", "ptbert/moco", "ptbert/tokens", "ptbert/pooled"):
        found = runs(name)
        assert {run.settings.dropout for run in found} == {0.1}
        for run in found:
            start, end = (scores(run, "cls", when)["average"] for when in ("before", "after"))
            assert end < start
    assert "At this dropout SimCSE and MoCo lose on `tiny` at every learning rate" in page
    for name in ("simcse", "moco"):
        search = records.read_as(SearchRecord, ROOT / records.FOLDER / "tiny-sts" / f"{name}.json")
        trials = [trial for trial in search.results.trials if trial.values["dropout"] == 0.1]
        start = trials[0].dev  # step 0 is kept
        assert [trial.step for trial in trials] == [0] * len(trials)
        assert len(trials) >= 4
        assert all(trial.last < start for trial in trials)


def test_small_recovers_at_dropout_0_1_as_the_dropout_trap_says() -> None:
    text = written_in("dropout-trap")
    start = runs("raw/small")[0].results.before.scores["cls"]["stsb-dev"]

    def ends(name: str) -> dict[float, float]:
        search = records.read_as(SearchRecord, ROOT / records.FOLDER / "small-sts" / f"{name}.json")
        trials = [trial for trial in search.results.trials if trial.values["dropout"] == 0.1]
        assert {trial.steps for trial in trials} == {300}
        return {trial.values["train.learning_rate"]: trial.last for trial in trials}

    simcse, moco, paser = (ends(name) for name in ("simcse", "moco", "paser"))
    assert {len(rates) for rates in (simcse, moco, paser)} == {4}
    gains = [sum(last > start for last in rates.values()) for rates in (simcse, moco, paser)]
    assert gains == [3, 4, 0]
    assert f"300 steps end at {max(simcse.values()):.1f} and {max(moco.values()):.1f} on dev" in text
    results = records.read_as(DropoutRecord, ROOT / records.FOLDER / "dropout" / "small.json").results
    cls, mean = (results.table(pooling).loc["small"] for pooling in ("cls", "mean"))
    assert f"[CLS] of `small` falls from {cls[0.0]:.0f} to {cls[0.1]:.0f} at 0.1" in text
    assert f"falls as far, from {cls[0.0]:.0f} to {cls[0.1]:.0f}." in text
    others = records.read_as(DropoutRecord, ROOT / records.FOLDER / "dropout" / "start.json").results.table("mean")
    assert (others[0.0] - others[0.1]).max() < mean[0.0] - mean[0.1]
    assert f"Its mean loses the most of all five, {mean[0.0] - mean[0.1]:.0f} points" in text


def test_what_the_scorecard_says_of_small() -> None:
    text = written_in("scorecard")
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    found = {own.text: own.found["small"] for own in record.results.claims if "small" in own.found}
    over = {
        (name, raw): found[f"{name} beats the raw {raw}"]
        for name in ("PaSeR", "MoCo", "SimCSE")
        for raw in ("[CLS]", "mean")
    }
    assert {own.verdict for own in over.values()} == {"holds"}
    for raw in ("[CLS]", "mean"):
        paser, moco, simcse = (f"{over[name, raw].difference:.1f}" for name in ("PaSeR", "MoCo", "SimCSE"))
        assert (
            f"the raw {raw} PaSeR gains {paser}{' points' * (raw == '[CLS]')}, MoCo {moco} and SimCSE {simcse}" in text
        )
    on_tiny = {own.text: own.found["tiny"].difference for own in record.results.claims if "tiny" in own.found}
    times = {name: over[name, "mean"].difference / on_tiny[f"{name} beats the raw mean"] for name, _ in over}
    assert (round(times["SimCSE"], 1), round(times["MoCo"], 1)) == (2, 3)
    assert times["PaSeR"] < 1
    first_last = "beats the raw mean of the first and the last layer"
    paser, simcse = (found[f"{name} {first_last}"] for name in ("PaSeR", "SimCSE"))
    assert {paser.verdict, simcse.verdict} == {"holds"}
    assert f"over it PaSeR gains {paser.difference:.1f} points, and SimCSE {simcse.difference:.1f}" in text
    ahead = found["SimCSE is slightly better than PaSeR"]
    assert ahead.verdict == "undecided"
    assert f"PaSeR is {-ahead.difference:.1f} points ahead of SimCSE, and that is undecided" in text
    assert f"On `tiny` it is {-on_tiny['SimCSE is slightly better than PaSeR']:.1f} ahead" in text
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    score = {row: own.score for row, own in board.results.columns["STS"].rows.items()}
    higher = {name: score[f"small: {name}"] - score[name] for name in ("raw [CLS]", "raw mean", "PaSeR")}
    assert f"by {higher['raw [CLS]']:.1f} points ([CLS]) and {higher['raw mean']:.1f} (mean)" in text
    assert f"PaSeR's {score['small: PaSeR']:.1f} is only {higher['PaSeR']:.1f} above" in text
    made = runs("small-sts/paser")
    assert {run.results.kept_step for run in made} <= {200, 300, 400}
    lost = [scores(run, None, "after")["average"] - scores(run, None, "last")["average"] for run in made]
    assert f"the last step scores {min(lost):.1f} to {max(lost):.1f} points lower" in text
    for run in (*runs("small-sts/simcse"), *runs("small-sts/moco")):
        curve = {point.step: point.score for point in run.results.training.dev}
        assert max(curve.values()) - max(score for step, score in curve.items() if step <= 1333) < 0.3
    search = records.read_as(SearchRecord, ROOT / records.FOLDER / "small-sts" / "paser.json").results
    assert search.chosen == {"train.learning_rate": 0.001, "dropout": 0.02}
    (without,) = (trial for trial in search.trials if trial.steps == 2000 and trial.values["dropout"] == 0)
    assert without.step == 200
    assert f"dev score fell by {without.dev - without.last:.0f} points after step 200" in text
    (chosen,) = (trial for trial in search.trials if trial.steps == 2000 and trial.values == search.chosen)
    assert chosen.dev > without.dev  # "scores higher and falls less"
    assert chosen.dev - chosen.last < without.dev - without.last
    slow = [trial for trial in search.trials if trial.values == {"train.learning_rate": 0.0003, "dropout": 0.02}]
    assert [(trial.steps, trial.step, trial.rising) for trial in slow] == [(300, 300, True)]
    trained = [run for name in ("paser", "simcse", "moco") for run in runs(f"small-sts/{name}")]
    assert len({run.source.device for run in trained}) == 1
    assert "CPU" not in trained[0].source.device
    highest = [trial for trial in search.trials if trial.values["train.learning_rate"] == 0.003]
    assert {trial.step for trial in highest} == {0}


def test_what_the_scorecard_says_of_minilm() -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    (claim,) = (own for own in record.results.claims if "minilm" in own.found)
    found = claim.found["minilm"]
    assert found.verdict == "holds"
    text, made = written_in("scorecard"), runs("minilm/universal")
    said = f"better, by {found.difference:.1f} points** (95% CI {found.low:.1f} to {found.high:.1f})"
    assert f"the three tasks make sentences {said}, at step 100 of 1,000." in text
    assert {(run.results.kept_step, run.settings.train["steps"]) for run in made} == {(100, 1000)}
    assert all(scores(run, when="last")["average"] < scores(run, when="before")["average"] for run in made)
    assert {run.settings.frozen_first["steps"] for run in made} == {200}  # "(200 from MiniLM)"
    search = records.read_as(SearchRecord, ROOT / records.FOLDER / "minilm" / "universal.json")
    assert search.settings.steps == 100  # "(100 from MiniLM)"


def test_pasers_points_are_those_of_the_records(page: str) -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    (claim,) = (own for own in record.results.claims if own.text == "PaSeR beats the raw mean")
    found = claim.found["tiny"]
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    score = board.results.columns["STS"].rows["PaSeR"].score
    assert f"{score:.1f} points on seven tests of similarity, {found.difference:.1f} above the mean" in page
    assert f"(95% CI {found.low:.1f} to {found.high:.1f})" in page


def test_it_says_how_much_of_the_scorecard_is_there(page: str, verdicts: dict[str, str]) -> None:
    missing = sum(verdict == NOT_RUN for verdict in verdicts.values())
    assert ("Most runs are still to be made" in page) == (missing > len(verdicts) / 2)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    said = f"{missing} of the {len(record.results.claims)} claims are not run yet."
    assert said in readme if missing else "not run yet." not in readme
    controls = sum(claim.where.startswith("control") for claim in record.results.claims)
    assert f"{len(record.results.claims) - controls} of these claims and {controls} controls of its own" in readme


def test_the_scorecard_counts_the_larger_effects_of_the_papers() -> None:
    text = " ".join((ROOT / "book" / "scorecard.ipynb").read_text(encoding="utf-8").split())
    (said,) = re.findall(r"In (\d+) of these (\d+) claims the paper's effect is the larger one", text)
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    assert record.results
    both = [
        (abs(own.printed), abs(own.found["tiny"].difference))
        for claim, own in zip(record.settings.claims, record.results.claims, strict=True)
        if own.printed is not None
        and not {test.corpus for test in claim.tests} & {"quora", "toy-phrases"}
        and "tiny" in own.found
        and own.found["tiny"].low is not None
    ]
    assert (int(said[0]), int(said[1])) == (sum(theirs > ours for theirs, ours in both), len(both))


def test_its_encoders_are_as_large_as_it_says(page: str) -> None:
    (millions,) = re.findall(r"encoders of ([\d.]+) million parameters", page)
    encoder = Encoder.from_pretrained("tiny")
    assert f"{sum(own.numel() for own in encoder.parameters()) / 1e6:.1f}" == millions


def test_slice_scores_as_the_leaderboard_says() -> None:
    columns = records.read_as(
        LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "contexts.json"
    ).results.columns
    for name, higher in (
        ("one pass, spans", True),
        ("one pass, whole context", True),
        ("a pass for each n-gram", False),
    ):
        scores_of = {row: found.score for row, found in columns[name].rows.items()}
        for other in ("raw mean", "SBERT-NLI"):
            assert (scores_of["SLICE"] > scores_of[other]) == higher, (name, other)
            assert (columns[name].between("SLICE", other).p or 1) < 0.05, (name, other)


def test_the_advice_fits_the_leaderboard() -> None:
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    found = {row: own.score for row, own in board.results.columns["STS"].rows.items()}
    tiny = {row: score for row, score in found.items() if row not in board.settings.beside}
    assert max(tiny, key=tiny.__getitem__) == "PaSeR"
    assert max(found, key=found.__getitem__) == "all-MiniLM-L6-v2"
    cost = records.read_as(CostRecord, ROOT / records.FOLDER / "leaderboard" / "cost.json").results
    trained = {row: own.minutes for row, own in cost.training.items() if own.seconds_a_step}
    assert min(trained, key=trained.__getitem__) == "MoCo"
    speeds = {row: own.sentences_a_second for row, own in cost.encoding.items()}
    assert "model2vec" in max(speeds, key=speeds.__getitem__)


def test_the_leaderboard_says_how_fast_paser_passes_the_others() -> None:
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    cost = records.read_as(CostRecord, ROOT / records.FOLDER / "leaderboard" / "cost.json").results
    paces = {row: own.seconds_a_step for row, own in cost.training.items() if own.seconds_a_step}
    assert set(paces) == {"PaSeR", "SimCSE", "MoCo", "PT-BERT"}
    means: dict[str, np.ndarray] = {}
    for row in paces:
        curves = [dev_curve(run) for run in runs(board.settings.rows[row].record)]
        steps = np.array([point["step"] for point in curves[0]])
        means[row] = np.mean([[point["score"] for point in curve] for curve in curves], axis=0)
    ours, pace = means.pop("PaSeR"), paces.pop("PaSeR")
    assert ours[1] < ours[0]  # it falls first
    text = text_of("leaderboard")
    ratios = sorted(pace / other for other in paces.values())
    assert f"takes {ratios[0]:.1f} to {ratios[-1]:.1f} times as long" in text
    ahead = np.logical_and.reduce(
        [
            (ours > own) & (ours > np.interp(steps * pace, steps * paces[row], own))  # by steps, and by time
            for row, own in means.items()
        ]
    )
    first = next(place for place in range(len(steps)) if ahead[place:].all())
    assert f"From step {steps[first]} on, or {steps[first] * pace / 60:.1f} minutes, it is above the three" in text
    early = steps <= 2 / 3 * steps[-1]
    rises = [own[~early].max() - own[early].max() for own in (ours, *means.values())]
    assert (
        f"In the last third no mean over seeds rises more than {max(rises):.1f} points above its earlier best" in text
    )


def test_which_one_says_what_further_training_does_to_minilm() -> None:
    text = text_of("which")
    unlabelled = [
        run
        for method in ("simcse", "moco", "ptbert")
        for name in (method, f"{method}-low")
        for run in runs(f"minilm/{name}")
    ]
    curves = [[point.score for point in run.results.training.dev] for run in unlabelled]
    assert all(max(curve[1:]) < curve[0] for curve in curves)
    assert f"In {len(curves)} runs no step of SimCSE, MoCo or PT-BERT scores above the start" in text
    lengths = sorted(run.settings.train["steps"] for run in unlabelled)
    assert lengths == [100] * 20 + [1000] * 8
    assert {run.settings.train["learning_rate"] for run in unlabelled if run.settings.train["steps"] == 1000} == {
        2.7e-7,
        9e-7,
        3e-6,
    }
    assert "Twenty of these runs took 100 steps, and eight, at rates up to 0.000003, took 1,000." in text
    for name in ("simcse", "moco", "ptbert"):
        ends: dict[float, list[float]] = {}
        for run in runs(f"minilm/{name}"):
            ends.setdefault(run.settings.train["learning_rate"], []).append(run.results.training.dev[-1].score)
        by_rate = [fmean(ends[rate]) for rate in sorted(ends)]
        assert by_rate == sorted(by_rate, reverse=True)
    universal = runs("minilm/universal")
    before, after, last = (
        [scores(run, None, when)["average"] for run in universal] for when in ("before", "after", "last")
    )
    said = f"from {before[0]:.1f} to {fmean(after):.1f} (three seeds: {min(after):.1f} to {max(after):.1f}) at step 100"
    assert said in text
    assert f"At step 1,000 it has {fmean(last):.1f}" in text
    assert f"labelled pairs gained {fmean(after) - before[0]:.1f} points" in text
    without, slight = runs("minilm/slice")
    assert (without.settings.dropout, slight.settings.dropout) == (0, 0.02)
    assert {run.results.kept_step for run in (*universal, without, slight)} == {100}
    names = [f"stsb-context spans {what}" for what in ("spearman", "found")]
    start, rated = (
        (scores(slight, None, "before")[name] for name in names),
        [scores(run, None, "after")[names[0]] for run in (slight, without)],
    )
    spearman, found = start
    assert f"from {spearman:.1f} to {rated[0]:.1f} and {rated[1]:.1f} (dropout 0.02 and 0)" in text
    first = [scores(run, None, "after")[names[1]] for run in (slight, without)]
    assert f"in {first[0]:.0f}% and {first[1]:.0f}% of the pairs that say the same, and in {found:.0f}% before" in text
    end = [[scores(run, None, "last")[name] for run in (slight, without)] for name in names]
    assert {f"{score:.0f}" for score in end[0]} == {"77"}
    assert "At the last step its Spearman is still 77, " in text
    assert f"but the match is found in {end[1][0]:.0f}% and {end[1][1]:.0f}%" in text


def test_pt_bert_as_released_learns_nothing_at_dropout_0_1_as_its_page_says() -> None:
    made = runs("tiny-wiki/released-dropout")
    assert len(made) == 6
    assert {(run.settings.dropout, run.results.kept_step) for run in made} == {(0.1, 0)}
    assert {run.settings.train["learning_rate"] for run in made} == {0.00003}
    ends: dict[int, list[float]] = {}
    for run in made:
        ends.setdefault(run.settings.method.arguments["pseudo_tokens"], []).append(
            scores(run, "cls", "last")["average"]
        )
    assert {len(seeds) for seeds in ends.values()} == {3}
    start = scores(made[0], "cls", "before")["average"]
    said = f"their last steps average {fmean(ends[128]):.1f} with 128 and {fmean(ends[1]):.1f} with one"
    assert f"{said} (the start: {start:.1f})" in text_of("ptbert-experiments")


def test_pt_berts_effects_are_those_that_its_page_names() -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    found = {claim.text: claim.found["tiny"] for claim in record.results.claims if "tiny" in claim.found}
    for other in ("SimCSE", "MoCo"):
        own = found[f"From the STS sentences, PT-BERT beats {other}"]
        assert own.verdict == "undecided"
        said = f"{own.difference:+.1f}, {own.low:.1f} to {own.high:.1f}".replace("-", "−")
        assert said in text_of("ptbert-experiments").replace("95% CI ", ""), said


def test_what_pages_say_of_pooling_and_of_simcse_and_moco_from_wikipedia() -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    found = {claim.text: claim.found["tiny"] for claim in record.results.claims if "tiny" in claim.found}
    mean, wiki = found["For sentences, the mean is better than [CLS]"], found["SimCSE beats MoCo"]
    assert (mean.verdict, wiki.verdict) == ("holds", "undecided")
    interval = f"{mean.low:.1f} to {mean.high:.1f}"
    own = text_of("universal-experiments")
    most = found["For sentences, the mean is better than the maximum"]
    features = found["u, v and |u-v| are better than u and v"]
    product = found["u, v and |u-v| are better without the product"]
    assert [one.verdict for one in (most, features, product)] == ["holds", "undecided", "undecided"]
    widest = f"{most.low:.1f} to {most.high:.1f}"
    said = f"the mean beats [CLS] by {mean.difference:.1f} points ({interval}) and the maximum by {most.difference:.1f}"
    assert f"{said} ({widest})" in own
    seen = f"({features.low:.1f} to {features.high:.1f}".replace("-", "−")
    assert f"adds {features.difference:.1f} points on STS12 to STS16 {seen}" in own
    words = [
        values(found, "four word sets").mean()
        for found in (
            runs("tiny-universal/all"),
            runs("tiny-universal/features", where={"method.arguments.pair_features": "u,v"}),
        )
    ]
    assert f"and {words[0] - words[1]:.1f} on words" in own
    better = f"sentences are {product.difference:.1f} better ({product.low:.1f} to {product.high:.1f})"
    assert better.replace("-", "−") in own


def test_what_pages_say_of_pt_bert_from_wikipedia() -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    found = {claim.text: claim.found["tiny"] for claim in record.results.claims if "tiny" in claim.found}
    trained = runs("tiny-wiki/ptbert-tokens")
    assert [run.results.training.kept_step for run in trained] == [0, 0, 0]
    own = text_of("ptbert-experiments")
    behind = [found[f"PT-BERT beats {other}"] for other in ("SimCSE", "MoCo")]
    hard = found["PT-BERT beats SimCSE on pairs whose lengths mislead"]
    assert {one.verdict for one in (*behind, hard)} == {"undecided"}
    for one, other in ((behind[0], "SimCSE"), (behind[1], "MoCo"), (hard, "SimCSE")):
        ends = f"{one.low:.1f} to {one.high:.1f}"
        said = f"{one.difference:.1f} (points )?against {other}( on hard pairs)? \\((95% CI )?{ends}\\)"
        assert re.search(said.replace("-", "−"), own), said
    low = runs("tiny-wiki/ptbert-low")
    assert {(run.settings.dropout, run.results.kept_step) for run in low} == {(0.00125, 0)}
    assert len(low) == 2
    assert "five rates from 0.00003 to 0.0033, dropout 0.00125 (two rates) to 0.1, and 8,000 steps do not help" in own
    (longer,) = runs("tiny-wiki/ptbert-long")
    curve = {row.step: row.score for row in longer.results.training.dev}
    top = max(step for step in curve if step and curve[step] == max(curve[at] for at in curve if at))
    assert f"comes back to {curve[top]:.1f} at step {top:,}, and ends at {curve[8000]:.1f}" in own
    assert f"Its start, {curve[0]:.1f}, is never reached." in own
    views = found["Role-guided views help MoCo"]
    ends = f"{views.low:.1f} to {views.high:.1f}".replace("-", "−")
    assert f"SRL is {views.difference:.1f} points ahead of no view ({ends};" in own
    assert views.verdict == "undecided"


@pytest.mark.parametrize(
    ("claim", "sign", "said"),
    [
        ("Reordering harms MoCo", -1, {"ptbert-experiments": "Reordering adds {} ({})"}),
        ("Duplication harms MoCo", -1, {"ptbert-experiments": "duplication {} ({})"}),
        (
            "Role-guided views are better than crops that keep as many words",
            0,
            {"ptbert-experiments": "{} ahead of a crop that keeps as many words, its control ({})"},
        ),
        (
            "From the STS sentences, a queue of 256 is better than one of 192",
            0,
            {"ptbert-experiments": "{} ahead of 192 ({};"},
        ),
        (
            "From the STS sentences, a queue of 256 is better than one of 320",
            0,
            {"ptbert-experiments": "{} ahead of 320 ({})"},
        ),
        (
            "From Wikipedia, the released PT-BERT, read as [CLS], beats MoCo",
            1,
            {"ptbert-experiments": "from MoCo by {} ({})", "scorecard": "and {} (undecided)"},
        ),
        (
            "From Wikipedia, the released PT-BERT, read as [CLS], beats SimCSE",
            1,
            {"ptbert-experiments": "from SimCSE by {} ({})", "scorecard": "differs from SimCSE and MoCo by {}"},
        ),
        (
            "Three negatives are better for phrases than one",
            1,
            {"universal-experiments": "instead of one change phrases by {} ({})"},
        ),
        (
            "Six decoder layers are better than one",
            1,
            {"paser-experiments": "Six layers differ from one by {} ({}; not significant)"},
        ),
        (
            "[CLS] is better for PaSeR than the mean of the first and the last layer",
            0,
            {"paser-experiments": "[CLS] is {} ahead of the mean of the first and the last layer ({}"},
        ),
        ("Two phrases are better than one", 0, {"paser-experiments": "Two are {} points ahead of one ({};"}),
        (
            "Three phrases are better than one",
            0,
            {"paser-experiments": "and three {} ({};"},
        ),
        (
            "RAKE's phrases are better than noun and verb phrases",
            0,
            {"paser-experiments": "three phrases are {} ahead of noun and verb phrases ({}"},
        ),
        (
            "Noun phrases are better to mask than verb phrases",
            0,
            {"paser-experiments": "Noun phrases are {} ahead of verb phrases ({}"},
        ),
        (
            "Noun and verb phrases are better than noun phrases alone",
            0,
            {"paser-experiments": "Beside noun phrases they add {} ({}"},
        ),
        ("Random swaps help PaSeR", 0, {"paser-experiments": "swaps add {} ({}"}),
        ("Random deletions help PaSeR", 0, {"paser-experiments": "deletions {} ({}"}),
        (
            "Synonyms for half of the words help PaSeR",
            1,
            {"paser-experiments": "ynonyms change the score by {} ({}"},
        ),
        (
            "m = n = 10 is better than m = 0.1 and n = 1",
            1,
            {"paser-experiments": "$m = n = 10$ differs from $m = 0.1$, $n = 1$ by {} ({}"},
        ),
        (
            "From the STS sentences, PT-BERT with one pooled key beats MoCo",
            1,
            {"ptbert-experiments": "by {} from the STS sentences ({})"},
        ),
        (
            "From Wikipedia, PT-BERT with one pooled key beats MoCo",
            1,
            {"ptbert-experiments": "by {} from Wikipedia ({},"},
        ),
        (
            "NLI alone is slightly better for sentences than the three tasks",
            0,
            {"universal-experiments": "NLI alone is {} points ahead of all three tasks ({}"},
        ),
        (
            "The three tasks are better for words than NLI alone",
            1,
            {"universal-experiments": "all three tasks do, too ({}, {})"},
        ),
        (
            "For words, the mean is better than [CLS]",
            1,
            {"universal-experiments": "the mean differs from [CLS] by {} ({}"},
        ),
        (
            "For phrases, the mean is better than the maximum",
            1,
            {"universal-experiments": "on phrases from the maximum by {} ({}"},
        ),
        (
            "Three phrases are better than two",
            0,
            {"paser-experiments": "Three are {} ahead of two ({}"},
        ),
        (
            "Synonyms for a tenth of the words help PaSeR",
            1,
            {"paser-experiments": "for a tenth they change it by {} ({}"},
        ),
        (
            "SimCSE is better with sentences of 32 tokens than of 128",
            1,
            {"ptbert-experiments": "differs from 128 by {} ({}"},
        ),
        (
            "In the released code, 128 pseudo tokens are better than one",
            1,
            {
                "ptbert-experiments": "128 differ from one by {} ({}",
                "pseudo-tokens": "128 tokens differ from one by {} points ({}",
            },
        ),
        (
            "In one pass, in-batch negatives are better for SLICE than one negative",
            0,
            {"slice-experiments": "They add {} points to SLICE ({})"},
        ),
        (
            "In one pass, in-batch negatives are better for SBERT than one negative",
            0,
            {"slice-experiments": "and {} to SBERT ({})"},
        ),
        (
            "With in-batch negatives, too, SLICE rates pairs better than SBERT",
            1,
            {"slice-experiments": "and {} ({}) with in-batch negatives"},
        ),
        (
            "In one pass, SLICE rates pairs better than SBERT on the same data",
            1,
            {"slice-experiments": "SLICE differs from SBERT by {} points ({}) with random"},
        ),
        (
            "PaSeR beats ConSERT",
            0,
            {"paser-experiments": "ConSERT, next, is {} behind ({};"},
        ),
        (
            "With mined negatives, too, SLICE rates pairs better than SBERT",
            1,
            {"slice-experiments": "{} ({}) with mined"},
        ),
        (
            "In one pass, a mined negative is better for SLICE than a random one",
            0,
            {"slice-experiments": "Mining adds {} points to SLICE ({})"},
        ),
        (
            "In one pass, a mined negative is better for SBERT than a random one",
            0,
            {"slice-experiments": "and {} to SBERT ({}), both undecided"},
        ),
        (
            "With the whole context as one vector, SBERT on the same data is slightly better than SLICE",
            0,
            {"slice-experiments": "SBERT is {} ahead ({}"},
        ),
    ],
)
def test_pages_say_what_ablations_found(claim: str, sign: int, said: dict[str, str]) -> None:
    """`sign`: -1 where a page turns the difference round, 0 where it says it without one."""
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    (found,) = (own.found["tiny"] for own in record.results.claims if own.text == claim)
    low, high = (-found.high, -found.low) if sign < 0 else (found.low, found.high)
    number = f"{sign * found.difference:+.1f}" if sign else f"{found.difference:.1f}"
    for name, form in said.items():
        text = form.format(*(part.replace("-", "−") for part in (number, f"{low:.1f} to {high:.1f}")))
        assert text in text_of(name), (name, text)
    holds = (
        *("Two phrases", "Three phrases are better than", "RAKE's phrases", "[CLS] is better for PaSeR"),
        *("Noun phrases", "Random swaps", "The three tasks are better for words", "In one pass, in-batch"),
        "PaSeR beats Contrastive Tension",
        "PaSeR beats ConSERT",
    )
    assert (found.verdict == "holds") == claim.startswith(holds)


def test_the_pages_say_how_far_slice_is_from_sbert_trained_on_nli() -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    found = {claim.text: claim.found["tiny"] for claim in record.results.claims if "tiny" in claim.found}
    ngrams = found["With a pass for each n-gram, SLICE is better than SBERT trained on NLI"]
    spans = found["In one pass, SLICE rates pairs better than SBERT trained on NLI"]
    phrases = found["In one pass, SLICE rates pairs better than PhraseBERT"]
    assert {one.verdict for one in (ngrams, spans, phrases)} == {"undecided"}
    own = text_of("slice-experiments")
    ends = f"{-ngrams.high:.1f} to {-ngrams.low:.1f}"
    assert f"and {-ngrams.difference:.1f} behind with n-grams ({ends}, undecided)" in own
    ahead = f"is {spans.difference:.1f} points ahead of SBERT trained on NLI in one pass"
    assert f"{ahead} ({spans.low:.1f} to {spans.high:.1f}, undecided)" in own
    ahead = f"is {phrases.difference:.1f} ahead of a PhraseBERT-like encoder in one pass"
    assert f"{ahead} ({phrases.low:.1f} to {phrases.high:.1f}, undecided)" in own


def test_slices_page_says_what_negatives_do_to_each_set_up() -> None:
    (table,) = (
        table
        for table in records.read_as(WilliamsRecord, ROOT / records.FOLDER / "slice" / "williams.json").results.tables
        if table.setup == "ngrams"
    )
    found = {row.record: f"{row.pearson:.1f}" for row in table.rows}
    one, many, raw = (found[name] for name in ("tiny-context/span-pair", "tiny-context/span-batch", "raw/context"))
    page = text_of("slice-experiments")
    assert f"there it has {one} with one at random, {many} in-batch, and the raw encoder {raw}" in page
    share = {
        name: values(runs(f"tiny-context/{name}"), "stsb-context spans found").mean()
        for name in ("span-pair", "whole-pair", "span-mined", "whole-mined", "span-batch", "whole-batch")
    }
    more = [share[f"span-{kind}"] - share[f"whole-{kind}"] for kind in ("pair", "mined", "batch")]
    assert f"SLICE finds {min(more):.0f} to {max(more):.0f} points more of the true matches than SBERT" in page
    assert max(share.values()) < runs("raw/context")[0].results.before.own["stsb-context spans found"]
    kept = [run.results.training.kept_step for run in runs("tiny-context/whole-batch")]
    assert kept == [1500, 1500, 1500]  # "All seeds ... keep the last step"


def test_records_says_that_a_gpu_gives_the_scores_of_a_cpu() -> None:
    found = [
        (run.provenance.device, f"{run.results.after.own['stsb-context spans pearson']:.2f}")
        for run in runs("tiny-context/phrasebert")
    ]
    (gpu, one), (other, two), (cpu, three) = found
    assert gpu == other == "NVIDIA H200"
    assert cpu.startswith("CPU")
    said = f"the PhraseBERT-like seeds have a Pearson × 100 of {one} and {two} (GPU) and {three} (CPU)."
    assert said in text_of("records")


def test_a_decoder_of_one_layer_is_enough_as_pasers_page_says() -> None:
    said = []
    for layers in (1, 2, 6):
        found = runs("tiny-paser/depth", where={"method.arguments.decoder_layers": layers})
        assert len(found) == 3
        said.append(f"{values(found).mean():.1f}")
    kept = [
        run.results.training.kept_step for run in runs("tiny-paser/depth", where={"method.arguments.decoder_layers": 1})
    ]
    assert f"its seeds keep steps {min(kept):,} to {max(kept):,}" in text_of("paser-experiments")
    assert f"with one, two and six layers PaSeR scores {said[0]}, {said[1]} and {said[2]}" in text_of(
        "paser-experiments"
    )


def test_what_two_pages_say_of_wikipedias_texts() -> None:
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "texts.json")
    column = board.results.columns["STS"]
    rows = {name: own.score for name, own in column.rows.items()}

    def difference(name: str, other: str) -> str:
        return f"{rows[name] - rows[other]:.1f}"

    wiki, sts = ([f"{name}, {texts}" for name in ("SimCSE", "MoCo")] for texts in ("Wikipedia", "STS sentences"))
    over = {raw: [difference(name, raw) for name in wiki] for raw in ("raw [CLS]", "raw mean")}
    page = text_of("leaderboard")
    (cls, mean) = over.values()
    assert (
        f"gain {cls[0]} and {cls[1]} points over the raw [CLS], and {mean[0]} and {mean[1]} over the raw mean" in page
    )
    higher = [difference(name, other) for name, other in zip(sts, wiki, strict=True)]
    assert f"they score {higher[0]} and {higher[1]} points higher" in page
    pairs = [*zip(sts, wiki, strict=True), *((name, raw) for name in wiki for raw in over)]
    assert all(column.between(*pair).p > 0.05 for pair in pairs)
    assert "With all pairs of the picture counted, none of these six differences is significant." in page
    assert f"a standard deviation of {column.rows['SimCSE, Wikipedia'].spread:.1f}" in page
    said = {}
    for name in ("PaSeR", "SimCSE", "MoCo"):
        gap = column.between(f"{name}, captions and NLI", "raw mean")
        assert gap.p < 0.05
        said[name] = f"{gap.value:.1f} ({gap.low:.1f} to {gap.high:.1f})"
        gained = f"{gap.value:.1f}"
        assert f"{gained} points over the raw mean" in text_of("which") or f"{name} {gained}" in text_of("which")
    from_captions = said["PaSeR"].replace(" (", " points above the raw mean (95% CI ")
    assert f"PaSeR is {from_captions}, SimCSE {said['SimCSE']} and MoCo {said['MoCo']}" in page
    lower = column.between("PaSeR, STS sentences", "PaSeR, captions and NLI")
    higher = column.between("PaSeR, captions and NLI", "SimCSE, STS sentences")
    assert max(lower.p, higher.p) < 0.05
    assert f"PaSeR is {lower.value:.1f} lower than from the STS sentences ({lower.low:.1f} to {lower.high:.1f})" in page
    ahead = f"{higher.value:.1f} above SimCSE from the STS sentences ({higher.low:.1f} to {higher.high:.1f})"
    assert ahead in page
    same = [column.between(f"{name}, STS sentences", f"{name}, captions and NLI") for name in ("SimCSE", "MoCo")]
    assert min(gap.p for gap in same) > 0.05
    told = "; ".join(f"{gap.value:z.1f}, {gap.low:.1f} to {gap.high:.1f}" for gap in same)
    assert f"do not differ significantly ({told})".replace("-", "−") in page
    fitted, lost = {}, []
    for name in ("whitening", "flow"):
        gap, less = (
            column.between(f"{name}, captions and NLI", "raw mean"),
            column.between(f"{name}, STS sentences", f"{name}, captions and NLI"),
        )
        assert max(gap.p, less.p) < 0.05
        fitted[name] = f"{gap.value:.1f} ({gap.low:.1f} to {gap.high:.1f})"
        lost.append(f"{less.value:.1f}")
        assert f"{name} {gap.value:.1f}" in text_of("which")
    said = f"Whitening gains {fitted['whitening']} and the flow {fitted['flow']}, {' and '.join(lost)} less"
    assert said in page
    lead = column.between("PaSeR, captions and NLI", "flow, captions and NLI")
    assert lead.p < 0.05
    assert f"PaSeR's lead over the flow is {lead.value:.1f} ({lead.low:.1f} to {lead.high:.1f})" in page
    own = {
        name: column.between("PaSeR, Wikipedia", name)
        for name in ("raw mean", "MoCo, Wikipedia", "SimCSE, STS sentences")
    }
    less = column.between("PaSeR, STS sentences", "PaSeR, Wikipedia")
    lost = column.between("raw mean", "whitening, Wikipedia")
    assert max(gap.p for gap in (*own.values(), less, lost)) < 0.05
    gain = own["raw mean"]
    said = f"{gain.value:.1f} points over the raw mean (95% CI {gain.low:.1f} to {gain.high:.1f}). That is"
    assert f"**PaSeR gains from Wikipedia, too:** {said}" in page
    other = column.between("PaSeR, captions and NLI", "PaSeR, Wikipedia")
    assert other.p > 0.05
    gaps = (less, own["MoCo, Wikipedia"], own["SimCSE, STS sentences"], other, lost)
    less_, ahead, even, differs, loses = (f"{gap.value:.1f} ({gap.low:.1f} to {gap.high:.1f})" for gap in gaps)
    said = f"That is {less_} less than from the STS sentences, {ahead} more than MoCo from Wikipedia, and {even} more"
    assert f"{said} than SimCSE from the STS sentences." in page
    lead = column.between("PaSeR, Wikipedia", "SimCSE, Wikipedia")
    assert lead.p > 0.05
    assert f"Nor is PaSeR's lead of {lead.value:.1f} over SimCSE from Wikipedia, whose seeds have" in page
    differs = differs.replace(" ", " higher ", 1).replace("-", "−")
    assert f"captions PaSeR is {differs}, which is not significant. Whitening loses {loses} there" in page
    said = f"From Wikipedia PaSeR gains {gain.value:.1f}, and SimCSE and MoCo at most"
    assert f"{said} {max(map(float, mean)):.1f}; whitening loses {lost.value:.1f} (" in text_of("which")
    tried = {}
    for name in ("wiki/paser", "wiki/simcse", "wiki/moco", "captions/paser", "captions/simcse", "captions/moco"):
        search = records.read_as(SearchRecord, ROOT / records.FOLDER / f"tiny-{name}.json")
        tried[name] = [trial.values for trial in search.results.trials if trial.steps == search.settings.steps]
    assert [len(own) for own in tried.values()] == [16, 8, 8, 8, 8, 8]
    alone = records.read_as(SearchRecord, ROOT / records.FOLDER / "tiny-wiki" / "masked-lm.json")
    assert len([trial for trial in alone.results.trials if trial.steps == alone.settings.steps]) == 10
    assert "Masked-LM's tries ten and all others eight, drawn at random." in page
    gap, ahead = (
        column.between("masked-LM, Wikipedia", "raw mean"),
        column.between("PaSeR, Wikipedia", "masked-LM, Wikipedia"),
    )
    assert gap.p > 0.05 > ahead.p
    said = f"gains {gap.value:.1f} over the raw mean there ({gap.low:.1f} to {gap.high:.1f}), which is not significant,"
    assert f"{said} and PaSeR is {ahead.value:.1f} ahead of it ({ahead.low:.1f} to {ahead.high:.1f})." in page
    few = [own["train.learning_rate"] for own in tried["captions/paser"] if own["dropout"] == 0.02]
    assert few == [max(own["train.learning_rate"] for own in tried["captions/paser"])]  # "only with the highest rate"
    (rows_read,) = {run.source.data["wiki1m/train"].rows for run in runs("tiny-wiki/whitening")}
    read = {run.settings.train["steps"] * run.settings.train["batch_size"] for run in runs("tiny-wiki/paser")}
    assert f"*Wikipedia* is {rows_read:,} of its sentences; the trained rows read {min(read):,} of them." in page
    assert {run.settings.dropout for run in runs("tiny-captions/paser")} == {0}
    gained = difference("PaSeR, captions and NLI", "raw mean")
    front = " ".join((ROOT / "book" / "index.md").read_text(encoding="utf-8").split())
    wikipedia = (
        f"and from Wikipedia {gain.value:.1f}. Whitening fitted to Wikipedia loses {lost.value:.1f}, and PT-BERT"
    )
    assert f"PaSeR still gains {gained} over the raw mean, {wikipedia}" in front
    reached = ", and from Wikipedia ".join(
        f"{rows[f'PaSeR, {texts}']:.1f}" for texts in ("captions and NLI", "Wikipedia")
    )
    reached = f"without the tests' sentences, it reaches {reached}"
    assert reached in text_of("paser-experiments")
    own = text_of("ptbert-experiments")
    assert f"SimCSE is {cls[0]} and MoCo {cls[1]} points above the raw [CLS] (not significant)" in own
    assert f"and at most {max(mean)} above the raw mean." in own
    assert f"They differ by {difference(*wiki)}." in own


def test_paser_learns_nothing_from_verb_phrases_at_any_of_eight_settings() -> None:
    tried = runs("tiny-paser/verbs")
    assert len({(run.settings.train["learning_rate"], run.settings.dropout) for run in tried}) == len(tried) == 8
    falls = []
    for run in [*tried, *runs("tiny-paser/verbs-long")]:
        start, *later = [point["score"] for point in dev_curve(run)]
        assert max(later) < start
        falls.append(start - later[-1])
    said = f"at eight settings (`tiny-paser/verbs`, one seed) dev falls by {min(falls):.0f} to {max(falls):.0f} points"
    assert f"{said} in 300 steps" in text_of("paser-experiments")
    assert "verb phrases, which teach nothing at any of eight settings" in text_of("scorecard")


def text_of(name: str) -> str:
    """The text of a chapter, with one space between words."""
    cells = nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4).cells
    return " ".join("\n".join(cell.source for cell in cells if cell.cell_type == "markdown").split())


def test_universals_effects_are_those_that_its_pages_name(page: str) -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    assert record.results
    found = {claim.text: claim.found["tiny"] for claim in record.results.claims if "tiny" in claim.found}
    levels = {level: found[f"The three tasks make {level} vectors better"] for level in ("word", "sentence", "phrase")}
    assert [own.verdict for own in levels.values()] == ["holds", "undecided", "undecided"]
    assert "Universal makes words better, once its classifiers have trained." in page
    own = text_of("universal-experiments").replace("95% CI ", "")
    for level in levels.values():
        said = f"{level.difference:.1f} ({level.low:.1f} to {level.high:.1f}".replace("-", "−")
        assert said in own.replace(" points", ""), said
    words, sentences = (f"{levels[level].difference:.1f}" for level in ("word", "sentence"))
    assert f"it raised words by {words} points; its {sentences} on sentences are not significant" in text_of("which")
    for run in runs("tiny-universal/together"):
        assert run.results
        assert run.results.training
        assert run.results.training.dev[-1].score < run.results.training.dev[0].score - 2
        assert run.settings.frozen_first is None


def test_what_each_task_of_universal_adds_is_what_its_pages_say() -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    found = {claim.text: claim.found["tiny"] for claim in record.results.claims if "tiny" in claim.found}
    paraphrases = found["Paraphrases make word vectors better than NLI alone"]
    relations = found["Relations make phrase vectors better than NLI alone"]
    assert [paraphrases.verdict, relations.verdict] == ["holds", "undecided"]
    page = text_of("universal-experiments").replace("95% CI ", "")
    for own in (paraphrases, relations):
        said = f"({own.difference:+.1f}, {own.low:.1f} to {own.high:.1f}".replace("-", "−")
        assert said in page, said
    tasks: dict[str, list[RunRecord]] = {}
    for run in runs("tiny-universal/objectives"):
        tasks.setdefault("+".join(run.settings.data), []).append(run)
    words = {name: fmean(scores(run)["four word sets"] for run in own) for name, own in tasks.items()}
    assert f"from {words['nli']:.1f} with NLI alone to {words['nli+pi']:.1f}" in page
    last, raw = (fmean(scores(run, when=when)["average"] for run in tasks["nli"]) for when in ("last", "before"))
    assert f"to {last:.1f} at its last step, from {raw:.1f}" in page
    steps = [max(run.results.training.dev, key=lambda point: point.score).step for run in tasks["nli+ptc"]]
    assert steps.count(0) == 2  # "for two of three seeds no step beats the start"


def written_in(name: str) -> str:
    """The text of a chapter on one line."""
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return " ".join(" ".join("".join(cell["source"]) for cell in cells).split())


def test_numbers_in_sentences_are_those_of_the_records() -> None:
    record = records.read_as(ScorecardRecord, ROOT / records.FOLDER / "scorecard" / "claims.json")
    claims = {claim.text: claim for claim in record.results.claims}
    page = written_in("paser-experiments")
    for other in ("SimCSE", "whitening"):
        own = claims[f"PaSeR ranks Quora's questions better than {other}"].found["tiny"]
        assert f"{own.difference:+.1f}, {own.low:.1f} to {own.high:.1f}" in page
    sick = {
        name: fmean(scores(run)["sick"] for run in found)
        for name, found in {
            "whitening": [best_on_dev("tiny-sts/whitening")],
            "flow": runs("tiny-sts/flow"),
            "PaSeR": runs("tiny-sts/paser"),
            "ConSERT": runs("tiny-sts/consert"),
            "CT": runs("tiny-sts/ct"),
        }.items()
    }
    said = (
        f"On SICK four rows are higher than PaSeR's {sick['PaSeR']:.1f}: ConSERT ({sick['ConSERT']:.1f}), whitening "
        f"({sick['whitening']:.1f}), flow ({sick['flow']:.1f}) and Contrastive Tension ({sick['CT']:.1f})"
    )
    assert said in page
    assert min(sick, key=sick.__getitem__) == "PaSeR"
    slice_, sbert = claims["In one pass, SLICE rates pairs better than SBERT on the same data"], "9.0 points ahead"
    assert f"{slice_.printed:.1f} points ahead" == sbert
    assert sbert in written_in("scorecard")
    contexts = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "contexts.json")
    columns = contexts.results.columns
    ngrams, spans = (columns[name].rows["raw mean"] for name in ("a pass for each n-gram", "one pass, spans"))
    said = f"even the raw encoder has {ngrams.score:.1f}, against {spans.score:.1f} in one pass"
    assert said in written_in("leaderboard")
    board = records.read_as(LeaderboardRecord, ROOT / records.FOLDER / "leaderboard" / "sentences.json")
    found = {row: own.score for row, own in board.results.columns["STS"].rows.items()}
    higher = {name: found[f"small: {name}"] - found[name] for name in ("SimCSE", "MoCo", "raw mean", "PaSeR")}
    said = f"SimCSE scores {higher['SimCSE']:.1f} points higher and MoCo {higher['MoCo']:.1f}, the raw mean"
    assert f"{said} {higher['raw mean']:.1f} and PaSeR only {higher['PaSeR']:.1f}" in written_in("which")
    means = {
        name: published.table("universal", 2).loc["BERT-base mean", columns].mean() for name, columns in CELLS.items()
    }
    said = f"{means['sentences']:.1f} on STS12 to STS16 and {means['words']:.1f} on these words"
    assert said in written_in("scorecard")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("verb phrases mask", {"phrases": ("VP",)}),
        ("one RAKE phrase", {"top_phrases": 1}),
        (", two", {"top_phrases": 2}),
        (", noun phrases", {"phrases": ("NP",)}),
        ("noun and verb phrases", {"phrases": ("NP", "VP")}),
        ("three RAKE phrases", {"top_phrases": 3}),
        (", five", {"top_phrases": 5}),
    ],
)
def test_how_many_tokens_each_kind_of_phrase_masks(words: str, options: dict[str, Any], real_data: Path) -> None:
    drawn = Random(0).sample(list(data.load("sts-unlabelled", "train", real_data)), 1200)
    if kinds := options.get("phrases"):
        try:
            nltk.data.find("taggers/averaged_perceptron_tagger_eng/")
        except LookupError:
            pytest.skip("NLTK's averaged_perceptron_tagger_eng is not there; set NLTK_DATA")
        options = {"phrases": partial(chunk_phrases, kinds=kinds)}
    method = PaSeR(Encoder.from_pretrained("tiny"), decoder_layers=1, **options)
    masked = tokens = 0
    for at in range(0, len(drawn), 200):
        batch = method.collate(drawn[at : at + 200])
        masked += int((batch["masked_ids"] == method.encoder.tokenizer.mask_token_id).sum())
        tokens += int(batch["attention_mask"].sum()) - 2 * len(batch["masked_ids"])  # [CLS] and [SEP]
    (said,) = re.findall(rf"{words} (\d+)%", text_of("paser-experiments"))
    assert abs(int(said) - 100 * masked / tokens) < 2  # of 1,200 sentences
