"""PaSeR: a sentence vector from which a decoder can say the sentence's important phrases.

Wu and Zhao (2022), "Sentence Representation Learning with Generative Objective rather than Contrastive Objective".
A sentence s is duplicated as s~ with its most important phrases masked, and one encoder turns both into vectors. A
transformer decoder sees only four combinations of the two vectors (Eq. 2) and must say the masked phrases (Eq. 3).
Masked-language modelling on a third copy keeps the token vectors good (Eq. 4). The decoder is thrown away after
training: `PaSeR.encoder` is an ordinary encoder.

Differs from the paper:
  - Eq. 3 is written for one phrase. Here all masked phrases of a sentence form one target, in text order, each closed
    by [SEP], and the decoder starts from [CLS].
  - Eq. 3 sums over the tokens. The loss here is the mean over all target tokens of the batch.
  - The paper leaves the decoder's layers open. Here they are pre-norm, four times as wide inside, with learned
    positions. Its states become words through the encoder's masked-LM head, which is tied to the shared word
    embeddings. A new output layer would first have to learn how frequent words are.
  - The stopwords of RAKE are sentlab's own list. With a view (section 3.1.3), the masked copy's masks are left alone.
  - A phrase that truncation cuts is neither masked nor asked for. The next best phrase takes its place.

Differs from the released code:
  - It takes m (e - e~) and n (e * e~) without the absolute values of Eq. 2, after a linear layer on e~. With the
    pooling "cls" it adds a tanh layer on both. Here Eq. 2 is computed as printed.
  - It reads phrases from a prepared file, uses length 32 and leaves the generative loss out for sentences of 32 tokens
    or more. Here every sentence counts, with the phrases that lie within the encoder's max_length.
  - It shares the whole embedding layer with a post-norm BART decoder. Here the word embeddings alone are shared.
  - It computes logits at every padded position. Here only labelled positions have logits, which gives the same loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.encoder.batches import padded
from sentlab.encoder.inference import evaluating
from sentlab.methods.arguments import check_above_zero, check_count, check_encoder, check_rows, check_share
from sentlab.methods.paser_decoder import IGNORE, PhraseDecoder, split_phrases
from sentlab.text.phrases import Phrase, mask_spans, rake_phrases
from sentlab.text.views import View, viewed
from sentlab.training.chunks import Parts, encode_in_parts
from sentlab.training.dropout import dropout_of
from sentlab.training.losses import head_cross_entropy, mask_tokens, masked_lm_loss


def decoding_signal(e: Tensor, e_masked: Tensor, m: float, n: float) -> Tensor:
    """Build the decoder's only view of a sentence: `[e, e~, m |e - e~|, n |e * e~|]`.

    Args:
        e, e_masked: vectors of the sentences, and of the same with their phrases masked, (B, D) each.
        m, n: the scales of the difference and of the product. The paper's grid search chose 10 and 10.

    Returns:
        A memory of four vectors for each sentence, (B, 4, D).

    Source: PaSeR, Eq. 2.

    Example:
        >>> decoding_signal(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, -1.0]]), m=10, n=0.5).tolist()
        [[[1.0, 2.0], [1.0, -1.0], [0.0, 30.0], [0.5, 1.0]]]
    """
    return torch.stack([e, e_masked, m * (e - e_masked).abs(), n * (e * e_masked).abs()], dim=1)


def generative_loss(states: Tensor, targets: Tensor, head: nn.Module) -> Tensor:
    """Compute the mean negative log-likelihood of the phrase tokens, with logits at the labelled positions only.

    Args:
        states: the decoder's output at each target position, which depends on the targets before it, (..., D).
        targets: token ids, `IGNORE` where there is none, (...).
        head: the masked-LM head, (N, D) -> (N, V) logits.

    Returns:
        A float32 scalar, in nats per target token. It is zero, with a graph, when there is no label at all.

    Source: PaSeR, Eq. 3, averaged over the tokens of the batch.
    """
    labelled = targets != IGNORE  # N of them true
    return head_cross_entropy(head, states[labelled], targets[labelled])


class PaSeR(nn.Module):
    """Trains `encoder` to keep the important phrases of a sentence in its vector.

    The decoder starts random, and the dev score falls before it rises. In a short run, first train the decoder alone:
    `encoder.requires_grad_(False)`, one `fit`, and `encoder.requires_grad_(True)` for the next.

    Args:
        encoder: trained in place, its masked-LM head too. Its pooling makes the sentence vectors.
        decoder_layers: layers of the throw-away decoder. The paper found 6 best (Fig. 4).
        m, n: scales in Eq. 2, above 0.
        top_phrases: how many phrases of a sentence are masked and asked for, at most. Three suffice (Table 5).
        phrases: text -> its phrases without overlap, the most important first. The text is what the encoder reads of a
            sentence. RAKE is the default (Table 5).
        view: (words, random numbers) -> words, drawn anew for both copies of each sentence (Table 4). It reads a masked
            token as "[MASK]" and must keep it, as the views with `keep` in `sentlab.text.views` do; `random_crop` and
            `srl_guided` do not. None leaves the sentence unchanged.
        mlm: add the masked-language-model loss of Eq. 4.
        decoder_heads: attention heads of the decoder. None takes as many as the encoder has.
        dropout: of the decoder, in [0, 1). None takes the encoder's.

    Raises:
        ValueError: names an argument out of range. Also an encoder without a masked-LM head, heads that do not divide
            its width, or word embeddings of another width than the encoder.

    Example:
        >>> encoder = sentlab.Encoder.from_pretrained()
        >>> method = sentlab.methods.PaSeR(encoder, decoder_layers=2)

        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
        >>> encoder.encode(["The old farmer sold his horse."]).shape  # the decoder is no part of it
        (1, 128)
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        decoder_layers: int = 6,
        m: float = 10.0,
        n: float = 10.0,
        top_phrases: int = 3,
        phrases: Callable[[str], Sequence[Phrase]] = rake_phrases,
        view: View | None = None,
        mlm: bool = True,
        decoder_heads: int | None = None,
        dropout: float | None = None,
    ):
        check_encoder(encoder)
        super().__init__()
        if encoder.lm_head is None:
            raise ValueError(
                "this encoder's checkpoint has no masked-LM head, and PaSeR's decoder needs it to say words: "
                "choose one that has it, such as the language model that the encoder was made from"
            )
        config = encoder.backbone.config
        dim = config.hidden_size
        heads = int(config.num_attention_heads) if decoder_heads is None else decoder_heads
        dropout = max(dropout_of(encoder).values(), default=0.0) if dropout is None else dropout
        check_above_zero(m=m, n=n)
        check_count(decoder_layers=decoder_layers, top_phrases=top_phrases, decoder_heads=heads)
        check_share(dropout=dropout)
        if encoder.word_embeddings.embedding_dim != dim:
            raise ValueError(
                f"the word embeddings are {encoder.word_embeddings.embedding_dim} wide, the encoder {dim}: "
                "the decoder cannot share them; choose an encoder with one width"
            )
        if dim % heads:
            raise ValueError(f"decoder_heads={heads} does not divide the encoder's width {dim}")
        self.encoder, self.m, self.n, self.top_phrases, self.mlm = encoder, m, n, top_phrases, mlm
        self.phrases, self.view = phrases, view
        self.max_length = encoder.max_length
        longest = self.max_length + top_phrases  # a target has fewer tokens than its sentence, and one [SEP] a phrase
        self.decoder = PhraseDecoder(dim, longest, layers=decoder_layers, heads=heads, dropout=dropout)
        self.to(encoder.device)

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise B sentences, duplicate and mask (3.1.2). Views and corruption come from torch's global generator.

        Returns:
            Tensors on the encoder's device. `input_ids` and `masked_ids` (B, L) with `attention_mask` and
            `masked_attention_mask`. `targets` (B, T) are the tokens of each masked phrase with a [SEP] after it, then
            `IGNORE`. With `mlm` also `corrupted_ids` and `chosen` (B, L).

        Raises:
            TypeError: a row is not a plain string.
            ValueError: there are no rows.
        """
        batch, phrases = self._duplicate_and_mask(rows)
        tokenizer, labels = self.encoder.tokenizer, []
        for ids, found in zip(batch["input_ids"].tolist(), phrases, strict=True):
            labels.append([i for _, places in found for i in [*(ids[p] for p in places), tokenizer.sep_token_id]])
        longest = max(1, *map(len, labels))  # a column at least, so that the decoder always takes part in the graph
        if self.view is not None:
            batch = self._viewed(rows, phrases)
        batch["targets"] = torch.tensor([row + [IGNORE] * (longest - len(row)) for row in labels])  # (B, T)
        special = batch.pop("special")
        if self.mlm:
            batch["corrupted_ids"], batch["chosen"] = mask_tokens(
                batch["input_ids"], special, tokenizer.mask_token_id, len(tokenizer)
            )
        return {name: tensor.to(self.encoder.device) for name, tensor in batch.items()}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `generative` (Eq. 3) and, with `mlm`, `mlm`. Their sum is Eq. 4."""
        e, e_masked, hidden = self._encode(batch)  # E_s (B, D), E_s~ (B, D), tokens of the corrupted copy (B, L, D)
        signal = decoding_signal(e, e_masked, self.m, self.n)  # Eq. 2, (B, 4, D)
        states = self._decode(signal, batch["targets"])  # (B, T, D)
        losses = {"generative": generative_loss(states, batch["targets"], self._head)}  # Eq. 3
        if self.mlm:
            losses["mlm"] = masked_lm_loss(self._head, hidden, batch["input_ids"], batch["chosen"])
        return losses

    def _encode(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """E_s and E_s~, (B, D) each, and the last hidden states of the corrupted copy, (B, L, D) with `mlm`."""
        masks = {"input_ids": "attention_mask", "masked_ids": "masked_attention_mask"}
        if self.mlm:
            masks["corrupted_ids"] = "attention_mask"
        ids, mask = (torch.cat([batch[name] for name in names]) for names in (masks, masks.values()))  # (3B, L) each
        vectors, hidden = encode_in_parts(self.encoder, ids, mask)  # (3B, D) and (3B, L, D)
        count = len(batch["input_ids"])
        return vectors[:count], vectors[count : 2 * count], hidden[2 * count :]

    def _decode(self, signal: Tensor, targets: Tensor) -> Tensor:
        """The decoder's states from the signal (B, 4, D) and the target tokens before each place, (B, T, D)."""
        parts = Parts((targets != IGNORE).sum(1), targets.shape[1])
        words = parts.split(self.encoder.word_embeddings(parts.flat(self._teacher_inputs(targets))))
        return parts.places([self.decoder(signal[r], part) for r, part in zip(parts.rows, words, strict=True)])

    @property
    def _head(self) -> nn.Module:
        assert self.encoder.lm_head is not None
        return self.encoder.lm_head

    def after_step(self) -> None:
        """Change nothing between steps."""

    def reconstruct(
        self, sentences: Sequence[str], phrases: Sequence[Sequence[Phrase]] | None = None, *, beams: int = 1
    ) -> list[list[tuple[Phrase, str]]]:
        """Mask phrases and let the decoder say them (section 5.2).

        Args:
            sentences: B texts.
            phrases: B lists, what to mask in each text. None takes the phrases that training would mask.
            beams: hypotheses of the beam search. With 1 it is greedy.

        Returns:
            For each sentence its masked phrases in text order, each with the words that the decoder says for it. The
            words are empty where it ran out of room before that phrase.

        Raises:
            ValueError: not one list of phrases for each sentence, a phrase that is not wholly within what the encoder
                reads of its sentence, or beams below 1.
        """
        check_count(beams=beams)
        tokenizer, closing = self.encoder.tokenizer, self.encoder.tokenizer.sep_token_id
        batch, found = self._duplicate_and_mask(sentences, phrases)
        ids, masked, mask = (
            batch[name].to(self.encoder.device) for name in ("input_ids", "masked_ids", "attention_mask")
        )
        with evaluating(self), torch.no_grad():
            e, e_masked = self.encoder(ids, mask), self.encoder(masked, mask)  # (B, D) each
            said, _ = self.decoder.beam_search(
                decoding_signal(e, e_masked, self.m, self.n),
                torch.tensor([len(row) for row in found], device=mask.device),
                self.encoder.word_embeddings,
                self._head,
                start=tokenizer.cls_token_id,
                closing=closing,
                beams=beams,
            )
        return [
            [
                (phrase, str(tokenizer.decode(words)))
                for (phrase, _), words in zip(row, split_phrases(own, len(row), closing), strict=True)
            ]
            for row, own in zip(found, said.tolist(), strict=True)
        ]

    def _duplicate_and_mask(
        self, sentences: Sequence[str], phrases: Sequence[Sequence[Phrase]] | None = None
    ) -> tuple[dict[str, Tensor], list[list[tuple[Phrase, list[int]]]]]:
        """The token ids of s and s~, their masks and the special tokens, (B, L) each. Also each sentence's phrases in
        text order, with the places of their tokens."""
        check_rows(sentences, str, "PaSeR")
        if self.encoder.max_length > self.max_length:
            raise ValueError(
                f"the encoder reads {self.encoder.max_length} tokens, but this PaSeR was made for {self.max_length}: "
                "set max_length before you make it"
            )
        if phrases is not None and len(phrases) != len(sentences):
            raise ValueError(f"{len(phrases)} lists of phrases for {len(sentences)} sentences: give one list for each")
        encoded = padded(self.encoder, sentences)
        masked, found = [], []
        for number, (sentence, tokens) in enumerate(zip(sentences, encoded.encodings, strict=True)):
            cut = bool(tokens.overflowing)  # then the text ends where the last token does
            end = max(b for _, b in tokens.offsets) if cut else len(sentence)
            if phrases is None:  # one that reaches the cut may continue after it
                chosen = [phrase for phrase in self.phrases(sentence[:end]) if not cut or phrase.end < end]
                chosen = chosen[: self.top_phrases]
            else:
                chosen = list(phrases[number])
                if outside := [p for p in chosen if p.end > end or sentence[p.start : p.end] != p.text]:
                    raise ValueError(f"sentence {number} does not hold {outside[0]} within its first {end} characters")
            chosen.sort(key=lambda phrase: phrase.start)
            if crossing := [(a, b) for a, b in pairwise(chosen) if a.end > b.start]:
                raise ValueError(
                    f"sentence {number}: {crossing[0][0]} and {crossing[0][1]} overlap; leave one of them out"
                )
            ids, places = mask_spans(tokens.ids, tokens.offsets, chosen, self.encoder.tokenizer.mask_token_id)
            masked.append(ids)
            found.append([(phrase, place) for phrase, place in zip(chosen, places, strict=True) if place])
        ids, mask, special = encoded["input_ids"], encoded["attention_mask"], encoded["special_tokens_mask"]
        return _copies(ids, torch.tensor(masked), mask, mask, special), found

    def _viewed(self, sentences: Sequence[str], phrases: list[list[tuple[Phrase, list[int]]]]) -> dict[str, Tensor]:
        """The same tensors of a view of each sentence, and of a view of its masked copy (section 3.1.3)."""
        assert self.view is not None
        copies = list(sentences)
        for sentence, found in zip(sentences, phrases, strict=True):
            for phrase, places in reversed(found):
                masks = f" {self.encoder.tokenizer.mask_token}" * len(places) + " "
                sentence = sentence[: phrase.start] + masks + sentence[phrase.end :]
            copies.append(sentence)
        encoded = padded(self.encoder, viewed(copies, self.view, self.encoder.tokenizer.mask_token))
        names = ("input_ids", "attention_mask", "special_tokens_mask")
        (ids, masked), (mask, masked_mask), (special, _) = (encoded[name].split(len(sentences)) for name in names)
        return _copies(ids, masked, mask, masked_mask, special)

    def _teacher_inputs(self, targets: Tensor) -> Tensor:
        """The decoder's input at each place, [CLS] or the target before it: (B, T) -> (B, T)."""
        tokenizer = self.encoder.tokenizer
        before = targets[:, :-1].masked_fill(targets[:, :-1] == IGNORE, tokenizer.pad_token_id)
        return F.pad(before, (1, 0), value=tokenizer.cls_token_id)


def _copies(ids: Tensor, masked_ids: Tensor, mask: Tensor, masked_mask: Tensor, special: Tensor) -> dict[str, Tensor]:
    tokens = {"input_ids": ids, "attention_mask": mask, "special": special}
    return tokens | {"masked_ids": masked_ids, "masked_attention_mask": masked_mask}
