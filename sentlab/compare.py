"""Which of two recorded methods is better, and how sure that is: a paired bootstrap over the pairs of the test sets.

    python -m sentlab.compare book/results/NAME.json ... [--again]

Settings:
    compare    comparisons, each [record, pooling, record, pooling]: how much better the first is than the second. A
               record is one of `python -m sentlab.run`, or a sweep over seeds, whose scores are then averaged
    test       corpora whose `test` split is scored (Spearman x 100, all pairs of a set together), and averaged
    resamples  how often pairs are drawn anew, the same ones for both methods
    seed       of what is drawn

The encoders must be there: a run leaves its own in `runs/NAME/encoder`, a sweep with `keep` beside its records. The
interval is over pairs, with the seeds' encoders as they are: it says what other pairs might have given, and nothing of
what other seeds might have.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from sentlab import records, sweep
from sentlab.data import Corpus, ScoredPair
from sentlab.encoder import Encoder
from sentlab.evaluation import pair_cosines
from sentlab.metrics import paired_bootstrap, spearman
from sentlab.run import remember


def compare(path: Path) -> records.Record:
    """Make the comparisons of a record, and write them into it.

    Raises:
        FileNotFoundError: an encoder is not there; says how to get it.
    """
    record, began = records.read(path), time.monotonic()
    tests: list[Corpus[ScoredPair]] = [remember(record, name, "test") for name in record.settings["test"]]
    asked = [tuple(comparison) for comparison in record.settings["compare"]]
    systems = dict.fromkeys(side for a, pooling_a, b, pooling_b in asked for side in ((a, pooling_a), (b, pooling_b)))
    cosines = {  # each (pairs of all sets, seeds)
        side: scored(encoders(path.parent / f"{side[0]}.json"), side[1], tests)
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
    record.results = {"average": found}
    records.stamp(record, f"python -m sentlab.compare {path}", time.monotonic() - began)
    record.save(path)
    return record


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


def scored(folders: Sequence[Path], pooling: str, tests: Sequence[Corpus[ScoredPair]]) -> np.ndarray:
    """The cosine of each pair of all sets, under each of the encoders: (n, encoders)."""
    columns = []
    for folder in folders:
        encoder = Encoder.from_pretrained(folder)
        encoder.pooling = pooling
        columns.append(np.concatenate([pair_cosines(encoder, corpus) for corpus in tests]))
    return np.stack(columns, axis=1)


def encoders(path: Path) -> list[Path]:
    """Where the encoders of a record are, one, or one a run of a sweep."""
    record = records.read(path)
    found: list[Any] = [Path("runs") / record.name / "encoder"]
    if record.over:
        found = [path.parent / sweep.FOLDER / run.name / "encoder" for run in sweep.read(path).records]
    for folder in found:
        if not folder.is_dir():
            how = (
                "with `keep` in its settings, and its runs deleted: python -m sentlab.sweep"
                if record.over
                else ("with: python -m sentlab.run --again")
            )
            raise FileNotFoundError(f"{folder} is not there; run {record.name} again, {how} {path}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sentlab.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", nargs="+", type=Path, help="records to fill")
    parser.add_argument("--again", action="store_true", help="also those that hold results already")
    asked = parser.parse_args()
    for path in asked.records:
        if asked.again or not records.read(path).done:
            for name, found in compare(path).results["average"].items():
                print(f"{name}: {found['difference']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]")


if __name__ == "__main__":
    main()
