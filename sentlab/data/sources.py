"""Where public data sets come from: the files of each split in a folder, their readers, and the data set on the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sentlab.data import rows
from sentlab.data.readers import lexical, pairs, texts
from sentlab.data.readers.files import Read

Reader = Callable[..., Read[Any]]


@dataclass(frozen=True)
class Files:
    """One way a split lies in a folder: `read` takes these paths, relative to it."""

    paths: tuple[str, ...]
    read: Reader


@dataclass(frozen=True)
class Hub:
    """A hub data set: our split -> its splits, the columns of text a, text b and gold, and what makes rows of them."""

    dataset: str
    splits: dict[str, tuple[str, ...]]
    columns: tuple[str, str, str] = ("sentence1", "sentence2", "score")
    make: Reader = pairs.scored_pairs
    revision: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """A public data set.

    Args:
        files: split -> the layouts it may have.
        published: split -> published row count. A split may have none.
        row: the type of row.
        hub: where it is on the hub. None for a set that must be in a folder.
        origin: where one gets the files.
    """

    files: dict[str, tuple[Files, ...]]
    published: dict[str, int]
    row: type = rows.ScoredPair
    hub: Hub | None = None
    origin: str = "the layout of SentEval's data/downstream, which its data script downloads"


def _files(splits: Iterable[str], layouts: dict[Reader, Sequence[str]]) -> dict[str, tuple[Files, ...]]:
    """The files of some splits. `layouts`: reader -> its paths, joined by " + ", with {0} for the split."""
    ways = [(read, way) for read, ways in layouts.items() for way in ways]
    return {split: tuple(Files(tuple(way.format(split).split(" + ")), read) for read, way in ways) for split in splits}


def _entry(published: dict[str, int], layouts: dict[Reader, Sequence[str]], row: type, origin: str) -> Entry:
    """A set that must be in a folder, and has the same layouts in all splits; a count of 0 is not known."""
    return Entry(_files(published, layouts), {split: n for split, n in published.items() if n}, row, origin=origin)


def _words(count: int, origin: str, *paths: str, highest: float = 10.0) -> Entry:
    return _entry({"test": count}, {partial(lexical.read_word_pairs, highest=highest): paths}, rows.WordPair, origin)


def _sts(year: str, count: int) -> Entry:
    hub = Hub(f"mteb/sts{year}-sts", {"test": ("test",)}, note="names of sub-sets are not kept there")
    return Entry(_files(["test"], {pairs.read_sts_year: [f"STS/STS{year}-en-test"]}), {"test": count}, hub=hub)


_NLI = ("premise", "hypothesis", "label")
_HUB_NAMES: dict[str, tuple[str, ...]] = {"train": ("train",), "dev": ("validation",), "test": ("test",)}
_MNLI = ("MNLI/multinli_1.0", "multinli_1.0/multinli_1.0")
MSMARCO_ROWS = 6_400_000  # that are read: SLICE (section 5) trains for 200,000 steps of 32
PUBLIC: dict[str, Entry] = {
    "sts12": _sts("12", 3108),
    "sts13": _sts("13", 1500),
    "sts14": _sts("14", 3750),
    "sts15": _sts("15", 3000),
    "sts16": _sts("16", 1186),
    "stsb": Entry(
        _files(_HUB_NAMES, {pairs.read_stsb: ["STS/STSBenchmark/sts-{0}.csv", "stsbenchmark/sts-{0}.csv"]}),
        {"train": 5749, "dev": 1500, "test": 1379},
        hub=Hub("mteb/stsbenchmark-sts", _HUB_NAMES),
    ),
    "sick": Entry(
        {
            split: (Files((f"SICK/SICK_{stem}.txt",), pairs.read_sick),)
            for split, stem in (("train", "train"), ("dev", "trial"), ("test", "test_annotated"))
        },
        {"train": 4500, "dev": 500, "test": 4927},
        # not mteb/sickr-sts: its only split pools all 9,927 pairs, so its "test" is not the one that papers report
        hub=Hub(
            "RobZamp/sick",
            _HUB_NAMES,
            ("sentence_A", "sentence_B", "relatedness_score"),
            partial(pairs.scored_pairs, low=1.0),
            revision="refs/convert/parquet",
            note="the later release, without 87 pairs of the SemEval files",
        ),
    ),
    "snli": Entry(
        _files(
            _HUB_NAMES,
            {
                pairs.read_snli: ["SNLI/s1.{0} + SNLI/s2.{0} + SNLI/labels.{0}"],
                pairs.read_nli_jsonl: ["SNLI/snli_1.0_{0}.jsonl", "snli_1.0/snli_1.0_{0}.jsonl"],
            },
        ),
        {"train": 549367, "dev": 9842, "test": 9824},
        rows.LabelledPair,
        Hub("stanfordnlp/snli", _HUB_NAMES, _NLI, pairs.labelled_pairs),
    ),
    "mnli": Entry(  # its test labels were never published; dev is matched and mismatched together
        _files(["train"], {pairs.read_nli_jsonl: [f"{stem}_{{0}}.jsonl" for stem in _MNLI]})
        | _files(
            ["dev"],
            {
                pairs.read_mnli_csv: ["MNLI/{0}_matched_and_mismatched.csv"],
                pairs.read_nli_jsonl: [f"{stem}_{{0}}_matched.jsonl + {stem}_{{0}}_mismatched.jsonl" for stem in _MNLI],
            },
        ),
        {"train": 392702, "dev": 19647},
        rows.LabelledPair,
        Hub(
            "nyu-mll/multi_nli",
            {"train": ("train",), "dev": ("validation_matched", "validation_mismatched")},
            _NLI,
            pairs.labelled_pairs,
        ),
    ),
    "quora": _entry(  # released without splits, and PaSeR searches all of it
        {"test": 404290},
        {
            pairs.read_quora: [
                "quora/quora_duplicate_questions.tsv",
                "quora/quora_positive_eval.csv + quora/quora_single_questions_unlabelled.csv",
            ]
        },
        rows.DuplicateQuestion,
        "the first is what Quora released in 2017 as First Quora Dataset Release: Question Pairs",
    ),
    "askubuntu": _entry(
        {"dev": 200, "test": 200},
        {pairs.read_askubuntu: [f"askubuntu/text_tokenized.txt{gz} + askubuntu/{{0}}.txt" for gz in ("", ".gz")]},
        rows.RankingQuery,
        "the files of the GitHub repository taolei87/askubuntu",
    ),
    "msmarco": _entry(
        {"train": 39_780_811},
        {
            partial(texts.read_msmarco, limit=MSMARCO_ROWS): [
                f"msmarco/triples.train.small.tsv{gz}" for gz in ("", ".gz")
            ]
        },
        rows.Triple,
        "triples.train.small.tar.gz of MS MARCO's passage ranking, unpacked",
    ),
    "wikiqa": _entry(
        {"train": 0, "dev": 0, "test": 0},  # counts include questions that have no answer
        {
            texts.read_wikiqa_tsv: ["WikiQACorpus/WikiQA-{0}.tsv", "WikiQA/WikiQA-{0}.tsv"],
            texts.read_wikiqa: ["WikiQA/{0}_a.toks + WikiQA/{0}_b.toks + WikiQA/{0}_sim.txt"],
        },
        rows.Triple,
        "WikiQACorpus.zip by Yang et al. (2015), or the same tokenised, in three files a split",
    ),
    "wiki1m": _entry(
        {"train": 1_000_000},  # lines of the first
        {
            texts.read_sentences: ["wiki1m_for_simcse.txt"],
            texts.read_articles: ["text/wikipedia-core.txt.xz", "text/wikipedia-core.txt"],
        },
        str,
        "the first is in the hub's princeton-nlp/datasets-for-simcse; the others hold a paragraph a line",
    ),
    "captions": _entry(
        {"train": 40_460},  # five of each picture
        {texts.read_captions: ["captions/Flickr8k.token.txt", "Flickr8k_text/Flickr8k.token.txt"]},
        str,
        "Flickr8k_text.zip by Hodosh et al. (2013)",
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
    "scws": _entry(
        {"test": 2003},
        {lexical.read_scws: ["SCWS/ratings.txt", "wordsim/SCWS-ratings.txt"]},
        rows.WordPairInContext,
        "SCWS.zip by Huang et al. (2012)",
    ),
    "semeval-5a": _entry(
        {"train": 11722, "test": 7814},
        {lexical.read_semeval_5a: ["semeval2013-5a/en.{0}Set"]},
        rows.LabelledPair,
        "SemEval-2013 task 5 (a) in English, part-of-speech tagged",
    ),
    "ppdb": _entry(
        {"train": 0},  # the paper says 1.53 million lines, before any is left out
        {lexical.read_ppdb: [f"{at}ppdb-2.0-s-phrasal{gz}" for at in ("ppdb/", "") for gz in ("", ".gz")]},
        rows.PhrasePair,
        "the English phrasal paraphrases of size S of paraphrase.org",
    ),
    "ppdb-bigrams": _entry(
        {"train": 24280, "dev": 500, "test": 499},  # of 24,300 and 500 items, for some lack a word
        {lexical.read_ppdb_bigrams: ["ppdb/ppdb.xxl.b2u.{0}"]},
        rows.PhrasePair,
        "the data of Yu and Dredze (2015)",
    ),
    "ppdb-synonyms": _entry(
        {"train": 16101},  # of 53,809 lines, most of which say again what another says
        {lexical.read_ppdb_synonyms: ["ppdb/ppdb_synonyms.txt"]},
        rows.PhrasePair,
        "linguistic_constraints of the GitHub repository nmrksic/counter-fitting",
    ),
}
