"""PaSeR: a sentence vector from which a decoder can generate the sentence's important phrases.

Wu and Zhao (2022), "Sentence Representation Learning with Generative Objective rather than Contrastive Objective".
A sentence s is duplicated as s~ with its most important phrases masked, and one encoder turns both into vectors. A
transformer decoder sees only four combinations of the two vectors (Eq. 2) and must generate the masked phrases (Eq. 3).
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
  - It does not say which sentences of an NLI triple the generative loss of Eq. 5 reads. Here they are the premises.

Differs from the released code:
  - It takes m (e - e~) and n (e * e~) without the absolute values of Eq. 2, after a linear layer on e~. With the
    pooling "cls" it adds a tanh layer on both. Here Eq. 2 is computed as printed.
  - It reads phrases from a prepared file, uses length 32 and leaves the generative loss out for sentences of 32 tokens
    or more. Here every sentence counts, with the phrases that lie within the encoder's max_length.
  - It shares the whole embedding layer with a post-norm BART decoder. Here the word embeddings alone are shared.
  - It computes logits at every padded position. Here only labelled positions have logits, which gives the same loss.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.encoder.inference import evaluating, own_world, padded
from sentlab.encoder.storage import require_finite
from sentlab.files import replacing
from sentlab.methods.simcse import cls_head, tokenize_triples
from sentlab.text.phrases import Phrase, mask_spans, rake_phrases
from sentlab.text.views import View, viewed
from sentlab.training.losses import Parts, encode_in_parts, head_cross_entropy, info_nce, mask_tokens, masked_lm_loss
from sentlab.training.processes import own_first
from sentlab.training.randomness import dropout_of

DECODER = "decoder.safetensors"  # in a folder of `PaSeR.save`
IGNORE = -100  # fills the target rows after their last label
PREMISES = "premises."  # before the names of the generative loss's tensors in a batch


def decoding_signal(e: Tensor, e_masked: Tensor, m: float, n: float) -> Tensor:
    """Build the decoder's only view of a sentence: `[e, e~, m |e - e~|, n |e * e~|]`, (B, 4, D).

    Args:
        e, e_masked: vectors of the sentences, and of the same with their phrases masked, (B, D) each.
        m, n: the scales of the difference and of the product. The paper's grid search chose 10 and 10.

    Source: PaSeR, Eq. 2.

    Example:
        >>> decoding_signal(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, -1.0]]), m=10, n=0.5).tolist()
        [[[1.0, 2.0], [1.0, -1.0], [0.0, 30.0], [0.5, 1.0]]]
    """
    return torch.stack([e, e_masked, m * (e - e_masked).abs(), n * (e * e_masked).abs()], dim=1)


def generative_loss(states: Tensor, targets: Tensor, head: nn.Module) -> Tensor:
    """Compute the mean negative log-likelihood of the phrase tokens in nats, with logits at labelled positions only.

    `states`, (..., D), are the decoder's output at each target position, which depends on the targets before it, and
    `targets`, (...), token ids, `IGNORE` where there is none. The masked-LM head makes (N, V) logits of (N, D).

    Source: PaSeR, Eq. 3, averaged over the tokens of the batch.
    """
    labelled = targets != IGNORE  # N of them true
    return head_cross_entropy(head, states[labelled], targets[labelled])


class PaSeR(nn.Module):
    """Trains `encoder` to keep the important phrases of a sentence in its vector.

    The decoder starts random, and the dev score falls before it rises. For a short run use `sentlab.train_heads_first`.

    Args:
        encoder: trained in place, its masked-LM head too. Its pooling makes the sentence vectors.
        decoder_layers: 6 are best (Fig. 4). The decoder has the encoder's heads and dropout.
        m, n: scales in Eq. 2, above 0; 10 are best (Table 8).
        top_phrases: how many phrases of a sentence are masked and asked for, at most. Three suffice (Table 5).
        phrases: text -> its phrases without overlap, the most important first. The text is what the encoder reads of a
            sentence. RAKE is the default (Table 5).
        view: (words, random numbers) -> words, drawn anew for both copies of each sentence (Table 4). It reads a masked
            token as "[MASK]" and must keep it, as those of `sentlab.text.views` do, but for `random_crop` and
            `srl_guided`. None leaves the sentence unchanged.
        mlm: add the masked-language-model loss of Eq. 4.

    Example:
        >>> method = sentlab.methods.PaSeR(sentlab.Encoder.from_pretrained(), decoder_layers=2)
        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
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
    ):
        super().__init__()
        encoder.require("mask", "cls", "sep")
        if top_phrases < 1:  # the decoder would learn nothing, in silence
            raise ValueError(f"top_phrases must be at least 1; it is {top_phrases}")
        config = encoder.backbone.config
        dropout = max(dropout_of(encoder).values(), default=0.0)
        self.encoder, self.m, self.n, self.top_phrases, self.mlm = encoder, m, n, top_phrases, mlm
        self.phrases, self.view = phrases, view
        longest = encoder.max_length + top_phrases  # a target is shorter than its sentence, but for a [SEP] a phrase
        heads = int(config.num_attention_heads)
        self.decoder = PhraseDecoder(config.hidden_size, longest, decoder_layers, heads, dropout)
        self.to(encoder.device)

    def collate(self, rows: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise B sentences, duplicate and mask (3.1.2).

        Gives `input_ids`, `masked_ids`, `attention_mask`, `masked_attention_mask`, (B, L), and with `mlm` too
        `corrupted_ids`, `chosen`. `targets` (B, T): tokens of each masked phrase, a [SEP] after it; then `IGNORE`.
        """
        batch, phrases = self._duplicate_and_mask(rows)
        tokenizer, labels = self.encoder.tokenizer, []
        for ids, masked in zip(batch["input_ids"].tolist(), phrases, strict=True):
            labels.append([i for _, places in masked for i in [*(ids[p] for p in places), tokenizer.sep_token_id]])
        longest = max(1, *map(len, labels))  # a column at least, so that the decoder always takes part in the graph
        if self.view is not None:
            batch = self._viewed(rows, phrases)
        batch["targets"] = torch.tensor([row + [IGNORE] * (longest - len(row)) for row in labels])  # (B, T)
        special = batch.pop("special")
        if self.mlm:
            corrupted = mask_tokens(batch["input_ids"], special, tokenizer.mask_token_id, len(tokenizer))
            batch["corrupted_ids"], batch["chosen"] = corrupted
        return {name: tensor.to(self.encoder.device) for name, tensor in batch.items()}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `generative` (Eq. 3) and, with `mlm`, `mlm`. Their sum is Eq. 4."""
        e, e_masked, hidden = self._encode(batch)  # E_s (B, D), E_s~ (B, D), tokens of the corrupted copy (B, L, D)
        signal = decoding_signal(e, e_masked, self.m, self.n)  # Eq. 2, (B, 4, D)
        states = self._decode(signal, batch["targets"])  # (B, T, D)
        losses = {"generative": generative_loss(states, batch["targets"], self.encoder.require())}  # Eq. 3
        if self.mlm:
            losses["mlm"] = masked_lm_loss(self.encoder.require(), hidden, batch["input_ids"], batch["chosen"])
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
        tokenizer, parts = self.encoder.tokenizer, Parts((targets != IGNORE).sum(1), targets.shape[1])
        before = targets[:, :-1].masked_fill(targets[:, :-1] == IGNORE, tokenizer.pad_token_id)
        inputs = F.pad(before, (1, 0), value=tokenizer.cls_token_id)  # [CLS] or the target before each place, (B, T)
        words = parts.split(self.encoder.word_embeddings(parts.flat(inputs)))
        return parts.places([self.decoder(signal[r], part) for r, part in zip(parts.rows, words, strict=True)])

    def counts(self, batch: dict[str, Tensor]) -> dict[str, int]:
        """Count the tokens over which each loss is a mean."""
        counts = {"generative": int((batch["targets"] != IGNORE).sum())}
        return counts | ({"mlm": int(batch["chosen"].sum())} if self.mlm else {})

    def after_step(self) -> None: ...  # nothing changes between steps

    def reconstruct(
        self, sentences: Sequence[str], phrases: Sequence[Sequence[Phrase | str]] | None = None, *, beams: int = 1
    ) -> list[list[tuple[Phrase, str]]]:
        """Mask phrases and let the decoder generate them (section 5.2).

        Args:
            sentences: B texts.
            phrases: B lists, what to mask in each text: words as they stand in it, of which the first place counts, or
                `sentlab.text.phrases.Phrase`. None takes the phrases that training would mask.
            beams: hypotheses of the beam search. With 1 it is greedy.

        Returns:
            For each sentence its masked phrases in text order, each with the words that the decoder generates. These
            are empty where it ran out of room before that phrase.

        Example:
            >>> method = sentlab.methods.PaSeR(sentlab.Encoder.from_pretrained(), decoder_layers=1)
            >>> answers = method.reconstruct(["The farmer sold his old brown horse."], beams=4)
        """
        rows = self.candidates(sentences, phrases, beams=beams)
        return [[(phrase, words[0]) for phrase, words in row] for row in rows]

    @torch.no_grad()
    @own_world()
    def candidates(
        self, sentences: Sequence[str], phrases: Sequence[Sequence[Phrase | str]] | None = None, *, beams: int = 5
    ) -> list[list[tuple[Phrase, list[str]]]]:
        """As `reconstruct`, but with the words of every hypothesis for a phrase, the most likely hypothesis first."""
        tokenizer = self.encoder.tokenizer
        if any(isinstance(each, str) for each in phrases or ()):
            raise TypeError("phrases holds a string: pass a list of phrases for each sentence, [['two options']]")
        batch, masked_phrases = self._duplicate_and_mask(sentences, phrases)
        names = ("input_ids", "masked_ids", "attention_mask")
        ids, masked, mask = (batch[name].to(self.encoder.device) for name in names)
        wanted = torch.tensor([len(row) for row in masked_phrases], device=mask.device)
        with evaluating(self):
            encode = self.encoder.hidden_states  # as in training, without the encoder's `post`
            e, e_masked = (self.encoder.pool(encode(copy, mask), mask) for copy in (ids, masked))  # (B, D) each
            generated, _ = self.beam_search(decoding_signal(e, e_masked, self.m, self.n), wanted, beams)
        results = []
        for row, hypotheses in zip(masked_phrases, generated.tolist(), strict=True):
            words = [split_phrases(tokens, len(row), tokenizer.sep_token_id) for tokens in hypotheses]  # K lists
            texts = [[str(tokenizer.decode(ids)) for ids in of_phrase] for of_phrase in zip(*words, strict=True)]
            results.append([(phrase, texts[place]) for place, (phrase, _) in enumerate(row)])
        return results

    def beam_search(self, signal: Tensor, wanted: Tensor, beams: int) -> tuple[Tensor, Tensor]:
        """Search the most likely targets of a signal (B, 4, D) under Eq. 3 with a beam.

        A hypothesis ends with the [SEP] of the last of a sentence's `wanted` phrases, (B,), or unfinished where it ran
        out of room. Returns the hypotheses' token ids, (B, K, T), the most likely first and `IGNORE` after their end,
        and their log-likelihoods, (B, K).
        """
        start, closing = self.encoder.tokenizer.cls_token_id, self.encoder.tokenizer.sep_token_id
        count, device = len(signal), signal.device
        memory = signal.repeat_interleave(beams, dim=0)  # (B * K, 4, D)
        tokens = torch.full((count * beams, 1), start, device=device)  # of each hypothesis so far
        scores = torch.full((count, beams), -torch.inf, device=device)
        scores[:, 0] = 0.0  # all beams start equal: only the first counts
        left = wanted.unsqueeze(1).repeat(1, beams)  # phrases still to be closed, (B, K)
        while (left > 0).any() and tokens.shape[1] <= self.decoder.positions.num_embeddings:
            inputs = self.encoder.word_embeddings(tokens.masked_fill(tokens == IGNORE, closing))
            last = self.decoder(memory, inputs)[:, -1]  # (B * K, D)
            log_p = self.encoder.require()(last).float().log_softmax(-1).view(count, beams, -1)  # (B, K, V)
            ended = left <= 0
            log_p = log_p.masked_fill(ended.unsqueeze(-1), -torch.inf)
            log_p[..., closing] = torch.where(ended, 0.0, log_p[..., closing])  # what has ended goes on unchanged
            vocabulary = log_p.shape[-1]
            scores, choice = (scores.unsqueeze(-1) + log_p).flatten(1).topk(beams)  # (B, K) each
            parent, token = choice // vocabulary, choice % vocabulary
            rows = (parent + beams * torch.arange(count, device=device).unsqueeze(1)).flatten()
            left, ended = left.gather(1, parent), ended.gather(1, parent)
            token = token.masked_fill(ended, IGNORE)
            left = left - (token == closing).long()
            tokens = torch.cat([tokens[rows], token.flatten().unsqueeze(1)], dim=1)
        return tokens[:, 1:].view(count, beams, -1), scores  # topk has sorted them

    def save(self, folder: str | Path) -> None:
        """Write the encoder to `folder/encoder` and the decoder to `folder/decoder.safetensors`, for `load`.

        `phrases` and `view` are functions, and are not saved.
        """
        settings = {name: getattr(self, name) for name in ("m", "n", "top_phrases", "mlm")}
        settings["decoder_layers"], folder = len(self.decoder.transformer.layers), Path(folder).expanduser()
        self.encoder.save(folder / "encoder")
        with replacing(folder / DECODER) as temporary:
            save_file(self.decoder.state_dict(), temporary, metadata={"settings": json.dumps(settings)})

    @classmethod
    def load(cls, folder: str | Path, **arguments: Any) -> PaSeR:
        """Read what `save` has written. The `arguments` of the class, such as `phrases`, take precedence.

        Example:
            >>> method = sentlab.methods.PaSeR.load("my-paser")                                # doctest: +SKIP
        """
        folder = Path(folder).expanduser()
        encoder, file = Encoder.from_pretrained(folder / "encoder"), folder / DECODER
        with safe_open(file, "pt") as opened:
            settings = json.loads(opened.metadata()["settings"])
        require_finite(str(file), (weights := load_file(file)).items())
        method = cls(encoder, **settings | arguments)
        positions = weights["positions.weight"].to(encoder.device)  # as many as there were
        method.decoder.positions = nn.Embedding.from_pretrained(positions, freeze=False)
        method.decoder.load_state_dict(weights)
        return method.eval()

    def _duplicate_and_mask(
        self, sentences: Sequence[str], phrases: Sequence[Sequence[Phrase | str]] | None = None
    ) -> tuple[dict[str, Tensor], list[list[tuple[Phrase, list[int]]]]]:
        """Ids of s and s~, masks, special tokens, (B, L) each; phrases in text order with their tokens' places."""
        encoded = padded(self.encoder, sentences)
        masked_ids, masked_phrases = [], []
        for number, (sentence, tokens) in enumerate(zip(sentences, encoded.encodings, strict=True)):
            cut = bool(tokens.overflowing)  # then the text ends where the last token does
            end = max(b for _, b in tokens.offsets) if cut else len(sentence)
            if phrases is None:  # one that reaches the cut may continue after it
                chosen = [p for p in self.phrases(sentence[:end]) if not cut or p.end < end][: self.top_phrases]
            else:
                chosen = [_placed(each, sentence) if isinstance(each, str) else each for each in phrases[number]]
            chosen.sort(key=lambda phrase: phrase.start)
            ends = [0, *(phrase.end for phrase in chosen)]
            for phrase, before in zip(chosen, ends, strict=False):
                if phrase.start < before or phrase.end > end or sentence[phrase.start : phrase.end] != phrase.text:
                    raise ValueError(f"sentence {number}: {phrase} overlaps another, or is not in the text read")
            ids, places = mask_spans(tokens.ids, tokens.offsets, chosen, self.encoder.tokenizer.mask_token_id)
            masked_ids.append(ids)
            masked_phrases.append([(phrase, place) for phrase, place in zip(chosen, places, strict=True) if place])
        mask = encoded["attention_mask"]
        copies = {"input_ids": encoded["input_ids"], "masked_ids": torch.tensor(masked_ids)}
        masks = {"attention_mask": mask, "masked_attention_mask": mask, "special": encoded["special_tokens_mask"]}
        return copies | masks, masked_phrases

    def _viewed(self, sentences: Sequence[str], phrases: list[list[tuple[Phrase, list[int]]]]) -> dict[str, Tensor]:
        """The same tensors of a view of each sentence, and of a view of its masked copy (section 3.1.3)."""
        assert self.view is not None
        copies = list(sentences)
        for sentence, masked in zip(sentences, phrases, strict=True):
            for phrase, places in reversed(masked):
                masks = f" {self.encoder.tokenizer.mask_token}" * len(places) + " "
                sentence = sentence[: phrase.start] + masks + sentence[phrase.end :]
            copies.append(sentence)
        encoded = padded(self.encoder, viewed(copies, self.view, self.encoder.tokenizer.mask_token))
        batch: dict[str, Tensor] = {"special": encoded["special_tokens_mask"][: len(sentences)]}
        batch["input_ids"], batch["masked_ids"] = encoded["input_ids"].split(len(sentences))
        batch["attention_mask"], batch["masked_attention_mask"] = encoded["attention_mask"].split(len(sentences))
        return batch


class PhraseDecoder(nn.Module):
    """A pre-norm transformer decoder whose memory is the decoding signal, for targets of up to `length` tokens."""

    @own_world()
    def __init__(self, dim: int, length: int, layers: int, heads: int, dropout: float):
        super().__init__()
        self.positions = nn.Embedding(length, dim)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)
        kind: Any = {"activation": "gelu", "batch_first": True, "norm_first": True}
        layer = nn.TransformerDecoderLayer(dim, heads, 4 * dim, dropout, **kind)
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


