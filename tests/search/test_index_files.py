"""The files of an index: damage is found, nothing outside is read, and kills leave the old index or the new one."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.search import PhraseIndex, index_files, phrase_index
from sentlab.search.index_files import Manifest, Segment, word_kind

TEXTS = ["the old man plays", "a girl reads the book", "water", "the dog runs in the garden", "bread and apples"]


@pytest.fixture
def saved(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three segments: of two texts, of two, and of one."""
    monkeypatch.setattr(phrase_index, "CHARACTERS", 22)
    index = PhraseIndex(encoder, max_size=5)
    index.add(TEXTS)
    index.save(tmp_path / "index")
    return tmp_path / "index"


def segments(folder: Path) -> list[Path]:
    return [folder / extent.name for extent in Manifest.read(folder).segments]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


DAMAGES: dict[str, Callable[[Path], object]] = {
    "other content": lambda place: (place / "vectors").write_bytes(bytes((place / "vectors").stat().st_size)),
    "cut off": lambda place: os.truncate(place / "vectors", 100), "missing": lambda place: (place / "texts").unlink(),
    "all missing": shutil.rmtree,
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_segment_is_named(encoder: Encoder, saved: Path, damage: str) -> None:
    place = segments(saved)[1]
    DAMAGES[damage](place)
    for use in (lambda i: i.search(["the garden"]), lambda i: i[2], lambda i: i.save(saved.parent / "copy")):
        with pytest.raises(ValueError, match=rf"is damaged: .*{place.name}/"):
            use(PhraseIndex.load(saved, encoder))
    assert names(saved.parent) == {"index"}


@pytest.mark.parametrize("name", index_files.FILES)
def test_every_file_is_checked(encoder: Encoder, saved: Path, name: str) -> None:
    index = PhraseIndex.load(saved, encoder)
    index.verify()
    with open(segments(saved)[2] / name, "r+b") as file:
        file.write(b"\x13\x13")
    with pytest.raises(ValueError, match=f"{name}, which holds texts 4 to 4"):
        index.verify()


def test_forged_manifests_are_refused(encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    manifest = json.loads((saved / "phrases.json").read_text())
    extent = manifest["segments"][0]
    shutil.copytree(saved / extent["name"], tmp_path / "outside")
    forged = [{"segments": [extent | {"name": name}]} for name in ("../outside", str(tmp_path / "outside"), 3)]
    forged += [{"segments": [extent | {"checksums": {}}]}, {"segments": [{"name": extent["name"]}]}, {"segments": 1}]
    forged += [{"format": "sentlab phrase index 2"}, {"dim": 31}, {"more": 1}]
    for text in ['{"format": ', "[]", *(json.dumps(manifest | change) for change in forged)]:
        (saved / "phrases.json").write_text(text)
        with pytest.raises(ValueError, match="damaged"):
            PhraseIndex.load(saved, encoder)
    (saved / "phrases.json").unlink()
    with pytest.raises(FileNotFoundError):
        PhraseIndex.load(saved, encoder)


@pytest.mark.parametrize("name", ["", "texts"])
def test_links_that_lead_out_are_refused(encoder: Encoder, saved: Path, tmp_path: Path, name: str) -> None:
    path = segments(saved)[0] / name
    shutil.move(path, tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    with pytest.raises(ValueError, match="is a link"):
        PhraseIndex.load(saved, encoder)


def add(folder: Path, text: str) -> None:
    """Add a text with made-up vectors, as `PhraseIndex.add` does."""
    encoded = [(0, np.ones((1, 32), np.float32), np.array([[0, len(text)]]))]
    with index_files.writing(folder) as manifest:
        extent = index_files.write_segment(folder, [text], encoded, manifest)
        replace(manifest, segments=(*manifest.segments, extent)).write(folder)


def in_process(work: Callable[[], object]) -> int:
    """Run some work in a forked process; return its exit status, -9 if it was killed."""
    if (process := os.fork()) == 0:
        status = 1
        torch.set_num_threads(1)  # OpenMP's threads do not outlive a fork, and waiting for them would not end
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def die_at(step: int) -> None:
    """Have this process killed when it opens, moves, makes or removes its file number `step`."""
    left = itertools.count(step, -1)

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir") and next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def texts_of(folder: Path) -> list[str]:
    """The texts of all segments, whose checksums hold."""
    manifest = Manifest.read(folder)
    sound = [Segment(folder, extent, manifest).check() for extent in manifest.segments]
    return [segment.text(number) for segment in sound for number in range(segment.extent.texts)]


def forks(test: Callable[..., None]) -> Callable[..., None]:
    test = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")(test)
    return pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")(test)


@forks
def test_a_kill_at_any_moment_leaves_the_old_index_or_the_new(saved: Path, tmp_path: Path) -> None:
    add(Path(shutil.copytree(saved, tmp_path / "first")), "so that nothing is imported later")
    left = []
    for step in itertools.count(1):
        folder = Path(shutil.copytree(saved, tmp_path / "killed"))
        status = in_process(lambda step=step, folder=folder: (die_at(step), add(folder, "new")))  # type: ignore[misc]
        left.append(texts_of(folder))
        add(folder, "next")
        assert texts_of(folder) == [*left[-1], "next"]
        # what the killed process left is gone
        assert names(folder) == {"phrases.json", "phrases.lock", *(place.name for place in segments(folder))}
        shutil.rmtree(folder)
        if status != -signal.SIGKILL:
            break
    assert status == 0
    written = left.index([*TEXTS, "new"])
    assert written > 10
    assert left == [TEXTS] * written + [[*TEXTS, "new"]] * (len(left) - written)


@forks
def test_a_killed_save_is_whole_or_not_there(encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    index = PhraseIndex.load(saved, encoder)
    index.verify()
    for step in itertools.count(1, 5):
        place = tmp_path / f"copy{step}"
        status = in_process(lambda step=step, place=place: (die_at(step), index.save(place)))  # type: ignore[misc]
        if not place.exists():
            PhraseIndex.load(saved, encoder).save(place)
        assert texts_of(place) == texts_of(saved) == TEXTS
        if status != -signal.SIGKILL:
            break
    assert status == 0
    assert step > 20


def test_all_files_are_on_the_disk_before_the_manifest_names_them(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[int] = set()
    missing = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real_fsync(descriptor)

    def replace(source: Path, target: Path) -> None:
        if target == saved / "phrases.json":
            segment = saved / json.loads(source.read_text())["segments"][-1]["name"]
            needed = [source, saved, segment, *segment.iterdir()]
            missing.append([path.name for path in needed if path.stat().st_ino not in synced])
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    add(saved, "the new text")
    assert missing == [[]]


def test_folders_of_the_user_are_left_alone(encoder: Encoder, saved: Path) -> None:
    for name in ("20240101", "segment-notes", ".adding-1", "segment-" + "x" * 32):
        (saved / name).mkdir()
        (saved / name / "thesis.txt").write_text("years of work")
    PhraseIndex.load(saved, encoder).add(["the dog"])
    assert len(list(saved.glob("*/thesis.txt"))) == 4
    with pytest.raises(FileExistsError):
        PhraseIndex(encoder).save(saved)
    assert texts_of(saved) == [*TEXTS, "the dog"]


def test_mapped_segments_are_never_written_to_and_hold_no_files_open(
    encoder: Encoder, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = PhraseIndex.load(saved, encoder).search(["the garden", "the book"], 9)
    monkeypatch.setattr(index_files, "SMALL", 0)  # all files are mapped
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    index = PhraseIndex.load(saved, encoder)
    assert index.search(["the garden", "the book"], 9) == expected
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 1
    index._segments[0].vectors[:] = 0
    index.verify()
    with open(segments(saved)[1] / "spans", "r+b") as file:
        file.write(b"\7")
    assert index._segments[1].spans[0, 0] == 7  # it is mapped, not read


def test_kinds_of_words(encoder: Encoder) -> None:
    text = "of the King, (WHEREAS «girl») Of a although river … although= €5 = 50% ‰ # ~ é of"
    index = PhraseIndex(encoder)
    index.add([text, "", "— café and"])
    (segment,) = index._segments
    words = [segment.text(0)[a:b] for a, b in segment.spans[: segment.first_words[1]]]
    words += [segment.text(2)[a:b] for a, b in segment.spans[segment.first_words[2] :]]
    assert segment.kinds.tolist() == [word_kind(word) for word in words]
    assert segment.kinds[[0, 2, 3]].tolist() == [6, 0, 1]  # "of", "King", ","
    assert [word_kind(word) for word in ("king", "...", ",", "#", "~", "THE", "of")] == [0, 1, 1, 0, 1, 4, 6]
