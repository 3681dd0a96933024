"""A batch in parts: rows of like length go through a model together, which saves most of the padding."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sentlab.encoder import Encoder

PLACES_PER_PART = 1024  # rows times length; a longer row is a part of its own


class Parts:
    """Which rows of a padded batch are computed together: on a CPU those of like length, elsewhere all.

    A CPU's time grows with the padded tokens. Other devices take one large part faster than several small ones.

    Args:
        lengths: (B,), how many places of each row count.
        width: L, the padded length of the batch.

    Example:
        >>> lengths, x, model = torch.tensor([2, 3]), torch.ones(2, 3, 4), torch.nn.Identity()
        >>> parts = Parts(lengths, x.shape[1])
        >>> parts.places([model(part) for part in parts.split(parts.flat(x))]).shape
        torch.Size([2, 3, 4])
    """

    def __init__(self, lengths: Tensor, width: int) -> None:
        self.shape = (len(lengths), width)
        if lengths.device.type != "cpu":
            self.rows, self.ends = [torch.arange(len(lengths), device=lengths.device)], [width]
        else:
            order, sizes = lengths.argsort(stable=True), [0]
            for length in lengths[order].tolist():
                if sizes[-1] and (sizes[-1] + 1) * length > PLACES_PER_PART:
                    sizes.append(0)
                sizes[-1] += 1
            self.rows = list(order.split(sizes))
            self.ends = [max(1, int(lengths[rows[-1]])) for rows in self.rows]
        grid = torch.arange(len(lengths) * width, device=lengths.device).view(self.shape)
        self.index = torch.cat([grid[rows, :end].flatten() for rows, end in zip(self.rows, self.ends, strict=True)])

    def flat(self, x: Tensor) -> Tensor:
        """Select the places that are computed, part after part: (B, L, ...) -> (P, ...)."""
        return x.flatten(0, 1).index_select(0, self.index)

    def split(self, flat: Tensor) -> list[Tensor]:
        """Split (P, ...) into the N rows of `end` places of each part, (N, end, ...). The gradients are joined once."""
        shapes = [(len(rows), end) for rows, end in zip(self.rows, self.ends, strict=True)]
        pieces = flat.split([rows * end for rows, end in shapes])
        return [piece.unflatten(0, shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def vectors(self, outputs: Sequence[Tensor]) -> Tensor:
        """Join what was made of each part's rows, (N, D) each -> (B, D), in the order of the batch."""
        return torch.cat([*outputs]).index_select(0, torch.cat(self.rows).argsort())

    def places(self, outputs: Sequence[Tensor]) -> Tensor:
        """Join what was made of each part's places, (N, end, D) each -> (B, L, D). Places of no part are zero."""
        flat = torch.cat([part.flatten(0, 1) for part in outputs])  # (P, D)
        zeros = flat.new_zeros(self.shape[0] * self.shape[1], *flat.shape[1:])
        return zeros.index_copy(0, self.index, flat).unflatten(0, self.shape)


def encode_in_parts(
    encoder: Encoder, input_ids: Tensor, mask: Tensor, pooling: str | None = None
) -> tuple[Tensor, Tensor]:
    """Encode a batch, on a CPU in parts. With dropout off, the result is that of one padded batch.

    Args:
        encoder: its `post` is left out.
        input_ids, mask: (B, L). The mask is 0 at padding.
        pooling: None takes the encoder's own.

    Returns:
        The vectors, (B, D), and the last hidden states, (B, L, D), which may be zero at padding.

    Example:
        >>> encoder = sentlab.Encoder.from_pretrained()
        >>> batch = encoder.tokenizer(["A dog runs.", "It rains."], padding=True, return_tensors="pt")
        >>> vectors, hidden = encode_in_parts(encoder, batch["input_ids"], batch["attention_mask"])
    """
    parts = Parts(mask.sum(1), mask.shape[1])
    words = encoder.word_embeddings(parts.flat(input_ids))  # (P, D); one look-up: each gradient is a (V, D) matrix
    vectors, states = [], []
    for part, kept in zip(parts.split(words), parts.split(parts.flat(mask)), strict=True):
        hidden = encoder.hidden_states(part, kept)
        vectors.append(encoder.pool(hidden, kept, pooling))
        states.append(hidden[-1])
    return parts.vectors(vectors), parts.places(states)
