"""What `fit` is called with, checked before anything is trained."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import nn

from sentlab.data.rows import Corpus
from sentlab.encoder import Encoder
from sentlab.training.config import TrainConfig
from sentlab.training.tasks import Tasks


def as_rows(rows: Iterable[Any]) -> Sequence[Any]:
    """Return the rows as something with a length that takes whole numbers as indices.

    A list, a `Corpus` or an array is not copied. A generator or a pandas Series becomes a list, a set a sorted one.

    Texts that are blank or repeated warn.

    Raises:
        TypeError: one string, a mapping, a DataFrame, or something that holds no rows.
        ValueError: no rows.
    """
    if isinstance(rows, str | bytes):
        raise TypeError(f"rows is one string, {rows[:40]!r}: put it into a list, [text]")
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        raise TypeError(f"rows is a {type(rows).__name__}: pass the texts alone, such as list(rows['text'])")
    if isinstance(rows, set | frozenset):
        rows = sorted(rows, key=repr)  # a set's own order changes from one process to the next
    if not hasattr(rows, "__len__") or not hasattr(rows, "__getitem__") or hasattr(rows, "iloc"):
        if not isinstance(rows, Iterable):
            raise TypeError(f"rows must be texts or other rows in a list or an iterable, got a {type(rows).__name__}")
        rows = list(rows)
    found: Any = rows
    if len(found) == 0:
        raise ValueError("no rows to train on")
    if isinstance(found, list | tuple | Corpus) and all(isinstance(row, str) for row in found):
        blank, repeated = sum(not row.strip() for row in found), len(found) - len(set(found))
        if blank or repeated:
            warnings.warn(
                f"{blank} rows are blank and {repeated} are repeated: methods that compare the texts of a batch take "
                "them for different ones, so leave them out",
                stacklevel=3,
            )
    return found


def check_arguments(method: Any, config: Any, dev: Any, resume: bool, overwrite: bool) -> None:
    """Refuse arguments of `fit` that are of another kind (a TypeError) or contradict each other (a ValueError)."""
    if isinstance(method, Encoder):
        raise TypeError("fit trains a method, got an Encoder: pass one, such as sentlab.methods.SimCSE(encoder)")
    wanted = ("encoder", "collate", "loss", "after_step")
    if not isinstance(method, nn.Module) or (missing := [name for name in wanted if not hasattr(method, name)]):
        what = f"the class {method.__name__}" if isinstance(method, type) else f"a {type(method).__name__}"
        lacks = f" without {', '.join(missing)}" if isinstance(method, nn.Module) else ""
        raise TypeError(f"fit trains a method, got {what}{lacks}: pass one, such as sentlab.methods.SimCSE(encoder)")
    if not isinstance(config, TrainConfig):
        hint = "TrainConfig(**config)" if isinstance(config, Mapping) else "TrainConfig(...)"
        raise TypeError(f"config must be a TrainConfig, got a {type(config).__name__}: pass {hint}")
    if dev is not None and not callable(dev):
        raise TypeError(f"dev must be a function, encoder -> score, got a {type(dev).__name__}: pass dev_score(corpus)")
    encoder: Any = method.encoder
    if not isinstance(encoder, Encoder):
        raise TypeError(f"method.encoder must be a sentlab.Encoder, got a {type(encoder).__name__}")
    if encoder.post is not None:
        raise ValueError("the encoder's `post` fits its vectors of now: set it to None, and fit it after training")
    if dev is None and config.keep == "dev":
        raise ValueError("keep='dev' needs a dev function: pass dev=, or keep='last'")
    if resume and overwrite:
        raise ValueError("resume goes on with a checkpoint and overwrite removes it: pass one of them")


def check_shares(rows: Sequence[Any], config: TrainConfig, processes: int) -> None:
    """Refuse batches that several processes cannot share equally: gathering vectors needs equal numbers of rows."""
    for count in [len(own) for own in rows.corpora.values()] if isinstance(rows, Tasks) else [len(rows)]:
        size = min(config.batch_size, count)
        if size % processes:
            raise ValueError(
                f"a batch of {size} rows does not divide among {processes} processes: choose a batch_size that is a "
                f"multiple of {processes}" + (f", of at most the {count} rows" if size < config.batch_size else "")
            )
