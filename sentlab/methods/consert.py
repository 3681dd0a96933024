"""ConSERT: two views of a sentence, made at the embedding layer, are the positive pair; the batch holds the negatives.

Yan, Li, Wang, Zhang, Wu and Xu (2021), "ConSERT: A Contrastive Framework for Self-Supervised Sentence Representation
Transfer". A view shuffles the tokens' positions or zeroes parts of the embeddings, which costs no more than encoding.
The paper found `shuffle` with `feature_cutoff` best. BERT's own dropout is off, as in the paper and its code, so that
the views are the only noise. Special tokens are shuffled and cut like any other, as in the code.

Differs from the paper:
  - The adversarial view, which needs labels, and the joint training with labelled pairs are left out.
  - One rate serves all views. The paper has 0.2 for `feature_cutoff` and `dropout`, 0.15 for `token_cutoff`.
  - The sentence vector comes from the encoder's own pooling.

Differs from the released code:
  - It adds the losses of the two directions and multiplies by 0.15. Here all 2B are averaged, as the paper says.
  - Its `dropout` view zeroes an exact share of a sentence's elements. Here each one falls with that probability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.encoder.encoder import positions
from sentlab.training.losses import Parts
from sentlab.training.processes import own_first


def nt_xent(u: Tensor, v: Tensor, temperature: float) -> Tensor:
    """Compute the cross entropy of finding a view's other view among the 2B - 1 other vectors, by cosine.

    From the two views of B sentences, (B, D) each, comes the mean over all 2B views, a float32 scalar in nats.

    Source: ConSERT, Eq. 1; Chen et al. (2020), "SimCLR", Eq. 1.
    """
    with torch.autocast(u.device.type, enabled=False):
        h = F.normalize(torch.cat([u, v]).float(), dim=-1)  # (2B, D)
        cosines = (h @ h.T).fill_diagonal_(-torch.inf)  # (2B, 2B)
        return F.cross_entropy(cosines / temperature, torch.arange(len(h), device=h.device).roll(len(u)))


def shuffled_positions(mask: Tensor) -> Tensor:
    """Shuffle the positions 0, 1, ... of each row's tokens; padding, on the right, keeps its own: (B, L) -> (B, L)."""
    places = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask.bool(), torch.rand(mask.shape, device=mask.device), 1.0 + places).argsort(dim=1)


def token_cutoff(embeddings: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Zero whole tokens, floor(rate * tokens) of each sentence: (B, L, D), (B, L) -> (B, L, D)."""
    return embeddings.masked_fill(_choose(mask.bool(), rate).unsqueeze(2), 0.0)


def feature_cutoff(embeddings: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Zero floor(rate * D) dimensions of each sentence, the same in all its tokens: (B, L, D), (B, L) -> (B, L, D)."""
    every = torch.ones_like(embeddings[:, 0], dtype=torch.bool)  # (B, D)
    return embeddings.masked_fill(_choose(every, rate).unsqueeze(1), 0.0)


def dropout(embeddings: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Zero each element with probability `rate` and scale none: (B, L, D), (B, L) -> (B, L, D)."""
    return embeddings.masked_fill(torch.rand(embeddings.shape, device=embeddings.device) < rate, 0.0)


def _choose(allowed: Tensor, rate: float) -> Tensor:
    """floor(rate * allowed) of the allowed places of each row, drawn at random: (B, N) -> boolean (B, N)."""
    drawn = torch.rand(allowed.shape, device=allowed.device).masked_fill(~allowed, 2.0)
    return drawn.argsort(dim=1).argsort(dim=1) < (allowed.sum(1, keepdim=True).double() * rate).floor()


CUTS: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "token_cutoff": token_cutoff,
    "feature_cutoff": feature_cutoff,
    "dropout": dropout,
    "none": lambda embeddings, mask, rate: embeddings,
}


class ConSERT(nn.Module):
    """Trains `encoder` on plain sentences.

    Args:
        encoder: trained in place. Its pooling makes the sentence vectors.
        views: how the two views are made. Each is "shuffle" or a name in `CUTS`.
        cutoff: share of tokens, dimensions or elements that a view zeroes, in [0, 1).
        temperature: what cosines are divided by.

    Example:
        >>> method = sentlab.methods.ConSERT(sentlab.Encoder.from_pretrained(pooling="mean"))
        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        views: tuple[str, str] = ("shuffle", "feature_cutoff"),
        cutoff: float = 0.2,
        temperature: float = 0.1,
    ):
        super().__init__()
        if "shuffle" in views and getattr(encoder.backbone.embeddings, "position_embeddings", None) is None:
            raise ValueError("this encoder embeds no positions, so shuffling them does nothing: choose other views")
        # RoBERTa and its kin count positions from behind the padding's
        self.first = encoder.backbone.config.max_position_embeddings - positions(encoder.backbone)
        self.encoder, self.views, self.cutoff, self.temperature = encoder, tuple(views), cutoff, temperature
        self.train()

    def train(self, mode: bool = True) -> ConSERT:
        """Set the mode as for any module, but keep the encoder without dropout."""
        super().train(mode)
        self.encoder.eval()
        return self

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise two or more sentences: `input_ids` and `attention_mask`, (B, L), on the encoder's device."""
        if len(rows) < 2:
            raise ValueError("one text has no negatives: a batch needs two, and each part of it, too (accumulate)")
        return self.encoder.tokenize(rows)

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `contrastive` (Eq. 1); the views are drawn from torch's global generator."""
        u, v = (self._vectors(view, batch["input_ids"], batch["attention_mask"]) for view in self.views)  # (B, D) each
        return {"contrastive": nt_xent(own_first(u), own_first(v), self.temperature)}

    def after_step(self) -> None: ...  # nothing changes between steps

    def _vectors(self, view: str, ids: Tensor, mask: Tensor) -> Tensor:
        """A view of each sentence, encoded in parts: (B, L), (B, L) -> (B, D)."""
        parts = Parts(mask.sum(1), mask.shape[1])
        words = parts.split(self.encoder.word_embeddings(parts.flat(ids)))  # one look-up, as in `encode_in_parts`
        masks = parts.split(parts.flat(mask))
        if view != "shuffle":
            return parts.vectors([self._cut(view, *part) for part in zip(words, masks, strict=True)])
        places, backbone = parts.split(parts.flat(self.first + shuffled_positions(mask))), self.encoder.backbone
        vectors = []
        for x, kept, place in zip(words, masks, places, strict=True):
            output = backbone(inputs_embeds=x, attention_mask=kept, position_ids=place, output_hidden_states=True)
            vectors.append(self.encoder.pool(output.hidden_states, kept))
        return parts.vectors(vectors)

    def _cut(self, view: str, words: Tensor, mask: Tensor) -> Tensor:
        """(B, L, D), (B, L) -> (B, D)."""
        embeddings = cast(nn.Module, self.encoder.backbone.embeddings)
        with embeddings.register_forward_hook(lambda part, inputs, output: CUTS[view](output, mask, self.cutoff)):
            return self.encoder(words, mask)  # the hook goes with the block
