"""SLICE: the mean of the token vectors of any span is that span's vector, so one pass serves all spans of a text.

Orbach et al. (2024), "SLICE (Span-aggregated Late Interaction Contextualized Embeddings)". A row is a phrase q, a
passage p_true that holds something similar, and a passage p_false that does not. Only the span of each passage that
is most similar to q enters the loss (section 3.1). The rows thus need no labelled spans::

    L = -scale sim_true + log(exp(scale sim_true) + exp(scale sim_false)),   similarities in [0, 1]

The best span is found without gradient, and it alone is computed again with one. The gradient of a maximum is that of
the largest element, so this gives the same gradient and keeps no vectors of the other spans.

Differs from the paper:
  - It takes words and sub-words for the same. Here spans are of words, whose sub-words stay together. `words=False`
    takes tokens. `sentlab.text.words.word_boundaries` defines what counts as a word, in training and in search.
  - It does not say whether [CLS] and [SEP] count. Here no span and no query holds them.
  - It has no negatives from the batch. Here `in_batch=True` adds the best spans of all its other passages.
  - The book's `StartEnd` stands in for DensePhrases, which is trained on questions and their answers. It trains on
    SLICE's rows by SLICE's loss, so the two differ only in a span's vector.

Differs from the released code:
  - None was released.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.encoder.inference import padded
from sentlab.encoder.pooling import masked_mean
from sentlab.text.words import word_boundaries
from sentlab.training.losses import encode_in_parts
from sentlab.training.processes import of_all_processes


@torch.no_grad()
def find_best_spans(
    queries: Tensor, tokens: Tensor, units: Tensor, min_size: int, max_size: int
) -> tuple[Tensor, Tensor]:
    """Find where the span with the highest cosine lies, for every query and passage of a group.

    A span's vector is a difference of two cumulated vectors, so its dot product with a query is one too. Sums cumulate
    in float64 over a passage, because such a difference may be small.

    Args:
        queries: (G, Q, D), G groups of Q queries.
        tokens: (G, P, L, D), last-layer vectors of the P passages of each group. Zeros where a token is in no span.
        units: (G, P, L), each token's unit (its word), from 0 in a passage. Special tokens and padding have -1.
        min_size, max_size: units in a span.

    Returns:
        The first unit of the span and the one after its last, (G, Q, P) each. Among equally good spans the shortest
        wins, then the first, but for rounding. Both are 0 where a passage has fewer than `min_size` units.

    Source: SLICE, section 3.1, spans(S), sim_true and sim_false.
    """
    most = int(units.max()) + 1
    cumulated = tokens.new_zeros((*units.shape[:2], most + 1, tokens.shape[-1]), dtype=torch.float64)
    cumulated.scatter_add_(2, (units + 1).unsqueeze(-1).expand_as(tokens), tokens.double())
    cumulated = cumulated.cumsum(dim=2)  # (G, P, W + 1, D)
    dots = torch.einsum("gqd,gpwd->gqpw", F.normalize(queries.double(), dim=-1), cumulated)
    best = torch.full_like(dots[..., 0], -torch.inf)  # (G, Q, P)
    start = end = torch.zeros_like(best, dtype=torch.long)
    for size in range(min_size, min(max_size, most) + 1):
        norms = (cumulated[:, :, size:] - cumulated[:, :, :-size]).norm(dim=-1).unsqueeze(1)  # (G, 1, P, W + 1 - size)
        cosines = (dots[..., size:] - dots[..., :-size]) / norms.clamp(min=torch.finfo(norms.dtype).tiny)
        score, place = cosines.masked_fill(outside(units, size), -torch.inf).max(dim=-1)  # (G, Q, P)
        better = score > best
        best = torch.where(better, score, best)
        start, end = torch.where(better, place, start), torch.where(better, place + size, end)
    return start, end


def outside(units: Tensor, size: int) -> Tensor:
    """Where no span of `size` units starts, since the passage ends before: (G, P, L) -> (G, 1, P, W + 1 - size)."""
    count = units.amax(dim=-1, keepdim=True) + 1  # (G, P, 1)
    return (torch.arange(size, int(count.max()) + 1, device=units.device) > count).unsqueeze(1)


def best_span_similarities(queries: Tensor, tokens: Tensor, units: Tensor, min_size: int, max_size: int) -> Tensor:
    """Compute the similarity of every query of a group to the best span of each of its passages, with a gradient.

    The arguments are those of `find_best_spans`, but tokens may be anything where units are -1. The result (G, Q, P) is
    (1 + cosine) / 2 in [0, 1], or 0 where a passage has no span.

    Source: SLICE, section 3.1, sim_true and sim_false.
    """
    tokens = tokens.masked_fill((units < 0).unsqueeze(-1), 0.0)
    start, end = find_best_spans(queries, tokens, units, min_size, max_size)
    unit = units.unsqueeze(1)  # (G, 1, P, L)
    inside = (start.unsqueeze(-1) <= unit) & (unit < end.unsqueeze(-1))  # (G, Q, P, L)
    spans = torch.einsum("gqpl,gpld->gqpd", inside.to(tokens.dtype), tokens)  # sums: they have the cosine of the means
    cosines = F.cosine_similarity(queries.unsqueeze(2), spans, dim=-1)
    return ((1 + cosines) / 2).masked_fill(start == end, 0.0)


class SLICE(nn.Module):
    """Trains `encoder` on `Triple` rows: a phrase, a passage with a paraphrase of it, and a passage without one.

    A query is the mean of the phrase's own tokens in the last layer, like any span, and like the mean over what
    `encode_tokens` returns. `encode` pools [CLS] and [SEP] as well, so its vectors differ slightly.

    Args:
        encoder: trained in place. Its pooling must be "mean". Longer passages than its max_length are cut, and warn.
        min_size, max_size: words in a span, or tokens. The paper trains with 1 to 10 and searches 1 to 20.
        scale: what similarities in [0, 1] are multiplied by; 30 in the paper.
        in_batch: False is the paper's loss: a query has one negative, its own. True adds all passages of the other rows
            as negatives (InfoNCE with the same scale). This is ours.
        words: True keeps the sub-words of a word together. False takes spans of tokens.

    Example:
        >>> method = sentlab.methods.SLICE(sentlab.Encoder.from_pretrained(pooling="mean"))
        >>> history = sentlab.fit(method, triples, sentlab.TrainConfig(steps=2, batch_size=4), progress=False)
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        min_size: int = 1,
        max_size: int = 10,
        scale: float = 30.0,
        in_batch: bool = False,
        words: bool = True,
    ):
        super().__init__()
        if encoder.pooling != "mean":
            raise ValueError(f"SLICE takes the mean of tokens, the encoder {encoder.pooling!r}: load it with 'mean'")
        if not 1 <= min_size <= max_size:
            raise ValueError(f"it must be 1 <= {min_size=} <= {max_size=}")
        self.encoder, self.min_size, self.max_size, self.scale = encoder, min_size, max_size, scale
        self.in_batch, self.words = in_batch, words
        self.to(encoder.device)

    def collate(self, rows: Sequence[Triple]) -> dict[str, Tensor]:
        """Tokenise B triples.

        Gives `input_ids`, `attention_mask` and `units` (B, 2, L) of the passages, positive and negative. For phrases
        `query_input_ids`, `query_attention_mask` and `query_units` (B, L'). `find_best_spans` explains `units`.
        """
        queries = self._tokenize([row.anchor for row in rows])
        empty = (queries["units"] < 0).all(dim=1).nonzero()
        if len(empty):
            raise ValueError(f"row {int(empty[0])} has a phrase without a token: {rows[int(empty[0])].anchor!r}")
        passages = self._tokenize([text for row in rows for text in (row.positive, row.negative)])
        batch = {name: tensor.view(len(rows), 2, -1) for name, tensor in passages.items()}
        return batch | {f"query_{name}": tensor for name, tensor in queries.items()}

    def _tokenize(self, texts: list[str]) -> dict[str, Tensor]:
        """Tokenise as `Encoder.tokenize` does, and number the units: (N, L) each."""
        batch = padded(self.encoder, texts)
        if any(encoding.overflowing for encoding in batch.encodings):
            cut = f"texts are cut at max_length={self.encoder.max_length} tokens, and SLICE sees no match behind that"
            warnings.warn(cut, stacklevel=2)
        tensors = {name: batch[name] for name in ("input_ids", "attention_mask")}
        tensors["units"] = torch.full_like(tensors["input_ids"], -1)
        for row, encoding, text in zip(tensors["units"], batch.encodings, texts, strict=True):
            places = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]  # nor padding
            offsets = np.array([encoding.offsets[place] for place in places], dtype=np.int64).reshape(-1, 2)
            edges = word_boundaries(text, offsets) if self.words else np.arange(len(places) + 1)
            row[places] = torch.from_numpy(np.repeat(np.arange(len(edges) - 1), np.diff(edges)))
        return {name: tensor.to(self.encoder.device) for name, tensor in tensors.items()}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `contrastive`: L, the cross entropy of p_true against p_false (section 3.1)."""
        rows = len(batch["units"])
        _, hidden = encode_in_parts(self.encoder, batch["query_input_ids"], batch["query_attention_mask"])  # (B, L', D)
        queries = self.phrase_vectors(hidden.float(), batch["query_units"])
        ids, mask = batch["input_ids"].flatten(0, 1), batch["attention_mask"].flatten(0, 1)
        _, hidden = encode_in_parts(self.encoder, ids, mask)
        tokens = hidden.float()  # (2B, L, D)
        if self.in_batch:
            queries = torch.cat(of_all_processes(queries))  # (Q, D), B of them without other processes
        groups = 1 if self.in_batch else rows  # all queries with all passages, or each with its own two
        queries = queries.view(groups, -1, queries.shape[-1])
        tokens = tokens.view(groups, -1, *tokens.shape[1:])
        units = batch["units"].view(tokens.shape[:3])
        with torch.autocast(tokens.device.type, enabled=False):  # it would multiply the matrices in bfloat16
            similarities = self.similarities(queries, tokens, units).flatten(0, 1)  # (B, 2), or (Q, 2B)
        positives = ids.new_zeros(rows)
        if self.in_batch:
            similarities = torch.cat(of_all_processes(similarities), dim=1)  # (Q, 2Q)
            positives = torch.arange(len(queries[0]), device=tokens.device) * 2
        return {"contrastive": F.cross_entropy(self.scale * similarities, positives)}

    def phrase_vectors(self, tokens: Tensor, units: Tensor) -> Tensor:
        """Make the phrases' vectors: (B, L', D), (B, L') -> (B, D). A subclass may make others."""
        return masked_mean(tokens, units >= 0)

    def similarities(self, queries: Tensor, tokens: Tensor, units: Tensor) -> Tensor:
        """Compare as `best_span_similarities` does. A subclass may read a passage otherwise."""
        return best_span_similarities(queries, tokens, units, self.min_size, self.max_size)

    def after_step(self) -> None: ...  # nothing changes between steps
