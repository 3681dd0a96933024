"""Lines typed for a SentenceTransformer give the same values from an Encoder, and encoders go there and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
OTHERS = ["a woman reads a book", "a cat runs", "the king sees the river", "water and food", "the girl sells the car"]
SCENES = [f"the {a} {b} plays" for a in ("old", "young", "red", "big") for b in ("man", "dog", "cat")]
PROMPTS = {"query": "who is ", "document": "not "}

# What a user of sentence-transformers types; `model` is theirs or ours.
SAME = """
model.encode(texts, show_progress_bar=False, batch_size=2)
model.encode(texts, normalize_embeddings=True)
model.encode(texts, convert_to_tensor=True)
model.encode(texts, convert_to_numpy=False)
model.encode(texts[0])
model.encode(texts[0], convert_to_tensor=True)
model.encode(texts[0], convert_to_numpy=False)
model.encode(texts, truncate_dim=5, normalize_embeddings=True)
model.encode(texts, prompt="who is ")
model.encode(texts, prompt_name="document")
model.encode(texts, prompt="who is ", prompt_name="document")
model.encode_query(texts, convert_to_tensor=True)
model.encode_query(texts[0])
model.encode_document(texts)
model.encode_document(texts, prompt="who is ")
model.similarity(model.encode(texts), model.encode(others))
model.similarity(model.encode(texts[0]), model.encode(others))
model.similarity_pairwise(model.encode(texts), model.encode(others))
util.paraphrase_mining(model, texts + others, show_progress_bar=False, batch_size=4)
evaluation.EmbeddingSimilarityEvaluator(texts, others, scores)(model)
evaluation.BinaryClassificationEvaluator(texts, others, [1, 0, 1, 0, 1])(model)
evaluation.TripletEvaluator(texts, others, others[::-1])(model)
evaluation.InformationRetrievalEvaluator(queries, corpus, relevant)(model)
evaluation.RerankingEvaluator([{"query": texts[0], "positive": others[:2], "negative": others[2:]}])(model)
evaluation.TranslationEvaluator(texts, others)(model)
evaluation.MSEEvaluator(texts, others, teacher_model=model)(model)
""".strip().splitlines()


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
    if isinstance(theirs, Mapping):
        assert ours.keys() == theirs.keys()
        agree(list(ours.values()), list(theirs.values()))
    elif isinstance(theirs, list | tuple):
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other)
    elif isinstance(theirs, torch.Tensor | np.ndarray):
        assert (type(ours), ours.dtype, ours.shape) == (type(theirs), theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    else:
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_line_gives_what_it_gives_there(encoder: Encoder) -> None:
    from sentence_transformers import util
    from sentence_transformers.sentence_transformer import evaluation

    names = {
        "corpus": {str(i): text for i, text in enumerate(OTHERS)}, "evaluation": evaluation, "others": OTHERS,
        "queries": {"a": TEXTS[0], "b": TEXTS[1]}, "relevant": {"a": {"0", "3"}, "b": {"1"}},
        "scores": [0.1, 0.5, 0.2, 0.9, 0.4], "texts": TEXTS, "util": util,
    }  # fmt: skip
    theirs = encoder.to_sentence_transformer()
    for line in SAME:
        agree(eval(line, names | {"model": encoder}), eval(line, names | {"model": theirs}))


def test_hard_negatives_are_mined_and_a_cache_belongs_to_one_encoder(encoder: Encoder, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    from sentence_transformers.util import mine_hard_negatives

    pairs = datasets.Dataset.from_dict({"anchor": TEXTS, "positive": OTHERS})
    other = Encoder.from_pretrained("tiny", device="cpu")
    settings: dict[str, Any] = {"num_negatives": 1, "cache_folder": str(tmp_path), "verbose": False}
    for model in (encoder, other, encoder):  # the third reads the first one's vectors from the cache
        mined = mine_hard_negatives(pairs, model, **settings)
        expected = mine_hard_negatives(pairs, model.to_sentence_transformer(), num_negatives=1, verbose=False)
        assert mined.to_dict() == expected.to_dict()


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
        (lambda theirs: setattr(theirs, "default_prompt_name", "gone"), "default_prompt_name=gone"),
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
        if number > 1:  # whoever says which pooling to take goes without the rest
            chosen = Encoder.from_pretrained(tmp_path / str(number), pooling="mean", device="cpu")
            agree(chosen.encode(TEXTS), encoder.encode(TEXTS))
    encoder.pooling = "first_last"
    theirs = encoder.to_sentence_transformer()
    theirs[1].layer_weights.data += 0.1
    theirs.save(str(tmp_path / "layers"), create_model_card=False)
    with pytest.raises(ValueError, match="trained weights of layers"):
        Encoder.from_pretrained(tmp_path / "layers")


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
