"""The STS tasks, other pairs, the geometry of their sentences, and what all evaluations take and return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from sentlab import data, metrics
from sentlab.data.rows import POSITIVE, Corpus, PhrasePair, ScoredPair, WordPair, WordPairInContext, check_rows
from sentlab.encoder import Encoder
from sentlab.encoder.inference import distinct, refuse_table

Rows = str | Corpus[Any] | Iterable[Any]  # the name of a corpus, a corpus, or plain rows
Aggregation = Literal["all", "mean", "wmean"]
Correlation = Literal["spearman", "pearson"]
PAIRS = (ScoredPair, WordPair, PhrasePair, WordPairInContext)
CORRELATIONS: dict[str, Callable[[Any, Any], float]] = {"spearman": metrics.spearman, "pearson": metrics.pearson}
DECIMALS = 9  # of a cosine; what is behind them is rounding error
LEVELS = 5  # gold 0-1, 1-2, ... 4-5
BINS = 100  # of cosine, over -1 .. 1


class TextEncoder(Protocol):
    """Anything that turns n texts into n vectors: `sentlab.Encoder`, a SentenceTransformer, a class of your own."""

    def encode(self, texts: list[str], /) -> Any: ...


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of one corpus, and the value of each item behind them.

    Args:
        scores: name -> score x 100, such as {"quora map": 55.1, "quora mrr@10": 60.2}. The main score is the first.
        items: the cosine of each item, or its score x 100. Float64 (n,), in order.
        gold: the human score of each item, float64 (n,). None where an item's value is a score by itself.
        correlation: how items and gold make the main score. None where it is the mean of the items.
        left_out: reason -> number of rows or queries that are not scored.
    """

    scores: dict[str, float]
    items: np.ndarray
    gold: np.ndarray | None
    correlation: Correlation | None
    left_out: dict[str, int] = field(default_factory=dict)

    def score(self, chosen: np.ndarray | slice = slice(None)) -> float:
        """Return the main score x 100 over chosen items: a slice, or indices, which may repeat (a bootstrap's draw)."""
        if self.gold is None or self.correlation is None:
            return float(self.items[chosen].mean())
        return 100 * CORRELATIONS[self.correlation](self.items[chosen], self.gold[chosen])


@dataclass(frozen=True, repr=False, eq=False)
class Correlations:
    """What `evaluate_sts` found, on one corpus or more, which a notebook shows as a table of one row.

    Args:
        label: what the scores are, such as `spearman x 100, all`.
        scores: name -> correlation x 100, such as {"sts12": 72.37}. Nan if all cosines or gold scores are the same.
        left_out: name -> reason -> number of pairs left out.
        subsets: name -> sub-set -> correlation x 100. Empty for a task without sub-sets (STS-B, SICK).
    """

    label: str
    scores: dict[str, float]
    left_out: dict[str, dict[str, int]]
    subsets: dict[str, dict[str, float]]

    @property
    def average(self) -> float:
        """Unweighted mean over the corpora; nan where a corpus's value is."""
        return float(np.mean(list(self.scores.values())))

    def table(self) -> pd.DataFrame:
        """Return one row: the scores x 100, and their average."""
        return pd.DataFrame([{**self.scores, "average": self.average}], index=[self.label])

    def __repr__(self) -> str:
        return self.table().to_string(float_format="{:.2f}".format)

    def _repr_html_(self) -> str:
        return self.table().to_html(float_format="{:,.2f}".format, classes="mathjax_ignore")  # a name may hold "$"


