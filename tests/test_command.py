"""The verbs on files: what they write loads in Python, and failures are one line and a status."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentlab
from sentlab import command, command_line
from sentlab.__main__ import main
from sentlab.encoder import Encoder
from sentlab.evaluation import pair_cosines
from sentlab.methods import SimCSE

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
    asked = ["train", "texts.txt", "--out", "mine", "--dev", "pairs.csv", "--steps", "3", "--batch-size", "2"]
    assert main([*asked, "--pooling", "mean", "--max-length", "16", *shared]) == 0
    encoder = Encoder.from_pretrained("mine")
    assert (encoder.pooling, encoder.max_length) == ("mean", 16)
    history = json.loads(Path("mine.training/history.json").read_text())
    assert [row["step"] for row in history["dev"]] == [0, 1, 2, 3]
    assert not Path("mine.training/checkpoint.safetensors").exists()
    assert "| method | SimCSE |" in Path("mine/README.md").read_text()
    best = max(row["score"] for row in history["dev"])
    assert f"{best:.2f} at step {history['kept_step']}" in capsys.readouterr().out
    assert main(["evaluate", "pairs.csv", "--encoder", "mine", "--out", "scores.json"]) == 0
    assert json.loads(Path("scores.json").read_text())["scores"] == {"pairs": pytest.approx(best, abs=1e-4)}
    asked = ["train", "triples.jsonl", "--out", "mine", "--method", "slice", "--pooling", "mean", "--steps", "1"]
    assert main([*asked, *shared]) == 0
    assert Encoder.from_pretrained("mine").trainings[0]["method"] == "SLICE"


@pytest.mark.parametrize("ending", [".npy", ".jsonl", ".parquet"])
def test_vectors_load_and_belong_to_their_texts(files: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = Encoder.from_pretrained(files).encode(TEXTS, normalize=True)
    asked = ["encode", "--encoder", files, "--normalize", "--out", f"vectors{ending}"]
    if ending == ".npy":
        assert main([*asked, "texts.txt"]) == 0
        np.testing.assert_allclose(np.load("vectors.npy"), expected, atol=1e-6)
        return
    assert main([*asked, "texts.csv", "--columns", "said", "--separator", ";"]) == 0
    assert "texts.csv: 1 rows left out (blank text)" in capsys.readouterr().err
    if ending == ".jsonl":
        rows = [json.loads(line) for line in Path("vectors.jsonl").read_text().splitlines()]
    else:
        pytest.importorskip("pyarrow")
        rows = pytest.importorskip("pandas").read_parquet("vectors.parquet").to_dict("records")
    assert [row["text"] for row in rows] == TEXTS
    np.testing.assert_allclose(np.stack([row["vector"] for row in rows]), expected, atol=1e-6)


def test_an_index_grows_and_is_searched(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    pandas = pytest.importorskip("pandas")
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
    expected = index.search(["the old dog", "a red horse"], 2)
    assert [f"text {hit.text}:" in line for hit, line in zip(expected[0], shown.splitlines()[1:3], strict=True)] == [
        True
    ] * 2
    assert "[the old dog]" in shown
    Path("asked.txt").write_text("the old dog\na red horse\n")
    for ending in ("csv", "jsonl", "html"):
        assert main(["search", "my.index", "--phrases", "asked.txt", "-k", "2", "--out", f"h.{ending}", *shared]) == 0
    for table in (pandas.read_csv("h.csv"), pandas.read_json("h.jsonl", lines=True)):
        assert table["words"].tolist() == expected.table()["words"].tolist()
    assert expected._repr_html_() in Path("h.html").read_text()


def test_hits_with_line_ends_of_every_kind_are_read_back_from_a_csv(files: str) -> None:
    pandas = pytest.importorskip("pandas")
    texts = ["a dog\rruns in the garden", "a dog\nruns", "a dog\r\nruns", 'a dog "runs"']
    Path("ends.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert main(["index", "ends.jsonl", "--out", "my.index", "--max-size", "2", "--encoder", files, "--quiet"]) == 0
    assert main(["search", "my.index", "a dog", "-k", "4", "--out", "h.csv", "--encoder", files]) == 0
    index = sentlab.PhraseIndex.load("my.index", Encoder.from_pretrained(files))
    after = index.search(["a dog"], 4).table()["after"].tolist()
    assert sorted(after) == sorted(text.removeprefix("a dog") for text in texts)
    assert pandas.read_csv("h.csv")["after"].tolist() == after
    with open("h.csv", newline="", encoding="utf-8") as file:
        assert [row["after"] for row in csv.DictReader(file)] == after
    assert sentlab.data.from_file("h.csv", columns="after").rows == tuple(text.strip() for text in after)


def test_an_interrupted_index_keeps_what_it_has_and_says_where_to_go_on(
    files: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add = sentlab.PhraseIndex.add

    def interrupted(self: sentlab.PhraseIndex, texts: Any, **more: Any) -> None:
        add(self, list(texts)[:2], **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(sentlab.PhraseIndex, "add", interrupted)
    with suppress(KeyboardInterrupt):
        main(["index", "texts.txt", "--out", "my.index", "--encoder", files, "--quiet"])
    assert "my.index holds the first 2 texts of texts.txt: add the others with --add" in capsys.readouterr().err
    assert len(sentlab.PhraseIndex.load("my.index", Encoder.from_pretrained(files))) == 2


def test_options_of_a_dev_set_need_one(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "texts.txt", "--out", "mine", "--scale", "1,7", "--encoder", files]) == 1
    assert "--scale needs --dev" in capsys.readouterr().err


def test_scores_that_are_all_the_same_are_an_error(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("flat.csv").write_text("text_a,text_b,score\n" + "".join(f"{a},{b},3\n" for a, b, _ in PAIRS))
    assert main(["evaluate", "flat.csv", "--encoder", files, "--quiet", "--out", "scores.json"]) == 1
    assert "there is no correlation" in capsys.readouterr().err
    assert not Path("scores.json").exists()


def test_several_files_are_scored_on_any_scale(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.tsv").write_text("a\tb\ts\n" + "".join(f"{a}\t{b}\t{s * 20}\n" for a, b, s in PAIRS))
    asked = ["evaluate", "other.tsv", "--columns", "a,b,s", "--scale", "0,100", "--encoder", files]
    assert main(asked) == 0
    rows = sentlab.data.from_file("pairs.csv", "pairs")
    cosines = pair_cosines(Encoder.from_pretrained(files), rows)
    assert f"{100 * sentlab.metrics.spearman(cosines, [row.score for row in rows]):.2f}" in capsys.readouterr().out


@pytest.mark.parametrize("scale", [["--scale", "-1,1"], ["--scale=-1,1"], ["--scale", "-.5e1,-0"]])
def test_a_scale_may_begin_below_zero(files: str, scale: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("signed.csv").write_text("text_a,text_b,score\n" + "".join(f"{a},{b},{-s / 5}\n" for a, b, s in PAIRS))
    assert main(["evaluate", "signed.csv", *scale, "--encoder", files, "--quiet"]) == 0
    assert main(["train", "texts.txt", "--out", "mine", *scale, "--encoder", files]) == 1
    assert "--scale needs --dev" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("encode gone.txt --out v.npy", "gone.txt is not there"),
        ("encode texts.csv --out v.npy", "texts.csv:1: expected a header row with text"),
        ("encode texts.csv --columns said --separator ; --out v.npy", "texts.csv: 1 blank texts get no vector"),
        ("encode texts.txt --out v.pickle", "--out v.pickle must end in .npy or .jsonl or .parquet"),
        ("encode texts.txt --out v.npy --encoder gone", "gone"),
        ("evaluate pairs.csv --scale 0,1", "pairs.csv:2, column 'score': expected a score from 0 to 1"),
        ("evaluate stbs", "no corpus is named 'stbs'"),
        (
            "evaluate stsb --scale 0,1",
            "the columns and the scale of stsb are known: score it without options for these",
        ),
        ("evaluate stsb --columns a,b,s", "the columns and the scale of stsb are known"),
        ("train texts.txt --out .", "--out . is no saved encoder and not empty"),
        ("train texts.txt --out mine --method slice --rows texts", "--method slice does not learn from texts"),
        ("train texts.txt --out mine --steps 0 --encoder ENCODER", "steps must be at least 1"),
        ("train triples.jsonl --out mine --method slice --encoder ENCODER", "pooling='mean'"),
        (
            "train texts.txt --out mine --dev pairs.csv --eval-every 0 --encoder ENCODER",
            "eval_every must be at least 1",
        ),
        ("index texts.txt --out .", "--out . is not empty"),
        ("index texts.txt --out new --max-size 0 --encoder ENCODER", "max_size"),
        ("index texts.txt --out gone --add --encoder ENCODER", "no folder"),
        ("index texts.txt --out gone --add --max-size 3", "--add takes no --min-size"),
        ("search gone.index phrase --encoder ENCODER", "gone.index"),
        ("search gone.index", "nothing to search for"),
        # what cannot be written is told before anything is read
        ("train gone.txt --out texts.txt/mine", "--out texts.txt/mine cannot be written in"),
        ("encode gone.txt --out texts.txt/deep/v.npy", "texts.txt: Not a directory"),
        (f"encode gone.txt --out {'v' * 250}.npy", "File name too long"),
        ("evaluate gone.csv --out texts.txt/scores.json", "texts.txt: Not a directory"),
        ("index gone.txt --out texts.txt/my.index", "texts.txt: Not a directory"),
        ("index gone.txt --out texts.txt --add", "texts.txt: Not a directory"),
        ("search gone.index phrase --out texts.txt/hits.csv", "texts.txt: Not a directory"),
        ("page --encoder gone --out texts.txt/page.html", "texts.txt: Not a directory"),
    ],
)
def test_a_failure_is_one_line_and_status_1(
    files: str, asked: str, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    before = sorted(Path().rglob("*"))
    assert main(asked.replace("ENCODER", files).split()) == 1
    told = capsys.readouterr()
    *left_out, line = told.err.splitlines()
    assert line.startswith(f"sentlab {asked.split()[0]}: error: ")
    assert says in line
    assert all("left out" in each for each in left_out)
    assert told.out == ""
    assert [path for path in sorted(Path().rglob("*")) if path not in before] == []


@pytest.mark.parametrize(
    ("asked", "package"),
    [
        ("encode gone.txt --out v.parquet", "pandas"),
        ("encode gone.txt --out v.parquet", "pyarrow"),
        ("search gone.index phrase --out hits.parquet", "pyarrow"),
        ("search gone.index phrase --out hits.csv", "pandas"),
        ("search gone.index phrase --out hits.jsonl", "pandas"),
    ],
)
def test_a_package_that_lacks_is_told_before_the_work(
    asked: str, package: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")  # which the others need first
    monkeypatch.setitem(sys.modules, package, None)
    assert main(asked.split()) == 1
    assert f"this needs {package}, which is not installed" in capsys.readouterr().err


def test_strange_files_beside_a_saved_encoder_are_told_before_training(
    files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Encoder.from_pretrained(files).save("mine")
    asked = ["train", "texts.txt", "--out", "mine", "--steps", "1", "--batch-size", "2", "--encoder", files, "--quiet"]
    Path("mine/diary.txt").write_text("dear diary")
    assert main(asked) == 1
    assert "mine is no saved encoder alone (it holds diary.txt)" in capsys.readouterr().err
    assert not Path("mine.training").exists()
    Path("mine/diary.txt").unlink()
    assert main(asked) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_the_right_to_write_is_told_before_the_work(
    files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("closed").mkdir()
    assert main(["index", "texts.txt", "--out", "closed/my.index", "--encoder", files, "--quiet"]) == 0
    Path("closed").chmod(0o500)
    try:
        assert main(["index", "gone.txt", "--out", "closed/deep/other.index", "--encoder", files]) == 1
        assert "closed: Permission denied" in capsys.readouterr().err
        # nothing is made beside an index that is added to
        assert main(["index", "texts.txt", "--out", "closed/my.index", "--add", "--encoder", files, "--quiet"]) == 0
    finally:
        Path("closed").chmod(0o700)


@pytest.mark.parametrize(
    "asked", ["train texts.txt", "encode", "search", "evaluate a.csv --scale 1", "train a --method x --out b"]
)
def test_a_command_that_makes_no_sense_is_status_2(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(asked.split())
    assert ended.value.code == 2
    assert f"usage: python -m sentlab {asked.split()[0]}" in capsys.readouterr().err


@pytest.mark.parametrize("verb", command.VERBS)
def test_examples_of_the_help_are_commands(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert command_line.EXAMPLES[verb] in capsys.readouterr().out
    lines = [line.split("sentlab ", 1)[1] for line in command_line.EXAMPLES[verb].splitlines() if "-m sentlab" in line]
    for line in lines:
        assert command_line.parser().parse_args(line.replace('"', "").split()).verb == verb


def test_words_may_stand_behind_an_option(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main("search words.index -k 1 phrase --no-such".split())
    assert left.value.code == 2
    assert "unrecognized arguments" in capsys.readouterr().err
    assert main(["search", "nowhere.index", "-k", "1", "a walk"]) == 1  # read as a phrase
    assert "nowhere.index" in capsys.readouterr().err


def test_two_files_of_one_name_are_not_scored_as_one(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other").mkdir()
    for place in (Path("judged.csv"), Path("other/judged.csv")):
        place.write_text("text_a,text_b,score\na cat,a dog,3\na car,a bus,4\nred,blue,1\n", encoding="utf-8")
    assert main(["evaluate", "judged.csv", "other/judged.csv"]) == 1
    assert "are called judged" in capsys.readouterr().err


def test_the_verbs_need_no_optional_package(files: str) -> None:
    code = """
