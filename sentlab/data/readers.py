"""Readers of public files: paths in, typed rows out, with counts of what was left out.

Rows without gold, and rows with a blank text, are left out and counted by reason. A wrong value is a ValueError that
names file and line. Texts lose surrounding white space and nothing else: no lower-casing, no unescaping, no
tokenisation. A file is UTF-8, and may be compressed as `.gz` or `.xz`.
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import math
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import regex

from sentlab.data import rows as kinds
from sentlab.data.rows import LabelledPair, ScoredPair, added_up

Row = TypeVar("Row")
Items = Iterable[tuple[Sequence[Any], str]]  # the columns of each row, and where it is (`file:line`)
NLI_LABELS = ("entailment", "neutral", "contradiction")
SENTENCE_END = regex.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'’”)])) +(?=[\"'‘“(]*[\p{Lu}0-9])")
MIN_WORDS = 5  # of a sentence to learn from; shorter ones are often pieces, cut off after "U.S." or the like
MAX_WORDS = 6  # of a phrase, as in section 3.2 of the Universal paper
PPDB_RELATIONS = ("equivalence", "entailment", "independent")  # section 3.1 removes Exclusion and OtherRelated
_EQUIVALENCE = re.compile(r"(?:^|\s)Equivalence=(?!NA(?:\s|$))(\S*)")
_NONTERMINAL = re.compile(r"(?:^|\s)\[\S+\](?:\s|$)")  # [NP], [NP/NP,1]


class Read(NamedTuple, Generic[Row]):
    """Rows in file order, and reason -> number of rows left out."""

    rows: list[Row]
    left_out: dict[str, int]


class LeftOut(Exception):
    """A row is left out; the text is the reason, which is counted."""


def rows_of(items: Items, make: Callable[..., Row]) -> Read[Row]:
    """Make a row of each item's columns; `make` raises LeftOut for one to leave out, and ValueError for a wrong one."""
    rows, left_out = list[Row](), Counter[str]()
    for columns, where in items:
        try:
            rows.append(make(*columns))
        except LeftOut as reason:
            left_out[str(reason)] += 1
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"{where}: {error}") from error
    return Read(rows, dict(left_out))


def chained(*parts: Read[Row]) -> Read[Row]:
    """Put the rows of several parts behind each other."""
    return Read([row for part in parts for row in part.rows], added_up(*(part.left_out for part in parts)))


