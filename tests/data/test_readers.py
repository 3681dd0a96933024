"""Readers on small files that the tests write, quirk by quirk: what is read, what is left out, which line is named."""

from __future__ import annotations

import gzip
import json
import lzma
import math
from pathlib import Path
from typing import Any

import pytest

from sentlab.data import readers
from sentlab.data.rows import (
    DuplicateQuestion,
    LabelledPair,
    PhrasePair,
    RankingQuery,
    ScoredPair,
    Triple,
    WordPair,
    WordPairInContext,
)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def sts(folder: Path, pairs: str | bytes, golds: str, subset: str = "x") -> Path:
    write(folder / f"STS.input.{subset}.txt", pairs)
    write(folder / f"STS.gs.{subset}.txt", golds)
    return folder


def test_sts_keeps_quotes_and_line_separators_inside_sentences(tmp_path: Path) -> None:
    folder = sts(tmp_path, 'a "b\tc" d\ne\u2028f\tg\x85h, i\n', "5\n0.25\n")
    assert readers.read_sts_year(folder).rows == [
        ScoredPair('a "b', 'c" d', 5.0, "x"), ScoredPair("e\u2028f", "g\x85h, i", 0.25, "x"),
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sts_leaves_out_both_sides_of_a_blank_gold_and_counts(tmp_path: Path, end: str) -> None:
    folder = sts(tmp_path, end.join(["a\tb", "c\td", "e\tf", "g\t ", ""]), end.join(["", "3", " ", "1", ""]))
    assert readers.read_sts_year(folder) == ([ScoredPair("c", "d", 3.0, "x")], {"no gold": 2, "blank sentence": 1})


def test_sts_year_is_in_alphabetical_order_and_sums_what_is_left_out(tmp_path: Path) -> None:
    sts(tmp_path, "e\tf\ng\th\n", "2\n\n", "surprise.News")
    sts(tmp_path, "a\tb\nc\td\n", "\n1\n", "MSRpar")
    read = readers.read_sts_year(tmp_path)
    assert [(row.text_a, row.subset) for row in read.rows] == [("c", "MSRpar"), ("e", "surprise.News")]
    assert read.left_out == {"no gold": 2}
    assert readers.read_sts_texts(tmp_path) == list("abcdefgh")  # scored or not


def test_stsb_is_tab_separated_with_plain_quotes_and_extra_columns(tmp_path: Path) -> None:
    text = (
        'main-news\tMSRpar\t2012\t0001\t5.000\t"A, b\tC d\nmain-news\tMSRpar\t2012\t2\t1.5\tE" f\tG\tsource\tsource\n'
    )
    read = readers.read_stsb(write(tmp_path / "sts-dev.csv", text))
    assert read == ([ScoredPair('"A, b', "C d", 5.0), ScoredPair('E" f', "G", 1.5)], {})


SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def test_snli_in_three_files(tmp_path: Path) -> None:
    texts = {"s1": "a . \nb\n", "s2": "c\nd\n", "l": "neutral\n-\n"}
    paths = [write(tmp_path / name, text) for name, text in texts.items()]
    assert readers.read_snli(*paths) == ([LabelledPair("a .", "c", "neutral")], {"no gold": 1})
    write(paths[1], "c\n")
    with pytest.raises(ValueError, match=r"s1, .*s2, .*l have 2, 1, 2 lines"):
        readers.read_snli(*paths)


def test_nli_jsonl_reads_file_after_file_and_leaves_out_disagreement(tmp_path: Path) -> None:
    def line(a: str, b: str, gold: str) -> str:
        return json.dumps({"sentence1": a, "sentence2": b, "gold_label": gold, "annotator_labels": []}) + "\n"

    one = write(tmp_path / "one.jsonl", line("a\u2028", "b", "entailment") + line("c", "d", "-"))
    two = write(tmp_path / "two.jsonl", line("e", "f", "contradiction"))
    rows = [LabelledPair("a", "b", "entailment"), LabelledPair("e", "f", "contradiction")]
    assert readers.read_nli_jsonl(one, two) == (rows, {"no gold": 1})


def test_mnli_csv_is_real_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "m.csv", 'premise,hypothesis,label\n"a, ""b""\nc",d,neutral\n\ne,f,-\n')
    assert readers.read_mnli_csv(path) == ([LabelledPair('a, "b"\nc', "d", "neutral")], {"no gold": 1})


