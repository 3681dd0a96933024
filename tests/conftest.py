"""Fixtures that several test files share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import nltk
import pytest
import torch
from browser import Browser, chromium
from trained import make as make  # a fixture
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from sentlab.encoder import Encoder

# processes that test side by side share the cores
if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(workers)))

WORDS = """
the a an of in on to and is are was were man woman boy girl dog cat bird horse child doctor teacher farmer
king guitar piano song book letter house garden river road city village market train car boat food bread apple
water plays play playing eats eating reads reading sees buys sells writes runs running walks swims big small
old young red blue green happy sad quick slow not no who what why how do you he she it they his her their with
for at by from . , ? ! ' ##s ##ing ##ed ##er ##ly
""".split()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public data sets: SENTLAB_DATA, or `shared/data` beside the checkout; skips where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SENTLAB_DATA", beside))
    if not (folder / "STS").is_dir():
        pytest.skip(f"no public data sets in {folder}; set SENTLAB_DATA to a folder that holds STS/ and SICK/")
    return folder


@pytest.fixture
def nltk_tagger() -> None:
    """Skip where NLTK's tagger of English lacks its data."""
    try:
        nltk.data.find("taggers/averaged_perceptron_tagger_eng")
    except LookupError:
        pytest.skip("NLTK's tagger has no data; set NLTK_DATA")


@pytest.fixture(scope="session")
def small_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved two-layer, 32-wide BertForMaskedLM with random weights and a vocabulary of about 120 pieces."""
    folder = tmp_path_factory.mktemp("encoder")
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *(f"##{c}" for c in letters)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    BertTokenizer(vocab=vocabulary, do_lower_case=True).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=128,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, device="cpu", max_length=32)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Headless Chromium without a network; skips where there is none."""
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found
