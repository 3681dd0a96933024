"""Readers of public data sets: paths in, typed rows and counts of what was left out back.

Every reader is a pure function that returns a `Read`. Rows without gold, and rows with a blank sentence, are left out
and counted; anything else that is not as the format says is a ValueError that names file and line. Sentences and labels
lose surrounding white space and nothing else: no lower-casing, no unescaping, no tokenisation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sentlab.data.readers import files
from sentlab.data.readers.files import RawPair, Read, streamed
from sentlab.data.rows import DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair, added_up

NLI_LABELS = ("entailment", "neutral", "contradiction")


def read_sts(input_path: str | Path, gold_path: str | Path, subset: str = "") -> Read[ScoredPair]:
    """Read one sub-set of an STS year in SentEval's layout.

    Args:
        input_path: `STS.input.<set>.txt`: two tab-separated sentences a line (later columns are ignored). Never parsed
            as CSV, for the sentences hold unbalanced quotes.
        gold_path: `STS.gs.<set>.txt`: a score from 0 to 5 a line; blank where a pair was not scored (STS15 and STS16).
        subset: the name that the rows bear.
    """
    pairs, golds = list(_sts_inputs(input_path)), list(streamed(gold_path))
    if len(pairs) != len(golds):
        raise ValueError(
            f"{input_path} has {len(pairs)} lines but {gold_path} has {len(golds)}: they must go line by line together"
        )
    raw = ((a, b, gold, f"{gold_path}:{n}") for n, ((a, b), gold) in enumerate(zip(pairs, golds, strict=True), 1))
    return scored_pairs(raw, subset=subset)


def read_sts_year(folder: str | Path) -> Read[ScoredPair]:
    """Read all sub-sets of an STS year (`STS.input.<set>.txt` with `STS.gs.<set>.txt`), in alphabetical order.

    Raises:
        FileNotFoundError: no input file in the folder, or one without its gold file.
    """
    subsets = {path.name.removeprefix("STS.input.").removesuffix(".txt"): path for path in _year_inputs(folder)}
    parts = [read_sts(path, path.with_name(f"STS.gs.{name}.txt"), name) for name, path in subsets.items()]
    return Read([row for part in parts for row in part.rows], added_up(*(part.left_out for part in parts)))


def read_sts_texts(folder: str | Path) -> Read[str]:
    """Read both sentences of every pair of an STS year, scored or not, repeats included. Gold files are not opened."""
    return files.text_rows(text for path in _year_inputs(folder) for pair in _sts_inputs(path) for text in pair)


def read_stsb(path: str | Path) -> Read[ScoredPair]:
    """Read STS Benchmark, `sts-{train,dev,test}.csv`: tab-separated in spite of the name, no header.

    Quotes are plain text. Seven columns or more; the fifth is the gold (0 to 5), the sixth and seventh are the
    sentences. Rows get no `subset`: STS-B is always scored as one set.
    """
    lines = files.columns_of(path, 7, "7 tab-separated columns or more,", more=True)
    return scored_pairs((columns[5], columns[6], columns[4], where) for columns, where in lines)


def read_sick(path: str | Path) -> Read[ScoredPair]:
    """Read SICK relatedness (1 to 5), tab-separated; columns are found by the names in the header row."""
    lines = files.csv_columns(path, ("sentence_A", "sentence_B", "relatedness_score"), "\t", quotes=False)
    return scored_pairs(((a, b, gold, where) for (a, b, gold), where in lines), low=1.0)


def read_snli(premises: str | Path, hypotheses: str | Path, labels: str | Path) -> Read[LabelledPair]:
    """Read SNLI in SentEval's layout: `s1.<split>`, `s2.<split>` and `labels.<split>`, line by line together."""
    return labelled_pairs(files.lines_together(premises, hypotheses, labels))


def read_nli_jsonl(*paths: str | Path) -> Read[LabelledPair]:
    """Read SNLI or MNLI as first released (`snli_1.0_*.jsonl`, `multinli_1.0_*.jsonl`): one JSON object a line.

    Pairs whose annotators did not agree (`gold_label` is `-`) are left out and counted.
    """
    return labelled_pairs(pair for path in paths for pair in _json_pairs(path))


def read_mnli_csv(path: str | Path) -> Read[LabelledPair]:
    """Read MNLI as real CSV with a header row that names `premise`, `hypothesis` and `label`."""
    records = files.csv_columns(path, ("premise", "hypothesis", "label"))
    return labelled_pairs((a, b, label, where) for (a, b, label), where in records)