def evaluate_sts(
    encoder: TextEncoder,
    tasks: Rows | None = None,
    *,
    folder: str | Path | None = None,
    aggregation: Aggregation = "all",
    correlation: Correlation = "spearman",
    progress: bool | None = None,
) -> Correlations:
    """Score an encoder on semantic textual similarity: the correlation of cosines with human scores, without training.

    The protocol of SimCSE, whose scores PaSeR and PT-BERT print beside theirs, is the default: `aggregation="all"`,
    Spearman, test splits. Aggregation alone can move a value by several points, so the result states it.

    Args:
        encoder: anything with `.encode(list of n texts)` -> (n, D). It is called once, on all distinct sentences.
        tasks: a name, whose `test` split is loaded, a corpus of ScoredPair rows, or a list of such rows or of tuples
            (text_a, text_b, score). Or a list of names and corpora. None: the tasks sts12 .. sts16, stsb and sick.
        folder: where the public files are; see `sentlab.data.load`.
        aggregation: of sub-sets (STS12 to STS16). `all`: one correlation over the pairs of all together; `mean`: the
            mean of their correlations; `wmean`: the same, weighted by their numbers of pairs.
        correlation: `spearman` or `pearson`.
        progress: as in `Encoder.encode`; other encoders decide for themselves.

    Example:
        >>> encoder = sentlab.Encoder.from_pretrained(pooling="mean")
        >>> result = sentlab.evaluate_sts(encoder, "toy-sts", progress=False)
        >>> list(result.scores), 0 < result.average < 100
        (['toy-sts'], True)
    """
    if aggregation not in ("all", "mean", "wmean"):
        raise ValueError(f"aggregation must be all, mean or wmean; it is {aggregation!r}")
    correlate = CORRELATIONS[correlation]
    corpora = _several(data.STS_TASKS if tasks is None else tasks, folder)
    scores, subsets = {}, {}
    for (task, corpus), (u, v) in zip(corpora.items(), encode_pairs(encoder, corpora.values(), progress), strict=True):
        cosines = metrics.cosine_similarity(u, v).round(DECIMALS)  # (n,)
        gold, names = np.array([pair.score for pair in corpus]), np.array([pair.subset for pair in corpus])
        parts = {name: names == name for name in dict.fromkeys(names.tolist())}
        if aggregation != "all" and task in data.catalog.YEARS and set(parts) == {""}:
            raise ValueError(f"{corpus.source} has no sub-sets, of which aggregation={aggregation!r} takes the mean")
        values = {name: 100 * correlate(cosines[part], gold[part]) for name, part in parts.items()}
        if aggregation == "all" or set(parts) == {""}:
            scores[task] = 100 * correlate(cosines, gold)
        else:
            weights = [part.sum() if aggregation == "wmean" else 1 for part in parts.values()]
            scores[task] = float(np.average(list(values.values()), weights=weights))
        subsets[task] = {} if set(parts) == {""} else values
    left_out = {task: corpus.left_out for task, corpus in corpora.items()}
    return Correlations(f"{correlation} x 100, {aggregation}", scores, left_out, subsets)


def pair_cosines(encoder: TextEncoder, rows: Rows, *, progress: bool | None = None) -> np.ndarray:
    """Compute the cosine of the two embeddings of each pair of texts, phrases or words: float64 (n,), in order.

    Cosines are rounded to nine decimals, so that equal ones share a rank.

    Example:
        >>> encoder = sentlab.Encoder.from_pretrained(pooling="mean")
        >>> sentlab.pair_cosines(encoder, sentlab.data.load("toy-sts", "test")[:10], progress=False).shape
        (10,)
    """
    return metrics.cosine_similarity(*encode_pairs(encoder, [one_corpus(rows, *PAIRS)], progress)[0]).round(DECIMALS)


@dataclass(frozen=True)
class Geometry:
    """How an encoder lays out the sentences of an STS corpus.

    Args:
        alignment: `metrics.alignment` of the pairs with a gold of 4 or more. Lower is better.
        uniformity: `metrics.uniformity` of all distinct sentences. Lower is better.
        mean, variance: of the cosines of each gold level 0-1, 1-2, ... 4-5; nan for an empty level.
        counts: pairs by level and by cosine, `BINS` bins of equal width over -1 .. 1.
    """

    alignment: float
    uniformity: float
    mean: list[float]
    variance: list[float]
    counts: list[list[int]]


def geometry(encoder: TextEncoder, corpus: Rows, *, progress: bool | None = None) -> Geometry:
    """Measure alignment, uniformity and the cosines by gold level; a gold of 5 belongs to the last one.

    Source: PaSeR, Figs. 5 and 6 and Table 10; Gao et al. (2021), Figs. 2 and 3, after Wang and Isola (2020). Gao et
    al. align pairs with a gold above 4; here those of exactly 4 count, too.
    """
    corpus = one_corpus(corpus, ScoredPair)
    gold = np.array([pair.score for pair in corpus])
    pairs = _sides(corpus)
    texts, u, v = encode_groups(encoder, list(dict.fromkeys(chain(*pairs))), *pairs, progress=progress)
    same = gold >= POSITIVE
    alignment, uniformity = metrics.alignment(u[same], v[same]), metrics.uniformity(texts)
    return Geometry(alignment, uniformity, *by_level(metrics.cosine_similarity(u, v), gold, (0.0, LEVELS)))