@pytest.mark.parametrize("name", ["quora_duplicate_questions.tsv.xz", "quora_positive_eval.csv"])
def test_quora_pairs_and_second_questions_as_distractors(tmp_path: Path, name: str) -> None:
    rows = [
        ("id", "qid1", "qid2", "question1", "question2", "is_duplicate"), ("1", "1", "2", "Why?", " How come? ", "1"),
        ("2", "1", "2", '"Is ""x, y"" or z\nright?"', 'Is it 5" wide?', "0"), ("3", "1", "2", "", "What?", "1"),
        ("4", "1", "2", "\u202awhat is\u202c it?", "Is it?", "1"),
    ]  # fmt: skip
    separator = "\t" if ".tsv" in name else ","
    text = "".join(separator.join(row) + "\n" for row in rows).encode()
    path = write(tmp_path / name, lzma.compress(text) if name.endswith("xz") else text)
    expected = [
        DuplicateQuestion("Why?", "How come?"),
        DuplicateQuestion('Is it 5" wide?', None),
        DuplicateQuestion("\u202awhat is\u202c it?", "Is it?"),  # marks inside a question stay
    ]
    assert readers.read_quora(path) == (expected, {"missing question": 1})
    singles = write(tmp_path / "singles.csv", 'question_text\n"One, ""two"""\n" "\n')
    expected.append(DuplicateQuestion('One, "two"', None))
    assert readers.read_quora(path, singles) == (expected, {"missing question": 2})


TITLES = "1\thow do i x\tbody one\n2\tx , how ?\t\n30\twhy \u2028 y\tbody\n4\t \tno title\n5\twhere\n"


def test_askubuntu_ranks_titles(tmp_path: Path) -> None:
    texts = write(tmp_path / "text_tokenized.txt.gz", gzip.compress(TITLES.encode()))
    lines = ["1\t30 2\t2 5 30\t3.5 2 1", "5\t\t2 1\t1 1", "2\t4 1\t1 4\t2 1", "30\t1 5\t2 1\t9 8", ""]
    read = readers.read_askubuntu(texts, write(tmp_path / "test.txt", "\r\n".join(lines)))
    assert read.rows == [
        RankingQuery("how do i x", ("x , how ?", "where", "why \u2028 y"), (True, False, True)),
        RankingQuery("where", ("x , how ?", "how do i x"), (False, False)),
        RankingQuery("why \u2028 y", ("x , how ?", "how do i x"), (False, True)),
    ]
    assert read.left_out == {"missing question": 1}


SIMLEX = "word1\tword2\tPOS\tSimLex999\tconc(w1)\tconc(w2)\tconcQ\tAssoc(USF)\tSimAssoc333\tSD(SimLex)\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("old\tnew\t1.58\nOPEC\tcountry\t5\n", [WordPair("old", "new", 1.58), WordPair("OPEC", "country", 5.0)]),
        ("sun sunlight 50.0000\r\nice cream  3\r\n", [WordPair("sun", "sunlight", 50.0), WordPair("ice", "cream", 3)]),
        ("ice cream\tcold dish\t7\n", [WordPair("ice cream", "cold dish", 7.0)]),
        (SIMLEX + "old\tnew\tA\t1.58\t2.72\t2.81\t2\t7.25\t1\t0.41\n", [WordPair("old", "new", 1.58)]),
    ],
)
def test_word_pairs_in_every_layout(tmp_path: Path, text: str, rows: list[WordPair]) -> None:
    assert readers.read_word_pairs(write(tmp_path / "pairs.txt", text)) == (rows, {})


def scws(a: str, b: str, score: str = "2.5") -> str:
    return "\t".join(["7", "bank", "n", "bank", "n", a, b, score, *["1.0"] * 10]) + "\n"


def test_scws_takes_the_marks_out_and_keeps_the_places(tmp_path: Path) -> None:
    text = scws("the <b> Bank </b> lent", "<b> banks </b> of a  river") + scws("a <b>x</b>", "b <b> y </b> .")
    first, second = readers.read_scws(write(tmp_path / "ratings.txt", text)).rows
    assert first == WordPairInContext("bank", "bank", 2.5, "the Bank lent", (4, 8), "banks of a river", (0, 5))
    assert (second.context_a, second.span_a, second.context_b, second.span_b) == ("a x", (2, 3), "b y .", (2, 3))


