"""PaSeR: a sentence vector from which a decoder can say the sentence's important phrases.

Wu and Zhao (2022), "Sentence Representation Learning with Generative Objective rather than Contrastive Objective".
A sentence s is duplicated as s~ with its most important phrases masked, one encoder turns both into vectors, and a
transformer decoder that sees nothing but four combinations of the two vectors (Eq. 2) must say the masked phrases
(Eq. 3). Masked-language modelling on a third copy keeps the token vectors good (Eq. 4). The decoder is thrown away
after training: `PaSeR.encoder` is an ordinary encoder.

Differs from the paper:
  - Eq. 3 is written for one phrase; here all masked phrases of a sentence form one target, in text order, each closed
    by [SEP], and the decoder starts from [CLS].
  - Eq. 3 sums over the tokens; the loss here is the mean over all target tokens of the batch.
  - The paper leaves the decoder's layers open: here pre-norm, four times as wide inside, with learned positions. Its
    states become words through the encoder's masked-LM head, which is tied to the shared word embeddings; an output
    layer of its own would first have to learn how frequent words are.
  - The stopwords of RAKE are sentlab's own list. With a view (section 3.1.3), the masked copy's masks are left alone.
  - A phrase that truncation cuts is neither masked nor asked for; the next best phrase takes its place.

Differs from the released code:
  - It takes m (e - e~) and n (e * e~) without the absolute values of Eq. 2, after a linear layer on e~ and, where the
    pooling is "cls", a tanh layer on both; here Eq. 2 is computed as printed.
  - It reads phrases from a prepared file, uses length 32 and leaves the generative loss out for sentences of 32 tokens
    or more; here every sentence counts, with the phrases that lie within the encoder's max_length.
  - It shares the whole embedding layer with a post-norm BART decoder; here the word embeddings alone are shared.
  - It computes logits at every padded position; here only where there is a label, which gives the same loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.encoder import Encoder
from sentlab.encoder.inference import evaluating
from sentlab.methods.arguments import check_above_zero, check_count, check_rows, check_share
from sentlab.methods.paser_decoder import IGNORE, PhraseDecoder
from sentlab.text.phrases import Phrase, mask_spans, rake_phrases
from sentlab.text.views import View, viewed
from sentlab.training.losses import head_cross_entropy, mask_tokens

ROWS_PER_PART = 22  # on a CPU, rows of like length that go together through the encoder, or the decoder


def decoding_signal(e: Tensor, e_masked: Tensor, m: float, n: float) -> Tensor:
    """The decoder's only view of a sentence: `[e, e~, m |e - e~|, n |e * e~|]`.

    Args:
        e: vectors of the sentences, (B, D).
        e_masked: vectors of the same sentences with their phrases masked, (B, D).
        m, n: the scales of the difference and of the product; the paper's grid search chose 10 and 10.

    Returns:
        A memory of four vectors a sentence, (B, 4, D).

    Source: PaSeR, Eq. 2.
    """
    return torch.stack([e, e_masked, m * (e - e_masked).abs(), n * (e * e_masked).abs()], dim=1)


def generative_loss(states: Tensor, targets: Tensor, head: nn.Module) -> Tensor:
    """Mean negative log-likelihood of the phrase tokens, with logits at the labelled positions only.

    Args:
        states: the decoder's output at each target position, having read the targets before it, (..., D).
        targets: token ids, `IGNORE` where there is none, (...).
        head: the masked-LM head, (N, D) -> (N, V) logits.

    Returns:
        A float32 scalar, in nats per target token; zero (with a graph) when there is no label at all.

    Source: PaSeR, Eq. 3, averaged over the tokens of the batch.
    """
    labelled = targets != IGNORE  # N of them true
    return head_cross_entropy(head, states[labelled], targets[labelled])


class PaSeR(nn.Module):
    """Trains `encoder` to keep the important phrases of a sentence in its vector.

    Args:
        encoder: trained in place, its masked-LM head too; its pooling makes the sentence vectors.
        decoder_layers: layers of the throw-away decoder (the paper found 6 best, Fig. 4).
        m, n: scales in Eq. 2.
        top_phrases: how many phrases of a sentence are masked and asked for, at most (Table 5: 3 suffice).
        phrases: sentence -> its phrases without overlap, the most important first; RAKE's by default (Table 5).
        view: (words, random numbers) -> words, drawn anew for both copies of each sentence; it must leave the mask
            token as it is, as those of `sentlab.text.views` do. None: the sentence as it stands (Table 4).
        mlm: add the masked-language-model loss of Eq. 4.
        decoder_heads: attention heads of the decoder; None: as many as the encoder has.
        dropout: of the decoder.

    Raises:
        ValueError: an encoder without a masked-LM head, heads that do not divide its width, or word embeddings of
            another width than the encoder.
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
        dropout: float = 0.1,
    ):
        super().__init__()
        if encoder.lm_head is None:
            raise ValueError(
                "this encoder's checkpoint has no masked-LM head, through which the decoder speaks: "
                "choose one that has it, such as the language model that the encoder was made from"
            )
        dim = encoder.dim
        heads = int(encoder.backbone.config.num_attention_heads) if decoder_heads is None else decoder_heads
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
        # a target has fewer tokens than its sentence, and one [SEP] a phrase
        longest = encoder.max_length + top_phrases
        self.decoder = PhraseDecoder(dim, longest, layers=decoder_layers, heads=heads, dropout=dropout)
        self.to(encoder.device)

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise, duplicate and mask (section 3.1.2); draws views and corruption from torch's global generator.

        Args:
            rows: B plain sentences.

        Returns:
            `input_ids` and `masked_ids` (B, L) with `attention_mask` and `masked_attention_mask`; `targets` (B, T), the
            tokens of each masked phrase with a [SEP] behind it, then `IGNORE` (nothing else for a sentence without a
            phrase); with `mlm` also `corrupted_ids` and `chosen` (B, L). All on the encoder's device.

        Raises:
            TypeError: a row is not a plain string.
            ValueError: there are no rows.
        """
        batch, phrases = self._duplicate_and_mask(rows)
        closing = self.encoder.tokenizer.sep_token_id
        labels = []
        for ids, found in zip(batch["input_ids"].tolist(), phrases, strict=True):
            labels.append([i for _, places in found for i in [*(ids[place] for place in places), closing]])
        longest = max(1, *map(len, labels))  # a column at least, so that the decoder always takes part in the graph
        if self.view is not None:
            batch = self._viewed(rows, phrases)
        batch["targets"] = torch.tensor([row + [IGNORE] * (longest - len(row)) for row in labels])  # (B, T)
        if self.mlm:
            tokenizer = self.encoder.tokenizer
            batch["corrupted_ids"], batch["chosen"] = mask_tokens(
                batch["input_ids"], batch["special"], tokenizer.mask_token_id, len(tokenizer)
            )
        del batch["special"]
        return {name: tensor.to(self.encoder.device) for name, tensor in batch.items()}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """`generative` (Eq. 3) and, where asked for, `mlm`; their sum is Eq. 4."""
        targets, inputs = batch["targets"], self._teacher_inputs(batch["targets"])
        read = _by_length(torch.maximum(batch["attention_mask"].sum(1), batch["masked_attention_mask"].sum(1)))
        said = _by_length((targets != IGNORE).sum(1))
        parts = [{name: x[rows, :end] for name, x in batch.items() if name != "targets"} for rows, end in read]
        before = [inputs[rows, :end] for rows, end in said]
        words = iter(self._look_up([*map(self._copies, parts), *before]))
        encoded = [self._encode(part, next(words)) for part in parts]
        signal, hidden, labels = (torch.cat(pieces) for pieces in zip(*encoded, strict=True))
        signal = signal[torch.cat([rows for rows, _ in read]).argsort()]  # in the order of the batch again
        states = torch.cat([self.decoder(signal[rows], next(words)).flatten(0, 1) for rows, _ in said])
        targets = torch.cat([targets[rows, :end].flatten() for rows, end in said])
        losses = {"generative": generative_loss(states, targets, self._head)}
        if self.mlm:
            losses["mlm"] = head_cross_entropy(self._head, hidden, labels)
        return losses

    @property
    def _head(self) -> nn.Module:
        assert self.encoder.lm_head is not None
        return self.encoder.lm_head

    def _copies(self, batch: dict[str, Tensor]) -> Tensor:
        """What the encoder reads, the copies one below the other, (2B or 3B, L)."""
        names = ["input_ids", "masked_ids", *(["corrupted_ids"] if self.mlm else [])]
        return torch.cat([batch[name] for name in names])

    def _look_up(self, ids: Sequence[Tensor]) -> list[Tensor]:
        """Word embeddings, (...) -> (..., D) each; at once, for the gradient of every look-up fills a (V, D) matrix."""
        found = self.encoder.word_embeddings(torch.cat([own.flatten() for own in ids]))
        return [x.view(*own.shape, -1) for own, x in zip(ids, found.split([x.numel() for x in ids]), strict=True)]

    def _encode(self, batch: dict[str, Tensor], copies: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The decoding signal, (B, 4, D), from the word embeddings of a batch's copies, (2B or 3B, L, D); the last
        hidden states of the corrupted copy where a token was chosen, (M, D), and those tokens, (M,)."""
        mask, count = batch["attention_mask"], len(batch["attention_mask"])
        masks = [mask, batch["masked_attention_mask"], *([mask] if self.mlm else [])]
        # the copies are padded alike, so one pass of the encoder serves them all
        hidden = self.encoder.hidden_states(copies, torch.cat(masks))  # each (2B or 3B, L, D)
        vectors = self.encoder.pool(tuple(h[: 2 * count] for h in hidden), torch.cat(masks[:2]))  # (2B, D)
        chosen = batch.get("chosen", torch.zeros_like(mask, dtype=torch.bool))
        signal = decoding_signal(vectors[:count], vectors[count:], self.m, self.n)
        return signal, hidden[-1][-count:][chosen], batch["input_ids"][chosen]

    def after_step(self) -> None:
        """Nothing changes between steps."""

    def reconstruct(
        self, sentences: Sequence[str], phrases: Sequence[Sequence[Phrase]] | None = None, *, beams: int = 1
    ) -> list[list[tuple[Phrase, str]]]:
        """Mask phrases and let the decoder say them (section 5.2).

        Args:
            sentences: B texts.
            phrases: what to mask in each; None: the phrases that training would mask.
            beams: hypotheses of the beam search; 1 is greedy.

        Returns:
            For each sentence its masked phrases in text order, each with the words that the decoder says for it (empty
            where it ran out of room before that phrase).

        Raises:
            ValueError: not one list of phrases for each sentence, a phrase that is not wholly within what the encoder
                reads of its sentence, or beams below 1.
        """
        if beams < 1:
            raise ValueError(f"beams must be at least 1, got {beams}")
        tokenizer = self.encoder.tokenizer
        with evaluating(self), torch.no_grad():
            batch, found = self._duplicate_and_mask(sentences, phrases)
            batch = {name: tensor.to(self.encoder.device) for name, tensor in batch.items()}
            mask = batch["attention_mask"]
            e, e_masked = self.encoder(batch["input_ids"], mask), self.encoder(batch["masked_ids"], mask)  # (B, D) each
            said, _ = self.decoder.beam_search(
                decoding_signal(e, e_masked, self.m, self.n),
                torch.tensor([len(row) for row in found], device=mask.device),
                self.encoder.word_embeddings,
                self._head,
                start=tokenizer.cls_token_id,
                closing=tokenizer.sep_token_id,
                beams=beams,
            )
        return [
            [(phrase, words) for (phrase, _), words in zip(row, self._words(ids, len(row)), strict=True)]
            for row, ids in zip(found, said.tolist(), strict=True)
        ]

    def _duplicate_and_mask(
        self, sentences: Sequence[str], phrases: Sequence[Sequence[Phrase]] | None = None
    ) -> tuple[dict[str, Tensor], list[list[tuple[Phrase, list[int]]]]]:
        """Token ids, masks, masked ids and special-token flags (B, L); for each sentence its phrases in text order,
        with the positions of their tokens."""
        check_rows(sentences, str, "PaSeR")
        if phrases is not None and len(phrases) != len(sentences):
            raise ValueError(f"{len(phrases)} lists of phrases for {len(sentences)} sentences: give one list for each")
        encoded = self._tokenise(sentences, offsets=True)
        masked, found = [], []
        for number, sentence in enumerate(sentences):
            offsets = encoded["offset_mapping"][number]
            cut = bool(encoded.encodings[number].overflowing)  # then the text ends where the last token does
            end = max(b for _, b in offsets) if cut else len(sentence)
            if phrases is None:  # one that reaches the cut may continue after it
                chosen = [phrase for phrase in self.phrases(sentence[:end]) if not cut or phrase.end < end]
                chosen = chosen[: self.top_phrases]
            else:
                chosen = list(phrases[number])
                if outside := [p for p in chosen if p.end > end or sentence[p.start : p.end] != p.text]:
                    raise ValueError(f"sentence {number} does not hold {outside[0]} within its first {end} characters")
            chosen.sort(key=lambda phrase: phrase.start)
            ids, places = mask_spans(
                encoded["input_ids"][number], offsets, chosen, self.encoder.tokenizer.mask_token_id
            )
            masked.append(ids)
            found.append([(phrase, place) for phrase, place in zip(chosen, places, strict=True) if place])
        batch = {
            "input_ids": torch.tensor(encoded["input_ids"]),
            "attention_mask": torch.tensor(encoded["attention_mask"]),
            "masked_ids": torch.tensor(masked),
            "masked_attention_mask": torch.tensor(encoded["attention_mask"]),
            "special": torch.tensor(encoded["special_tokens_mask"], dtype=torch.bool),
        }
        return batch, found

    def _viewed(self, sentences: Sequence[str], phrases: list[list[tuple[Phrase, list[int]]]]) -> dict[str, Tensor]:
        """The same tensors of a view of each sentence, and of a view of its masked copy (section 3.1.3)."""
        assert self.view is not None
        copies = list(sentences)
        for sentence, found in zip(sentences, phrases, strict=True):
            for phrase, places in reversed(found):
                masks = f" {self.encoder.tokenizer.mask_token}" * len(places) + " "
                sentence = sentence[: phrase.start] + masks + sentence[phrase.end :]
            copies.append(sentence)
        encoded = self._tokenise(viewed(copies, self.view, self.encoder.tokenizer.mask_token))
        count = len(sentences)
        ids, mask = torch.tensor(encoded["input_ids"]), torch.tensor(encoded["attention_mask"])
        return {
            "input_ids": ids[:count],
            "attention_mask": mask[:count],
            "masked_ids": ids[count:],
            "masked_attention_mask": mask[count:],
            "special": torch.tensor(encoded["special_tokens_mask"], dtype=torch.bool)[:count],
        }

    def _tokenise(self, texts: Sequence[str], offsets: bool = False) -> Any:
        return self.encoder.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.encoder.max_length,
            padding=True,
            return_token_type_ids=False,
            return_special_tokens_mask=True,
            return_offsets_mapping=offsets,
        )

    def _teacher_inputs(self, targets: Tensor) -> Tensor:
        """What the decoder reads before each target: [CLS] and then the targets before it, (B, T) -> (B, T)."""
        tokenizer = self.encoder.tokenizer
        before = targets[:, :-1].masked_fill(targets[:, :-1] == IGNORE, tokenizer.pad_token_id)
        return F.pad(before, (1, 0), value=tokenizer.cls_token_id)

    def _words(self, ids: list[int], count: int) -> list[str]:
        """The first `count` phrases among decoded ids, as words."""
        tokenizer = self.encoder.tokenizer
        phrases: list[list[int]] = [[]]
        for token in ids:
            if token == tokenizer.sep_token_id:
                phrases.append([])
            elif token != IGNORE:
                phrases[-1].append(token)
        phrases += [[]] * count
        return [str(tokenizer.decode(phrase)) for phrase in phrases[:count]]


def _by_length(lengths: Tensor) -> list[tuple[Tensor, int | None]]:
    """Rows of like length that are to go together, so that short ones are not padded to the longest of all: their
    numbers, and where the longest of them ends (None: where the batch does). (B,) -> the parts.

    A CPU's time goes with the padded tokens; elsewhere one large part is faster than several small ones.
    """
    if lengths.device.type != "cpu":
        return [(torch.arange(len(lengths), device=lengths.device), None)]
    parts = lengths.argsort(stable=True).split(ROWS_PER_PART)
    return [(rows, max(1, int(lengths[rows].max()))) for rows in parts]
