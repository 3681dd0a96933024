"""Which way to find phrases in contexts is better, and how sure is that? Williams's test decides.

    python -m experiments williams book/results/NAME.json ... [--again]

The encoders must be there: a run leaves its own in `runs/NAME/encoder`, a sweep with `keep` beside its records. The
kept similarities will do, except for spans of another length.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from sentlab.data import Corpus
from sentlab.encoder import Encoder
from sentlab.evaluation.metrics import spearman
from sentlab.evaluation.mining import bm25, evaluate_mining, williams
from tqdm import tqdm

from experiments import records
from experiments import results_rows as found
from experiments.encoders import encoders_of, items_beside, settings_of
from experiments.leaderboard import kept_evaluation
from experiments.notes import Notes
from experiments.records import WilliamsRecord
from experiments.settings_rows import RowSettings, TestSettings, WilliamsRow, WilliamsTable
from experiments.word_vectors import WordVectors


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
