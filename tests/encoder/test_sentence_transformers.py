"""Encoders go to sentence-transformers and back, and a few of its keywords mean the same here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.encoder.maps import Flow, Whitening, postprocessed
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens

TEXTS = ["a man plays the guitar", "the dog runs", "who is the old teacher?", "bread", "a boy eats an apple"]
SCENES = [f"the {a} {b} plays" for a in ("old", "young", "red", "big") for b in ("man", "dog", "cat")]
PROMPTS = {"query": "who is ", "document": "not "}

# What a user of sentence-transformers types
SAME: list[dict[str, Any]] = [
    {"show_progress_bar": False, "batch_size": 2},
    {"normalize_embeddings": True},
    {"convert_to_tensor": True},
    {"prompt": "who is "},
]


@pytest.fixture(scope="module", autouse=True)
def sentence_transformers() -> Any:
    """The package; its import takes seconds, so it waits for the first test."""
    return pytest.importorskip("sentence_transformers")


@pytest.fixture
def encoder(small_encoder_folder: Path) -> Encoder:
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=32, device="cpu")
    encoder.prompts, encoder.default_prompt_name = dict(PROMPTS), "query"
    return encoder


def agree(ours: Any, theirs: Any) -> None:
    """Equal kinds, equal numbers to float32's rounding."""
    assert (type(ours), ours.dtype, ours.shape) == (type(theirs), theirs.dtype, theirs.shape)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_keywords_of_theirs_do_what_they_do_there(encoder: Encoder) -> None:
    theirs = encoder.to_sentence_transformer()
    for keywords in SAME:
        agree(encoder.encode(TEXTS, **keywords), theirs.encode(TEXTS, **keywords))


@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_saved_folder_gives_the_same_vectors_there(
    small_encoder_folder: Path, tmp_path: Path, pooling: str, whitened: bool
) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=7, device="cpu")
    encoder.normalize, encoder.prompts, encoder.default_prompt_name = whitened, PROMPTS, "query"
    if whitened:
        encoder = postprocessed(encoder, Whitening(3), SCENES)
    encoder.save(tmp_path / "saved")
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    np.testing.assert_allclose(theirs.encode(SCENES), encoder.encode(SCENES), atol=2e-4)
    np.testing.assert_allclose(
        theirs.encode(SCENES, prompt_name="document"), again.encode(SCENES, prompt="not "), atol=2e-4
    )
    assert np.array_equal(again.encode(SCENES), encoder.encode(SCENES))
    assert again.fingerprint() == encoder.fingerprint()


def test_what_it_does_not_know_it_refuses_to_load(encoder: Encoder, tmp_path: Path) -> None:
    flow = postprocessed(encoder, Flow(3, 8, epochs=2, batch_size=6), SCENES)
    encoder.pseudo = PseudoTokens(encoder.dim, 2)
    encoder.pooling = "pseudo"
    for each in (flow, encoder):
        with pytest.raises(ValueError, match=r"sentlab\.encoder"):
            each.to_sentence_transformer()
        each.save(tmp_path / "saved")
        again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
        assert np.array_equal(again.encode(SCENES), each.encode(SCENES))


def test_a_sentence_transformer_goes_here_and_back(small_encoder_folder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer

    reader = Transformer(str(small_encoder_folder), max_seq_length=9)
    modules = [reader, Pooling(32, "max"), Normalize()]
    theirs = SentenceTransformer(modules=modules, device="cpu", prompts=PROMPTS, similarity_fn_name="dot")
    theirs.save(str(tmp_path / "theirs"))
    encoder = Encoder.from_pretrained(tmp_path / "theirs", device="cpu")
    assert (encoder.pooling, encoder.normalize, encoder.max_length) == ("max", True, 9)
    assert encoder.prompts == PROMPTS
    agree(encoder.encode(TEXTS), theirs.encode(TEXTS))
    agree(encoder.to_sentence_transformer().encode_query(TEXTS), theirs.encode_query(TEXTS))


def test_settings_that_would_change_vectors_are_refused(encoder: Encoder, tmp_path: Path) -> None:
    from sentence_transformers.models import Dense

    changes: list[tuple[Callable[[Any], object], str]] = [
        (lambda theirs: setattr(theirs, "truncate_dim", 8), "truncate_dim=8"),
        (lambda theirs: setattr(theirs, "similarity_fn_name", "dot"), "similarity_fn_name=dot"),
        (lambda theirs: theirs.append(Dense(32, 8)), "Transformer, Pooling, Dense"),
        (lambda theirs: setattr(theirs[1], "include_prompt", False), "the tokens of prompts"),
        (lambda theirs: setattr(theirs[1], "pooling_mode", "lasttoken"), "the pooling lasttoken"),
    ]
    for number, (change, message) in enumerate(changes):
        theirs = encoder.to_sentence_transformer()
        change(theirs)
        theirs.save(str(tmp_path / str(number)), create_model_card=False)
        with pytest.raises(ValueError, match=message):
            Encoder.from_pretrained(tmp_path / str(number))
        if number:  # whoever says which pooling to take goes without the rest
            chosen = Encoder.from_pretrained(tmp_path / str(number), pooling="mean", device="cpu")
            agree(chosen.encode(TEXTS), encoder.encode(TEXTS))


def test_a_folder_that_it_saved_again_is_read_as_it_is_now(small_encoder_folder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    plain = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=9, device="cpu")
    postprocessed(plain, Whitening(3), SCENES).save(tmp_path / "saved")
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    theirs.max_seq_length = 5
    with torch.no_grad():
        theirs[2].linear.weight.mul_(-2.0)  # as if it had trained
    theirs.save(str(tmp_path / "saved"))
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert again.max_length == 5
    np.testing.assert_allclose(again.encode(SCENES), theirs.encode(SCENES), atol=1e-5)
