"""Which of the recorded encoders is better, and how sure is that? Items and seeds count, or Williams's test decides.

    python -m sentlab comparison book/results/NAME.json ... [--again]
    python -m sentlab williams book/results/NAME.json ... [--again]

The encoders must be there: a run leaves its own in `runs/NAME/encoder`, a sweep with `keep` beside its records.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from sentlab.data import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.encoder.word_vectors import WordVectors
from sentlab.evaluation import Evaluation, evaluate
from sentlab.evaluation.mining import MiningResult, bm25, evaluate_mining, williams
from sentlab.experiments import records
from sentlab.experiments import results_rows as found
from sentlab.experiments.encoders import encoders_of, trained_rows
from sentlab.experiments.records import ComparisonRecord, Notes, WilliamsRecord
from sentlab.experiments.settings_rows import RowSettings, WilliamsRow, WilliamsTable
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
    mined = {str(row): mine(row, table, corpus, path) for row in tqdm(table.rows, desc=table.setup, unit=" rows")}
    tests = williams({row: result.similarities for row, result in mined.items()}, [row.score for row in corpus])
    scores = pd.concat([result.table().set_axis([row]) for row, result in mined.items()])
    numbers = scores.join(tests[["difference", "t", "p"]])
    rows = []
    for row in table.rows:
        asked, own = row.model_dump(exclude_unset=True), numbers.loc[str(row)].dropna().round(4).to_dict()
        rows.append(found.WilliamsRowResult(**asked, **own))
    return found.WilliamsTableResult(**table.model_dump(exclude_unset=True, exclude={"rows"}), rows=rows)


def mine(row: WilliamsRow, table: WilliamsTable, corpus: Corpus[Any], path: Path) -> MiningResult:
    """Return what a row finds in the contexts."""
    if row.record is None:
        return bm25(corpus)
    encoder: Any = Encoder.from_pretrained(**encoders_of(RowSettings(record=row.record), path)[0])
    setup = row.setup or table.setup
    if row.vectors == "words":
        embeddings = encoder.word_embeddings.weight.detach().float().numpy()
        encoder = WordVectors(encoder.tokenizer.get_vocab(), embeddings, f"word embeddings of {row.record}")
        setup = "ngrams" if setup == "spans" else setup  # which without context are the same
    return evaluate_mining(encoder, corpus, setup, max_size=table.max_size)