def read_quora(path: str | Path, singles: str | Path | None = None) -> Read[DuplicateQuestion]:
    """Read Quora question pairs, with a header row that names `question1`, `question2` and `is_duplicate` (0 or 1).

    A duplicate pair becomes a question and its duplicate. Of any other pair the second question becomes a distractor
    and the first is not used, for PaSeR (section 4.1) searches all second questions with those first ones that have a
    duplicate. Pairs that lack a question are left out and counted. Invisible marks inside a question, such as U+202A
    and U+202C, stay as they are: BERT's tokenizer drops them.

    Args:
        path: `quora_duplicate_questions.tsv`, or the same columns separated by commas in a file named otherwise; either
            with double quotes around fields that hold quotes, separators or line breaks.
        singles: comma-separated questions under the header `question_text`, which become distractors.
    """
    rows: list[DuplicateQuestion | None] = []  # None: a question is missing
    delimiter = "\t" if Path(path).suffix == ".tsv" else ","
    for (first, second, label), where in files.csv_columns(path, ("question1", "question2", "is_duplicate"), delimiter):
        if label not in ("0", "1"):
            raise ValueError(f"{where}: expected an is_duplicate of 0 or 1, found {label!r}")
        row = DuplicateQuestion(first, second) if label == "1" else DuplicateQuestion(second, None)
        rows.append(row if first and second else None)
    for (question,), _ in files.csv_columns(singles, ("question_text",)) if singles else ():
        rows.append(DuplicateQuestion(question, None) if question else None)
    found = [row for row in rows if row]
    return Read(found, added_up({"missing question": len(rows) - len(found)}))


def read_askubuntu(texts: str | Path, queries: str | Path) -> Read[RankingQuery]:
    """Read AskUbuntu questions with the candidates that a search engine found for them, some of which ask the same.

    A question is represented by its title, as usual. A query without a relevant candidate is a row like any other; one
    that needs a question without a title is left out and counted, and so are relevant ids that are no candidates.

    Args:
        texts: `text_tokenized.txt`, also compressed as `.gz`. Each line has id, title and body, separated by tabs.
        queries: `dev.txt` or `test.txt`: query id, relevant ids, candidate ids and a BM25 score for each candidate,
            separated by tabs; spaces within a list.
    """
    titles: dict[str, str] = {}
    for n, line in enumerate(streamed(texts), 1):
        number, tab, rest = line.partition("\t")
        title = rest.split("\t")[0].strip()
        if not tab or titles.setdefault(number.strip(), title) != title:
            fault = "an id that has another title above" if tab else "one column"
            raise ValueError(f"{texts}:{n}: expected id, title and body, separated by tabs; found {fault}")
    rows: list[RankingQuery] = []
    left_out: Counter[str] = Counter()
    for n, line in enumerate(streamed(queries), 1):
        columns = [column.split() for column in line.split("\t")]
        if len(columns) != 4 or len(columns[0]) != 1:
            raise ValueError(f"{queries}:{n}: expected 4 tab-separated columns: query, relevant, candidates, scores")
        (query,), relevant, candidates, scores = columns
        if not len(set(candidates)) == len(candidates) == len(scores) > 0:
            raise ValueError(
                f"{queries}:{n}: expected candidate ids, each once and with a score; found {len(candidates)} ids, "
                f"{len(set(candidates))} of them different, and {len(scores)} scores"
            )
        if unknown := [number for number in (query, *candidates) if number not in titles]:
            raise ValueError(f"{queries}:{n}: question {unknown[0]} is not in {texts}")
        if strays := set(relevant) - set(candidates):
            left_out["relevant id that is no candidate"] += len(strays)
        if all(titles[number] for number in (query, *candidates)):
            found = tuple(number in relevant for number in candidates)
            rows.append(RankingQuery(titles[query], tuple(titles[number] for number in candidates), found))
        else:
            left_out["missing question"] += 1
    return Read(rows, dict(left_out))


def scored_pairs(raw: Iterable[RawPair], *, low: float = 0.0, high: float = 5.0, subset: str = "") -> Read[ScoredPair]:
    """Make ScoredPair rows of raw pairs; a gold outside `low` to `high` is an error, for then a column is mistaken."""

    def row(a: str, b: str, gold: str, where: str) -> ScoredPair:
        return ScoredPair(a, b, files.score_of(gold, where, low, high, "gold score"), subset)

    return files.pair_rows(raw, row, missing=("",))


def labelled_pairs(raw: Iterable[RawPair]) -> Read[LabelledPair]:
    """Make LabelledPair rows of raw pairs; a label of `-` counts as no gold."""

    def row(a: str, b: str, gold: str, where: str) -> LabelledPair:
        if gold not in NLI_LABELS:
            raise ValueError(f"{where}: expected a label out of {', '.join(NLI_LABELS)} or -, found {gold!r}")
        return LabelledPair(a, b, gold)

    return files.pair_rows(raw, row, missing=("", "-"))


def _year_inputs(folder: str | Path) -> list[Path]:
    paths = sorted(Path(folder).glob("STS.input.*.txt"))
    if not paths:
        raise FileNotFoundError(f"{folder}: expected files named STS.input.<set>.txt, found none")
    return paths


def _sts_inputs(path: str | Path) -> Iterator[tuple[str, str]]:
    for columns, _ in files.columns_of(path, 2, "two tab-separated sentences,", more=True):
        yield columns[0], columns[1]


def _json_pairs(path: str | Path) -> Iterator[RawPair]:
    names = ("sentence1", "sentence2", "gold_label")
    for (a, b, label), where in files.json_columns(path, names):
        if not (isinstance(a, str) and isinstance(b, str) and isinstance(label, str)):
            raise ValueError(f"{where}: expected strings in {', '.join(names)}; found {[a, b, label]}")
        yield a, b, label, where
