"""Pictures of chapters: texts in planes."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from experiments import plots


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
