"""The examples in docstrings run and give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

import sentlab
from sentlab import data

PACKAGE = Path(sentlab.__file__).parent
ELSEWHERE = {"sentlab.data.tables"}  # whose examples read files of the user


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the examples take for granted."""
    phrases = [row for row in data.load("toy-phrases", "train") if row.relation != "independent"]
    rows = {
        "sentences": data.load("toy-sentences", "train")[:64], "pairs": data.load("toy-sts", "dev")[:50],
        "triples": data.load("toy-nli", "train")[:32], "paraphrases": phrases[:64],
    }  # fmt: skip
    return rows | {"sentlab": sentlab, "np": np, "torch": torch, "Random": Random}


def modules_with_examples() -> list[str]:
    files = [path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in files)


@pytest.mark.parametrize("name", [name for name in modules_with_examples() if name not in ELSEWHERE])
def test_examples_give_what_they_say(name: str, names: dict[str, Any]) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("kind", sorted(sentlab.methods.__all__))
def test_each_method_has_an_example(kind: str) -> None:
    assert ">>> " in (getattr(sentlab.methods, kind).__doc__ or "")
