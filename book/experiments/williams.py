"""Which way to find phrases in contexts is better, and how sure is that? Williams's test decides.

The encoders must be there: a run leaves its own in `runs/NAME/encoder`, a sweep where it has `keep` in its settings. Of
one that is gone, the similarities that a leaderboard has kept beside its record count, but no share found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import PositiveInt
from sentlab.data import Corpus
from sentlab.encoder import Encoder
from sentlab.evaluation.mining import DECIMALS, MAX_SIZE, Setup, evaluate_mining
from sentlab.metrics import pearson, spearman, williams_test
from sentlab.text.words import lower_words
from tqdm import tqdm

from experiments.leaderboard import RowSettings, TestSettings, encoders_of, kept_evaluation, there
from experiments.peers import WordVectors, okapi
from experiments.records import Notes, Record, Typed

NUMBERS = ["pearson", "spearman", "found", "difference", "t", "p"]  # of a row


class WilliamsRow(Typed):
    """One way to find phrases in contexts."""

    record: str | None = None  # of the encoder; of a sweep the first run. Null for bm25.
    setup: Setup | None = None  # a set-up other than that of its table
    # `contextual`; `words`: the mean of the encoder's word embeddings; `bm25`: no vectors
    vectors: Literal["contextual", "words", "bm25"] = "contextual"

    def __str__(self) -> str:
        return " ".join(filter(None, (self.record, self.setup, self.vectors.replace("contextual", ""))))


class WilliamsTable(Typed):
    """Rows that are compared with the best of them, in one set-up."""

    setup: Setup
    max_size: PositiveInt = MAX_SIZE
    rows: list[WilliamsRow]


class WilliamsSettings(Typed):
    """Williams's test on phrases in contexts (SLICE, Table 1): each row against the best of its table."""

    tables: list[WilliamsTable]  # each with a setup, the longest span in words (max_size) and its rows
    corpus: str  # phrases in contexts, of which the `test` split counts


class WilliamsRecord(Record):
    """Its results: `tables` as in the settings, each row with `NUMBERS`: x 100, and `difference` from the best row."""

    settings: WilliamsSettings

    def tables(self) -> list[tuple[Setup, int, pd.DataFrame]]:
        """Return set-up, longest span in words and a row for each way, table by table."""
        tables = []
        for table, made in zip(self.settings.tables, self.results["tables"], strict=True):
            frame = pd.DataFrame(made["rows"], index=list(map(str, table.rows)))
            tables.append((table.setup, table.max_size, frame.reindex(columns=NUMBERS)))
        return tables


def williams_tests(record: WilliamsRecord) -> WilliamsRecord:
    """Score the rows of each table, hold them against the best of it, and write that into the record."""
    notes = Notes()
    corpus = notes.load(record.settings.corpus, "test")
    tables = [williams_table(table, corpus, record.folder) for table in record.settings.tables]
    return record.finish({"tables": tables}, notes)


def williams_table(table: WilliamsTable, corpus: Corpus[Any], place: Path) -> dict[str, Any]:
    """Compute correlations and share found, x 100, and the difference, t and p against the best row."""
    gold = [row.score for row in corpus]
    mined = {str(row): mine(row, table, corpus, place) for row in tqdm(table.rows, desc=table.setup, unit=" rows")}
    tests = williams({row: similarities for row, (similarities, _) in mined.items()}, gold)
    rows = []
    for row in table.rows:
        similarities, share = mined[str(row)]
        values = tests.loc[str(row)].to_dict() | {"spearman": 100 * spearman(similarities, gold), "found": share}
        numbers = {name: round(float(values[name]), 4) for name in NUMBERS if not math.isnan(values[name])}
        rows.append(row.model_dump(exclude_unset=True) | numbers)
    return table.model_dump(exclude_unset=True) | {"rows": rows}


def mine(row: WilliamsRow, table: WilliamsTable, corpus: Corpus[Any], place: Path) -> tuple[np.ndarray, float]:
    """Return the similarities of a row, and the share of the true matches that it finds x 100; NaN of bm25."""
    if row.vectors == "bm25":
        return bm25(corpus), math.nan
    setup, run = row.setup or table.setup, encoders_of(RowSettings(record=str(row.record)), place)[0]
    contextual = row.vectors == "contextual" and table.max_size == MAX_SIZE
    if contextual and run.settings.method and not Path(run.encoder["source"]).is_dir():
        length, test = run.settings.encoder.max_length, TestSettings(corpus=corpus.name, setup=setup)
        return kept_evaluation(run, None, test, corpus, length).items, math.nan  # where a board has kept them
    encoder: Any = Encoder.from_pretrained(**there(run))
    if row.vectors == "words":
        embeddings = encoder.word_embeddings.weight.detach().float().numpy()
        encoder = WordVectors(encoder.tokenizer.get_vocab(), embeddings)
        setup = "ngrams" if setup == "spans" else setup  # which without context are the same
    result = evaluate_mining(encoder, corpus, setup, max_size=table.max_size)
    return result.similarities, result.found


def bm25(corpus: Corpus[Any]) -> np.ndarray:
    """Score the baseline without vectors: Okapi BM25 of each context, asked for the words of its phrase: (n,).

    Frequencies and lengths are those of the corpus's contexts; the paper (SLICE, section 5) takes wikitext-103's.
    """
    scores = okapi(row.context for row in corpus).get_scores
    return np.array([scores(lower_words(row.phrase))[i] for i, row in enumerate(corpus)], np.float64).round(DECIMALS)


def williams(rows: Mapping[str, Any], gold: Any) -> pd.DataFrame:
    """Test the similarities (n,) of each system against the best of them, by Pearson's correlation with gold (n,).

    Returns by system `pearson` x 100, its `difference` from the best, and Williams's `t` and two-sided `p`.
    """
    scores = {name: pearson(values, gold) for name, values in rows.items()}
    best = max(scores, key=scores.__getitem__)
    table = {}
    for name, r in scores.items():
        t, p = williams_test(r, scores[best], pearson(rows[name], rows[best]), len(gold))
        table[name] = {"pearson": 100 * r, "difference": 100 * (r - scores[best]), "t": t, "p": p}
    return pd.DataFrame(table).T
