"""Damage what sentlab reads, and fill or close what it writes to: each ends in an error that helps or the right result.

    python benchmarks/damage.py [--inputs 500] [--long-line 10e6] [--seed 0] [--show]

Every reader and loader gets small files that are sound. Then one of them is damaged. Bits are flipped, a part is cut
off or zeroed, or NUL bytes are put in. A line gets `--long-line` characters (1e9 takes some GB of memory). Encodings,
columns or types are others. A folder, or a link that leads nowhere, takes its place.

What changes nothing (a link, CRLF, a byte order mark) must give the
same rows. All else must end in a ValueError or OSError that names the file, and in readers of lines the line; or in a
result, where the file says something else that is valid. Writers get a disk that is full (a limit of the file size) and
a folder that cannot be written: an OSError or ValueError that names the place, and the old content stays.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import lzma
import os
import re
import resource
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
from experiments import records
from experiments.word_vectors import WordVectors
from promises import Promise, contents, sentences, small_encoder, told
from tqdm import tqdm

from sentlab import cli as command
from sentlab.data import from_file
from sentlab.data.readers import lexical, pairs, texts
from sentlab.encoder import Encoder
from sentlab.encoder.maps import Whitening, postprocessed
from sentlab.methods import SimCSE
from sentlab.search import PhraseIndex
from sentlab.training import TrainConfig, fit

ROWS = 12
# A line, or what concerns a whole file.
PLACE = re.compile(r":\d+|row \d+|not a whole|holds no|line by line|none of its|not there|a folder")
Damage = Callable[[Path, Random], bool]  # whether the file still says the same


class Case(NamedTuple):
    """Files that are sound, and how they are read."""

    write: Callable[[Path], object]
    read: Callable[[Path], Any]
    lines: bool = False  # an error must name a line


def flip(path: Path, random: Random, bits: int = 1) -> bool:
    content = bytearray(path.read_bytes())
    for _ in range(bits):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)
    return False


def cut(path: Path, random: Random) -> bool:
    os.truncate(path, random.randrange(path.stat().st_size))
    return False


def overwrite(path: Path, random: Random, made: Callable[[int], bytes], size: int = 4096) -> bool:
    """Another content of a page, or of half of a file that is smaller."""
    content = bytearray(path.read_bytes())
    size = min(size, max(1, len(content) // 2))
    start = random.randrange(len(content) - size + 1)
    content[start : start + size] = made(size)
    path.write_bytes(content)
    return False


def insert(path: Path, random: Random, made: bytes, at_start: bool = False) -> bool:
    content = path.read_bytes()
    start = 0 if at_start else random.randrange(len(content) + 1)
    path.write_bytes(content[:start] + made + content[start:])
    return False


def unpacked(path: Path) -> bytes | None:
    """What a text file says, None for other files."""
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "rb") as file:
        content: bytes = file.read()
    with contextlib.suppress(UnicodeDecodeError):
        content.decode()
        return None if b"\0" in content else content
    return None


def rewrite(path: Path, random: Random, change: Callable[[bytes, Random], bytes], same: bool = False) -> bool:
    """Another text, packed as before; of other files a flipped bit."""
    content = unpacked(path)
    if content is None:
        return flip(path, random)
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "wb") as file:
        file.write(change(content, random))
    return same


def of_a_line(change: Callable[[bytes, Random], bytes]) -> Callable[[bytes, Random], bytes]:
    def changed(content: bytes, random: Random) -> bytes:
        lines = content.split(b"\n")
        place = random.randrange(len(lines))
        lines[place] = change(lines[place], random)
        return b"\n".join(lines)

    return changed


def fewer_columns(line: bytes, random: Random) -> bytes:
    marks = [found.start() for found in re.finditer(rb"[\t, ]", line)] or [0]
    return line[: random.choice(marks)]


def other_value(content: bytes, random: Random) -> bytes:
    """Another type somewhere in JSON; of other text a word where a number is."""
    other = random.choice([None, [], {}, -1, 1e300, "x", True, ["x"], {"x": 1}])
    try:
        found = json.loads(content)
    except ValueError:
        return re.sub(rb"\d+", lambda number: random.choice([number[0], b"many", b"nan"]), content)
    places = [(found, key) for key in (found if isinstance(found, dict) else range(len(found)))] if found else []
    for holder, key in places:  # grows
        value = holder[key]
        places += (
            [(value, inner) for inner in (value if isinstance(value, dict) else range(len(value)))][
                : 50 if isinstance(value, dict | list) else 0
            ]
            if isinstance(value, dict | list)
            else []
        )
    if not places:
        return json.dumps(other).encode()
    holder, key = random.choice(places)
    if random.random() < 0.3 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = other
    return json.dumps(found).encode()


def in_place(path: Path, random: Random, make: Callable[[Path], object], same: bool = False) -> bool:
    """Something else in the place of a file, which goes aside."""
    path.rename(path.with_name("aside"))
    make(path)
    return same


def damages(long_line: int) -> dict[str, Damage]:
    crlf, mark = (lambda text, _: text.replace(b"\n", b"\r\n")), (lambda text, _: b"\xef\xbb\xbf" + text)
    return {
        "a flipped bit": flip,
        "20 flipped bits": partial(flip, bits=20),
        "cut off": cut,
        "a zeroed page": partial(overwrite, made=bytes),
        "a page of noise": partial(overwrite, made=lambda size: os.urandom(size)),
        "NUL bytes": partial(insert, made=bytes(3)),
        "a byte of Latin-1": partial(insert, made=b"\xe9"),
        "empty": lambda path, random: bool(path.write_bytes(b"")),
        "UTF-16": partial(rewrite, change=lambda text, _: text.decode().encode("utf-16")),
        "CRLF": partial(rewrite, change=crlf, same=True),
        "a byte order mark": partial(rewrite, change=mark, same=True),
        "a line in Latin-1": partial(rewrite, change=of_a_line(lambda line, _: line + "é".encode("latin-1"))),
        "a long line": partial(rewrite, change=of_a_line(lambda line, _: line + b"x" * long_line)),
        "fewer columns": partial(rewrite, change=of_a_line(fewer_columns)),
        "more columns": partial(rewrite, change=of_a_line(lambda line, _: line + b"\tmore,1\tmore ||| more")),
        "another type": partial(rewrite, change=other_value),
        "another type in a line": partial(rewrite, change=of_a_line(other_value)),
        "a folder in its place": partial(in_place, make=Path.mkdir),
        "a link to it": partial(in_place, make=lambda path: path.symlink_to("aside"), same=True),
        "a link to nothing": partial(in_place, make=lambda path: path.symlink_to("nowhere")),
        "a link to itself": partial(in_place, make=lambda path: path.symlink_to(path.name)),
        "missing": lambda path, random: bool(path.unlink()),
    }


def lines_of(row: Callable[[str, str, int], str], header: str = "") -> bytes:
    rows = [row(a, b, number) for number, (a, b) in enumerate(zip(sentences(ROWS), sentences(ROWS, 1), strict=True))]
    return "".join(f"{line}\n" for line in ([header] if header else []) + rows).encode()


def readers() -> dict[str, Case]:
    """Every reader, with a file or files of its format."""
    cases: dict[str, Case] = {}

    def add(read: Callable[..., Any], *files: tuple[str, bytes]) -> None:
        def write(folder: Path) -> None:
            for name, content in files:
                opened = {"gz": gzip.open, "xz": lzma.open}.get(name.rsplit(".", 1)[-1], open)
                with opened(folder / name, "wb") as file:
                    file.write(content)

        name = f"{getattr(read, 'func', read).__name__} {files[0][0]}"
        cases[name] = Case(write, lambda folder: read(*(folder / name for name, _ in files)), lines=True)

    def json_line(names: tuple[str, ...]) -> Callable[[str, str, int], str]:
        return lambda a, b, n: json.dumps(dict(zip(names, (a, b, ["entailment", "neutral"][n % 2]), strict=True)))

    one, two = lines_of(lambda a, b, n: a), lines_of(lambda a, b, n: b)
    both, scores = lines_of(lambda a, b, n: f"{a}\t{b}"), lines_of(lambda a, b, n: f"{n % 6}")
    labels, flags = lines_of(lambda a, b, n: "neutral"), lines_of(lambda a, b, n: f"{n % 2}")
    add(pairs.read_sts, ("STS.input.x.txt", both), ("STS.gs.x.txt", scores))
    add(pairs.read_stsb, ("sts-test.csv", lines_of(lambda a, b, n: f"g\tf\ty\t{n}\t{n % 6}\t{a}\t{b}")))
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score"
    add(pairs.read_sick, ("SICK.txt", lines_of(lambda a, b, n: f"{n}\t{a}\t{b}\t{1 + n % 5}", header)))
    add(pairs.read_snli, ("s1.dev", one), ("s2.dev", two), ("labels.dev", labels))
    add(pairs.read_nli_jsonl, ("nli.jsonl", lines_of(json_line(("sentence1", "sentence2", "gold_label")))))
    add(pairs.read_mnli_csv, ("mnli.csv", lines_of(lambda a, b, n: f'"{a}",{b},neutral', "premise,hypothesis,label")))
    header = "question1\tquestion2\tis_duplicate"
    add(pairs.read_quora, ("quora.tsv", lines_of(lambda a, b, n: f"{a}\t{b}\t{n % 2}", header)))
    numbers = " ".join(map(str, range(1, ROWS)))
    add(
        pairs.read_askubuntu,
        ("text.txt.gz", lines_of(lambda a, b, n: f"{n}\t{a}\t{b}")),
        ("dev.txt", f"0\t1 2\t{numbers}\t{numbers}\n".encode()),
    )
    add(partial(lexical.read_word_pairs, highest=10.0), ("words.txt", lines_of(lambda a, b, n: f"a{n}\tb{n}\t{n % 9}")))
    context = "1\tdog\tn\tcat\tn\tthe <b> dog </b> runs\ta <b> cat </b> sees\t5" + "\t5" * 10
    add(lexical.read_scws, ("ratings.txt", lines_of(lambda a, b, n: context)))
    item = "red\tJ\ndog\tN\nanimal"
    add(lexical.read_semeval_5a, ("en.trainSet", lines_of(lambda a, b, n: f"{item}\n{n % 2}")))
    add(lexical.read_ppdb_bigrams, ("ppdb.b2u", lines_of(lambda a, b, n: item)))
    add(lexical.read_ppdb_synonyms, ("synonyms.txt", lines_of(lambda a, b, n: f"a{n} b{n}")))
    fields = "Equivalence=0.5 x=1 ||| 0-0 ||| Equivalence"
    add(lexical.read_ppdb, ("ppdb.gz", lines_of(lambda a, b, n: f"[NP] ||| a{n} ||| b{n} ||| {fields}")))
    add(texts.read_sentences, ("sentences.txt.xz", one))
    add(texts.read_articles, ("articles.txt", lines_of(lambda a, b, n: f"{a} The {b}")))
    add(texts.read_captions, ("captions.txt", lines_of(lambda a, b, n: f"{n}.jpg#0\t{a}")))
    add(texts.read_msmarco, ("triples.tsv.gz", lines_of(lambda a, b, n: f"{a}\t{b}\t{n} no")))
    add(texts.read_wikiqa, ("dev_a.toks", one), ("dev_b.toks", two), ("dev_sim.txt", flags))
    header = "Question\tSentence\tLabel"
    add(texts.read_wikiqa_tsv, ("WikiQA.tsv", lines_of(lambda a, b, n: f"q\t{b}\t{n % 2}", header)))
    header = "text_a,text_b,score"
    for name in ("mine.csv", "mine.csv.gz"):
        add(partial(from_file, kind="pairs"), (name, lines_of(lambda a, b, n: f'"{a}",{b},{n % 6}', header)))
    add(from_file, ("mine.txt", one))
    add(partial(from_file, kind="triples"), ("mine.jsonl", lines_of(json_line(("anchor", "positive", "negative")))))
    table = lines_of(lambda a, b, n: f"{a}\t{b}\t{n}", "anchor\tpositive\tnegative")
    add(partial(from_file, kind="triples"), ("mine.tsv", table))
    vectors = lines_of(lambda a, b, n: f"word{n} {n}.5 0.25 -1e-3")

    def read_vectors(path: Path) -> Any:
        found = WordVectors.read(path)
        return found.places, found.vectors.tolist()

    add(read_vectors, ("glove.txt", vectors))
    add(read_vectors, ("glove.txt.gz", vectors))

    def parquet(folder: Path) -> None:
        import pandas as pd

        pd.DataFrame({"text": sentences(ROWS)}).to_parquet(folder / "mine.parquet")

    cases["from_file mine.parquet"] = Case(parquet, lambda folder: from_file(folder / "mine.parquet"))
    return cases


def loaders(place: Path) -> dict[str, Case]:
    """Every loader, with what it loads."""
    encoder = small_encoder()
    encoder.save(place / "encoder" / "model")
    postprocessed(encoder, Whitening(8), sentences(40)).save(place / "whitened" / "model")
    index = PhraseIndex(encoder)
    index.add(sentences(ROWS))
    index.save(place / "index" / "made")
    config = TrainConfig(steps=2, batch_size=4)

    def train(folder: Path) -> Any:
        method = SimCSE(small_encoder(pooling="cls"))
        fit(method, sentences(8), config, folder=folder, resume=True, progress=False)
        return method.encoder.encode(["the old king"]).tolist()

    train(place / "checkpoint")
    (place / "checkpoint" / "history.json").unlink()  # which nobody reads
    settings = {"encoder": {"source": "tiny", "pooling": "cls", "max_length": 32}, "dev": "toy-sts", "test": []}
    (place / "record").mkdir()
    (place / "record" / "small.json").write_text(json.dumps({"kind": "run", "settings": settings}), encoding="utf-8")

    def copied(name: str) -> Callable[[Path], object]:
        return lambda folder: shutil.copytree(place / name, folder, dirs_exist_ok=True)

    def encode(folder: Path) -> Any:
        return Encoder.from_pretrained(folder / "model", device="cpu").encode(["the old king"]).tolist()

    def search(folder: Path) -> Any:
        return list(PhraseIndex.load(folder / "made", encoder).search(["the old king"], 2))

    def said(*arguments: str) -> str:
        """What the command prints; what it tells of a failure as an error."""
        out, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            try:
                status = command.main([*arguments])
            except SystemExit as ended:
                status = ended.code
        if status:
            last = told.getvalue().strip().splitlines()[-1]
            raise ValueError(last) if status == 1 and last.startswith("sentlab ") else TypeError(last)
        return out.getvalue().split(" to ")[0]

    def at_command(folder: Path) -> str:
        found = str(folder / "vectors.npy")
        return said(
            "encode", str(folder / "mine.csv"), "--quiet", "--encoder", str(place / "encoder/model"), "--out", found
        )

    def at_search(folder: Path) -> str:
        return said("search", str(folder / "made"), "the old king", "--encoder", str(place / "encoder/model"))

    def own_rows(folder: Path) -> None:
        (folder / "mine.csv").write_bytes(lines_of(lambda a, b, n: f"{n},{a}", "number,text"))

    return {
        "Encoder.from_pretrained": Case(copied("encoder"), encode),
        "Encoder.from_pretrained, whitened": Case(copied("whitened"), encode),
        "PhraseIndex.load": Case(copied("index"), search),
        "checkpoint": Case(copied("checkpoint"), train),
        "record": Case(copied("record"), lambda folder: records.get("small", folder).model_dump()),
        "sentlab encode": Case(own_rows, at_command, lines=True),
        "sentlab search": Case(copied("index"), at_search),
    }


def writers(place: Path) -> dict[str, Callable[[Path], object]]:
    """Everything that writes, given a folder in which it has written before."""
    encoder, texts_file = small_encoder(), place / "texts.txt"
    texts_file.write_text("\n".join(sentences(300)), encoding="utf-8")

    def save_index(folder: Path) -> None:
        before, tempfile.tempdir = tempfile.tempdir, str(folder)  # where an index is before it is saved
        try:
            index = PhraseIndex(encoder)
            index.add(sentences(30))
            index.save(folder / f"{os.getpid()}.index")
        finally:
            tempfile.tempdir = before

    def add(folder: Path) -> None:
        if not (folder / "index").exists():
            PhraseIndex(encoder).save(folder / "index")
        PhraseIndex.load(folder / "index", encoder).add(sentences(30))

    def train(folder: Path) -> None:
        config = TrainConfig(steps=1, batch_size=4)
        fit(SimCSE(encoder), sentences(8), config, folder=folder, overwrite=True, progress=False)

    return {
        "Encoder.save": lambda folder: encoder.save(folder / "model"),
        "PhraseIndex.save": save_index,
        "PhraseIndex.add": add,
        "fit": train,
    }


def of_child(work: Callable[[], object], prepare: Callable[[], object]) -> str:
    """What some work says of its failure in a process of its own, `Type: message`; nothing if it ends well."""
    read, write = os.pipe()
    if (process := os.fork()) == 0:
        try:
            prepare()
            work()
        except BaseException as error:
            os.write(write, f"{type(error).__name__}|{isinstance(error, OSError | ValueError)}|{error}".encode()[:4000])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        found = pipe.read()
    os.waitpid(process, 0)
    return found


def full(work: Callable[[Path], object], folder: Path, size: int) -> str:
    """What is wrong with how some work takes a disk that holds files of so many bytes; nothing if all is well."""
    before = contents(folder)
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
    found = of_child(partial(work, folder), limit)
    return refused(found, folder) or ("" if kept(folder, before) else "the old content has changed")


def closed(work: Callable[[Path], object], folder: Path) -> str:
    """What is wrong with how some work takes a folder that cannot be written; nothing if all is well."""
    before, paths = contents(folder), [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in paths:
        path.chmod(0o555)

    def prepare() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)  # root may write everywhere

    try:
        found = of_child(partial(work, folder), prepare)
    finally:
        for path in paths:
            path.chmod(0o755)
    return refused(found, folder) or ("" if contents(folder) == before else "the old content has changed")


def refused(found: str, folder: Path) -> str:
    if not found:
        return "no error"
    kind, typed, message = found.split("|", 2)
    return "" if typed == "True" and folder.name in message else f"{kind}: {message}"


def kept(folder: Path, before: dict[str, str]) -> bool:
    """Whether all files are as before; a lock is no content, and a training afresh drops what it is to replace."""
    now = contents(folder)
    dropped = "checkpoint.safetensors", "history.json"
    return all(now.get(name) == before[name] for name in before if Path(name).name not in dropped)


def verdict(case: Case, folder: Path, expected: Any, same: bool) -> str:
    """What is wrong with how damaged files are read; nothing if all is well."""
    try:
        found = case.read(folder)
    except (ValueError, OSError) as error:
        message = str(error)
        if same:
            return f"what changes nothing is refused: {message}"
        named = any(path.name in message for path in folder.rglob("*"))
        if not (named or folder.name in message):
            return f"{type(error).__name__} names no file: {message}"
        if case.lines and isinstance(error, ValueError) and not PLACE.search(message):
            return f"{type(error).__name__} names no line: {message}"
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"another result: {found!r:.200}" if same and repr(found) != repr(expected) else ""


def inputs(count: int, random: Random, cases: dict[str, Case], kinds: dict[str, Damage]) -> Iterator[tuple[str, str]]:
    """Which case is damaged how: all pairs in a random order, from the first again where there are more inputs."""
    grid = [(name, kind) for name in cases for kind in kinds]
    random.shuffle(grid)
    for _, pair in zip(range(count), cycle(grid), strict=False):
        yield pair


def damage(count: int, long_line: int = 10**7, seed: int = 0, only: str = "", show: bool = False) -> list[Promise]:
    """Try so many damaged inputs, and all writers; say what was found of what is promised."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    random, kinds, problems, tried = Random(seed), damages(long_line), [], 0
    with tempfile.TemporaryDirectory(prefix="sentlab-damage-") as work:
        place = Path(work).resolve()
        place.chmod(0o755)
        cases = {name: case for name, case in (readers() | loaders(place)).items() if only in name}
        expected: dict[str, Any] = {}
        for number, (name, kind) in enumerate(tqdm([*inputs(count, random, cases, kinds)], desc="damage")):
            folder, case = place / f"input{number}", cases[name]
            folder.mkdir()
            case.write(folder)
            if name not in expected:
                expected[name] = case.read(folder)
                shutil.rmtree(folder)
                folder.mkdir()
                case.write(folder)
            files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
            path = random.choice(files)
            same = kinds[kind](path, random) and path.suffix != ".json"  # JSON may have no byte order mark
            problem = verdict(case, folder, expected[name], same)
            tried += 1
            if problem:
                problems.append(f"{name}, {path.relative_to(folder)}, {kind}: {problem}")
                if show:
                    tqdm.write(problems[-1][:400])
            shutil.rmtree(folder)
        failed, wrote = [], 0
        for name, write in writers(place).items() if not only else ():
            folder = place / name
            folder.mkdir()
            write(folder)  # loads what is loaded once
            for problem in (full(write, folder, 0), full(write, folder, 700), closed(write, folder)):
                wrote += 1
                if problem:
                    failed.append(f"{name}: {problem}")
    for line in problems + failed:
        print(line[:400], file=sys.stderr)
    used = len(cases)
    return [
        (f"{tried} damaged inputs, {used} readers and loaders", f"{len(problems)} end badly", not problems),
        (f"{wrote} disks full or folders closed", f"{len(failed)} end badly", not failed),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=500, help="default: 500")
    parser.add_argument("--long-line", type=float, default=1e7, help="characters; default: 10 million")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers and loaders with these letters in their names")
    parser.add_argument("--show", action="store_true", help="each problem at once")
    asked = parser.parse_args()
    return told(damage(asked.inputs, int(asked.long_line), asked.seed, asked.only, asked.show))


if __name__ == "__main__":
    sys.exit(main())
