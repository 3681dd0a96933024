"""Sentences in the plane: what is known of them, who is near whom, and how much of that a picture keeps."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from experiments import records
from experiments.maps import Told, held, kept, neighbours, project, sentence_map, sentences, turned
from experiments.toy import Scene, scenes
from experiments.toy.lexicon import PLURALS, SENSES
from experiments.widgets import map_numbers
from sklearn.decomposition import PCA

from sentlab.encoder import Encoder

TOPICS = ["travel", "kitchen"]


def topic_of(scene: Scene) -> str:
    return SENSES[scene.event].section


def tells(text: str, scene: Scene) -> bool:
    """Whether a text names everyone and everything that takes part in a scene."""
    words = f" {text.lower().rstrip('.')} "
    taking_part = [filler for filler in (scene.agent, scene.theme, scene.recipient) if filler]
    named = [SENSES[filler].words for filler in taking_part]
    return all(any(f" {w} " in words or f" {PLURALS[w]} " in words for w in options) for options in named)


def test_sentences_are_wordings_of_scenes_with_other_participants() -> None:
    told = sentences(TOPICS, 4, 3, seed=1)
    assert told == sentences(TOPICS, 4, 3, seed=1)
    assert {row.text for row in told}.isdisjoint(row.text for row in sentences(TOPICS, 4, 3, seed=2))
    assert [row.topic for row in told] == ["travel"] * 12 + ["kitchen"] * 12
    assert [row.scene for row in told] == [number for number in range(8) for _ in range(3)]
    assert len({row.text for row in told}) == 24
    drawn = list(islice(scenes("test", "1 layout"), 3000))
    cores = set()
    for start in range(0, 24, 3):
        group = told[start : start + 3]
        meant = [s for s in drawn if topic_of(s) == group[0].topic and all(tells(row.text, s) for row in group)]
        assert meant, group
        cores.add(meant[0].core)
    assert len(cores) == 8


def test_neighbours_are_those_of_a_loop() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    cosines, order = neighbours(vectors)
    for i, one in enumerate(vectors):
        found = {j: float(one @ two / np.linalg.norm(one) / np.linalg.norm(two)) for j, two in enumerate(vectors)}
        others = sorted((j for j in found if j != i), key=lambda j: -found[j])
        assert order[i].tolist() == others
        np.testing.assert_allclose(cosines[i], [found[j] for j in others], atol=1e-6)


def test_shares_of_scenes_and_topics_by_hand() -> None:
    degrees = [0, 2, 10, 60, 14, 62, 90, 91]  # two wordings of each of four scenes, the first two of one topic
    told = [Told("", "a" if i < 4 else "b", i // 2) for i in range(8)]
    angles = np.radians(degrees)
    order = neighbours(np.stack([np.cos(angles), np.sin(angles)], axis=1))[1]
    # 0 and 2, 90 and 91 find each other; the nearest of 10 and 60 are 14 and 62, and the other way round
    assert held(order, told, 2)["same scene"] == 50
    # of each one's two nearest of other scenes, topic a is where 0 and 2 find 10, and so on: 1 1 1 0 / 0 1 1 1 of 2
    assert held(order, told, 2)["same topic"] == pytest.approx(100 * 6 / 16)
    assert held(order, told, 1)["same topic"] == 50


def test_a_picture_keeps_what_a_loop_finds_kept() -> None:
    rng = np.random.default_rng(0)
    vectors, plane = rng.normal(size=(20, 6)), rng.normal(size=(20, 2))
    order = neighbours(vectors)[1]
    found = []
    for i in range(20):
        near = sorted((j for j in range(20) if j != i), key=lambda j: np.hypot(*(plane[i] - plane[j])))[:4]
        found.append(len(set(near) & set(order[i, :4].tolist())) / 4)
    assert 0 < kept(order, plane, 4) == pytest.approx(100 * np.mean(found))
    round_about = plane / np.linalg.norm(plane, axis=1, keepdims=True)
    assert kept(neighbours(round_about)[1], round_about, 4) == 100


def test_planes_are_turned_to_one_another() -> None:
    plane = np.random.default_rng(0).normal(size=(30, 2)) * (3, 1)
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]) * (1, -1)  # and mirrored
    np.testing.assert_allclose(turned(plane @ turn, plane, mirror_only=False), plane)
    np.testing.assert_allclose(turned(plane * (-1, 1), plane, mirror_only=True), plane)
    across = plane[:, ::-1]
    np.testing.assert_allclose(np.abs(turned(across, plane, mirror_only=True)), np.abs(across))


class FirstTwo:
    """In the place of UMAP, whose import takes long: the first two directions, moved and stretched."""

    def __init__(self, **arguments: Any) -> None:
        assert arguments == {"metric": "cosine", "random_state": 3, "n_jobs": 1, "n_neighbors": 4}

    def fit_transform(self, vectors: np.ndarray) -> np.ndarray:
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
        return (5 + 7 * vectors[:, :2]).astype(np.float32)


@pytest.fixture
def quick_umap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=FirstTwo))


@pytest.mark.usefixtures("quick_umap")
def test_planes_are_centred_and_pca_is_that_of_the_directions() -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 6))
    planes, share = project(vectors, {"n_neighbors": 4}, 3)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pca = PCA(2).fit(unit)
    wanted = {"PCA": pca.transform(unit), "UMAP": unit[:, :2] - unit[:, :2].mean(axis=0)}
    for name, plane in planes.items():
        expected = turned(wanted[name], plane, mirror_only=True)
        np.testing.assert_allclose(plane, expected / np.abs(expected).max(), atol=1e-6)
    assert share == pytest.approx(pca.explained_variance_ratio_.sum())


def test_too_few_sentences_for_a_plane_are_said() -> None:
    with pytest.raises(ValueError, match="a plane of 3 sentences"):
        project(np.eye(3, dtype=np.float32), {"n_neighbors": 15})


def settings() -> dict[str, Any]:
    rows = {"raw [CLS]": {"record": "raw"}, "raw mean": {"record": "raw", "pooling": "mean"}}
    asked = {"rows": rows, "topics": TOPICS, "scenes": 2, "wordings": 3, "seed": 3, "neighbours": 4}
    return asked | {"umap": {"n_neighbors": 4}}


def write(place: Path, name: str, own: dict[str, Any], kind: str = "map") -> Any:
    (place / f"{name}.json").write_text(json.dumps({"kind": kind, "settings": own}))
    return records.get(name, place)


@pytest.mark.usefixtures("quick_umap")
def test_a_record_is_filled_row_by_row(small_encoder_folder: Path, tmp_path: Path) -> None:
    source = {"source": str(small_encoder_folder), "pooling": "cls", "max_length": 16}
    write(tmp_path, "raw", {"encoder": source, "dev": "toy-sts", "test": []}, "run")
    record = sentence_map(write(tmp_path, "layout", settings()))
    read = records.get("layout", tmp_path)
    assert read == record
    found = read.results
    told = sentences(TOPICS, 2, 3, seed=3)
    assert found["texts"] == [row.text for row in told]
    assert [TOPICS[number] for number in found["topic"]] == [row.topic for row in told]
    assert found["scene"] == [row.scene for row in told]
    encoder = Encoder.from_pretrained(**source)
    planes = {}
    for label, pooling in (("raw [CLS]", "cls"), ("raw mean", "mean")):
        encoder.pooling = pooling
        vectors = encoder.encode(found["texts"])
        cosines, order = neighbours(vectors)
        drawn, numbers = found["drawings"][label], map_numbers(record, label)
        assert drawn["neighbours"] == order[:, :4].T.tolist()
        np.testing.assert_allclose(drawn["cosines"], cosines[:, :4].T, atol=6e-3)
        planes[label] = {name: np.array(plane).T for name, plane in drawn["planes"].items()}
        own, share = project(vectors, {"n_neighbors": 4}, 3)
        assert drawn["share"] == pytest.approx(share, abs=6e-4)
        expected = held(order, told, 4) | {f"kept by {name}": kept(order, own[name], 4) for name in own}
        assert numbers == {name: pytest.approx(value, abs=0.06) for name, value in expected.items()}
        for name in own:  # turned to the first row
            like = planes["raw [CLS]"][name]
            best = turned(own[name], like, mirror_only=name == "PCA")
            np.testing.assert_allclose(planes[label][name], best, atol=2e-3)
