"""Whatever lies in a model's folder: no code of it runs, no pickle of it is read, no path of it leads out."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sentlab.encoder import Encoder
from sentlab.encoder.maps import Whitening, postprocessed

SENTENCES = [f"the {a} {b} {c}" for a in ("old", "young", "red") for b in ("man", "dog") for c in ("runs", "eats")]


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


@pytest.fixture
def folder(small_encoder_folder: Path, tmp_path: Path) -> Path:
    """A saved encoder with a whitening, as sentlab and sentence-transformers read it."""
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", device="cpu")
    postprocessed(encoder, Whitening(4), SENTENCES).save(tmp_path / "model")
    return tmp_path / "model"


def change(path: Path, **entries: Any) -> None:
    there = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(there | entries))


def plant_code(folder: Path, ran: Path) -> None:
    """Modules that run at import, and name classes for everything that may be asked of them."""
    names = ("Config", "Model", "Tokenizer", "Transformer", "Pooling", "Dense")
    code = f"from pathlib import Path\nPath({str(ran)!r}).touch()\n" + "".join(f"class {name}: ...\n" for name in names)
    for name in ("evil", "modeling_evil", "__init__", "modeling_bert", "tokenization_bert", "custom_st"):
        (folder / f"{name}.py").write_text(code)


def code_for_a_known_kind(folder: Path, ran: Path) -> None:
    plant_code(folder, ran)
    places = {"AutoConfig": "evil.Config", "AutoModel": "modeling_evil.Model", "AutoModelForMaskedLM": "evil.Model"}
    change(folder / "config.json", auto_map=places)


def code_for_the_tokenizer(folder: Path, ran: Path) -> None:
    plant_code(folder, ran)
    own = {"AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]}
    change(folder / "tokenizer_config.json", auto_map=own, tokenizer_class="Tokenizer")


def code_for_sentence_transformers(folder: Path, ran: Path) -> None:
    plant_code(folder, ran)
    modules = json.loads((folder / "modules.json").read_text())
    kinds = [module | {"type": f"evil.{module['type'].rsplit('.', 1)[-1]}"} for module in modules]
    (folder / "modules.json").write_text(json.dumps(kinds))
    parts = ("model_args", "tokenizer_args", "config_args", "model_kwargs")
    trust = {part: {"trust_remote_code": True} for part in parts}
    change(folder / "sentence_bert_config.json", **trust)
    change(folder / "config_sentence_transformers.json", **trust)
    code_for_a_known_kind(folder, ran)


def code_from_the_hub(folder: Path, ran: Path) -> None:
    change(folder / "config.json", attn_implementation="evil/kernel", trust_remote_code=True)


def pickles_beside(folder: Path, ran: Path) -> None:
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt", "vocab.pkl", "tokenizer.pkl", "model.ckpt"):
        (folder / name).write_bytes(pickle.dumps(Payload(ran)))


HARMLESS = [
    code_for_a_known_kind,
    code_for_the_tokenizer,
    code_for_sentence_transformers,
    code_from_the_hub,
    pickles_beside,
]


@pytest.mark.parametrize("plant", HARMLESS)
def test_code_and_pickles_beside_a_model_are_left_alone(
    plant: Callable[[Path, Path], None], folder: Path, ran: Path
) -> None:
    before = Encoder.from_pretrained(folder, device="cpu").encode(SENTENCES)
    plant(folder, ran)
    assert (Encoder.from_pretrained(folder, device="cpu").encode(SENTENCES) == before).all()
    assert not ran.exists()


@pytest.mark.parametrize("name", ["model.safetensors", "post/model.safetensors", "tokenizer.json", "config.json"])
def test_a_pickle_in_place_of_a_file_is_an_error(name: str, folder: Path, ran: Path) -> None:
    (folder / name).write_bytes(pickle.dumps(Payload(ran)))
    with pytest.raises((ValueError, OSError)):
        Encoder.from_pretrained(folder, device="cpu")
    assert not ran.exists()


def test_weights_that_are_a_pickle_alone_are_an_error(folder: Path, ran: Path) -> None:
    (folder / "model.safetensors").unlink()
    pickles_beside(folder, ran)
    with pytest.raises(OSError, match="it needs safetensors weights"):
        Encoder.from_pretrained(folder, device="cpu")
    assert not ran.exists()


@pytest.mark.parametrize("path", ["../other", "1_Pooling/../../other", "/other", "..\\other", "C:\\other", "\\other"])
def test_a_path_of_modules_json_cannot_leave_the_folder(path: str, folder: Path) -> None:
    (folder / "sentlab.json").unlink()
    shutil.rmtree(folder / "post")
    modules = json.loads((folder / "modules.json").read_text())[:2]
    (folder / "modules.json").write_text(json.dumps(modules))
    Encoder.from_pretrained(folder, device="cpu")
    shutil.copytree(folder / modules[1]["path"], folder.parent / "other")
    (folder / "modules.json").write_text(json.dumps([modules[0], modules[1] | {"path": path}]))
    with pytest.raises(ValueError, match=r"modules\.json names .*other', which is outside its folder"):
        Encoder.from_pretrained(folder, device="cpu")


def test_weights_in_parts_cannot_lie_outside_the_folder(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder.parent / "part.safetensors")
    index = folder / "model.safetensors.index.json"
    change(index, metadata={}, weight_map={"bert.embeddings.LayerNorm.bias": "../part.safetensors"})
    with pytest.raises(ValueError, match=r"index\.json names '\.\./part\.safetensors', which is outside its folder"):
        Encoder.from_pretrained(folder, device="cpu")


def test_an_adapter_is_refused(folder: Path) -> None:
    change(folder / "adapter_config.json", base_model_name_or_path="/elsewhere")
    with pytest.raises(ValueError, match="merge the adapter"):
        Encoder.from_pretrained(folder, device="cpu")
