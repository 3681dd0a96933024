"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sentlab.files import replacing, to_disk, write_json


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
