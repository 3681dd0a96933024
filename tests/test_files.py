"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from sentlab.files import clear, replacing, write_json


def made(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "text").write_text(text)
    return folder


def killed(work: Callable[[], object]) -> None:
    """Run some work in a forked process, which ends by a kill."""
    if (process := os.fork()) == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    with replacing(path) as temporary:
        temporary.write_text("old")
        assert not path.exists()

    def half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("ne")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        half()
    assert list(path.parent.iterdir()) == [path]
    assert path.read_text() == "old"


def test_the_content_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    replace = os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(os, "replace", lambda *paths: [done.append("moved"), replace(*paths)])
    write_json(tmp_path / "file.json", {"a": [1, 2.5], "b": "ü"})
    assert done == [(tmp_path / "file.json").stat().st_ino, "moved", tmp_path.stat().st_ino]
    text = (tmp_path / "file.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"a": [1, 2.5], "b": "ü"}


def test_a_folder_that_holds_something_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = made(tmp_path / "old", "old")  # which is also a name that `replacing` uses
    for full, text in ((False, "old"), (True, "new")):
        refused = nullcontext() if full else pytest.raises(OSError, match=r"empty|exist")
        with refused, replacing(path, full=full) as new:
            made(new, "new")
        assert (path / "text").read_text() == text
        assert list(tmp_path.iterdir()) == [path]


def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to("real/data")  # from the folder of the link
    for text in ("new", "newer"):  # it leads nowhere the first time
        with replacing(link) as temporary:
            assert temporary.name == "link.json"
            temporary.write_text(text)
        assert link.is_symlink()
        assert (tmp_path / "real" / "data").read_text() == text


@pytest.mark.skipif(os.name == "nt", reason="has no such modes")
def test_what_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=0o600)
    write_json(path, 1)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["old", "n" * 241, "é" * 127], ids=len)  # of up to 255 bytes, as systems allow
def test_what_a_killed_process_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def half() -> None:
        with replacing(path) as new:
            new.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    with replacing(path) as mine:
        mine.write_text("mine")
        killed(half)
        assert len(list(tmp_path.iterdir())) == 2
        write_json(path, {"other": 1})
        assert sorted(tmp_path.iterdir()) == [mine.parents[1], path]
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_kill_between_the_two_moves_of_folders_loses_neither(tmp_path: Path) -> None:
    path = made(tmp_path / "folder.5", "old")

    def half() -> None:
        with replacing(path, full=True) as new:
            made(new, "new")
            os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]

    killed(half)
    clear(tmp_path / "folder")  # which is another one
    assert not path.exists()
    clear(path)
    assert (path / "text").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
def test_what_is_new_can_be_read_by_whoever_may_read_other_new_files(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "alive") as folder:
        folder.mkdir()
        os.close(os.open(folder / "private", os.O_CREAT, 0o600))
    assert (tmp_path / "alive" / "private").stat().st_mode == (tmp_path / "plain").stat().st_mode