def by_level(cosines: np.ndarray, gold: np.ndarray, scale: tuple[float, float]) -> tuple[list[float], list[float], Any]:
    """Return `mean`, `variance` and `counts` of a `Geometry`; equal levels cut the gold's scale."""
    low, high = scale
    level = np.minimum(((gold - low) * (LEVELS / (high - low))).astype(int), LEVELS - 1)
    parts = [cosines[level == i] for i in range(LEVELS)]
    mean, variance = ([float(of(x)) if len(x) else float("nan") for x in parts] for of in (np.mean, np.var))
    return mean, variance, [np.histogram(part, BINS, (-1.0, 1.0))[0].tolist() for part in parts]


def watch_geometry(corpus: Rows, every: int) -> Callable[[int, Any], dict[str, float] | None]:
    """Return an `on_step` for `fit` that measures alignment and uniformity every few steps; `History.seen` holds them.

    Of a name the `dev` split is loaded. Source: PT-BERT, Fig. 3 (every 125 steps, on STS-B).
    """
    pairs = one_corpus(corpus, ScoredPair, split="dev")

    def on_step(step: int, method: Any) -> dict[str, float] | None:
        if step % every:
            return None
        measured = geometry(method.encoder, pairs, progress=False)  # `fit` shows a bar
        return {"alignment": measured.alignment, "uniformity": measured.uniformity}

    return on_step


def one_corpus(rows: Rows, *kinds: type, split: str = "test", folder: str | Path | None = None) -> Corpus[Any]:
    """Return a corpus of one of these kinds: of a name `split` is loaded, which is `dev` for whatever chooses."""
    if isinstance(rows, str):
        rows = data.load(rows, split, folder)
    if not isinstance(rows, Corpus):
        refuse_table(rows, "rows")
        if ScoredPair in kinds:
            rows = (ScoredPair(*row) if isinstance(row, tuple) and len(row) == 3 else row for row in rows)
        rows = Corpus("rows", "test", tuple(rows), "given as rows")
    check_rows(rows, *kinds)
    return rows


def _several(tasks: Any, folder: str | Path | None) -> dict[str, Corpus[Any]]:
    """A mapping name -> corpus of what `one_corpus` takes, or of a list of names and corpora."""
    refuse_table(() if isinstance(tasks, str) else tasks, "tasks")
    parts = [tasks] if isinstance(tasks, str | Corpus) else list(tasks)
    if not any(isinstance(part, str | Corpus) for part in parts):
        parts = [parts]  # plain rows
    corpora = [one_corpus(part, ScoredPair, folder=folder) for part in parts]
    by_name = {corpus.name: corpus for corpus in corpora}
    if len(by_name) < len(corpora):
        raise ValueError(f"two corpora have one name, so one would have no score: {[c.name for c in corpora]}")
    return by_name


def gold_of(corpus: Corpus[Any]) -> tuple[np.ndarray | None, Correlation | None]:
    """Return the gold (n,) of a corpus and its correlation in `evaluate`: None where an item is a score by itself."""
    if not hasattr(corpus[0], "score"):
        return None, None
    gold = np.array([row.score for row in corpus], np.float64)
    return gold, "spearman" if isinstance(corpus[0], PAIRS) else "pearson"


def encode_groups(encoder: TextEncoder, *groups: Sequence[str], progress: bool | None = None) -> list[np.ndarray]:
    """Encode each group of n texts to vectors (n, D), with one call of `encode` for the distinct texts of all."""
    texts, places = distinct(chain.from_iterable(groups))
    # only our own encoder is known to have the arguments; float32, so that scores are the same on all devices
    options = {"progress": progress, "precision": "float32"} if isinstance(encoder, Encoder) else {}
    vectors = metrics.as_array(encoder.encode(texts, **options))
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(f"encode() was given {len(texts)} texts and returned an array of shape {vectors.shape}")
    return [vectors[group] for group in np.split(places, np.cumsum([len(group) for group in groups])[:-1])]


def encode_pairs(
    encoder: TextEncoder, corpora: Iterable[Corpus[Any]], progress: bool | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Encode the first texts and the second texts of each corpus of n pairs to vectors, (n, D) each."""
    groups = [texts for corpus in corpora for texts in _sides(corpus)]
    vectors = encode_groups(encoder, *groups, progress=progress)
    return list(zip(vectors[::2], vectors[1::2], strict=True))


def _sides(pairs: Corpus[Any]) -> list[list[str]]:
    """The first texts of pairs, and the second ones: the first two fields of each kind of pair."""
    return [[getattr(pair, fields(pair)[side].name) for pair in pairs] for side in (0, 1)]
