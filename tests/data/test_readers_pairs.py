"""Readers on small files that the tests write, quirk by quirk, and on the public files where they are."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest

from sentlab import data
from sentlab.data import sources
from sentlab.data.readers import pairs as readers
from sentlab.data.readers import texts as readers_texts
from sentlab.data.readers.files import streamed, text_rows
from sentlab.data.rows import DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair, Triple


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
        (SICK.replace("sentence_B", "sentence_B\tsentence_A") + "\n", r"s\.txt:1: more than one column is called sent"),
        (f"{SICK}\n1\tA\tB\t4.5\n", r"s\.txt:2: expected 5 columns, found 4"),
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
    faults = {
        '{"sentence1": "a"}': "expected strings in sentence1, sentence2, gold_label",
        "no json": "not JSON",
        "[" * 100_000: "not JSON",
        "3": "expected a JSON object with sentence1",
    }
    for bad, says in faults.items():
        with pytest.raises(ValueError, match=rf"two\.jsonl:2: {says}"):
            readers.read_nli_jsonl(write(two, line("e", "f", "neutral") + bad + "\n"))


@pytest.mark.parametrize("key", ["sentence1", "sentence2", "gold_label"])
@pytest.mark.parametrize("value", [None, 3, ["a"]])
def test_nli_jsonl_names_the_line_of_a_value_that_is_no_string(tmp_path, key, value):
    item = {"sentence1": "a", "sentence2": "b", "gold_label": "neutral", key: value}
    path = write(tmp_path / "dev.jsonl", json.dumps(item) + "\n")
    with pytest.raises(ValueError, match=r"dev\.jsonl:1: expected strings in sentence1, sentence2, gold_label"):
        readers.read_nli_jsonl(path)


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
    assert text_rows(streamed(path)) == (["one sentence", "another\u2028one"], {"blank line": 2})
    with pytest.raises(ValueError, match=r"t\.txt:3: expected UTF-8"):
        text_rows(streamed(write(path, b"a\nb\n\xe9\n")))


LEARNT = "One line of five words.\r\n\nToo short.\n  Another \u2028 line of five words. \nOne line of five words.\n \n"


@pytest.mark.parametrize(("name", "pack"), [("t.txt", bytes), ("t.txt.gz", gzip.compress), ("t.txt.xz", lzma.compress)])
def test_sentences_to_learn_from_are_distinct_and_not_too_short(tmp_path, name, pack):
    path = write(tmp_path / name, pack(LEARNT.encode()))
    assert readers_texts.read_sentences(path) == (
        ["One line of five words.", "Another \u2028 line of five words."],
        {"blank line": 2, "fewer than 5 words": 1, "repeated sentence": 1},
    )
    assert readers_texts.read_sentences(write(path, pack(b"One line of five words."))).left_out == {}
    with pytest.raises(ValueError, match=r"t\.txt.*:3: expected UTF-8, found byte 0xe9"):
        readers_texts.read_sentences(write(path, pack(b"a\nb\n\xe9\n")))


def test_articles_are_cut_into_sentences(tmp_path):
    text = 'He said "No, I will not." Then he left the big city. Was it 3.5 km away? Yes!'
    path = write(tmp_path / "t.txt", f"{text}\n\n(It may have been so.) It was.\nThen he left the big city.\n")
    assert readers_texts.read_articles(path) == (
        ['He said "No, I will not."', "Then he left the big city.", "Was it 3.5 km away?", "(It may have been so.)"],
        {"blank line": 1, "fewer than 5 words": 2, "repeated sentence": 1},
    )
    assert " ".join(readers_texts.SENTENCE_END.split(text)) == text  # cutting loses nothing
    with pytest.raises(ValueError, match=r"t\.txt:1: expected UTF-8, found byte 0xff"):
        readers_texts.read_articles(write(path, b"A sentence. And \xff another one.\n"))


def test_a_broken_xz_file_is_named(tmp_path):
    packed = lzma.compress(LEARNT.encode())
    for broken in (packed[:-9], b"no xz", packed[:20] + b"\xff" * 40):
        with pytest.raises(ValueError, match=r"t\.txt\.xz: not a whole xz file"):
            readers_texts.read_sentences(write(tmp_path / "t.txt.xz", broken))


QUORA = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]


def quora(path: Path, *rows: tuple[str, str, str]) -> Path:
    separator = "\t" if path.suffix == ".tsv" else ","
    records = [QUORA, *([str(i), "1", "2", *row] for i, row in enumerate(rows))]
    return write(path, "".join(separator.join(record) + "\n" for record in records))


@pytest.mark.parametrize("name", ["quora_duplicate_questions.tsv", "quora_positive_eval.csv"])
def test_quora_pairs_and_second_questions_as_distractors(tmp_path, name):
    path = quora(
        tmp_path / name,
        ("Why?", " How come? ", "1"),
        ('"Is ""x, y""\tor z\nright?"', 'Is it 5" wide?', "0"),
        ("", "What?", "1"),
        ("Who?", " ", "0"),
        ("\u202awhat is\u202c it?", "Is it?", "1"),
        ("A", '"B, ""C"""', "1"),
    )
    assert readers.read_quora(path) == (
        [
            DuplicateQuestion("Why?", "How come?"),
            DuplicateQuestion('Is it 5" wide?', None),
            DuplicateQuestion("\u202awhat is\u202c it?", "Is it?"),  # marks inside a question stay
            DuplicateQuestion("A", 'B, "C"'),
        ],
        {"missing question": 2},
    )


