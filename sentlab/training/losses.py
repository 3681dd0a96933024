"""What methods share: a batch encoded in parts, BERT's masked-language-model loss, InfoNCE, features of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.training.processes import share_of_mean

PLACES_PER_PART = 1024  # rows times length; a longer row is a part of its own
ROWS_OF_LOGITS = 192  # in memory at a time


def mask_tokens(
    input_ids: Tensor, special_mask: Tensor, mask_token_id: int, vocab_size: int, *, rate: float = 0.15
) -> tuple[Tensor, Tensor]:
    """Choose tokens at random and corrupt them as BERT does: 80% become [MASK], 10% a random token, 10% stay.

    Args:
        input_ids: token ids, (B, L). They are not changed.
        special_mask: (B, L). True (or non-zero) where a token must never be chosen: special tokens and padding.
        vocab_size: random replacements are ids below it. Each is equally likely.
        rate: the probability that a token is chosen, in [0, 1]. Torch's global generator draws each independently.

    Returns:
        The corrupted ids, (B, L), and the chosen positions, a boolean (B, L).

    Source: Devlin et al. (2019), "BERT", section 3.1 and appendix A.1.
    """
    shape, device = input_ids.shape, input_ids.device
    chosen = (torch.rand(shape, device=device) < rate) & ~special_mask.bool()  # (B, L)
    fate = torch.rand(shape, device=device)  # (B, L)
    random_ids = torch.randint(vocab_size, shape, device=device, dtype=input_ids.dtype)
    corrupted = input_ids.masked_fill(chosen & (fate < 0.8), mask_token_id)
    corrupted = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, corrupted)
    return corrupted, chosen


def corrupt(input_ids: Tensor, tokenizer: Any) -> tuple[Tensor, Tensor]:
    """Mask tokens of ids (B, L) by `mask_tokens` with its default rate; special tokens, padding and [UNK] stay."""
    special = torch.isin(input_ids, torch.tensor(tokenizer.all_special_ids, device=input_ids.device))
    return mask_tokens(input_ids, special, tokenizer.mask_token_id, len(tokenizer))


def head_cross_entropy(head: nn.Module, states: Tensor, labels: Tensor) -> Tensor:
    """Compute the mean cross entropy, in float32, of the logits (N, V) that a head makes of states (N, D).

    Labels (N,) are class ids. The scalar is in nats per label; zero with a graph without any. The mean over processes
    is that over all labels. In float32 on a CPU, only the logits of a few rows are in memory at a time.
    """
    share = share_of_mean(len(labels), states.device)
    if len(labels) == 0:
        return share * head(states).float().sum()  # gives a zero gradient to all that made the logits
    split = split_head(head)
    on_cpu = states.device.type == "cpu" and states.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    if split is None or not on_cpu:
        return share * F.cross_entropy(head(states).float(), labels)
    transform, last = split
    # Measured on a CPU, forward and backward, with 450 labels and 30,522 words: 0.23 s with these parts, 0.32 s with
    # all logits at once. Torch's own choice of parts takes 2.9 s.
    parts = nn.LinearCrossEntropyOptions(batch_chunk_size=ROWS_OF_LOGITS)
    return share * F.linear_cross_entropy(transform(states), last.weight, labels, linear_bias=last.bias, options=parts)


def split_head(head: nn.Module) -> tuple[nn.Module, nn.Linear] | None:
    """Return all that comes before a head's last linear layer, and that layer. None if it is not known to come last."""
    from transformers.models.bert.modeling_bert import BertOnlyMLMHead  # here, so that importing `fit` does not wait

    before: nn.Module = nn.Identity()
    last: nn.Module = head
    if type(head) is nn.Sequential:
        before, last = head[:-1], head[-1]
    elif type(head) is BertOnlyMLMHead:
        before, last = head.predictions.transform, head.predictions.decoder
    return (before, last) if type(last) is nn.Linear else None  # a subclass may compute something else


def masked_lm_loss(lm_head: nn.Module, hidden: Tensor, labels: Tensor, chosen: Tensor) -> Tensor:
    """Compute `head_cross_entropy` at the chosen positions (B, L): hidden states (B, L, D), original ids (B, L)."""
    return head_cross_entropy(lm_head, hidden[chosen], labels[chosen])


FEATURES = {"u": lambda u, v: u, "v": lambda u, v: v, "|u-v|": lambda u, v: (u - v).abs(), "u*v": lambda u, v: u * v}


def pair_features(u: Tensor, v: Tensor, features: str = "u,v,|u-v|") -> Tensor:
    """Set features of each pair of vectors side by side for a classifier: (B, D), (B, D) -> (B, features x D).

    `features` are some of u, v, `|u-v|` and `u*v`, with commas. Table 3 of Universal has seven combinations.

    Source: Conneau et al. (2017), "Supervised Learning of Universal Sentence Representations", section 3.1.

    Example:
        >>> pair_features(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 2.0]]))
        tensor([[1., 2., 3., 2., 2., 0.]])
    """
    return torch.cat([FEATURES[name.strip()](u, v) for name in features.split(",")], dim=-1)


def info_nce(anchors: Tensor, candidates: Tensor, temperature: float) -> Tensor:
    """Compute the cross entropy of finding each anchor's own candidate among all of them, by cosine, in float32 always.

    Args:
        anchors: (B, D). The mean over them is a float32 scalar in nats.
        candidates: (C, D) with C >= B. Candidate i is the positive of anchor i and a negative of every other anchor.
            Those from B on (hard negatives) are negatives of all anchors.
        temperature: above 0. Cosines are divided by it.

    Source: van den Oord et al. (2018), "Contrastive Predictive Coding", Eq. 4, with the similarity of SimCSE, Eq. 1.

    Example:
        >>> info_nce(torch.eye(3), torch.eye(3), 0.05) < 1e-6  # each candidate is at its place
        tensor(True)
    """
    if len(candidates) < 2:
        raise ValueError("one text has no negatives: a batch needs two, and each part of it, too (accumulate)")
    with torch.autocast(anchors.device.type, enabled=False):  # it would multiply the matrices in bfloat16
        cosines = F.normalize(anchors.float(), dim=-1) @ F.normalize(candidates.float(), dim=-1).T  # (B, C)
        return F.cross_entropy(cosines / temperature, torch.arange(len(anchors), device=anchors.device))


class Parts:
    """Which rows of a padded batch are computed together: on a CPU those of like length, elsewhere all.

    A CPU's time grows with the padded tokens. Other devices take one large part faster than several small ones. Of the
    L places that the batch is wide, `lengths`, (B,), says how many count in each row.
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


def encode_in_parts(encoder: Encoder, ids: Tensor, mask: Tensor, pooling: str | None = None) -> tuple[Tensor, Tensor]:
    """Encode ids and mask, (B, L) each, on a CPU in parts, without the encoder's `post`; the mask is 0 at padding.

    Returns the vectors, (B, D), of the pooling, None being the encoder's, and the last hidden states, (B, L, D), which
    may be zero at padding.
    """
    parts = Parts(mask.sum(1), mask.shape[1])
    words = encoder.word_embeddings(parts.flat(ids))  # (P, D); one look-up: each gradient is a (V, D) matrix
    vectors, states = [], []
    for part, kept in zip(parts.split(words), parts.split(parts.flat(mask)), strict=True):
        hidden = encoder.hidden_states(part, kept)
        vectors.append(encoder.pool(hidden, kept, pooling))
        states.append(hidden[-1])
    return parts.vectors(vectors), parts.places(states)
