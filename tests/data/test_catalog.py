"""The catalog: which source wins, what its errors say, and the public row counts."""

from __future__ import annotations

import gzip
import json
import lzma
import re
from pathlib import Path
from statistics import mean

import datasets
import pytest

from sentlab import data
from sentlab.data import catalog, toy
from sentlab.data.rows import DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair
from sentlab.text.words import tokens


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
    with pytest.raises(FileNotFoundError, match=r"stsb \(train\) is not in the given folder .*sts-train\.csv"):
        data.load("stsb", "train", folder=tmp_path)
    with pytest.raises(FileNotFoundError, match="not a folder"):
        data.load("stsb", folder=tmp_path / "nowhere")
    assert not hub[1]


@pytest.mark.parametrize(
    ("name", "split"),
    [("stsb", "test"), ("nli", "dev"), ("sts-unlabelled", "train"), ("sts12-hard", "test"), ("quora", "test")],
)
def test_a_relative_folder_that_is_not_there_is_named_with_where_it_was_sought(tmp_path, monkeypatch, hub, name, split):
    monkeypatch.chdir(tmp_path)
    message = rf"names data/mistyped, which, seen from {re.escape(str(tmp_path))}, is not a folder"
    with pytest.raises(FileNotFoundError, match=f"folder= {message}"):
        data.load(name, split, folder="data/mistyped")
    monkeypatch.setenv("SENTLAB_DATA", "data/mistyped")
    with pytest.raises(FileNotFoundError, match=f"SENTLAB_DATA {message}"):
        data.load(name, split)
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


def test_an_empty_file_is_no_missing_file(tmp_path, monkeypatch, hub):
    (stsb(tmp_path) / "STS/STSBenchmark/sts-test.csv").write_text("")
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path))
    corpus = data.load("stsb")
    assert len(corpus) == 0
    assert "0 rows, where the original has 1,379" in corpus.source
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


def test_hub_sick_has_its_own_columns_and_revision(hub):
    row = {"sentence_A": "a", "sentence_B": "b", "relatedness_score": 3.5, "label": 1}
    hub[0]["RobZamp/sick", "test"] = datasets.Dataset.from_list([row])
    assert data.load("sick").rows == (ScoredPair("a", "b", 3.5),)
    assert hub[1] == [("RobZamp/sick", "test", "refs/convert/parquet")]


def test_offline_says_where_it_looked_and_what_to_do(hub, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError) as raised:
        data.load("sts13")
    text = str(raised.value)
    for part in ("STS/STS13-en-test", "neither folder= nor SENTLAB_DATA", "mteb/sts13-sts", "ConnectionError",
                 "load('sts13', 'test', folder=...)", "SENTLAB_DATA=...", "toy-sts"):  # fmt: skip
        assert part in text
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path))
    with (
        pytest.warns(UserWarning, match="asking the hub"),
        pytest.raises(FileNotFoundError, match=f"Looked in SENTLAB_DATA={tmp_path}"),
    ):
        data.load("sts13")


def test_a_hub_set_with_other_columns_is_named(hub):
    hub[0]["mteb/sts13-sts", "test"] = datasets.Dataset.from_list([{"a": "x", "b": "y"}])
    with pytest.raises(FileNotFoundError, match="no column sentence1, sentence2, score, only a, b"):
        data.load("sts13")


def test_unknown_names_and_splits_list_what_there_is():
    with pytest.raises(ValueError, match=r"no corpus is named 'sts17'; there are sts12, .*toy-sts"):
        data.load("sts17")
    with pytest.raises(ValueError, match="mnli has no split 'test'; it has train, dev"):
        data.load("mnli")
    with pytest.raises(ValueError, match="sts12 has no split 'train'; it has test"):
        data.load("sts12", "train")
    with pytest.raises(ValueError, match="sts-unlabelled has no split 'test'; it has train"):
        data.load("sts-unlabelled")


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


