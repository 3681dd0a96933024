"""What made a training run, as named parts, so that a checkpoint is only taken up by the run that it belongs to."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, is_dataclass
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sentlab.training.config import TrainConfig
from sentlab.training.randomness import dropout_of
from sentlab.training.tasks import Tasks

SHORT = 60  # characters; a longer part is kept as its hash
PLAIN = {type(None), bool, int, float, str}
OF_NO_EFFECT = {"_name_or_path", "transformers_version"}  # parts of a model's configuration


def made_by(method: Any, rows: Sequence[Any], config: TrainConfig, dev: Any, processes: int) -> dict[str, Any]:
    """Describe all that decides how a run goes, by name: a short value, or the hash of a long one.

    The method counts with its class and with the attributes of all its modules, constructor arguments among them. The
    encoder counts with its weights, tokenizer, pooling and length. All rows count, the `TrainConfig`, whether there is
    a dev function (or its attribute `fingerprint`), and the number of processes. Attributes whose name starts with an
    underscore are left out. So are the weights of heads, decoders and momentum copies, which a checkpoint restores.
    """
    parts = {"method": _named(type(method)), "processes": processes}
    parts["dev"] = getattr(dev, "fingerprint", dev is not None)  # what it scores on, if it says so
    parts |= {f"method.{name}": value for name, value in _attributes(method)}
    parameters = {name: (tuple(p.shape), str(p.dtype), p.requires_grad) for name, p in method.named_parameters()}
    parts["method.parameters"] = digest([parameters])
    parts["encoder.pooling"] = method.encoder.pooling  # which it keeps behind a property
    parts["encoder.weights"] = digest([method.encoder.model.state_dict()])
    parts["rows"] = f"{len(rows)} rows, {digest(rows[i] for i in range(len(rows)))}"
    if isinstance(rows, Tasks):
        parts["rows.turn"] = rows.turn
    parts |= {f"config.{name}": value for name, value in asdict(config).items()}
    described = {name: describe(value) for name, value in parts.items()}
    return {name: value if len(json.dumps(value)) <= SHORT else digest([value]) for name, value in described.items()}


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name the parts in which the descriptions of two runs differ, with both values."""
    return [
        f"{name}: {was.get(name)!r} then, {now.get(name)!r} now"
        for name in sorted(was.keys() | now.keys())
        if json.dumps(was.get(name)) != json.dumps(now.get(name))
    ]


def digest(values: Iterable[Any]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of what the values are."""
    found = hashlib.sha256()
    for value in values:
        found.update(json.dumps(describe(value)).encode() + b"\n")
    return found.hexdigest()[:16]


def describe(value: Any, within: tuple[int, ...] = ()) -> Any:
    """Describe a value in what JSON can hold; equal values have equal descriptions, in any process.

    A function that can be imported is its name. Any other, such as a lambda, is its code and what it holds.
    """
    if type(value) in PLAIN:
        return value
    if id(value) in within:
        return "itself"
    within = (*within, id(value))
    if is_dataclass(value) and not isinstance(value, type):  # first of all others, for rows are many
        return [_named(type(value)), *(describe(getattr(value, name), within) for name in value.__dataclass_fields__)]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()[:16]
        return [str(value.dtype), list(value.shape), content]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device | torch.dtype | bytes):
        return str(value)
    from transformers import PreTrainedTokenizerBase  # here, so that importing `fit` does not wait for it

    inner: Callable[[Any], Any] = functools.partial(describe, within=within)
    if isinstance(value, PreTrainedTokenizerBase):
        return _tokenizer(value)
    if isinstance(value, Mapping):
        return [[inner(key), inner(content)] for key, content in value.items()]
    if isinstance(value, AbstractSet):
        return sorted((inner(item) for item in value), key=json.dumps)
    if isinstance(value, functools.partial):
        return ["partial", inner(value.func), inner(value.args), inner(value.keywords)]
    if callable(value) and hasattr(value, "__qualname__"):
        return _function(value, inner)
    if isinstance(value, Sequence | np.ndarray):
        return [inner(item) for item in value]
    if isinstance(value, nn.Module):
        return [_named(type(value)), inner(value.state_dict())]
    held = {name: content for name, content in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
    return [_named(type(value)), inner(held)]


def _attributes(method: nn.Module) -> Iterator[tuple[str, Any]]:
    """The attributes of all modules; of a transformers model its configuration and its dropout instead."""
    from transformers import PreTrainedModel

    models: list[str] = []
    for path, part in method.named_modules():
        prefix = f"{path}." if path else ""
        if path.startswith(tuple(models)):
            continue
        if isinstance(part, PreTrainedModel):
            models.append(prefix)
            settings = part.config.to_dict().items()
            yield f"{prefix}config", {name: str(value) for name, value in settings if name not in OF_NO_EFFECT}
            yield from ((f"{prefix}{name}", p) for name, p in dropout_of(part).items())
            continue
        for name, value in vars(part).items():
            if not name.startswith("_") and name != "training":
                yield f"{prefix}{name}", value
        for name, value in part.named_buffers(recurse=False):
            yield f"{prefix}{name}", tuple(value.shape)


def _named(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _function(function: Callable[..., Any], inner: Callable[[Any], Any]) -> Any:
    name = _named(function)
    if (owner := getattr(function, "__self__", None)) is not None and not hasattr(owner, "__spec__"):  # no module
        return [name, inner(owner)]
    found: Any = sys.modules.get(function.__module__ or "")
    for step in function.__qualname__.split("."):
        found = getattr(found, step, None)
    code = getattr(function, "__code__", None)
    if code is None or (found is function and function.__module__ != "__main__"):
        return name
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    defaults = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    return [name, _code(code), inner(defaults), inner(cells), _used(function, code, inner)]


def _code(code: CodeType) -> list[Any]:
    return [code.co_code.hex(), list(code.co_names), [_constant(const) for const in code.co_consts]]


def _constant(const: Any) -> Any:
    """A constant of some code; the order in which a set is shown differs from process to process."""
    if isinstance(const, CodeType):
        return _code(const)
    if isinstance(const, frozenset):
        return sorted(map(repr, const))
    return [_constant(part) for part in const] if isinstance(const, tuple) else repr(const)


def _used(function: Any, code: CodeType, inner: Callable[[Any], Any]) -> dict[str, Any]:
    """The values of the global names that a function uses; of other functions and classes the code, or the name."""
    found = {}
    for name in code.co_names:
        value = getattr(function, "__globals__", {}).get(name)
        if callable(value):
            own = getattr(value, "__code__", None)
            found[name] = str(getattr(value, "__qualname__", name)) if own is None else _code(own)
        elif name in getattr(function, "__globals__", {}) and not isinstance(value, ModuleType):
            found[name] = inner(value)
    return found


def _tokenizer(tokenizer: Any) -> str:
    """The hash of a fast tokenizer; how the last call padded and cut its texts is no part of it."""
    state = json.loads(tokenizer.backend_tokenizer.to_str()) if tokenizer.is_fast else tokenizer.get_vocab()
    return digest([{name: value for name, value in state.items() if name not in ("padding", "truncation")}])
