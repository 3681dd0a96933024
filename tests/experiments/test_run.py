"""Runs: a record is filled with numbers and with all that is needed to get them again."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from experiments import published, records
from experiments import run as runs
from experiments.results import RunResults
from experiments.run import count_reconstructed, run

from sentlab import data
from sentlab.encoder import Encoder
from sentlab.text.phrases import Phrase


def settings(encoder: Path | str, **changes: Any) -> dict[str, Any]:
    return {
        "encoder": {"source": str(encoder), "pooling": "cls", "max_length": 32},
        "method": {"name": "PaSeR", "arguments": {"decoder_layers": 1, "top_phrases": 2}},
        "data": {"corpus": "toy-sentences"},
        "train": {"steps": 6, "batch_size": 8, "learning_rate": 0.001, "eval_every": 3, "keep": "dev", "seed": 3},
        "dev": "toy-sts",
        "test": ["toy-sts"],
        "poolings": ["cls", "mean"],
        "threads": 1,
        **changes,
    }


def write(folder: Path, name: str, own: dict[str, Any]) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"kind": "run", "settings": own}))
    return path


def found_in(record: records.RunRecord) -> RunResults:
    assert record.results
    return record.results


def test_a_run_fills_its_record_and_gives_the_same_numbers_again(tmp_path: Path, small_encoder_folder: Path) -> None:
    first = run(write(tmp_path, "a", settings(small_encoder_folder)), folder=tmp_path / "runs-a")
    again = run(write(tmp_path, "b", settings(small_encoder_folder)), folder=tmp_path / "runs-b")
    assert first.results == again.results

    read = records.read_as(records.RunRecord, tmp_path / "a.json")
    found = found_in(read)
    assert found == first.results
    assert found.after
    assert found.training
    assert {row.step for row in found.training.dev} >= {3, 6}
    assert found.before.scores.keys() == {"cls", "mean"}
    assert found.before.own != found.after.own
    assert found.after.own.keys() == {"toy-sts", "toy-sts-dev"}
    assert found.kept_step in {row.step for row in found.training.dev}
    assert read.source.data["toy-sentences/train"].rows > 1000
    assert read.source.encoder
    assert len(read.source.encoder.fingerprint) == 16
    assert read.source.versions["torch"]
    assert read.source.command == f"python -m experiments run {tmp_path / 'a.json'}"


def test_other_seed_other_numbers(tmp_path: Path, small_encoder_folder: Path) -> None:
    train = {"steps": 3, "batch_size": 8, "learning_rate": 0.01}
    found = []
    for seed in (0, 1):
        content = settings(small_encoder_folder, train=train | {"seed": seed})
        found.append(run(write(tmp_path, f"seed{seed}", content), folder=tmp_path / f"runs{seed}"))
    assert found_in(found[0]).after != found_in(found[1]).after


def test_what_the_decoder_reconstructs_is_recorded(
    tmp_path: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.run.SENTENCES", 20)
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 64}
    chosen = settings(small_encoder_folder, reconstruct=["toy-sts", "toy-duplicates"]) | {"encoder": encoder}
    path = write(tmp_path, "says", chosen)
    told = found_in(run(path, folder=tmp_path / "runs")).reconstruction
    assert told
    assert told == found_in(records.read_as(records.RunRecord, path)).reconstruction
    assert [row.masked for row in told.table_7] == ["Work", "least 89", "London", "two options"]
    assert all(row.sentence.count(row.masked) == 1 for row in told.table_7)
    assert [told.corpora[name].sentences for name in ("toy-sts", "toy-duplicates")] == [20, 20]


def test_a_phrase_is_reconstructed_when_all_its_words_come_back(small_encoder_folder: Path) -> None:
    class Parrot:
        """Says every sentence as it is, except for the first of each batch."""

        encoder = Encoder.from_pretrained(small_encoder_folder, max_length=32)

        def reconstruct(self, sentences: list[str], beams: int) -> list[list[tuple[Phrase, str]]]:
            tokenizer = self.encoder.tokenizer
            ids = tokenizer(sentences, add_special_tokens=False)["input_ids"]
            words = [tokenizer.decode(row) for row in ids]
            words[0] += " and more"
            return [[(Phrase(text, 0, len(text), 1.0), told)] for text, told in zip(sentences, words, strict=True)]

    pairs = data.load("toy-sts", "dev")[:120]
    count = len({pair.text_a for pair in pairs})
    assert count_reconstructed(Parrot(), pairs).model_dump() == {  # type: ignore[arg-type]
        "sentences": count,
        "phrases": count,
        "exact": count - -(-count // 50),
        "beams": 4,
    }


def test_only_evaluate(tmp_path: Path, small_encoder_folder: Path) -> None:
    path = write(tmp_path, "raw", settings(small_encoder_folder, method=None))
    record = run(path, folder=tmp_path / "runs")
    assert found_in(record).model_dump(exclude_none=True).keys() == {"before"}
    assert found_in(record).kept_step is None


def test_what_an_encoder_makes_of_the_papers_examples_is_recorded(tmp_path: Path, small_encoder_folder: Path) -> None:
    chosen = settings(small_encoder_folder, method=None, examples=["nearest_questions", "phrase_cosines"])
    path = write(tmp_path, "examples", chosen)
    made = found_in(run(path, folder=tmp_path / "runs")).examples
    assert made
    assert made == found_in(records.read_as(records.RunRecord, path)).examples
    table, found, cosines = published.table("paser", 6), made.nearest_questions, made.phrase_cosines
    assert found
    assert cosines
    assert list(found) == list(table.index.unique())
    assert all(len(set(texts)) == 3 and set(texts) <= {*table.to_numpy().ravel()} for texts in found.values())
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="cls", max_length=32)
    first, second = encoder.encode(["hundreds", "thousands"], normalize=True)
    assert cosines[0] == pytest.approx(first @ second, abs=1e-4)
    assert len(cosines) == 6


def test_several_tasks_train_one_encoder_and_every_level_is_scored(
    tmp_path: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the head itself is tested in test_probes.py, and takes its time
    monkeypatch.setattr(
        "experiments.run.evaluate_relatedness", lambda encoder, name: SimpleNamespace(spearman=len(name))
    )
    chosen = settings(
        small_encoder_folder,
        method={"name": "Universal", "arguments": {"pair_features": "|u-v|", "negatives": 2}},
        data={"nli": {"corpus": "toy-nli-pairs"}, "pi": {"corpus": "toy-phrases", "split": "dev"}},
        test=["toy-sts", "toy-words", "toy-phrases"],
        heads=["toy-sts"],
        poolings=[],
    )
    chosen["train"] |= {"keep": "last"}  # its start may be best on dev
    record = run(write(tmp_path, "tasks", chosen), folder=tmp_path / "runs")
    scores = {"toy-sts-dev", "toy-sts", "toy-words", "toy-phrases", "toy-sts head"}
    found = found_in(record)
    assert found.after
    assert found.before.own.keys() == found.after.own.keys() == scores
    assert found.after.own["toy-sts head"] == 7
    assert found.before != found.after
    assert {"toy-nli-pairs/train", "toy-phrases/dev", "toy-words/test"} <= record.source.data.keys()


def test_heads_can_train_first_with_the_encoder_frozen(tmp_path: Path, small_encoder_folder: Path) -> None:
    changes = {
        "method": {"name": "Universal", "arguments": {"negatives": 2}},
        "data": {"nli": {"corpus": "toy-nli-pairs"}, "pi": {"corpus": "toy-phrases"}},
        "train": {"steps": 1, "batch_size": 4, "learning_rate": 1e-12},  # as good as none, and clipped
    }
    own = settings(small_encoder_folder, **changes)
    start = Encoder.from_pretrained(small_encoder_folder).state_dict()
    notes = {}
    for name, first in (("without", {}), ("first", {"frozen_first": {"steps": 4, "learning_rate": 0.01}})):
        run(write(tmp_path, name, own | first), folder=tmp_path / name)
        trained = Encoder.from_pretrained(tmp_path / name / "encoder")
        assert all(torch.allclose(value, start[key], atol=1e-6) for key, value in trained.state_dict().items())
        notes[name] = [note["steps"] for note in trained.trainings]
    assert notes == {"without": [1], "first": [4, 1]}


def test_frozen_first_needs_layers_besides_the_encoder(tmp_path: Path, small_encoder_folder: Path) -> None:
    first = {"frozen_first": {"steps": 1}}
    path = write(tmp_path, "none", settings(small_encoder_folder, method={"name": "MaskedLM"}, **first))
    with pytest.raises(ValueError, match="MaskedLM has no layers besides the encoder"):
        run(path, folder=tmp_path / "none")
    whitening = settings(small_encoder_folder, method={"name": "Whitening"}, train=None, **first)
    with pytest.raises(ValueError, match="frozen_first is for methods that train"):
        run(write(tmp_path, "fitted", whitening))


def test_phrases_in_contexts_are_scored_in_the_set_ups_that_were_asked_for(tmp_path: Path) -> None:
    chosen = settings(
        Path("tiny"),  # to the test encoder's few words the contexts would be too long
        method={"name": "SLICE", "arguments": {"max_size": 4}},
        data={"corpus": "toy-nli"},
        train={"steps": 2, "batch_size": 4, "learning_rate": 0.01, "keep": "dev", "seed": 0},
        dev="toy-contexts",
        test=["toy-contexts"],
        setups=["spans"],
        poolings=[],
    )
    chosen["encoder"] |= {"pooling": "mean", "max_length": 128}
    record = run(write(tmp_path, "mine", chosen), folder=tmp_path / "runs")
    scores = ["toy-contexts-dev", *(f"toy-contexts spans {name}" for name in ("pearson", "spearman", "found"))]
    found = found_in(record)
    assert found.after
    assert found.training
    assert list(found.before.own) == list(found.after.own) == scores
    kept = max(row.score for row in found.training.dev)
    assert kept == pytest.approx(found.after.own["toy-contexts-dev"], abs=0.01)


def test_a_ranking_corpus_and_the_geometry_are_measured_too(tmp_path: Path, small_encoder_folder: Path) -> None:
    tests = ["toy-sts", "toy-duplicates", "toy-reranking"]
    path = write(tmp_path, "raw", settings(small_encoder_folder, method=None, test=tests))
    record = run(path, folder=tmp_path / "runs")
    assert {"toy-duplicates map", "toy-duplicates mrr@10", "toy-reranking map"} <= found_in(record).before.scores[
        "mean"
    ].keys()
    laid_out = found_in(records.read_as(records.RunRecord, path)).before.geometry["cls"]
    assert laid_out.corpus == "toy-sts"
    assert sum(map(sum, laid_out.counts)) == record.source.data["toy-sts/test"].rows
    assert path.read_text().count("\n") < 400  # a level's counts are one line


@pytest.mark.parametrize("kind", ["Whitening", "Flow"])
def test_a_map_is_fitted_and_only_its_own_pooling_is_scored(
    tmp_path: Path, small_encoder_folder: Path, kind: str
) -> None:
    method = {"name": kind, "arguments": {"dim": 8} if kind == "Whitening" else {"epochs": 1}}
    chosen = settings(small_encoder_folder, method=method, train=None)
    record = run(write(tmp_path, "map", chosen), folder=tmp_path / "runs")
    found = found_in(record)
    assert found.after
    assert found.before.scores.keys() == {"cls", "mean"}
    assert found.after.scores.keys() == {"cls"}
    assert found.before.own != found.after.own
    assert Encoder.from_pretrained(tmp_path / "runs" / "encoder").post is not None


def test_again_trains_afresh_under_the_new_settings(tmp_path: Path, small_encoder_folder: Path) -> None:
    """An earlier run's checkpoint is not used, neither for another temperature nor for the same one."""

    def asked(temperature: float) -> dict[str, Any]:
        method = {"name": "SimCSE", "arguments": {"temperature": temperature}}
        chosen = settings(small_encoder_folder, method=method)
        chosen["train"] |= {"keep": "last"}  # its start may be best on dev
        return chosen

    path, folder = write(tmp_path, "a", asked(0.05)), tmp_path / "runs"
    first = run(path, folder=folder)
    assert list(folder.glob("checkpoint*"))
    path = write(tmp_path, "a", asked(0.05))
    assert found_in(run(path, folder=folder, again=True)).after == found_in(first).after
    path = write(tmp_path, "a", asked(5.0))
    changed = run(path, folder=folder, again=True)
    alone = run(write(tmp_path, "b", asked(5.0)), folder=tmp_path / "others")
    assert found_in(changed).training == found_in(alone).training
    assert found_in(changed).after == found_in(alone).after != found_in(first).after


