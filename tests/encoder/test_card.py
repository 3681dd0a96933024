"""Model cards: their lines of code give the encoder's vectors, and they hold what training did."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentlab
from sentlab.data import Corpus
from sentlab.encoder import Encoder
from sentlab.encoder.card import MARK
from sentlab.encoder.maps import Whitening, postprocessed
from sentlab.encoder.pooling import POOLINGS

TEXTS = ["a man plays", "the old dog runs in the garden", "bread", "who is it?", "a boy reads the book"]


def vectors_of(card: str, texts: list[str]) -> list[np.ndarray]:
    """What each block of code of a card gives for some texts."""
    found = []
    for block in re.findall("```python\n(.*?)```", card, re.DOTALL):
        names: dict[str, Any] = {}
        code, count = re.subn(r"^texts = .*$", f"texts = {texts!r}", block, flags=re.MULTILINE)
        assert count == 1
        exec(code, names)
        found.append(np.asarray(names["vectors"]))
    return found


@pytest.mark.parametrize("case", [*POOLINGS, "whitened"])
def test_the_code_of_a_card_gives_the_vectors(
    small_encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    pytest.importorskip("sentence_transformers")
    pooling = case if case in POOLINGS else "mean"
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling=pooling, max_length=6, device="cpu")
    if case == "whitened":
        encoder.normalize, encoder.prompts, encoder.default_prompt_name = True, {"q": "who's "}, "q"
        encoder = postprocessed(encoder, Whitening(3), TEXTS)
    encoder.save(tmp_path / "my encoder")
    monkeypatch.chdir(tmp_path)
    found = vectors_of((tmp_path / "my encoder" / "README.md").read_text(), TEXTS)
    assert len(found) == 3
    for vectors in found:
        np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=2e-5)


def test_a_card_says_what_was_trained_and_on_what(small_encoder_folder: Path, tmp_path: Path) -> None:
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=16, device="cpu")
    encoder.save(tmp_path / "raw")
    assert "no record of a training" in (tmp_path / "raw" / "README.md").read_text()
    rows = Corpus("my | <b>texts", "train", tuple(TEXTS), "a file")
    config = sentlab.TrainConfig(steps=2, batch_size=2, eval_every=1, keep="dev")
    scores = iter([10.0, 30.0, 20.0])
    sentlab.fit(sentlab.methods.SimCSE(encoder), rows, config, lambda _: next(scores), progress=False)
    encoder.save(tmp_path / "once")
    encoder = Encoder.from_pretrained(tmp_path / "once", device="cpu")
    assert encoder.trainings[0]["method"] == "SimCSE"
    sentlab.fit(sentlab.methods.MoCo(encoder), TEXTS, sentlab.TrainConfig(steps=1, batch_size=2), progress=False)
    encoder.save(tmp_path / "twice")
    card = (tmp_path / "twice" / "README.md").read_text()
    for line in (
        "| method | SimCSE |",
        f"| data | my \\| &lt;b>texts (train), 5 rows, fingerprint {rows.fingerprint} |",
        "| dev score at step 0 | 10.0 |",
        "| dev score at step 1 | 30.0 |",
        "| step that was kept | 1 |",
        "| method | MoCo |",
        "| data | 5 rows |",
    ):
        assert line in card.splitlines()
    assert "step 2" not in card


def test_a_card_is_renewed_and_never_the_users_own(small_encoder_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "saved"
    for pooling in ("mean", "max"):
        Encoder.from_pretrained(small_encoder_folder, pooling=pooling, device="cpu").save(target)
    written = (target / "README.md").read_text()
    assert "| pooling | max |" in written
    own = written.replace(MARK, "") + "my words"
    (target / "README.md").write_text(own)
    Encoder.from_pretrained(small_encoder_folder, pooling="cls", device="cpu").save(target)
    assert (target / "README.md").read_text() == own