def lines_of(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file without their ends: line feeds alone, not U+2028 and U+0085 inside sentences."""
    return (line.removesuffix("\n").removesuffix("\r") for line in _whole_lines(path))


def _whole_lines(path: str | Path) -> Iterator[str]:
    opened: Any = {".gz": gzip.open, ".xz": lzma.open}.get(Path(path).suffix.lower(), open)
    with opened(path, "rt", encoding="utf-8-sig", newline="\n") as file:
        try:
            yield from file
        except (UnicodeDecodeError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise ValueError(f"{path}: not UTF-8, or not a whole archive ({error})") from error


def columns_of(path: str | Path, width: int, *, more: bool = False, separator: str | None = "\t") -> Items:
    """Yield the stripped columns of each line, of which there are `width`, or `more`. Quotes are plain text."""
    for n, line in enumerate(lines_of(path), 1):
        columns = [column.strip() for column in line.split(separator)]
        if len(columns) < width or (len(columns) > width and not more):
            raise ValueError(f"{path}:{n}: expected {width} columns, found {len(columns)}: {line[:60]!r}")
        yield columns, f"{path}:{n}"


def csv_records(path: str | Path, names: Sequence[str], separator: str = ",", *, quotes: bool = True) -> Items:
    """Yield some columns of CSV with a header row, stripped, and where each record begins; blank lines are skipped.

    pandas.read_csv would fill up short records, rename a second column of one name, and tell no line. Without `quotes`
    a quote is plain text. A quoted field with a tab and a line break in a .tsv warns: rows may have been joined. The
    first line may be `sep=;`, as Excel takes it.
    """
    csv.field_size_limit(2**31 - 1)  # characters, where the csv module would take 131,072
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    lines = _whole_lines(path)
    told = re.fullmatch("sep=(.)\\s*", first := next(lines, ""))
    separator, lines, skipped = (told[1], lines, 1) if told else (separator, chain([first], lines), 0)
    records = csv.reader(lines, delimiter=separator, strict=True, quoting=quoting)
    plain = "if quotes are plain text in this file, pass quotes=False (--no-quotes)"
    line = 1 + skipped
    try:
        header = [name.strip() for name in next(records, [])]
        if unfit := [name for name in names if header.count(name) != 1]:
            raise ValueError(f"{path}:{line}: expected one column {unfit[0]!r} between {separator!r}, found {header}")
        line = records.line_num + 1 + skipped
        for record in records:
            where, line = f"{path}:{line}", records.line_num + 1 + skipped
            if record and len(record) != len(header):
                raise ValueError(f"{where}: expected {len(header)} columns, found {len(record)}")
            if separator == "\t" and any("\t" in field and "\n" in field for field in record):
                joined = "a quoted field holds a tab and a line break, so several rows may have become one"
                warnings.warn(f"{where}: {joined}; {plain}", stacklevel=2)
            if record:
                yield [record[header.index(name)].strip() for name in names], where
    except csv.Error as error:
        raise ValueError(f"{path}:{line}: not valid CSV ({error}){f'; {plain}' if quotes else ''}") from error


def json_records(*paths: str | Path, names: Sequence[str]) -> Items:
    """Yield some entries of the JSON object of each line, None where one is lacking; blank lines are skipped."""
    for path in paths:
        for n, line in enumerate(lines_of(path), 1):
            if line.strip():
                try:
                    item = json.loads(line, parse_int=float)  # an int may have no more than 4,300 digits
                    yield [item.get(name) for name in names], f"{path}:{n}"
                except (ValueError, AttributeError, RecursionError) as error:
                    raise ValueError(f"{path}:{n}: expected a JSON object with {', '.join(names)} ({error})") from error


def lines_together(*paths: str | Path) -> Items:
    """Yield the lines of files that go line by line together."""
    columns = [list(lines_of(path)) for path in paths]
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"{', '.join(map(str, paths))} have {counts} lines, not as many")
    return ((values, f"{paths[-1]}:{n}") for n, values in enumerate(zip(*columns, strict=True), 1))


def number(text: Any, low: float, high: float) -> float:
    """Parse a number on its scale. One outside is an error too, for then a column is mistaken."""
    if not low <= (value := float(text)) <= high:
        raise ValueError(f"expected a number from {low:g} to {high:g}, found {text!r:.60}")
    return value


def scored_pair(a: str, b: str, gold: str, *, low: float = 0.0, high: float = 5.0, subset: str = "") -> ScoredPair:
    """Make a scored pair of raw columns."""
    a, b, gold = _filled(a, b, gold)
    return ScoredPair(a, b, number(gold, low, high), subset)


def labelled_pair(a: str, b: str, label: str) -> LabelledPair:
    """Make a labelled pair of raw columns."""
    a, b, label = _filled(a, b, label)
    if label not in NLI_LABELS:
        raise ValueError(f"expected a label out of {', '.join(NLI_LABELS)}, found {label!r}")
    return LabelledPair(a, b, label)


def _filled(a: str, b: str, gold: str) -> tuple[str, str, str]:
    """Strip two texts and their gold, of which none may be blank; `-` counts as no gold."""
    a, b, gold = a.strip(), b.strip(), gold.strip()
    if gold in ("", "-"):
        raise LeftOut("no gold")
    if not a or not b:
        raise LeftOut("blank sentence")
    return a, b, gold


def read_sts_year(folder: str | Path) -> Read[ScoredPair]:
    """Read an STS year in SentEval's layout, `STS.input.<set>.txt` with `STS.gs.<set>.txt`, in alphabetical order.

    The sentences hold unbalanced quotes, so they are never parsed as CSV. A blank gold line is a pair that was not
    scored (STS15 and STS16): it is left out with both its sentences.
    """

    def pair(line: str, gold: str, subset: str) -> ScoredPair:
        a, b, *_ = line.split("\t")
        return scored_pair(a, b, gold, subset=subset)

    parts = []
    for path in _inputs(folder):
        subset = path.name.removeprefix("STS.input.").removesuffix(".txt")
        items = lines_together(path, path.with_name(f"STS.gs.{subset}.txt"))
        parts.append(rows_of(items, partial(pair, subset=subset)))
    return chained(*parts)


def read_sts_texts(folder: str | Path) -> list[str]:
    """Read both sentences of every pair of an STS year, scored or not, repeats included."""
    pairs = (columns[:2] for path in _inputs(folder) for columns, _ in columns_of(path, 2, more=True))
    return [text for pair in pairs for text in pair if text]


def _inputs(folder: str | Path) -> list[Path]:
    paths = sorted(Path(folder).glob("STS.input.*.txt"))
    if not paths:
        raise FileNotFoundError(f"{folder}: expected files named STS.input.<set>.txt, found none")
    return paths


def reader(items: Callable[..., Items], make: Callable[..., Row]) -> Callable[..., Read[Row]]:
    """Return a reader of a simple format: `make` a row of the columns that `items` yields of the file or files."""
    return lambda *paths: rows_of(items(*paths), make)


#: Read STS Benchmark: tab-separated in spite of its ending, no header, quotes are plain text.
read_stsb = reader(partial(columns_of, width=7, more=True), lambda *row: scored_pair(row[5], row[6], row[4]))
#: Read SICK relatedness, 1 to 5: tab-separated with a header row, quotes are plain text.
read_sick = reader(
    partial(csv_records, names=("sentence_A", "sentence_B", "relatedness_score"), separator="\t", quotes=False),
    partial(scored_pair, low=1.0),
)
#: Read SNLI in SentEval's layout: `s1.<split>`, `s2.<split>` and `labels.<split>`, line by line together.
read_snli = reader(lines_together, labelled_pair)
#: Read SNLI or MNLI as first released, file after file. Pairs whose annotators did not agree (`-`) are left out.
read_nli_jsonl = reader(partial(json_records, names=("sentence1", "sentence2", "gold_label")), labelled_pair)
#: Read MNLI as CSV with quotes.
read_mnli_csv = reader(partial(csv_records, names=("premise", "hypothesis", "label")), labelled_pair)


def read_quora(path: str | Path, singles: str | Path | None = None) -> Read[kinds.DuplicateQuestion]:
    """Read Quora question pairs, `.tsv` or `.csv` with quotes, `question1`, `question2` and `is_duplicate` (0 or 1).

    A duplicate pair becomes a question and its duplicate. Of any other pair the second question becomes a distractor
    and the first is not used, for PaSeR (section 4.1) searches all second questions with those first ones that have a
    duplicate. `singles` is CSV with `question_text`, all of them distractors.
    """

    def question(first: str, second: str, label: str) -> kinds.DuplicateQuestion:
        if label not in ("0", "1"):
            raise ValueError(f"expected an is_duplicate of 0 or 1, found {label!r}")
        if not first or not second:
            raise LeftOut("missing question")
        return kinds.DuplicateQuestion(first, second) if label == "1" else kinds.DuplicateQuestion(second, None)

    separator = "\t" if ".tsv" in Path(path).suffixes else ","
    pairs = rows_of(csv_records(path, ("question1", "question2", "is_duplicate"), separator), question)
    if singles is None:
        return pairs
    alone = ((("-", *columns, "0"), where) for columns, where in csv_records(singles, ("question_text",)))
    return chained(pairs, rows_of(alone, question))


def read_askubuntu(texts: str | Path, queries: str | Path) -> Read[kinds.RankingQuery]:
    """Read AskUbuntu questions, by their titles, with the candidates that a search engine found for them.

    A query that needs a question without a title is left out and counted. `text_tokenized.txt` has id, title and body,
    separated by tabs; `dev.txt` and `test.txt` have query id, relevant ids, candidate ids and their BM25 scores.
    """
    titles = {key: title for (key, title, *_), _ in columns_of(texts, 2, more=True)}

    def ranking(query: str, relevant: str, candidates: str, _: str) -> kinds.RankingQuery:
        keys, right = candidates.split(), set(relevant.split())
        questions = [titles[key] for key in (query, *keys)]
        if not all(questions):
            raise LeftOut("missing question")
        return kinds.RankingQuery(questions[0], tuple(questions[1:]), tuple(key in right for key in keys))

    return rows_of(columns_of(queries, 4), ranking)


def read_word_pairs(path: str | Path, highest: float = 50.0) -> Read[kinds.WordPair]:
    """Read pairs of words with a graded similarity from 0 to `highest`: SimLex-999, both halves of WS-353, MEN.

    A line holds two words and a score, between tabs or blanks. SimLex-999's first release has a header row and more.
    """

    def pair(a: str, b: str, score: str) -> kinds.WordPair:
        return kinds.WordPair(a, b, number(score, 0, highest))

    header = next(lines_of(path), "")
    if "SimLex999" in header.split("\t"):
        return rows_of(csv_records(path, ("word1", "word2", "SimLex999"), "\t", quotes=False), pair)
    return rows_of(columns_of(path, 3, separator="\t" if "\t" in header else None), pair)


def read_scws(path: str | Path) -> Read[kinds.WordPairInContext]:
    """Read SCWS, pairs of words each marked `<b> word </b>` in a passage, with the mean of ten ratings.

    The marks are taken out of the contexts; one blank stands between any two tokens.
    """

    def pair(*columns: str) -> kinds.WordPairInContext:
        _, a, _, b, _, context_a, context_b, mean, *_ = columns
        return kinds.WordPairInContext(a, b, number(mean, 0, 10), *_marked(context_a), *_marked(context_b))

    return rows_of(columns_of(path, 18), pair)


def _marked(context: str) -> tuple[str, tuple[int, int]]:
    """A context without its marks, and where the marked word stands in it."""
    before, _, marked, _, after = (" ".join(part.split()) for part in re.split("(</?b>)", context))
    start = len(before) + bool(before)
    return " ".join(filter(None, (before, marked, after))), (start, start + len(marked))


def read_semeval_5a(path: str | Path) -> Read[LabelledPair]:
    """Read SemEval-2013 task 5(a): both words of a phrase, each with its tag; a word; 1 if it means the same, or 0."""
    labels = {"1": "similar", "0": "dissimilar"}
    return rows_of(tagged_items(path, 4), lambda *item: LabelledPair(*phrase_and_word(*item[:3]), labels[item[3]]))


def tagged_items(path: str | Path, size: int) -> Items:
    """Yield items of `size` lines: the words of the first two, which have a tag behind a tab, and the other lines."""
    lines = list(lines_of(path))
    for start in range(0, len(lines), size):
        item, where = lines[start : start + size], f"{path}:{start + 1}"
        if [line.count("\t") for line in item[:3]] != [1, 1, 0]:
            raise ValueError(f"{where}: expected word<TAB>tag twice and a single word: {item}")
        yield [line.split("\t")[0].strip() for line in item], where


def phrase_and_word(first: str, second: str, word: str) -> tuple[str, str]:
    """Return a phrase of two words and a single word, if none of them is blank."""
    if not (first and second and word):
        raise LeftOut("blank word")
    return f"{first} {second}", word


def read_ppdb(path: str | Path) -> Read[kinds.PhrasePair]:
    """Read the Paraphrase Database 2.0, as section 3.1 of the Universal paper prepares it before it balances it.

    Entailment in either direction is `entailment`, in the file's order of phrases. Left out and counted are the labels
    Exclusion and OtherRelated, phrases of more than 6 words, rules with nonterminals such as `[NP/NP,1]`, blank phrases
    and pairs equal but for case. The score is the feature `Equivalence`, the probability that both mean the same, or
    nan. PPDB 1.0, which has no label, is refused. `ppdb-2.0-<size>-phrasal` has head, phrase, paraphrase, `name=value`
    features, alignment and entailment label a line, separated by `|||`.

    Source: Pavlick et al. (2015); Li and Zhao (2020), section 3.1.
    """

    def pair(_: str, a: str, b: str, features: str, __: str, label: str) -> kinds.PhrasePair:
        relation = re.sub("^(Forward|Reverse)", "", label).lower()
        if relation not in PPDB_RELATIONS:
            raise LeftOut(f"labelled {label}")
        if not a or not b:
            raise LeftOut("blank phrase")
        if _NONTERMINAL.search(a) or _NONTERMINAL.search(b):
            raise LeftOut("nonterminal")
        if max(len(a.split()), len(b.split())) > MAX_WORDS:
            raise LeftOut(f"more than {MAX_WORDS} words")
        if a.lower() == b.lower():
            raise LeftOut("equal but for case")
        equivalence = _EQUIVALENCE.search(features)
        return kinds.PhrasePair(a, b, relation, float(equivalence[1]) if equivalence else math.nan)

    return rows_of(columns_of(path, 6, separator="|||"), pair)


def read_msmarco(path: str | Path, limit: int | None = None) -> Read[kinds.Triple]:
    """Read MS MARCO's triples of a query, a positive and a negative passage, no further than to the limit of lines.

    Its queries and positive passages come again and again; each is in memory once.
    """

    def triple(query: str, positive: str, negative: str) -> kinds.Triple:
        if not (query and positive and negative):
            raise LeftOut("blank text")
        return kinds.Triple(sys.intern(query), sys.intern(positive), negative)

    return rows_of(islice(columns_of(path, 3), limit), triple)


def read_stsb_context(path: str | Path) -> Read[kinds.PhraseInContext]:
    """Read the test set of SLICE (section 4.2): `line`, a `paraphrase` of it, a `passage` with that, `goldsim` 0 to 5.

    Tab-separated, with quotes. The match is the paraphrase in its passage, whatever its case and without a final full
    stop. It is the whole passage where that has other words: all rows count for correlations, if not for what is found.
    """

    def row(phrase: str, paraphrase: str, passage: str, gold: str) -> kinds.PhraseInContext:
        phrase, passage, gold = _filled(phrase, passage if paraphrase else "", gold)
        match = re.search(re.escape(paraphrase.rstrip(" .")), passage, re.IGNORECASE)
        start, end = match.span() if match else (0, len(passage))
        return kinds.PhraseInContext(phrase, passage, start, end, number(gold, 0, 5))

    return rows_of(csv_records(path, ("line", "paraphrase", "passage", "goldsim"), "\t"), row)


def read_sentences(path: str | Path) -> Read[str]:
    """Read sentences to learn from, one a line."""
    return sentences(lines_of(path))


def read_articles(path: str | Path) -> Read[str]:
    """Read the sentences of running text, a paragraph a line, cut at `SENTENCE_END`."""
    return sentences(sentence for line in lines_of(path) for sentence in SENTENCE_END.split(line))


def sentences(texts: Iterable[str]) -> Read[str]:
    """Keep each sentence once; leave out blank lines and those under `MIN_WORDS` words."""
    stripped = [text.strip() for text in texts]
    filled = [text for text in stripped if text]
    kept = [text for text in filled if len(text.split()) >= MIN_WORDS]
    once = list(dict.fromkeys(kept))
    left_out = {"blank line": len(stripped) - len(filled), f"fewer than {MIN_WORDS} words": len(filled) - len(kept)}
    return Read(once, added_up(left_out, {"repeated sentence": len(kept) - len(once)}))
