"""The catalog: which source wins, what its errors say, and the public row counts."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import datasets
import numpy as np
import pytest

from sentlab import data
from sentlab.data import catalog, toy
from sentlab.data.rows import LabelledPair, RankingQuery, ScoredPair


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("SENTLAB_DATA", raising=False)


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for the hub: it holds what a test puts into the dictionary under (id, split), else it is offline."""
    held: dict[tuple[str, str], datasets.Dataset] = {}
    asked: list[tuple[str, str, str | None]] = []

    def load_dataset(path, *, split, revision=None):
        asked.append((path, split, revision))
        if (path, split) not in held:
            raise ConnectionError(f"Couldn't reach {path}")
        return held[path, split]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return held, asked


def stsb(root: Path, split: str = "test", first: str = "a") -> Path:
    path = root / f"STS/STSBenchmark/sts-{split}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"g\td\t2012\t1\t2.5\t{first}\tb\n")
    return root


def scored(*rows) -> datasets.Dataset:
    return datasets.Dataset.from_list(
        [dict(zip(("sentence1", "sentence2", "score"), row, strict=True)) for row in rows]
    )


def test_folder_wins_over_environment_and_environment_over_hub(tmp_path, monkeypatch, hub):
    stsb(tmp_path / "one", first="from folder")
    stsb(tmp_path / "two", first="from environment")
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path / "two"))
    corpus = data.load("stsb", folder=tmp_path / "one")
    assert corpus[0] == ScoredPair("from folder", "b", 2.5)
    assert (corpus.name, corpus.split) == ("stsb", "test")
    assert str(tmp_path / "one") in corpus.source
    assert "1 rows, where the original has 1,379" in corpus.source
    corpus = data.load("stsb")
    assert corpus[0].text_a == "from environment"
    assert str(tmp_path / "two") in corpus.source
    assert not hub[1]


def test_a_given_folder_without_the_set_never_falls_back_to_the_hub(tmp_path, hub):
    hub[0]["mteb/stsbenchmark-sts", "train"] = scored(("a", "b", 1.0))
    stsb(tmp_path, "test")
    with pytest.raises(FileNotFoundError, match=r"stsb \(train\) was not found.\n.*folder=.*sts-train\.csv"):
        data.load("stsb", "train", folder=tmp_path)
    with pytest.raises(FileNotFoundError, match="not a folder"):
        data.load("stsb", folder=tmp_path / "nowhere")
    assert not hub[1]


def test_a_set_that_the_environment_lacks_comes_from_the_hub_with_a_warning(tmp_path, monkeypatch, hub):
    hub[0]["mteb/stsbenchmark-sts", "validation"] = scored(("a", "b", 1.0), ("c", "d", 4.25))
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path))
    with pytest.warns(UserWarning, match=r"stsb \(dev\) is not in SENTLAB_DATA=.*asking the hub"):
        corpus = data.load("stsb", "dev")
    assert corpus.rows == (ScoredPair("a", "b", 1.0), ScoredPair("c", "d", 4.25))
    assert f"not in SENTLAB_DATA={tmp_path}" in corpus.source


def test_a_set_that_is_half_there_is_an_error(tmp_path, monkeypatch, hub):
    (tmp_path / "SNLI").mkdir()
    (tmp_path / "SNLI/s1.test").write_text("a\n")
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"incomplete.*s2\.test, .*labels\.test is missing"):
        data.load("snli")
    assert not hub[1]


def test_hub_sts_year_says_that_subsets_are_lost(hub):
    hub[0]["mteb/sts15-sts", "test"] = scored(("a", "b", 1.0), ("c", "d", None))
    corpus = data.load("sts15")
    assert corpus.rows == (ScoredPair("a", "b", 1.0),)
    assert corpus.left_out == {"no gold": 1}
    assert corpus.source.startswith("hub mteb/sts15-sts, test (names of sub-sets are not kept there)")
    assert "1 rows, where the original has 3,000" in corpus.source


def test_hub_nli_labels_and_both_halves_of_mnli(hub):
    names = datasets.ClassLabel(names=["entailment", "neutral", "contradiction"])
    features = datasets.Features(
        {"premise": datasets.Value("string"), "hypothesis": datasets.Value("string"), "label": names}
    )
    half = lambda a, labels: datasets.Dataset.from_dict(  # noqa: E731
        {"premise": [a] * len(labels), "hypothesis": ["h"] * len(labels), "label": labels}, features=features
    )
    hub[0]["nyu-mll/multi_nli", "validation_matched"] = half("m", [0, 1, 2])
    hub[0]["nyu-mll/multi_nli", "validation_mismatched"] = half("mm", [-1, 0])
    corpus = data.load("mnli", "dev")
    assert [row.label for row in corpus] == ["entailment", "neutral", "contradiction", "entailment"]
    assert corpus[3] == LabelledPair("mm", "h", "entailment")
    assert corpus.left_out == {"no gold": 1}


