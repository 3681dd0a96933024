"""Where an encoder comes from and how it is kept: hub names, folders, and the files sentence-transformers reads."""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import MODEL_MAPPING, AutoConfig, AutoModel, AutoModelForMaskedLM, PreTrainedModel
from transformers.utils import cached_file
from transformers.utils import logging as transformers_logging

from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.encoder.vector_maps import Flow, Whitening, describe, restore

if TYPE_CHECKING:
    from sentlab.encoder import Encoder

BUNDLED = {"tiny": Path(__file__).parents[1] / "assets" / "tiny"}
# sentence-transformers up to version 5 writes a flag for each pooling, `pooling_mode_cls_token` and so on.
LEGACY_POOLINGS = {
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "weightedmean_tokens": "weightedmean",
    "lasttoken": "lasttoken",
}
# Parts of a saved encoder that a new one may lack: of another pooling, or written by sentence-transformers.
OTHER_SAVED = {
    "1_Pooling",
    "1_WeightedLayerPooling",
    "2_Pooling",
    "2_Normalize",
    "README.md",
    "post",
    "pseudo",
    "vocab.txt",
}
OWN_NOTE = """# A sentence encoder with {name} behind it

Load this folder with `sentlab.Encoder.from_pretrained`, which applies what is in `{folder}/` and gives the vectors that
were meant. sentence_transformers does not know it and refuses the folder; the model loaded alone, as by transformers,
gives vectors without it.
"""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Loading and saving without transformers' bars and reports: what matters in them is raised as an error here."""
    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


def locate(source: str | Path) -> str:
    """The folder, or the name on the hub."""
    if source in BUNDLED:
        source = BUNDLED[str(source)]
    elif isinstance(source, str) and source.startswith("package:"):
        if (package := find_spec(source.removeprefix("package:"))) is None or package.origin is None:
            raise FileNotFoundError(f"{source!r}: no such Python package is installed; install it with pip")
        source = Path(package.origin).parent / "model"
    path = Path(source).expanduser()
    if path.is_dir():
        return str(path)
    looks_like_hub = isinstance(source, str) and re.fullmatch(r"[\w][\w.-]*(/[\w][\w.-]*)?", source)
    if not looks_like_hub:
        raise FileNotFoundError(
            f'no folder {path}; give "tiny", a folder that holds an encoder, or a hub model\'s name'
        )
    return str(source)


def load_model(place: str, revision: str | None) -> PreTrainedModel:
    """The model, with its masked-LM head where the checkpoint has one and always without a pooler."""
    config = AutoConfig.from_pretrained(place, revision=revision)
    config.output_hidden_states = False  # `save` may have set it for sentence-transformers; here it is asked for a call
    architecture = (config.architectures or [""])[0]
    auto: Any = AutoModel
    extra = {}
    if architecture.endswith("ForMaskedLM"):
        auto = AutoModelForMaskedLM
    elif "add_pooling_layer" in inspect.signature(cast(Any, MODEL_MAPPING[type(config)])).parameters:
        extra = {"add_pooling_layer": False}
    model, report = auto.from_pretrained(
        place,
        config=config,
        revision=revision,
        use_safetensors=True,
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # so that they are reported, and refused, below
        **extra,
    )
    missing = sorted(report["missing_keys"])
    mismatched = sorted(str(entry[0]) for entry in report["mismatched_keys"])
    if missing or mismatched:
        parts = [
            f"{kind}: {', '.join(names)}"
            for kind, names in (("missing", missing), ("other shape", mismatched))
            if names
        ]
        raise ValueError(
            f"the weights of {place} do not fill {architecture or type(model).__name__}, the rest would be random; "
            f"{'; '.join(parts)}. Take a complete checkpoint, or name in its config.json (`architectures`) "
            "the class that it was saved from"
        )
    return model


def positions(backbone: nn.Module) -> int:
    """The longest input. RoBERTa and MPNet count positions from padding_idx + 1 on, so they have fewer than rows."""
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    if isinstance(table, nn.Embedding):
        return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    return backbone.config.max_position_embeddings  # type: ignore[union-attr,return-value]


def saved_settings(place: str, revision: str | None, *, read_pooling: bool) -> dict[str, Any]:
    """`pooling` and `max_length` that a folder was saved with, as far as it says."""

    def read(name: str) -> Any:
        path = cached_file(place, name, revision=revision, _raise_exceptions_for_missing_entries=False)
        return None if path is None else json.loads(Path(path).read_text(encoding="utf-8"))

    if (ours := read("sentlab.json")) is not None:
        return ours
    if (modules := read("modules.json")) is None:
        return {}
    limits = read("sentence_bert_config.json") or {}
    tokenizer_limit = (read("tokenizer_config.json") or {}).get(
        "model_max_length"
    )  # where sentence-transformers 6 has it
    saved: dict[str, Any] = {"max_length": limits.get("max_seq_length") or tokenizer_limit}
    if read_pooling:
        kinds = [module["type"].rsplit(".", 1)[-1] for module in modules]
        if [kind for kind in kinds if kind != "Normalize"] != ["Transformer", "Pooling"]:
            raise ValueError(
                f"{place} is made of {', '.join(kinds)}, which is not known here; choose a pooling to go without"
            )
        config = read(f"{modules[1]['path']}/config.json")
        modes = config.get("pooling_mode") or [
            name for flag, name in LEGACY_POOLINGS.items() if config.get(f"pooling_mode_{flag}")
        ]
        mode = modes if isinstance(modes, str) else "+".join(modes)
        if mode not in ("cls", "mean", "max"):
            raise ValueError(f"{place} pools by {mode!r}, which is not known here; choose one of {', '.join(POOLINGS)}")
        saved["pooling"] = mode
    return saved


