"""Widgets that think: HTML in which an encoder runs on the reader's machine, without a network or a kernel.

    python -m experiments page --encoder my-encoder --out my-encoder.html

Show one with `IPython.display.HTML`. A page may hold several. A page with JavaScript off shows a sentence instead.
Weights are in int8, in the page or in a script beside it: a browser fetches no other files for a page on a disk.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from sentlab.encoder import Encoder
from sentlab.files import replacing
from sentlab.methods import PaSeR
from sentlab.metrics import cosine_similarity
from torch import Tensor

from experiments.maps import MapRecord

ASSETS = Path(__file__).parent / "assets" / "page"
LARGEST = 127  # of int8; -128 is left out, so that a row and its negative have the same scale
PARTS = {name: f"attention.self.{name}" for name in ("query", "key", "value")}  # name here -> in a layer of BertModel
PARTS |= {"output": "attention.output.dense", "norm1": "attention.output.LayerNorm"}
PARTS |= {"up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm"}
WITHOUT = "This picture needs JavaScript, which is off in this browser."
PAIRS = (
    ("paraphrase", "The farmer sold his old brown horse.", "An aged horse was sold by a farmer."),
    ("negation", "The film was good.", "The film was not good."),
    ("word order", "The dog bit the man.", "The man bit the dog."),
    ("one word", "A woman is slicing an onion.", "A woman is slicing a potato."),
    ("unrelated", "The farmer sold his old brown horse.", "Two children play the piano in a small garden."),
)


def compare(
    rows: Mapping[str, tuple[Encoder | str | Path, str]],
    pairs: Sequence[tuple[str, str, str]] = PAIRS,
    *,
    folder: str | Path | None = None,
) -> str:
    """Return a widget that shows the cosine of two sentences under several vectors, updated while one types.

    `rows`: label -> encoder, or the path of a script (`export`) of an encoder like `tiny`, and pooling (`cls` or
    `mean`). Rows that share an encoder share its weights. `pairs`: label, first and second sentence of each example;
    the first is shown at the start, with cosines that are computed here. `folder`: beside the page. The first encoder
    is included, and the others are scripts in that folder, which the page fetches when a reader changes something.
    None includes all of them, 2.3 MB for each encoder of the size of `tiny`.
    """
    lines, included = _packing({label: model for label, (model, _) in rows.items()}, folder)
    for line, (model, pooling) in zip(lines, rows.values(), strict=True):
        own: Any = in_script(model) if isinstance(model, str | Path) else rounded(model)
        own.pooling = pooling
        cosine = cosine_similarity(*own.encode(pairs[0][1:], progress=False)[:, None])[0]
        line |= {"pooling": pooling, "value": round(float(cosine), 4)}
    examples = [dict(zip(("label", "first", "second"), pair, strict=True)) for pair in pairs]
    return widget("compare", {"rows": lines, "pairs": examples}, included)


def spans(
    encoders: Mapping[str, Encoder],
    passage: str,
    phrase: str,
    *,
    longest: int = 20,
    weights: bool = True,
    folder: str | Path | None = None,
) -> str:
    """Return a widget that shows the similarity of a phrase with every span of a passage, as `spans.span_scores` does.

    `encoders`: label -> encoder. `passage`, `phrase`: shown at the start. `longest`: the most whole words that one can
    choose. `weights`: include the encoders; a later widget of the page with the same needs them no more. `folder`: as
    in `compare`.
    """
    rows, included = _packing(encoders, folder)
    data = {"rows": rows, "passage": passage, "phrase": phrase, "longest": longest}
    return widget("spans", data, included if weights else ())


def bootstrap(gold: Sequence[float], cosines: Mapping[str, Sequence[float]]) -> str:
    """Return a widget that draws pairs again and again, and shows how far scores and differences of encoders move.

    Gold (n,) are the human scores of the pairs, and cosines (n,) those of each label. Differences are from the first.
    """
    rows = [
        {"label": label, "cosines": [round(float(x), 5) for x, _ in zip(values, gold, strict=True)]}
        for label, values in cosines.items()
    ]
    return widget("bootstrap", {"gold": [float(x) for x in gold], "rows": rows})


def dropout(encoder: Encoder, sentence: str, others: Sequence[str]) -> str:
    """Return a widget that shows how far dropout moves a sentence's vector, beside the vectors of other sentences."""
    data = {"encoder": _key(encoder), "pooling": encoder.pooling, "sentence": sentence, "others": list(others)}
    return widget("dropout", data, [encoder])


