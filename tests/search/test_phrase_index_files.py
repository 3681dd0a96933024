"""The files of an index: damage is found and named, and kills leave the old index or the new one."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.search import passages, phrase_index_files
from sentlab.search.phrase_index import PhraseIndex

TEXTS = ["the old man plays", "a girl reads the book", "water", "the dog runs in the garden", "bread and apples"]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, device="cpu", max_length=32)


@pytest.fixture
def saved(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three segments: of two texts, of two, and of one."""
    monkeypatch.setattr(passages, "CHARACTERS", 22)
    index = PhraseIndex(encoder, max_size=5)
    index.add(TEXTS)
    index.save(tmp_path / "index")
    return tmp_path / "index"


def segments(folder: Path) -> list[Path]:
    return [folder / extent["name"] for extent in json.loads((folder / "phrases.json").read_text())["segments"]]


def scramble(path: Path) -> None:
    """Other content of the same size."""
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "vectors is not what was written": lambda place: (place / "vectors").write_bytes(
        bytes((place / "vectors").stat().st_size)  # zeros
    ),
    "words is not what was written": lambda place: scramble(place / "words"),
    "spans is not what was written": lambda place: scramble(place / "spans"),
    "bytes is not what was written": lambda place: scramble(place / "bytes"),
    "texts is not what was written": lambda place: scramble(place / "texts"),
    r"vectors has 100 bytes instead of \d": lambda place: os.truncate(place / "vectors", 100),
    "texts is missing": lambda place: (place / "texts").unlink(),
    "vectors is missing": shutil.rmtree,
}


