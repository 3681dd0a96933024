"""Records and the program that fills them: a run's numbers come with all that is needed to get them again."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from sentlab import data
from sentlab.data import published
from sentlab.encoder import Encoder
from sentlab.experiments import records, results, sweep
from sentlab.experiments.run import run, said
from sentlab.text.phrases import Phrase

ROOT = Path(__file__).resolve().parents[2]


def settings(encoder: Path, **changes: object) -> dict[str, object]:
    return {
        "encoder": {"source": str(encoder), "pooling": "cls", "max_length": 32},
        "method": {"name": "PaSeR", "decoder_layers": 1, "top_phrases": 2},
        "data": "toy-sentences",
        "train": {"steps": 6, "batch_size": 8, "learning_rate": 0.001, "eval_every": 3, "keep": "dev", "seed": 3},
        "dev": "toy-sts",
        "test": ["toy-sts"],
        "poolings": ["cls", "mean"],
        "threads": 1,
        **changes,
    }


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content))
    return path


def test_a_run_fills_its_record_and_gives_the_same_numbers_again(tmp_path: Path, small_encoder_folder: Path) -> None:
    first = run(write(tmp_path, "a", {"settings": settings(small_encoder_folder)}), folder=tmp_path / "runs-a")
    again = run(write(tmp_path, "b", {"settings": settings(small_encoder_folder)}), folder=tmp_path / "runs-b")
    assert first.results == again.results
    assert first.dev == again.dev
    assert [row["step"] for row in first.dev] == [3, 6]

    read = records.load("a", tmp_path)[0]
    assert read.results["before"].keys() == {"cls", "mean"}
    assert read.results["before"]["cls"] != read.results["after"]["cls"]
    assert read.results["after"]["cls"].keys() == {"toy-sts", "toy-sts-dev"}
    assert read.kept_step in (3, 6)
    assert read.data["toy-sentences/train"]["rows"] > 1000
    assert len(read.encoder["fingerprint"]) == 16
    assert read.versions["torch"]
    assert read.date
    assert "sentlab.experiments.run" in read.provenance()


def test_other_seed_other_numbers(tmp_path: Path, small_encoder_folder: Path) -> None:
    train = {"steps": 3, "batch_size": 8, "learning_rate": 0.01}
    found = []
    for seed in (0, 1):
        content = {"settings": settings(small_encoder_folder, train=train | {"seed": seed})}
        found.append(run(write(tmp_path, f"seed{seed}", content), folder=tmp_path / f"runs{seed}").results["after"])
    assert found[0] != found[1]


def test_what_the_decoder_says_is_recorded(
    tmp_path: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sentlab.experiments.run.SENTENCES_TO_SAY", 20)
    encoder = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 64}
    chosen = settings(small_encoder_folder, say=["toy-sts", "toy-duplicates"]) | {"encoder": encoder}
    path = write(tmp_path, "says", {"settings": chosen})
    told = run(path, folder=tmp_path / "runs").said
    assert told == records.read(path).said
    assert [row["masked"] for row in told["paper"]] == ["Work", "least 89", "London", "two options"]
    assert all(row["sentence"].count(row["masked"]) == 1 for row in told["paper"])
    assert [told[name]["sentences"] for name in ("toy-sts", "toy-duplicates")] == [20, 20]


def test_a_phrase_is_said_when_all_its_words_come_back(small_encoder_folder: Path) -> None:
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
    assert said(Parrot(), pairs) == {  # type: ignore[arg-type]
        "sentences": count,
        "phrases": count,
        "exact": count - -(-count // 50),
        "beams": 4,
    }


def test_only_evaluate(tmp_path: Path, small_encoder_folder: Path) -> None:
    path = write(tmp_path, "raw", {"settings": settings(small_encoder_folder, method=None)})
    record = run(path, folder=tmp_path / "runs")
    assert record.results.keys() == {"before"}
    assert record.kept_step is None
    assert record.examples == {}


def test_what_an_encoder_makes_of_the_papers_examples_is_recorded(tmp_path: Path, small_encoder_folder: Path) -> None:
    chosen = settings(small_encoder_folder, method=None, examples=["paser 6", "universal 1"])
    path = write(tmp_path, "examples", {"settings": chosen})
    made = run(path, folder=tmp_path / "runs").examples
    assert made == records.read(path).examples
    table, found = published.table("paser", 6), made["paser 6"]
    assert list(found) == list(table.index.unique())
    assert all(len(set(texts)) == 3 and set(texts) <= {*table.to_numpy().ravel()} for texts in found.values())
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="cls", max_length=32)
    first, second = encoder.encode(["hundreds", "thousands"], normalize=True)
    assert made["universal 1"][0] == pytest.approx(first @ second, abs=1e-4)
    assert len(made["universal 1"]) == 6


def test_several_tasks_train_one_encoder_and_every_level_is_scored(
    tmp_path: Path, small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the head itself is tested in test_probes.py, and takes its time
    monkeypatch.setattr(
        "sentlab.experiments.run.evaluate_relatedness", lambda encoder, name: SimpleNamespace(spearman=len(name))
    )
    chosen = settings(
        small_encoder_folder,
        method={"name": "Universal", "pair_features": "|u-v|", "negatives": 2},
        data={"nli": "toy-nli-pairs", "pi": "toy-phrases/dev"},
        test=["toy-sts", "toy-words", "toy-phrases"],
        heads=["toy-sts"],
        poolings=[],
    )
    record = run(write(tmp_path, "tasks", {"settings": chosen}), folder=tmp_path / "runs")
    scores = {"toy-sts-dev", "toy-sts", "toy-words", "toy-phrases", "toy-sts head"}
    for when in ("before", "after"):
        assert record.results[when]["cls"].keys() == scores
    assert record.results["after"]["cls"]["toy-sts head"] == 7
    assert record.results["before"] != record.results["after"]
    assert {"toy-nli-pairs/train", "toy-phrases/dev", "toy-words/test"} <= record.data.keys()


def test_phrases_in_contexts_are_scored_in_the_set_ups_that_were_asked_for(tmp_path: Path) -> None:
    chosen = settings(
        Path("tiny"),  # to the test encoder's few words the contexts would be too long
        method={"name": "SLICE", "max_size": 4},
        data="toy-nli",
        train={"steps": 2, "batch_size": 4, "learning_rate": 0.01, "keep": "dev", "seed": 0},
        dev="toy-contexts",
        test=["toy-contexts"],
        setups=["spans"],
        poolings=[],
    )
    chosen["encoder"] |= {"pooling": "mean", "max_length": 128}
    record = run(write(tmp_path, "mine", {"settings": chosen}), folder=tmp_path / "runs")
    scores = ["toy-contexts-dev", *(f"toy-contexts spans {name}" for name in ("pearson", "spearman", "found"))]
    for when in ("before", "after"):
        assert list(record.results[when]["mean"]) == scores
    assert record.dev[0]["score"] == pytest.approx(record.results["after"]["mean"]["toy-contexts-dev"], abs=0.01)
    assert record.results["before"] != record.results["after"]


def test_numbers_of_different_origin_stand_in_blocks() -> None:
    rows = [{"a": score, "b": 7.0} for score in (60.0, 62.0, 67.0)]
    assert records.shown(rows).to_dict() == {"a": "63.0 ± 3.6", "b": "7.0"}  # the sample deviation, 13 ** 0.5
    assert records.shown(rows[:1])["a"] == "60.0"
    paper = pd.DataFrame({"a": [1.25, 2.0], "b": [3.0, 4.0]}, index=["x", "y"])
    page = records.side_by_side(
        {"the paper": paper, "here": pd.Series({"y": "5.0 ± 0.1"}, name="a")}, "scores"
    ).to_html()
    for cell in ("1.2", "4.0", "5.0 ± 0.1", "–", "the paper", "scores"):
        assert f">{cell}<" in page, cell
    assert page.count(".col2") == 1  # the line between the blocks


def test_recorded_numbers_link_to_their_record() -> None:
    link = records.linked("< 0.001", "a&b")
    assert link.startswith('<a class="sentlab-record" href="records.ipynb#record-a&amp;b"')
    assert 'title="record a&amp;b"' in link
    assert link.endswith(">&lt; 0.001</a>")

    rows = [{"stsb": score} for score in (60.0, 62.0, 67.0)]
    runs = [records.Record(f"MoCo-{seed}", {}, sweep="moco") for seed in range(3)]
    assert records.shown(rows, runs)["stsb"] == records.linked("63.0 ± 3.6", "moco")
    assert records.shown(rows[:1], runs[:1])["stsb"] == records.linked("60.0", "MoCo-0")
    page = records.side_by_side({"recorded": records.shown(rows, runs), "here": pd.Series({"stsb": 1.0})}, "scores")
    assert f">{records.linked('63.0 ± 3.6', 'moco')}<" in page.to_html()
    assert ">1.0<" in page.to_html()


def test_numbers_of_several_runs_link_to_what_is_a_file(tmp_path: Path) -> None:
    place = ROOT / records.FOLDER
    heads = {path.stem: records.read(path) for path in place.glob("*.json")}
    sweeps = {name for name, record in heads.items() if record.over}
    whole = {entry.name for entry in results.entries(place) if entry.program == "sweep" and entry.runs}
    assert len(whole) > 10
    for name in whole:
        runs = sweep.read(place / f"{name}.json").records
        assert (place / sweep.FOLDER / f"{runs[0].name}.json").is_file()
        assert records.origin(runs[:1]) == runs[0].name
        assert len(runs) == 1 or records.origin(runs) == name
    seeds = records.load("paser-tiny-seed*", place)
    assert records.origin(seeds) == "paser-tiny-seed0"
    assert not {seed.name for seed in seeds} & sweeps

    runs[0].save(tmp_path / "run.json")  # as it was read, with its sweep's name, which stays out of the file
    assert "sweep" not in json.loads((tmp_path / "run.json").read_text())
    assert records.read(tmp_path / "run.json").sweep == ""


def test_only_finished_records_load_and_errors_speak(tmp_path: Path) -> None:
    write(tmp_path, "waiting", {"settings": {}})
    with pytest.raises(FileNotFoundError, match="no finished record"):
        records.load("waiting", tmp_path)
    write(tmp_path, "wrong", {"settings": {}, "scores": 1})
    with pytest.raises(ValueError, match=r"wrong\.json is no record"):
        records.load("wrong", tmp_path)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ValueError, match=r"broken\.json is not JSON"):
        records.read(tmp_path / "broken.json")


def test_a_ranking_corpus_and_the_geometry_are_measured_too(tmp_path: Path, small_encoder_folder: Path) -> None:
    tests = ["toy-sts", "toy-duplicates", "toy-reranking"]
    path = write(tmp_path, "raw", {"settings": settings(small_encoder_folder, method=None, test=tests)})
    record = run(path, folder=tmp_path / "runs")
    assert {"toy-duplicates map", "toy-duplicates mrr@10", "toy-reranking map"} <= record.results["before"][
        "mean"
    ].keys()
    laid_out = records.read(path).geometry["before"]["cls"]
    assert laid_out["corpus"] == "toy-sts"
    assert sum(map(sum, laid_out["counts"])) == record.data["toy-sts/test"]["rows"]
    assert path.read_text().count("\n") < 400  # a level's counts are one line


@pytest.mark.parametrize("kind", ["Whitening", "Flow"])
def test_a_map_is_fitted_and_only_its_own_pooling_is_scored(
    tmp_path: Path, small_encoder_folder: Path, kind: str
) -> None:
    method = {"name": kind} | ({"dim": 8} if kind == "Whitening" else {"epochs": 1})
    chosen = settings(small_encoder_folder, method=method, train=None)
    record = run(write(tmp_path, "map", {"settings": chosen}), folder=tmp_path / "runs")
    assert record.results["before"].keys() == {"cls", "mean"}
    assert record.results["after"].keys() == {"cls"}
    assert record.results["before"]["cls"] != record.results["after"]["cls"]
    assert Encoder.from_pretrained(tmp_path / "runs" / "encoder").post is not None