import sys
for name in ("pydantic", "pandas", "datasets", "seaborn", "sklearn"):
    sys.modules[name] = None
from sentlab.__main__ import main
encoder = ["--encoder", sys.argv[1], "--quiet"]
assert main(["index", "texts.txt", "--out", "my.index", *encoder]) == 0
assert main(["search", "my.index", "the old dog", *encoder]) == 0
assert main(["evaluate", "pairs.csv", *encoder]) == 0
assert main(["run", "record.json"]) == 1
assert main(["--help"]) == 0
"""
    paths = os.pathsep.join([str(Path(sentlab.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    asked = [sys.executable, "-c", code, files]
    done = subprocess.run(asked, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install 'sentlab[experiments]'" in done.stderr
    assert "python -m sentlab train" in done.stdout
    assert "Traceback" not in done.stderr


def test_an_interrupted_training_goes_on_by_the_same_command(
    files: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "CHECKPOINT_EVERY", 2)
    asked = ["train", "texts.txt", "--steps", "6", "--batch-size", "2", "--encoder", files, "--quiet", "--out"]
    assert main([*asked, "whole"]) == 0
    steps: list[int] = []

    def kill(_: object) -> None:
        steps.append(1)
        if len(steps) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SimCSE, "after_step", kill)
        assert main([*asked, "twice"]) == 1
    assert "run the same command to resume from its last checkpoint" in capsys.readouterr().err
    assert not Path("twice").exists()
    assert main([*asked[:2], *asked[4:], "twice"]) == 1
    assert "add --again to train afresh" in capsys.readouterr().err
    assert main([*asked, "twice"]) == 0
    assert Encoder.from_pretrained("twice").fingerprint() == Encoder.from_pretrained("whole").fingerprint()
    assert [path.name for path in Path("twice.training").iterdir()] == ["history.json"]


def test_an_interruption_has_no_traceback(
    files: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Encoder, "encode", interrupted)
    assert main(["encode", "texts.txt", "--encoder", files, "--out", "v.npy"]) == 1
    assert capsys.readouterr().err == "sentlab encode: interrupted\n"
    assert not [path for path in Path().iterdir() if path.name.startswith(("v.", "."))]


def test_an_encoder_is_written_for_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.js"
    assert command.main(["page", "--out", str(out)]) == 0
    assert out.read_text().startswith('(globalThis.sentlabEncoders ??= {})["mine"] = {"config"')
    assert "MB" in capsys.readouterr().out
    assert command.main(["page", "--out", str(tmp_path / "mine.html"), "--name", "my <own>"]) == 0
    whole = (tmp_path / "mine.html").read_text()
    assert "<h1>my &lt;own&gt;</h1>" in whole
    assert whole.count("sentlabWidgets.compare(root") == whole.count("sentlabWidgets.spans(root") == 1
    assert whole.count('"vocabulary":') == 1  # one encoder, for both
    assert command.main(["page", "--out", str(tmp_path / "mine.txt")]) == 1
    assert ".js" in capsys.readouterr().err
