"""What widgets hold of recorded runs: `python book/trained/make.py [NAME]`.

It writes the encoders of the first page as scripts, and the cosines that the
bootstrap in Measuring draws from. The runs must be there: in book, `python -m
experiments run --again page/NAME` leaves each in runs/page/NAME/encoder.
With names of runs, it writes the scripts of their encoders alone. The name
`decoder` writes the folder `paser`: PaSeR with its decoder, in float16, of
the run tiny-paser/decoder. The name `passages` writes `passages.json`:
phrases of STS-B in context that encoders find, or miss; it needs the second
run of tiny-context/span-pair and the first of tiny-context/whole-pair.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random

from experiments import widgets
from experiments.records import Notes
from experiments.runs import runs

import sentlab
from sentlab.data import Corpus
from sentlab.data.rows import POSITIVE
from sentlab.files import replacing
from sentlab.methods import PaSeR

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAMES = ("simcse", "moco", "paser", "universal")
LABELS = {"simcse": "SimCSE", "paser": "PaSeR"}
SEARCHED = {  # label -> record, and which of its runs
    "SLICE": ("tiny-context/span-pair", 1),
    "SBERT, same triples": ("tiny-context/whole-pair", 0),
}


def cosines(encoder: sentlab.Encoder, pairs: Corpus) -> list[float]:
    return [round(float(x), 5) for x in sentlab.pair_cosines(encoder, pairs)]


def passages() -> dict[str, object]:
    """Choose three passages: SLICE and SBERT find the match, or SLICE alone,
    or SBERT at most.

    They are the first ones, in an order drawn at random, of the paraphrases.
    """
    notes, began = Notes(), time.monotonic()
    corpus = notes.load("stsb-context", "test")
    sources = {"raw mean": {"source": "tiny", "pooling": "mean"}}
    for label, (name, which) in SEARCHED.items():
        source = ROOT / "book" / runs(name)[which].encoder["source"]
        sources[label] = {"source": str(source)}
    found = {}
    for label, source in sources.items():
        encoder = sentlab.Encoder.from_pretrained(**source, max_length=128)
        found[label] = sentlab.evaluate_mining(encoder, corpus)
    order = [i for i, row in enumerate(corpus) if row.score >= POSITIVE]
    Random(0).shuffle(order)

    def right(i: int, label: str) -> bool:
        start, end = found[label].matches[i]
        row = corpus[i]
        shared = min(end, row.end) - max(start, row.start)
        return shared >= 0.5 * (end - start + row.end - row.start - shared)

    chosen: dict[str, int] = {}
    for i in order:
        slice_, sbert = (right(i, label) for label in SEARCHED)
        kind = "both" if sbert else "SLICE alone"
        chosen.setdefault(kind if slice_ else "not SLICE", i)
    rows = []
    for kind in ("both", "SLICE alone", "not SLICE"):
        i = chosen[kind]
        mined = {
            label: [
                *map(int, each.matches[i]),
                round(each.similarities[i], 3),
            ]
            for label, each in found.items()
        }
        row = corpus[i]
        true = [row.start, row.end]
        about = {"phrase": row.phrase, "context": row.context}
        about |= {"score": row.score, "true": true, "found": mined}
        rows.append(about)
    command = "python book/trained/make.py passages"
    made = notes.provenance(command, time.monotonic() - began)
    return {"provenance": made.model_dump(mode="json"), "passages": rows}


def main() -> None:
    encoders, began = {}, time.monotonic()
    if sys.argv[1:] == ["decoder"]:
        place = ROOT / "book" / "runs" / "tiny-paser" / "decoder" / "method"
        PaSeR.load(place).half().save(HERE / "paser")
        return
    if sys.argv[1:] == ["passages"]:
        write(HERE / "passages.json", passages())
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
    write(HERE / "stsb-dev.json", content)


def write(path: Path, content: dict[str, object]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
