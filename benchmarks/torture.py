"""Try what the package promises to survive: kills, damaged files, full disks, and sharing.

    python benchmarks/torture.py [kill damage share] [--effort 1] [--seed 0]

    kill    A process is killed (SIGKILL) in `fit` with checkpoints, `PhraseIndex.add` or `save`, or `Encoder.save`. The
            old state or the new one must be there, and the next start ends as a run that nobody killed, bit by bit.
    damage  Damaged files must end in an error that names one, or in a result, where the file says something else that
            is valid. On a full disk or in a closed folder the old content must stay.
    share   Processes add to one index, search it and encode. Each hit must be the words that are there, with the
            similarity of a fresh encoding, and no text may be lost. Threads share one encoder, to the same vectors.

`--effort 0.1` does a tenth of all. At 1 it takes about half an hour on two cores. Needs fork (Linux, macOS).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import string
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tqdm import tqdm
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from sentlab import Encoder, PhraseIndex, TrainConfig, fit, set_seed
from sentlab.data import from_file
from sentlab.encoder.storage import locate
from sentlab.methods import SimCSE

WORDS = (
    "the a an old young king queen dog cat river house garden letter market reads writes sees finds walks runs plays "
    "small red quiet happy slow by in of on with and near under before"
).split()
ROUNDING = 0.002  # similarities in float16 differ by less
SAME = 1e-5  # and numbers of a vector, which may come from batches of other shapes


Promise = tuple[str, list[str]]  # what was tried, and what went wrong


def small_encoder(seed: int = 0, pooling: str = "mean", max_length: int = 32) -> Encoder:
    """Make an encoder of two layers with random weights and a vocabulary of some words, letters and digits."""
    signs = [*string.ascii_lowercase, *string.digits]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS, *signs, *(f"##{sign}" for sign in signs)]
    tokenizer = BertTokenizer(vocab={piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, do_lower_case=True)
    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes))
    return Encoder(model, tokenizer, pooling, max_length).eval()


def sentences(count: int, seed: int = 0, words: int = 8) -> list[str]:
    """Draw texts of some words, each with a number that no other has."""
    random = Random(seed)
    return [" ".join([*random.choices(WORDS, k=words), f"{seed}x{number}."]) for number in range(count)]


def index_of(texts: Sequence[str], encoder: Encoder, folder: Path) -> None:
    index = PhraseIndex(encoder)
    index.add(texts)
    index.save(folder)


def contents(folder: Path) -> dict[str, str]:
    """Return the files in a folder and those under it, each with a hash of its content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def forked(work: Callable[[], object]) -> tuple[int, int]:
    """Start a process; return its number, and a pipe that gives `!` at the start of its work, and its error."""
    reading, writing = os.pipe()
    if (process := os.fork()) == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.write(writing, b"!")
            work()
            status = 0
        except BaseException as error:
            kind = "" if isinstance(error, OSError | ValueError | SafetensorError) else type(error).__name__
            os.write(writing, f"{kind}|{error}".encode()[:4000])
        finally:
            os._exit(status)
    os.close(writing)
    return process, reading


def run_apart(work: Callable[[], object], kill_after: float | None = None) -> tuple[int, str]:
    """Do some work in a process, which is killed after so many seconds; return its exit status and its error."""
    process, reading = forked(work)
    with os.fdopen(reading) as pipe:
        pipe.read(1)
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(process, signal.SIGKILL)
        error = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), error


# ---- kill


class Operation(NamedTuple):
    before: Callable[[Path], object]  # makes what is in the folder before
    work: Callable[[Path], object]  # is killed, and is the next start too
    check: Callable[[Path], object]  # raises an error if what the kill left is neither old nor new
    final: Callable[[Path], Any]  # gives what is compared with a run that nobody killed