def test_offline_says_where_it_looked_and_what_to_do(hub, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError) as raised:
        data.load("sts13")
    text = str(raised.value)
    for part in ("STS/STS13-en-test", "neither folder= nor SENTLAB_DATA", "mteb/sts13-sts", "ConnectionError",
                 "Set folder= or SENTLAB_DATA", "toy-sts"):  # fmt: skip
        assert part in text
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path))
    with (
        pytest.warns(UserWarning, match="asking the hub"),
        pytest.raises(FileNotFoundError, match=f"Looked in SENTLAB_DATA={tmp_path}"),
    ):
        data.load("sts13")


def test_original_jsonl_layouts_are_found(tmp_path):
    def write(path: str, premise: str) -> None:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        item = {"sentence1": premise, "sentence2": "h", "gold_label": "neutral"}
        (tmp_path / path).write_text(json.dumps(item) + "\n")

    write("snli_1.0/snli_1.0_train.jsonl", "p")
    write("multinli_1.0/multinli_1.0_dev_matched.jsonl", "m")
    write("multinli_1.0/multinli_1.0_dev_mismatched.jsonl", "mm")
    assert data.load("snli", "train", tmp_path).rows == (LabelledPair("p", "h", "neutral"),)
    assert [row.text_a for row in data.load("mnli", "dev", tmp_path)] == ["m", "mm"]


def test_wikipedia_s_sentences_in_either_layout(tmp_path, hub):
    (tmp_path / "text").mkdir()
    (tmp_path / "text/wikipedia-core.txt").write_text("This is a short article. It has just two sentences.\n\n")
    corpus = data.load("wiki1m", "train", tmp_path)
    assert corpus.rows == ("This is a short article.", "It has just two sentences.")
    assert corpus.left_out == {"blank line": 1}
    assert "2 rows, where the original has 1,000,000" in corpus.source
    (tmp_path / "text/wikipedia-core.txt.xz").write_bytes(lzma.compress(b"A paragraph of packed words.\n"))
    assert data.load("wiki1m", "train", tmp_path).rows == corpus.rows  # of the file that is not packed
    (tmp_path / "text/wikipedia-core.txt").unlink()
    assert data.load("wiki1m", "train", tmp_path).rows == ("A paragraph of packed words.",)
    (tmp_path / "wiki1m_for_simcse.txt").write_text("A line is a sentence. It is not cut.\nToo short.\n")
    corpus = data.load("wiki1m", "train", tmp_path)  # the file of SimCSE comes first
    assert corpus.rows == ("A line is a sentence. It is not cut.",)
    assert corpus.left_out == {"fewer than 5 words": 1}
    assert not hub[1]


def test_unlabelled_texts_are_distinct_and_of_every_split(tmp_path):
    for year in range(12, 17):
        folder = tmp_path / f"STS/STS{year}-en-test"
        folder.mkdir(parents=True)
        (folder / "STS.input.x.txt").write_text(f"scored {year}\tshared\nunscored {year}\tshared\n")
        (folder / "STS.gs.x.txt").write_text("1\n\n")
    for split, stem in (("train", "train"), ("dev", "trial"), ("test", "test_annotated")):
        stsb(tmp_path, split, first=f"stsb {split}")
        sick = tmp_path / f"SICK/SICK_{stem}.txt"
        sick.parent.mkdir(exist_ok=True)
        sick.write_text(f"sentence_A\tsentence_B\trelatedness_score\nsick {split}\tb\t3\n")
    corpus = data.load("sts-unlabelled", "train", tmp_path)
    expected = {f"{kind} {year}" for kind in ("scored", "unscored") for year in range(12, 17)}
    expected |= {f"{name} {split}" for name in ("stsb", "sick") for split in ("train", "dev", "test")} | {"shared", "b"}
    assert set(corpus.rows) == expected
    assert len(corpus) == len(expected)
    assert corpus.left_out == {"repeated sentence": 5 * 4 + 6 * 2 - len(expected)}


def test_toy_corpora_need_no_folder_and_are_listed(hub):
    assert data.load("toy-sts", "dev").rows == toy.load("toy-sts", "dev").rows
    table = data.corpora()
    assert {*catalog.STS_TASKS, "snli", "mnli", "nli", "wiki1m", *toy.NAMES} <= set(table.index)
    assert table.loc["mnli", "splits"] == "train, dev"
    assert table.loc["toy-sts"].tolist() == ["train, dev, test", "ScoredPair", "toy world"]
    assert not hub[1]


