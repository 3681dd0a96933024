"""What is inside a model of transformers that its class does not name in one way for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# In most masked-LM models the head is what is left without the backbone; in this one a bare function sits in between.
HEAD_MODULES = {"distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector")}


def lm_head_of(model: PreTrainedModel, backbone: nn.Module) -> nn.Module | None:
    """Return the masked-LM head, which shares its modules with the model; None if the model is its backbone alone."""
    if model is backbone:
        return None
    rest = {name: part for name, part in model.named_children() if part is not backbone}
    names = HEAD_MODULES.get(model.config.model_type) or [n for n in rest if list(rest[n].parameters())]
    return rest[names[0]] if len(names) == 1 else nn.Sequential(*(rest[name] for name in names))


def positions(backbone: nn.Module) -> int:
    """Return the longest input.

    RoBERTa and MPNet count positions from padding_idx + 1 on, so they have fewer than rows.
    """
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    if isinstance(table, nn.Embedding):
        return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    return backbone.config.max_position_embeddings  # type: ignore[union-attr,return-value]
