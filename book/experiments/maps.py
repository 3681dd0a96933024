"""Where sentences lie: the same sentences of the toy world in the plane, and their neighbours, under several encoders.

The encoders must be there, as for the costs of a leaderboard. `experiments.widgets.sentence_map` shows the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any

import numpy as np
from pydantic import PositiveInt
from scipy.linalg import orthogonal_procrustes
from sentlab.encoder import Encoder
from sentlab.evaluation.retrieval import top_k
from tqdm import tqdm

from experiments.leaderboard import RowSettings, encoders_of, there
from experiments.records import Notes, Record, Typed
from experiments.toy import render, scenes
from experiments.toy.lexicon import SENSES

DRAWN = 1000  # scenes that are looked at for each scene wanted; the rarest topic is one scene in a hundred
TRIES = 8  # to find each new wording


class MapSettings(Typed):
    """Where sentences of the toy world lie under several encoders."""

    # label -> record and pooling, in the order in which they are shown; of a sweep the first run counts
    rows: dict[str, RowSettings]
    topics: list[str]  # classes of events of the toy world, such as `kitchen` and `travel`
    scenes: PositiveInt  # scenes of each topic, all with other participants
    wordings: PositiveInt  # ways to say each scene, so that there are topics x scenes x wordings sentences
    seed: int  # of the sentences and of UMAP
    umap: dict[str, Any]  # arguments of `umap.UMAP`, such as `n_neighbors`; the metric is the cosine
    neighbours: PositiveInt  # nearest neighbours of each sentence that are kept


class MapRecord(Record):
    """Its results: `texts`, the number of `topic` and `scene` of each, and label -> `numbers` and `drawings`.

    Numbers, in %, are neighbours of the same scene and topic, and those that a plane keeps. A drawing has PCA's `share`
    of the variance, the `planes` (2, n), and the nearest `neighbours` (k, n) with their `cosines`.
    """

    settings: MapSettings


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence with its topic, a class of events, and the number of its scene, which its other wordings share."""

    text: str
    topic: str
    scene: int


def sentence_map(record: MapRecord) -> MapRecord:
    """Place the sentences under each encoder of a record, and write the results into it."""
    notes, settings = Notes(), record.settings
    told = sentences(settings.topics, settings.scenes, settings.wordings, settings.seed)
    topics, scenes_of = [settings.topics.index(one.topic) for one in told], [one.scene for one in told]
    sources = {label: there(encoders_of(row, record.folder)[0]) for label, row in settings.rows.items()}
    texts = [one.text for one in told]
    numbers, drawings = dict[str, Any](), dict[str, Any]()
    first: dict[str, np.ndarray] = {}  # the planes of the first row, to which the others are turned
    for label, row in tqdm(settings.rows.items(), desc="map", unit=" encoders"):
        encoder, k = Encoder.from_pretrained(**sources[label]), settings.neighbours
        encoder.pooling = row.pooling or encoder.pooling
        vectors = encoder.encode(texts, progress=False)
        cosines, order = neighbours(vectors)
        planes, share = project(vectors, settings.umap, settings.seed)
        first = first or planes
        planes = {name: turned(plane, first[name], mirror_only=name == "PCA") for name, plane in planes.items()}
        shares = held(order, told, k) | {f"kept by {name}": kept(order, plane, k) for name, plane in planes.items()}
        numbers[label] = {name.replace(" ", "_").lower(): round(value, 1) for name, value in shares.items()}
        drawings[label] = {
            "share": round(share, 3),
            "planes": {name: plane.T.round(3).tolist() for name, plane in planes.items()},
            "neighbours": order[:, :k].T.tolist(),
            "cosines": cosines[:, :k].T.round(2).tolist(),
        }
    results = {"numbers": numbers, "texts": texts, "topic": topics, "scene": scenes_of, "drawings": drawings}
    return record.finish(results, notes)