def decoder(
    checkpoints: Mapping[str, PaSeR], sentence: str, chosen: Sequence[int], *, folder: str | Path | None = None
) -> str:
    """Return a widget in which PaSeR's decoder generates the words that a reader masks, from two sentence vectors.

    The words are those of `PaSeR.reconstruct` with one beam.

    `checkpoints`: label -> the method at that time of its training, in order. The last is shown at the start. `chosen`:
    numbers of the words that are masked at the start. `folder`: as in `compare`, but all checkpoints are scripts.
    """
    rows, included = _packing(checkpoints, folder, first=False)
    return widget("decoder", {"rows": rows, "sentence": sentence, "chosen": list(chosen)}, included)


def sentence_map(record: MapRecord) -> str:
    """Return a widget with the points of a record of the kind `map`, encoder by encoder.

    Hovering, or the arrow keys, shows a point's sentence, a click or Enter its neighbours under each encoder.
    """
    results = record.results
    rows = [{"label": label, "numbers": map_numbers(record, label), **of} for label, of in results["drawings"].items()]
    data = record.settings.model_dump(include={"topics", "wordings"}) | {"rows": rows}
    return widget("map", data | {name: results[name] for name in ("texts", "topic", "scene")})


def map_numbers(record: MapRecord, label: str) -> dict[str, float]:
    """Return the numbers of an encoder of a map by the names that pictures and tables show."""
    numbers = record.results["numbers"][label].items()
    return {name.replace("_", " ").replace("pca", "PCA").replace("umap", "UMAP"): value for name, value in numbers}


def whole_page(title: str, *parts: str) -> str:
    """Return an HTML page with these widgets, to be opened from a disk or served from anywhere."""
    view = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    style = "<style>body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem }</style>"
    head = f"{view}<title>{escape(title)}</title>{style}"
    return f"<!doctype html><html lang=en>{head}<h1>{escape(title)}</h1>{''.join(parts)}\n"


def widget(kind: str, data: Mapping[str, Any], models: Sequence[Encoder | PaSeR] = ()) -> str:
    """Return HTML that holds all it needs but scripts of encoders. What the data says cannot end an element early.

    `kind`: a function of `widgets.js`, or a script beside it that adds one. `models`: whose weights are included.
    """
    weights = {_key(model): _json(packed(model)) for model in models}
    parts = [f"(globalThis.sentlabEncoders ??= {{}})[{_json(key)}] ??= {packing};" for key, packing in weights.items()]
    sources = {path.stem: path.read_text(encoding="utf-8") for path in ASSETS.glob("*.js")}
    for name, function in (("encoder", "sentlabEncoder"), ("widgets", "sentlabWidgets")):
        parts.append(f"globalThis.{function} ??= (() => {{ {sources[name]}\nreturn {function}; }})();")
    if kind in sources:
        parts.append(sources[kind])
    place = f"sentlab-{uuid4().hex[:12]}"  # JupyterLab runs scripts without saying where they are
    parts.append(
        f"{{ const root = document.getElementById('{place}'); root.querySelector('p').remove();"
        f" root.onkeydown = event => event.stopPropagation();"  # JupyterLab has shortcuts of its own
        f" sentlabWidgets.{kind}(root, {_json(data)}); }}"
    )
    styles = [path for name in ("widgets", kind) if (path := ASSETS / f"{name}.css").exists()]
    style = "".join(path.read_text(encoding="utf-8") for path in styles)
    code = "".join(f"<script>{part}</script>" for part in parts)
    return f'<div class="sentlab-widget mathjax_ignore" id="{place}"><style>{style}</style><p>{WITHOUT}</p></div>{code}'


def _packing(
    models: Mapping[str, Any], folder: str | Path | None, *, first: bool = True
) -> tuple[list[dict[str, Any]], list[Encoder | PaSeR]]:
    """What each row says of its model, and the models to include: all, or with a folder the first at most."""
    rows: list[dict[str, Any]] = []
    included: dict[str, Encoder | PaSeR] = {}
    for label, model in models.items():
        if isinstance(model, str | Path):
            rows.append({"label": label, "encoder": name_in(model), "file": Path(model).as_posix()})
            continue
        rows.append({"label": label, "encoder": (key := _key(model))})
        if folder is None or (first and not included) or key in included:
            included[key] = model
        else:
            rows[-1]["file"] = export(model, Path(folder) / f"{key}.js", key).as_posix()
    return rows, list(included.values())


