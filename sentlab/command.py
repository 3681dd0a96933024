"""The verbs of `python -m sentlab` that work on your own files: train, encode, evaluate, index and search."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentlab.command_line import METHODS, ON_TEXTS, ON_TRIPLES, joined, parser

if TYPE_CHECKING:  # torch takes seconds to import, which a --help need not wait for
    from sentlab.data import Corpus
    from sentlab.encoder import Encoder

CHECKPOINT_EVERY = 100  # steps
FAILURES = (OSError, ValueError, TypeError, LookupError, ImportError, RuntimeError, ArithmeticError, MemoryError)


def main(arguments: Sequence[str]) -> int:
    """Do what a verb and its options say.

    Returns:
        The exit status: 0, or 1 for a failure, of which one line has been printed. Invalid arguments end the
        program with 2, as argparse does.
    """
    made = parser()
    asked, more = made.parse_known_args(joined(arguments))
    words = getattr(asked, {"search": "phrase", "evaluate": "files"}.get(asked.verb, ""), None)
    if more and (words is None or any(word.startswith("-") for word in more)):
        made.error(f"unrecognized arguments: {' '.join(more)}")
    if words is not None:
        words += more  # those behind an option, which argparse leaves over
    verb = f"sentlab {asked.verb}"

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"{verb}: warning: {one_line(message)}", file=sys.stderr)

    try:
        with warnings.catch_warnings():
            warnings.showwarning = tell
            VERBS[asked.verb](asked)
            sys.stdout.flush()
    except KeyboardInterrupt:
        kept = asked.verb == "train" and (_work(Path(asked.out).expanduser()) / "checkpoint.safetensors").exists()
        on = "; run the same command to resume from its last checkpoint" if kept else ""
        print(f"{verb}: interrupted{on}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except FAILURES as error:
        message = one_line(error).replace("pass overwrite=True", "add --again")  # what it is called here
        print(f"{verb}: error: {message}", file=sys.stderr)
        return 1
    return 0


def train(asked: argparse.Namespace) -> None:
    from sentlab import methods
    from sentlab.encoder.storage import check_target, target_of
    from sentlab.evaluation import dev_score
    from sentlab.training import TrainConfig, fit, set_seed

    method, began, out = METHODS[asked.method], time.monotonic(), _out(asked)
    if out.exists() and not (out / "modules.json").is_file() and (out.is_file() or any(out.iterdir())):
        raise FileExistsError(f"--out {out} is no saved encoder and not empty; choose another folder")
    target_of(out)  # refuses the working directory before the work
    kind = asked.rows or ("texts" if method in ON_TEXTS else "triples")
    fitting = ON_TEXTS if kind == "texts" else ON_TRIPLES
    if method not in fitting:
        raise ValueError(f"--method {asked.method} does not learn from {kind}; these do: {', '.join(fitting).lower()}")
    needless = [name for name in ("eval_every", "dev_columns", "scale") if getattr(asked, name) is not None]
    if asked.dev is None and needless:
        raise ValueError(f"--{needless[0].replace('_', '-')} needs --dev")
    rows = _read(asked, asked.file, kind, asked.columns)
    dev = None if asked.dev is None else _pairs(asked, asked.dev, asked.dev_columns, "dev")
    encoder = _encoder(asked, pooling=asked.pooling, max_length=asked.max_length)
    set_seed(asked.seed)
    trained = getattr(methods, method)(encoder)
    check_target(encoder, out)
    names = ("steps", "epochs", "batch_size", "learning_rate", "seed")
    settings = {name: value for name in names if (value := getattr(asked, name)) is not None}
    config = TrainConfig(**settings, checkpoint_every=CHECKPOINT_EVERY)
    if dev is not None:
        tenth = max(1, config.steps_over(len(rows)) // 10)
        config = replace(config, keep="dev", eval_every=tenth if asked.eval_every is None else asked.eval_every)
    work = _work(out)
    history = fit(
        trained,
        rows,
        config,
        None if dev is None else dev_score(dev),
        folder=work,
        resume=not asked.again,
        overwrite=asked.again,
        progress=not asked.quiet,
    )
    encoder.save(out)
    (work / "checkpoint.safetensors").unlink(missing_ok=True)
    print(f"trained {method} for {history.settings['steps']:,} steps on {len(rows):,} {kind}")
    if dev is not None:
        first, best = history.dev[0]["score"], history.best_dev
        print(f"dev {dev.name}: {first:.2f} before, {best:.2f} at step {history.kept_step}, which is kept")
    print(f"saved {out}, and {work / 'history.json'}, after {time.monotonic() - began:.0f} s")


def encode(asked: argparse.Namespace) -> None:
    import numpy as np

    from sentlab.extras import need
    from sentlab.files import replacing

    out = _out(asked, ".npy", ".jsonl", ".parquet")
    texts = _read(asked, asked.file, "texts", asked.columns)
    if out.suffix == ".npy" and texts.left_out:
        blank = sum(texts.left_out.values())
        raise ValueError(
            f"{asked.file}: {blank} blank texts get no vector, so the rows of a .npy would not be those of the file; "
            "remove them, or write a .jsonl or .parquet, which hold the texts too"
        )
    vectors = _encoder(asked).encode(texts, normalize=asked.normalize or None, progress=_progress(asked))
    with replacing(out) as temporary:
        if out.suffix == ".npy":
            with open(temporary, "wb") as file:
                np.save(file, vectors)
        elif out.suffix == ".jsonl":
            with open(temporary, "w", encoding="utf-8") as lines:
                for text, vector in zip(texts, vectors, strict=True):
                    row = {"text": text, "vector": [round(x, 7) for x in vector.tolist()]}
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        else:
            columns = {"text": list(texts), "vector": list(vectors)}
            need("pandas", "data").DataFrame(columns).to_parquet(temporary)
    print(f"wrote {len(vectors):,} vectors of {vectors.shape[1]} dimensions to {out}")


def evaluate(asked: argparse.Namespace) -> None:
    from sentlab.evaluation import evaluate as scored
    from sentlab.files import write_json

    out = _out(asked, ".json") if asked.out else None
    corpora = [_pairs(asked, name, asked.columns, "test") for name in asked.files]
    if twice := [name for name, count in Counter(corpus.name for corpus in corpora).items() if count > 1]:
        raise ValueError(f"two of {', '.join(asked.files)} are called {twice[0]}, as their scores would be: rename one")
    encoder = _encoder(asked)
    scores: dict[str, float] = {}
    for corpus in corpora:
        found = scored(encoder, corpus, progress=_progress(asked))
        scores |= {name: round(score, 4) for name, score in found.scores.items()}
        if any(math.isnan(score) for score in found.scores.values()):
            raise ValueError(f"{corpus.name}: all scores, or all cosines, are equal, so there is no correlation")
        for name, score in found.scores.items():
            measure = " (Spearman x 100)" if name == corpus.name else ""
            print(f"{score:7.2f}  {name}{measure}, {len(found.items):,} rows", flush=True)
        _tell_left_out(corpus.name, {why: n for why, n in found.left_out.items() if why not in corpus.left_out})
    if out:
        write_json(out, {"encoder": asked.encoder, "scores": scores})


def index(asked: argparse.Namespace) -> None:
    from sentlab.search import PhraseIndex

    out = _out(asked)
    given = {name: value for name in ("min_size", "max_size", "dtype") if (value := getattr(asked, name)) is not None}
    if asked.add and given:
        raise ValueError("--add takes no --min-size, --max-size or --dtype: they are those of the index")
    if not asked.add and out.exists() and (out.is_file() or any(out.iterdir())):
        raise FileExistsError(f"--out {out} is not empty; choose another folder, or add to the index there with --add")
    texts, encoder = _read(asked, asked.file, "texts", asked.columns), _encoder(asked)
    made = PhraseIndex.load(out, encoder) if asked.add else PhraseIndex(encoder, **given)
    if not asked.add:
        made.save(out)  # from here on each segment is written as it is made
    before = len(made)
    try:
        made.add(texts, progress=_progress(asked))
    except BaseException:
        done = len(PhraseIndex.load(out, encoder)) - before
        print(f"{out} holds the first {done:,} texts of {asked.file}: add the others with --add", file=sys.stderr)
        raise
    made.save(out)
    print(f"{out} holds {len(made):,} texts, {made.words:,} words, in spans of {made.min_size} to {made.max_size}")


def search(asked: argparse.Namespace) -> None:
    from sentlab.extras import need
    from sentlab.files import replacing
    from sentlab.search import PhraseIndex

    out = _out(asked, ".csv", ".jsonl", ".parquet", ".html") if asked.out else None
    if out and out.suffix != ".html":
        need("pandas", "data")
    phrases = [*asked.phrase, *(_read(asked, asked.phrases, "texts", asked.columns) if asked.phrases else ())]
    if not phrases:
        raise ValueError("nothing to search for: give phrases, or a file of them with --phrases")
    found = PhraseIndex.load(asked.index, _encoder(asked)).search(phrases, asked.k, trim=not asked.all_spans)
    if out is None:
        marks = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("[", "]")
        for phrase, hits in zip(phrases, found, strict=True):
            print(phrase if hits else f"{phrase}\n  nothing found")
            for hit in hits:
                before, words, after = (one_line(part) for part in (hit.before + "|", hit.words, "|" + hit.after))
                context = f"{before[:-1]}{marks[0]}{words}{marks[1]}{after[1:]}"
                print(f"  {hit.similarity:.3f}  text {hit.text}: {context}")
        return
    with replacing(out) as temporary:
        if out.suffix == ".html":
            page = f"<!doctype html><meta charset='utf-8'><title>Hits</title>{found._repr_html_()}\n"
            temporary.write_text(page, encoding="utf-8")
        elif out.suffix == ".csv":
            # a field is quoted for the characters of the line's end, and a lone "\r" ends a line for readers
            found.table().to_csv(temporary, index=False, lineterminator="\r\n")
        elif out.suffix == ".jsonl":
            found.table().to_json(temporary, orient="records", lines=True, force_ascii=False)
        else:
            found.table().to_parquet(temporary)
    print(f"wrote {sum(map(len, found)):,} hits of {len(found):,} phrases to {out}")


VERBS: dict[str, Callable[[argparse.Namespace], None]] = {
    "train": train,
    "encode": encode,
    "evaluate": evaluate,
    "index": index,
    "search": search,
}


def _out(asked: argparse.Namespace, *endings: str) -> Path:
    """The path of --out, refused before the work where it cannot be written."""
    from sentlab.extras import need
    from sentlab.files import staging

    out = Path(asked.out).expanduser()
    if endings and out.suffix not in endings:
        raise ValueError(f"--out {out} must end in {' or '.join(endings)}")
    if endings and out.is_dir():
        raise IsADirectoryError(f"--out {out} is a folder; name a file")
    if endings and out.suffix == ".parquet":
        need("pandas", "data")
        need("pyarrow", "data")
    # texts are added inside the folder of an index, all else is written beside --out
    place = Path(os.path.realpath(out / "segment" if getattr(asked, "add", False) else out))
    for above in filter(Path.exists, place.parents):
        try:
            with staging(above / place.name):  # as it will be written, but for the folders that are not there yet
                break
        except OSError as error:
            raise type(error)(f"--out {out} cannot be written in {above}: {error.strerror}") from error
    return out


def _work(out: Path) -> Path:
    """Where the history and the checkpoint go of an encoder that is trained for `out`."""
    return out.absolute().with_name(f"{out.name}.training")


def _progress(asked: argparse.Namespace) -> bool | None:
    return False if asked.quiet else None


def _encoder(asked: argparse.Namespace, **options: Any) -> Encoder:
    from sentlab.encoder import Encoder

    return Encoder.from_pretrained(asked.encoder, **options)


def _read(asked: argparse.Namespace, path: str, kind: Any, columns: Any, **options: Any) -> Corpus[Any]:
    """The rows of a file; what is left out is told."""
    from sentlab.data import from_file

    corpus = from_file(path, kind, columns=columns, separator=asked.separator, quotes=not asked.no_quotes, **options)
    _tell_left_out(path, corpus.left_out)
    return corpus


def _tell_left_out(name: str, left_out: Mapping[str, int]) -> None:
    for why, count in left_out.items():
        print(f"{name}: {count} rows left out ({why})", file=sys.stderr)


def _pairs(asked: argparse.Namespace, name: str, columns: Any, split: str) -> Corpus[Any]:
    """Scored pairs of a file, or a corpus by name."""
    from sentlab import data

    if not Path(name).suffix and not Path(name).exists():
        if columns is not None or asked.scale is not None:
            raise ValueError(f"the columns and the scale of {name} are known: score it without options for these")
        corpus = data.load(name, split)
        _tell_left_out(name, corpus.left_out)
        return corpus
    return _read(asked, name, "pairs", columns, scale=asked.scale or (0.0, 5.0), split=split)


def one_line(message: Any) -> str:
    """One line, without the control characters that would move a terminal's cursor."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(str(message).split()))
