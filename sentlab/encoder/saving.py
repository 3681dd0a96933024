"""How an encoder is kept: a folder that sentence-transformers reads too, written in full and then moved into place."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from sentlab.encoder.card import MARK, model_card
from sentlab.encoder.files import BUNDLED, INSTALLED, LEGACY_POOLINGS, require_finite
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.encoder.quiet import quiet
from sentlab.encoder.vector_maps import Flow, Whitening, describe
from sentlab.files import replacing

if TYPE_CHECKING:
    from sentlab.encoder import Encoder

# Files of a saved encoder that a new one may lack: of another pooling or size, or written by sentence-transformers.
OTHER_SAVED = re.compile(
    r"vocab\.txt|model-\d+-of-\d+\.safetensors|model\.safetensors(\.index\.json)?"
    r"|\d_(Pooling|WeightedLayerPooling|Normalize)(/(config\.json|model\.safetensors))?"
    r"|(post|pseudo)/(config\.json|model\.safetensors|README\.md)"
)
NOTE = """# {name} behind a sentence encoder

Load the folder above with `sentlab.Encoder.from_pretrained`, which applies what is here. sentence_transformers does not
know it and refuses the folder. The model loaded alone, as by transformers, gives vectors without it.
"""


def save(encoder: Encoder, folder: str | Path) -> None:
    """Write an encoder to a folder; see `Encoder.save`."""
    target = target_of(folder)
    _ = encoder.prompt  # a default prompt name without its prompt could not be loaded again
    require_finite("the encoder cannot be saved", encoder.named_parameters())  # nor could weights that are not finite
    with replacing(target, full=True) as new:
        _write(encoder, new)
        (new / "README.md").write_text(model_card(encoder, target.name), encoding="utf-8")
        mode = (new / "modules.json").stat().st_mode
        for weights in new.rglob("*.safetensors"):  # safetensors hides its files from all other users
            weights.chmod(mode)
        if target.exists():
            _check_replaced(target, new)


def check_target(encoder: Encoder, folder: str | Path) -> None:
    """Refuse a folder that `save` would refuse, before an encoder is trained."""
    target = target_of(folder)
    if target.exists():
        with TemporaryDirectory() as scratch:
            _write(encoder, Path(scratch), weights={})  # the names of the files are enough
            _check_replaced(target, Path(scratch))


def target_of(folder: str | Path) -> Path:
    """Return where `save` writes, and refuse the working directory, which it would replace, and names of our own."""
    if str(folder) in (*BUNDLED, *INSTALLED):
        raise ValueError(f"from_pretrained takes {str(folder)!r} for an encoder of its own; choose another folder")
    target = Path(os.path.realpath(Path(folder).expanduser()))
    if Path.cwd().is_relative_to(target):
        raise FileExistsError(f"{target} is or holds the working directory, which save would replace; choose a new one")
    return target


def _write(encoder: Encoder, folder: Path, weights: dict[str, Tensor] | None = None) -> None:
    """Write all but the model card, with the weights of the model or those given."""
    with quiet():
        encoder.model.save_pretrained(folder, state_dict=weights)
        encoder.tokenizer.save_pretrained(folder)
    write_sentence_transformers(encoder, folder)


def write_sentence_transformers(encoder: Encoder, folder: Path) -> None:
    """Write beside the model what `SentenceTransformer(folder)` reads: its modules, by which a Whitening is a Dense.

    A Flow, and pseudo tokens where they make the vector, go by our classes, which it refuses to load.
    """
    modules = [("", "sentence_transformers.models.Transformer")]

    def write(name: str, content: Any) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def add(kind: str | type, config: Any, tensors: dict[str, Tensor] | None = None, path: str | None = None) -> None:
        path = path or f"{len(modules)}_{kind}"
        write(f"{path}/config.json", config)
        if tensors is not None:
            save_file(tensors, folder / path / "model.safetensors")
        if isinstance(kind, type):
            (folder / path / "README.md").write_text(NOTE.format(name=kind.__name__), encoding="utf-8")
            modules.append((path, f"{kind.__module__}.{kind.__name__}"))
        else:
            modules.append((path, f"sentence_transformers.models.{kind}"))

    layers, width = encoder.backbone.config.num_hidden_layers, encoder.backbone.config.hidden_size
    settings: dict[str, Any] = {"pooling": encoder.pooling, "max_length": encoder.max_length}
    if encoder.trainings:
        settings["trainings"] = encoder.trainings
    averaged = {"last2": layers - 1, "first_last": 1, "embedding_last": 0}.get(encoder.pooling)
    if averaged is not None:
        weights = torch.zeros(layers + 1)
        weights[averaged] += 1
        weights[layers] += 1
        sizes = {"word_embedding_dimension": width, "layer_start": 0, "num_hidden_layers": layers}
        add("WeightedLayerPooling", sizes, {"layer_weights": weights})
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        write("config.json", config | {"output_hidden_states": True})
    if (pseudo := encoder.pseudo) is not None:
        settings["pseudo"] = pseudo.settings
        (folder / "pseudo").mkdir()
        save_file(pseudo.state_dict(), folder / "pseudo" / "model.safetensors")
    if encoder.pooling == "pseudo":
        add(PseudoTokens, settings["pseudo"], path="pseudo")
    else:
        mode = encoder.pooling if averaged is None else "mean"
        flags = {f"pooling_mode_{flag}": name == mode for flag, name in LEGACY_POOLINGS.items()}
        add("Pooling", {"word_embedding_dimension": width} | flags)
    if (post := encoder.post) is not None:
        settings["post"] = describe(post)
        if isinstance(post, Whitening):
            dense = {"in_features": post.in_dim, "out_features": post.out_dim, "bias": True}
            activation = {"activation_function": "torch.nn.modules.linear.Identity"}
            add("Dense", dense | activation, post.state_dict(), "post")
        else:
            add(Flow, settings["post"], post.state_dict(), "post")
    if encoder.normalize:
        add("Normalize", {})
    prompts = {"prompts": encoder.prompts, "default_prompt_name": encoder.default_prompt_name}
    versions = {"transformers": version("transformers"), "pytorch": torch.__version__}
    write("config_sentence_transformers.json", {"__version__": versions} | prompts)
    write("sentence_bert_config.json", {"max_seq_length": encoder.max_length, "do_lower_case": False})
    entries = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(modules)]
    write("modules.json", entries)
    write("sentlab.json", settings)


def _check_replaced(target: Path, new: Path) -> None:
    """Refuse to replace anything but a saved encoder; keep the user's own card."""
    held = _names(target) if target.is_dir() else {"a file"}
    strange = sorted(name for name in held - _names(new) - {"README.md"} if not OTHER_SAVED.fullmatch(name))
    if held and (strange or "modules.json" not in held):
        what = f"it holds {', '.join(strange[:5])}" if strange else "it has no modules.json"
        raise FileExistsError(f"{target} is no saved encoder alone ({what}); choose a new folder or empty this one")
    if "README.md" in held and MARK not in (target / "README.md").read_text(encoding="utf-8", errors="replace"):
        shutil.copy2(target / "README.md", new / "README.md")


def _names(folder: Path) -> set[str]:
    """The files and links under a folder and its empty folders, each by its path from there."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file() or not any(path.iterdir()))
    return {path.relative_to(folder).as_posix() for path in found}
