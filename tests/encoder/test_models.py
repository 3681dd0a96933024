"""Kinds of models, tiny and random, with tokenizers made in memory: load, encode, save, and train by any method."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.trainers import BpeTrainer, UnigramTrainer, WordPieceTrainer
from trained import METHODS, SENTENCES
from transformers import PreTrainedTokenizerFast

from sentlab import PhraseIndex, TrainConfig, fit
from sentlab.encoder import Encoder

TEXTS = ["a man plays the guitar", "", "who is the old teacher in the city?", "Two  dogs, réd!", "the dog runs " * 20]
BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
ROBERTA = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
SHORT = SIZES | {"max_position_embeddings": 66}
RELATIVE = {"relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"]}

# name in transformers -> how its tokenizer cuts words, its special tokens, and its sizes
KINDS = {
    "Roberta": ("bytes", ROBERTA, SHORT),
    "DistilBert": (
        "pieces",
        BERT,
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 66},
    ),
    "MPNet": ("pieces", ROBERTA, SHORT),
    "DebertaV2": ("unigram", BERT, SHORT | RELATIVE | {"share_att_key": True, "position_buckets": 8}),
    "ModernBert": ("bytes", BERT, SHORT | {"global_attn_every_n_layers": 2, "local_attention": 8}),
    "Albert": ("unigram", BERT, SHORT | {"embedding_size": 8}),
}


def made_tokenizer(cut: str, special: dict[str, str]) -> PreTrainedTokenizerFast:
    """A fast tokenizer that has learnt a few sentences."""
    names, size = list(special.values()), 300
    if cut == "pieces":
        backend = Tokenizer(WordPiece(unk_token=special["unk_token"]))
        backend.normalizer, backend.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer = WordPieceTrainer(vocab_size=size, special_tokens=names, show_progress=False)
    elif cut == "bytes":
        backend = Tokenizer(BPE())
        backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = BpeTrainer(vocab_size=size, special_tokens=names, initial_alphabet=alphabet, show_progress=False)
    else:
        backend = Tokenizer(Unigram())
        backend.normalizer, backend.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
        unknown = special["unk_token"]
        trainer = UnigramTrainer(vocab_size=size, special_tokens=names, unk_token=unknown, show_progress=False)
    backend.train_from_iterator([*SENTENCES, *TEXTS], trainer)
    ends = [(special[name], backend.token_to_id(special[name])) for name in ("cls_token", "sep_token")]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{ends[0][0]} $A {ends[1][0]}",
        pair=f"{ends[0][0]} $A {ends[1][0]} $B {ends[1][0]}",
        special_tokens=ends,
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


@cache
def model_folder(kind: str, parent: Path) -> Path:
    """A model of one architecture and its tokenizer, in files as on the hub."""
    cut, special, sizes = KINDS[kind]
    tokenizer, folder = made_tokenizer(cut, special), parent / kind
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "cls", "sep")}
    ends = {"bos_token_id": ids["cls_token_id"], "eos_token_id": ids["sep_token_id"]}
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(tokenizer), **sizes, **ids, **ends)
    getattr(transformers, f"{kind}ForMaskedLM")(config).save_pretrained(folder)
    return folder


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(request.param, tmp_path_factory.getbasetemp())


def test_a_model_encodes_saves_and_loads(folder: Path, tmp_path: Path) -> None:
    encoder = Encoder.from_pretrained(folder, pooling="mean", max_length=20, device="cpu").eval()
    vectors = encoder.encode(TEXTS)
    with torch.no_grad():  # each text alone, without padding
        alone = torch.cat([encoder(**encoder.tokenize([text])) for text in TEXTS]).numpy()
    np.testing.assert_allclose(vectors, alone, atol=1e-5)
    assert len(np.unique(vectors.round(4), axis=0)) == len(TEXTS)
    for text, (tokens, offsets) in zip(TEXTS, encoder.encode_tokens(TEXTS), strict=True):
        assert tokens.shape == (len(offsets), 16)
        assert len(offsets) == min(18, len(encoder.tokenizer(text, add_special_tokens=False)["input_ids"]))
        assert all(0 <= start <= end <= len(text) for start, end in offsets)
    encoder.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert again.fingerprint() == encoder.fingerprint()
    assert np.array_equal(again.encode(TEXTS), vectors)
    np.testing.assert_allclose(encoder.to_sentence_transformer().encode(TEXTS), vectors, atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", ["Roberta", "ModernBert"])
def test_a_model_trains_by_a_method(kind: str, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if (kind, name) == ("ModernBert", "ConSERT"):
        pytest.skip("it embeds no positions that could be shuffled")
    pooling, build, rows = METHODS[name]
    folder = model_folder(kind, tmp_path_factory.getbasetemp())
    encoder = Encoder.from_pretrained(folder, pooling=pooling, max_length=60, device="cpu")
    method, before = build(encoder), encoder.encode(TEXTS, normalize=True)
    history = fit(method, rows, TrainConfig(steps=1, batch_size=4, learning_rate=1e-2, warmup=0), progress=False)
    after = encoder.encode(TEXTS, normalize=True)
    assert all(np.isfinite(list(losses.values())).all() for losses in history.losses)
    assert np.isfinite(after).all()
    assert np.abs(after - before).max() > 1e-3


def test_a_model_with_its_head_and_without(folder: Path, tmp_path: Path) -> None:
    kind = folder.name
    for name in ("ForMaskedLM", "Model"):
        config = transformers.AutoConfig.from_pretrained(folder)
        torch.manual_seed(1)
        model = getattr(transformers, f"{kind}{name}")(config).eval()
        for parameter in model.parameters():  # biases start at 0, where a forgotten one does not show
            torch.nn.init.normal_(parameter, std=0.3)
        place = Path(shutil.copytree(folder, tmp_path / name))
        model.save_pretrained(place)
        encoder = Encoder.from_pretrained(place, max_length=60, device="cpu")
        batch = encoder.tokenize(TEXTS)
        states, expected = encoder.hidden_states(**batch), model(**batch, output_hidden_states=True)
        assert all(torch.equal(a, b) for a, b in zip(states, expected.hidden_states, strict=True))
        assert torch.equal(encoder(**batch), states[-1][:, 0])
        if name == "Model":
            assert encoder.lm_head is None
        else:
            assert encoder.lm_head is not None
            torch.testing.assert_close(encoder.lm_head(states[-1]), expected.logits)


def test_an_index_refuses_a_max_length_that_would_lose_words(tmp_path_factory: pytest.TempPathFactory) -> None:
    """This tokenizer begins each part of a word with a token of its own."""
    folder = model_folder("DebertaV2", tmp_path_factory.getbasetemp())
    for length, lost in ((3, True), (8, False)):
        index = PhraseIndex(Encoder.from_pretrained(folder, pooling="mean", max_length=length, device="cpu"))
        with pytest.raises(ValueError, match="more than 1 tokens") if lost else nullcontext():
            index.add([TEXTS[2], TEXTS[4]], progress=False)
        assert index.word_count == (0 if lost else 69)