def test_quora_in_its_original_layout_or_in_two_parts(tmp_path):
    folder = tmp_path / "quora"
    folder.mkdir()
    header = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
    rows = [["0", "1", "2", "a", "b", "1"], ["1", "3", "4", "c", "d", "0"], ["2", "5", "6", "", "e", "1"]]
    (folder / "quora_positive_eval.csv").write_text("\n".join(map(",".join, [header, rows[0]])))
    with pytest.raises(FileNotFoundError, match=r"quora \(test\) is incomplete in .*unlabelled\.csv is missing"):
        data.load("quora", folder=tmp_path)
    (folder / "quora_single_questions_unlabelled.csv").write_text("question_text\nf\n")
    corpus = data.load("quora", folder=tmp_path)
    assert corpus.rows == (DuplicateQuestion("a", "b"), DuplicateQuestion("f", None))
    assert "quora_positive_eval.csv + quora/quora_single" in corpus.source
    assert "2 rows, where the original has 404,290" in corpus.source
    (folder / "quora_duplicate_questions.tsv").write_text("\n".join(map("\t".join, [header, *rows])))
    corpus = data.load("quora", folder=tmp_path)  # the original comes first
    assert corpus.rows == (DuplicateQuestion("a", "b"), DuplicateQuestion("d", None))
    assert corpus.left_out == {"missing question": 1}


def test_askubuntu_plain_or_compressed(tmp_path):
    folder = tmp_path / "askubuntu"
    folder.mkdir()
    (folder / "dev.txt").write_text("1\t2\t2 3\t1 1\n")
    with pytest.raises(FileNotFoundError, match=r"incomplete in .*askubuntu/text_tokenized\.txt is missing"):
        data.load("askubuntu", "dev", tmp_path)
    (folder / "text_tokenized.txt.gz").write_bytes(gzip.compress(b"1\ta\tx\n2\tb\ty\n3\tc\tz\n"))
    corpus = data.load("askubuntu", "dev", tmp_path)
    assert corpus.rows == (RankingQuery("a", ("b", "c"), (True, False)),)
    assert "text_tokenized.txt.gz" in corpus.source
    (folder / "text_tokenized.txt").write_text("1\tA\tx\n2\tB\ty\n3\tC\tz\n")
    assert data.load("askubuntu", "dev", tmp_path)[0].query == "A"
    with pytest.raises(FileNotFoundError, match=r"askubuntu \(test\) is incomplete in .*test\.txt is missing"):
        data.load("askubuntu", "test", tmp_path)
    with pytest.raises(ValueError, match="askubuntu has no split 'train'; it has dev, test"):
        data.load("askubuntu", "train", tmp_path)


def test_wikipedia_s_sentences_in_either_layout(tmp_path, hub):
    with pytest.raises(FileNotFoundError) as raised:
        data.load("wiki1m", "train")
    text = str(raised.value)
    for part in ("wiki1m_for_simcse.txt | text/wikipedia-core.txt.xz | ", "princeton-nlp/datasets-for-simcse",
                 "load('wiki1m', 'train', folder=...)"):  # fmt: skip
        assert part in text
    (tmp_path / "text").mkdir()
    (tmp_path / "text/wikipedia-core.txt").write_text("This is a short article. It has just two sentences.\n\n")
    corpus = data.load("wiki1m", "train", tmp_path)
    assert corpus.rows == ("This is a short article.", "It has just two sentences.")
    assert corpus.left_out == {"blank line": 1}
    assert "2 rows, where the original has 1,000,000" in corpus.source
    (tmp_path / "text/wikipedia-core.txt.xz").write_bytes(lzma.compress(b"A paragraph of packed words.\n"))
    assert data.load("wiki1m", "train", tmp_path).rows == ("A paragraph of packed words.",)
    (tmp_path / "wiki1m_for_simcse.txt").write_text("A line is a sentence. It is not cut.\nToo short.\n")
    corpus = data.load("wiki1m", "train", tmp_path)  # the file of SimCSE comes first
    assert corpus.rows == ("A line is a sentence. It is not cut.",)
    assert corpus.left_out == {"fewer than 5 words": 1}
    assert not hub[1]


