"""Train, encode, evaluate, index and search on your own files, or run recorded experiments.

Train an encoder, score it on pairs, and turn texts into vectors:

    python -m sentlab train texts.csv --out my-encoder
    python -m sentlab evaluate pairs.csv --encoder my-encoder
    python -m sentlab encode texts.csv --encoder my-encoder --out vectors.npy

Find words in texts by what they mean:

    python -m sentlab index texts.csv --encoder my-encoder --out my.index
    python -m sentlab search my.index "a walk by the sea" --encoder my-encoder

Put an encoder into a web page:

    python -m sentlab page --encoder my-encoder --out my-encoder.html

Each of these explains its options: python -m sentlab train --help. What they write loads in Python. Exit status: 0; 1
for a failure, with one line that names the file or the argument; 2 for invalid arguments.

A recorded experiment is one JSON file. It holds the settings, and receives the results:

    python -m sentlab KIND FILE ... [--again]
    python -m sentlab results [--list]
    accelerate launch --num_processes 4 -m sentlab run FILE ...    (on several GPUs)

A file holds its `kind` and its `settings`. A file that holds results is left alone unless you add --again, which
trains afresh. `results` runs all records in book/results that have no results, except those at the papers' scale, in
the order in which they need each other, and names what cannot be run; --list runs nothing. Start it several times to
use several cores. `search FILE.json` runs a record of the kind `search`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sentlab import command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m sentlab`; return the exit status."""
    given = [*sys.argv[1:]] if arguments is None else [*arguments]
    if given and given[0] in command.VERBS and not _is_record(given):
        return command.main(given)
    try:
        from sentlab import recorded  # brings pydantic and pandas, which the verbs above do not need
    except ModuleNotFoundError as error:
        if given and given[0] not in ("-h", "--help"):
            print(f"sentlab {given[0]}: {error}: pip install 'sentlab[experiments]'", file=sys.stderr)
            return 1
        print(__doc__)
        return 0 if given else 2
    return recorded.main(given, __doc__ or "")


def _is_record(given: list[str]) -> bool:
    """Whether `search` is meant as the kind of a record: an index is a folder, and a record is a JSON file."""
    named = [argument for argument in given[1:] if not argument.startswith("-")]
    return given[0] == "search" and bool(named) and named[0].endswith(".json")


if __name__ == "__main__":
    sys.exit(main())
