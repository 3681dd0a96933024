"""Which of the recorded encoders is better, and how sure is that? Items and seeds count, or Williams's test decides.

    python -m sentlab comparison book/results/NAME.json ... [--again]
    python -m sentlab williams book/results/NAME.json ... [--again]

The encoders must be there: a run leaves its own in `runs/NAME/encoder`, a sweep with `keep` beside its records. For
Williams's test the kept similarities will do, except for spans of another length.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from sentlab.data import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.encoder.word_vectors import WordVectors
from sentlab.evaluation import Evaluation, evaluate
from sentlab.evaluation.metrics import spearman
from sentlab.evaluation.mining import bm25, evaluate_mining, williams
from sentlab.experiments import records
from sentlab.experiments import results_rows as found
from sentlab.experiments.encoders import encoders_of, items_beside, settings_of, trained_rows
from sentlab.experiments.leaderboard import kept_evaluation
from sentlab.experiments.records import ComparisonRecord, Notes, WilliamsRecord
from sentlab.experiments.settings_rows import RowSettings, TestSettings, WilliamsRow, WilliamsTable
from sentlab.experiments.significance import estimate, holm, items_of, resample


def comparison(path: Path) -> ComparisonRecord:
    """Compare the encoders that a record names, and write the differences into it.

    Raises:
        FileNotFoundError: an encoder is not there; says how to get it.
    """
    record, notes, began = records.read_as(ComparisonRecord, path), Notes(), time.monotonic()
    settings = record.settings
    corpora: list[Corpus[ScoredPair]] = [notes.load(name, "test") for name in settings.test]
    sides = {str(side): side for pair in settings.comparisons for side in (pair.ours, pair.theirs)}
    scored = {
        name: score_seeds(side, corpora, path) for name, side in tqdm(sides.items(), desc="encode", unit=" encoders")
    }
    tests = [{name: seeds[number] for name, seeds in scored.items()} for number in range(len(corpora))]
    random, trained = np.random.default_rng(settings.seed), trained_rows(sides, path)
    drawn = resample(tests, settings.resamples, random, trained, items=list(map(items_of, corpora)))
    rows = [estimate(drawn[str(pair.ours)], drawn[str(pair.theirs)]) for pair in settings.comparisons]
    results = []
    for pair, row, adjusted in zip(settings.comparisons, rows, holm([row.p for row in rows]), strict=True):
        numbers = {"difference": row.value, "low": row.low, "high": row.high}
        rounded: dict[str, Any] = {name: None if value is None else round(value, 2) for name, value in numbers.items()}
        p = None if adjusted is None else round(adjusted, 5)
        results.append(found.Difference(ours=pair.ours, theirs=pair.theirs, **rounded, p=p))
    record.results = found.ComparisonResults(comparisons=results)
    record.provenance = notes.provenance(records.command_of(record, path), time.monotonic() - began)
    record.save(path)
    return record


def score_seeds(side: RowSettings, corpora: Sequence[Corpus[ScoredPair]], path: Path) -> list[list[Evaluation]]:
    """Evaluate a row on each corpus: a list per corpus, with an evaluation per seed."""
    seeds = []
    for source in encoders_of(side, path):
        encoder = Encoder.from_pretrained(**source)
        encoder.pooling = side.pooling or encoder.pooling
        seeds.append([evaluate(encoder, corpus, progress=False) for corpus in corpora])
    return [list(of_corpus) for of_corpus in zip(*seeds, strict=True)]


def williams_tests(path: Path) -> WilliamsRecord:
    """Score the rows of each table, hold them against the best of it, and write that into the record.

    Raises:
        FileNotFoundError: an encoder is not there; says how to get it.
    """
    record, notes, began = records.read_as(WilliamsRecord, path), Notes(), time.monotonic()
    corpus = notes.load(record.settings.corpus, "test")
    tables = [williams_table(table, corpus, path) for table in record.settings.tables]
    record.results = found.WilliamsResults(tables=tables)
    record.provenance = notes.provenance(records.command_of(record, path), time.monotonic() - began)
    record.save(path)
    return record


def williams_table(table: WilliamsTable, corpus: Corpus[Any], path: Path) -> found.WilliamsTableResult:
    """Compute correlations and share found, x 100, and the difference, t and p against the best row."""
    gold = [row.score for row in corpus]
    mined = {str(row): mine(row, table, corpus, path) for row in tqdm(table.rows, desc=table.setup, unit=" rows")}
    tests = williams({row: similarities for row, (similarities, _) in mined.items()}, gold)
    rows = []
    for row in table.rows:
        asked, (similarities, share) = row.model_dump(exclude_unset=True), mined[str(row)]
        own = tests.loc[str(row), ["pearson", "difference", "t", "p"]].to_dict()
        own |= {"spearman": 100 * spearman(similarities, gold)} | ({} if math.isnan(share) else {"found": share})
        numbers: dict[str, Any] = {name: round(float(value), 4) for name, value in own.items()}
        rows.append(found.WilliamsRowResult(**asked, **numbers))
    return found.WilliamsTableResult(**table.model_dump(exclude_unset=True, exclude={"rows"}), rows=rows)


def mine(row: WilliamsRow, table: WilliamsTable, corpus: Corpus[Any], path: Path) -> tuple[np.ndarray, float]:
    """Return the similarities of a row, and the share of the true matches that it finds x 100.

    The share is NaN where nothing is sought, or where only the kept similarities are left of the encoder.
    """
    if row.record is None:
        return bm25(corpus).similarities, math.nan
    setup = row.setup or table.setup
    source = encoders_of(RowSettings(record=row.record), path, or_items=table.takes_kept(row), first=True)[0]
    if items_beside(source) and not Path(source["source"]).is_dir():
        length = settings_of(RowSettings(record=row.record), path).encoder.max_length
        kept = kept_evaluation(source, None, TestSettings(corpus=corpus.name, setup=setup), corpus, length)
        return kept.items, math.nan
    encoder: Any = Encoder.from_pretrained(**source)
    if row.vectors == "words":
        embeddings = encoder.word_embeddings.weight.detach().float().numpy()
        encoder = WordVectors(encoder.tokenizer.get_vocab(), embeddings, f"word embeddings of {row.record}")
        setup = "ngrams" if setup == "spans" else setup  # which without context are the same
    result = evaluate_mining(encoder, corpus, setup, max_size=table.max_size)
    return result.similarities, result.found