def test_what_the_hub_is_not_asked_for_says_which_files_to_put_where(hub, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError) as raised:
        data.load("askubuntu")
    text = str(raised.value)
    for part in ("askubuntu (test) was not found", "neither folder= nor SENTLAB_DATA",
                 "askubuntu/text_tokenized.txt + askubuntu/test.txt | ", "taolei87/askubuntu",
                 "load('askubuntu', 'test', folder=...)", "toy-reranking"):  # fmt: skip
        assert part in text
    assert "hub " not in text
    with pytest.raises(
        FileNotFoundError, match=r"none of quora/quora_dupl.* or leave it out to look in SENTLAB_DATA\."
    ):
        data.load("quora", folder=tmp_path)
    monkeypatch.setenv("SENTLAB_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=rf"Looked in SENTLAB_DATA={tmp_path} for quora/quora_duplicate"):
        data.load("quora")
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


def test_captions_and_nli_hold_no_sentence_of_sts(tmp_path, monkeypatch):
    lines = "a.jpg#0\tA dog runs in the park .\na.jpg#1 A cat sits on a red mat .\nb.jpg#0\tA DOG runs in the park!\n"
    (tmp_path / "captions").mkdir()
    (tmp_path / "captions/Flickr8k.token.txt").write_text(lines)
    captions = data.load("captions", "train", tmp_path)
    assert captions.rows == ("A dog runs in the park .", "A cat sits on a red mat .", "A DOG runs in the park!")
    load = catalog.load
    pairs = (LabelledPair("a man, sleeping", "A man eats soup.", "neutral"), LabelledPair("He sings.", "x", "neutral"))
    parts = {
        "nli": data.Corpus("nli", "dev", pairs, "made up"),
        "sts-unlabelled": data.Corpus("sts-unlabelled", "train", ("A man sleeping.", "a cat sits on a red mat"), ""),
    }
    monkeypatch.setattr(catalog, "load", lambda name, *more: parts.get(name) or load(name, *more))
    corpus = data.load("captions-nli", "train", tmp_path)
    assert corpus.rows == ("A dog runs in the park .", "A man eats soup.", "He sings.", "x")
    assert corpus.left_out == {"repeated sentence": 1, "sentence of an STS set": 2}


def test_a_caption_without_its_picture_is_named(tmp_path):
    (tmp_path / "Flickr8k_text").mkdir()
    path = tmp_path / "Flickr8k_text/Flickr8k.token.txt"
    path.write_text("a.jpg#0\tA dog runs in the park .\nA cat sits on a mat .\n")
    with pytest.raises(ValueError, match=r"Flickr8k.token.txt:2: expected .* found 'A cat"):
        data.load("captions", "train", tmp_path)


def test_toy_corpora_need_no_folder_and_are_listed(hub):
    assert data.load("toy-sts", "dev").rows == toy.load("toy-sts", "dev").rows
    table = data.corpora()
    assert set(table.index) == {
        *catalog.STS_TASKS, "snli", "mnli", "quora", "askubuntu", "simlex", "ws353-sim", "ws353-rel", "men", "scws",
        "semeval-5a", "ppdb", "ppdb-bigrams", "ppdb-synonyms", "sts-unlabelled", "nli-triples", "nli", "paraphrases",
        "lexical-relations", "wiki1m", "msmarco", "wikiqa", "stsb-context", "captions", "captions-nli",
        "triples-in-context", "triples-in-context-bm25", "paraphrase-triples", "men-halves",
        *(f"{name}-hard" for name in (*catalog.YEARS, "toy-sts")), *toy.NAMES
    }  # fmt: skip
    assert table.loc["wiki1m"].tolist() == ["train", "str", "folder"]
    assert table.loc["sts12-hard"].tolist() == ["test", "ScoredPair", "sts12"]
    assert table.loc["scws"].tolist() == ["test", "WordPairInContext", "folder"]
    assert table.loc["lexical-relations"].tolist() == ["train", "PhrasePair", "NLTK's WordNet"]
    assert table.loc["mnli", "splits"] == "train, dev"
    assert table.loc["snli", "row"] == "LabelledPair"
    assert table.loc["toy-sts", "row"] == "ScoredPair"
    assert table.loc["quora"].tolist() == ["test", "DuplicateQuestion", "folder"]
    assert table.loc["askubuntu"].tolist() == ["dev, test", "RankingQuery", "folder"]
    assert not hub[1]


def test_a_half_of_men_is_for_dev_and_the_other_for_tests(tmp_path):
    (tmp_path / "wordsim").mkdir()
    lines = [f"word{i} other{i} {50 - i}" for i in range(5)]
    (tmp_path / "wordsim" / "EN-MEN-TR-3k.txt").write_text("\n".join(lines) + "\n")
    found = {split: data.load("men-halves", split, tmp_path) for split in ("dev", "test")}
    assert {split: [row.word_a for row in corpus] for split, corpus in found.items()} == {
        "dev": ["word1", "word3"],
        "test": ["word0", "word2", "word4"],
    }


COUNTS = {
    "sts12": {"test": 3108},
    "sts13": {"test": 1500},
    "sts14": {"test": 3750},
    "sts15": {"test": 3000},
    "sts16": {"test": 1186},
    "stsb": {"train": 5749, "dev": 1500, "test": 1379},
    "sick": {"train": 4500, "dev": 500, "test": 4927},
    "snli": {"dev": 9842, "test": 9824},
    "mnli": {"dev": 19647},
}


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
        ("p", "yes 1", "entailment"),
        ("p", "no 1", "contradiction"),
        ("q", "alone", "entailment"),
        ("p", "maybe", "neutral"),
        ("p", "yes 2", "entailment"),
        ("p", "no 2", "contradiction"),
        ("p", "yes 3", "entailment"),
        ("p", "nobody knows", "-"),
    ]
    (tmp_path / "SNLI").mkdir()
    for column, name in enumerate(("s1", "s2", "labels")):
        (tmp_path / "SNLI" / f"{name}.dev").write_text("".join(f"{row[column]}\n" for row in rows))
    (tmp_path / "MNLI").mkdir()
    mnli = "premise,hypothesis,label\np,no 3,contradiction\nr,yes,entailment\nr,no,contradiction\n"
    (tmp_path / "MNLI" / "dev_matched_and_mismatched.csv").write_text(mnli)
    corpus = data.load("nli-triples", "dev", tmp_path)
    assert [(row.anchor, row.positive, row.negative) for row in corpus] == [
        ("p", "yes 1", "no 1"),
        ("p", "yes 2", "no 2"),
        ("p", "yes 3", "no 3"),
        ("r", "yes", "no"),
    ]
    assert next(iter(corpus.left_out.values())) == 1  # what NLI itself leaves out: the pair without gold
    assert list(corpus.left_out.values())[1:] == [2]
    with pytest.raises(ValueError, match="train, dev"):
        data.load("nli-triples", "test", tmp_path)


