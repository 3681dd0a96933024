"""Errors of reading a file name it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors import safe_open

from sentlab.files import naming


@pytest.mark.parametrize("content", [b'{"a": [1, 2', b"\xff\xfe", b""])
def test_json_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cut.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cut\.json is damaged or cut off"), naming(path):
        json.loads(path.read_text(encoding="utf-8"))


def test_tensors_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with (
        pytest.raises(ValueError, match=r"cut\.safetensors is damaged or cut off"),
        naming(path),
        safe_open(path, "pt"),
    ):
        pass


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(KeyError), naming(tmp_path / "x"):
        raise KeyError("x")
