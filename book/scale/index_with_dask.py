"""Index a text file, a text a line, with Dask: each task indexes some lines.

    python index_with_dask.py TEXTS OUT [--scheduler HOST:8786]

Without a scheduler two workers run here. All workers must see TEXTS and the
folder of OUT under the same names. The parts stay in OUT.parts.
"""

import argparse
from itertools import islice
from pathlib import Path

from dask.distributed import Client

import sentlab


def add(number, asked, parts):
    folder = parts / str(number)
    if not folder.exists():  # Dask repeats the tasks of a worker that died
        with open(asked.texts, encoding="utf-8") as lines:
            first = number * asked.lines
            texts = [
                x.strip() for x in islice(lines, first, first + asked.lines)
            ]
        index = sentlab.PhraseIndex(
            sentlab.Encoder.from_pretrained(asked.encoder)
        )
        index.add(texts, progress=False)
        index.save(folder)  # whole or not at all
    return folder


def main(asked):
    with open(asked.texts, encoding="utf-8") as lines:
        count = -(-sum(1 for _ in lines) // asked.lines)
    parts = Path(f"{asked.out}.parts").resolve()
    parts.mkdir(exist_ok=True)  # with the same --lines it goes on
    here = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
    }
    with Client(
        asked.scheduler, **({} if asked.scheduler else here)
    ) as client:
        tasks = client.map(add, range(count), asked=asked, parts=parts)
        sentlab.PhraseIndex.merge(client.gather(tasks), asked.out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument(
        "--lines", type=int, default=100_000, help="of a task"
    )
    parser.add_argument("--scheduler", help="of a cluster")
    asked = parser.parse_args()
    asked.texts = asked.texts.resolve()
    main(asked)