def test_quora_single_questions_are_distractors(tmp_path):
    pairs = quora(tmp_path / "pairs.csv", ("Why?", "How come?", "1"), ("", "x", "1"))
    singles = write(tmp_path / "singles.csv", 'question_text\nWhat?\n"One, ""two"""\n" "\n')
    assert readers.read_quora(pairs, singles) == (
        [DuplicateQuestion("Why?", "How come?"), DuplicateQuestion("What?", None),
         DuplicateQuestion('One, "two"', None)],
        {"missing question": 2},
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"singles\.csv:1: .*no question_text in \['question'\]"):
        readers.read_quora(pairs, write(singles, "question\nWhat?\n"))
    with pytest.raises(ValueError, match=r"singles\.csv:2: expected 1 columns, found 2"):
        readers.read_quora(pairs, write(singles, "question_text\nWhat, now?\n"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("9\t1\t2\tc\td\tyes", r"q\.tsv:4: expected an is_duplicate of 0 or 1, found 'yes'"),
        ("9\t1\t2\t\td\t", r"q\.tsv:4: expected an is_duplicate of 0 or 1, found ''"),
        ("9\t1\t2\tc\t1", r"q\.tsv:4: expected 6 columns, found 5"),
        ('9\t1\t2\t"c\td\t1', r"q\.tsv:4: not valid CSV"),
    ],
)
def test_quora_errors_name_file_and_line(tmp_path, row, message):
    path = quora(tmp_path / "q.tsv", ('"a\nb"', "c", "1"))
    with pytest.raises(ValueError, match=message):
        readers.read_quora(write(path, path.read_text() + row + "\n"))
    with pytest.raises(ValueError, match=r"q\.tsv:1: .*no question1, question2, is_duplicate"):
        readers.read_quora(write(path, path.read_text().replace("\t", ",")))


TITLES = "1\thow do i x\tbody one\n2\tx , how ?\t\n30\twhy \u2028 y\tbody\n4\t \tno title\n5\twhere\n"