def test_semeval_items(tmp_path: Path) -> None:
    text = "sudden\tJJ\nrush\tNN\nspate\n1\n\t\nbook\tNN\nfacebook\n0\nlight\tJJ\nsleigh\tNN\ngangway\n0\n"
    assert readers.read_semeval_5a(write(tmp_path / "en.testSet", text)) == (
        [LabelledPair("sudden rush", "spate", "similar"), LabelledPair("light sleigh", "gangway", "dissimilar")],
        {"blank word": 1},
    )


def ppdb(a: str, b: str, label: str, features: str = "PPDB2.0Score=5.1 Equivalence=0.25", bar: str = " ||| ") -> str:
    return bar.join(["[NP]", a, b, features, "0-0", label]) + "\n"


def test_ppdb_relations_scores_and_what_is_left_out(tmp_path: Path) -> None:
    lines = [
        ppdb("parts of it", "various parts", "Equivalence", "-logp(e1|e2)=2.4 Equivalence=0.52 Independent=0.2 X=NA"),
        ppdb("the results", "the outcome", "ForwardEntailment", bar="|||"),
        ppdb("the outcome", "the results", "ReverseEntailment", "Equivalence=1e-3 AGigaSim=0.9"),
        ppdb("hundreds", "thousands", "Independent", "Equivalence=NA"),
        ppdb("some", "many", "Independent", "NonEquivalence=0.5"), ppdb("all", "none", "Exclusion"),
        ppdb("all", "every one", "OtherRelated"), ppdb("of [NP,1]", "by [NP,1]", "Equivalence"),
        ppdb("as [NP/NP,1] did", "as done", "Equivalence"), ppdb("one two three four five six", "six", "Equivalence"),
        ppdb("seven", "one two three four five six seven", "Equivalence"), ppdb("the UN", "The un", "Equivalence"),
        ppdb("", "x", "Equivalence"),
    ]  # fmt: skip
    read = readers.read_ppdb(write(tmp_path / "x.gz", gzip.compress("".join(lines).encode())))
    relations = ["equivalence", "entailment", "entailment", "independent", "independent", "equivalence"]
    assert [row.relation for row in read.rows] == relations
    assert read.rows[1] == PhrasePair("the results", "the outcome", "entailment", 0.25)
    assert [row.score for row in read.rows] == pytest.approx([0.52, 0.25, 0.001, math.nan, math.nan, 0.25], nan_ok=True)
    assert read.left_out == {
        "labelled Exclusion": 1, "labelled OtherRelated": 1, "nonterminal": 2, "more than 6 words": 1,
        "equal but for case": 1, "blank phrase": 1,
    }  # fmt: skip


def test_slice_rows_mark_the_paraphrase_in_its_passage(tmp_path: Path) -> None:
    lines = [
        "\tline\tparaphrase\tpassage\tgoldsim\n",
        "7\tA cat naps.\tA cat sleeps.\tAt noon a cat sleeps in the sun.\t4.8\n",
        '9\tHe eats.\tA man eats.\t"Ann turned and said, ""A man eats."""\t1.714\n',
        "12\tIt rains.\tRain falls.\tAll day the rain was falling.\t3.0\n",
        "13\t\tRain falls.\tRain falls here.\t3.0\n",
    ]
    read = readers.read_stsb_context(write(tmp_path / "x.tsv", "".join(lines)))
    cat, man, rain = read.rows
    assert (cat.phrase, cat.context[cat.start : cat.end], cat.score) == ("A cat naps.", "a cat sleeps", 4.8)
    assert (man.context, man.context[man.start : man.end]) == ('Ann turned and said, "A man eats."', "A man eats")
    assert (rain.start, rain.end) == (0, len(rain.context))  # its passage has other words
    assert read.left_out == {"blank sentence": 1}


def test_msmarco_keeps_a_query_once_and_reads_no_further_than_the_limit(tmp_path: Path) -> None:
    text = 'a dog?\ta "dog\u2028 is\tcats sleep\r\n who ran \the ran\tnobody\nno\t \tno\na dog?\tit is\tno\nbroken\n'
    path = write(tmp_path / "t.tsv.xz", lzma.compress(("\ufeff" + text).encode()))
    rows, left_out = readers.read_msmarco(path, limit=4)
    assert rows[:2] == [Triple("a dog?", 'a "dog\u2028 is', "cats sleep"), Triple("who ran", "he ran", "nobody")]
    assert rows[0].anchor is rows[2].anchor
    assert left_out == {"blank text": 1}