def test_a_paraphrase_that_is_paired_with_all_others_is_an_error(tmp_path):
    (tmp_path / "ppdb").mkdir()
    (tmp_path / "ppdb/ppdb.xxl.b2u.train").write_text("red\tJ\ndog\tN\nhound\n")
    (tmp_path / "ppdb/ppdb_synonyms.txt").write_text("hound mutt\n")
    with pytest.raises(ValueError, match=r"'hound' is paired with all phrases, so it has no negative"):
        data.load("paraphrase-triples", "train", tmp_path)


@pytest.mark.realdata
def test_triples_of_paraphrases_never_take_a_known_one_for_a_negative(real_data):
    pairs = data.load("paraphrases", "train", real_data)
    triples = data.load("paraphrase-triples", "train", real_data)
    assert [(row.anchor, row.positive) for row in triples] == [(pair.phrase_a, pair.phrase_b) for pair in pairs]
    known = {frozenset((pair.phrase_a, pair.phrase_b)) for pair in pairs}
    assert not [row for row in triples if len({row.anchor, row.negative}) == 1]
    assert not [row for row in triples if frozenset((row.anchor, row.negative)) in known]


@pytest.mark.realdata
def test_triples_in_context_are_of_stsb_and_nli(real_data):
    triples = data.load("triples-in-context", "train", real_data)
    anchors = {pair.text_a for pair in data.load("stsb", "train", real_data) if pair.score >= 4}
    assert 5_000 < len(triples) < 20_000
    assert sum(row.anchor in anchors for row in triples) >= len(anchors)
    assert "not verbatim in its passage" not in triples.left_out
    mined = data.load("triples-in-context-bm25", "train", real_data)
    assert [(row.anchor, row.positive) for row in mined] == [(row.anchor, row.positive) for row in triples]
    shared = [mean(len({*tokens(r.anchor)} & {*tokens(r.negative)}) for r in rows) for rows in (triples, mined)]
    assert shared[1] > 1.5 * shared[0]