def test_askubuntu_ranks_titles(tmp_path):
    texts = write(tmp_path / "text_tokenized.txt", TITLES)
    lines = ["1\t30 2\t2 5 30\t3.5 2 1", "5\t\t2 1\t1 1", "2\t4 1\t1 4\t2 1", "30\t1 5\t2 1\t9 8", ""]
    queries = write(tmp_path / "test.txt", "\r\n".join(lines))
    read = readers.read_askubuntu(texts, queries)
    assert read.rows == [
        RankingQuery("how do i x", ("x , how ?", "where", "why \u2028 y"), (True, False, True)),
        RankingQuery("where", ("x , how ?", "how do i x"), (False, False)),
        RankingQuery("why \u2028 y", ("x , how ?", "how do i x"), (False, True)),
    ]
    assert read.left_out == {"missing question": 1, "relevant id that is no candidate": 1}
    packed = write(tmp_path / "text_tokenized.txt.gz", gzip.compress(TITLES.encode()))
    assert readers.read_askubuntu(packed, queries) == read
    for broken in (packed.read_bytes()[:-9], b"no gzip", packed.read_bytes()[:12] + b"\xff" * 40):
        with pytest.raises(ValueError, match=r"text_tokenized\.txt\.gz: not a whole gzip file"):
            readers.read_askubuntu(write(packed, broken), queries)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2\t1\t1 5", r"dev\.txt:2: expected 4 tab-separated columns: query, relevant, candidates, scores"),
        ("\t1\t1 5\t2 1", r"dev\.txt:2: expected 4 tab-separated columns"),
        ("2\t1\t1 5 1\t3 2 1", r"dev\.txt:2: .*found 3 ids, 2 of them different, and 3 scores"),
        ("2\t1\t1 5\t3", r"dev\.txt:2: .*found 2 ids, 2 of them different, and 1 scores"),
        ("2\t1\t\t", r"dev\.txt:2: expected candidate ids, each once and with a score; found 0 ids"),
        ("2\t1\t1 77\t2 1", r"dev\.txt:2: question 77 is not in .*text\.txt"),
        ("88\t1\t1 5\t2 1", r"dev\.txt:2: question 88 is not in .*text\.txt"),
    ],
)
def test_askubuntu_errors_name_file_and_line(tmp_path, line, message):
    texts = write(tmp_path / "text.txt", TITLES)
    with pytest.raises(ValueError, match=message):
        readers.read_askubuntu(texts, write(tmp_path / "dev.txt", f"1\t2\t2 5\t2 1\n{line}\n"))


def test_askubuntu_texts_errors_name_file_and_line(tmp_path):
    queries = write(tmp_path / "dev.txt", "1\t2\t2 5\t2 1\n")
    with pytest.raises(ValueError, match=r"text\.txt:6: expected id, title and body, .*found one column"):
        readers.read_askubuntu(write(tmp_path / "text.txt", TITLES + "6 title body\n"), queries)
    with pytest.raises(ValueError, match=r"text\.txt:6: .*found an id that has another title above"):
        readers.read_askubuntu(write(tmp_path / "text.txt", TITLES + "30\tother\tbody\n"), queries)


@pytest.mark.realdata
def test_public_quora_keeps_its_stray_marks(real_data):
    folder = real_data / "quora"
    rows, left_out = readers.read_quora(
        folder / "quora_positive_eval.csv", folder / "quora_single_questions_unlabelled.csv"
    )
    positives = [row for row in rows if row.duplicate is not None]
    assert (len(positives), len(rows) - len(positives), left_out) == (14926, 9838, {})
    assert sum("\u202a" in row.question + row.duplicate for row in positives) == 2
    assert len({row.question for row in positives}) == 13020


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


MSMARCO = 'what is a dog\ta "dog\u2028 is an animal\tcats sleep\r\n who ran \the ran\tnobody\nno answer\t \tno\n'