def _key(model: Encoder | PaSeR) -> str:
    """The name of a model's weights in a page: the same for the same weights."""
    if isinstance(model, Encoder):
        return model.fingerprint()
    digest = sha256(f"{model.encoder.fingerprint()} {model.m} {model.n}".encode())
    for weight in model.decoder.parameters():
        digest.update(weight.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


# --- Encoders in a page


def export(encoder: Encoder | PaSeR, path: str | Path, name: str) -> Path:
    """Write an encoder's weights in int8 as a script for a page: about a byte and a third per parameter.

    `encoder`: an uncased BERT with the pooling `cls` or `mean` and no `post`. A `PaSeR` has its decoder written too.
    `path`: the script to write. `name`: the key of the encoder in `sentlabEncoders`.
    """
    script = f"(globalThis.sentlabEncoders ??= {{}})[{json.dumps(name)}] = {json.dumps(packed(encoder))};\n"
    with replacing(Path(path)) as temporary:
        temporary.write_text(script, encoding="utf-8")
    return Path(path)


def name_in(script: str | Path) -> str:
    """Read the name under which a script of `export` gives its encoder to a page."""
    text = Path(script).read_text(encoding="utf-8")
    return str(json.JSONDecoder().raw_decode(text, text.index("[") + 1)[0])


def in_script(script: str | Path) -> Encoder:
    """Return the encoder, of the shape of `tiny`, that a script of `export` holds."""
    text = Path(script).read_text(encoding="utf-8")
    file, _ = json.JSONDecoder().raw_decode(text, text.index("] = ") + 4)
    encoder: Encoder = _filled(Encoder.from_pretrained("tiny", max_length=file["config"]["max_length"]), file)
    return encoder


def packed(model: Encoder | PaSeR) -> dict[str, Any]:
    """Pack what the script holds: `config`, `vocabulary`, `tensors` [name, rows, columns], and their numbers in base64.

    `large` are the matrices in int8. `small` are the float32 scales of a matrix's rows, or a vector (columns 0).
    """
    encoder = model.encoder if isinstance(model, PaSeR) else model
    refuse_what_the_page_cannot_compute(encoder)
    config: Any = encoder.backbone.config
    layers, heads, epsilon = config.num_hidden_layers, config.num_attention_heads, config.layer_norm_eps
    about: dict[str, Any] = {"width": config.hidden_size, "layers": layers, "heads": heads, "epsilon": epsilon}
    about |= {"max_length": encoder.max_length, "pooling": encoder.pooling}
    about |= {name: getattr(encoder.tokenizer, f"{name}_token_id") for name in ("cls", "sep", "unk", "mask")}
    about["added"] = list(encoder.tokenizer.get_added_vocab())
    tensors = _tensors(model)
    if isinstance(model, PaSeR):
        blocks: Any = model.decoder.transformer.layers
        about["decoder"] = {"layers": len(blocks), "heads": blocks[0].self_attn.num_heads}
        about["decoder"] |= {"epsilon": model.decoder.norm.eps, "m": model.m, "n": model.n}
    packs = [quantised(tensor) if tensor.ndim == 2 else (b"", _numbers(tensor)) for tensor in tensors.values()]
    large, small = (b"".join(map(bytes, side)) for side in zip(*packs, strict=True))
    vocabulary = encoder.tokenizer.get_vocab()
    return {
        "config": about,
        "vocabulary": "\n".join(sorted(vocabulary, key=vocabulary.__getitem__)),
        "tensors": [[name, *tensor.shape, 0][:3] for name, tensor in tensors.items()],
        "small": base64.b64encode(small).decode(),
        "large": base64.b64encode(large).decode(),
    }


def _tensors(model: Encoder | PaSeR) -> dict[str, Tensor]:
    """The weights by their names in the script; of a PaSeR the decoder's too, and the masked-LM head's."""
    if isinstance(model, PaSeR):
        return _tensors(model.encoder) | _of_decoder(model)
    weights = dict(model.backbone.named_parameters())
    positions = weights["embeddings.position_embeddings.weight"][: model.max_length]
    tensors = {
        "embeddings.word": weights["embeddings.word_embeddings.weight"],
        "embeddings.position": positions + weights["embeddings.token_type_embeddings.weight"][0],
    }
    places = {"embeddings_norm": "embeddings.LayerNorm"}
    for i in range(model.backbone.config.num_hidden_layers):
        places |= {f"layers.{i}.{ours}": f"encoder.layer.{i}.{theirs}" for ours, theirs in PARTS.items()}
    for ours, theirs in places.items():
        tensors |= {ours: weights[f"{theirs}.weight"], f"{ours}.bias": weights[f"{theirs}.bias"]}
    return tensors


def _of_decoder(method: PaSeR) -> dict[str, Tensor]:
    """The decoder, and the masked-LM head but for the word embeddings, which it shares."""
    decoder: Any = method.decoder
    head: Any = method.encoder.lm_head
    tensors = {"decoder.position": decoder.positions.weight, "head.pieces": head.predictions.bias}
    parts = {"decoder.norm": decoder.norm, "decoder.last": decoder.transformer.norm}
    parts |= {"head.dense": head.predictions.transform.dense, "head.norm": head.predictions.transform.LayerNorm}
    for number, layer in enumerate(decoder.transformer.layers):
        place = f"decoder.{number}"
        for kind, attention in (("own", layer.self_attn), ("cross", layer.multihead_attn)):
            names = [f"{place}.{kind}.{name}" for name in ("query", "key", "value")]
            tensors |= dict(zip(names, attention.in_proj_weight.chunk(3), strict=True))
            biases = attention.in_proj_bias.chunk(3)
            tensors |= dict(zip([f"{name}.bias" for name in names], biases, strict=True))
            parts[f"{place}.{kind}.output"] = attention.out_proj
        parts |= {f"{place}.up": layer.linear1, f"{place}.down": layer.linear2}
        parts |= {f"{place}.norm{i}": getattr(layer, f"norm{i}") for i in (1, 2, 3)}
    for name, part in parts.items():
        tensors |= {name: part.weight, f"{name}.bias": part.bias}
    return tensors


def quantised(matrix: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Quantise a matrix (R, C) to int8 (R, C) and float32 scales (R,), whose product it is up to half a scale."""
    numbers = _numbers(matrix)
    scales = np.maximum(np.abs(numbers).max(axis=1) / LARGEST, 1e-12).astype(np.float32)
    return np.rint(numbers / scales[:, None]).astype(np.int8), scales


def rounded(model: Encoder | PaSeR) -> Encoder | PaSeR:
    """Return a copy with the weights that its script holds: what the page computes, but for the last digits."""
    return _filled(copy.deepcopy(model), packed(model))


def _filled(model: Any, file: Mapping[str, Any]) -> Any:
    """Return a model with the weights that a script of its shape holds."""
    tensors, encoder = _tensors(model), model.encoder if isinstance(model, PaSeR) else model
    embeddings = encoder.backbone.embeddings
    small, large = (np.frombuffer(base64.b64decode(file[key]), t) for key, t in (("small", "<f4"), ("large", "i1")))
    with torch.no_grad():
        for name, rows, columns in file["tensors"]:
            (numbers, small), (matrix, large) = np.split(small, [rows]), np.split(large, [rows * columns])
            weight = matrix.reshape(rows, columns) * numbers[:, None] if columns else numbers
            tensors[name].copy_(torch.from_numpy(weight.copy()))
        places = tensors["embeddings.position"] - embeddings.token_type_embeddings.weight[0]  # there they are summed
        embeddings.position_embeddings.weight[: len(places)].copy_(places)
    return model


def refuse_what_the_page_cannot_compute(encoder: Encoder) -> None:
    """Raise ValueError for an encoder of which `encoder.js` would compute other vectors."""
    config: Any = encoder.backbone.config
    rules: Any = json.loads(encoder.tokenizer.backend_tokenizer.to_str())
    normalizer = rules["normalizer"] or {}
    flags = [flag for token in rules["added_tokens"] for name, flag in token.items() if name not in ("id", "special")]
    uncased = normalizer.get("lowercase") and normalizer.get("strip_accents") is not False
    needs = {
        "the architecture bert": config.model_type == "bert",
        "the activation gelu": getattr(config, "hidden_act", "gelu") == "gelu",
        "the pooling cls or mean": encoder.pooling in ("cls", "mean"),
        "vectors that nothing changes after pooling (post)": encoder.post is None,
        "no prompt": not encoder.prompt,
        "a WordPiece tokenizer, uncased and without accents": rules["model"]["type"] == "WordPiece" and uncased,
        "added tokens that match as they are": True not in flags,
        "ids without gaps": sorted(encoder.tokenizer.get_vocab().values()) == [*range(len(encoder.tokenizer))],
    }
    if missing := [need for need, met in needs.items() if not met]:
        raise ValueError(f"this encoder cannot run inside a page, which needs {'; '.join(missing)}")


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().float().numpy()