COUNTS = {
    "sts12": {"test": 3108}, "sts13": {"test": 1500}, "sts14": {"test": 3750}, "sts15": {"test": 3000},
    "sts16": {"test": 1186}, "stsb": {"train": 5749, "dev": 1500, "test": 1379},
    "sick": {"train": 4500, "dev": 500, "test": 4927}, "snli": {"dev": 9842, "test": 9824}, "mnli": {"dev": 19647},
    "simlex": {"test": 999}, "ws353-sim": {"test": 203}, "ws353-rel": {"test": 252}, "men": {"test": 3000},
    "scws": {"test": 2003},
}  # fmt: skip


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "split"), [(name, split) for name, splits in COUNTS.items() for split in splits])
def test_public_row_counts(real_data, name, split):
    corpus = data.load(name, split, real_data)
    assert len(corpus) == COUNTS[name][split]
    assert "where the original" not in corpus.source
    assert corpus.left_out == {"sts15": {"no gold": 5500}, "sts16": {"no gold": 7997}}.get(name, {})


@pytest.mark.realdata
def test_public_quora_duplicates_and_distractors(real_data):
    corpus = data.load("quora", folder=real_data)
    assert sum(row.duplicate is not None for row in corpus) == 14926
    assert sum(row.duplicate is None for row in corpus) == 9838
    assert corpus.left_out == {}


@pytest.mark.realdata
def test_public_unlabelled_texts_are_the_89192_of_the_papers(real_data, monkeypatch):
    monkeypatch.setenv("SENTLAB_DATA", str(real_data))
    corpus = data.load("sts-unlabelled", "train")
    assert len(corpus) + corpus.left_out["repeated sentence"] == 89192
    assert len(set(corpus.rows)) == len(corpus)


def test_triples_pair_entailments_with_contradictions_of_the_same_premise(tmp_path: Path) -> None:
    rows = [
        ("p", "yes 1", "entailment"), ("p", "no 1", "contradiction"), ("q", "alone", "entailment"),
        ("p", "maybe", "neutral"), ("p", "yes 2", "entailment"), ("p", "no 2", "contradiction"),
        ("p", "yes 3", "entailment"), ("p", "nobody knows", "-"),
    ]  # fmt: skip
    (tmp_path / "SNLI").mkdir()
    for column, name in enumerate(("s1", "s2", "labels")):
        (tmp_path / "SNLI" / f"{name}.dev").write_text("".join(f"{row[column]}\n" for row in rows))
    (tmp_path / "MNLI").mkdir()
    mnli = "premise,hypothesis,label\np,no 3,contradiction\nr,yes,entailment\nr,no,contradiction\n"
    (tmp_path / "MNLI" / "dev_matched_and_mismatched.csv").write_text(mnli)
    corpus = data.load("nli-triples", "dev", tmp_path)
    assert [(row.anchor, row.positive, row.negative) for row in corpus] == [
        ("p", "yes 1", "no 1"), ("p", "yes 2", "no 2"), ("p", "yes 3", "no 3"), ("r", "yes", "no"),
    ]  # fmt: skip
    assert next(iter(corpus.left_out.values())) == 1  # what NLI itself leaves out: the pair without gold
    assert list(corpus.left_out.values())[1:] == [2]


def test_numbers_of_numpy_have_the_fingerprint_of_plain_ones():
    fingerprints = [
        data.Corpus("m", "dev", (ScoredPair("a", "b", score), RankingQuery("a", ("b",), (flag,))), "").fingerprint
        for score, flag in ((2.0, True), (np.float32(2.0), np.bool_(True)))
    ]
    assert fingerprints[0] == fingerprints[1]


def test_ppdb_keeps_some_pairs_for_a_test_of_phrases(tmp_path):
    def line(a, b, features="Equivalence=0.5"):
        return f"[NP] ||| {a} ||| {b} ||| {features} ||| 0-0 ||| Equivalence\n"

    path = tmp_path / "ppdb/ppdb-2.0-s-phrasal"
    path.parent.mkdir()
    lines = [line(f"a{i} b", f"c{i}") + line(f"c{i}", f"a{i} b") + line(f"d{i}", f"e{i}") for i in range(400)]
    lines += [line(f"f{i} g", f"h{i}", "Equivalence=NA") for i in range(400)]
    path.write_text("".join(lines))
    train, test = (data.load("ppdb", split, tmp_path) for split in ("train", "test"))
    pairs = [{frozenset((pair.phrase_a, pair.phrase_b)) for pair in corpus} for corpus in (train, test)]
    assert not pairs[0] & pairs[1]  # also not the other way round
    assert 8 < len(test) < 100
    assert all(" " in pair.phrase_a + pair.phrase_b and pair.score == 0.5 for pair in test)
    assert {pair.phrase_a[0] for pair in train} == {"a", "c", "d", "f"}
    assert len(train) + train.left_out["not for train"] == len(test) + test.left_out["not for test"] == 1600
