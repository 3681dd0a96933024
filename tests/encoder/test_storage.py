"""Loading: whole weights or none, and no code of a folder. Saving: all or nothing; what is the user's stays."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import signal
import sys
from collections.abc import Callable
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import model2vec
import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import sentlab
from sentlab.data import Corpus
from sentlab.encoder import Encoder, storage
from sentlab.encoder.maps import Whitening, postprocessed
from sentlab.encoder.pseudo_tokens import PseudoTokens

TEXTS = ["a man plays the guitar", "the dog runs", "", "who is the old teacher in the city?"]
SCENES = [f"the {a} {b} {c}" for a in ("old", "young", "red") for b in ("man", "dog") for c in ("runs", "eats")]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=64, device="cpu")


@pytest.fixture
def folder(small_encoder_folder: Path, tmp_path: Path) -> Path:
    """A copy of a model's folder, without settings of ours."""
    return Path(shutil.copytree(small_encoder_folder, tmp_path / "copy"))


@pytest.fixture
def saved(encoder: Encoder, tmp_path: Path) -> Path:
    """A saved encoder with a whitening, as sentlab and sentence-transformers read it."""
    postprocessed(encoder, Whitening(4), SCENES).save(tmp_path / "saved")
    return tmp_path / "saved"


def change(path: Path, **entries: Any) -> None:
    there = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(there | entries))


# where an encoder comes from


@pytest.mark.parametrize(("name", "width"), [("tiny", 128), ("small", 256)])
def test_bundled_encoders_load(name: str, width: int) -> None:
    encoder = Encoder.from_pretrained(name, device="cpu")
    assert encoder.encode(["the old dog"]).shape == (1, width)
    assert encoder.lm_head is not None


@pytest.mark.parametrize("source", ["./runs/encoder", "~/no-such-encoder", Path("runs/encoder")])
def test_what_is_not_found_is_an_error(source: str | Path) -> None:
    with pytest.raises(OSError, match=r"no (such )?folder"):
        Encoder.from_pretrained(source)


def test_minilm_comes_from_a_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(storage, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError):
        storage.locate("minilm")
    (tmp_path / "model").mkdir()
    monkeypatch.setattr(storage, "find_spec", lambda name: spec_from_file_location(name, tmp_path / "__init__.py"))
    assert storage.locate("minilm") == str(tmp_path / "model")


# whole weights or none


@pytest.mark.parametrize("bad", [None, torch.nan, torch.inf])
def test_weights_that_are_missing_or_not_finite_are_refused_and_named(folder: Path, bad: float | None) -> None:
    weights, name = load_file(folder / "model.safetensors"), "bert.encoder.layer.1.output.dense.weight"
    weights[name][3, 4] = bad or 0.0
    if bad is None:
        del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=name):
        Encoder.from_pretrained(folder)


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    change(folder / "config.json", intermediate_size=48)
    with pytest.raises(ValueError, match=r"layer\.0\.intermediate\.dense\.weight"):
        Encoder.from_pretrained(folder)


def test_a_map_that_is_not_finite_is_refused(saved: Path) -> None:
    path = saved / "post" / "model.safetensors"
    save_file(load_file(path) | {"linear.bias": torch.full((4,), torch.nan)}, path)
    with pytest.raises(ValueError, match=r"linear\.bias"):
        Encoder.from_pretrained(saved)


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    """Transformers would make one for which all words are unknown."""
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(ValueError, match="holds no tokenizer"):
        Encoder.from_pretrained(folder)


@pytest.mark.parametrize("kind", ["GPT2", "T5", "FNet", "ConvBert", "Nystromformer", "Yoso", "BigBird", "Esm"])
def test_decoders_and_what_ignores_masks_are_refused(kind: str, tmp_path: Path) -> None:
    getattr(transformers, f"{kind}Config")().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="sentlab reads encoders"):
        Encoder.from_pretrained(tmp_path)


