"""Pictures of chapters: texts in planes, and pairs on what a classifier says."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.collections import PathCollection

mpl.use("Agg")
from experiments import plots


def test_a_map_has_a_panel_an_encoder_a_star_a_meaning_and_a_marker_a_level() -> None:
    table = pd.DataFrame({"meaning": ["dog", "dog", "car"], "level": ["word", "phrase", "word"]})
    points = np.array([[0.0, 10.0], [4.0, 30.0], [2.0, 20.0]])
    figure = plots.map_of_meanings({"before": points, "after": -points}, table)
    for axes, shown in zip(figure.axes, ([[0, 0], [1, 1], [0.5, 0.5]], [[1, 1], [0, 0], [0.5, 0.5]]), strict=True):
        rays, words, phrases = axes.collections
        middle = [0.5, 0.5]  # of both meanings
        np.testing.assert_allclose(rays.get_segments(), [[middle, place] for place in shown])
        np.testing.assert_allclose(words.get_offsets(), [shown[0], shown[2]])
        np.testing.assert_allclose(phrases.get_offsets(), [shown[1]])
        assert [text.get_text() for text in axes.texts] == ["dog", "car"]


def test_planes_show_the_pairs_on_top_of_what_the_classifier_says() -> None:
    plane = np.linspace(0, 1, 9).reshape(3, 3)
    pairs = np.array([0.1, 0.5, -0.3]), np.array([0.2, -0.5, 0.9])
    figure = plots.pair_planes({"u,v": plane}, pairs, np.array([True, False, False]), {"u,v": 66.7})
    (axes,) = figure.axes
    assert axes.images[0].get_array().tolist() == plane.tolist()
    different, alike = (dots.get_offsets().tolist() for dots in axes.collections if isinstance(dots, PathCollection))
    assert (alike, different) == ([[0.1, 0.2]], [[0.5, -0.5], [-0.3, 0.9]])


def test_the_first_topics_have_a_colour_and_a_marker_and_their_scenes_a_line() -> None:
    topics, scenes = [name for name in "abcdef" for _ in range(4)], [i // 2 for i in range(24)]
    plane = np.random.default_rng(0).normal(size=(24, 2))
    figure = plots.topic_planes({"PCA": plane, "UMAP": -plane}, topics, scenes, columns=2)
    rest, lines, *dots = figure.axes[1].collections
    np.testing.assert_allclose(lines.get_segments(), -plane[:16].reshape(8, 2, 2))
    np.testing.assert_allclose(np.concatenate([group.get_offsets() for group in dots]), -plane[:16])
    np.testing.assert_allclose(rest.get_offsets(), -plane[16:])
    assert len({tuple(group.get_facecolors()[0]) for group in dots}) == 4
    assert len({group.get_paths()[0].vertices.tobytes() for group in dots}) == 4
