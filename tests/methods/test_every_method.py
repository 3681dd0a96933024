"""What training asks of every method: who draws and changes what, padding, parts of a batch, resuming, BERT's size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from trained import FILLED, METHODS, SENTENCES, Make
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

import sentlab
from sentlab import methods
from sentlab.data import Triple
from sentlab.encoder import Encoder
from sentlab.encoder.maps import Whitening
from sentlab.training import TrainConfig, fit, set_dropout, set_seed
from sentlab.training.checkpoint import describe
from sentlab.training.config import Tasks
from sentlab.training.randomness import dropout_of

CONFIG = TrainConfig(steps=5, batch_size=3, learning_rate=1e-3, checkpoint_every=2)
Case = tuple[Callable[[], Any], Sequence[Any]]


@pytest.fixture(params=METHODS)
def case(request: pytest.FixtureRequest, small_encoder_folder: Path) -> Case:
    """A function that makes one of the methods anew, and rows to train it on."""
    pooling, build, rows = METHODS[request.param]

    def make() -> Any:
        set_seed(0)
        return build(Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu"))

    return make, rows


def batch_of(method: Any, rows: Sequence[Any]) -> dict[str, Tensor]:
    return method.collate(rows[: len(rows.corpora["nli"])] if isinstance(rows, Tasks) else rows)


def total(method: Any, batch: dict[str, Tensor]) -> Tensor:
    """The loss; whatever is drawn in it, such as ConSERT's views, is drawn alike."""
    torch.manual_seed(1)
    return sum(method.loss(batch).values())  # type: ignore[return-value]