@pytest.mark.parametrize("switch", ["is_decoder", "add_cross_attention", "quantization_config"])
def test_an_encoder_that_is_set_up_to_decode_or_quantised_is_refused(folder: Path, switch: str) -> None:
    """A decoder would read each token without those behind it."""
    quantised = {"quant_method": "awq", "bits": 4}
    change(folder / "config.json", **{switch: quantised if switch == "quantization_config" else True})
    with pytest.raises(ValueError, match=f"with {switch};"):
        Encoder.from_pretrained(folder)


def test_static_encoders_wrong_settings_and_other_tokenizers_are_named(folder: Path, encoder: Encoder) -> None:
    tokenizer = copy.deepcopy(encoder.tokenizer)
    static = model2vec.StaticModel(np.ones((len(tokenizer), 4)), tokenizer.backend_tokenizer)
    static.save_pretrained(folder / "static")
    tokenizer.add_tokens(["abracadabra"])
    change(folder / "config.json", hidden_size="32")
    for named, make in {
        "a static encoder": lambda: Encoder.from_pretrained(folder / "static"),
        "hidden_size": lambda: Encoder.from_pretrained(folder),
        f"ids to {len(encoder.tokenizer)}, and the model only": lambda: Encoder(encoder.model, tokenizer, "mean", 8),
        "tells where tokens are": lambda: Encoder(encoder.model, transformers.CanineTokenizer(), "mean", 8),
    }.items():
        with pytest.raises(ValueError, match=named):
            make()


# no code, no pickle


class Payload:
    """Touches a file when it is unpickled."""

    def __init__(self, ran: Path):
        self.ran = ran

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.ran,)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there once something has run; and somebody who says yes to every question."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "cache"))
    return tmp_path / "ran"


def plant_code(folder: Path, ran: Path) -> None:
    """Modules that run at import, and name classes for everything that may be asked of them."""
    names = ("Config", "Model", "Tokenizer", "Transformer", "Pooling", "Dense")
    code = f"from pathlib import Path\nPath({str(ran)!r}).touch()\n" + "".join(f"class {name}: ...\n" for name in names)
    for name in ("evil", "modeling_evil", "__init__", "modeling_bert", "tokenization_bert", "custom_st"):
        (folder / f"{name}.py").write_text(code)


def code_of_the_model(folder: Path, ran: Path) -> None:
    plant_code(folder, ran)
    places = {"AutoConfig": "evil.Config", "AutoModel": "modeling_evil.Model", "AutoModelForMaskedLM": "evil.Model"}
    change(folder / "config.json", auto_map=places)


