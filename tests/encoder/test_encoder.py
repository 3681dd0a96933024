"""Encoding: vectors in order, the same for any batches, and nothing else changed."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tokenizers
import torch

import sentlab
from sentlab.encoder import Encoder, inference
from sentlab.encoder.pooling import POOLINGS
from sentlab.search.phrase_index import passages

TEXTS = ["a man plays the guitar", "the dog runs", "", "who is the old teacher in the city?", "the dog runs", "bread"]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=64, device="cpu")


def one_by_one(encoder: Encoder, texts: list[str]) -> np.ndarray:
    """The oracle: each text alone, without padding, batches or packed weights."""
    with torch.no_grad():
        return torch.cat([encoder.eval()(**encoder.tokenize([text])) for text in texts]).numpy()


@pytest.mark.parametrize("pooling", POOLINGS)
def test_encode_equals_one_text_at_a_time(small_encoder_folder: Path, pooling: str) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu")
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (6, 32)
    np.testing.assert_allclose(vectors, one_by_one(encoder, TEXTS), atol=1e-5, rtol=0)


def test_order_and_batch_split_change_nothing(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{'the old dog runs ' * (i % 7)} {w}" for i, w in enumerate("guitar song book letter house".split() * 6)]
    expected = one_by_one(encoder, texts)
    order = np.random.default_rng(0).permutation(len(texts))
    for budget in (1, 17, 100, None):
        vectors = encoder.encode([texts[i] for i in order], tokens_per_batch=budget)
        np.testing.assert_allclose(vectors, expected[order], atol=1e-5, rtol=0)
    monkeypatch.setattr(inference, "TEXTS_PER_CHUNK", 4)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5, rtol=0)


def caught(act: Callable[[], object]) -> list[warnings.WarningMessage]:
    """The warnings that a program without warning filters of its own would show."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.resetwarnings()
        act()
    return shown


