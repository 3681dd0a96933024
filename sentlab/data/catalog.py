"""A corpus name -> its rows: from a folder of public files, from the Hugging Face hub, or from the toy world."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sentlab.data import readers, rows, toy
from sentlab.data.readers import NLI_LABELS, Read
from sentlab.data.rows import Corpus, ScoredPair, added_up

if TYPE_CHECKING:
    import pandas as pd

YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
STS_TASKS = (*YEARS, "stsb", "sick")
NOWHERE = "a folder (neither folder= nor SENTLAB_DATA is set)"
SENTEVAL = "the layout of SentEval's data/downstream, which its data script downloads"
Folder = str | Path | None
Reader = Callable[..., Read[Any]]


class Hub(NamedTuple):
    """A hub data set: its columns of text a, text b and gold, what makes a row of them, and its splits for `dev`."""

    dataset: str
    columns: tuple[str, str, str] = ("sentence1", "sentence2", "score")
    make: Callable[[str, str, str], Any] = readers.scored_pair
    dev: tuple[str, ...] = ("validation",)
    revision: str | None = None
    note: str = ""

    def load(self, name: str, split: str, remark: str) -> Corpus[Any]:
        """Load it; `remark` is for its source."""
        parts = self.dev if split == "dev" else (split,)
        read = readers.chained(*map(self._part, parts))
        source = f"hub {self.dataset}, {' + '.join(parts)}{self.note}{remark}"
        return Corpus(name, split, tuple(read.rows), source, read.left_out)

    def _part(self, part: str) -> Read[Any]:
        import datasets

        table = datasets.load_dataset(self.dataset, split=part, revision=self.revision)
        columns = [table[column] for column in self.columns]
        if self.make is readers.labelled_pair:  # both NLI sets number their labels in this order, -1 for none
            columns[2] = [(*NLI_LABELS, "-")[label] for label in columns[2]]
        pairs = ((a, b, "" if gold is None else str(gold)) for a, b, gold in zip(*columns, strict=True))
        return readers.rows_of(((pair, f"{self.dataset} {part} row {n}") for n, pair in enumerate(pairs)), self.make)


@dataclass(frozen=True)
class PublicSet:
    """A public data set: what it is, and where it may be.

    Args:
        row: its type of row.
        published: split -> the number of rows that its authors give (0: not known).
        layouts: files, "one + another" with {} for the split -> their reader. Each file may be packed (.gz, .xz).
        origin: where one gets the files.
        hub: where it is on the hub. None for a set that must be in a folder.
        stems: split -> what {} is, where it is not the split.
    """

    row: type
    published: Mapping[str, int]
    layouts: Mapping[str, Reader]
    origin: str = SENTEVAL
    hub: Hub | None = None
    stems: Mapping[str, str] = field(default_factory=dict)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.published)

    @property
    def of(self) -> str:
        return f"folder, or hub {self.hub.dataset}" if self.hub else "folder"

    def load(self, name: str, split: str, folder: Folder) -> Corpus[Any]:
        """Load it from the folder, else, if none is given, from the hub."""
        root, stem = folder_of(folder), self.stems.get(split, split)
        layouts = {files.format(stem): reader for files, reader in self.layouts.items()}
        corpus = _from_folder(name, split, root, layouts) if root else None
        looked = f"{'SENTLAB_DATA' if folder is None else 'folder'}={root}" if root else NOWHERE
        failure = ""
        if corpus is None and folder is None and self.hub:
            if root:
                warnings.warn(f"{name} ({split}) is not in {looked}; asking the hub", stacklevel=3)
            try:
                corpus = self.hub.load(name, split, f"; not in {looked}" if root else "")
            except Exception as error:  # offline, unknown set, moved file: `datasets` raises many unrelated types
                failure = f"\n  Asked the hub for {self.hub.dataset}: {type(error).__name__}: {error}"
        if corpus is None:
            raise FileNotFoundError(
                f"{name} ({split}) was not found.\n  Looked in {looked} for {' | '.join(layouts)}{failure}\n"
                f"Set folder= or SENTLAB_DATA to a folder that holds those files ({self.origin})"
                f"{', go online with `datasets` installed and without folder=' if self.hub else ''}, "
                f"or use a corpus that needs no files: {', '.join(toy.NAMES)}"
            )
        published = self.published[split]
        if published in (0, len(corpus)):
            return corpus
        return replace(corpus, source=f"{corpus.source}; {len(corpus):,} rows, where the original has {published:,}")


def _from_folder(name: str, split: str, root: Path, layouts: Mapping[str, Reader]) -> Corpus[Any] | None:
    """Read the first layout that is there; where one is there in part alone, that is an error."""
    missing = list[str]()
    for files, reader in layouts.items():
        paths = files.split(" + ")
        there = {path: path + end for path in paths for end in (".xz", ".gz", "") if (root / (path + end)).exists()}
        lacking = [path for path in paths if path not in there]
        if not lacking:
            read = reader(*(root / path for path in there.values()))
            return Corpus(name, split, tuple(read.rows), f"{' + '.join(there.values())} in {root}", read.left_out)
        if there:
            missing += lacking
    if missing:
        raise FileNotFoundError(f"{name} ({split}) is incomplete in {root}: {', '.join(missing)} is missing")
    return None


def folder_of(folder: Folder) -> Path | None:
    """Return the folder to look in, of the argument or of SENTLAB_DATA; refuse one that is not there."""
    named = folder if folder is not None else os.environ.get("SENTLAB_DATA") or None
    root = None if named is None else Path(named).expanduser()
    if root and not root.is_dir():
        what = "SENTLAB_DATA" if folder is None else "folder="
        raise FileNotFoundError(f"{what} names {root.absolute()}, which is not a folder: correct it, or leave it out")
    return root


def _sts(year: str, count: int) -> PublicSet:
    hub = Hub(f"mteb/sts{year}-sts", note=" (names of sub-sets are not kept there)")
    return PublicSet(ScoredPair, {"test": count}, {f"STS/STS{year}-en-test": readers.read_sts_year}, hub=hub)


def _words(count: int, path: str, other: str, origin: str, highest: float = 10.0) -> PublicSet:
    layouts = dict.fromkeys((path, f"wordsim/EN-{other}.txt"), partial(readers.read_word_pairs, highest=highest))
    return PublicSet(rows.WordPair, {"test": count}, layouts, f"{origin}, or the second")


_MNLI = "multinli_1.0/multinli_1.0_{0}"
_NLI = ("premise", "hypothesis", "label")
_WS353 = "ws353simrel.tar.gz, the halves of WordSim-353 by Agirre et al. (2009)"
_MSMARCO = partial(readers.read_msmarco, limit=6_400_000)  # SLICE (section 5) trains for 200,000 steps of 32
# fmt: off
PUBLIC: dict[str, PublicSet] = {
    "sts12": _sts("12", 3108), "sts13": _sts("13", 1500), "sts14": _sts("14", 3750),
    "sts15": _sts("15", 3000), "sts16": _sts("16", 1186),
    "stsb": PublicSet(ScoredPair, {"train": 5749, "dev": 1500, "test": 1379},
        {"STS/STSBenchmark/sts-{}.csv": readers.read_stsb, "stsbenchmark/sts-{}.csv": readers.read_stsb},
        hub=Hub("mteb/stsbenchmark-sts")),
    "sick": PublicSet(ScoredPair, {"train": 4500, "dev": 500, "test": 4927}, {"SICK/SICK_{}.txt": readers.read_sick},
        stems={"dev": "trial", "test": "test_annotated"},
        # not mteb/sickr-sts: its only split pools all 9,927 pairs, so its "test" is not the one that papers report
        hub=Hub("RobZamp/sick", ("sentence_A", "sentence_B", "relatedness_score"),
                partial(readers.scored_pair, low=1.0), revision="refs/convert/parquet",
                note=" (the later release, without 87 pairs of the SemEval files)")),
    "snli": PublicSet(rows.LabelledPair, {"train": 549367, "dev": 9842, "test": 9824},
        {"SNLI/s1.{0} + SNLI/s2.{0} + SNLI/labels.{0}": readers.read_snli,
         "snli_1.0/snli_1.0_{0}.jsonl": readers.read_nli_jsonl},
        hub=Hub("stanfordnlp/snli", _NLI, readers.labelled_pair)),
    "mnli": PublicSet(  # its test labels were never published; dev is matched and mismatched together
        rows.LabelledPair, {"train": 392702, "dev": 19647},
        {"MNLI/{}_matched_and_mismatched.csv": readers.read_mnli_csv, f"{_MNLI}.jsonl": readers.read_nli_jsonl,
         f"{_MNLI}_matched.jsonl + {_MNLI}_mismatched.jsonl": readers.read_nli_jsonl},
        hub=Hub("nyu-mll/multi_nli", _NLI, readers.labelled_pair, ("validation_matched", "validation_mismatched"))),
    "quora": PublicSet(  # released without splits, and PaSeR searches all of it
        rows.DuplicateQuestion, {"test": 404290},
        {"quora/quora_duplicate_questions.tsv": readers.read_quora,
         "quora/quora_positive_eval.csv + quora/quora_single_questions_unlabelled.csv": readers.read_quora},
        "the first is what Quora released in 2017 as First Quora Dataset Release: Question Pairs"),
    "askubuntu": PublicSet(rows.RankingQuery, {"dev": 200, "test": 200},
        {"askubuntu/text_tokenized.txt + askubuntu/{0}.txt": readers.read_askubuntu},
        "the files of the GitHub repository taolei87/askubuntu"),
    "msmarco": PublicSet(rows.Triple, {"train": 39_780_811},
        {"msmarco/triples.train.small.tsv": _MSMARCO},
        "triples.train.small.tar.gz of MS MARCO's passage ranking, unpacked"),
    "wiki1m": PublicSet(str, {"train": 1_000_000},  # lines of the first
        {"wiki1m_for_simcse.txt": readers.read_sentences, "text/wikipedia-core.txt": readers.read_articles},
        "the first is in the hub's princeton-nlp/datasets-for-simcse; the other holds a paragraph a line"),
    "simlex": _words(999, "SimLex-999/SimLex-999.txt", "SIMLEX-999", "SimLex-999.zip of fh295.github.io/simlex.html"),
    "ws353-sim": _words(203, "wordsim353_sim_rel/wordsim_similarity_goldstandard.txt", "WS-353-SIM", _WS353),
    "ws353-rel": _words(252, "wordsim353_sim_rel/wordsim_relatedness_goldstandard.txt", "WS-353-REL", _WS353),
    "men": _words(3000, "MEN/MEN_dataset_natural_form_full", "MEN-TR-3k", "MEN by Bruni et al. (2014)", highest=50.0),
    "scws": PublicSet(rows.WordPairInContext, {"test": 2003},
        {"SCWS/ratings.txt": readers.read_scws, "wordsim/SCWS-ratings.txt": readers.read_scws},
        "SCWS.zip by Huang et al. (2012)"),
    "semeval-5a": PublicSet(rows.LabelledPair, {"train": 11722, "test": 7814},
        {"semeval2013-5a/en.{}Set": readers.read_semeval_5a}, "SemEval-2013 task 5(a), English, part-of-speech tagged"),
    "stsb-context-gpt": PublicSet(rows.PhraseInContext, {"test": 1024},
        {"slice/sts-test-sentences-clean.tsv": readers.read_stsb_context},
        "the GitHub repository eyal-orbach/sts-b-test-data"),
    "ppdb-phrasal": PublicSet(  # the paper says 1.53 million lines, before any is left out
        rows.PhrasePair, {"train": 0}, {"ppdb/ppdb-2.0-s-phrasal": readers.read_ppdb},
        "the English phrasal paraphrases of size S of paraphrase.org"),
}
# fmt: on


def _unlabelled(split: str, folder: Folder) -> Corpus[str]:
    root, texts, sources = folder_of(folder), list[str](), list[str]()
    for name in STS_TASKS:
        for part in PUBLIC[name].splits:
            year = root / f"STS/{name.upper()}-en-test" if root and name in YEARS else None
            if year and year.is_dir():
                texts += readers.read_sts_texts(year)
                sources.append(f"{name}: {year}, unscored pairs too")
            else:
                corpus = load(name, part, folder)
                texts += (text for pair in corpus for text in (pair.text_a, pair.text_b))
                sources.append(f"{name} {part}: {corpus.source}")
    once = tuple(dict.fromkeys(texts))
    return Corpus("sts-unlabelled", split, once, "; ".join(sources), {"repeated sentence": len(texts) - len(once)})


def _nli_triples(split: str, folder: Folder) -> Corpus[rows.Triple]:
    pairs = load("nli", split, folder)
    hypotheses: dict[str, dict[str, list[str]]] = {}  # premise -> label -> hypotheses, all in file order
    for pair in pairs:
        hypotheses.setdefault(pair.text_a, {}).setdefault(pair.label, []).append(pair.text_b)
    triples = tuple(
        rows.Triple(premise, positive, negative)
        for premise, of in hypotheses.items()
        for positive, negative in zip(of.get("entailment", []), of.get("contradiction", []), strict=False)
    )
    left_out = {"neutral pair, or one without its counterpart": len(pairs) - 2 * len(triples)}
    return Corpus("nli-triples", split, triples, pairs.source, added_up(pairs.left_out, left_out))


def _ppdb(split: str, folder: Folder) -> Corpus[rows.PhrasePair]:
    whole = load("ppdb-phrasal", "train", folder)
    keys = ["|".join(sorted((pair.phrase_a, pair.phrase_b))) for pair in whole]  # the same in both directions
    held = [zlib.crc32(key.encode()) % 32 == 0 for key in keys]  # about as many as the paper's 32,202
    kept = tuple(pair for pair, is_test in zip(whole, held, strict=True) if is_test == (split == "test"))
    if split == "test":
        kept = tuple(pair for pair in kept if pair.score >= 0 and " " in pair.phrase_a + pair.phrase_b)
    left_out = added_up(whole.left_out, {f"not for {split}": len(whole) - len(kept)})
    return replace(whole, name="ppdb", split=split, rows=kept, left_out=left_out)


def chained(name: str, *parts: Corpus[Any]) -> Corpus[Any]:
    """Put corpora behind each other."""
    together = tuple(row for part in parts for row in part)
    source = "; ".join(f"{part.name} {part.split}: {part.source}" for part in parts)
    return Corpus(name, parts[0].split, together, source, added_up(*(part.left_out for part in parts)))


class Joined(NamedTuple):
    """A corpus made of other sets: its splits and type of row, what it is made of, and how: (split, folder) in."""

    splits: tuple[str, ...]
    row: type
    of: str
    make: Callable[[str, Folder], Corpus[Any]]

    def load(self, name: str, split: str, folder: Folder) -> Corpus[Any]:
        return self.make(split, folder)


Entry = PublicSet | Joined
Catalog = Mapping[str, Entry]
# fmt: off
CATALOG: dict[str, Entry] = {
    **PUBLIC,
    "sts-unlabelled": Joined(("train",), str, "the seven STS sets", _unlabelled),
    "nli": Joined(("train", "dev"), rows.LabelledPair, "SNLI and MNLI",
        lambda *of: chained("nli", load("snli", *of), load("mnli", *of))),
    "nli-triples": Joined(("train", "dev"), rows.Triple, "SNLI and MNLI", _nli_triples),
    "ppdb": Joined(("train", "test"), rows.PhrasePair, "ppdb-phrasal", _ppdb),
    **{name: Joined(("train", "dev", "test"), row, "toy world", partial(toy.load, name))
       for name, row in toy.ROWS.items()},
}
# fmt: on


def load(name: str, split: str = "test", folder: Folder = None, *, catalog: Catalog = CATALOG) -> Corpus[Any]:
    """Load a corpus by name, and say in `Corpus.source` where it was found.

    Public data sets are looked for in `folder` or else in the folder that the environment variable SENTLAB_DATA names,
    laid out like SentEval's `data/downstream`. STS, SICK, SNLI and MNLI that are not there come from the hub, through
    the `datasets` library and with a warning. A set that is nowhere to be found, or not in a `folder=`, is a
    FileNotFoundError that says where was looked and what to do.

    - `sts-unlabelled`: the distinct sentences of all seven STS sets, of every split and of unscored pairs too: 89,192
      with repeats, on which PaSeR (section 4.2) and ConSERT train: on TEXTS of the test sets, without their scores.
    - `nli`: SNLI and MNLI as one set, as the Universal paper (section 3.1) trains on them.
    - `nli-triples`: premises of `nli`, each with a hypothesis that follows and one that contradicts it, as SimCSE and
      PaSeR (section 4.2) train on: the i-th of either kind together, so that no pair is used twice.
    - `wiki1m`: distinct sentences of Wikipedia: the million that SimCSE and PT-BERT (section 4.1) train on, or else
      those of the articles in `text/`. `msmarco`: the first 6,400,000 of 39,780,811 triples of a query and two
      passages, as many as SLICE (sections 4.1 and 5) trains on. `quora`: all of the release is `test`.
    - `ppdb`: a pair in 32 is kept for `test`, of which those with a score and more than single words are Universal's
      phrases (section 4.2). `stsb-context-gpt`: SLICE's own test set.

    `corpora()` lists all names and their splits: `train`, `dev` (of MNLI both halves) and `test`.

    Example:
        >>> sentlab.data.load("toy-sts", "test").source
        'toy world, seed 0'
    """
    if name not in catalog:
        raise ValueError(f"no corpus is named {name!r}; there are {', '.join(catalog)}")
    if split not in catalog[name].splits:
        raise ValueError(f"{name} has no split {split!r}; it has {', '.join(catalog[name].splits)}")
    return catalog[name].load(name, split, folder)


def corpora(catalog: Catalog = CATALOG) -> pd.DataFrame:
    """List every name that `load` knows, with its splits, its type of row and where it comes from."""
    import pandas as pd

    known = [(name, ", ".join(entry.splits), entry.row.__name__, entry.of) for name, entry in catalog.items()]
    return pd.DataFrame(known, columns=["name", "splits", "row", "from"]).set_index("name")
