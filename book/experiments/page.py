"""Encoders inside a web page: weights as a script that `assets/page/encoder.js` reads, offline and without a server.

    python -m experiments page --encoder my-encoder --out my-encoder.js

A browser refuses to fetch files for a page that was opened from a disk. It loads scripts, so the weights are one.
"""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentlab.encoder import Encoder
from sentlab.files import replacing
from sentlab.methods import PaSeR
from torch import Tensor

ASSETS = Path(__file__).parent / "assets" / "page"
LARGEST = 127  # of int8; -128 is left out, so that a row and its negative have the same scale
PARTS = {name: f"attention.self.{name}" for name in ("query", "key", "value")}  # name here -> in a layer of BertModel
PARTS |= {"output": "attention.output.dense", "norm1": "attention.output.LayerNorm"}
PARTS |= {"up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm"}


def export(encoder: Encoder | PaSeR, path: str | Path, name: str) -> Path:
    """Write an encoder's weights in int8 as a script for a page: about a byte and a third per parameter.

    Each row of a matrix has a scale of its own. Biases and layer norms stay in float32.

    Args:
        encoder: an uncased BERT with the pooling `cls` or `mean` and no `post`. A `PaSeR` has its decoder written too.
        path: the script to write.
        name: the key of the encoder in `sentlabEncoders`.

    Example:
        >>> from experiments import page
        >>> page.export(sentlab.Encoder.from_pretrained("my-encoder"), "my-encoder.js", "mine")
    """
    script = f"(globalThis.sentlabEncoders ??= {{}})[{json.dumps(name)}] = {json.dumps(packed(encoder))};\n"
    with replacing(Path(path)) as temporary:
        temporary.write_text(script, encoding="utf-8")
    return Path(path)


def name_in(script: str | Path) -> str:
    """Read the name under which a script of `export` gives its encoder to a page."""
    text = Path(script).read_text(encoding="utf-8")
    return str(json.JSONDecoder().raw_decode(text, text.index("[") + 1)[0])


def packed(model: Encoder | PaSeR) -> dict[str, Any]:
    """Pack what the script holds: `config`, `vocabulary`, `tensors` [name, rows, columns], and their numbers in base64.

    `large` are the matrices in int8. `small` are, in float32 and in the order of `tensors`, the scales of a matrix's
    rows, or the numbers of a vector (columns 0).
    """
    encoder = model.encoder if isinstance(model, PaSeR) else model
    refuse_what_the_page_cannot_compute(encoder)
    config: Any = encoder.backbone.config
    layers, heads, epsilon = config.num_hidden_layers, config.num_attention_heads, config.layer_norm_eps
    about: dict[str, Any] = {"width": config.hidden_size, "layers": layers, "heads": heads, "epsilon": epsilon}
    about |= {"max_length": encoder.max_length, "pooling": encoder.pooling}
    about |= {name: getattr(encoder.tokenizer, f"{name}_token_id") for name in ("cls", "sep", "unk", "mask")}
    tensors = _of_encoder(encoder)
    if isinstance(model, PaSeR):
        blocks: Any = model.decoder.transformer.layers
        about["decoder"] = {"layers": len(blocks), "heads": blocks[0].self_attn.num_heads}
        about["decoder"] |= {"epsilon": model.decoder.norm.eps, "m": model.m, "n": model.n}
        tensors |= _of_decoder(model)
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


def _of_encoder(encoder: Encoder) -> dict[str, Tensor]:
    weights = dict(encoder.backbone.named_parameters())
    positions = weights["embeddings.position_embeddings.weight"][: encoder.max_length]
    tensors = {
        "embeddings.word": weights["embeddings.word_embeddings.weight"],
        "embeddings.position": positions + weights["embeddings.token_type_embeddings.weight"][0],
    }
    places = {"embeddings_norm": "embeddings.LayerNorm"}
    for i in range(encoder.backbone.config.num_hidden_layers):
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
    copied = copy.deepcopy(model)
    encoder = copied.encoder if isinstance(copied, PaSeR) else copied
    added = [f"embeddings.{name}_embeddings.weight" for name in ("position", "token_type")]  # one table in the script
    weights = [weight for name, weight in encoder.backbone.named_parameters() if name not in added]
    if isinstance(copied, PaSeR):
        weights += [*copied.decoder.parameters(), *encoder.lm_head.predictions.transform.parameters()]

    def through_int8(matrix: Tensor) -> Tensor:
        values, scales = quantised(matrix)
        return torch.from_numpy(values.astype(np.float32) * scales[:, None])

    with torch.no_grad():
        for weight in weights:
            if weight.ndim == 2:
                weight.copy_(through_int8(weight))
        places, kinds = map(encoder.backbone.get_parameter, added)
        places.copy_(through_int8(places + kinds[0]) - kinds[0])
    return copied


def refuse_what_the_page_cannot_compute(encoder: Encoder) -> None:
    """Raise ValueError for an encoder of which `encoder.js` would compute other vectors."""
    config: Any = encoder.backbone.config
    rules: Any = json.loads(encoder.tokenizer.backend_tokenizer.to_str())
    normalizer = rules["normalizer"] or {}
    uncased = normalizer.get("lowercase") and normalizer.get("strip_accents") is not False
    needs = {
        "the architecture bert": config.model_type == "bert",
        "the activation gelu": getattr(config, "hidden_act", "gelu") == "gelu",
        "the pooling cls or mean": encoder.pooling in ("cls", "mean"),
        "vectors that nothing changes after pooling (post)": encoder.post is None,
        "no prompt": not encoder.prompt,
        "a WordPiece tokenizer, uncased and without accents": rules["model"]["type"] == "WordPiece" and uncased,
        "ids without gaps": sorted(encoder.tokenizer.get_vocab().values()) == [*range(len(encoder.tokenizer))],
    }
    if missing := [need for need, met in needs.items() if not met]:
        raise ValueError(f"this encoder cannot run inside a page, which needs {'; '.join(missing)}")


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().float().numpy()
