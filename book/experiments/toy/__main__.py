"""Write the frozen toy world of the package: `cd book && python -m experiments.toy`."""

import json
import lzma
from dataclasses import astuple
from itertools import product

from sentlab.data.toy import WORLD

from experiments.toy.corpora import NAMES, SPLITS, load

with lzma.open(WORLD, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
    for name, split in product(NAMES, SPLITS):
        rows = [row if isinstance(row, str) else astuple(row) for row in load(name, split)]
        file.write(json.dumps({"name": name, "split": split, "rows": rows}, ensure_ascii=False) + "\n")
