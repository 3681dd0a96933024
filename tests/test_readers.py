"""Readers on small files that the tests write, quirk by quirk, and on the public files where they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sentlab.data import readers
from sentlab.data.rows import LabelledPair, ScoredPair


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def sts(folder: Path, subset: str, pairs: str, golds: str) -> tuple[Path, Path]:
    return write(folder / f"STS.input.{subset}.txt", pairs), write(folder / f"STS.gs.{subset}.txt", golds)


def test_sts_keeps_quotes_and_line_separators_inside_sentences(tmp_path):
    paths = sts(tmp_path, "x", 'a "b\tc" d\ne\u2028f\tg\x85h, i\n', "5\n0.25\n")
    assert readers.read_sts(*paths, "x").rows == [
        ScoredPair('a "b', 'c" d', 5.0, "x"),
        ScoredPair("e\u2028f", "g\x85h, i", 0.25, "x"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sts_leaves_out_both_sides_of_a_blank_gold_and_counts(tmp_path, end):
    paths = sts(tmp_path, "x", end.join(["a\tb", "c\td", "e\tf", ""]), end.join(["", "3", " ", ""]))
    assert readers.read_sts(*paths) == ([ScoredPair("c", "d", 3.0)], {"no gold": 2})


def test_sts_leaves_out_blank_sentences_and_counts(tmp_path):
    paths = sts(tmp_path, "x", "a\t \nc\td\n", "1\n3\n")
    assert readers.read_sts(*paths) == ([ScoredPair("c", "d", 3.0)], {"blank sentence": 1})


def test_sts_year_is_in_alphabetical_order_and_sums_what_is_left_out(tmp_path):
    sts(tmp_path, "surprise.News", "e\tf\ng\th\n", "2\n\n")
    sts(tmp_path, "MSRpar", "a\tb\nc\td\n", "\n1\n")
    read = readers.read_sts_year(tmp_path)
    assert [(row.text_a, row.subset) for row in read.rows] == [("c", "MSRpar"), ("e", "surprise.News")]
    assert read.left_out == {"no gold": 2}
    assert readers.read_sts_texts(tmp_path).rows == list("abcdefgh")


@pytest.mark.parametrize(
    ("pairs", "golds", "message"),
    [
        ("a\tb\nc\td\n", "1\n", r"STS\.input\.x\.txt has 2 lines but .*STS\.gs\.x\.txt has 1"),
        ("a\tb\nc d\n", "1\n2\n", r"STS\.input\.x\.txt:2: expected two tab-separated"),
        ("a\tb\nc\td\n", "1\nhigh\n", r"STS\.gs\.x\.txt:2: expected a gold score from 0 to 5, found 'high'"),
        ("a\tb\nc\td\n", "nan\n2\n", r"STS\.gs\.x\.txt:1: .*found 'nan'"),
        ("a\tb\nc\td\n", "1\n2012\n", r"STS\.gs\.x\.txt:2: .*found '2012'"),
        (b"a\tb\nc\xff\td\n", "1\n2\n", r"STS\.input\.x\.txt:2: expected UTF-8, found byte 0xff"),
    ],
)
def test_sts_errors_name_file_and_line(tmp_path, pairs, golds, message):
    with pytest.raises(ValueError, match=message):
        readers.read_sts(*sts(tmp_path, "x", pairs, golds))


def test_sts_year_without_files_or_gold(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"STS\.input"):
        readers.read_sts_year(tmp_path)
    write(tmp_path / "STS.input.x.txt", "a\tb\n")
    with pytest.raises(FileNotFoundError, match=r"STS\.gs\.x\.txt"):
        readers.read_sts_year(tmp_path)


def test_stsb_is_tab_separated_with_plain_quotes_and_extra_columns(tmp_path):
    path = write(
        tmp_path / "sts-dev.csv",
        'main-news\tMSRpar\t2012\t0001\t5.000\t"A, b\tC d\nmain-news\tMSRpar\t2012\t2\t1.5\tE" f\tG\tsource\tsource\n',
    )
    assert readers.read_stsb(path) == ([ScoredPair('"A, b', "C d", 5.0), ScoredPair('E" f', "G", 1.5)], {})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("g\td\t2012\t1\t5.0\ta", r"sts-dev\.csv:2: expected 7 tab-separated columns or more, found 6"),
        ("g\td\t2012\t1\tfive\ta\tb", r"sts-dev\.csv:2: expected a gold score from 0 to 5, found 'five'"),
    ],
)
def test_stsb_errors_name_file_and_line(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        readers.read_stsb(write(tmp_path / "sts-dev.csv", f"g\td\t2012\t1\t5.0\ta\tb\n{line}\n"))


SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def test_sick_finds_columns_by_name(tmp_path):
    path = write(tmp_path / "s.txt", f"{SICK}\r\n1\tA\tB\t4.5\tNEUTRAL\r\n")
    assert readers.read_sick(path) == ([ScoredPair("A", "B", 4.5)], {})
    later = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\n1\tA\tB\tNEUTRAL\t4.5\n"
    assert readers.read_sick(write(tmp_path / "later.txt", later)).rows == [ScoredPair("A", "B", 4.5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"s\.txt:1: expected a header row"),
        (SICK.replace("sentence_B", "other") + "\n", r"s\.txt:1: .*no sentence_B"),
        (f"{SICK}\n1\tA\tB\t4.5\n", r"s\.txt:2: expected 5 tab-separated columns, found 4"),
        (f"{SICK}\n1\tA\tB\t0.5\tNEUTRAL\n", r"s\.txt:2: expected a gold score from 1 to 5"),
    ],
)
def test_sick_errors_name_file_and_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        readers.read_sick(write(tmp_path / "s.txt", text))


def test_snli_in_three_files(tmp_path):
    paths = [
        write(tmp_path / "s1", "a . \nb\n"),
        write(tmp_path / "s2", "c\nd\n"),
        write(tmp_path / "l", "neutral\n-\n"),
    ]
    assert readers.read_snli(*paths) == ([LabelledPair("a .", "c", "neutral")], {"no gold": 1})
    write(paths[2], "neutral\nmaybe\n")
    with pytest.raises(ValueError, match=r"l:2: expected a label out of .*found 'maybe'"):
        readers.read_snli(*paths)
    write(paths[1], "c\n")
    with pytest.raises(ValueError, match=r"s1 has 2, .*s2 has 1, .*l has 2 lines"):
        readers.read_snli(*paths)


def test_nli_jsonl_reads_file_after_file_and_leaves_out_disagreement(tmp_path):
    def line(a: str, b: str, gold: str) -> str:
        return json.dumps({"sentence1": a, "sentence2": b, "gold_label": gold, "annotator_labels": []}) + "\n"

    one = write(tmp_path / "one.jsonl", line("a\u2028", "b", "entailment") + line("c", "d", "-"))
    two = write(tmp_path / "two.jsonl", line("e", "f", "contradiction"))
    rows, left_out = readers.read_nli_jsonl(one, two)
    assert rows == [LabelledPair("a", "b", "entailment"), LabelledPair("e", "f", "contradiction")]
    assert left_out == {"no gold": 1}
    for bad in ('{"sentence1": "a"}', "no json", "3"):
        with pytest.raises(ValueError, match=r"two\.jsonl:2: expected a JSON object with sentence1"):
            readers.read_nli_jsonl(write(two, line("e", "f", "neutral") + bad + "\n"))


def test_mnli_csv_is_real_csv(tmp_path):
    text = 'premise,hypothesis,label\n"a, ""b""\nc",d,neutral\ne,f,-\n'
    path = write(tmp_path / "m.csv", text)
    assert readers.read_mnli_csv(path) == ([LabelledPair('a, "b"\nc', "d", "neutral")], {"no gold": 1})
    with pytest.raises(ValueError, match=r"m\.csv:5: expected a label"):
        readers.read_mnli_csv(write(path, text + "g,h,yes\n"))
    with pytest.raises(ValueError, match=r"m\.csv:5: expected 3 columns, found 2"):
        readers.read_mnli_csv(write(path, text + "g,h\n"))
    with pytest.raises(ValueError, match=r"m\.csv:5: not valid CSV"):
        readers.read_mnli_csv(write(path, text + '"g,h,neutral\n'))
    with pytest.raises(ValueError, match=r"m\.csv:1: .*no label"):
        readers.read_mnli_csv(write(path, "premise,hypothesis\na,b\n"))


def test_plain_text_counts_blank_lines(tmp_path):
    path = write(tmp_path / "t.txt", "\ufeffone sentence \r\n\r\n  \nanother\u2028one")
    assert readers.read_plain(path) == (["one sentence", "another\u2028one"], {"blank line": 2})
    with pytest.raises(ValueError, match=r"t\.txt:3: expected UTF-8"):
        readers.read_plain(write(path, b"a\nb\n\xe9\n"))


@pytest.mark.realdata
def test_public_sts16_leaves_out_what_was_not_scored(real_data):
    rows, left_out = readers.read_sts_year(real_data / "STS/STS16-en-test")
    assert len(rows) == 1186
    assert left_out == {"no gold": 9183 - 1186}
    assert {row.subset for row in rows} == {
        "answer-answer", "headlines", "plagiarism", "postediting", "question-question"
    }  # fmt: skip


@pytest.mark.realdata
def test_public_quotes_survive(real_data):
    rows = readers.read_stsb(real_data / "STS/STSBenchmark/sts-train.csv").rows
    assert len(rows) == 5749
    assert any((row.text_a + row.text_b).count('"') % 2 for row in rows)  # unbalanced: a CSV parser would merge rows
    assert all("\n" not in row.text_a + row.text_b and "\t" not in row.text_a + row.text_b for row in rows)