@pytest.mark.parametrize(("name", "pack"), [("t.tsv", bytes), ("t.tsv.gz", gzip.compress), ("t.tsv.xz", lzma.compress)])
def test_msmarco_triples_plain_or_compressed(tmp_path, name, pack):
    path = write(tmp_path / name, pack(("\ufeff" + MSMARCO).encode()))
    rows = [
        Triple("what is a dog", 'a "dog\u2028 is an animal', "cats sleep"),
        Triple("who ran", "he ran", "nobody"),
    ]
    assert readers_texts.read_msmarco(path) == (rows, {"blank text": 1})
    assert readers_texts.read_msmarco(path, limit=1) == (rows[:1], {})
    assert readers_texts.read_msmarco(write(path, pack(b""))) == ([], {})
    for line, message in (
        ("query\tpassage\n", "expected query, positive and negative passage, separated by tabs; found 2 columns"),
        ("\n", "found 1 column$"),
        ("1\tq\tp\tn\n", "found 4 columns"),
        (b"q\tp \xff\tn\n", "expected UTF-8, found byte 0xff"),
    ):
        text = MSMARCO.encode() + (line if isinstance(line, bytes) else line.encode())
        with pytest.raises(ValueError, match=rf"{name}:4: .*{message}"):
            readers_texts.read_msmarco(write(path, pack(text)))
        assert readers_texts.read_msmarco(path, limit=2) == (rows, {})  # what comes after the limit is not looked at


def test_msmarco_keeps_a_query_once_and_names_a_file_that_is_cut_off(tmp_path):
    lines = "".join(f"the query\tthe passage\tother {n}\n" for n in range(1000))
    rows = readers_texts.read_msmarco(write(tmp_path / "t.tsv", lines)).rows
    assert len({id(row.anchor) for row in rows}) == len({id(row.positive) for row in rows}) == 1
    for suffix, kind, packed in (
        ("gz", "gzip", gzip.compress(lines.encode())),
        ("xz", "xz", lzma.compress(lines.encode())),
    ):
        for broken in (packed[:-30], b"not packed"):
            with pytest.raises(ValueError, match=rf"t\.tsv\.{suffix}: not a whole {kind} file"):
                readers_texts.read_msmarco(write(tmp_path / f"t.tsv.{suffix}", broken))


ANSWERS = [  # question, sentence, label
    ("how big is it", "it is big .", "0"),
    ("how big is it", "it is `` two '' metres", "1"),
    ("how big is it", "nobody knows", "0"),
    ("who", "him", "1"),
    ("who", "them", "1"),
    ("who", "it", "0"),
    ("who", "it", "0"),
    ("who", "us", "1"),
    ("who", "him", "0"),
    ("why", "because", "1"),
    ("when", "never", "0"),
    ("how big is it", "3 metres", "1"),
    ("where", " ", "1"),
]


def in_three_files(folder: Path, answers: list[tuple[str, str, str]]) -> list[Path]:
    names = ("train_a.toks", "train_b.toks", "train_sim.txt")
    return [
        write(folder / name, "".join(f"{line}\n" for line in column))
        for name, column in zip(names, zip(*answers, strict=True), strict=True)
    ]


def test_wikiqa_pairs_each_answer_with_a_wrong_sentence_of_its_question(tmp_path):
    rows, left_out = readers_texts.read_wikiqa(*in_three_files(tmp_path, ANSWERS))
    assert [(row.anchor, row.positive) for row in rows] == [
        ("how big is it", "it is `` two '' metres"),
        ("how big is it", "3 metres"),
        ("who", "him"),
        ("who", "them"),
        ("who", "us"),
    ]
    assert {row.negative for row in rows[:2]} == {"it is big .", "nobody knows"}  # each of them once
    assert {row.negative for row in rows[2:]} == {"it"}  # "him" is right too; one wrong sentence serves them all
    assert left_out == {"blank sentence": 1, "sentence of no triple": 4}  # it, him, because, never
    again = readers_texts.read_wikiqa(*in_three_files(tmp_path, ANSWERS[3:] + ANSWERS[:3])).rows
    assert {row for row in again if row.anchor == "who"} == set(rows[2:])