def _placed(text: str, sentence: str) -> Phrase:
    """Give words the first place where they stand as such, not within others; the end of the sentence without any."""
    place = len(re.split(rf"(?!\B\w){re.escape(text)}(?!\B\w)", sentence)[0])
    return Phrase(text, place, place + len(text), 0.0)


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


class SupervisedPaSeR(nn.Module):
    """Train `encoder` with supervised SimCSE on NLI triples, plus `alpha` times the generative loss on their premises.

    Args:
        encoder: trained in place. The paper starts from one that unsupervised PaSeR has trained.
        alpha: weight of the generative loss. The paper searched it and does not report the result.
        generative: settings of `PaSeR`. Eq. 5 has no masked-LM term.

    Source: PaSeR, section 3.3, Eq. 5. The contrastive loss is Eq. 5 of Gao et al. (2021), see `sentlab.methods.simcse`.

    Example:
        >>> method = sentlab.methods.SupervisedPaSeR(sentlab.Encoder.from_pretrained(), decoder_layers=2)
        >>> history = sentlab.fit(method, triples, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(self, encoder: Encoder, *, alpha: float = 0.1, temperature: float = 0.05, **generative: Any):
        super().__init__()
        self.alpha, self.temperature = alpha, temperature
        self.head = cls_head(encoder).to(encoder.device)
        self.generative = PaSeR(encoder, mlm=False, **generative)  # the one place that holds the encoder

    @property
    def encoder(self) -> Encoder:
        return self.generative.encoder

    def collate(self, rows: Sequence[Triple]) -> dict[str, Tensor]:
        """Tokenise B triples as SimCSE does, and their anchors as `PaSeR.collate` does, under names with `PREMISES`."""
        premises = self.generative.collate([row.anchor for row in rows])
        return tokenize_triples(self.encoder, rows) | {f"{PREMISES}{name}": x for name, x in premises.items()}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `contrastive` and the weighted `generative`. Their sum is Eq. 5."""
        count = batch["input_ids"].shape[1]
        ids, mask = batch["input_ids"].flatten(0, 1), batch["attention_mask"].flatten(0, 1)  # (3B, L) each
        vectors, _ = encode_in_parts(self.encoder, ids, mask)
        h = self.head(vectors)  # (3B, D)
        premises = {name.removeprefix(PREMISES): x for name, x in batch.items() if name.startswith(PREMISES)}
        return {
            "contrastive": info_nce(h[:count], own_first(h[count:]), self.temperature),
            "generative": self.alpha * self.generative.loss(premises)["generative"],
        }

    def counts(self, batch: dict[str, Tensor]) -> dict[str, int]:
        """Count the tokens over which `generative` is a mean."""
        return self.generative.counts({"targets": batch[f"{PREMISES}targets"]})

    def after_step(self) -> None: ...  # nothing changes between steps
