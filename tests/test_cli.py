"""The commands on files: what they write loads in Python, and failures are one line and a status."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sentlab
from sentlab import cli
from sentlab.cli import main
from sentlab.encoder import Encoder
from sentlab.evaluation import pair_cosines
from sentlab.methods import SimCSE

ROOT = Path(sentlab.__file__).parents[1]
TEXTS = ["a man plays the guitar", "the old dog runs in the garden", "bread", "who is it?", "a boy reads the book"]
PAIRS = [("a man plays", "a boy plays", 3), ("bread", "the dog", 0), ("water", "a river", 4), ("a cat", "a dog", 2)]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_encoder_folder: Path) -> str:
    """A working directory with texts.txt, texts.csv, pairs.csv and triples.jsonl; gives the encoder's folder."""
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("\n".join(TEXTS))
    Path("texts.csv").write_text("n;said\n" + "".join(f"{n};{text}\n" for n, text in enumerate(TEXTS)) + "9;\n")
    Path("pairs.csv").write_text("text_a,text_b,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in PAIRS))
    triples = [{"anchor": a, "positive": b, "negative": "a small house"} for a, b, _ in PAIRS]
    Path("triples.jsonl").write_text("\n".join(map(json.dumps, triples)))
    return str(small_encoder_folder)


def test_a_trained_encoder_loads_and_scores_as_it_says(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["--encoder", files, "--quiet"]
    options = ["--dev", "pairs.csv", "--steps", "3", "--batch-size", "2", "--pooling", "mean", "--max-length", "16"]
    assert main(["train", "texts.txt", "--out", "mine", *options, *shared]) == 0
    encoder = Encoder.from_pretrained("mine")
    assert (encoder.pooling, encoder.max_length) == ("mean", 16)
    history = json.loads(Path("mine.training/history.json").read_text())
    assert [row["step"] for row in history["dev"]] == [0, 1, 2, 3]
    assert not Path("mine.training/checkpoint.safetensors").exists()
    best = max(row["score"] for row in history["dev"])
    assert f"{best:.2f} at the kept step, {history['kept_step']}" in capsys.readouterr().out
    assert main(["evaluate", "pairs.csv", "--encoder", "mine", "--out", "scores.json"]) == 0
    assert json.loads(Path("scores.json").read_text())["scores"] == {"pairs.csv": pytest.approx(best, abs=1e-4)}
    options = ["--method", "slice", "--pooling", "mean", "--steps", "1"]
    assert main(["train", "triples.jsonl", "--out", "mine", *options, *shared]) == 0
    assert Encoder.from_pretrained("mine").trainings[0]["method"] == "SLICE"


@pytest.mark.parametrize("ending", [".npy", ".jsonl", ".parquet"])
def test_vectors_load_and_belong_to_their_texts(files: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = Encoder.from_pretrained(files).encode(TEXTS, normalize=True)
    command = ["encode", "--encoder", files, "--normalize", "--out", f"vectors{ending}"]
    if ending == ".npy":
        assert main([*command, "texts.txt"]) == 0
        np.testing.assert_allclose(np.load("vectors.npy"), expected, atol=1e-6)
        return
    assert main([*command, "texts.csv", "--columns", "said", "--separator", ";"]) == 0
    assert "texts.csv: 1 rows left out (blank text)" in capsys.readouterr().err
    read = {".jsonl": lambda path: pd.read_json(path, lines=True), ".parquet": pd.read_parquet}[ending]
    table = read(f"vectors{ending}")
    assert table["text"].tolist() == TEXTS
    np.testing.assert_allclose(np.stack(table["vector"]), expected, atol=1e-6)


def test_an_index_grows_and_is_searched(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["--encoder", files]
    assert main(["index", "texts.txt", "--out", "my.index", "--max-size", "3", *shared]) == 0
    Path("more.txt").write_text("the red \x1b[31mhorse\n")
    assert main(["index", "more.txt", "--out", "my.index", "--add", *shared]) == 0
    index = sentlab.PhraseIndex.load("my.index", Encoder.from_pretrained(files))
    assert (len(index), index.max_size) == (6, 3)
    capsys.readouterr()
    assert main(["search", "my.index", "the old dog", "a red horse", "-k", "2", *shared]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "[the old dog]" in shown
    Path("phrases.txt").write_text("the old dog\na red horse\n")
    words = [hit.words for hits in index.search(["the old dog", "a red horse"], 2) for hit in hits]
    for ending in ("csv", "jsonl"):
        assert main(["search", "my.index", "--phrases", "phrases.txt", "-k", "2", "--out", f"h.{ending}", *shared]) == 0
    for table in (pd.read_csv("h.csv"), pd.read_json("h.jsonl", lines=True)):
        assert table["words"].tolist() == words


def test_hits_with_line_ends_of_every_kind_are_read_back_from_a_csv(files: str) -> None:
    texts = ["a dog\rruns in the garden", "a dog\nruns", "a dog\r\nruns", 'a dog "runs"']
    Path("ends.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert main(["index", "ends.jsonl", "--out", "my.index", "--max-size", "2", "--encoder", files, "--quiet"]) == 0
    assert main(["search", "my.index", "a dog", "-k", "4", "--out", "h.csv", "--encoder", files]) == 0
    after = pd.read_csv("h.csv")["after"].tolist()
    assert sorted(after) == sorted(text.removeprefix("a dog") for text in texts)
    with open("h.csv", newline="", encoding="utf-8") as file:
        assert [row["after"] for row in csv.DictReader(file)] == after


def test_an_interrupted_index_keeps_what_it_has_and_says_where_to_go_on(
    files: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add = sentlab.PhraseIndex.add

    def interrupted(self: sentlab.PhraseIndex, texts: Any, **more: Any) -> None:
        add(self, list(texts)[:2], **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(sentlab.PhraseIndex, "add", interrupted)
    assert main(["index", "texts.txt", "--out", "my.index", "--encoder", files, "--quiet"]) == 130
    assert "2 of the 5 texts of texts.txt, the first ones: --add a file with the other 3" in capsys.readouterr().out
    assert len(sentlab.PhraseIndex.load("my.index", Encoder.from_pretrained(files))) == 2


@pytest.mark.parametrize(("low", "high"), [(0, 100), (-1, 1)])
def test_pairs_are_scored_on_any_scale(files: str, low: int, high: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{a}\t{b}\t{low + s * (high - low) / 4}\n" for a, b, s in PAIRS)
    Path("other.tsv").write_text(f"a\tb\ts\n{rows}")
    options = ["--scale", str(low), str(high), "--max-length", "4"]
    assert main(["evaluate", "other.tsv", "--columns", "a, b,s", *options, "--encoder", files]) == 0
    pairs = sentlab.data.from_file("pairs.csv", "pairs")
    cosines = pair_cosines(Encoder.from_pretrained(files, max_length=4), pairs)
    assert f"{100 * sentlab.metrics.spearman(cosines, [row.score for row in pairs]):.2f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("encode gone.txt --out v.npy", "gone.txt"),
        ("encode texts.csv --columns said --separator ; --out v.npy", "1 blank texts would have no row"),
        ("encode texts.txt --out v.pickle", "--out v.pickle"),
        ("encode texts.txt --out v.npy --encoder gone", "gone"),
        ("encode triples.jsonl --columns anchor --out triples.jsonl", "the file that is read"),
        ("evaluate pairs.csv --scale 0 1", "pairs.csv:2"),
        ("evaluate stbs", "stbs"),
        ("train texts.txt --out .", "texts.txt"),
        ("train texts.txt --out mine --epochs inf --encoder ENCODER", "infinity"),
        ("index texts.txt --out gone --add --encoder ENCODER", "gone"),
        ("search gone.index phrase --encoder ENCODER", "gone.index"),
        # what cannot be written is refused before anything is read
        ("train gone.txt --out texts.txt/mine", "texts.txt"),
        ("encode gone.txt --out texts.txt/deep/v.npy", "texts.txt"),
        ("evaluate gone.csv --out texts.txt/scores.json", "texts.txt"),
        ("search gone.index phrase --out texts.txt/hits.csv", "texts.txt"),
    ],
)
def test_a_failure_is_one_line_and_status_1(
    files: str, command: str, named: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    before = sorted(Path().rglob("*"))
    assert main(command.replace("ENCODER", files).split()) == 1
    shown = capsys.readouterr()
    *left_out, line = shown.err.splitlines()
    assert line.startswith(f"sentlab {command.split()[0]}: error: ")
    assert named in line
    assert all("left out" in each for each in left_out)
    assert shown.out == ""
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("name", ["diary.txt", "modules.json"])
def test_a_folder_that_is_no_encoder_is_refused_before_the_work(
    files: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine").mkdir()
    Path("mine", name).write_text("[]")
    assert main(["train", "texts.txt", "--out", "mine", "--steps", "1", "--encoder", files, "--quiet"]) == 1
    assert name in capsys.readouterr().err
    assert [path.name for path in Path("mine").iterdir()] == [name]
    assert not Path("mine.training").exists()


@pytest.mark.parametrize("command", ["train texts.txt", "encode", "evaluate a.csv --scale 1", "train a --method x"])
def test_a_command_that_makes_no_sense_is_status_2(command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    assert ended.value.code == 2


def test_an_interrupted_training_goes_on_by_the_same_command(
    files: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "CHECKPOINT_EVERY", 2)
    command = ["train", "texts.txt", "--steps", "6", "--batch-size", "2", "--encoder", files, "--quiet", "--out"]
    assert main([*command, "whole"]) == 0
    steps: list[int] = []

    def kill(_: object) -> None:
        steps.append(1)
        if len(steps) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SimCSE, "after_step", kill)
        assert main([*command, "twice"]) == 130
    assert "the same command, without --again, resumes from its last checkpoint" in capsys.readouterr().err
    assert not Path("twice").exists()
    assert main([*command[:2], *command[4:], "twice"]) == 1  # a checkpoint of other settings
    assert "or --again" in capsys.readouterr().err
    assert main([*command, "twice"]) == 0
    assert Encoder.from_pretrained("twice").fingerprint() == Encoder.from_pretrained("whole").fingerprint()
    assert [path.name for path in Path("twice.training").iterdir()] == ["history.json"]


def started(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    line = f"{sys.executable} -m sentlab {command}"
    return subprocess.run(["bash", "-c", line], env=variables, capture_output=True, text=True)


def test_a_closed_stdout_has_no_traceback(files: str) -> None:
    ended = started(f"evaluate pairs.csv --quiet --encoder {files} | true")
    assert ended.stderr == ""


def test_a_console_without_a_letter_gets_another(files: str) -> None:
    Path("cafes.txt").write_text("the caf\u00e9\u200c and the b\u00e4r", encoding="utf-8")
    assert main(["index", "cafes.txt", "--out", "cafes.index", "--encoder", files]) == 0
    ended = started(f"search cafes.index the --encoder {files}", PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "caf??" in ended.stdout
    assert cli.one_line("b\u200dc\u202ed") == "b\u200dc\ufffdd"  # a joiner stays, what turns text around goes


def test_a_training_says_how_many_texts_it_reads(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("seven.txt").write_text("\n".join(f"the old dog and {text}" for text in [*TEXTS, "a cat", "a book"]))
    for size, told in (("4", "1 steps on 4 of 7 texts"), ("7", "1 steps on 7 texts")):
        command = ["train", "seven.txt", "--out", f"of-{size}", "--batch-size", size, "--encoder", files, "--quiet"]
        assert main(command) == 0
        assert told in capsys.readouterr().out


def test_a_typo_is_named_and_phrases_may_follow_an_option(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong_ones = {"encodee texts.txt": "'encodee'; did you mean encode?", "search my.index bread --loud": "--loud"}
    for wrong, said in (wrong_ones | {"search my.index": "needs a phrase"}).items():
        with pytest.raises(SystemExit, match="2"):
            main(wrong.split())
        assert said in capsys.readouterr().err
    shared = ["--encoder", files, "--quiet"]
    assert main(["index", "texts.txt", "--out", "my.index", *shared]) == 0
    assert main(["search", "--out", "hits.json", "my.index", *shared, "bread", "-k", "1", "--", "-5"]) == 0
    assert [hit["phrase"] for hit in json.loads(Path("hits.json").read_text())] == ["bread", "-5"]


def test_a_missing_package_and_missing_memory_are_named(
    files: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("pyarrow", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    assert main(["encode", "texts.txt", "--out", "v.parquet", "--encoder", files]) == 1
    assert "pip install 'sentlab[hub]'" in capsys.readouterr().err
    with pytest.raises(ImportError, match="pip install sentence-transformers"):
        Encoder.from_pretrained(files).to_sentence_transformer()
    monkeypatch.setattr(Encoder, "encode", lambda *_, **__: [0] * sys.maxsize)
    assert main(["encode", "texts.txt", "--out", "v.npy", "--encoder", files]) == 1
    assert capsys.readouterr().err == "sentlab encode: error: MemoryError\n"


def test_an_interrupt_while_python_imports_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise KeyboardInterrupt")  # as a key that is pressed at that moment
    ended = started("encode texts.txt", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (ended.returncode, ended.stderr) == (130, "sentlab: interrupted\n")
