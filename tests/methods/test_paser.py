"""PaSeR: Eqs. 2 to 4 against slow literal versions, what reaches which parameter, and decoding back to words."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from trained import EIGHT, Make
from transformers import BertTokenizer

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.encoder.maps import Whitening
from sentlab.methods import PaSeR, SimCSE, SupervisedPaSeR, paser
from sentlab.methods.paser import IGNORE, PhraseDecoder, decoding_signal
from sentlab.text.phrases import Phrase, rake_phrases
from sentlab.text.views import View, random_deletion, synonym_replacement

SENTENCES = EIGHT[:5]


@pytest.fixture
def paser_of(make: Make) -> Make:
    """A small PaSeR."""
    return lambda pooling="cls", **settings: make(PaSeR, pooling, **{"decoder_layers": 2, **settings}).eval()


def literal_target(method: PaSeR, sentence: str, top: int) -> tuple[list[int], list[int], list[int]]:
    """Token ids of the sentence, of its masked copy and of the target, by whole words instead of offsets."""
    tokenizer = method.encoder.tokenizer
    chosen = sorted(rake_phrases(sentence)[:top], key=lambda phrase: phrase.start)
    ids, masked, target, done = [tokenizer.cls_token_id], [tokenizer.cls_token_id], [], 0
    for phrase in chosen:
        before = tokenizer.encode(sentence[done : phrase.start], add_special_tokens=False)
        inside = tokenizer.encode(phrase.text, add_special_tokens=False)
        ids += before + inside
        masked += before + [tokenizer.mask_token_id] * len(inside)
        target += [*inside, tokenizer.sep_token_id]
        done = phrase.end
    rest = [*tokenizer.encode(sentence[done:], add_special_tokens=False), tokenizer.sep_token_id]
    return ids + rest, masked + rest, target


def literal_loss(method: PaSeR, sentences: list[str], top: int = 3) -> float:
    """Eqs. 2 and 3 as printed: a sentence at a time, a token at a time, from nothing but the tokens before it."""
    encoder, total, count = method.encoder, 0.0, 0
    for sentence in sentences:
        ids, masked, target = literal_target(method, sentence, top)
        e, e_masked = (encoder(torch.tensor([x]), torch.ones(1, len(x), dtype=torch.long))[0] for x in (ids, masked))
        difference = [method.m * abs(x - y) for x, y in zip(e, e_masked, strict=True)]
        product = [method.n * abs(x * y) for x, y in zip(e, e_masked, strict=True)]
        signal = torch.stack([e, e_masked, torch.stack(difference), torch.stack(product)])  # (4, D)
        read = [encoder.tokenizer.cls_token_id]
        for token in target:
            embedded = [
                encoder.word_embeddings.weight[t] + method.decoder.positions.weight[place]
                for place, t in enumerate(read)
            ]
            unseen = torch.ones(len(read), len(read), dtype=torch.bool).triu(1)
            inputs = method.decoder.norm(torch.stack(embedded)).unsqueeze(0)
            state = method.decoder.transformer(inputs, signal.unsqueeze(0), tgt_mask=unseen)[0, -1]  # (D,)
            logits = encoder.lm_head(state)  # (V,)
            total -= (logits[token] - logits.exp().sum().log()).item()
            count += 1
            read.append(token)
    return total / count


@pytest.mark.parametrize(("pooling", "top"), [("cls", 3), ("mean", 1), ("first_last", 2)])
def test_the_loss_equals_the_literal_equations(paser_of: Make, pooling: str, top: int) -> None:
    method = paser_of(pooling, top_phrases=top, m=3.0, n=7.0)
    torch.nn.init.normal_(method.encoder.lm_head.predictions.bias)
    with torch.no_grad():
        fast = method.loss(method.collate(SENTENCES))["generative"].item()
        assert fast == pytest.approx(literal_loss(method, SENTENCES, top), abs=1e-5)


def gradient(method: PaSeR, batch: dict[str, Tensor]) -> Tensor:
    """Of the generative loss with respect to a matrix deep inside the encoder."""
    method.zero_grad()
    method.loss(batch)["generative"].backward()
    return method.encoder.backbone.encoder.layer[0].attention.self.query.weight.grad.clone()


def test_gradient_reaches_the_encoder_through_both_vectors(paser_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    method = paser_of(mlm=False)
    batch = method.collate(SENTENCES)
    whole = gradient(method, batch)
    monkeypatch.setattr(paser, "decoding_signal", lambda e, e_masked, m, n: decoding_signal(e.detach(), e_masked, m, n))
    through_masked = gradient(method, batch)
    monkeypatch.setattr(paser, "decoding_signal", lambda e, e_masked, m, n: decoding_signal(e, e_masked.detach(), m, n))
    through_plain = gradient(method, batch)
    assert through_masked.abs().max() > 0
    assert through_plain.abs().max() > 0
    assert torch.allclose(through_masked + through_plain, whole, rtol=1e-4, atol=1e-7)


def test_word_embeddings_are_shared_and_learn_from_the_decoder(paser_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    method = paser_of(mlm=False)
    words = method.encoder.word_embeddings.num_embeddings
    assert not [name for name, p in method.decoder.named_parameters() if words in p.shape]
    batch = method.collate(SENTENCES)
    cut = lambda e, e_masked, m, n: decoding_signal(e.detach(), e_masked.detach(), m, n)  # noqa: E731
    monkeypatch.setattr(paser, "decoding_signal", cut)  # now nothing flows through the encoder's layers
    method.loss(batch)["generative"].backward()
    rows = method.encoder.word_embeddings.weight.grad
    assert rows is not None
    assert (rows.abs().sum(1) > 0).all()  # as output layer each word of the vocabulary gets a push


def test_a_batch_without_phrases_gives_a_zero_with_a_graph(paser_of: Make) -> None:
    method = paser_of()
    torch.manual_seed(3)
    losses = method.loss(method.collate(["He is not in it.", "who and what", ""]))
    assert losses["generative"].item() == 0.0
    sum(losses.values()).backward()  # type: ignore[union-attr]
    decoder = [p.grad for p in method.decoder.parameters()]
    assert all(grad is not None and not grad.any() for grad in decoder)  # present, as distributed training needs


def test_phrases_that_truncation_cuts_are_neither_masked_nor_asked_for(paser_of: Make) -> None:
    sentence = "the dog sees a cat and the old red horse in the garden"  # RAKE's best: "old red horse"
    whole, short = (paser_of(top_phrases=1), paser_of(top_phrases=1, max_length=10))  # short: [CLS] + 8 + [SEP]
    tokenizer = short.encoder.tokenizer
    decoded = [tokenizer.decode(m.collate([sentence])["targets"][0]) for m in (whole, short)]
    assert decoded == ["old red horse [SEP]", "dog sees [SEP]"]
    batch = short.collate([sentence])
    assert tokenizer.decode(batch["masked_ids"][0]) == "[CLS] the [MASK] [MASK] a cat and the old [SEP]"
    with pytest.raises(ValueError, match="sentence 0"):
        short.reconstruct([sentence], [rake_phrases(sentence)[:1]])


def test_phrases_that_overlap_are_refused(paser_of: Make) -> None:
    crossing = [Phrase("the old", 0, 7, 2.0), Phrase("old horse", 4, 13, 1.0)]
    with pytest.raises(ValueError, match="overlap"):
        paser_of().reconstruct(["the old horse sees"], [crossing])


def test_the_mlm_term_reads_the_corrupted_copy(paser_of: Make) -> None:
    method = paser_of()
    batch = method.collate(SENTENCES)
    batch["chosen"] = batch["attention_mask"].bool()  # plenty of labels
    head, encoder = method.encoder.lm_head, method.encoder
    assert head is not None
    with torch.no_grad():
        hidden = encoder.hidden_states(batch["corrupted_ids"], batch["attention_mask"])[-1]
        labels = batch["input_ids"].masked_fill(~batch["chosen"], IGNORE)
        dense = torch.nn.functional.cross_entropy(head(hidden).flatten(0, 1), labels.flatten())
        assert method.loss(batch)["mlm"].item() == pytest.approx(dense.item(), abs=1e-5)


def test_a_view_is_drawn_for_both_copies_and_the_target_stays(paser_of: Make) -> None:
    def view(words: list[str], rng: Random) -> list[str]:
        """One that can be undone: a number in front, so that the copies differ in length and in words."""
        return [*(["the"] * rng.randint(1, 4)), *words]

    plain, viewed = paser_of(), paser_of(view=view)
    tokenizer = plain.encoder.tokenizer
    torch.manual_seed(1)
    before, after = plain.collate(SENTENCES), viewed.collate(SENTENCES)
    assert torch.equal(before["targets"], after["targets"])
    fronts = []
    for ids, mask in (("input_ids", "attention_mask"), ("masked_ids", "masked_attention_mask")):
        for i in range(len(SENTENCES)):
            was = before[ids][i][before[mask][i].bool()].tolist()
            now = after[ids][i][after[mask][i].bool()].tolist()
            front = len(now) - len(was)
            the = tokenizer.convert_tokens_to_ids("the")
            assert now == [was[0], *([the] * front), *was[1:]]  # the masks stand where they stood
            assert (after[ids][i][~after[mask][i].bool()] == tokenizer.pad_token_id).all()
            fronts.append(front)
    assert len(set(fronts)) > 1
    with torch.no_grad():  # padding to the longer copy changes nothing
        alone = [viewed.loss({name: x[i : i + 1] for name, x in after.items()})["generative"] for i in range(5)]
        together = viewed.loss(after)["generative"]
    counts = (after["targets"] != IGNORE).sum(1)
    assert torch.allclose(together, (torch.stack(alone) * counts).sum() / counts.sum(), atol=1e-6)


@pytest.mark.parametrize("view", [random_deletion, partial(synonym_replacement, synonyms=lambda word: [f"x{word}"])])
def test_a_view_leaves_the_masks_of_any_tokenizer(paser_of: Make, view: View) -> None:
    method = paser_of(view=partial(view, rate=0.9))  # type: ignore[call-arg]
    old = method.encoder.tokenizer
    vocabulary = {"<mask>" if word == old.mask_token else word: i for word, i in old.get_vocab().items()}
    method.encoder.tokenizer = BertTokenizer(vocab=vocabulary, mask_token="<mask>")
    batch = method.collate(SENTENCES)
    labels = (batch["targets"] != IGNORE) & (batch["targets"] != old.sep_token_id)
    masks = (batch["masked_ids"] == old.mask_token_id).sum(1)
    assert masks.tolist() == labels.sum(1).tolist()
    assert masks.sum() > 20


@pytest.fixture
def tiny_decoder() -> tuple[PhraseDecoder, torch.nn.Embedding, torch.nn.Linear, Tensor]:
    """Five words, three places, and opinions of its own."""
    torch.manual_seed(4)
    decoder = PhraseDecoder(8, 3, 1, 2, 0.0).eval()
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return decoder, torch.nn.Embedding(5, 8), torch.nn.Linear(8, 5), torch.randn(18, 4, 8)


def test_a_wide_beam_finds_what_exhaustive_search_finds(
    tiny_decoder: tuple[PhraseDecoder, torch.nn.Embedding, torch.nn.Linear, Tensor],
) -> None:
    decoder, embeddings, head, signal = tiny_decoder
    start, closing, wanted = 0, 1, [1, 2, 3] * 6
    best = []
    for memory, count in zip(signal, wanted, strict=True):
        targets, log_p = [], {}
        for length in (0, 1, 2):  # the log-likelihood of each next word after each target so far
            for before in itertools.product(range(5), repeat=length):
                with torch.no_grad():
                    state = decoder(memory.unsqueeze(0), embeddings(torch.tensor([[start, *before]])))[0, -1]
                    log_p[before] = head(state).log_softmax(-1).tolist()
        for length in (1, 2, 3):
            for target in itertools.product(range(5), repeat=length):
                ends = [i for i, word in enumerate(target) if word == closing]
                complete = len(ends) == count and ends[-1] == length - 1
                if not complete and not (length == 3 and len(ends) < count):  # out of room: as it stands
                    continue
                targets.append((sum(log_p[target[:place]][word] for place, word in enumerate(target)), target))
        best.append(max(targets))
    tokenizer = SimpleNamespace(cls_token_id=start, sep_token_id=closing)
    encoder = SimpleNamespace(tokenizer=tokenizer, word_embeddings=embeddings, require=lambda: head)
    method: Any = SimpleNamespace(encoder=encoder, decoder=decoder)
    search = lambda beams: PaSeR.beam_search(method, signal, torch.tensor(wanted), beams)  # noqa: E731
    with torch.no_grad():
        (every, all_scores), (greedy, greedy_scores) = search(200), search(1)
    assert (all_scores[:, :-1] >= all_scores[:, 1:]).all()  # the best comes first
    said, scores, greedy, greedy_scores = every[:, 0], all_scores[:, 0], greedy[:, 0], greedy_scores[:, 0]
    assert [tuple(i for i in row if i != IGNORE) for row in said.tolist()] == [target for _, target in best]
    assert scores.tolist() == pytest.approx([total for total, _ in best], abs=1e-4)
    assert (greedy_scores <= scores + 1e-5).all()
    assert (greedy_scores < scores - 1e-3).any()  # else a beam would be of no use here
    first = head(decoder(signal, embeddings(torch.zeros(18, 1, dtype=torch.long)))[:, 0])
    assert greedy[:, 0].tolist() == first.argmax(-1).tolist()


def test_supervised_paser_is_supervised_simcse_plus_alpha_times_eq_3(small_encoder_folder: Path) -> None:
    rows = [Triple(a, b, c) for a, b, c in zip(SENTENCES, SENTENCES[1:], SENTENCES[2:], strict=False)]
    torch.manual_seed(0)
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    method = SupervisedPaSeR(encoder, alpha=0.3, temperature=0.2, decoder_layers=1).eval()
    batch = method.collate(rows)
    losses = method.loss(batch)
    assert set(losses) == {"contrastive", "generative"}
    generative = method.generative.loss(method.generative.collate([row.anchor for row in rows]))["generative"]
    simcse = SimCSE(encoder, temperature=0.2)
    simcse.head = method.head
    contrastive = simcse.loss(simcse.collate(rows))["contrastive"].item()
    assert losses["generative"].item() == pytest.approx(0.3 * generative.item(), rel=1e-5)
    assert losses["contrastive"].item() == pytest.approx(contrastive, rel=1e-5)
    assert sum(name.endswith("word_embeddings.weight") for name in method.state_dict()) == 1  # each weight once


def test_reconstruct_says_the_phrases_it_has_learned(paser_of: Make) -> None:
    sentences = [
        "the boy plays the guitar", "an old farmer buys bread in the city", "He is not in it.", "Two cats swim",
    ]  # fmt: skip
    method = paser_of(mlm=False)
    optimizer = torch.optim.Adam(method.parameters(), lr=3e-3)
    batch = method.collate(sentences)
    before = method.reconstruct(sentences)
    for _ in range(100):
        optimizer.zero_grad()
        method.loss(batch)["generative"].backward()
        optimizer.step()
    after = method.reconstruct(sentences)
    truth = [[("boy plays", "boy plays"), ("guitar", "guitar")], [("old farmer buys bread",) * 2, ("city",) * 2], []]
    truth.append([("Two cats swim", "two cats swim")])
    assert [[(phrase.text, words) for phrase, words in row] for row in after] == truth
    assert before != after
    (chosen,) = method.reconstruct(sentences[:1], [[Phrase("guitar", 18, 24, 1.0)]])
    assert [phrase.text for phrase, _ in chosen] == ["guitar"]


def test_words_are_taken_where_a_phrase_is(paser_of: Make) -> None:
    method, sentence = paser_of(), "the bold old king reads a letter in the old house"
    start = sentence.index("a letter")
    phrase = Phrase("a letter", start, start + 8, 0.0)
    assert method.reconstruct([sentence], [["a letter", "old"]]) == method.reconstruct(
        [sentence], [[Phrase("old", 9, 12, 0.0), phrase]]
    )
    with pytest.raises(ValueError, match="not in the text"):
        method.reconstruct([sentence], [["a book"]])
    with pytest.raises(TypeError, match="list of phrases for each sentence"):
        method.reconstruct([sentence], ["a letter"])


def test_what_follows_the_pooling_does_not_reach_the_decoder(paser_of: Make) -> None:
    method = paser_of().eval()
    before = method.candidates(SENTENCES, beams=2)
    method.encoder.post = Whitening(dim=4).fit(method.encoder.encode(EIGHT))
    assert method.encoder.encode(SENTENCES).shape == (len(SENTENCES), 4)
    assert method.candidates(SENTENCES, beams=2) == before


def test_a_saved_method_answers_as_before(paser_of: Make, tmp_path: Path) -> None:
    method, sentences = paser_of(decoder_layers=2, m=0.3, n=0.7, top_phrases=2), ["Two cats swim in the river", "No."]
    method.save(tmp_path / "paser")
    loaded = PaSeR.load(tmp_path / "paser")
    assert (loaded.m, loaded.n, loaded.top_phrases, loaded.mlm) == (0.3, 0.7, 2, True)
    with torch.autocast("cpu", torch.bfloat16):  # which does not reach into it
        found = loaded.candidates(sentences, beams=3)
    assert found == method.eval().candidates(sentences, beams=3)
    phrases = [[phrase for phrase, _ in row] for row in found]
    assert PaSeR.load(tmp_path / "paser", top_phrases=3).candidates(sentences, phrases, beams=3) == found
    assert loaded.reconstruct(sentences, beams=3) == [
        [(phrase, words[0]) for phrase, words in row] for row in method.candidates(sentences, beams=3)
    ]
    with torch.no_grad():
        method.decoder.norm.bias[0] = torch.nan
    method.save(tmp_path / "paser")
    with pytest.raises(ValueError, match=r"decoder.safetensors: norm.bias"):
        PaSeR.load(tmp_path / "paser")
