"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import SafetensorError

from sentlab import files
from sentlab.files import clear, replacing, to_disk, write_json


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
    assert [found.name for found in path.parent.iterdir()] == ["file.txt"]
    assert path.read_text() == "old"


def test_the_content_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        done.append("moved")
        real(source, target)

    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(os, "replace", replace)
    write_json(tmp_path / "file.json", {"a": [1, 2.5], "b": "ü"})
    assert done == [(tmp_path / "file.json").stat().st_ino, "moved", tmp_path.stat().st_ino]
    text = (tmp_path / "file.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"a": [1, 2.5], "b": "ü"}
    assert '"a": [ 1, 2.5 ]' in text
    with pytest.raises(FileNotFoundError):
        to_disk(tmp_path / "nowhere")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("File too large")])
def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path, error: Exception) -> None:
    def write() -> None:
        with replacing(tmp_path / "weights"):
            raise error

    with pytest.raises(OSError, match=r"No space left|File too large") as told:
        write()
    assert str(tmp_path / "weights") in str(told.value)
    assert not list(tmp_path.iterdir())


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def killed(work: Callable[[], object]) -> None:
    """Run some work in a forked process, which ends by a kill."""
    if (process := os.fork()) == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)


def made(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "text").write_text(text)
    return folder


def test_a_folder_that_holds_something_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = made(tmp_path / "folder", "old")

    def replace(**how: bool) -> None:
        with replacing(path, **how) as new:
            made(new, "new")

    with pytest.raises(FileExistsError, match="folder is not empty"):
        replace()
    assert (path / "text").read_text() == "old"
    replace(full=True)
    assert (path / "text").read_text() == "new"
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
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data", "link.json", "real"]


@pytest.mark.skipif(os.name == "nt", reason="has no such modes")
def test_what_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", made(tmp_path / "folder", "old")
    file.touch()
    for path, mode in ((file, 0o600), (file, 0o640), (folder, 0o700)):
        path.chmod(mode)
        with replacing(path, full=True) as new:
            made(new, "new") if path == folder else new.write_text("new")
        assert path.stat().st_mode & 0o777 == mode
    assert (folder / "text").read_text() == file.read_text() == "new"


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_a_killed_process_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def half() -> None:
        with replacing(path) as new:
            new.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    with replacing(path) as mine:
        mine.write_text("mine")
        killed(half)
        assert len(list(tmp_path.iterdir())) == 2
        write_json(path, {"other": 1})
        assert sorted(tmp_path.iterdir()) == [mine.parent, path]
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_where_folders_cannot_swap_names_a_kill_loses_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    path = made(tmp_path / "folder", "old")

    def replace(die: bool = False) -> None:
        real = os.rename
        with replacing(path, full=True) as new:
            made(new, "new")
            if die:  # between the two moves
                os.rename = lambda a, b: real(a, b) if a == path else os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]

    killed(lambda: replace(die=True))
    assert not path.exists()
    clear(path)
    assert (path / "text").read_text() == "old"
    replace()
    assert (path / "text").read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_of_the_user_stay(tmp_path: Path) -> None:
    for name in (".file.0123.new", ".file.0123456x.new", "file.01234567.new", ".files.01234567.new"):
        (tmp_path / name).mkdir()
    os.symlink(tmp_path, tmp_path / ".file.76543210.new")
    write_json(tmp_path / "file", 1)
    assert len(list(tmp_path.iterdir())) == 6
