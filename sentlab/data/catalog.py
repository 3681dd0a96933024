"""A corpus name -> its rows: from a folder of public files, from the Hugging Face hub, or from the toy world."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from sentlab.data import lexical_relations, toy
from sentlab.data.contexts import stsb_in_context, triples_in_context
from sentlab.data.hard_pairs import hard_pairs
from sentlab.data.readers.files import RawPair, Read
from sentlab.data.readers.lexical import distinct
from sentlab.data.readers.pairs import NLI_LABELS, read_sts_texts
from sentlab.data.rows import Corpus, LabelledPair, PhraseInContext, PhrasePair, ScoredPair, Triple, WordPair, added_up
from sentlab.data.sources import PUBLIC, Hub
from sentlab.extras import need

if TYPE_CHECKING:
    import pandas as pd

YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
STS_TASKS = (*YEARS, "stsb", "sick")
CANDIDATES = 100  # of BM25, one of which is the negative of a mined triple
Folder = str | Path | None


def load(name: str, split: str = "test", folder: Folder = None) -> Corpus[Any]:
    """Load a corpus by name, and say in `Corpus.source` where it was found.

    Public data sets are looked for in `folder` or, where that is not given, in the folder that the environment variable
    SENTLAB_DATA names (laid out like SentEval's `data/downstream`), and else on the hub through the `datasets` library.
    A set that is not in a `folder=` is an error; one that is not in SENTLAB_DATA comes from the hub, with a warning.
    The hub is asked for STS, SICK, SNLI and MNLI alone. Some sets are made of others:

    - `sts-unlabelled`: the distinct sentences of all seven STS sets as plain strings, every split and unscored pairs
      too: 89,192 with repeats, on which PaSeR (section 4.2) and ConSERT train. This trains on the TEXTS of the test
      sets, as those papers do; no score is used.
    - `captions-nli`: sentences of the kinds that STS sets hold, of `captions` and `nli` dev, but none that is in them.
    - `nli`: SNLI and MNLI as one set, as the Universal paper (section 3.1) trains on them.
    - `nli-triples`: premises of `nli`, each with a hypothesis that follows and one that contradicts it, as SimCSE and
      PaSeR (section 4.2) train on: the i-th of either kind together, so that no pair is used twice.
    - `paraphrases`: `ppdb-bigrams` and `ppdb-synonyms`, each pair once. `paraphrase-triples`: each of them with a
      phrase of another pair.
    - `lexical-relations`: pairs out of NLTK's WordNet in three relations, a stand-in for PPDB's labels where there is
      no `ppdb`; see `sentlab.data.lexical_relations`. `sentlab.data.balanced` draws as many of each from `ppdb`.
    - `sts12-hard` .. `sts16-hard`, `toy-sts-hard`: the pairs whose lengths mislead; see `sentlab.data.hard_pairs`.
    - `stsb-context`: `stsb` with the second texts set into passages; see `sentlab.data.contexts`.
      `triples-in-context`: such triples of `stsb` train from a gold of 4 on, and of entailments of `nli` dev.
      `triples-in-context-bm25`: their negatives are among the 100 passages that BM25 ranks first.
    - `men-halves`: `men` in two, to choose settings on words: every second pair is `dev`, the others `test`.

    `wiki1m` holds sentences of Wikipedia as plain strings, each once: the million that SimCSE and PT-BERT (section 4.1)
    train on, or else those of the articles in `text/`. `msmarco` holds the first 6,400,000 of MS MARCO's 39,780,811
    triples of a query and two passages, as many as SLICE (sections 4.1 and 5) trains on. `wikiqa` holds questions, each
    with a sentence that answers it and a candidate that does not. All of Quora's release is `test`.

    Args:
        name: one of `corpora()`, which also lists the splits of each.
        split: `train`, `dev` or `test`. MNLI's `dev` is both halves.
        folder: where the public files are. Toy corpora are made in memory, once, and do not look at it.

    Raises:
        ValueError: unknown name or split, or a file that is not as its format says (names file and line).
        FileNotFoundError: the corpus is nowhere to be found; the message says where was looked and what to do.
        LookupError: `lexical-relations`, and NLTK has no WordNet.

    Example:
        >>> pairs = sentlab.data.load("toy-sts", "test")
        >>> type(pairs[0]).__name__, pairs.source
        ('ScoredPair', 'toy world, seed 0')
    """
    if name in toy.NAMES:
        return toy.load(name, split)
    if name not in JOINED and name not in PUBLIC:
        raise ValueError(f"no corpus is named {name!r}; there are {', '.join([*PUBLIC, *JOINED, *toy.NAMES])}")
    splits = JOINED[name].splits if name in JOINED else tuple(PUBLIC[name].files)
    if split not in splits:
        raise ValueError(f"{name} has no split {split!r}; it has {', '.join(splits)}")
    if name in JOINED:
        return JOINED[name].make(split, folder)
    root = _root(folder)
    found = _from_folder(name, split, root) if root else None
    if found is None and folder is not None:
        raise FileNotFoundError(
            f"{name} ({split}) is not in the given folder {root}: it holds none of {_layouts(name, split)}. "
            f"Correct folder=, or leave it out to look in SENTLAB_DATA{' and on the hub' if PUBLIC[name].hub else ''}."
        )
    return _from_hub(name, split, root) if found is None else found


def corpora() -> pd.DataFrame:
    """List every name that `load` knows, with its splits, its type of row and where it comes from."""
    public = [
        (name, ", ".join(entry.files), entry.row, f"folder, or hub {entry.hub.dataset}" if entry.hub else "folder")
        for name, entry in PUBLIC.items()
    ]
    joined = [(name, ", ".join(made.splits), made.row, made.of) for name, made in JOINED.items()]
    toys = [(name, "train, dev, test", row, "toy world") for name, row in toy.ROWS.items()]
    rows = [(name, splits, row.__name__, of) for name, splits, row, of in [*public, *joined, *toys]]
    return need("pandas", "data").DataFrame(rows, columns=["name", "splits", "row", "from"]).set_index("name")


def _root(folder: Folder) -> Path | None:
    named = folder if folder is not None else os.environ.get("SENTLAB_DATA") or None
    if named is None:
        return None
    root = Path(named).expanduser()
    if not root.is_dir():  # the hub is not asked: a name that is mistyped is better said at once
        seen_from = "" if root.is_absolute() else f", seen from {Path.cwd()},"
        what = "SENTLAB_DATA" if folder is None else "folder="
        raise FileNotFoundError(f"{what} names {root}, which{seen_from} is not a folder: correct it, or leave it out")
    return root


def _layouts(name: str, split: str) -> str:
    return " | ".join(" + ".join(files.paths) for files in PUBLIC[name].files[split])


def _from_folder(name: str, split: str, root: Path) -> Corpus[Any] | None:
    incomplete = None
    for files in PUBLIC[name].files[split]:
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
    published = PUBLIC[name].published.get(split, len(read.rows))
    if len(read.rows) != published:
        where += f"; {len(read.rows):,} rows, where the original has {published:,}"
    return Corpus(name, split, tuple(read.rows), where, read.left_out)


def _from_hub(name: str, split: str, root: Path | None) -> Corpus[Any]:
    entry = PUBLIC[name]
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
    return _corpus(name, split, hub.make(raw), where)


def _nowhere(name: str, split: str, looked: str, refusal: str = "") -> str:
    """What to say of a set that is nowhere to be found: where was looked, and what to do."""
    hub = PUBLIC[name].hub
    lines = [
        f"{name} ({split}) was not found.",
        f"  Looked in {looked} for {_layouts(name, split)}",
        *([f"  Asked the hub for {hub.dataset}: {refusal}"] if hub else []),
        "Do one of these:",
        f"  - load({name!r}, {split!r}, folder=...) or SENTLAB_DATA=... with a folder that holds those files "
        f"({PUBLIC[name].origin})",
        *([f"  - go online, so that datasets.load_dataset({hub.dataset!r}) works; it keeps a copy"] if hub else []),
        f"  - use a corpus that needs no files: {', '.join(toy.NAMES)}",
    ]
    return "\n".join(lines)


def _hub_pairs(hub: Hub, row: type, part: str) -> Iterator[RawPair]:
    gold_text = _label if row is LabelledPair else str
    rows = need("datasets", "data").load_dataset(hub.dataset, split=part, revision=hub.revision)
    lacking = [column for column in hub.columns if column not in rows.column_names]
    if lacking:
        raise KeyError(f"it has no column {', '.join(lacking)}, only {', '.join(rows.column_names)}")
    for n, (a, b, gold) in enumerate(zip(*(rows[column] for column in hub.columns), strict=True)):
        yield a, b, "" if gold is None else gold_text(gold), f"{hub.dataset} {part} row {n}"


def _label(index: int) -> str:
    """Both NLI sets on the hub number their labels in the order of NLI_LABELS, with -1 for none."""
    return NLI_LABELS[index] if 0 <= index < len(NLI_LABELS) else "-" if index == -1 else str(index)


def _unlabelled(split: str, folder: Folder) -> Corpus[str]:
    root = _root(folder)
    texts: list[str] = []
    sources: list[str] = []
    for name in STS_TASKS:
        for part in PUBLIC[name].files:
            year = root / PUBLIC[name].files[part][0].paths[0] if root and name in YEARS else None
            if year and year.is_dir():
                texts += read_sts_texts(year).rows
                sources.append(f"{name}: {year}, unscored pairs too")
            else:
                corpus = load(name, part, folder)
                texts += (text for pair in corpus for text in (pair.text_a, pair.text_b))
                sources.append(f"{name} {part}: {corpus.source}")
    once = tuple(dict.fromkeys(texts))
    return Corpus("sts-unlabelled", split, once, "; ".join(sources), {"repeated sentence": len(texts) - len(once)})


def _like_sts(split: str, folder: Folder) -> Corpus[str]:
    parts = load("captions", split, folder), load("nli", "dev", folder)
    texts = [*parts[0], *(text for pair in parts[1] for text in (pair.text_a, pair.text_b))]
    in_sts = {_plain(text) for text in load("sts-unlabelled", "train", folder)}
    once = {_plain(text): text for text in reversed(texts)}  # the first of equal ones, whatever their marks and case
    kept = tuple(text for plain, text in reversed(once.items()) if plain not in in_sts)
    left_out = {"repeated sentence": len(texts) - len(once), "sentence of an STS set": len(once) - len(kept)}
    source = "; ".join(f"{part.name} {part.split}: {part.source}" for part in parts)
    return Corpus("captions-nli", split, kept, source, added_up(*(part.left_out for part in parts), left_out))


def _plain(text: str) -> str:
    """The words of a text in lower case."""
    return " ".join(re.findall(r"\w+", text.lower()))


def _triples(pairs: Corpus[LabelledPair]) -> Corpus[Triple]:
    hypotheses: dict[str, dict[str, list[str]]] = {}  # premise -> label -> hypotheses, all in file order
    for pair in pairs:
        hypotheses.setdefault(pair.text_a, {}).setdefault(pair.label, []).append(pair.text_b)
    rows = tuple(
        Triple(premise, positive, negative)
        for premise, found in hypotheses.items()
        for positive, negative in zip(found.get("entailment", []), found.get("contradiction", []), strict=False)
    )
    left_out = {"neutral pair, or one without its counterpart": len(pairs) - 2 * len(rows)}
    return Corpus("nli-triples", pairs.split, rows, pairs.source, added_up(pairs.left_out, left_out))


def _chained(name: str, *parts: Corpus[Any]) -> Corpus[Any]:
    """Corpora behind each other; what they leave out is added up."""
    rows = tuple(row for part in parts for row in part)
    source = "; ".join(f"{part.name} {part.split}: {part.source}" for part in parts)
    return Corpus(name, parts[0].split, rows, source, added_up(*(part.left_out for part in parts)))


def _paraphrases(*parts: Corpus[PhrasePair]) -> Corpus[PhrasePair]:
    both = _chained("paraphrases", *parts)
    once = distinct(both)
    return replace(both, rows=tuple(once.rows), left_out=added_up(both.left_out, once.left_out))


def _paraphrase_triples(pairs: Corpus[PhrasePair]) -> Corpus[Triple]:
    known: dict[str, set[str]] = {}  # a phrase -> itself and all that it is paired with
    for pair in pairs:
        known.setdefault(pair.phrase_a, {pair.phrase_a}).add(pair.phrase_b)
        known.setdefault(pair.phrase_b, {pair.phrase_b}).add(pair.phrase_a)
    rng, rows, others = Random("paraphrase-triples"), list[Triple](), {pair.phrase_b for pair in pairs}
    for pair in pairs:
        if others <= known[pair.phrase_a]:
            raise ValueError(f"paraphrase-triples: {pair.phrase_a!r} is paired with all phrases, so it has no negative")
        other = pair.phrase_a
        while other in known[pair.phrase_a]:
            other = pairs[rng.randrange(len(pairs))].phrase_b
        rows.append(Triple(pair.phrase_a, pair.phrase_b, other))
    return Corpus("paraphrase-triples", pairs.split, tuple(rows), pairs.source, pairs.left_out)


@cache  # it takes many seconds
def _relations() -> Corpus[PhrasePair]:
    wordnet = lexical_relations.nltk_wordnet()
    rows, left_out = lexical_relations.relations(wordnet)
    source = f"WordNet {wordnet.get_version()} through NLTK"
    return Corpus("lexical-relations", "train", tuple(rows), source, left_out)


def _men_halves(split: str, folder: Folder) -> Corpus[WordPair]:
    whole = load("men", "test", folder)
    rows = whole.rows[1::2] if split == "dev" else whole.rows[::2]
    return Corpus("men-halves", split, rows, whole.source, whole.left_out)


class _Joined(NamedTuple):
    """A corpus made of other sets: its splits and type of row, what it is made of, and how: (split, folder) in."""

    splits: tuple[str, ...]
    row: type
    of: str
    make: Callable[[str, Folder], Corpus[Any]]


def _from(make: Callable[..., Corpus[Any]], *names: str) -> Callable[[str, Folder], Corpus[Any]]:
    """Make a corpus of the same split of others."""
    return lambda split, folder: make(*(load(name, split, folder) for name in names))


def _triples_in_context(split: str, folder: Folder, mined: int | None = None) -> Corpus[Triple]:
    return triples_in_context(load("stsb", "train", folder), load("nli", "dev", folder), mined=mined)


JOINED = {
    "sts-unlabelled": _Joined(("train",), str, "the seven STS sets", _unlabelled),
    "captions-nli": _Joined(("train",), str, "captions and nli, without what is in STS", _like_sts),
    "nli-triples": _Joined(("train", "dev"), Triple, "SNLI and MNLI", _from(_triples, "nli")),
    "nli": _Joined(("train", "dev"), LabelledPair, "SNLI and MNLI", _from(partial(_chained, "nli"), "snli", "mnli")),
    "paraphrases": _Joined(
        ("train",), PhrasePair, "ppdb-bigrams and ppdb-synonyms", _from(_paraphrases, "ppdb-bigrams", "ppdb-synonyms")
    ),
    "stsb-context": _Joined(("train", "dev", "test"), PhraseInContext, "stsb", _from(stsb_in_context, "stsb")),
    "triples-in-context": _Joined(("train",), Triple, "stsb and nli", _triples_in_context),
    "triples-in-context-bm25": _Joined(
        ("train",), Triple, "stsb and nli", partial(_triples_in_context, mined=CANDIDATES)
    ),
    "paraphrase-triples": _Joined(("train",), Triple, "paraphrases", _from(_paraphrase_triples, "paraphrases")),
    "men-halves": _Joined(("dev", "test"), WordPair, "men", _men_halves),
    "lexical-relations": _Joined(("train",), PhrasePair, "NLTK's WordNet", lambda split, folder: _relations()),
    **{f"{name}-hard": _Joined(("test",), ScoredPair, name, _from(hard_pairs, name)) for name in (*YEARS, "toy-sts")},
}