def test_batches_go_from_long_to_short_within_the_token_budget_and_hold_each_text_once(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[tuple[int, int]] = []
    original = encoder.hidden_states

    def counted(input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        shapes.append((input_ids.shape[0], input_ids.shape[1]))
        return original(input_ids, attention_mask)

    monkeypatch.setattr(encoder, "hidden_states", counted)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # several would finish in any order
    encoder.encode(["dog " * n for n in range(1, 31)] * 2, tokens_per_batch=50)
    assert sum(rows for rows, _ in shapes) == 30
    assert all(rows * length <= 50 for rows, length in shapes)
    assert [length for _, length in shapes] == sorted((length for _, length in shapes), reverse=True)
    shapes.clear()
    encoder.encode(["dog " * 30], tokens_per_batch=5)
    assert shapes == [(1, 32)]


def test_a_build_without_cuda_says_so(small_encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    for device in ("cuda", torch.device("cuda:0")):
        with pytest.raises(ValueError, match=f"device is {device}: torch .* has no CUDA"):
            Encoder.from_pretrained(small_encoder_folder, device=device)


def test_empty_inputs(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 32)
    assert encoder.encode([]).dtype == np.float32
    assert encoder.encode_tokens([]) == []
    states = encoder.eval().hidden_states(**encoder.tokenize([""]))
    assert states[-1].shape[1] == 2  # [CLS] [SEP]
    np.testing.assert_allclose(encoder.encode([""])[0], states[-1][0].mean(0).detach().numpy(), atol=1e-5)
    vectors, offsets = encoder.encode_tokens([""])[0]
    assert (vectors.shape, offsets.shape) == ((0, 32), (0, 2))


def test_a_very_long_text_is_cut_at_max_length(encoder: Encoder) -> None:
    long = encoder.encode(["dog " * 5000, "dog " * 62, "dog " * 61])
    np.testing.assert_allclose(long[0], long[1], atol=1e-5)
    assert not np.allclose(long[1], long[2], atol=1e-5)


LONG = "dog " * 100


def test_a_cut_warns_if_nobody_chose_the_length(small_encoder_folder: Path, tmp_path: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    for call in (encoder.encode, encoder.encode_tokens, encoder.tokenize):
        assert not caught(lambda call=call: call(["dog " * 62]))  # type: ignore[misc]
        warned = caught(lambda call=call: [call([LONG, LONG]) for _ in range(3)])  # type: ignore[misc]
        assert [str(w.message).split(",")[0] for w in warned] == ["texts are cut at max_length=64"]
    encoder.save(tmp_path / "saved")
    encoder.max_length = 80
    chosen = Encoder.from_pretrained(small_encoder_folder, max_length=64, device="cpu")
    for each in (encoder, chosen, Encoder.from_pretrained(tmp_path / "saved"), Encoder.from_pretrained(device="cpu")):
        assert not caught(lambda each=each: each.encode([LONG]))  # type: ignore[misc]


def test_a_padding_side_that_is_set_later_changes_nothing(encoder: Encoder) -> None:
    expected = encoder.tokenize(TEXTS)
    other = copy.deepcopy(encoder)
    other.tokenizer.padding_side = "left"
    assert all(torch.equal(other.tokenize(TEXTS)[name], expected[name]) for name in expected)


def test_what_is_no_list_of_strings_is_refused(encoder: Encoder) -> None:
    """Its letters, columns or numbers would be encoded in silence."""
    for wrong in ("the dog", ["the dog", None], ["\ud83d"], {"text": ["dog"]}, pd.DataFrame({"text": ["a"]})):
        for call in (encoder.encode_tokens, encoder.tokenize, encoder.encode)[: 2 if isinstance(wrong, str) else 3]:
            with pytest.raises(TypeError):
                call(wrong)  # type: ignore[arg-type]


def test_any_iterable_of_strings_will_do(encoder: Encoder) -> None:
    expected = encoder.encode(TEXTS)
    for texts in (tuple(TEXTS), iter(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)):
        assert np.array_equal(encoder.encode(texts), expected)


def test_normalize_scales_to_length_1_and_a_models_own_may_be_turned_off(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    plain, unit = encoder.encode(TEXTS), encoder.encode(TEXTS, normalize=True)
    np.testing.assert_allclose(unit, plain / np.linalg.norm(plain, axis=1, keepdims=True), atol=1e-6)
    encoder.normalize = True
    assert np.array_equal(encoder.encode(TEXTS), unit)
    assert np.array_equal(encoder.encode(TEXTS, normalize_embeddings=False), unit)
    assert np.array_equal(encoder.encode(TEXTS, normalize=False), plain)


def test_the_default_prompt_goes_before_each_text(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    expected = encoder.encode([f"who is {text}" for text in TEXTS])
    tokens = encoder.encode_tokens(TEXTS)
    encoder.prompts = {"question": "who is ", "nothing": ""}
    encoder.default_prompt_name = "question"
    assert np.array_equal(encoder.encode(TEXTS), expected)
    for (vectors, offsets), (before, places) in zip(encoder.encode_tokens(TEXTS), tokens, strict=True):
        assert np.array_equal(vectors, before)
        assert np.array_equal(offsets, places)


def test_encode_changes_no_state(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    encoder.train()
    encoder.backbone.eval()
    encoder.backbone.embeddings.train()
    modes = [module.training for module in encoder.modules()]
    weights = {name: value.clone() for name, value in encoder.state_dict().items()}
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = encoder.encode(TEXTS), encoder.encode(TEXTS)
    with pytest.raises(TypeError):
        encoder.encode([None])  # type: ignore[list-item]
    assert np.array_equal(first, second)  # no dropout, although training
    assert [module.training for module in encoder.modules()] == modes
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert all(torch.equal(value, weights[name]) for name, value in encoder.state_dict().items())
    assert encoder(**encoder.tokenize(TEXTS)).requires_grad


def test_threads_change_nothing_and_are_given_back(encoder: Encoder) -> None:
    texts = [f"{'the old dog runs ' * (i % 7)} {word}" for i, word in enumerate(["guitar", "song", "book"] * 9)]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = encoder.encode(texts, tokens_per_batch=40)
        torch.set_num_threads(3)
        together = encoder.encode(texts, tokens_per_batch=40)
        assert torch.get_num_threads() == 3
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 3
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_encode_sees_weights_that_training_has_changed(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    before = encoder.encode(TEXTS)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.mul_(1.5)
    after = encoder.encode(TEXTS)
    assert not np.allclose(before, after, atol=1e-3)
    np.testing.assert_allclose(after, one_by_one(encoder, TEXTS), atol=1e-5)


def test_progress_bar(encoder: Encoder, capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (True, False):
        encoder.encode(TEXTS, progress=progress)
        assert ("texts" in capsys.readouterr().err) == progress


def test_token_vectors_and_their_offsets(encoder: Encoder) -> None:
    texts = ["The  dog plays, bréad!", "a man", "dog " * 200]
    result = encoder.encode_tokens(texts, tokens_per_batch=30)
    for text, (vectors, offsets) in zip(texts, result, strict=True):
        batch = encoder.tokenize([text])
        with torch.no_grad():
            last = encoder.eval().hidden_states(**batch)[-1][0, 1:-1]
        np.testing.assert_allclose(vectors, last.numpy(), atol=1e-5)
        assert vectors.dtype == np.float32
        pieces = encoder.tokenizer.convert_ids_to_tokens(batch["input_ids"][0, 1:-1].tolist())
        assert offsets.shape == (len(pieces), 2)
        for (start, end), piece in zip(offsets, pieces, strict=True):
            assert text[start:end].lower().replace("é", "e") == piece.removeprefix("##")


@pytest.mark.skipif(not torch.cpu._is_avx512_bf16_supported(), reason="this CPU has no bfloat16 arithmetic")
def test_what_follows_the_pooling_is_not_rounded() -> None:
    torch.manual_seed(0)
    x, layer = torch.randn(4, 8), torch.nn.Linear(8, 8)
    with torch.inference_mode(), inference.PackedLinear(torch.bfloat16):
        exact = layer(x)
        with torch.autocast("cpu", torch.bfloat16):
            assert layer(x).dtype == torch.bfloat16
    assert exact.dtype == torch.float32
    torch.testing.assert_close(exact, x @ layer.weight.T + layer.bias)


@pytest.mark.skipif(not torch.cpu._is_avx512_bf16_supported(), reason="this CPU has no bfloat16 arithmetic")
def test_bfloat16_is_close_to_float32_and_not_the_same(encoder: Encoder) -> None:
    exact = encoder.encode(TEXTS, normalize=True)
    rounded = encoder.encode(TEXTS, normalize=True, precision="bfloat16")
    assert rounded.dtype == np.float32
    assert not np.array_equal(exact, rounded)
    assert (exact * rounded).sum(1).min() > 0.999
    (vectors, offsets), (close, same) = (
        encoder.encode_tokens(TEXTS[:1], precision=precision)[0] for precision in ("float32", "bfloat16")
    )
    assert np.array_equal(offsets, same)
    assert np.abs(vectors - close).max() < 0.05 * np.abs(vectors).max()


def test_a_caller_s_autocast_changes_no_vector(encoder: Encoder) -> None:
    expected = encoder.encode(TEXTS, tokens_per_batch=10, precision="float32")
    with torch.autocast("cpu", torch.bfloat16):
        vectors = encoder.encode(TEXTS, tokens_per_batch=10, precision="float32")
        assert torch.is_autocast_enabled("cpu")
    assert np.array_equal(vectors, expected)


def test_threads_take_turns_at_the_tokenizer(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call first sets where to cut, which all calls share, and then reads the texts."""
    inside, most, call = 0, 0, type(encoder.tokenizer).__call__

    def slow(self: Any, *args: Any, **keywords: Any) -> Any:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.02)
        encodings = call(self, *args, **keywords)
        inside -= 1
        return encodings

    monkeypatch.setattr(type(encoder.tokenizer), "__call__", slow)
    with ThreadPoolExecutor(4) as pool:
        calls = [lambda: encoder.encode([LONG]), lambda: passages(encoder, [LONG]), lambda: encoder.tokenize([LONG])]
        for done in [pool.submit(each) for each in calls * 2]:
            done.result()
    assert most == 1


def test_any_tokenizer_will_do(encoder: Encoder) -> None:
    """One without a pad token, one that cuts at the start, one that adds no special tokens."""
    model, tokenizer = encoder.model, copy.deepcopy(encoder.tokenizer)
    usual = encoder.encode(["a man plays the guitar", "a dog"])
    tokenizer.pad_token, tokenizer.truncation_side = None, "left"
    again = Encoder(model, tokenizer, encoder.pooling, encoder.max_length)
    np.testing.assert_allclose(again.encode(["a man plays the guitar", "a dog"]), usual, atol=1e-6)
    short = Encoder(model, tokenizer, encoder.pooling, 4)
    assert np.array_equal(short.encode(["a man plays the guitar"]), short.encode(["a man"]))
    tokenizer.backend_tokenizer.post_processor = tokenizers.processors.Sequence([])
    bare = Encoder(model, tokenizer, "mean", encoder.max_length)
    assert not bare.encode([""]).any()
    assert [part.shape for part in bare.encode_tokens([""])[0]] == [(0, 32), (0, 2)]
    index = sentlab.PhraseIndex(bare)
    index.add(["", "a man plays"])
    assert len(index) == 2
    assert {hit.text for hit in index.search(["a man"], k=9)[0]} == {1}
