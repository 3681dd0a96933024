"""A short name for all that decides an encoder's vectors, to notice that two encoders differ."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

    from sentlab.encoder import Encoder

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