@pytest.mark.parametrize(("name", "pack"), [("t.txt", bytes), ("t.txt.gz", gzip.compress), ("t.txt.xz", lzma.compress)])
def test_sentences_to_learn_from_are_distinct_and_not_too_short(tmp_path: Path, name: str, pack: Any) -> None:
    text = "One line of five words.\r\n\nToo short.\n Another \u2028 line of five words. \nOne line of five words.\n \n"
    assert readers.read_sentences(write(tmp_path / name, pack(text.encode()))) == (
        ["One line of five words.", "Another \u2028 line of five words."],
        {"blank line": 2, "fewer than 5 words": 1, "repeated sentence": 1},
    )


def test_articles_are_cut_into_sentences(tmp_path: Path) -> None:
    text = 'He said "No, I will not." Then he left the big city. Was it 3.5 km away? Yes!'
    path = write(tmp_path / "t.txt", f"{text}\n\n(It may have been so.) It was.\nThen he left the big city.\n")
    assert readers.read_articles(path) == (
        ['He said "No, I will not."', "Then he left the big city.", "Was it 3.5 km away?", "(It may have been so.)"],
        {"blank line": 1, "fewer than 5 words": 2, "repeated sentence": 1},
    )
    assert " ".join(readers.SENTENCE_END.split(text)) == text  # cutting loses nothing


STSB = "g\td\t2012\t1\t5.0\ta\tb\n"
WRONG = {  # what is wrong: the reader, its files, and the place that the error names
    "lines that do not go together": (readers.read_sts_year, ("a\tb\nc\td\n", "1\n"), "STS.gs.x.txt have 2, 1 lines"),
    "nan": (readers.read_sts_year, ("a\tb\nc\td\n", "nan\n2\n"), "STS.gs.x.txt:1: "),
    "no UTF-8": (readers.read_sts_year, (b"a\tb\nc\xff\td\n", "1\n2\n"), "STS.input.x.txt: not UTF-8"),
    "no number": (readers.read_sts_year, ("a\tb\nc\td\n", "1\nhigh\n"), "STS.gs.x.txt:2: "),
    "a number off the scale": (readers.read_sts_year, ("a\tb\nc\td\n", "1\n2012\n"), "STS.gs.x.txt:2: "),
    "too few columns": (readers.read_stsb, STSB + "g\td\t2012\t1\t5.0\ta\n", "file:2: "),
    "a header without a column": (readers.read_sick, SICK.replace("sentence_B", "other"), "file:1: "),
    "a short record": (readers.read_sick, SICK + "\n1\tA\tB\t4.5\n", "file:2: "),
    "below the scale of SICK": (readers.read_sick, SICK + "\n1\tA\tB\t0.5\tNEUTRAL\n", "file:2: "),
    "an open quote": (readers.read_mnli_csv, 'premise,hypothesis,label\na,b,neutral\n"c,d,neutral\n', "file:3: "),
    "no JSON": (readers.read_nli_jsonl, "[" * 100_000, "file:1: "),
    "no text": (readers.read_nli_jsonl, '{"sentence1": 3, "sentence2": "a", "gold_label": "neutral"}\n', "file:1: "),
    "two marks": (readers.read_scws, scws("<b> x </b> <b> y </b>", "<b> bank </b>"), "file:1: "),
    "no tag": (readers.read_semeval_5a, "a\tX\nb\nc\n1\n", "file:1: "),
    "PPDB 1.0": (readers.read_ppdb, "[NP] ||| a ||| b ||| Equivalence=1 ||| 0-0\n", "file:1: "),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_errors_name_file_and_line(tmp_path: Path, wrong: str) -> None:
    read, content, place = WRONG[wrong]
    source = sts(tmp_path, *content) if isinstance(content, tuple) else write(tmp_path / "file", content)
    with pytest.raises(ValueError) as raised:  # noqa: PT011  the place is looked for below
        read(source)
    assert place in str(raised.value)


@pytest.mark.parametrize(
    ("ending", "packed"), [("gz", gzip.compress(b"x" * 999)), ("xz", lzma.compress(b"x" * 999))], ids=["gz", "xz"]
)
def test_a_broken_archive_is_named(tmp_path: Path, ending: str, packed: bytes) -> None:
    for broken in (packed[:-9], b"not packed", packed[:20] + b"\xff" * 40):
        with pytest.raises(ValueError, match=rf"t\.{ending}: not UTF-8, or not a whole"):
            list(readers.lines_of(write(tmp_path / f"t.{ending}", broken)))