def opened_with_damage(folder: Path, encoder: Encoder) -> PhraseIndex:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PhraseIndex.load(folder, encoder, skip_damaged=True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_segment_is_named_and_the_rest_stays_usable(encoder: Encoder, saved: Path, damage: str) -> None:
    before = PhraseIndex.load(saved, encoder).search(["the garden", "the book"], 5)
    place = segments(saved)[1]
    DAMAGES[damage](place)
    with pytest.raises(ValueError, match=rf"damaged: {place.name}/{damage}.* texts 2 to 3\. .*skip_damaged"):
        PhraseIndex.load(saved, encoder).search(["the garden"])
    with pytest.warns(UserWarning, match=rf"damaged: {place.name}/{damage}.* texts 2 to 3, which are left out"):
        found = PhraseIndex.load(saved, encoder, skip_damaged=True).search(["the garden", "the book"], 3)
    for hits, all_hits in zip(found, before, strict=True):
        assert hits == [hit for hit in all_hits if hit.text not in (2, 3)][:3]
    index = opened_with_damage(saved, encoder)
    assert len(index) == 5
    (line,) = index.verify()
    assert line.startswith(place.name)
    with pytest.raises(ValueError, match=f"cannot save .* damaged: {place.name}"):
        index.save(saved.parent / "copy")
    index.add(["a small river"])  # its number follows those of all texts
    with pytest.warns(UserWarning, match="are left out") as warned:
        found = index.search(["a small river"], 1)
    assert found[0][0].text == 5
    assert [warning.filename for warning in warned] == [__file__]  # the caller, who can do something


def test_damage_of_an_open_index_is_found_by_verify(encoder: Encoder, saved: Path) -> None:
    index = PhraseIndex.load(saved, encoder)
    index.search(["water"])
    assert index.verify() == []
    with open(segments(saved)[2] / "vectors", "r+b") as file:  # in place, so that the mapped file changes
        file.write(b"\xff\xff")
    (line,) = index.verify()
    assert "texts 4 to 4" in line
    with pytest.raises(ValueError, match="is damaged"):
        index.search(["water"])


def test_manifests_that_no_index_wrote_are_refused(encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    manifest = json.loads((saved / "phrases.json").read_text())
    extent = manifest["segments"][0]
    shutil.copytree(saved / extent["name"], tmp_path / "outside")

    def rewritten(**changes: object) -> Callable[[Path], object]:
        return lambda folder: (folder / "phrases.json").write_text(json.dumps(manifest | changes))

    def with_name(name: str) -> Callable[[Path], object]:
        return rewritten(segments=[extent | {"name": name}])

    def linked(name: str) -> Callable[[Path], object]:
        def link(folder: Path) -> None:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            path.symlink_to(tmp_path / "outside" / name.partition("/")[2])

        return link

    damages: dict[str, Callable[[Path], object]] = {
        "is no phrase index: it has no phrases.json": lambda folder: (folder / "phrases.json").unlink(),
        "phrases.json is not JSON": lambda folder: (folder / "phrases.json").write_text('{"format": '),
        "is not of the format 'sentlab phrase index 3'": rewritten(format="sentlab phrase index 2"),
        "must hold dim, dtype, encoder": rewritten(dim="32"),
        r"must hold name, texts.* of segments\[0\]": rewritten(segments=[{"name": extent["name"]}]),
        "dtype 'int8'": rewritten(dtype="int8"),
        "max_size 0": rewritten(max_size=0),
        r"no counts of segments\[0\]: \[-1": rewritten(segments=[extent | {"texts": -1}]),
        r"checksums of vectors.* of segments\[0\]": rewritten(segments=[extent | {"checksums": {}}]),
        "names a segment twice": rewritten(segments=[extent, extent]),
        "does not write: '../outside'": with_name("../outside"),
        "does not write: '/": with_name(str(tmp_path / "outside")),
        "vectors is missing": with_name("segment-" + "0" * 32),
        "vectors is a link that leads out of the index": linked(extent["name"]),
        "texts is a link that leads out of the index": linked(extent["name"] + "/texts"),
    }
    for i, (message, damage) in enumerate(damages.items()):
        folder = shutil.copytree(saved, tmp_path / f"copy{i}")
        damage(folder)
        with pytest.raises(ValueError, match=message):
            PhraseIndex.load(folder, encoder)
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        PhraseIndex.load(tmp_path / "nowhere", encoder)


def test_an_index_that_was_replaced_is_told(encoder: Encoder, saved: Path) -> None:
    index = PhraseIndex.load(saved, encoder)
    shutil.rmtree(saved)
    PhraseIndex(encoder).save(saved)
    with pytest.raises(RuntimeError, match="holds another index since this one was opened"):
        index.add(["the dog"])
    assert len(PhraseIndex.load(saved, encoder)) == 0
    assert sorted(path.name for path in saved.iterdir()) == ["phrases.json", "phrases.lock"]


def add(folder: Path, text: str) -> None:
    """Add a text with made-up vectors, as `PhraseIndex.add` does."""
    encoded = [(0, np.ones((1, 32), np.float32), np.array([[0, len(text)]]))]
    opened = phrase_index_files.read_manifest(folder)
    with phrase_index_files.staging(folder) as stage:
        extent = phrase_index_files.write_segment(stage, [text], encoded, opened, 0)
        phrase_index_files.commit(folder, stage, extent, opened)


def in_processes(*works: Callable[[], object]) -> list[int]:
    """Run each of the works in a forked process; return their exit statuses, -9 for one that was killed."""
    processes = []
    for work in works:
        if (process := os.fork()) == 0:
            status = 1
            torch.set_num_threads(1)  # OpenMP's threads do not outlive a fork, and waiting for them would not end
            try:
                work()
                status = 0
            finally:
                os._exit(status)
        processes.append(process)
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]


def die_at(step: int) -> None:
    """Have this process killed when it opens, moves, makes or removes its file number `step`."""
    left = itertools.count(step, -1)

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir") and next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def texts_of(folder: Path) -> list[str]:
    """The texts of all segments, whose checksums hold."""
    manifest = phrase_index_files.read_manifest(folder)
    found = [phrase_index_files.Segment(folder, extent, manifest) for extent in manifest.segments]
    assert [segment.check() for segment in found] == [None] * len(found)
    return [segment.text(number) for segment in found for number in range(segment.extent.texts)]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_kill_at_any_moment_leaves_the_old_index_or_the_new(saved: Path, tmp_path: Path) -> None:
    add(shutil.copytree(saved, tmp_path / "first"), "so that nothing is imported later")
    seen = []
    for step in itertools.count(1):
        folder = shutil.copytree(saved, tmp_path / "killed")
        (status,) = in_processes(lambda step=step, folder=folder: (die_at(step), add(folder, "new")))  # type: ignore[misc]
        seen.append(texts_of(folder))
        add(folder, "next")
        assert texts_of(folder) == [*seen[-1], "next"]
        # what the killed process left is gone
        assert names(folder) == {"phrases.json", "phrases.lock", *(place.name for place in segments(folder))}
        shutil.rmtree(folder)
        if status != -signal.SIGKILL:
            break
    assert status == 0
    committed = seen.index([*TEXTS, "new"])
    assert committed > 10
    assert seen == [TEXTS] * committed + [[*TEXTS, "new"]] * (len(seen) - committed)


def test_what_a_kill_after_the_last_commit_leaves_goes(encoder: Encoder, saved: Path) -> None:
    left = saved / ".phrases.json.0123abcd.new"
    left.mkdir()
    (left / "alive").touch()
    PhraseIndex.load(saved, encoder).add([])  # the manifest is not written again
    assert not left.exists()
    assert texts_of(saved) == TEXTS


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("how", ["save", "merge"])
def test_what_a_killed_save_leaves_goes(encoder: Encoder, saved: Path, tmp_path: Path, how: str) -> None:
    def copy(target: Path) -> None:
        if how == "save":
            PhraseIndex.load(saved, encoder).save(target)
        else:
            PhraseIndex.merge([saved], target)

    copy(tmp_path / "first")  # so that nothing is imported later
    place = tmp_path / "copies"
    for step in itertools.count(1, 3):  # benchmarks/kills.py tries more
        place.mkdir()
        (status,) = in_processes(lambda step=step: (die_at(step), copy(place / "copy")))  # type: ignore[misc]
        if (place / "copy").exists():
            add(place / "copy", "next")
            assert texts_of(place / "copy") == [*TEXTS, "next"]
        else:
            copy(place / "copy")
            assert texts_of(place / "copy") == TEXTS
        assert names(place) == {"copy"}
        assert texts_of(saved) == TEXTS
        shutil.rmtree(place)
        if status != -signal.SIGKILL:
            break
    assert status == 0
    assert step > 20


def test_of_two_saves_at_once_the_first_to_end_stays_whole(
    encoder: Encoder, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, target = shutil.copytree, tmp_path / "copy"

    def copytree(source: Path, destination: Path, **how: Any) -> Path:
        monkeypatch.setattr(shutil, "copytree", real)  # in the middle of the first save
        other = PhraseIndex(encoder)
        other.add(["water"])
        other.save(target)
        return Path(real(source, destination, **how))

    monkeypatch.setattr(shutil, "copytree", copytree)
    index = PhraseIndex.load(saved, encoder)
    with pytest.raises(FileExistsError, match="copy is not empty; choose a new folder"):
        index.save(target)
    assert index.folder == saved
    assert texts_of(target) == ["water"]
    assert names(tmp_path) == {"index", "copy"}


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_that_add_at_the_same_time(saved: Path) -> None:
    def work(name: str) -> Callable[[], object]:
        return lambda: [add(saved, f"{name} {number}") for number in range(6)]

    assert in_processes(*map(work, "abc")) == [0, 0, 0]
    found = texts_of(saved)
    assert found[: len(TEXTS)] == TEXTS
    for name in "abc":
        assert [text for text in found if text.startswith(f"{name} ") and text not in TEXTS] == [
            f"{name} {number}" for number in range(6)
        ]
    assert len(found) == len(TEXTS) + 18


def test_all_files_are_on_the_disk_before_the_manifest_names_them(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[int] = set()
    commits = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real_fsync(descriptor)

    def replace(source: Path, target: Path) -> None:
        if target == saved / "phrases.json":
            named = json.loads(source.read_text())["segments"][-1]["name"]
            needed = [source, saved, saved / named, *(saved / named).iterdir()]
            commits.append([path.name for path in needed if path.stat().st_ino not in synced])
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    add(saved, "the new text")
    assert commits == [[]]


def test_a_failure_removes_what_was_staged(encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    def texts() -> Iterator[str]:
        yield "the dog runs in the garden"
        raise OSError("the source is gone")

    index = PhraseIndex.load(saved, encoder)
    with pytest.raises(OSError, match="the source is gone"):
        index.add(texts())
    assert len(index) == 6
    expected = {"phrases.json", "phrases.lock", *(place.name for place in segments(saved))}
    assert {path.name for path in saved.iterdir()} == expected
    (segments(saved)[0] / "texts").unlink()
    with pytest.raises(ValueError, match="cannot save"):
        index.save(tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@contextmanager
def free_descriptors(count: int) -> Iterator[None]:
    """Let this process open so many files at once and no more."""
    resource = pytest.importorskip("resource")
    limits, held = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, limits[1]))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(count):
            os.close(held.pop())
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("small", [0, phrase_index_files.SMALL])
def test_segments_hold_no_files_open(
    encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    expected = PhraseIndex.load(saved, encoder).search(["the garden", "the book"], 9)
    monkeypatch.setattr(phrase_index_files, "SMALL", small)  # 0: all files are mapped
    with free_descriptors(15):
        index = PhraseIndex.load(saved, encoder)  # three segments of six files each
        assert index.search(["the garden", "the book"], 9) == expected
        for number in range(5):
            index.add([f"dog {number}"])
        assert texts_of(saved) == [*index] == [*TEXTS, *(f"dog {number}" for number in range(5))]


def test_a_mapped_segment_is_never_written_to(encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_index_files, "SMALL", 0)
    index = PhraseIndex.load(saved, encoder)
    index._segments[0].vectors[:] = 0
    assert index.verify() == []
    with open(segments(saved)[1] / "spans", "r+b") as file:
        file.write(b"\7")
    assert index._segments[1].spans[0, 0] == 7  # it is mapped, not read


@pytest.mark.parametrize("free", [0, 1, 3])
def test_too_many_open_files_are_told_and_lose_nothing(encoder: Encoder, saved: Path, free: int) -> None:
    index = PhraseIndex.load(saved, encoder)
    with free_descriptors(free), pytest.raises(OSError, match=rf"\(ulimit -n\): '{saved}'"):
        index.add(["once"])
    assert texts_of(saved) == TEXTS
    if free > 1:  # enough to write a segment
        assert names(saved) == {"phrases.json", "phrases.lock", *(place.name for place in segments(saved))}
    index.add(["once"])
    assert texts_of(saved) == [*index] == [*TEXTS, "once"]
    index = PhraseIndex.load(saved, encoder)
    with free_descriptors(0):
        with pytest.raises(OSError, match=rf"\(ulimit -n\): '{saved}'"):
            PhraseIndex.load(saved, encoder)
        with pytest.raises(OSError, match="Too many open files"):  # not: is damaged
            index.search(["water"])
    assert index.search(["water"], 1)[0][0].text == 2


def test_a_segment_that_cannot_be_opened_is_not_committed(
    encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOMEM, "no memory")

    def add_in_vain() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(phrase_index_files.Segment, "_mapped", refused)
            index.add(["once"])

    index = PhraseIndex.load(saved, encoder)
    index.add([])  # makes the lock
    before = names(saved)
    with pytest.raises(OSError, match="no memory"):
        add_in_vain()
    assert names(saved) == before
    add(saved, "of another process")
    with pytest.raises(OSError, match="no memory"):
        add_in_vain()
    index.add(["once"])
    assert texts_of(saved) == [*index] == [*TEXTS, "of another process", "once"]


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_folder_of_a_killed_index_that_was_not_saved_goes(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    alive = PhraseIndex(encoder)

    def work() -> None:
        index = PhraseIndex(encoder)
        index.add(TEXTS)
        os.kill(os.getpid(), signal.SIGKILL)

    in_processes(work)
    assert len(names(tmp_path)) == 2
    kept = PhraseIndex(encoder)
    assert {tmp_path / name for name in names(tmp_path)} == {alive.folder, kept.folder}
    kept.save(kept.folder)
    folder = kept.folder
    del kept, alive
    PhraseIndex(encoder)
    assert len(PhraseIndex.load(folder, encoder)) == 0