def test_wikiqa_draws_the_wrong_sentence_from_the_question(tmp_path):
    answers = [(f"question {n}", f"sentence {i}", str(int(i == 0))) for n in range(50) for i in range(5)]
    rows = readers_texts.read_wikiqa(*in_three_files(tmp_path, answers)).rows
    assert len(rows) == 50
    assert {row.negative for row in rows} == {f"sentence {i}" for i in range(1, 5)}
    assert rows == readers_texts.read_wikiqa(*in_three_files(tmp_path, answers)).rows


def test_wikiqa_as_released_gives_the_same_triples(tmp_path):
    head = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    text = head + "".join(f"Q1\t{q}\tD1\tA title\tD1-0\t{s}\t{label}\r\n" for q, s, label in ANSWERS)
    path = write(tmp_path / "WikiQA-train.tsv", text)
    assert readers_texts.read_wikiqa_tsv(path) == readers_texts.read_wikiqa(*in_three_files(tmp_path, ANSWERS))
    for line, message in (
        ("Q1\tq\tD1\tt\tD1-0\ts\n", ":15: expected 7 columns, found 6"),
        ("Q1\tq\tD1\tt\tD1-0\ts\t2\n", ":15: expected a label of 0 or 1, found '2'"),
    ):
        with pytest.raises(ValueError, match=rf"WikiQA-train\.tsv{message}"):
            readers_texts.read_wikiqa_tsv(write(path, text + line))
    with pytest.raises(ValueError, match=r"WikiQA-train\.tsv:1: .*no Label"):
        readers_texts.read_wikiqa_tsv(write(path, head.replace("\tLabel", "")))


def test_wikiqa_errors_name_file_and_line(tmp_path):
    paths = in_three_files(tmp_path, [*ANSWERS[:2], ("q", "s", "yes")])
    with pytest.raises(ValueError, match=r"train_sim\.txt:3: expected a label of 0 or 1, found 'yes'"):
        readers_texts.read_wikiqa(*paths)
    write(paths[2], "0\n")
    with pytest.raises(ValueError, match=r"train_a\.toks has 3, .*train_b\.toks has 3, .*train_sim\.txt has 1 lines"):
        readers_texts.read_wikiqa(*paths)


def test_triples_are_loaded_by_name(tmp_path):
    in_three_files(tmp_path / "WikiQA", ANSWERS)
    assert len(data.load("wikiqa", "train", tmp_path)) == 5
    write(tmp_path / "WikiQACorpus/WikiQA-train.tsv", "Question\tSentence\tLabel\nq\ta\t1\nq\tb\t0\n")
    assert data.load("wikiqa", "train", tmp_path).rows == (Triple("q", "a", "b"),)  # the release comes first
    for suffix, pack in ((".gz", gzip.compress), ("", bytes)):
        write(tmp_path / f"msmarco/triples.train.small.tsv{suffix}", pack(MSMARCO.encode()))
        corpus = data.load("msmarco", "train", tmp_path)
        assert (len(corpus), corpus.left_out) == (2, {"blank text": 1})
        assert f"triples.train.small.tsv{suffix} in" in corpus.source
    assert "2 rows, where the original has 39,780,811" in corpus.source
    limits = {files.read.keywords["limit"] for files in sources.PUBLIC["msmarco"].files["train"]}
    assert limits == {200_000 * 32}
    with pytest.raises(ValueError, match="msmarco has no split 'test'; it has train"):
        data.load("msmarco", "test", tmp_path)


@pytest.mark.realdata
@pytest.mark.parametrize(("split", "rows", "unused"), [("train", 1019, 6653), ("dev", 136, 858), ("test", 283, 1789)])
def test_public_wikiqa(real_data, split, rows, unused):
    corpus = data.load("wikiqa", split, real_data)
    assert (len(corpus), corpus.left_out) == (rows, {"sentence of no triple": unused})
    assert all(row.positive != row.negative for row in corpus)
