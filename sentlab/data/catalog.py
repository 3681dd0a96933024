"""A corpus name -> its rows: from a folder of public files, from the Hugging Face hub, or from the toy world."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from sentlab.data import readers, toy
from sentlab.data.readers import NLI_LABELS, RawPair, Read
from sentlab.data.rows import Corpus, DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair, Triple

YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
STS_TASKS = (*YEARS, "stsb", "sick")
UNLABELLED, TRIPLES = "sts-unlabelled", "nli-triples"
JOINED = {UNLABELLED: ("train",), TRIPLES: ("train", "dev")}  # made of other sets -> splits


@dataclass(frozen=True)
class _Files:
    """One way a split lies in a folder: `read` takes these paths, relative to it."""

    paths: tuple[str, ...]
    read: Callable[..., Read[Any]]


@dataclass(frozen=True)
class _Hub:
    """A hub data set: our split -> its splits, and the columns of text a, text b and gold."""

    dataset: str
    splits: dict[str, tuple[str, ...]]
    columns: tuple[str, str, str] = ("sentence1", "sentence2", "score")
    revision: str | None = None
    note: str = ""


@dataclass(frozen=True)
class _Entry:
    """A public data set: split -> the layouts it may have, and split -> published row count; where it is on the hub and
    how rows are made of that, or nothing for a set that must be in a folder; and where its files are to be had."""

    files: dict[str, tuple[_Files, ...]]
    published: dict[str, int]
    hub: _Hub | None = None
    pairs: Callable[..., Read[Any]] = readers.scored_pairs
    row: type = field(default=ScoredPair)
    origin: str = "the layout of SentEval's data/downstream, which its data script downloads"


def _sts(year: str, rows: int) -> _Entry:
    folder = f"STS/STS{year}-en-test"
    return _Entry(
        files={"test": (_Files((folder,), readers.read_sts_year),)},
        hub=_Hub(f"mteb/sts{year}-sts", {"test": ("test",)}, note="names of sub-sets are not kept there"),
        pairs=readers.scored_pairs,
        published={"test": rows},
    )


def _snli(split: str) -> tuple[_Files, ...]:
    senteval = _Files(tuple(f"SNLI/{part}.{split}" for part in ("s1", "s2", "labels")), readers.read_snli)
    return (senteval, *_jsonl(("SNLI", "snli_1.0"), f"snli_1.0_{split}"))


def _jsonl(folders: Sequence[str], *stems: str) -> Iterator[_Files]:
    for folder in folders:
        yield _Files(tuple(f"{folder}/{stem}.jsonl" for stem in stems), readers.read_nli_jsonl)


_NLI = ("premise", "hypothesis", "label")
_THREE: dict[str, tuple[str, ...]] = {"train": ("train",), "dev": ("validation",), "test": ("test",)}
_PUBLIC: dict[str, _Entry] = {
    "sts12": _sts("12", 3108),
    "sts13": _sts("13", 1500),
    "sts14": _sts("14", 3750),
    "sts15": _sts("15", 3000),
    "sts16": _sts("16", 1186),
    "stsb": _Entry(
        files={
            split: tuple(
                _Files((f"{folder}/sts-{split}.csv",), readers.read_stsb)
                for folder in ("STS/STSBenchmark", "stsbenchmark")
            )
            for split in ("train", "dev", "test")
        },
        hub=_Hub("mteb/stsbenchmark-sts", _THREE),
        pairs=readers.scored_pairs,
        published={"train": 5749, "dev": 1500, "test": 1379},
    ),
    "sick": _Entry(
        files={
            split: (_Files((f"SICK/SICK_{stem}.txt",), readers.read_sick),)
            for split, stem in (("train", "train"), ("dev", "trial"), ("test", "test_annotated"))
        },
        # not mteb/sickr-sts: its only split pools all 9,927 pairs, so its "test" is not the one that papers report
        hub=_Hub(
            "RobZamp/sick",
            _THREE,
            ("sentence_A", "sentence_B", "relatedness_score"),
            revision="refs/convert/parquet",
            note="the later release, without 87 pairs of the SemEval files",
        ),
        pairs=partial(readers.scored_pairs, low=1.0),
        published={"train": 4500, "dev": 500, "test": 4927},
    ),
    "snli": _Entry(
        files={split: _snli(split) for split in ("train", "dev", "test")},
        hub=_Hub("stanfordnlp/snli", _THREE, _NLI),
        pairs=readers.labelled_pairs,
        published={"train": 549367, "dev": 9842, "test": 9824},
        row=LabelledPair,
    ),
    "mnli": _Entry(  # its test labels were never published; dev is matched and mismatched together
        files={
            "train": tuple(_jsonl(("MNLI", "multinli_1.0"), "multinli_1.0_train")),
            "dev": (
                _Files(("MNLI/dev_matched_and_mismatched.csv",), readers.read_mnli_csv),
                *_jsonl(("MNLI", "multinli_1.0"), "multinli_1.0_dev_matched", "multinli_1.0_dev_mismatched"),
            ),
        },
        hub=_Hub(
            "nyu-mll/multi_nli", {"train": ("train",), "dev": ("validation_matched", "validation_mismatched")}, _NLI
        ),
        pairs=readers.labelled_pairs,
        published={"train": 392702, "dev": 19647},
        row=LabelledPair,
    ),
    "quora": _Entry(  # released without splits, and PaSeR searches all of it
        files={
            "test": (
                _Files(("quora/quora_duplicate_questions.tsv",), readers.read_quora),
                _Files(
                    ("quora/quora_positive_eval.csv", "quora/quora_single_questions_unlabelled.csv"),
                    readers.read_quora,
                ),
            )
        },
        published={"test": 404290},
        row=DuplicateQuestion,
        origin="the first is what Quora released in 2017 as First Quora Dataset Release: Question Pairs",
    ),
    "askubuntu": _Entry(
        files={
            split: tuple(
                _Files((f"askubuntu/{texts}", f"askubuntu/{split}.txt"), readers.read_askubuntu)
                for texts in ("text_tokenized.txt", "text_tokenized.txt.gz")
            )
            for split in ("dev", "test")
        },
        published={"dev": 200, "test": 200},
        row=RankingQuery,
        origin="the files of the GitHub repository taolei87/askubuntu",
    ),
}


def load(name: str, split: str = "test", folder: str | Path | None = None) -> Corpus[Any]:
    """Load a corpus by name, and say in `Corpus.source` where it was found.

    Public data sets are looked for in `folder` or, where that is not given, in the folder that the environment variable
    SENTLAB_DATA names (laid out like SentEval's `data/downstream`), and else on the hub through the `datasets` library.
    A set that is not in a `folder=` is an error; one that is not in SENTLAB_DATA comes from the hub, with a warning.

    `sts-unlabelled` (split `train`) holds the distinct sentences of all seven STS sets, every split and unscored pairs
    too, as plain strings: 89,192 sentences with repeats, on which PaSeR (section 4.2) and ConSERT train. Mind that this
    trains on the TEXTS of the test sets, as those papers do; no score is used.

    `nli-triples` holds premises of SNLI and MNLI, each with a hypothesis that follows and one that contradicts it, as
    SimCSE and PaSeR (section 4.2) train on: the i-th of either kind together, so that no pair is used twice.

    `quora` and `askubuntu` must be in a folder: the hub is not asked for them. All of Quora's release is `test`.

    Args:
        name: sts12 .. sts16, stsb, sick, snli, mnli, quora, askubuntu, sts-unlabelled, nli-triples, or a toy
            corpus; `corpora()` lists them.
        split: `train`, `dev` or `test`. STS12 to STS16 and Quora have only `test`; MNLI has `train` and `dev` (both
            halves), AskUbuntu `dev` and `test`.
        folder: where the public files are. Toy corpora are made in memory, once, and do not look at it.

    Raises:
        ValueError: unknown name or split, or a file that is not as its format says (names file and line).
        FileNotFoundError: the corpus is nowhere to be found; the message says where was looked and what to do.
    """
    if name in toy.NAMES:
        return _toy(name, split)
    if name not in JOINED and name not in _PUBLIC:
        raise ValueError(f"no corpus is named {name!r}; there are {', '.join([*_PUBLIC, *JOINED, *toy.NAMES])}")
    splits = JOINED[name] if name in JOINED else tuple(_PUBLIC[name].files)
    if split not in splits:
        raise ValueError(f"{name} has no split {split!r}; it has {', '.join(splits)}")
    root = _root(folder)
    if name == UNLABELLED:
        return _unlabelled(root, folder)
    if name == TRIPLES:
        return _triples([load(part, split, folder) for part in ("snli", "mnli")], split)
    found = _from_folder(name, split, root) if root else None
    if found is None and folder is not None:
        raise FileNotFoundError(
            f"{name} ({split}) is not in the given folder {root}: it holds none of {_layouts(name, split)}. "
            f"Correct folder=, or leave it out to look in SENTLAB_DATA{' and on the hub' if _PUBLIC[name].hub else ''}."
        )
    return _from_hub(name, split, root) if found is None else found


@cache  # making one takes longer than encoding it
def _toy(name: str, split: str) -> Corpus[Any]:
    return toy.load(name, split)


def corpora() -> pd.DataFrame:
    """Every name that `load` knows, with its splits, its type of row and where it comes from."""
    public = [
        (name, ", ".join(entry.files), entry.row.__name__, f"folder, or hub {hub.dataset}" if hub else "folder")
        for name, entry in _PUBLIC.items()
        for hub in [entry.hub]
    ]
    joined = [
        (UNLABELLED, "train", "str", "the seven STS sets"),
        (TRIPLES, "train, dev", Triple.__name__, "SNLI and MNLI"),
    ]
    toys = [
        (name, "train, dev, test", type(toy.load(name, "test", size=1)[0]).__name__, "toy world") for name in toy.NAMES
    ]
    return pd.DataFrame([*public, *joined, *toys], columns=["name", "splits", "row", "from"]).set_index("name")


def _root(folder: str | Path | None) -> Path | None:
    named = folder if folder is not None else os.environ.get("SENTLAB_DATA") or None
    if named is None:
        return None
    root = Path(named).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(
            f"{'SENTLAB_DATA' if folder is None else 'folder='} names {root}, which is not a folder"
        )
    return root


def _layouts(name: str, split: str) -> str:
    return " | ".join(" + ".join(files.paths) for files in _PUBLIC[name].files[split])


def _from_folder(name: str, split: str, root: Path) -> Corpus[Any] | None:
    incomplete = None
    for files in _PUBLIC[name].files[split]:
        paths = [root / path for path in files.paths]
        lacking = [str(path) for path in paths if not path.exists()]
        if not lacking:
            where = f"{' + '.join(files.paths)} in {root}"
            return _corpus(name, split, files.read(*paths), where)
        if len(lacking) < len(paths):
            incomplete = incomplete or lacking
    if incomplete:
        raise FileNotFoundError(f"{name} ({split}) is incomplete in {root}: {', '.join(incomplete)} is missing")
    return None


def _corpus(name: str, split: str, read: Read[Any], where: str) -> Corpus[Any]:
    published = _PUBLIC[name].published[split]
    if len(read.rows) != published:
        where += f"; {len(read.rows):,} rows, where the original has {published:,}"
    return Corpus(name, split, tuple(read.rows), where, read.left_out)


def _from_hub(name: str, split: str, root: Path | None) -> Corpus[Any]:
    entry = _PUBLIC[name]
    hub = entry.hub
    looked = f"SENTLAB_DATA={root}" if root else "a folder (neither folder= nor SENTLAB_DATA is set)"
    if hub is None:
        raise FileNotFoundError(_nowhere(name, split, looked))
    if root:
        warnings.warn(f"{name} ({split}) is not in {looked}; asking the hub for {hub.dataset}", stacklevel=3)
    try:
        raw = [pair for part in hub.splits[split] for pair in _hub_pairs(hub, entry.row, part)]
    except Exception as error:  # offline, unknown set, moved file: `datasets` raises many unrelated types
        raise FileNotFoundError(_nowhere(name, split, looked, f"{type(error).__name__}: {error}")) from error
    note = f" ({hub.note})" if hub.note else ""
    absent = f"; not in SENTLAB_DATA={root}" if root else ""
    where = f"hub {hub.dataset}, {' + '.join(hub.splits[split])}{note}{absent}"
    return _corpus(name, split, entry.pairs(raw), where)


def _nowhere(name: str, split: str, looked: str, refusal: str = "") -> str:
    """What to say of a set that is nowhere to be found: where was looked, and what to do."""
    hub = _PUBLIC[name].hub
    lines = [f"{name} ({split}) was not found.", f"  Looked in {looked} for {_layouts(name, split)}"]
    if hub:
        lines.append(f"  Asked the hub for {hub.dataset}: {refusal}")
    lines += [
        "Do one of these:",
        f"  - load({name!r}, {split!r}, folder=...) or SENTLAB_DATA=... with a folder that holds those files "
        f"({_PUBLIC[name].origin})",
    ]
    if hub:
        lines.append(f"  - go online, so that datasets.load_dataset({hub.dataset!r}) works; it keeps a copy for later")
    return "\n".join([*lines, f"  - use a corpus that needs no files: {', '.join(toy.NAMES)}"])


def _hub_pairs(hub: _Hub, row: type, part: str) -> Iterator[RawPair]:
    import datasets  # takes a second, and only this function needs it

    gold_text = _label if row is LabelledPair else str
    rows = datasets.load_dataset(hub.dataset, split=part, revision=hub.revision)
    lacking = [column for column in hub.columns if column not in rows.column_names]
    if lacking:
        raise KeyError(f"it has no column {', '.join(lacking)}, only {', '.join(rows.column_names)}")
    for n, (a, b, gold) in enumerate(zip(*(rows[column] for column in hub.columns), strict=True)):
        yield a, b, "" if gold is None else gold_text(gold), f"{hub.dataset} {part} row {n}"


def _label(index: int) -> str:
    """Both NLI sets on the hub number their labels in the order of NLI_LABELS, with -1 for none."""
    return NLI_LABELS[index] if 0 <= index < len(NLI_LABELS) else "-" if index == -1 else str(index)


def _unlabelled(root: Path | None, folder: str | Path | None) -> Corpus[str]:
    texts: list[str] = []
    sources: list[str] = []
    for name in STS_TASKS:
        for split in _PUBLIC[name].files:
            year = root / _PUBLIC[name].files[split][0].paths[0] if root and name in YEARS else None
            if year and year.is_dir():
                texts += readers.read_sts_texts(year).rows
                sources.append(f"{name}: {year}, unscored pairs too")
            else:
                corpus = load(name, split, folder)
                texts += (text for pair in corpus for text in (pair.text_a, pair.text_b))
                sources.append(f"{name} {split}: {corpus.source}")
    distinct = tuple(dict.fromkeys(texts))
    return Corpus(UNLABELLED, "train", distinct, "; ".join(sources), {"repeated sentence": len(texts) - len(distinct)})


def _triples(corpora: Sequence[Corpus[LabelledPair]], split: str) -> Corpus[Triple]:
    hypotheses: dict[str, dict[str, list[str]]] = {}  # premise -> label -> hypotheses, all in file order
    for pair in (pair for corpus in corpora for pair in corpus):
        hypotheses.setdefault(pair.text_a, {}).setdefault(pair.label, []).append(pair.text_b)
    rows = tuple(
        Triple(premise, positive, negative)
        for premise, found in hypotheses.items()
        for positive, negative in zip(found.get("entailment", []), found.get("contradiction", []), strict=False)
    )
    source = "; ".join(f"{corpus.name} {split}: {corpus.source}" for corpus in corpora)
    unused = sum(map(len, corpora)) - 2 * len(rows)
    return Corpus(TRIPLES, split, rows, source, {"neutral pair, or one without its counterpart": unused})