def copied(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in tensors.items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_loss_changes_no_state_and_no_batch(case: Case) -> None:
    make, rows = case
    method = make().train()
    modes = [part.training for part in method.modules()]
    batch, state = batch_of(method, rows), copied(method.state_dict())
    before = copied(batch)
    total(method, batch)
    assert same(batch, before)
    assert same(method.state_dict(), state)
    assert [part.training for part in method.modules()] == modes


def test_padding_changes_nothing(case: Case) -> None:
    make, rows = case
    method = make()
    set_dropout(method, 0.0)
    if isinstance(method, methods.ConSERT):
        method.views = ("none", "feature_cutoff")  # shuffling draws for padding too
    batch = batch_of(method, rows)
    ragged = {name for name in batch if name not in ("first", "second", "labels", "task", "negatives")}
    longer = {
        name: nn.functional.pad(x, (0, 5), value=FILLED.get(name.rpartition(".")[2], 0)) if name in ragged else x
        for name, x in batch.items()
    }
    torch.testing.assert_close(total(method, longer), total(method, batch), rtol=1e-5, atol=1e-5)


def test_parts_change_no_loss_and_no_gradient(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    make, rows = case
    method = make().eval().double()  # in float32 the rounding of a part shows
    calls, results, parts = [], [], []
    method.encoder.backbone.register_forward_hook(lambda *_: calls.append(1))
    batch = batch_of(method, rows)
    # ConSERT draws its views: here in the same order in every part
    monkeypatch.setattr(
        torch, "rand", lambda shape, **_: torch.arange(shape[-1], 0, -1).expand(shape) / (shape[-1] + 1)
    )
    for size in (10**9, 40):
        monkeypatch.setattr("sentlab.training.losses.PLACES_PER_PART", size)
        calls.clear()
        method.zero_grad()
        losses = method.loss(batch)
        sum(losses.values()).backward()
        parts.append(len(calls))
        results.append((losses, {name: p.grad for name, p in method.named_parameters() if p.grad is not None}))
    assert parts[1] > parts[0]
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_set_dropout_reaches_every_dropout_of_a_method(case: Case, p: float) -> None:
    make, rows = case
    method = make()
    set_dropout(method, p)
    if isinstance(method, methods.ConSERT):
        method.views = ("none", "none")  # which are drawn in the loss
    batch = batch_of(method.train(), rows)
    losses = [float(sum(method.loss(batch).values()).detach()) for _ in range(3)]
    never = isinstance(method, methods.ConSERT | methods.ContrastiveTension)
    assert len(set(losses)) == (3 if p and not never else 1)


def test_a_killed_run_ends_as_one_that_was_not_and_the_encoder_has_learned(case: Case, tmp_path: Path) -> None:
    make, rows = case

    def kill(step: int, method: Any) -> None:
        if step == 3:
            raise KeyboardInterrupt

    whole, resumed = make(), make()
    before = copied(whole.encoder.state_dict())
    history = fit(whole, rows, CONFIG, progress=False)
    with pytest.raises(KeyboardInterrupt):
        fit(make(), rows, CONFIG, folder=tmp_path, progress=False, on_step=kill)
    resumed_history = fit(resumed, rows, CONFIG, folder=tmp_path, resume=True, progress=False)
    assert same(whole.state_dict(), resumed.state_dict())
    assert history.losses == resumed_history.losses
    moved = [name for name, x in whole.encoder.state_dict().items() if not torch.equal(x, before[name])]
    assert {name for name in before if ".bert.encoder." in name and "weight" in name} <= set(moved)


def test_the_same_lines_make_the_same_run(case: Case) -> None:
    make, rows = case
    one, other = make(), make()
    other.encoder.encode(["a text that changes how the tokenizer pads and cuts"])
    before = describe(one, rows, {}, None, 1)
    assert describe(other, rows, {}, None, 1) == before
    fit(other, rows, CONFIG, progress=False)
    assert describe(other, rows, {}, None, 1) != before


def test_the_bundled_encoder_says_a_dropout_that_it_can_bear() -> None:
    """Dropout of 0.1, which it never saw in pre-training, would drown every sentence in noise."""
    for name in ("tiny", "small"):
        encoder = sentlab.Encoder.from_pretrained(name)
        assert set(dropout_of(encoder).values()) == {0.02}
    assert set(dropout_of(methods.PaSeR(encoder, decoder_layers=1).decoder).values()) == {0.02}


def test_the_first_lines_of_the_readme_improve_the_encoder() -> None:
    encoder = sentlab.Encoder.from_pretrained(max_length=32)
    score = sentlab.dev_score(sentlab.data.load("toy-sts", "dev"))
    before = score(encoder)
    sentlab.set_seed(0)
    config = TrainConfig(steps=20, learning_rate=1e-4)
    fit(methods.MoCo(encoder), sentlab.data.load("toy-sentences", "train"), config, progress=False)
    assert score(encoder) > before + 0.5


def test_a_method_made_under_a_map_to_fewer_dimensions_trains_without_it(small_encoder_folder: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, device="cpu")
    encoder.post = Whitening(8).fit(torch.randn(200, encoder.dim))
    method = methods.MoCo(encoder)
    encoder.post = None
    assert fit(method, METHODS["MoCo"][2], CONFIG, progress=False).kept_step == 5


def test_the_loss_of_masked_lm_is_the_mean_over_the_masked_words(make: Make) -> None:
    method = make(methods.MaskedLM)
    batch = method.collate(SENTENCES * 3)
    hidden = method.encoder.hidden_states(batch["corrupted_ids"], batch["attention_mask"])[-1]
    losses = []
    for row, place in batch["chosen"].nonzero().tolist():
        logits = method.encoder.lm_head(hidden[row, place][None])[0]
        losses.append(-logits.log_softmax(-1)[batch["input_ids"][row, place]].item())
    assert method.loss(batch)["mlm"].item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    masked = set(batch["input_ids"][batch["chosen"]].tolist())
    assert masked.isdisjoint(method.encoder.tokenizer.all_special_ids)
    unchanged = batch["corrupted_ids"] == batch["input_ids"]
    assert unchanged[~batch["chosen"]].all()
    assert not unchanged[batch["chosen"]].all()


def test_what_a_method_needs_of_the_encoder_is_said_when_it_is_made(make: Make) -> None:
    for kind in (methods.MaskedLM, methods.PaSeR, methods.SupervisedPaSeR, partial(methods.SimCSE, mlm=0.1)):
        without = make(methods.MoCo).encoder
        without.tokenizer.mask_token = None
        with pytest.raises(ValueError, match="no mask token"):
            kind(without)
        without = make(methods.MoCo).encoder
        without.model = without.backbone
        with pytest.raises(ValueError, match="no masked-LM head"):
            kind(without)


@pytest.mark.filterwarnings("error:texts repeat")
def test_equal_texts_in_a_batch_are_told(make: Make) -> None:
    triples = [Triple(f"the {word} dog", "a dog runs", f"a {word}") for word in ("old", "red", "big", "small")]
    once = [Triple(row.anchor, f"{row.anchor} runs", row.negative) for row in triples]
    for kind, rows, told in (
        (methods.SimCSE, triples, True), (methods.SimCSE, once, False), (methods.MoCo, ["a dog"] * 3, True),
        (methods.SLICE, triples, False), (partial(methods.SLICE, in_batch=True), triples, True),
    ):  # fmt: skip
        with pytest.warns(UserWarning, match="negatives of each other") if told else nullcontext():
            fit(make(kind, pooling="mean"), rows, CONFIG, progress=False)


ON_CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


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
@pytest.mark.parametrize("device", [pytest.param("cpu", marks=pytest.mark.slow), pytest.param("cuda", marks=ON_CUDA)])
def test_two_steps_at_the_papers_size(bert_base: Path, name: str, device: str) -> None:
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
