"""What more than one method's loss is made of: BERT's masked-language-model corruption and its loss, InfoNCE, and the
features of a pair of vectors that a classifier sees.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

ROWS_IN_CACHE = 96  # of logits, at a time


def mask_tokens(
    input_ids: Tensor, special_mask: Tensor, mask_token_id: int, vocab_size: int, *, rate: float = 0.15
) -> tuple[Tensor, Tensor]:
    """Choose tokens at random and corrupt them as BERT does: 80% [MASK], 10% a random token, 10% left as they are.

    Every token that may be chosen is chosen independently, with random numbers from torch's global generator.

    Args:
        input_ids: token ids, (B, L).
        special_mask: true (or non-zero) where a token must never be chosen: special tokens and padding, (B, L).
        mask_token_id: the id of [MASK].
        vocab_size: random replacements are drawn uniformly from 0 .. vocab_size - 1.
        rate: the probability that a token is chosen, in [0, 1].

    Returns:
        The corrupted ids, (B, L), and the chosen positions, a boolean (B, L). A chosen position keeps its label (the
        original id) whatever stands in its place. The inputs are not changed.

    Raises:
        ValueError: the shapes differ or the rate is no probability.

    Source: Devlin et al. (2019), "BERT", section 3.1 and appendix A.1.
    """
    if input_ids.shape != special_mask.shape:
        raise ValueError(f"input_ids {tuple(input_ids.shape)} and special_mask {tuple(special_mask.shape)} must agree")
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must lie between 0 and 1, got {rate}")
    shape, device = input_ids.shape, input_ids.device
    chosen = (torch.rand(shape, device=device) < rate) & ~special_mask.bool()  # (B, L)
    fate = torch.rand(shape, device=device)  # (B, L)
    random_ids = torch.randint(vocab_size, shape, device=device, dtype=input_ids.dtype)
    corrupted = input_ids.masked_fill(chosen & (fate < 0.8), mask_token_id)
    corrupted = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, corrupted)
    return corrupted, chosen


def head_cross_entropy(head: nn.Module, states: Tensor, labels: Tensor) -> Tensor:
    """Mean cross entropy in float32 of the logits that a head makes of states; zero, still attached to the graph, when
    there is no label.

    In float32 on a CPU, where the head ends in a linear layer, the logits of a few rows at a time are in memory, with
    all that they are needed for while they are in the cache: the same losses and gradients, up to rounding.

    Args:
        head: (N, D) -> (N, V) logits, any floating type.
        states: (N, D).
        labels: (N,), class ids.

    Returns:
        A float32 scalar, in nats per label.
    """
    if len(labels) == 0:
        return head(states).float().sum()  # over nothing: zero, with a (zero) gradient for all that made the logits
    layers = [part for part in head.modules() if isinstance(part, nn.Linear)]
    in_parts = states.device.type == "cpu" and states.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    if in_parts and layers:
        with _Without(layers[-1]) as last:
            x = head(states)
        if x is last.x:  # nothing comes behind that layer
            loss: Tensor = _LinearCrossEntropy.apply(x, layers[-1].weight, layers[-1].bias, labels)
            return loss
    return F.cross_entropy(head(states).float(), labels)


class _Without(TorchFunctionMode):
    """While active, a linear layer returns what goes into it, and keeps that as `x`."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer, self.x = layer, None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.linear or kwargs or args[1] is not self.layer.weight:
            return func(*args, **(kwargs or {}))
        self.x = args[0]
        return self.x


