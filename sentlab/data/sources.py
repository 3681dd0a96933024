"""Where public data sets come from: the files of each split in a folder, their readers, and the data set on the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sentlab.data.readers import lexical
from sentlab.data.readers import pairs as readers
from sentlab.data.readers import texts as readers_texts
from sentlab.data.readers.files import Read
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


@dataclass(frozen=True)
class Files:
    """One way a split lies in a folder: `read` takes these paths, relative to it."""

    paths: tuple[str, ...]
    read: Callable[..., Read[Any]]


@dataclass(frozen=True)
class Hub:
    """A hub data set: our split -> its splits, and the columns of text a, text b and gold."""

    dataset: str
    splits: dict[str, tuple[str, ...]]
    columns: tuple[str, str, str] = ("sentence1", "sentence2", "score")
    revision: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """A public data set.

    Args:
        files: split -> the layouts it may have.
        published: split -> published row count. A split may have none.
        hub: where it is on the hub. None for a set that must be in a folder.
        pairs: makes rows of what the hub gives.
        row: their type.
        origin: where one gets the files.
    """

    files: dict[str, tuple[Files, ...]]
    published: dict[str, int]
    hub: Hub | None = None
    pairs: Callable[..., Read[Any]] = readers.scored_pairs
    row: type = field(default=ScoredPair)
    origin: str = "the layout of SentEval's data/downstream, which its data script downloads"


def _sts(year: str, rows: int) -> Entry:
    folder = f"STS/STS{year}-en-test"
    return Entry(
        files={"test": (Files((folder,), readers.read_sts_year),)},
        hub=Hub(f"mteb/sts{year}-sts", {"test": ("test",)}, note="names of sub-sets are not kept there"),
        pairs=readers.scored_pairs,
        published={"test": rows},
    )


def _snli(split: str) -> tuple[Files, ...]:
    senteval = Files(tuple(f"SNLI/{part}.{split}" for part in ("s1", "s2", "labels")), readers.read_snli)
    return (senteval, *_jsonl(("SNLI", "snli_1.0"), f"snli_1.0_{split}"))


def _jsonl(folders: Sequence[str], *stems: str) -> Iterator[Files]:
    for folder in folders:
        yield Files(tuple(f"{folder}/{stem}.jsonl" for stem in stems), readers.read_nli_jsonl)


def _words(rows: int, origin: str, *paths: str, highest: float = 10.0) -> Entry:
    files = tuple(Files((path,), partial(lexical.read_word_pairs, highest=highest)) for path in paths)
    return Entry(files={"test": files}, published={"test": rows}, row=WordPair, origin=origin)


def _wikiqa(split: str) -> tuple[Files, ...]:
    tokenised = tuple(f"WikiQA/{split}_{rest}" for rest in ("a.toks", "b.toks", "sim.txt"))
    released = tuple(
        Files((f"{folder}/WikiQA-{split}.tsv",), readers_texts.read_wikiqa_tsv) for folder in ("WikiQACorpus", "WikiQA")
    )
    return (*released, Files(tokenised, readers_texts.read_wikiqa))


_NLI = ("premise", "hypothesis", "label")
MSMARCO_ROWS = 6_400_000  # that are read: SLICE (section 5) trains for 200,000 steps of 32
_THREE: dict[str, tuple[str, ...]] = {"train": ("train",), "dev": ("validation",), "test": ("test",)}
PUBLIC: dict[str, Entry] = {
    "sts12": _sts("12", 3108),
    "sts13": _sts("13", 1500),
    "sts14": _sts("14", 3750),
    "sts15": _sts("15", 3000),
    "sts16": _sts("16", 1186),
    "stsb": Entry(
        files={
            split: tuple(
                Files((f"{folder}/sts-{split}.csv",), readers.read_stsb)
                for folder in ("STS/STSBenchmark", "stsbenchmark")
            )
            for split in ("train", "dev", "test")
        },
        hub=Hub("mteb/stsbenchmark-sts", _THREE),
        pairs=readers.scored_pairs,
        published={"train": 5749, "dev": 1500, "test": 1379},
    ),
    "sick": Entry(
        files={
            split: (Files((f"SICK/SICK_{stem}.txt",), readers.read_sick),)
            for split, stem in (("train", "train"), ("dev", "trial"), ("test", "test_annotated"))
        },
        # not mteb/sickr-sts: its only split pools all 9,927 pairs, so its "test" is not the one that papers report
        hub=Hub(
            "RobZamp/sick",
            _THREE,
            ("sentence_A", "sentence_B", "relatedness_score"),
            revision="refs/convert/parquet",
            note="the later release, without 87 pairs of the SemEval files",
        ),
        pairs=partial(readers.scored_pairs, low=1.0),
        published={"train": 4500, "dev": 500, "test": 4927},
    ),
    "snli": Entry(
        files={split: _snli(split) for split in ("train", "dev", "test")},
        hub=Hub("stanfordnlp/snli", _THREE, _NLI),
        pairs=readers.labelled_pairs,
        published={"train": 549367, "dev": 9842, "test": 9824},
        row=LabelledPair,
    ),
    "mnli": Entry(  # its test labels were never published; dev is matched and mismatched together
        files={
            "train": tuple(_jsonl(("MNLI", "multinli_1.0"), "multinli_1.0_train")),
            "dev": (
                Files(("MNLI/dev_matched_and_mismatched.csv",), readers.read_mnli_csv),
                *_jsonl(("MNLI", "multinli_1.0"), "multinli_1.0_dev_matched", "multinli_1.0_dev_mismatched"),
            ),
        },
        hub=Hub(
            "nyu-mll/multi_nli", {"train": ("train",), "dev": ("validation_matched", "validation_mismatched")}, _NLI
        ),
        pairs=readers.labelled_pairs,
        published={"train": 392702, "dev": 19647},
        row=LabelledPair,
    ),
    "quora": Entry(  # released without splits, and PaSeR searches all of it
        files={
            "test": (
                Files(("quora/quora_duplicate_questions.tsv",), readers.read_quora),
                Files(
                    ("quora/quora_positive_eval.csv", "quora/quora_single_questions_unlabelled.csv"),
                    readers.read_quora,
                ),
            )
        },
        published={"test": 404290},
        row=DuplicateQuestion,
        origin="the first is what Quora released in 2017 as First Quora Dataset Release: Question Pairs",
    ),
    "askubuntu": Entry(
        files={
            split: tuple(
                Files((f"askubuntu/{texts}", f"askubuntu/{split}.txt"), readers.read_askubuntu)
                for texts in ("text_tokenized.txt", "text_tokenized.txt.gz")
            )
            for split in ("dev", "test")
        },
        published={"dev": 200, "test": 200},
        row=RankingQuery,
        origin="the files of the GitHub repository taolei87/askubuntu",
    ),
    "msmarco": Entry(
        files={
            "train": tuple(
                Files(
                    (f"msmarco/triples.train.small.tsv{suffix}",),
                    partial(readers_texts.read_msmarco, limit=MSMARCO_ROWS),
                )
                for suffix in ("", ".gz")
            )
        },
        published={"train": 39_780_811},
        row=Triple,
        origin="triples.train.small.tar.gz of MS MARCO's passage ranking, unpacked",
    ),
    "wikiqa": Entry(
        files={split: _wikiqa(split) for split in ("train", "dev", "test")},
        published={},  # with questions that have no answer
        row=Triple,
        origin="WikiQACorpus.zip by Yang et al. (2015), or the same tokenised, in three files a split",
    ),
    "wiki1m": Entry(
        files={
            "train": (
                Files(("wiki1m_for_simcse.txt",), readers_texts.read_sentences),
                Files(("text/wikipedia-core.txt.xz",), readers_texts.read_articles),
                Files(("text/wikipedia-core.txt",), readers_texts.read_articles),
            )
        },
        published={"train": 1_000_000},  # lines of the first
        row=str,
        origin="the first is in the hub's princeton-nlp/datasets-for-simcse; the others hold a paragraph a line",
    ),
    "simlex": _words(
        999,
        "SimLex-999.zip of fh295.github.io/simlex.html, or the second of these files",
        "SimLex-999/SimLex-999.txt",
        "wordsim/EN-SIMLEX-999.txt",
    ),
    "ws353-sim": _words(
        203,
        "ws353simrel.tar.gz, the similarity half of WordSim-353 by Agirre et al. (2009), or the second of these files",
        "wordsim353_sim_rel/wordsim_similarity_goldstandard.txt",
        "wordsim/EN-WS-353-SIM.txt",
    ),
    "ws353-rel": _words(
        252,
        "ws353simrel.tar.gz, the relatedness half of WordSim-353 by Agirre et al. (2009), or the second of these files",
        "wordsim353_sim_rel/wordsim_relatedness_goldstandard.txt",
        "wordsim/EN-WS-353-REL.txt",
    ),
    "men": _words(
        3000,
        "the MEN Test Collection by Bruni et al. (2014), in its natural form, or the second of these files",
        "MEN/MEN_dataset_natural_form_full",
        "wordsim/EN-MEN-TR-3k.txt",
        highest=50.0,
    ),
    "scws": Entry(
        files={
            "test": tuple(
                Files((path,), lexical.read_scws) for path in ("SCWS/ratings.txt", "wordsim/SCWS-ratings.txt")
            )
        },
        published={"test": 2003},
        row=WordPairInContext,
        origin="SCWS.zip by Huang et al. (2012)",
    ),
    "semeval-5a": Entry(
        files={
            split: (Files((f"semeval2013-5a/en.{split}Set",), lexical.read_semeval_5a),) for split in ("train", "test")
        },
        published={"train": 11722, "test": 7814},
        row=LabelledPair,
        origin="SemEval-2013 task 5 (a) in English, part-of-speech tagged",
    ),
    "ppdb": Entry(
        files={
            "train": tuple(
                Files((f"{folder}ppdb-2.0-s-phrasal{suffix}",), lexical.read_ppdb)
                for folder in ("ppdb/", "")
                for suffix in ("", ".gz")
            )
        },
        published={},  # the paper says 1.53 million lines, before any is left out
        row=PhrasePair,
        origin="the English phrasal paraphrases of size S of paraphrase.org",
    ),
    "ppdb-bigrams": Entry(
        files={
            split: (Files((f"ppdb/ppdb.xxl.b2u.{split}",), lexical.read_ppdb_bigrams),)
            for split in ("train", "dev", "test")
        },
        published={"train": 24280, "dev": 500, "test": 499},  # of 24,300 and 500 items, for some lack a word
        row=PhrasePair,
        origin="the data of Yu and Dredze (2015)",
    ),
    "ppdb-synonyms": Entry(
        files={"train": (Files(("ppdb/ppdb_synonyms.txt",), lexical.read_ppdb_synonyms),)},
        published={"train": 16101},  # of 53,809 lines, most of which say again what another says
        row=PhrasePair,
        origin="linguistic_constraints of the GitHub repository nmrksic/counter-fitting",
    ),
}
