"""Every method takes two steps at the papers' size: BERT-base with random weights."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from trained import METHODS
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from sentlab.encoder import Encoder
from sentlab.training import TrainConfig, fit, set_seed

no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


@pytest.fixture(scope="module")
def bert_base(small_encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved BertForMaskedLM, 12 layers of 768, with a vocabulary of 30,522 pieces."""
    folder = tmp_path_factory.mktemp("bert-base")
    pieces = BertTokenizer.from_pretrained(small_encoder_folder).get_vocab()
    config = BertConfig()
    pieces |= {f"piece{i}": i for i in range(len(pieces), config.vocab_size)}
    BertTokenizer(vocab=pieces, do_lower_case=True).save_pretrained(folder)
    torch.manual_seed(0)
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "device",
    [pytest.param("cpu", marks=pytest.mark.slow), pytest.param("cuda", marks=[pytest.mark.gpu, no_cuda])],
)
def test_two_steps(bert_base: Path, name: str, device: str) -> None:
    pooling, build, rows = METHODS[name]
    encoder = Encoder.from_pretrained(bert_base, pooling=pooling, device=device)
    assert (encoder.dim, len(encoder.tokenizer), encoder.backbone.config.num_hidden_layers) == (768, 30522, 12)
    set_seed(0)
    method = build(encoder)
    assert all(weights.device.type == device for weights in method.parameters())
    layer = encoder.backbone.get_parameter("encoder.layer.0.output.dense.weight")
    before = layer.detach().clone()
    history = fit(method, rows, TrainConfig(steps=2, batch_size=4), progress=False)
    assert history.kept_step == 2
    assert all(math.isfinite(loss) for losses in history.losses for loss in losses.values())
    assert not torch.equal(layer, before)
    assert encoder.encode(["a dog runs", "the king"]).shape == (2, 768)
