"""What can be asked of the verbs of `python -m sentlab`: their options, and examples of each."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

ON_TEXTS: tuple[str, ...] = ("SimCSE", "MoCo", "PaSeR", "PTBERT", "ConSERT", "ContrastiveTension")
ON_TRIPLES: tuple[str, ...] = ("SimCSE", "SupervisedPaSeR", "SLICE")
METHODS = {name.lower(): name for name in (*ON_TEXTS, *ON_TRIPLES)}
EXAMPLES = {
    "train": """
  python -m sentlab train texts.txt --learning-rate 1e-4 --out my-encoder
  python -m sentlab train reviews.csv --columns review --method paser --steps 500 --out my-encoder
  python -m sentlab train triples.jsonl --rows triples --dev judged.tsv --scale 1,7 --out my-encoder
then in Python: sentlab.Encoder.from_pretrained("my-encoder")""",
    "encode": """
  python -m sentlab encode texts.txt --out vectors.npy
  python -m sentlab encode reviews.csv --columns review --encoder my-encoder --normalize --out vectors.parquet
then in Python: numpy.load("vectors.npy")""",
    "evaluate": """
  python -m sentlab evaluate judged.csv --encoder my-encoder
  python -m sentlab evaluate judged.tsv --columns first,second,rating --scale 1,7 --out scores.json
  python -m sentlab evaluate stsb sick toy-sts
then in Python: json.load(open("scores.json"))""",
    "index": """
  python -m sentlab index novels.txt --out novels.index
  python -m sentlab index more.txt --out novels.index --add
then in Python: sentlab.PhraseIndex.load("novels.index", sentlab.Encoder.from_pretrained())""",
    "search": """
  python -m sentlab search novels.index "a walk by the sea" "an old king"
  python -m sentlab search novels.index --phrases phrases.txt -k 3 --out hits.csv
then in Python: pandas.read_csv("hits.csv")""",
}


def parser() -> argparse.ArgumentParser:
    """Make the parser of all verbs."""
    whole = argparse.ArgumentParser(prog="python -m sentlab")
    verbs = whole.add_subparsers(dest="verb", required=True)

    def add(verb: str, about: str) -> argparse.ArgumentParser:
        own = verbs.add_parser(
            verb,
            description=about,
            epilog=f"examples:{EXAMPLES[verb]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        own.add_argument(
            "--encoder", default="tiny", metavar="NAME", help="a folder or hub name; default: the bundled tiny"
        )
        own.add_argument("--quiet", action="store_true", help="show no progress")
        return own

    def reads(own: argparse.ArgumentParser, columns: str) -> None:
        own.add_argument("--columns", type=_columns, metavar="A[,B,C]", help=f"columns to read; default: {columns}")
        own.add_argument(
            "--separator",
            type=_separator,
            metavar="S",
            help="column separator; default: a comma in .csv, a tab in .tsv",
        )
        own.add_argument("--no-quotes", action="store_true", help="in .csv and .tsv a quote is plain text")

    formats = ".txt, .csv, .tsv or .jsonl, also packed as .gz or .xz, or .parquet"
    scale: dict[str, Any] = {"type": _scale, "metavar": "LOW,HIGH"}
    own = add("train", "Train an encoder on a file of texts or triples, and save it.")
    own.add_argument("file", help=formats)
    own.add_argument(
        "--out", required=True, metavar="FOLDER", help="save the encoder here, and its history in FOLDER.training"
    )
    own.add_argument("--method", type=str.lower, choices=METHODS, default="simcse", help="default: simcse")
    own.add_argument("--rows", choices=("texts", "triples"), help="default: what the method learns from, texts first")
    reads(own, "text, or anchor,positive,negative")
    own.add_argument("--dev", metavar="PAIRS", help="scored pairs, a file or corpus name, that choose the step to keep")
    own.add_argument("--dev-columns", type=_columns, metavar="A,B,S", help="default: text_a,text_b,score")
    own.add_argument("--scale", **scale, help="lowest and highest possible score of --dev; default: 0,5")
    own.add_argument("--pooling", help="cls, mean, max, ...; default: that of the encoder")
    own.add_argument("--max-length", type=int, metavar="N", help="tokens per text; default: that of the encoder")
    for name, kind, about in (
        ("steps", int, "default: one pass over the rows"),
        ("epochs", float, "passes over the rows, where there are no --steps"),
        ("batch-size", int, "default: 64"),
        ("learning-rate", float, "default: 3e-5, for BERT-base; use 1e-4 for the bundled tiny"),
        ("eval-every", int, "steps between evaluations on --dev; default: a tenth of all"),
    ):
        own.add_argument(f"--{name}", type=kind, metavar="N", help=about)
    own.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    own.add_argument("--again", action="store_true", help="train afresh, not from the checkpoint of an interrupted run")

    own = add("encode", "Turn each text of a file into a vector.")
    own.add_argument("file", help=formats)
    own.add_argument("--out", required=True, metavar="FILE", help=".npy, or .jsonl or .parquet with the texts")
    own.add_argument("--normalize", action="store_true", help="scale vectors to length 1")
    reads(own, "text")

    own = add("evaluate", "Score an encoder on pairs with a score: Spearman's correlation x 100.")
    own.add_argument("files", nargs="+", metavar="PAIRS", help="files with columns; or a corpus name, such as stsb")
    own.add_argument("--out", metavar="FILE", help="write the scores as .json too")
    own.add_argument("--scale", **scale, help="lowest and highest possible score; default: 0,5")
    reads(own, "text_a,text_b,score")

    own = add(
        "index",
        "Make an index of all phrases of the texts in a file. Texts are stripped, and blank ones do not count.",
    )
    own.add_argument("file", help=formats)
    own.add_argument("--out", required=True, metavar="FOLDER", help="write the index here")
    own.add_argument("--add", action="store_true", help="add to an existing index")
    own.add_argument("--min-size", type=int, metavar="N", help="words of the shortest span; default: 1")
    own.add_argument("--max-size", type=int, metavar="N", help="words of the longest span; default: 20")
    own.add_argument("--dtype", choices=("float16", "float32"), help="number format of the vectors; default: float16")
    reads(own, "text")

    own = add("search", "Find the spans in an index that are most similar to a phrase.")
    own.add_argument("index", help="folder of the index")
    own.add_argument("phrase", nargs="*", help="what to search for")
    own.add_argument("--phrases", metavar="FILE", help="read phrases from a file, in the formats of `index`")
    own.add_argument("-k", type=int, default=5, metavar="N", help="hits per phrase; default: 5")
    own.add_argument("--all-spans", action="store_true", help='also spans with ragged edges, such as "of a king,"')
    own.add_argument("--out", metavar="FILE", help=".csv, .jsonl, .parquet or .html instead of the terminal")
    reads(own, "text")

    return whole


def joined(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with `--scale -1,1` as `--scale=-1,1`, as argparse takes the former for two options."""
    given: list[str] = []
    for argument in arguments:
        if given[-1:] == ["--scale"] and re.match(r"-[\d.].*,", argument):
            given[-1] += f"={argument}"
        else:
            given.append(argument)
    return given


def _separator(given: str) -> str:
    separator = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(separator) != 1:
        raise argparse.ArgumentTypeError(f"expected one character, such as ';' or \\t, got {given!r}")
    return separator


def _columns(given: str) -> tuple[str, ...]:
    return tuple(given.split(","))


def _scale(given: str) -> tuple[float, float]:
    try:
        low, high = map(float, given.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected LOW,HIGH such as 1,7, got {given!r}") from None
    return low, high
