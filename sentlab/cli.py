"""Train, encode, evaluate, index and search on your own files.

    python -m sentlab train texts.txt --learning-rate 1e-4 --out my-encoder
    python -m sentlab evaluate judged.tsv --columns first,second,rating --scale 1 7 --encoder my-encoder
    python -m sentlab encode reviews.csv --columns review --encoder my-encoder --out vectors.npy

    python -m sentlab index novels.txt --out novels.index
    python -m sentlab search novels.index "a walk by the sea" "an old king"

Each command explains its options: python -m sentlab train --help. What it writes loads in Python. Exit status: 0; 1 for
a failure, with one line that names the file or the argument; 2 for invalid arguments; 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import SafetensorError

import sentlab  # whose names bring torch, which takes seconds, when they are first used
from sentlab.files import optional, replacing, write_json

METHODS = {n.lower(): n for n in "SimCSE MoCo PaSeR PTBERT ConSERT ContrastiveTension SupervisedPaSeR SLICE".split()}
CHECKPOINT_EVERY = 100  # steps
WRONG = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)  # the last: a loss that is nan
FAILURES = (*WRONG, ImportError, RuntimeError, MemoryError, SafetensorError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m sentlab`; return the exit status."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - a caller has closed it
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # of a console that cannot write all letters
    given, commands = list(sys.argv[1:] if arguments is None else arguments), parser()
    refuse_typo(commands, given, [run.__name__ for run in (train, encode, evaluate, index, search)])
    args, rest = commands.parse_known_args(given)
    end = [*rest, "--"].index("--")  # of what can be an option
    if rest and (args.command not in ("search", "evaluate") or any(w[:1] == "-" and " " not in w for w in rest[:end])):
        commands.error(f"unrecognized arguments: {' '.join(rest)}")
    getattr(args, "phrase", getattr(args, "files", [])).extend(rest[:end] + rest[end + 1 :])  # also after an option
    if args.command == "search" and not (args.phrase or args.phrases):
        commands.error("search needs a phrase, or --phrases FILE")
    command = f"sentlab {args.command}"
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda text, *_: print(f"{command}: warning: {one_line(text)}", file=sys.stderr)
            args.run(args)
            sys.stdout.flush()
    except KeyboardInterrupt:
        resumes = args.command == "train" and Path(f"{args.out}.training/checkpoint.safetensors").exists()
        hint = "; the same command, without --again, resumes from its last checkpoint" if resumes else ""
        print(f"{command}: interrupted{hint}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except FAILURES as error:
        why = (one_line(error) or type(error).__name__).replace("overwrite=True", "--again")
        print(f"{command}: error: {why}", file=sys.stderr)
        return 1
    return 0


def refuse_typo(parser: ArgumentParser, arguments: Sequence[str], commands: Sequence[str]) -> None:
    """End with status 2 where the first argument is no command, and name the nearest one."""
    if arguments and arguments[0] not in commands and not arguments[0].startswith("-"):
        near = get_close_matches(arguments[0], commands, 1) or commands
        parser.error(f"no such command: {arguments[0]!r}; did you mean {' or '.join(near)}?")


def parser() -> ArgumentParser:
    parser = ArgumentParser("python -m sentlab", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    formats = ".txt, .csv, .tsv or .jsonl, also packed as .gz or .xz, or .parquet"
    scale: dict[str, Any] = {"nargs": 2, "type": float, "metavar": ("LOW", "HIGH"), "help": "default: 0 5"}
    names: dict[str, Any] = {"type": lambda text: [name.strip() for name in text.split(",")], "metavar": "A[,B,C]"}

    def add(run: Any, about: str, columns: str) -> Any:
        command = commands.add_parser(run.__name__, help=about, description=about)
        command.set_defaults(run=run, scale=(0.0, 5.0))
        option = command.add_argument
        option("--encoder", default="tiny", metavar="NAME", help="a folder or hub name; default: the bundled tiny")
        option("--max-length", type=int, metavar="N", help="tokens per text; default: that of the encoder")
        option("--columns", **names, help=f"columns to read; default: {columns}")
        option("--separator", metavar="S", help="of columns, or tab; default: a comma in .csv, a tab in .tsv")
        option("--no-quotes", action="store_true", help="in .csv and .tsv a quote is plain text")
        option("--quiet", action="store_const", const=False, dest="progress", help="show no progress")
        return option

    option = add(train, "Train an encoder on texts or triples, and save it.", "text, or anchor,positive,negative")
    option("file", help=formats)
    option("--out", type=Path, required=True, metavar="FOLDER", help="for the encoder; FOLDER.training: its history")
    option("--method", type=str.lower, choices=METHODS, default="simcse", help="default: simcse")
    option("--rows", choices=("texts", "triples"), help="default: what the method learns from, texts first")
    option("--dev", metavar="PAIRS", help="scored pairs, a file or corpus name, that choose the step to keep")
    option("--dev-columns", **names, help="default: text_a,text_b,score")
    option("--scale", **scale)
    option("--pooling", help="cls, mean (which slice needs), max, ...; default: that of the encoder")
    option("--steps", type=int, metavar="N", help="default: one pass over the rows")
    option("--epochs", type=float, metavar="N", help="passes over the rows, where there are no --steps")
    option("--batch-size", type=int, metavar="N", help="default: 64")
    option("--learning-rate", type=float, metavar="X", help="default: 3e-5, for BERT-base; use 1e-4 for tiny")
    option("--seed", type=int, default=0, metavar="N", help="default: 0")
    option("--again", action="store_true", help="train afresh, not from the checkpoint of an interrupted run")
    option = add(encode, "Turn each text of a file into a vector.", "text")
    option("file", help=formats)
    option("--out", type=Path, required=True, metavar="FILE", help=".npy, or .jsonl or .parquet with the texts")
    option("--normalize", action="store_true", help="scale vectors to length 1")
    option = add(evaluate, "Score an encoder on pairs: Spearman's correlation x 100.", "text_a,text_b,score")
    option("files", nargs="+", metavar="PAIRS", help="files with columns; or a corpus name, such as stsb")
    option("--out", type=Path, metavar="FILE", help="write the scores as .json too")
    option("--scale", **scale)
    option = add(index, "Make an index of all phrases of the texts in a file.", "text")
    option("file", help=f"{formats}. Texts are stripped, and blank ones do not count")
    option("--out", type=Path, required=True, metavar="FOLDER", help="write the index here")
    option("--add", action="store_true", help="add to an existing index")
    option("--min-size", type=int, default=1, metavar="N", help="words of a new index's shortest span; default: 1")
    option("--max-size", type=int, default=20, metavar="N", help="words of a new index's longest span; default: 20")
    option = add(search, "Find the spans in an index that are most similar to a phrase.", "text")
    option("index", help="folder of the index")
    option("phrase", nargs="*", help="what to search for")
    option("--phrases", metavar="FILE", help="read phrases from a file, in the formats of `index`")
    option("-k", type=int, default=5, metavar="N", help="hits per phrase; default: 5")
    option("--all-spans", action="store_true", help='also spans with ragged edges, such as "of a king,"')
    option("--out", type=Path, metavar="FILE", help=".csv, .json, .jsonl or .parquet instead of the terminal")
    return parser


def train(args: Namespace) -> None:
    from sentlab.encoder.storage import target_of

    check_out(args.out)
    target_of(args.out)  # refuses what `save` would refuse after the training
    method, work = METHODS[args.method], Path(f"{args.out}.training")
    kind = args.rows or ("triples" if method in ("SupervisedPaSeR", "SLICE") else "texts")
    rows = read(args, args.file, kind, args.columns)
    names = ("steps", "epochs", "batch_size", "learning_rate", "seed")
    options, score = {name: value for name in names if (value := getattr(args, name)) is not None}, None
    if args.dev is not None:
        score = sentlab.dev_score(read(args, args.dev, "pairs", args.dev_columns, "dev"))
        tenth = max(1, sentlab.TrainConfig(**options).steps_over(len(rows)) // 10)
        options |= {"keep": "dev", "eval_every": tenth}
    encoder = sentlab.Encoder.from_pretrained(args.encoder, pooling=args.pooling, max_length=args.max_length)
    sentlab.set_seed(args.seed)
    module = getattr(sentlab.methods, method)(encoder)
    config = sentlab.TrainConfig(**options, checkpoint_every=CHECKPOINT_EVERY)
    keep: dict[str, Any] = {"folder": work, "resume": not args.again, "overwrite": args.again}
    history = sentlab.fit(module, rows, config, score, **keep, progress=args.progress is None)
    encoder.save(args.out)
    (work / "checkpoint.safetensors").unlink(missing_ok=True)
    if score:
        print(f"dev {history.dev[0]['score']:.2f} before, {history.best_dev:.2f} at the kept step, {history.kept_step}")
    steps, size = history.settings["steps"], history.settings["batch_size"]
    of = f"{steps * size:,} of " if steps * size < len(rows) else ""
    print(f"trained {method} for {steps:,} steps on {of}{len(rows):,} {kind}; saved {args.out}")


def encode(args: Namespace) -> None:
    check_out(args.out, ".npy", ".jsonl", ".parquet")
    texts = read(args, args.file, "texts", args.columns)
    if args.out.suffix == ".npy" and (blank := sum(texts.left_out.values())):
        raise ValueError(f"{args.file}: {blank} blank texts would have no row in {args.out}; write .jsonl or .parquet")
    encoder = sentlab.Encoder.from_pretrained(args.encoder, max_length=args.max_length)
    vectors = encoder.encode(texts, normalize=args.normalize or None, progress=args.progress)
    if args.out.suffix == ".npy":
        with replacing(args.out) as temporary, open(temporary, "wb") as file:
            np.save(file, vectors)
    else:
        write_table(pd.DataFrame({"text": list(texts), "vector": list(vectors)}), args.out)
    print(f"wrote {len(vectors):,} vectors of {vectors.shape[1]} dimensions to {args.out}")


def evaluate(args: Namespace) -> None:
    check_out(args.out, ".json")
    corpora = [read(args, name, "pairs", args.columns, "test") for name in args.files]
    encoder = sentlab.Encoder.from_pretrained(args.encoder, max_length=args.max_length)
    scores: dict[str, float | None] = {}
    for corpus in corpora:
        result = sentlab.evaluation.evaluate(encoder, corpus, progress=args.progress)
        for name, score in result.scores.items():
            scores[name] = None if score != score else round(score, 4)
            print(f"{score:7.2f}  {name}, {len(result.items):,} rows", flush=True)
    if args.out:
        write_json(args.out, {"encoder": args.encoder, "scores": scores})


def index(args: Namespace) -> None:
    texts = read(args, args.file, "texts", args.columns)
    encoder = sentlab.Encoder.from_pretrained(args.encoder, max_length=args.max_length)
    if args.add:
        phrases = sentlab.PhraseIndex.load(args.out, encoder)
        phrases.add((), progress=False)  # waits for a process that adds, whose texts are not ours
    else:
        phrases = sentlab.PhraseIndex(encoder, min_size=args.min_size, max_size=args.max_size)
        phrases.save(args.out)  # from here on each segment is written as it is made
    before = len(phrases)
    try:
        phrases.add(texts, progress=args.progress)
    finally:
        done = len(phrases) - before
        hint = "" if done == len(texts) else f", the first ones: --add a file with the other {len(texts) - done:,}"
        if done or not args.add:  # else nothing has changed, and the error says it all
            print(f"{args.out} holds {done:,} of the {len(texts):,} texts of {args.file}{hint}")


def search(args: Namespace) -> None:
    check_out(args.out, ".csv", ".json", ".jsonl", ".parquet")
    more = read(args, args.phrases, "texts", args.columns) if args.phrases else ()
    phrases = list(dict.fromkeys([*args.phrase, *more]))
    encoder = sentlab.Encoder.from_pretrained(args.encoder, max_length=args.max_length)
    phrase_index = sentlab.PhraseIndex.load(args.index, encoder)
    table = phrase_index.table(phrases, phrase_index.search(phrases, args.k, trim=not args.all_spans))
    if args.out:
        write_table(table, args.out)
        print(f"wrote {len(table):,} hits of {len(phrases):,} phrases to {args.out}")
        return
    left, right = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("[", "]")
    for phrase in phrases:
        print(phrase)
        for hit in table[table["phrase"] == phrase].itertuples():
            before, words, after = (one_line(part) for part in (hit.before + "|", hit.words, "|" + hit.after))
            print(f"  {hit.similarity:.3f}  text {hit.text}: {before[:-1]}{left}{words}{right}{after[1:]}")


def check_out(out: Path | None, *endings: str) -> None:
    """Refuse, before the work, an --out where nothing can be written."""
    if out is None:
        return
    if endings and (out.suffix not in endings or out.is_dir()):
        raise ValueError(f"--out {out} must be a file that ends in {' or '.join(endings)}")
    if out.suffix == ".parquet":
        optional("pyarrow", "'sentlab[hub]'")  # which pandas would miss only after the work
    out.parent.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryDirectory(dir=out.parent).cleanup()


def write_table(table: pd.DataFrame, path: Path) -> None:
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False, lineterminator="\r\n")  # so that a lone "\r" in a field is quoted
        elif path.suffix in (".json", ".jsonl"):
            table.to_json(temporary, orient="records", lines=path.suffix == ".jsonl", force_ascii=False)
        else:
            table.to_parquet(temporary)


def read(args: Namespace, name: str, kind: Any, columns: Any, split: str = "train") -> sentlab.data.Corpus[Any]:
    """Read the rows of a file, or pairs of a corpus by name; report what is left out."""
    if kind == "pairs" and not Path(name).suffix and not Path(name).is_file():
        corpus = sentlab.data.load(name, split)
    else:
        if getattr(args, "out", None) and args.out.exists() and os.path.samefile(args.out, name):
            raise ValueError(f"--out {args.out} is the file that is read: choose another")
        separator = "\t" if args.separator in ("\\t", "tab") else args.separator
        layout = {"columns": columns, "separator": separator, "quotes": not args.no_quotes, "name": name}
        corpus = sentlab.data.from_file(name, kind, **layout, scale=args.scale, split=split)
    for reason, count in corpus.left_out.items():
        print(f"{name}: {count} rows left out ({reason})", file=sys.stderr)
    return corpus


def one_line(message: Any) -> str:
    """Make one line without the characters that would move a terminal's cursor or reorder text."""
    words = " ".join(str(message).split())  # to some of which these invisible characters belong
    return "".join(c if c.isprintable() or c in "\u00ad\u200b\u200c\u200d\u2060" else "\ufffd" for c in words)