def training(place: Path) -> Operation:
    encoder, texts = small_encoder(), sentences(40)
    weights = {name: value.clone() for name, value in encoder.state_dict().items()}

    def work(folder: Path) -> None:
        encoder.load_state_dict(weights)
        set_seed(0)
        config = TrainConfig(steps=24, batch_size=8, learning_rate=1e-3, checkpoint_every=2, eval_every=6)
        fit(SimCSE(encoder), texts, config, lambda _: 1.0, folder=folder, resume=True, progress=False)

    def final(folder: Path) -> Any:
        tensors = {name: value.tolist() for name, value in load_file(folder / "checkpoint.safetensors").items()}
        losses = json.loads((folder / "history.json").read_text(encoding="utf-8"))["losses"]
        return sorted(contents(folder)), tensors, [{**row, "seconds": 0} for row in losses]

    def check(folder: Path) -> None:
        for path in folder.glob("checkpoint.safetensors"):
            load_file(path)

    return Operation(lambda folder: None, work, check, final)


def index_files(folder: Path, encoder: Encoder) -> tuple[list[str], list[str]]:
    """Return the texts of an index that is sound and can be searched, and its files without what their names draw."""
    index = PhraseIndex.load(folder / "index", encoder)
    index.verify()
    index.search(["the old king"], 3)
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return list(index), sorted(re.sub(r"[0-9a-f]{8,}", "#", name) for name in names)


def adding(place: Path) -> Operation:
    encoder, old, more = small_encoder(), sentences(40), sentences(60, seed=1)
    index_of(old, encoder, place / "old" / "index")

    def work(folder: Path) -> None:
        index = PhraseIndex.load(folder / "index", encoder)
        while (done := len(index) - len(old)) < len(more):
            index.add(more[done : done + 20])
        index.add([])  # which clears up

    def check(folder: Path) -> None:
        texts, _ = index_files(folder, encoder)
        assert texts == [*old, *more][: max(len(texts), len(old))], f"{len(texts)} texts are there, and not the first"

    return Operation(partial(shutil.copytree, place / "old"), work, check, partial(index_files, encoder=encoder))


def saving_index(place: Path) -> Operation:
    encoder, texts = small_encoder(), sentences(12)

    def work(folder: Path) -> None:
        if not (folder / "index").exists():
            index_of(texts, encoder, folder / "index")

    def check(folder: Path) -> None:
        assert not (folder / "index").exists() or index_files(folder, encoder)[0] == texts, "the index is not whole"

    return Operation(Path.mkdir, work, check, lambda folder: index_files(folder, encoder)[0])


def saving_encoder(place: Path) -> Operation:
    encoder = small_encoder()
    small_encoder(seed=1).save(place / "old" / "encoder")
    encoder.save(place / "new" / "encoder")
    old, new = (contents(place / name / "encoder") for name in ("old", "new"))

    def check(folder: Path) -> None:
        locate(folder / "encoder")  # as loading does: it brings back an old folder that was put aside
        assert contents(folder / "encoder") in (old, new), "the folder holds neither encoder"

    copy = partial(shutil.copytree, place / "old")
    return Operation(copy, lambda folder: encoder.save(folder / "encoder"), check, contents)


OPERATIONS = {"fit": training, "add": adding, "index": saving_index, "encoder": saving_encoder}


def kill_one(name: str, kills: int, place: Path, random: Random) -> Promise:
    place.mkdir()
    operation, start = OPERATIONS[name](place), 0.0
    for run in (lambda work: work(), run_apart):  # the first loads what is loaded once
        shutil.rmtree(place / "whole", ignore_errors=True)
        operation.before(place / "whole")
        start = time.perf_counter()
        run(partial(operation.work, place / "whole"))
    seconds, expected = time.perf_counter() - start, operation.final(place / "whole")
    problems, folder = [], place / "killed"
    for number in tqdm(range(kills), desc=name):
        status = 0
        while status != -signal.SIGKILL:  # until a kill comes before the work is done
            shutil.rmtree(folder, ignore_errors=True)
            operation.before(folder)
            status, _ = run_apart(partial(operation.work, folder), random.uniform(0, seconds))
        try:
            operation.check(folder)
            status, error = run_apart(partial(operation.work, folder))
            if status or operation.final(folder) != expected:
                problems.append(f"{name} {number}: the next start ends otherwise {error}")
        except Exception as error:
            problems.append(f"{name} {number}: {error!r}")
    return (f"{name}: {kills} kills in {1000 * seconds:.0f} ms", problems)


def kill(names: Sequence[str] = tuple(OPERATIONS), kills: int = 100, seed: int = 0) -> list[Promise]:
    with workplace("kill") as place:
        return [kill_one(name, kills, place / name, Random(f"{seed} {name}")) for name in names]


