"""Runs: a record is filled with numbers and with all that is needed to get them again."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from experiments import corpora, records
from experiments import run as runs
from experiments.records import Notes
from experiments.run import RunRecord, RunResults, RunSettings, build_method, perform, run
from experiments.runs import geometry_of

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.methods import PaSeR
from sentlab.text.phrases import Phrase


@pytest.fixture
def settings(small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a short run, on short corpora; checkpoints go below the temporary folder."""
    monkeypatch.chdir(tmp_path)
    load = corpora.load

    def first_rows(name: str, split: str = "test", *more: Any) -> Any:
        corpus = load(name, split, *more)
        return dataclasses.replace(corpus, rows=corpus.rows[:60])

    monkeypatch.setattr(corpora, "load", first_rows)
    return {
        "encoder": {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 32},
        "method": {"name": "PaSeR", "arguments": {"decoder_layers": 1, "top_phrases": 2}},
        "data": {"corpus": "toy-sentences"},
        "train": {"steps": 6, "batch_size": 8, "learning_rate": 0.001, "eval_every": 3, "keep": "dev", "seed": 3},
        "dev": "toy-sts", "test": ["toy-sts"], "poolings": ["cls", "mean"], "threads": 1,
    }  # fmt: skip


def results_of(settings: dict[str, Any], folder: str = "runs/a", **options: Any) -> RunResults:
    results, _ = perform(RunSettings.model_validate(settings), Path(folder), "c", progress=False, **options)
    return results


def test_a_run_fills_its_record_and_gives_the_same_numbers_again(settings: dict[str, Any], tmp_path: Path) -> None:
    first, again = (
        run(RunRecord(settings=RunSettings.model_validate(settings), name=name, folder=tmp_path)) for name in "ab"
    )
    assert first.results == again.results
    read = records.get("a", tmp_path)
    results = read.results
    assert results == first.results
    steps = {row["step"] for row in results.training["dev"]}
    assert steps >= {3, 6, results.kept_step}
    assert results.before.scores.keys() == {"cls", "mean"}
    assert results.before.own != results.last.own
    assert results.after.own.keys() == {"toy-sts", "toy-sts-dev"}
    assert sum(map(sum, geometry_of(read).counts)) == read.source.data["toy-sts/test"]["rows"]
    assert read.source.data["toy-sentences/train"]["rows"] == 60
    assert read.source.encoder["fingerprint"] == runs.fingerprint_now(settings["encoder"]["source"])
    assert read.source.command == "python -m experiments run a"
    assert Path(read.encoder["source"]).is_dir()


def test_geometry_is_watched_from_the_start_and_training_is_the_same(settings: dict[str, Any]) -> None:
    settings["train"]["checkpoint_every"] = 3
    quiet = results_of(settings, "runs/quiet")
    watched = results_of(settings | {"watch": 2}, "runs/watched")
    assert [row["step"] for row in watched.training["geometry"]] == [0, 2, 4, 6]
    assert watched.training["geometry"][0]["alignment"] != watched.training["geometry"][1]["alignment"]
    assert (watched.training["dev"], watched.after) == (quiet.training["dev"], quiet.after)
    resumed = results_of(settings | {"watch": 2}, "runs/watched")  # whose checkpoint holds all steps
    assert resumed.training["geometry"] == watched.training["geometry"]


