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


def add(number, args, parts):
    folder = parts / str(number)
    if not folder.exists():  # Dask repeats the tasks of a worker that died
        with open(args.texts, encoding="utf-8") as lines:
            first = number * args.lines
            texts = [
                x.strip() for x in islice(lines, first, first + args.lines)
            ]
        index = sentlab.PhraseIndex(
            sentlab.Encoder.from_pretrained(args.encoder)
        )
        index.add(texts, progress=False)
        index.save(folder)  # whole or not at all
    return folder


def main(args):
    with open(args.texts, encoding="utf-8") as lines:
        count = -(-sum(1 for _ in lines) // args.lines)
    parts = Path(f"{args.out}.parts").resolve()
    parts.mkdir(exist_ok=True)  # with the same --lines it goes on
    here = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
    }
    with Client(args.scheduler, **({} if args.scheduler else here)) as client:
        tasks = client.map(add, range(count), args=args, parts=parts)
        sentlab.PhraseIndex.merge(client.gather(tasks), args.out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument(
        "--lines", type=int, default=100_000, help="of a task"
    )
    parser.add_argument("--scheduler", help="of a cluster")
    args = parser.parse_args()
    args.texts = args.texts.resolve()
    main(args)