def test_a_run_with_another_dev_set_is_not_taken_up(tmp_path: Path, small_encoder_folder: Path) -> None:
    folder = tmp_path / "runs"
    run(write(tmp_path, "a", settings(small_encoder_folder)), folder=folder)
    with pytest.raises(ValueError, match="dev:"):
        run(write(tmp_path, "a", settings(small_encoder_folder, dev="toy-words")), folder=folder)
    run(write(tmp_path, "a", settings(small_encoder_folder, poolings=["mean"])), folder=folder)  # measures, trains not


def test_the_last_step_is_recorded_also_after_an_interruption(
    tmp_path: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(small_encoder_folder)
    del chosen["train"]["steps"]
    chosen["train"] |= {"epochs": 1, "batch_size": 1000}
    path, folder = write(tmp_path, "a", chosen), tmp_path / "runs"
    whole = found_in(run(path, folder=folder))
    assert whole.last
    path, folder, measure = write(tmp_path, "b", chosen), tmp_path / "others", runs.measure

    def interrupted(encoder: Any, *rest: Any) -> Any:
        if (folder / runs.LAST).exists():
            raise KeyboardInterrupt
        return measure(encoder, *rest)

    monkeypatch.setattr(runs, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(path, folder=folder)
    monkeypatch.setattr(runs, "measure", measure)
    assert found_in(run(path, folder=folder)) == whole
    assert not (folder / runs.LAST).exists()


def test_a_last_step_without_a_checkpoint_is_not_that_of_the_next_run(
    tmp_path: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = write(tmp_path, "a", settings(small_encoder_folder)), tmp_path / "runs"
    found = found_in(run(path, folder=folder))
    assert found.last
    shutil.rmtree(folder)
    folder.mkdir()
    wrong = {pooling: dict.fromkeys(own, 0.0) for pooling, own in found.last.scores.items()}
    left = found.last.model_copy(update={"scores": wrong})
    (folder / runs.LAST).write_text(left.model_dump_json())  # as an interrupted training leaves it
    again = found_in(run(write(tmp_path, "a", settings(small_encoder_folder)), folder=folder))
    assert again.last == found.last


def test_what_a_run_resumes_belongs_to_its_dev_rows_and_its_tests(
    tmp_path: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder, load = write(tmp_path, "a", settings(small_encoder_folder)), tmp_path / "runs", data.load
    first = found_in(run(path, folder=folder)).last
    assert first
    (folder / runs.LAST).write_text(first.model_copy(update={"scores": {"cls": {}}}).model_dump_json())
    write(tmp_path, "a", settings(small_encoder_folder))
    assert found_in(run(path, folder=folder)).last is None  # that file is of other tests

    def half(name: str, split: str = "test", **where: Any) -> Any:
        whole = load(name, split, **where)
        return dataclasses.replace(whole, rows=whole.rows[::2]) if split == "dev" else whole

    monkeypatch.setattr(data, "load", half)
    write(tmp_path, "a", settings(small_encoder_folder))
    with pytest.raises(ValueError, match="dev:"):
        run(path, folder=folder)