class _LinearCrossEntropy(torch.autograd.Function):
    """Cross entropy behind a linear layer; the forward pass makes the gradients as well, while it has the logits."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor) -> Tensor:
        wanted, losses = ctx.needs_input_grad, []
        to_x = torch.empty_like(x) if wanted[0] else None
        to_weight = torch.empty_like(weight) if wanted[1] else None
        to_bias = torch.zeros_like(bias) if bias is not None and wanted[2] else None
        space, share = x.new_empty(min(len(x), ROWS_IN_CACHE), len(weight)), 1 / len(labels)
        for start in range(0, len(x), ROWS_IN_CACHE):
            part = slice(start, start + ROWS_IN_CACHE)
            logits = torch.mm(x[part], weight.T, out=space[: len(x[part])])
            if bias is not None:
                logits += bias  # faster than addmm, which first copies the bias to every row
            losses.append(_to_gradient(logits, labels[part]))
            if to_x is not None:
                torch.mm(logits, weight, out=to_x[part]).mul_(share)
            if to_weight is not None:
                # the first part finds nothing to add to
                to_weight.addmm_(logits.T, x[part], beta=float(start > 0), alpha=share)
            if to_bias is not None:
                to_bias.add_(logits.sum(0), alpha=share)
        ctx.save_for_backward(to_x, to_weight, to_bias)
        return torch.cat(losses).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        made = (gradient if gradient is None or grad == 1 else gradient * grad for gradient in ctx.saved_tensors)
        return (*made, None)


def _to_gradient(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross entropies of some rows, (n, 1); the gradient of their sum is written over the logits."""
    own = labels.unsqueeze(1)
    log_p = torch.log_softmax(logits, 1, out=logits)
    losses = -log_p.gather(1, own)
    log_p.exp_().scatter_add_(1, own, torch.full_like(losses, -1.0))
    return losses


def masked_lm_loss(lm_head: nn.Module, hidden: Tensor, labels: Tensor, chosen: Tensor) -> Tensor:
    """Masked-language-model loss, with logits computed at the chosen positions only.

    Args:
        lm_head: maps (N, D) hidden states to (N, V) logits.
        hidden: last hidden states of the corrupted sentences, (B, L, D).
        labels: the original token ids, (B, L); read only where `chosen`.
        chosen: positions to be predicted, boolean (B, L).

    Returns:
        The mean cross entropy over the chosen positions, in nats; zero (with a graph) when none is chosen.

    Source: Devlin et al. (2019), section 3.1.
    """
    return head_cross_entropy(lm_head, hidden[chosen], labels[chosen])


FEATURES = {
    "u": lambda u, v: u,
    "v": lambda u, v: v,
    "|u-v|": lambda u, v: (u - v).abs(),
    "u*v": lambda u, v: u * v,
}


def pair_features(u: Tensor, v: Tensor, features: str = "u,v,|u-v|") -> Tensor:
    """What a classifier sees of two vectors.

    Args:
        u, v: (B, D).
        features: some of u, v, `|u-v|` and `u*v`, with commas: seven of their combinations are in Table 3 of Universal.

    Returns:
        The features of each pair side by side, (B, number of features x D).

    Raises:
        ValueError: an unknown feature, one named twice, or none.

    Source: Conneau et al. (2017), "Supervised Learning of Universal Sentence Representations", section 3.1.
    """
    names = [name.strip() for name in features.split(",")]
    if not set(names) <= FEATURES.keys() or len(set(names)) < len(names):
        raise ValueError(f"features are some of {', '.join(FEATURES)}, each once, with commas; not {features!r}")
    return torch.cat([FEATURES[name](u, v) for name in names], dim=-1)


def info_nce(anchors: Tensor, candidates: Tensor, temperature: float) -> Tensor:
    """Cross entropy of finding each anchor's own candidate among all of them, by cosine; float32 inside autocast too.

    Args:
        anchors: (B, D).
        candidates: (C, D) with C >= B: candidate i is the positive of anchor i and a negative of every other anchor;
            those from B on (hard negatives) are negatives of all anchors.
        temperature: what the cosines are divided by, above 0.

    Returns:
        The mean over the anchors, a float32 scalar in nats.

    Raises:
        ValueError: the shapes do not fit.

    Source: van den Oord et al. (2018), "Representation Learning with Contrastive Predictive Coding", Eq. 4, with the
        similarity of SimCSE, Eqs. 1 and 5.
    """
    if anchors.ndim != 2 or anchors.shape[1:] != candidates.shape[1:] or len(candidates) < len(anchors):
        raise ValueError(
            f"anchors {tuple(anchors.shape)} must be (B, D) and candidates {tuple(candidates.shape)} (C, D) with C >= B"
        )
    with torch.autocast(anchors.device.type, enabled=False):  # it would multiply the matrices in bfloat16
        cosines = F.normalize(anchors.float(), dim=-1) @ F.normalize(candidates.float(), dim=-1).T  # (B, C)
        return F.cross_entropy(cosines / temperature, torch.arange(len(anchors), device=anchors.device))
