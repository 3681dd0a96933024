"""What widgets hold of recorded runs: `python book/trained/make.py [NAME]`.

It writes the encoders of the first page as scripts, and the cosines that the
bootstrap in Measuring draws from. The runs must be there: in book, `python -m
experiments run --again page/NAME` leaves each in runs/page/NAME/encoder.
With names of runs, it writes the scripts of their encoders alone. The name
`decoder` writes the folder `paser`: PaSeR with its decoder, in float16, of
the run tiny-paser/decoder.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from experiments import widgets
from experiments.records import Notes

import sentlab
from sentlab.data import Corpus
from sentlab.files import replacing
from sentlab.methods import PaSeR

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAMES = ("simcse", "moco", "paser", "universal")
LABELS = {"simcse": "SimCSE", "paser": "PaSeR"}


def cosines(encoder: sentlab.Encoder, pairs: Corpus) -> list[float]:
    return [round(float(x), 5) for x in sentlab.pair_cosines(encoder, pairs)]


def main() -> None:
    encoders, began = {}, time.monotonic()
    if sys.argv[1:] == ["decoder"]:
        place = ROOT / "book" / "runs" / "tiny-paser" / "decoder" / "method"
        PaSeR.load(place).half().save(HERE / "paser")
        return
    for name in sys.argv[1:] or NAMES:
        place = ROOT / "book" / "runs" / "page" / name / "encoder"
        encoders[name] = sentlab.Encoder.from_pretrained(place)
        key = encoders[name].fingerprint()
        widgets.export(encoders[name], HERE / f"{name}.js", key)
    if sys.argv[1:]:
        return
    notes = Notes()
    dev = notes.load("stsb", "dev")
    rows = {"raw [CLS]": sentlab.Encoder.from_pretrained("tiny")}
    rows |= {label: encoders[name] for name, label in LABELS.items()}
    found = {label: cosines(own, dev) for label, own in rows.items()}
    seconds = time.monotonic() - began
    made = notes.provenance("python book/trained/make.py", seconds)
    content = {
        "provenance": made.model_dump(mode="json"),
        "encoders": {label: own.fingerprint() for label, own in rows.items()},
        "gold": [pair.score for pair in dev],
        "cosines": found,
    }
    with replacing(HERE / "stsb-dev.json") as temporary:
        temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
