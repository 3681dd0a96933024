"""Which of the recorded methods is better, and how sure that is: a paired bootstrap, and Williams's test.

    python -m sentlab.experiments.compare book/results/NAME.json ... [--again]

Settings of a paired bootstrap over the pairs of STS sets:
    compare    comparisons, each [record, pooling, record, pooling]: how much better the first is than the second. A
               record is one of `python -m sentlab.experiments.run`, or a sweep over seeds, whose scores are then averaged
    test       corpora whose `test` split is scored (Spearman x 100, all pairs of a set together), and averaged
    resamples  how often pairs are drawn anew, the same ones for both methods
    seed       of what is drawn

Settings of Williams's test on phrases in contexts (SLICE, Table 1):
    williams   set-up of `sentlab.evaluation.mining` -> records; each is held against the best of its set-up. Of a sweep the first
               run counts. `spans 5` are those of at most five words; `NAME start_end` stands beside others with its own
               set-up; `NAME words` is the mean of the encoder's word embeddings, without any context; `bm25` needs no
               record
    test       one corpus

The encoders must be there: a run leaves its own in `runs/NAME/encoder`, a sweep with `keep` beside its records; of a
record without a method it is the one that it names. The interval is over pairs, with the seeds' encoders as they are:
it says what other pairs might have given, and nothing of what other seeds might have.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from sentlab.data import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.encoder.word_vectors import WordVectors
from sentlab.evaluation.metrics import paired_bootstrap, spearman
from sentlab.evaluation.mining import MAX_SIZE, MiningResult, bm25, evaluate_mining, williams
from sentlab.evaluation.sts import pair_cosines
from sentlab.experiments import records, sweep
from sentlab.experiments.run import remember

Tables = dict[str, dict[str, dict[str, float]]]


def compare(path: Path) -> records.Record:
    """Make the comparisons of a record, and write them into it.

    Raises:
        FileNotFoundError: an encoder is not there; says how to get it.
    """
    record, began = records.read(path), time.monotonic()
    record.results = (williams_tests if "williams" in record.settings else bootstraps)(record, path.parent)
    records.stamp(record, f"python -m sentlab.experiments.compare {path}", time.monotonic() - began)
    record.save(path)
    return record


def bootstraps(record: records.Record, place: Path) -> Tables:
    """`average` -> comparison -> the difference and the ends of its interval."""
    tests: list[Corpus[ScoredPair]] = [remember(record, name, "test") for name in record.settings["test"]]
    asked = [tuple(comparison) for comparison in record.settings["compare"]]
    systems = dict.fromkeys(side for a, pooling_a, b, pooling_b in asked for side in ((a, pooling_a), (b, pooling_b)))
    cosines = {  # each (pairs of all sets, seeds)
        side: scored(encoders(place / f"{side[0]}.json"), side[1], tests)
        for side in tqdm(systems, desc="encode", unit=" methods")
    }
    # a pair's gold, and which set it is of: drawn together
    gold = np.array([(pair.score, number) for number, corpus in enumerate(tests) for pair in corpus])
    found = {}
    for a, pooling_a, b, pooling_b in tqdm(asked, desc="compare"):
        difference, low, high = paired_bootstrap(
            partial(average, sets=len(tests)), gold, cosines[a, pooling_a], cosines[b, pooling_b],
            resamples=record.settings["resamples"], seed=record.settings["seed"],
        )  # fmt: skip
        values = {"difference": difference, "low": low, "high": high}
        found[f"{a} {pooling_a} - {b} {pooling_b}"] = {name: round(value, 2) for name, value in values.items()}
    return {"average": found}


def williams_tests(record: records.Record, place: Path) -> Tables:
    """Set-up -> row -> correlations and share found, x 100, and against the best of the set-up difference, t and p."""
    (name,) = record.settings["test"]
    corpus = remember(record, name, "test")
    gold = [row.score for row in corpus]
    tables: Tables = {}
    for setup, rows in record.settings["williams"].items():
        found = {row: mined(row, setup, corpus, place) for row in tqdm(rows, desc=setup, unit=" rows")}
        tests = williams({row: result.similarities for row, result in found.items()}, gold)
        scores = pd.concat([result.table().set_axis([row]) for row, result in found.items()])
        table = scores.join(tests[["difference", "t", "p"]])
        tables[setup] = {row: table.loc[row].dropna().round(4).to_dict() for row in rows}
    return tables


def mined(row: str, setup: str, corpus: Corpus[Any], place: Path) -> MiningResult:
    """What a row of a table of Williams's tests scores."""
    if row == "bm25":
        return bm25(corpus)
    setup, _, size = setup.partition(" ")
    name, _, own = row.partition(" ")
    encoder: Any = Encoder.from_pretrained(**encoders(place / f"{name}.json")[0])
    most = int(size) if size else MAX_SIZE
    if own == "words":
        embeddings = encoder.word_embeddings.weight.detach().float().numpy()
        encoder = WordVectors(encoder.tokenizer.get_vocab(), embeddings, f"word embeddings of {name}")
        own = "ngrams" if setup == "spans" else ""  # which without context are the same
    return evaluate_mining(encoder, corpus, own or setup, max_size=most)  # type: ignore[arg-type]


def average(gold: np.ndarray, cosines: np.ndarray, *, sets: int) -> float:
    """Spearman x 100, averaged over the sets and the seeds.

    Args:
        gold: score and number of the set of each pair, (n, 2).
        cosines: (n, seeds).
    """
    parts = [gold[:, 1] == number for number in range(sets)]
    return 100 * float(
        np.mean([spearman(cosines[part, seed], gold[part, 0]) for part in parts for seed in range(cosines.shape[1])])
    )


def scored(sources: Sequence[Mapping[str, Any]], pooling: str, tests: Sequence[Corpus[ScoredPair]]) -> np.ndarray:
    """The cosine of each pair of all sets, under each of the encoders: (n, encoders)."""
    columns = []
    for source in sources:
        encoder = Encoder.from_pretrained(**source)
        encoder.pooling = pooling
        columns.append(np.concatenate([pair_cosines(encoder, corpus) for corpus in tests]))
    return np.stack(columns, axis=1)


def encoders(path: Path) -> list[dict[str, Any]]:
    """What `Encoder.from_pretrained` takes for the encoders of a record: one, or one a run of a sweep."""
    record = records.read(path)
    if not record.settings.get("method"):
        return [record.settings["encoder"]]
    if record.over:
        places = [path.parent / sweep.FOLDER / run.name / "encoder" for run in sweep.read(path).records]
        how = f"run it again with `keep` in its settings, its runs deleted: python -m sentlab.experiments.sweep {path}"
    else:
        places = [Path("runs") / record.name / "encoder"]
        how = f"run it again: python -m sentlab.experiments.run --again {path}"
    for folder in places:
        if not folder.is_dir():
            raise FileNotFoundError(f"the encoder of {record.name} is not in {folder}; {how}")
    return [{"source": folder} for folder in places]


if __name__ == "__main__":
    records.command_line("sentlab.experiments.compare", __doc__, compare)
