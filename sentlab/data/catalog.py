"""A corpus name -> its rows: from a folder of public files, from the Hugging Face hub, or from the toy world."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sentlab.data import readers, toy
from sentlab.data.readers import NLI_LABELS, Read
from sentlab.data.rows import (
    Corpus,
    DuplicateQuestion,
    LabelledPair,
    PhrasePair,
    RankingQuery,
    ScoredPair,
    Triple,
    WordPair,
    WordPairInContext,
    added_up,
)

if TYPE_CHECKING:
    import pandas as pd

YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
STS_TASKS = (*YEARS, "stsb", "sick")
SENTEVAL = "the layout of SentEval's data/downstream, which its data script downloads"
Folder = str | Path | None
Reader = Callable[..., Read[Any]]


class Files(NamedTuple):
    """One way a split may lie in a folder: `read` takes these paths, relative to it."""

    paths: tuple[str, ...]
    read: Reader


class Hub(NamedTuple):
    """A hub data set: our split -> its splits, the columns of text a, text b and gold, and what makes a row of them."""

    dataset: str
    splits: Mapping[str, tuple[str, ...]]
    columns: tuple[str, str, str] = ("sentence1", "sentence2", "score")
    make: Callable[[str, str, str], Any] = readers.scored_pair
    revision: str | None = None
    note: str = ""


@dataclass(frozen=True)
class PublicSet:
    """A public data set: its type of row, split -> its published number of rows (0: not known), and where it is.

    Args:
        files: split -> the ways in which it may lie in a folder.
        origin: where one gets the files.
        hub: where it is on the hub. None for a set that must be in a folder.
    """

    row: type
    published: Mapping[str, int]
    files: Mapping[str, tuple[Files, ...]]
    origin: str = SENTEVAL
    hub: Hub | None = None

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.files)

    @property
    def of(self) -> str:
        return f"folder, or hub {self.hub.dataset}" if self.hub else "folder"

    def load(self, name: str, split: str, folder: Folder) -> Corpus[Any]:
        """Load it from the folder, else from the hub."""
        root = folder_of(folder)
        corpus = self._from_folder(name, split, root) if root else None
        if corpus is None and folder is not None:
            raise FileNotFoundError(
                f"{name} ({split}) is not in the given folder {root}: it holds none of {self._layouts(split)}. "
                f"Correct folder=, or leave it out to look in SENTLAB_DATA{' and on the hub' if self.hub else ''}."
            )
        return self._from_hub(name, split, root) if corpus is None else corpus  # a corpus may be empty

    def _layouts(self, split: str) -> str:
        return " | ".join(" + ".join(files.paths) for files in self.files[split])

    def _from_folder(self, name: str, split: str, root: Path) -> Corpus[Any] | None:
        incomplete: list[str] = []
        for files in self.files[split]:
            lacking = [path for path in files.paths if not (root / path).exists()]
            if not lacking:
                read = files.read(*(root / path for path in files.paths))
                return self._corpus(name, split, read, f"{' + '.join(files.paths)} in {root}")
            if len(lacking) < len(files.paths):
                incomplete = incomplete or lacking
        if incomplete:
            raise FileNotFoundError(f"{name} ({split}) is incomplete in {root}: {', '.join(incomplete)} is missing")
        return None

    def _from_hub(self, name: str, split: str, root: Path | None) -> Corpus[Any]:
        looked = f"SENTLAB_DATA={root}" if root else "a folder (neither folder= nor SENTLAB_DATA is set)"
        asked = ""
        if hub := self.hub:
            if root:
                warnings.warn(f"{name} ({split}) is not in {looked}; asking the hub for {hub.dataset}", stacklevel=4)
            try:
                read = readers.chained(*(_of_hub(hub, part) for part in hub.splits[split]))
            except Exception as error:  # offline, unknown set, moved file: `datasets` raises many unrelated types
                asked = f"\n  Asked the hub for {hub.dataset}: {type(error).__name__}: {error}"
            else:
                note = f" ({hub.note})" if hub.note else ""
                absent = f"; not in SENTLAB_DATA={root}" if root else ""
                where = f"hub {hub.dataset}, {' + '.join(hub.splits[split])}{note}{absent}"
                return self._corpus(name, split, read, where)
        raise FileNotFoundError(
            f"{name} ({split}) was not found.\n  Looked in {looked} for {self._layouts(split)}{asked}\n"
            f"Set folder= or SENTLAB_DATA to a folder that holds those files ({self.origin})"
            f"{', go online with `datasets` installed' if hub else ''}, "
            f"or use a corpus that needs no files: {', '.join(toy.NAMES)}"
        )

    def _corpus(self, name: str, split: str, read: Read[Any], where: str) -> Corpus[Any]:
        published = self.published[split]
        if published not in (0, len(read.rows)):
            where += f"; {len(read.rows):,} rows, where the original has {published:,}"
        return Corpus(name, split, tuple(read.rows), where, read.left_out)


def _of_hub(hub: Hub, part: str) -> Read[Any]:
    import datasets

    table = datasets.load_dataset(hub.dataset, split=part, revision=hub.revision)
    columns = [table[column] for column in hub.columns]
    if hub.make is readers.labelled_pair:  # both NLI sets on the hub number their labels in this order, -1 for none
        columns[2] = [(*NLI_LABELS, "-")[label] for label in columns[2]]
    raw = ((a, b, "" if gold is None else str(gold)) for a, b, gold in zip(*columns, strict=True))
    return readers.rows_of(((pair, f"{hub.dataset} {part} row {n}") for n, pair in enumerate(raw)), hub.make)


def folder_of(folder: Folder) -> Path | None:
    """Return the folder to look in, of the argument or of SENTLAB_DATA. A name that is mistyped is said at once."""
    named = folder if folder is not None else os.environ.get("SENTLAB_DATA") or None
    root = None if named is None else Path(named).expanduser()
    if root and not root.is_dir():
        what = "SENTLAB_DATA" if folder is None else "folder="
        raise FileNotFoundError(f"{what} names {root.absolute()}, which is not a folder: correct it, or leave it out")
    return root


def files_of(splits: Iterable[str], layouts: Mapping[Reader, Sequence[str]]) -> dict[str, tuple[Files, ...]]:
    """Lay out some splits alike. `layouts`: reader -> its paths, joined by " + ", with {} for the split."""
    ways = [(read, way) for read, several in layouts.items() for way in several]
    return {split: tuple(Files(tuple(way.format(split).split(" + ")), read) for read, way in ways) for split in splits}


def public_set(row: type, published: dict[str, int], layouts: Mapping[Reader, Sequence[str]], origin: str) -> PublicSet:
    """Describe a set that must be in a folder, and has the same layouts in all splits."""
    return PublicSet(row, published, files_of(published, layouts), origin)


def _sts(year: str, count: int) -> PublicSet:
    hub = Hub(f"mteb/sts{year}-sts", {"test": ("test",)}, note="names of sub-sets are not kept there")
    files = files_of(["test"], {readers.read_sts_year: [f"STS/STS{year}-en-test"]})
    return PublicSet(ScoredPair, {"test": count}, files, hub=hub)


def _words(count: int, path: str, other: str, origin: str, highest: float = 10.0) -> PublicSet:
    read = partial(readers.read_word_pairs, highest=highest)
    return public_set(WordPair, {"test": count}, {read: [path, f"wordsim/EN-{other}.txt"]}, f"{origin}, or the second")


_HUB_SPLITS: dict[str, tuple[str, ...]] = {"train": ("train",), "dev": ("validation",), "test": ("test",)}
_NLI = ("premise", "hypothesis", "label")
_WS353 = "ws353simrel.tar.gz, the halves of WordSim-353 by Agirre et al. (2009)"
_MNLI = ("MNLI/multinli_1.0", "multinli_1.0/multinli_1.0")
_QUORA = ("quora/quora_positive_eval.csv", "quora/quora_single_questions_unlabelled.csv")
_MSMARCO = partial(readers.read_msmarco, limit=6_400_000)  # SLICE (section 5) trains for 200,000 steps of 32
PUBLIC: dict[str, PublicSet] = {
    "sts12": _sts("12", 3108),
    "sts13": _sts("13", 1500),
    "sts14": _sts("14", 3750),
    "sts15": _sts("15", 3000),
    "sts16": _sts("16", 1186),
    "stsb": PublicSet(
        ScoredPair,
        {"train": 5749, "dev": 1500, "test": 1379},
        files_of(_HUB_SPLITS, {readers.read_stsb: ["STS/STSBenchmark/sts-{}.csv", "stsbenchmark/sts-{}.csv"]}),
        hub=Hub("mteb/stsbenchmark-sts", _HUB_SPLITS),
    ),
    "sick": PublicSet(
        ScoredPair,
        {"train": 4500, "dev": 500, "test": 4927},
        {
            split: (Files((f"SICK/SICK_{stem}.txt",), readers.read_sick),)
            for split, stem in (("train", "train"), ("dev", "trial"), ("test", "test_annotated"))
        },
        # not mteb/sickr-sts: its only split pools all 9,927 pairs, so its "test" is not the one that papers report
        hub=Hub(
            "RobZamp/sick",
            _HUB_SPLITS,
            ("sentence_A", "sentence_B", "relatedness_score"),
            partial(readers.scored_pair, low=1.0),
            "refs/convert/parquet",
            "the later release, without 87 pairs of the SemEval files",
        ),
    ),
    "snli": PublicSet(
        LabelledPair,
        {"train": 549367, "dev": 9842, "test": 9824},
        files_of(
            _HUB_SPLITS,
            {
                readers.read_snli: ["SNLI/s1.{0} + SNLI/s2.{0} + SNLI/labels.{0}"],
                readers.read_nli_jsonl: ["SNLI/snli_1.0_{}.jsonl", "snli_1.0/snli_1.0_{}.jsonl"],
            },
        ),
        hub=Hub("stanfordnlp/snli", _HUB_SPLITS, _NLI, readers.labelled_pair),
    ),
    "mnli": PublicSet(  # its test labels were never published; dev is matched and mismatched together
        LabelledPair,
        {"train": 392702, "dev": 19647},
        files_of(["train"], {readers.read_nli_jsonl: [f"{stem}_{{}}.jsonl" for stem in _MNLI]})
        | files_of(
            ["dev"],
            {
                readers.read_mnli_csv: ["MNLI/{}_matched_and_mismatched.csv"],
                readers.read_nli_jsonl: [
                    f"{stem}_{{0}}_matched.jsonl + {stem}_{{0}}_mismatched.jsonl" for stem in _MNLI
                ],
            },
        ),
        hub=Hub(
            "nyu-mll/multi_nli",
            {"train": ("train",), "dev": ("validation_matched", "validation_mismatched")},
            _NLI,
            readers.labelled_pair,
        ),
    ),
    "quora": public_set(  # released without splits, and PaSeR searches all of it
        DuplicateQuestion,
        {"test": 404290},
        {readers.read_quora: ["quora/quora_duplicate_questions.tsv", " + ".join(_QUORA)]},
        "the first is what Quora released in 2017 as First Quora Dataset Release: Question Pairs",
    ),
    "askubuntu": public_set(
        RankingQuery,
        {"dev": 200, "test": 200},
        {readers.read_askubuntu: [f"askubuntu/text_tokenized.txt{gz} + askubuntu/{{}}.txt" for gz in ("", ".gz")]},
        "the files of the GitHub repository taolei87/askubuntu",
    ),
    "msmarco": public_set(
        Triple,
        {"train": 39_780_811},
        {_MSMARCO: [f"msmarco/triples.train.small.tsv{gz}" for gz in ("", ".gz")]},
        "triples.train.small.tar.gz of MS MARCO's passage ranking, unpacked",
    ),
    "wiki1m": public_set(
        str,
        {"train": 1_000_000},  # lines of the first
        {
            readers.read_sentences: ["wiki1m_for_simcse.txt"],
            readers.read_articles: ["text/wikipedia-core.txt.xz", "text/wikipedia-core.txt"],
        },
        "the first is in the hub's princeton-nlp/datasets-for-simcse; the others hold a paragraph a line",
    ),
    "simlex": _words(999, "SimLex-999/SimLex-999.txt", "SIMLEX-999", "SimLex-999.zip of fh295.github.io/simlex.html"),
    "ws353-sim": _words(203, "wordsim353_sim_rel/wordsim_similarity_goldstandard.txt", "WS-353-SIM", _WS353),
    "ws353-rel": _words(252, "wordsim353_sim_rel/wordsim_relatedness_goldstandard.txt", "WS-353-REL", _WS353),
    "men": _words(3000, "MEN/MEN_dataset_natural_form_full", "MEN-TR-3k", "MEN by Bruni et al. (2014)", highest=50.0),
    "scws": public_set(
        WordPairInContext,
        {"test": 2003},
        {readers.read_scws: ["SCWS/ratings.txt", "wordsim/SCWS-ratings.txt"]},
        "SCWS.zip by Huang et al. (2012)",
    ),
    "semeval-5a": public_set(
        LabelledPair,
        {"train": 11722, "test": 7814},
        {readers.read_semeval_5a: ["semeval2013-5a/en.{}Set"]},
        "SemEval-2013 task 5 (a) in English, part-of-speech tagged",
    ),
    "ppdb": public_set(
        PhrasePair,
        {"train": 0},  # the paper says 1.53 million lines, before any is left out
        {readers.read_ppdb: [f"{at}ppdb-2.0-s-phrasal{gz}" for at in ("ppdb/", "") for gz in ("", ".gz")]},
        "the English phrasal paraphrases of size S of paraphrase.org",
    ),
}


def _unlabelled(split: str, folder: Folder) -> Corpus[str]:
    root, texts, sources = folder_of(folder), list[str](), list[str]()
    for name in STS_TASKS:
        for part in PUBLIC[name].splits:
            year = root / PUBLIC[name].files[part][0].paths[0] if root and name in YEARS else None
            if year and year.is_dir():
                texts += readers.read_sts_texts(year)
                sources.append(f"{name}: {year}, unscored pairs too")
            else:
                corpus = load(name, part, folder)
                texts += (text for pair in corpus for text in (pair.text_a, pair.text_b))
                sources.append(f"{name} {part}: {corpus.source}")
    once = tuple(dict.fromkeys(texts))
    return Corpus("sts-unlabelled", split, once, "; ".join(sources), {"repeated sentence": len(texts) - len(once)})


def _nli(split: str, folder: Folder) -> Corpus[LabelledPair]:
    return chained("nli", load("snli", split, folder), load("mnli", split, folder))


def _nli_triples(split: str, folder: Folder) -> Corpus[Triple]:
    pairs = load("nli", split, folder)
    hypotheses: dict[str, dict[str, list[str]]] = {}  # premise -> label -> hypotheses, all in file order
    for pair in pairs:
        hypotheses.setdefault(pair.text_a, {}).setdefault(pair.label, []).append(pair.text_b)
    rows = tuple(
        Triple(premise, positive, negative)
        for premise, of in hypotheses.items()
        for positive, negative in zip(of.get("entailment", []), of.get("contradiction", []), strict=False)
    )
    left_out = {"neutral pair, or one without its counterpart": len(pairs) - 2 * len(rows)}
    return Corpus("nli-triples", split, rows, pairs.source, added_up(pairs.left_out, left_out))


def chained(name: str, *parts: Corpus[Any]) -> Corpus[Any]:
    """Put corpora behind each other."""
    rows = tuple(row for part in parts for row in part)
    source = "; ".join(f"{part.name} {part.split}: {part.source}" for part in parts)
    return Corpus(name, parts[0].split, rows, source, added_up(*(part.left_out for part in parts)))


class Joined(NamedTuple):
    """A corpus made of other sets: its splits and type of row, what it is made of, and how: (split, folder) in."""

    splits: tuple[str, ...]
    row: type
    of: str
    make: Callable[[str, Folder], Corpus[Any]]

    def load(self, name: str, split: str, folder: Folder) -> Corpus[Any]:
        return self.make(split, folder)


def _toy(name: str, split: str, folder: Folder) -> Corpus[Any]:
    return toy.load(name, split)


Entry = PublicSet | Joined
CATALOG: dict[str, Entry] = {
    **PUBLIC,
    "sts-unlabelled": Joined(("train",), str, "the seven STS sets", _unlabelled),
    "nli": Joined(("train", "dev"), LabelledPair, "SNLI and MNLI", _nli),
    "nli-triples": Joined(("train", "dev"), Triple, "SNLI and MNLI", _nli_triples),
    **{name: Joined(("train", "dev", "test"), row, "toy world", partial(_toy, name)) for name, row in toy.ROWS.items()},
}


def load(
    name: str, split: str = "test", folder: Folder = None, *, catalog: Mapping[str, Entry] = CATALOG
) -> Corpus[Any]:
    """Load a corpus by name, and say in `Corpus.source` where it was found.

    Public data sets are looked for in `folder` or else in the folder that the environment variable SENTLAB_DATA names,
    laid out like SentEval's `data/downstream`. STS, SICK, SNLI and MNLI that are not there come from the hub, through
    the `datasets` library and with a warning. A set that is not in a `folder=` is an error.

    - `sts-unlabelled`: the distinct sentences of all seven STS sets as plain strings, every split and unscored pairs
      too: 89,192 with repeats, on which PaSeR (section 4.2) and ConSERT train. This trains on the TEXTS of the test
      sets, as those papers do; no score is used.
    - `nli`: SNLI and MNLI as one set, as the Universal paper (section 3.1) trains on them.
    - `nli-triples`: premises of `nli`, each with a hypothesis that follows and one that contradicts it, as SimCSE and
      PaSeR (section 4.2) train on: the i-th of either kind together, so that no pair is used twice.
    - `wiki1m`: distinct sentences of Wikipedia: the million that SimCSE and PT-BERT (section 4.1) train on, or else
      those of the articles in `text/`. `msmarco`: the first 6,400,000 of 39,780,811 triples of a query and two
      passages, as many as SLICE (sections 4.1 and 5) trains on. `quora`: all of the release is `test`.

    Args:
        name: one of `corpora()`, which also lists the splits of each.
        split: `train`, `dev` or `test`. MNLI's `dev` is both halves.
        folder: where the public files are.
        catalog: the corpora to choose from.

    Raises:
        ValueError: unknown name or split, or a file that is not as its format says (names file and line).
        FileNotFoundError: the corpus is nowhere to be found; the message says where was looked and what to do.

    Example:
        >>> pairs = sentlab.data.load("toy-sts", "test")
        >>> type(pairs[0]).__name__, pairs.source
        ('ScoredPair', 'toy world, seed 0')
    """
    if name not in catalog:
        raise ValueError(f"no corpus is named {name!r}; there are {', '.join(catalog)}")
    if split not in catalog[name].splits:
        raise ValueError(f"{name} has no split {split!r}; it has {', '.join(catalog[name].splits)}")
    return catalog[name].load(name, split, folder)


def corpora(catalog: Mapping[str, Entry] = CATALOG) -> pd.DataFrame:
    """List every name that `load` knows, with its splits, its type of row and where it comes from."""
    import pandas as pd

    rows = [(name, ", ".join(entry.splits), entry.row.__name__, entry.of) for name, entry in catalog.items()]
    return pd.DataFrame(rows, columns=["name", "splits", "row", "from"]).set_index("name")