def code_of_the_tokenizer(folder: Path, ran: Path) -> None:
    plant_code(folder, ran)
    own = {"AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]}
    change(folder / "tokenizer_config.json", auto_map=own, tokenizer_class="Tokenizer")


def code_of_the_modules(folder: Path, ran: Path) -> None:
    code_of_the_model(folder, ran)
    modules = json.loads((folder / "modules.json").read_text())
    kinds = [module | {"type": f"evil.{module['type'].rsplit('.', 1)[-1]}"} for module in modules]
    (folder / "modules.json").write_text(json.dumps(kinds))
    trust = {part: {"trust_remote_code": True} for part in ("model_args", "tokenizer_args", "config_args")}
    change(folder / "sentence_bert_config.json", **trust)


def code_from_the_hub(folder: Path, ran: Path) -> None:
    change(folder / "config.json", attn_implementation="evil/kernel", trust_remote_code=True)


def pickles_beside(folder: Path, ran: Path) -> None:
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt", "vocab.pkl", "tokenizer.pkl", "model.ckpt"):
        (folder / name).write_bytes(pickle.dumps(Payload(ran)))


def test_code_and_pickles_beside_a_model_are_left_alone(saved: Path, ran: Path) -> None:
    before = Encoder.from_pretrained(saved, device="cpu").encode(SCENES)
    for plant in (pickles_beside, code_from_the_hub, code_of_the_model, code_of_the_tokenizer, code_of_the_modules):
        plant(saved, ran)
        assert (Encoder.from_pretrained(saved, device="cpu").encode(SCENES) == before).all()
        assert not ran.exists()
    change(saved / "config.json", model_type="novelty")
    with pytest.raises(ValueError, match="trust_remote_code"):
        Encoder.from_pretrained(saved)
    assert not ran.exists()


@pytest.mark.parametrize("name", ["model.safetensors", "post/model.safetensors", "tokenizer.json", None])
def test_pickled_weights_are_refused(name: str | None, saved: Path, ran: Path) -> None:
    if name is None:
        (saved / "model.safetensors").unlink()
        pickles_beside(saved, ran)
    else:
        (saved / name).write_bytes(pickle.dumps(Payload(ran)))
    with pytest.raises((ValueError, OSError)):
        Encoder.from_pretrained(saved, device="cpu")
    assert not ran.exists()


# saving


def test_everything_comes_back(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = postprocessed(copy.deepcopy(encoder), Whitening(np.int64(3)), SCENES)
    each.pseudo, each.normalize, each.max_length = PseudoTokens(32, np.int64(2), dropout=0.5), True, 16
    each.prompts, each.default_prompt_name = {"q": "who "}, "q"
    each.tokenizer.model_max_length = 9  # is advice, so a longer max_length is kept
    monkeypatch.setenv("HOME", str(tmp_path))
    each.save("~/models/saved")
    again = Encoder.from_pretrained("~/models/saved", device="cpu")
    assert np.array_equal(again.encode(TEXTS), each.encode(TEXTS))
    assert (again.max_length, again.prompts, again.dim) == (16, {"q": "who "}, 3)
    assert again.fingerprint() == each.fingerprint()
    assert torch.equal(again.pseudo.embedding, each.pseudo.embedding)  # type: ignore[union-attr]
    assert not any(part.training for part in again.modules())
    assert len(list((tmp_path / "models").rglob("*.safetensors"))) == 3


def test_a_map_does_not_go_with_another_pooling(saved: Path) -> None:
    assert Encoder.from_pretrained(saved, pooling="mean", device="cpu").dim == 4
    with pytest.raises(ValueError, match="fitted to 'mean' vectors, not to 'cls'"):
        Encoder.from_pretrained(saved, pooling="cls", device="cpu")


@pytest.mark.parametrize("name", ["model.bert.encoder.layer.1.output.dense.weight", "post.linear.bias", None])
def test_what_could_not_be_loaded_again_is_not_saved(saved: Path, name: str | None) -> None:
    broken = Encoder.from_pretrained(saved, device="cpu")
    before = {path: path.read_bytes() for path in saved.rglob("*") if path.is_file()}
    with torch.no_grad():
        if name:
            broken.get_parameter(name).view(-1)[1] = torch.nan
        else:
            broken.default_prompt_name = "query"
    with pytest.raises((ValueError, KeyError), match=name or "query"):
        broken.save(saved)
    assert {path: path.read_bytes() for path in saved.parent.rglob("*") if path.is_file()} == before


def test_saving_replaces_an_encoder_and_nothing_else(
    encoder: Encoder, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder.save(saved)
    assert not (saved / "post").exists()
    (saved / "README.md").write_text("my model")
    encoder.save(saved)
    assert (saved / "README.md").read_text() == "my model"
    (saved / "1_notes").mkdir()
    (saved / "1_notes" / "diary.txt").write_text("dear diary")
    (tmp_path / "file").write_text("text")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for target in (saved, tmp_path / "file", tmp_path / "others", "."):
        with pytest.raises(OSError):  # noqa: PT011
            encoder.save(target)
    for name in ("tiny", "minilm"):  # `from_pretrained` would load ours in their place
        with pytest.raises(ValueError, match=name):
            encoder.save(name)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("moment", [("os.mkdir", 1), ("open", 3), ("open", 14), ("os.rename", 2), ("shutil.rmtree", 1)])
def test_a_kill_leaves_the_old_encoder_or_the_new_and_the_next_save_clears_up(
    encoder: Encoder, small_encoder_folder: Path, tmp_path: Path, moment: tuple[str, int]
) -> None:
    target = tmp_path / "saved"
    encoder.save(target)
    other = Encoder.from_pretrained(small_encoder_folder, pooling="max", max_length=64, device="cpu")
    event, left = moment

    def hook(name: str, _: object) -> None:
        nonlocal left
        left -= name == event
        if name == event and left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if (process := os.fork()) == 0:
        try:
            sys.addaudithook(hook)
            other.save(target)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    again = Encoder.from_pretrained(target, device="cpu")
    assert again.pooling == ("max" if event == "shutil.rmtree" else "mean")
    encoder.save(target)
    assert list(tmp_path.iterdir()) == [target]


# the model card


def test_a_card_says_what_was_trained_and_is_renewed(encoder: Encoder, tmp_path: Path) -> None:
    trained, rows = copy.deepcopy(encoder), Corpus("my | <b>texts", "train", tuple(SCENES), "a file")
    config = sentlab.TrainConfig(steps=2, batch_size=2, eval_every=1, keep="dev")
    scores = iter([10.0, 30.0, 20.0])
    history = sentlab.fit(sentlab.methods.SimCSE(trained), rows, config, lambda _: next(scores), progress=False)
    for each in (encoder, trained):
        each.save(tmp_path / "saved")
    card = (tmp_path / "saved" / "README.md").read_text()
    assert card.count("<!-- Written by sentlab") == 1
    shown = json.loads(card.split("```json\n")[1].split("```")[0])
    expected = {"method": "SimCSE", "data": "my | <b>texts", "rows": 12, "dev": history.dev, "kept_step": 1}
    assert expected.items() <= shown[0].items()
    assert Encoder.from_pretrained(tmp_path / "saved", device="cpu").trainings == shown


# the fingerprint


def nudge(parameter: torch.Tensor) -> None:
    with torch.no_grad():
        parameter.view(-1)[-1] += 1e-3


def another_map(encoder: Encoder) -> None:
    torch.manual_seed(0)
    encoder.post = Whitening(3).fit(torch.randn(40, 32))


CHANGES: dict[str, Callable[[Encoder], object]] = {
    "last weight of the backbone": lambda e: nudge(list(e.backbone.parameters())[-1]),
    "embeddings": lambda e: nudge(e.word_embeddings.weight),
    "vocabulary": lambda e: e.tokenizer.add_tokens(["abracadabra"]),
    "truncation": lambda e: setattr(e.tokenizer, "truncation_side", "left"),
    "max_length": lambda e: setattr(e, "max_length", 9),
    "architecture": lambda e: setattr(e.backbone.config, "num_attention_heads", 1),
    "pooling": lambda e: setattr(e, "pooling", "cls"),  # from here on of sentences alone
    "post": another_map,
    "normalize": lambda e: setattr(e, "normalize", True),
    "prompt": lambda e: vars(e).update(prompts={"q": "who "}, default_prompt_name="q"),
    "pseudo tokens": lambda e: setattr(e, "pseudo", PseudoTokens(32, 2)),
}


def test_the_fingerprint_changes_with_what_changes_a_vector(encoder: Encoder) -> None:
    for name, alter in CHANGES.items():
        other = copy.deepcopy(encoder)
        alter(other)
        assert other.fingerprint() != encoder.fingerprint(), name
        of_tokens = other.fingerprint(tokens=True) != encoder.fingerprint(tokens=True)
        assert of_tokens == (name not in ("pooling", "post", "normalize", "prompt", "pseudo tokens")), name


def test_the_fingerprint_keeps_through_use_training_mode_and_precision(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu").bfloat16()
    before = encoder.fingerprint()
    encoder.float().encode(TEXTS)  # the tokenizer remembers how it cut and padded
    nudge(next(encoder.train().lm_head.parameters()))  # type: ignore[union-attr]
    encoder.backbone.pooler = torch.nn.Linear(2, 2)  # unused
    encoder.backbone.config.hidden_dropout_prob = 0.3
    assert encoder.fingerprint() == before
