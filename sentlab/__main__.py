"""Train, encode, evaluate, index and search on your own files.

Train an encoder, score it on pairs, and turn texts into vectors:

    python -m sentlab train texts.csv --out my-encoder
    python -m sentlab evaluate pairs.csv --encoder my-encoder
    python -m sentlab encode texts.csv --encoder my-encoder --out vectors.npy

Find words in texts by what they mean:

    python -m sentlab index texts.csv --encoder my-encoder --out my.index
    python -m sentlab search my.index "a walk by the sea" --encoder my-encoder

Each of these explains its options: python -m sentlab train --help. What they write loads in Python. Exit status: 0; 1
for a failure, with one line that names the file or the argument; 2 for invalid arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sentlab import command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m sentlab`; return the exit status."""
    given = [*sys.argv[1:]] if arguments is None else [*arguments]
    if not given or given[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if given else 2
    return command.main(given)


if __name__ == "__main__":
    sys.exit(main())