# ---- damage


def flip(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def overwrite(content: bytes, random: Random) -> bytes:
    """Replace a page, or half of a file that is smaller, by noise."""
    size = min(4096, max(1, len(content) // 2))
    start = random.randrange(len(content) - size + 1)
    return content[:start] + random.randbytes(size) + content[start + size :]


def change_line(content: bytes, random: Random, change: Callable[[bytes], bytes]) -> bytes:
    lines = content.split(b"\n")
    lines[random.randrange(len(lines))] = change(random.choice(lines))
    return b"\n".join(lines)


def damages(long_line: int) -> dict[str, Callable[[bytes, Random], bytes]]:
    return {
        "CRLF": lambda content, _: content.replace(b"\n", b"\r\n"),
        "a byte order mark": lambda content, _: b"\xef\xbb\xbf" + content,
        "a flipped bit": flip,
        "cut off": lambda content, random: content[: random.randrange(len(content))],
        "a page of noise": overwrite,
        "empty": lambda content, random: b"",
        "UTF-16": lambda content, random: content.decode("latin-1").encode("utf-16"),
        "a long line": partial(change_line, change=lambda line: line + b"x" * long_line),
        "fewer columns": partial(change_line, change=lambda line: re.split(rb"[\t,]", line)[0]),
        "other values": lambda content, random: re.sub(rb"\d+", random.choice([b"many", b"nan", b"null"]), content),
    }


def readers(place: Path) -> dict[str, Callable[[Path], Any]]:
    """Make a folder of files for each format of own rows and each loader; return what reads such a folder."""
    one, encoder = sentences(12), small_encoder()
    pairs = pd.DataFrame({"text_a": one, "text_b": one[::-1], "score": [n % 6 for n in range(12)]})

    def train(folder: Path) -> Any:
        method = SimCSE(small_encoder(pooling="cls"))
        fit(method, one[:8], TrainConfig(steps=2, batch_size=4), folder=folder / "made", resume=True, progress=False)
        return method.encoder.encode(["the old king"]).tolist()

    def read(folder: Path, kind: Any = "pairs") -> Any:
        return from_file(next(folder.glob("made.*")), kind).rows

    cases: dict[str, tuple[Callable[[Path], object], Callable[[Path], Any]]] = {  # what writes a file, what reads it
        "made.txt": (
            lambda path: path.write_text("\n".join(one) + "\n", encoding="utf-8"),
            partial(read, kind="texts"),
        ),
        "made.csv": (partial(pairs.to_csv, index=False), read),
        "made.tsv": (partial(pairs.to_csv, index=False, sep="\t"), read),
        "made.jsonl": (partial(pairs.to_json, orient="records", lines=True), read),
        "made.parquet": (pairs.to_parquet, read),
        "encoder": (encoder.save, lambda folder: Encoder.from_pretrained(folder / "encoder").encode(one).tolist()),
        "index": (
            partial(index_of, one, encoder),
            lambda folder: PhraseIndex.load(folder / "index", encoder).search(one[:1], 2),
        ),
        "made": (lambda path: train(path.parent), train),  # a checkpoint
    }
    for name, (write, _) in cases.items():
        (place / name).mkdir()
        write(place / name / name)
    (place / "made" / "made" / "history.json").unlink()  # which nobody reads
    return {name: read for name, (_, read) in cases.items()}


def verdict(read: Callable[[Path], Any], folder: Path, expected: Any, same: bool) -> str:
    """Return what is wrong with how damaged files are read; nothing if all is well."""
    try:
        result = read(folder)
    except (ValueError, OSError) as error:
        named = any(path.name in str(error) for path in folder.rglob("*"))
        return f"{error!r} for what changes nothing" if same else "" if named else f"{error!r} names no file"
    except Exception as error:
        return repr(error)
    return f"another result: {result!r:.200}" if same and repr(result) != repr(expected) else ""


def refused(write: Callable[[Path], object], folder: Path, size: int | None) -> str:
    """Return what is wrong with how a writer takes a disk for files of some bytes, or a closed folder (None)."""
    before, folders = contents(folder), [folder, *(path for path in folder.rglob("*") if path.is_dir())]

    def work() -> None:
        if size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        elif os.geteuid() == 0:
            os.setuid(65534)  # root may write everywhere
        write(folder)

    for path in folders if size is None else ():
        path.chmod(0o555)
    _, error = run_apart(work)
    for path in folders:
        path.chmod(0o755)
    dropped = "checkpoint.safetensors", "history.json"  # which a training afresh is to replace
    lost = [
        name for name, file in before.items() if contents(folder).get(name) != file and Path(name).name not in dropped
    ]
    return f"{lost} have changed" if lost else "" if error.startswith("|") else f"it ends so: {error}"


def damage(inputs: int = 500, long_line: int = 10**7, seed: int = 0) -> list[Promise]:
    warnings.simplefilter("ignore")
    random, encoder, texts = Random(seed), small_encoder(), sentences(30)
    config, damaged, failed = TrainConfig(steps=1, batch_size=4), [], []
    writers: dict[str, Callable[[Path], object]] = {
        "save": lambda folder: encoder.save(folder / "model"),
        "add": lambda folder: PhraseIndex.load(folder / "index", encoder).add(texts),
        "fit": lambda folder: fit(SimCSE(encoder), texts, config, folder=folder, overwrite=True, progress=False),
    }
    with workplace("damage") as place:
        place.chmod(0o755)
        reads, folder = readers(place), place / "damaged"
        expected = {name: read(place / name) for name, read in reads.items()}
        grid = [(name, kind) for name in reads for kind in damages(0)]
        random.shuffle(grid)
        for name, kind in tqdm([*islice(cycle(grid), inputs)], desc="damage"):
            shutil.copytree(place / name, folder)
            path = random.choice(sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size))
            path.write_bytes(damages(long_line)[kind](path.read_bytes(), random))
            same = kind in ("CRLF", "a byte order mark") and path.suffix in (".txt", ".csv", ".tsv", ".jsonl")
            if problem := verdict(reads[name], folder, expected[name], same):
                damaged.append(f"{path.relative_to(folder)}, {kind}: {problem}")
            shutil.rmtree(folder)
        for name, write in writers.items():
            folder = place / f"by {name}"
            index_of(texts, encoder, folder / "index")
            write(folder)  # loads what is loaded once
            problems = [refused(write, folder, size) for size in (0, 700, None)]
            failed += [f"{name}: {problem}" for problem in problems if problem]
    return [
        (f"{inputs} damaged inputs of {len(reads)} readers", damaged),
        (f"disks full or folders closed for {len(writers)} writers", failed),
    ]


# ---- share


def direction(encoder: Encoder, text: str, start: int, end: int) -> np.ndarray:
    """Return the direction of the sum of the tokens' vectors in the characters [start, end) of a text."""
    ((vectors, offsets),) = encoder.encode_tokens([text])
    total = vectors[(offsets[:, 0] >= start) & (offsets[:, 1] <= end)].sum(0)
    return total / np.linalg.norm(total)


def check_search(encoder: Encoder, index: PhraseIndex, number: int) -> None:
    """Search for a text of the index by its number."""
    text = index[number]
    query, (hits,) = direction(encoder, text, 0, len(text)), index.search([text], 3, trim=False)
    assert hits[0].text == number, f"text {number} was not found, but {hits[0]}"
    for hit in hits:
        place = index[hit.text]
        assert place[hit.start : hit.end] == hit.words, f"{hit} is not in {place!r}"
        similarity = float(query @ direction(encoder, place, hit.start, hit.end))
        assert abs(similarity - hit.similarity) < ROUNDING, f"{hit} has another similarity"


def share_index(folder: Path, encoder: Encoder, seed: int, until: float, old: list[str]) -> Counter[str]:
    """Use an index until a time; return how often a process did what, and how many texts it added."""
    random, texts, expected = Random(seed), sentences(20_000, seed), encoder.encode(old)
    index, counts = PhraseIndex.load(folder, encoder), Counter[str]()
    while time.time() < until and counts["texts"] < len(texts) - 3:
        action = random.choices(("add", "search", "encode", "open"), (4, 8, 8, 1))[0]
        counts[action] += 1
        if action == "add":
            more = texts[counts["texts"] : counts["texts"] + random.randint(1, 3)]
            index.add(more, progress=False)
            counts["texts"] += len(more)
        elif action == "search":
            check_search(encoder, index, random.randrange(len(index)))
        elif action == "encode":
            chosen = random.sample(range(len(old)), 4)
            np.testing.assert_allclose(encoder.encode([old[i] for i in chosen]), expected[chosen], atol=SAME)
        else:
            index = PhraseIndex.load(folder, encoder)
    return counts


def processes_share(count: int, minutes: float, seed: int, place: Path) -> list[Promise]:
    encoder, old, until = small_encoder(), sentences(200), time.time() + 60 * minutes
    index_of(old, encoder, place / "index")

    def work(own: int) -> None:
        counts = share_index(place / "index", encoder, own, until, old)
        (place / f"{own}.json").write_text(json.dumps(counts), encoding="utf-8")

    problems, seeds, total = [], [1 + seed * count + number for number in range(count)], Counter[str]()
    for process, pipe in [forked(partial(work, own)) for own in seeds]:
        with os.fdopen(pipe) as reading:
            problems += [error for error in [reading.read()[1:]] if error]
        os.waitpid(process, 0)
    index = PhraseIndex.load(place / "index", encoder)
    index.add([])  # the next start
    index.verify()
    texts = list(index)
    for own in seeds if not problems else ():
        counts = Counter(json.loads((place / f"{own}.json").read_text(encoding="utf-8")))
        if sentences(counts["texts"], own) != [text for text in texts if f" {own}x" in text]:
            problems.append(f"texts of process {own} are lost or in another order")
        total += counts
    if texts[: len(old)] != old or len(texts) != len(old) + total["texts"]:
        problems.append(f"{len(texts)} texts are there, and {total['texts']} were added")
    problems += [f"{path} is left over" for path in place.iterdir() if path.suffix not in ("", ".json")]
    did = f"{total['search']:,} searches, {total['encode']:,} encodings, {total['add']:,} times added"
    return [(f"{count} processes for {minutes:g} minutes: {did}", problems)]


def threads_share(count: int, rounds: int, seed: int) -> Promise:
    encoder, random = small_encoder(), Random(seed)
    texts = [text for words in range(1, 13) for text in sentences(4, words, words)]
    batches = [random.sample(texts, random.randint(1, len(texts))) for _ in range(rounds)]

    def vectors(batch: list[str]) -> list[np.ndarray]:
        return [encoder.encode(batch), *(vectors for vectors, _ in encoder.encode_tokens(batch))]

    expected = [vectors(batch) for batch in batches]
    with ThreadPoolExecutor(count) as pool:
        results = enumerate(pool.map(vectors, batches))
        differ = [f"batch {i} differs" for i, result in results if not all(map(np.array_equal, result, expected[i]))]
    return (f"{count} threads encode {rounds:,} batches with one encoder", differ)


def share(minutes: float = 5, processes: int = 8, threads: int = 8, rounds: int = 1000, seed: int = 0) -> list[Promise]:
    with workplace("share") as place:
        return [*processes_share(processes, minutes, seed, place), threads_share(threads, rounds, seed)]


@contextmanager
def workplace(name: str) -> Iterator[Path]:
    """Give a temporary folder, and keep torch on one thread, for forks of a process with several can hang."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix=f"sentlab-{name}-") as folder:
        yield Path(folder).resolve()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["kill", "damage", "share"], help="default: kill damage share")
    parser.add_argument("--effort", type=float, default=1.0, help="default: 1")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    works: dict[str, Callable[[], list[Promise]]] = {
        "kill": lambda: kill(kills=max(1, round(100 * args.effort)), seed=args.seed),
        "damage": lambda: damage(max(1, round(500 * args.effort)), seed=args.seed),
        "share": lambda: share(5 * args.effort, rounds=max(1, round(1000 * args.effort)), seed=args.seed),
    }
    promises = [promise for part in args.parts for promise in works[part]()]
    for what, problems in promises:
        print(f"{what}: {len(problems)} problems", *(problem[:400] for problem in problems), sep="\n    ")
    return 1 if any(problems for _, problems in promises) else 0


if __name__ == "__main__":
    sys.exit(main())