def test_what_the_decoder_reconstructs_is_recorded(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SENTENCES", 20)
    settings["encoder"]["max_length"] = 64
    reconstruction = results_of(settings | {"reconstruct": ["toy-sts"]}).reconstruction
    assert [row["masked"] for row in reconstruction["table_7"]] == ["Work", "least 89", "London", "two options"]
    counts = reconstruction["corpora"]["toy-sts"]
    assert counts["sentences"] == 20
    assert counts["exact"] <= min(counts["among_beams"], counts["partial"]) <= counts["phrases"] > 20
    answers = {"old dog": ["old dog", "cat"], "red car": ["red bus", "red car"], "man": ["dog", "cat"]}
    rows = [[(Phrase(text, 0, 1, 1.0), words) for text, words in answers.items()]]
    method: Any = SimpleNamespace(candidates=lambda texts, beams: rows, encoder=Encoder.from_pretrained("tiny"))
    counts = runs.count_reconstructed(method, corpora.load("toy-sts", "test"))
    assert [counts[name] for name in ("phrases", "exact", "among_beams", "partial")] == [3, 1, 2, 2]


def test_an_encoder_without_training_is_evaluated(settings: dict[str, Any]) -> None:
    changes: dict[str, Any] = {"method": None, "train": None}
    results = results_of(settings | changes | {"test": ["toy-sts", "toy-duplicates", "toy-reranking"]})
    assert results.after is results.kept_step is None
    assert {"toy-duplicates map", "toy-duplicates mrr@10", "toy-reranking map"} <= results.before.own.keys()


def test_several_tasks_train_one_encoder_and_every_level_is_scored(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "evaluate_relatedness", lambda encoder, name: len(name))
    settings["train"]["keep"] = "last"  # its start may be best on dev
    settings |= {
        "method": {"name": "Universal", "arguments": {"pair_features": "|u-v|", "negatives": 2}},
        "data": {"nli": {"corpus": "toy-nli-pairs"}, "pi": {"corpus": "toy-phrases", "split": "dev"}},
        "test": ["toy-sts", "toy-words", "toy-phrases"], "heads": ["toy-sts"],
    }  # fmt: skip
    results = results_of(settings)
    scores = {"toy-sts-dev", "toy-sts", "toy-words", "toy-phrases", "toy-sts head"}
    assert results.before.own.keys() == results.after.own.keys() == scores
    assert results.before.own != results.after.own


def test_heads_can_train_first_with_the_encoder_frozen(settings: dict[str, Any]) -> None:
    settings |= {
        "method": {"name": "Universal", "arguments": {"negatives": 2}},
        "data": {"nli": {"corpus": "toy-nli-pairs"}, "pi": {"corpus": "toy-phrases"}},
        "train": {"steps": 1, "batch_size": 4, "learning_rate": 1e-12},  # as good as none, and clipped
    }
    start = Encoder.from_pretrained(settings["encoder"]["source"]).state_dict()
    steps = {}
    for name, first in (("without", {}), ("first", {"frozen_first": {"steps": 4, "learning_rate": 0.01}})):
        results_of(settings | first, f"runs/{name}")
        trained = Encoder.from_pretrained(f"runs/{name}/encoder")
        assert all(torch.allclose(value, start[key], atol=1e-6) for key, value in trained.state_dict().items())
        steps[name] = [note["steps"] for note in trained.trainings]
    assert steps == {"without": [1], "first": [4, 1]}


def test_phrases_in_contexts_are_scored_in_the_set_ups_that_were_asked_for(settings: dict[str, Any]) -> None:
    settings |= {
        "encoder": {"source": "tiny", "pooling": "mean", "max_length": 128},  # whose vocabulary fits the contexts
        "method": {"name": "SLICE", "arguments": {"max_size": 4}},
        "data": {"corpus": "toy-nli"},
        "train": {"steps": 2, "batch_size": 4, "learning_rate": 0.01, "keep": "dev", "seed": 0},
    }
    settings |= {"dev": "toy-contexts", "test": ["toy-contexts"], "setups": ["spans"], "poolings": []}
    results = results_of(settings)
    scores = ["toy-contexts-dev", *(f"toy-contexts spans {name}" for name in ("pearson", "spearman", "found"))]
    assert list(results.before.own) == list(results.after.own) == scores
    kept = max(row["score"] for row in results.training["dev"])
    assert kept == pytest.approx(results.after.own["toy-contexts-dev"], abs=0.01)


@pytest.mark.parametrize(("kind", "arguments"), [("Whitening", {"dim": 8}), ("Flow", {"epochs": 1})])
def test_a_map_is_fitted_and_only_its_own_pooling_is_scored(
    settings: dict[str, Any], kind: str, arguments: dict[str, Any]
) -> None:
    results = results_of(settings | {"method": {"name": kind, "arguments": arguments}, "train": None})
    assert results.before.scores.keys() == {"cls", "mean"}
    assert results.after.scores.keys() == {"cls"}
    assert results.before.own != results.after.own
    assert Encoder.from_pretrained("runs/a/encoder").post is not None


def test_again_trains_afresh_under_the_new_settings(settings: dict[str, Any]) -> None:
    settings["train"]["keep"] = "last"
    cold, warm = (settings | {"method": {"name": "SimCSE", "arguments": {"temperature": t}}} for t in (0.05, 5.0))
    first = results_of(cold)
    assert list(Path("runs/a").glob("checkpoint*"))
    assert results_of(cold, again=True) == first
    assert results_of(warm, again=True) == results_of(warm, "runs/b") != first


def test_a_checkpoint_belongs_to_its_dev_rows(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    first = results_of(settings)
    assert first.last
    with pytest.raises(ValueError, match="dev"):
        results_of(settings | {"dev": "toy-words"})
    results_of(settings | {"poolings": ["mean"]})  # which measures, and trains nothing
    load = corpora.load

    def half(name: str, split: str = "test") -> Any:
        whole = load(name, split)
        return dataclasses.replace(whole, rows=whole.rows[::2]) if split == "dev" else whole

    monkeypatch.setattr(corpora, "load", half)
    with pytest.raises(ValueError, match="dev"):
        results_of(settings)


def test_the_last_step_is_recorded_also_after_an_interruption(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, measure = results_of(settings), runs.measure
    assert whole.last

    def interrupted(*tests: Any, **settings: Any) -> Any:
        if Path("runs/b", runs.LAST).exists():
            raise KeyboardInterrupt
        return measure(*tests, **settings)

    monkeypatch.setattr(runs, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        results_of(settings, "runs/b")
    monkeypatch.setattr(runs, "measure", measure)
    assert results_of(settings, "runs/b") == whole
    shutil.rmtree("runs/b")
    Path("runs/b").mkdir()
    zero = {pooling: dict.fromkeys(scores, 0.0) for pooling, scores in whole.last.scores.items()}
    Path("runs/b", runs.LAST).write_text(whole.last.model_copy(update={"scores": zero}).model_dump_json())
    assert results_of(settings, "runs/b") == whole  # not what an earlier training has left


@pytest.mark.usefixtures("nltk_tagger")  # of PaSeR and role-guided views
@pytest.mark.parametrize("name", [record.name for record in records.every("paper-scale/*")])
def test_the_settings_at_the_papers_scale_are_taken(name: str) -> None:
    record, known = records.get(name), corpora.corpora()["splits"]
    for settings in record.planned() if record.kind == "sweep" else [record.settings]:
        wanted = {(corpus.corpus, corpus.split) for corpus in settings.corpora} | {(settings.dev, "dev")}
        wanted |= {(corpus, "test") for corpus in settings.test}
        assert all(split in known[corpus].split(", ") for corpus, split in wanted)
        if settings.method is None:
            continue
        toy: Any = {"corpus": "toy-sentences"}
        if settings.method.name in ("SLICE", "WholePassage", "StartEnd", "SupervisedPaSeR"):
            toy = {"corpus": "toy-nli"}
        elif settings.method.name == "Universal":
            toy = {key: {"corpus": "toy-phrases", "each": 9} for key in ("pi", "ptc")}
            toy["nli"] = {"corpus": "toy-nli-pairs"}
        rows = runs.training_rows(RunSettings.model_validate(settings.model_dump() | {"data": toy}), Notes())
        made = build_method(settings, rows)
        if settings.method.name not in runs.MAPS:
            asked = settings.encoder
            made = made(Encoder.from_pretrained("tiny", pooling=asked.pooling, max_length=asked.max_length))
            assert made.collate([rows[0], rows[1]])
        assert type(made).__name__ == settings.method.name


def test_as_many_pairs_of_each_relation_are_drawn_as_asked_for() -> None:
    pairs = data.load("toy-phrases", "train")
    few = runs.drawn(pairs, 7)
    assert Counter(pair.relation for pair in few) == dict.fromkeys({pair.relation for pair in pairs}, 7)
    assert {*few} <= {*pairs}
    assert few.rows == runs.drawn(pairs, 7).rows
    assert Counter(runs.drawn(pairs, 10**6)) == Counter(pairs)
    assert runs.drawn(pairs, None) is pairs


def test_the_decoder_that_comes_with_the_book_answers_as_its_record_says() -> None:
    book = Path(runs.__file__).parents[1]
    recorded = records.get("tiny-paser/decoder", book / "results").results.reconstruction["table_7"]
    assert runs.reconstruct_table_7(PaSeR.load(book / "trained" / "paser")) == recorded