def sentences(topics: Sequence[str], per_topic: int, wordings: int, seed: int = 0) -> list[Told]:
    """Draw sentences of the toy world, by topic and scene, whose topics and paraphrases are known by construction.

    The scenes are of the test split, no two of them with the same participants in the same class of events. Wordings of
    a scene, 2 or more, share as few words and as little of their form as the lexicon allows.
    """
    rng, per = Random(f"layout {seed}"), {topic: list[list[str]]() for topic in topics}
    seen = set[str]()
    for scene in islice(scenes("test", f"{seed} layout"), DRAWN * len(topics) * per_topic):
        topic = SENSES[scene.event].section
        if topic not in per or len(per[topic]) == per_topic or scene.core in seen:
            continue
        said = [render(scene, rng)]
        for _ in range(TRIES * wordings):
            words = frozenset[str]().union(*(sentence.words for sentence in said))
            other = render(scene, rng, unlike=replace(said[-1], words=words))
            if len(said) < wordings and other.text not in {sentence.text for sentence in said}:
                said.append(other)
        if len(said) == wordings:
            seen.add(scene.core)
            per[topic].append([sentence.text for sentence in said])
        if all(len(group) == per_topic for group in per.values()):
            groups = [(topic, texts) for topic in topics for texts in per[topic]]
            return [Told(text, topic, number) for number, (topic, texts) in enumerate(groups) for text in texts]
    few = min(per, key=lambda topic: len(per[topic]))
    raise ValueError(f"topic {few!r} has only {len(per[few])} scenes in {wordings} wordings: ask for fewer scenes")


def neighbours(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank all other rows of the vectors (n, D) by their cosine to each: cosines and rows (n, n - 1), nearest first."""
    cosines, order = top_k(vectors, vectors, len(vectors))
    others = order != np.arange(len(vectors))[:, None]
    return cosines[others].reshape(len(vectors), -1), order[others].reshape(len(vectors), -1)


def held(order: np.ndarray, told: Sequence[Told], k: int) -> dict[str, float]:
    """Measure how well neighbours, `order` (n, n - 1), nearest first, keep to what is known of the sentences, in %.

    `same scene` is the share of the w - 1 nearest that are one of w wordings, `same topic` of the k nearest others.
    """
    scene, topic = (np.array([getattr(row, name) for row in told]) for name in ("scene", "topic"))
    same = scene[order] == scene[:, None]  # (n, n - 1)
    wordings = int(same[0].sum()) + 1
    others = order[~same].reshape(len(order), -1)[:, :k]
    alike = topic[others] == topic[:, None]
    return {"same scene": 100 * float(same[:, : wordings - 1].mean()), "same topic": 100 * float(alike.mean())}


def project(vectors: np.ndarray, umap: Mapping[str, Any], seed: int = 0) -> tuple[dict[str, np.ndarray], float]:
    """Project the vectors (n, D), scaled to length 1, to `PCA` and `UMAP` (n, 2), around 0 and within -1 .. 1.

    The second result is the share of the variance that PCA's plane has; `umap` are arguments of `umap.UMAP`.
    """
    if len(vectors) < 4:
        raise ValueError(f"a plane of {len(vectors)} sentences says nothing, and UMAP has none: take 4 or more")
    from umap import UMAP  # here, because it takes a while to import

    unit = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    left, singular, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    pca = left[:, :2] * singular[:2]
    plane = UMAP(metric="cosine", random_state=seed, n_jobs=1, **umap).fit_transform(unit).astype(np.float64)
    planes = {name: points - points.mean(axis=0) for name, points in (("PCA", pca), ("UMAP", plane))}
    share = float((singular[:2] ** 2).sum() / (singular**2).sum())
    return {name: points / np.abs(points).max() for name, points in planes.items()}, share


def turned(plane: np.ndarray, like: np.ndarray, *, mirror_only: bool) -> np.ndarray:
    """Turn and mirror a plane (n, 2) to lie as near as possible to another one: neither change means anything.

    With `mirror_only` the axes stay, as for PCA, whose first one is the direction of the largest variance.
    """
    if mirror_only:
        return plane * np.where((plane * like).sum(axis=0) < 0, -1.0, 1.0)
    return plane @ orthogonal_procrustes(plane, like)[0]


def kept(order: np.ndarray, plane: np.ndarray, k: int) -> float:
    """Compute the share of the k nearest neighbours in space that are among the k nearest in the plane (n, 2), in %."""
    distances = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, :k]
    shares = [np.isin(a, b).mean() for a, b in zip(order[:, :k], near, strict=True)]
    return 100 * float(np.mean(shares))