def load_post(place: str, revision: str | None, saved: dict[str, Any], pooling: str | None) -> Whitening | Flow | None:
    """The map of pooled vectors that was saved with the encoder, if one was."""
    if (settings := saved.get("post")) is None:
        return None
    if pooling not in (None, saved["pooling"]):
        raise ValueError(
            f"{place} holds a {settings['kind']} that was fitted to {saved['pooling']!r} vectors, not to {pooling!r}: "
            "leave pooling out, set `post` of what you get to None, and choose another `pooling` then"
        )
    return restore(settings, load_file(str(cached_file(place, "post/model.safetensors", revision=revision))))


def load_pseudo(place: str, revision: str | None, saved: dict[str, Any]) -> PseudoTokens | None:
    """The pseudo tokens that were saved with the encoder, if any were."""
    if (settings := saved.get("pseudo")) is None:
        return None
    pseudo = PseudoTokens(**settings)
    pseudo.load_state_dict(load_file(str(cached_file(place, "pseudo/model.safetensors", revision=revision))))
    return pseudo


def write_sentence_transformers(encoder: Encoder, folder: Path) -> None:
    """Beside the model, what `SentenceTransformer(folder)` reads; layers are averaged by its WeightedLayerPooling.

    A Whitening is its Dense. A Flow, and pseudo tokens where they make the vector, are written as the classes that they
    are, which it refuses to load.
    """

    def write(name: str, content: Any) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    layers, width = encoder.backbone.config.num_hidden_layers, encoder.backbone.config.hidden_size
    averaged = {"last2": layers - 1, "first_last": 1, "embedding_last": 0}.get(encoder.pooling)
    if averaged is not None:
        modules.insert(1, ("1_WeightedLayerPooling", "WeightedLayerPooling"))
        modules[2] = ("2_Pooling", "Pooling")
        weights = torch.zeros(layers + 1)
        weights[averaged] += 1
        weights[layers] += 1
        write(
            "1_WeightedLayerPooling/config.json",
            {"word_embedding_dimension": width, "layer_start": 0, "num_hidden_layers": layers},
        )
        save_file({"layer_weights": weights}, folder / "1_WeightedLayerPooling" / "model.safetensors")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        write("config.json", config | {"output_hidden_states": True})
    if encoder.pooling != "pseudo":
        mode = encoder.pooling if averaged is None else "mean"
        flags = {f"pooling_mode_{flag}": name == mode for flag, name in LEGACY_POOLINGS.items()}
        write(f"{modules[-1][0]}/config.json", {"word_embedding_dimension": width} | flags)
    write("sentence_bert_config.json", {"max_seq_length": encoder.max_length, "do_lower_case": False})
    write(
        "config_sentence_transformers.json",
        {"__version__": {"transformers": version("transformers"), "pytorch": torch.__version__}},
    )
    types = [(path, f"sentence_transformers.models.{kind}") for path, kind in modules]
    settings: dict[str, Any] = {"pooling": encoder.pooling, "max_length": encoder.max_length}
    if (post := encoder.post) is not None:
        settings["post"] = describe(post)
        if isinstance(post, Whitening):
            types.append(("post", "sentence_transformers.models.Dense"))
            dense = {"in_features": post.in_dim, "out_features": post.out_dim, "bias": True}
            write("post/config.json", {**dense, "activation_function": "torch.nn.modules.linear.Identity"})
        else:
            types.append(("post", f"{Flow.__module__}.{Flow.__name__}"))
            write("post/config.json", settings["post"])
            (folder / "README.md").write_text(OWN_NOTE.format(name="a flow", folder="post"), encoding="utf-8")
        save_file(post.state_dict(), folder / "post" / "model.safetensors")
    if (pseudo := encoder.pseudo) is not None:
        settings["pseudo"] = pseudo.settings
        (folder / "pseudo").mkdir()
        save_file(pseudo.state_dict(), folder / "pseudo" / "model.safetensors")
        if encoder.pooling == "pseudo":
            types[1] = ("pseudo", f"{PseudoTokens.__module__}.{PseudoTokens.__name__}")
            note = OWN_NOTE.format(name="pseudo tokens", folder="pseudo")
            (folder / "README.md").write_text(note, encoding="utf-8")
    entries = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(types)]
    write("modules.json", entries)
    write("sentlab.json", settings)


def replace(target: Path, new: Path) -> None:
    """Move the folder `new` to `target`, replacing a saved encoder but nothing else."""
    if not target.exists():
        new.rename(target)
        return
    held = {path.name for path in target.iterdir()} if target.is_dir() else {"a file"}
    strange = held - {path.name for path in new.iterdir()} - OTHER_SAVED
    if held and (strange or "modules.json" not in held):
        what = f"it holds {', '.join(sorted(strange)[:5])}" if strange else "it has no modules.json"
        raise FileExistsError(f"{target} is no saved encoder alone ({what}); choose a new folder or empty this one")
    old = new.with_suffix(".old")
    target.rename(old)
    try:
        new.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old)
