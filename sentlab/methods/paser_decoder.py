"""The throw-away decoder of PaSeR, a small transformer that says phrases from a few vectors, and its beam search.

It has no word embeddings and no output layer. It shares the encoder's word embeddings and its masked-LM head, which
turns a state into words.

Source: Wu and Zhao (2022), section 3.2.3; Vaswani et al. (2017).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

IGNORE = -100  # fills the target rows after their last label


class PhraseDecoder(nn.Module):
    """A pre-norm transformer decoder whose memory is the decoding signal, for targets of up to `length` tokens."""

    def __init__(self, dim: int, length: int, *, layers: int, heads: int, dropout: float):
        super().__init__()
        self.positions = nn.Embedding(length, dim)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerDecoderLayer(
            dim, heads, 4 * dim, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.transformer = nn.TransformerDecoder(layer, layers, norm=nn.LayerNorm(dim))
        self.apply(_initialise)

    def forward(self, signal: Tensor, inputs: Tensor) -> Tensor:
        """Compute a state for each place, from the signal and the words up to it: (B, S, D), (B, T, D) -> (B, T, D)."""
        length = inputs.shape[1]
        x = inputs + self.positions(torch.arange(length, device=inputs.device))
        # padding only ever follows the labels, so this hides it from every place that counts
        causal = nn.Transformer.generate_square_subsequent_mask(length, device=inputs.device)
        states: Tensor = self.transformer(self.dropout(self.norm(x)), signal, tgt_mask=causal, tgt_is_causal=True)
        return states

    def beam_search(
        self,
        signal: Tensor,
        wanted: Tensor,
        embeddings: nn.Embedding,
        head: nn.Module,
        *,
        start: int,
        closing: int,
        beams: int,
    ) -> tuple[Tensor, Tensor]:
        """Search the most likely targets under Eq. 3 with a beam.

        Args:
            signal: (B, S, D).
            wanted: (B,), how many phrases each sentence has. A hypothesis ends with its last `closing`.
            embeddings, head: the encoder's word embeddings and masked-LM head, (..., D) -> (..., V).
            start, closing: token ids of the decoder's first input and of a phrase's end.
            beams: hypotheses kept for each sentence. With 1 the search is greedy.

        Returns:
            The best hypotheses' token ids, (B, T), `IGNORE` after their end, and their log-likelihoods, (B,). A
            hypothesis that ran out of room is returned unfinished.
        """
        count, device = len(signal), signal.device
        memory = signal.repeat_interleave(beams, dim=0)  # (B * K, S, D)
        said = torch.full((count * beams, 1), start, device=device)
        scores = torch.full((count, beams), -torch.inf, device=device)
        scores[:, 0] = 0.0  # all beams start equal: only the first counts
        left = wanted.unsqueeze(1).repeat(1, beams)  # phrases still to be closed, (B, K)
        while (left > 0).any() and said.shape[1] <= self.positions.num_embeddings:
            inputs = said.masked_fill(said == IGNORE, closing)
            last = self(memory, embeddings(inputs))[:, -1]  # (B * K, D)
            log_p = head(last).float().log_softmax(-1).view(count, beams, -1)  # (B, K, V)
            ended = left <= 0
            log_p = log_p.masked_fill(ended.unsqueeze(-1), -torch.inf)
            log_p[..., closing] = torch.where(ended, 0.0, log_p[..., closing])  # what has ended goes on unchanged
            words = log_p.shape[-1]
            scores, choice = (scores.unsqueeze(-1) + log_p).flatten(1).topk(beams)  # (B, K) each
            parent, token = choice // words, choice % words
            rows = (parent + beams * torch.arange(count, device=device).unsqueeze(1)).flatten()
            left, ended = left.gather(1, parent), ended.gather(1, parent)
            token = token.masked_fill(ended, IGNORE)
            left = left - (token == closing).long()
            said = torch.cat([said[rows], token.flatten().unsqueeze(1)], dim=1)
        best = scores.argmax(1)  # (B,)
        rows = best + beams * torch.arange(count, device=device)
        return said[rows, 1:], scores.gather(1, best.unsqueeze(1)).squeeze(1)


def split_phrases(ids: list[int], count: int, closing: int) -> list[list[int]]:
    """Split the ids that a search returns for one sentence at `closing`, into exactly `count` phrases."""
    phrases: list[list[int]] = [[]]
    for token in ids:
        if token == closing:
            phrases.append([])
        elif token != IGNORE:
            phrases[-1].append(token)
    return [*phrases, *([[]] * count)][:count]


def _initialise(part: nn.Module) -> None:
    """BERT's initialisation: normal with deviation 0.02, biases zero (Devlin et al. 2019)."""
    if isinstance(part, nn.Linear | nn.Embedding):
        nn.init.normal_(part.weight, std=0.02)
    if isinstance(part, nn.MultiheadAttention):
        nn.init.normal_(part.in_proj_weight, std=0.02)
        nn.init.zeros_(part.in_proj_bias)
    if isinstance(part, nn.Linear) and part.bias is not None:
        nn.init.zeros_(part.bias)
