"""Figures show what they are given; drawn on white, so that they read in dark mode too."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

mpl.use("Agg")
from sentlab.evaluation.sts import BINS, LEVELS, Geometry
from sentlab.report import plots


def test_loss_curve_shows_every_value_on_a_white_ground() -> None:
    losses = [{"step": 10 * i, "mlm": 9.0 - i / 10} for i in range(1, 60)]
    figure = plots.training_losses(losses, ["mlm"], "masked-LM loss")
    dots, line = figure.axes[0].get_lines()
    assert dots.get_ydata().tolist() == [row["mlm"] for row in losses]
    assert line.get_ydata()[-1] == pytest.approx(np.mean([row["mlm"] for row in losses[-5:]]))
    assert figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_every_task_has_its_loss_curve() -> None:
    losses = [{"step": 10.0, "nli": 1.1, "pi": 0.6}, {"step": 20.0, "nli": 0.9, "pi": 0.4}]
    (axes,) = plots.training_losses(losses, ["nli", "pi"], "loss").axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["nli", "pi"]
    assert [line.get_ydata().tolist() for line in axes.get_lines()[1::2]] == [[1.1, 1.0], [0.6, 0.5]]


def test_a_map_has_a_panel_an_encoder_and_a_colour_a_meaning() -> None:
    table = pd.DataFrame({"meaning": ["dog", "dog", "car"], "level": ["word", "phrase", "word"]})
    points = np.array([[0.0, 10.0], [4.0, 30.0], [2.0, 20.0]])
    figure = plots.map_of_meanings({"before": points, "after": -points}, table)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    for axes, shown in zip(figure.axes, ([[0, 0], [1, 1], [0.5, 0.5]], [[1, 1], [0, 0], [0.5, 0.5]]), strict=True):
        np.testing.assert_allclose(axes.collections[0].get_offsets(), shown)
        colours = axes.collections[0].get_facecolors()
        assert (colours[0] == colours[1]).all()
        assert (colours[0] != colours[2]).any()
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == [
        "meaning", "dog", "car", "level", "word", "phrase",
    ]  # fmt: skip


def test_planes_show_the_pairs_on_top_of_what_the_classifier_says() -> None:
    plane = np.linspace(0, 1, 9).reshape(3, 3)
    pairs = np.array([0.1, 0.5, -0.3]), np.array([0.2, -0.5, 0.9])
    (axes,) = plots.pair_planes({"u,v": plane}, pairs, np.array([True, False, False]), {"u,v": 66.7}).axes
    assert axes.get_title(loc="left") == "[u; v]  67 %"
    assert axes.images[0].get_array().tolist() == plane.tolist()
    different, alike = (dots.get_offsets().tolist() for dots in axes.collections)
    assert (alike, different) == ([[0.1, 0.2]], [[0.5, -0.5], [-0.3, 0.9]])


def geometry(seed: int, **values: float) -> Geometry:
    counts = np.random.default_rng(seed).integers(0, 9, (LEVELS, BINS)).tolist()
    point = {"alignment": 0.2, "uniformity": -2.0} | values
    return Geometry(**point, mean=[0.0] * LEVELS, variance=[0.1] * LEVELS, counts=counts)


def test_every_gold_level_has_its_density() -> None:
    figure = plots.cosine_by_gold({name: geometry(i) for i, name in enumerate(("before", "after"))})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == ["0–1", "1–2", "2–3", "3–4", "4–5"]


def test_densities_are_shown_where_there_are_cosines() -> None:
    counts = np.zeros((LEVELS, BINS), dtype=int)
    counts[:, 90:95] = [3, 5, 9, 5, 3]  # cosines of 0.8 to 0.9
    found = Geometry(0.1, -1.0, [0.85] * LEVELS, [0.001] * LEVELS, counts.tolist())
    low, high = plots.cosine_by_gold({"raw": found}).axes[0].get_xlim()
    assert 0.5 < low < 0.8
    assert 0.9 < high < 1.2


def test_every_encoder_is_a_labelled_point() -> None:
    found = {"raw": geometry(0, alignment=0.1, uniformity=-0.5), "PaSeR": geometry(1, alignment=0.2, uniformity=-2.0)}
    axes = plots.alignment_uniformity(found, {"raw": 20.0, "PaSeR": 60.0}, "Spearman × 100").axes[0]
    assert axes.collections[0].get_offsets().tolist() == [[-0.5, 0.1], [-2.0, 0.2]]
    assert [text.get_text() for text in axes.texts] == ["raw (20.0)", "PaSeR (60.0)"]


def test_labels_of_points_that_lie_together_stand_apart() -> None:
    names = [f"encoder {i}" for i in range(13)]
    near = np.random.default_rng(0).normal(scale=0.02, size=(12, 2))
    found = {name: geometry(0, alignment=0.2 + x, uniformity=-2 + y) for name, (x, y) in zip(names, near, strict=False)}
    found |= {
        "encoder 12": geometry(0, alignment=0.9, uniformity=-0.1)
    }  # in the corner, where its label would stick out
    figure = plots.alignment_uniformity(found, dict.fromkeys(names, 50.0), "Spearman × 100")
    figure.canvas.draw()
    axes = figure.axes[0]
    boxes = [Text.get_window_extent(label) for label in axes.texts]  # without the lines that lead to the points
    assert [box.count_overlaps(boxes) for box in boxes] == [1] * 13  # each with itself alone
    assert all(axes.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))
    points = axes.transData.transform(axes.collections[0].get_offsets())
    assert not any(box.contains(*point) for box in boxes for point in points)


def test_ridges_share_one_scale_of_cosines() -> None:
    figure = plots.cosine_ridges({name: geometry(i) for i, name in enumerate(("raw", "SimCSE", "PaSeR"))})
    assert [axes.get_ylabel() for axes in figure.axes] == ["raw", "SimCSE", "PaSeR"]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["0–1", "1–2", "2–3", "3–4", "4–5"]
    assert [len(axes.collections) for axes in figure.axes] == [LEVELS] * 3


def test_topics_have_a_colour_and_a_marker_and_scenes_a_line() -> None:
    topics, scenes = [name for name in "abcdef" for _ in range(4)], [i // 2 for i in range(24)]
    plane = np.random.default_rng(0).normal(size=(24, 2))
    figure = plots.topic_planes({"PCA": plane, "UMAP": -plane, "more": plane}, topics, scenes, columns=2)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["PCA", "UMAP", "more"]
    lines, *dots = figure.axes[1].collections
    np.testing.assert_allclose(lines.get_segments(), -plane.reshape(12, 2, 2))
    np.testing.assert_allclose(np.concatenate([group.get_offsets() for group in dots]), -plane)
    looks = {(*group.get_facecolors()[0], len(group.get_paths()[0])) for group in dots}
    assert len(looks) == 6
    assert len({look[:3] for look in looks}) == 5  # the sixth topic has the first one's colour in another shape
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list("abcdef")


def test_a_sweep_is_a_line_a_map_or_dots() -> None:
    depth = pd.DataFrame({"layers": [1, 1, 6], "seed": [0, 1, 0], "average": [40.0, 42.0, 50.0]})
    axes = plots.sweep(depth, "average").axes[0]
    assert axes.get_lines()[0].get_ydata().tolist() == [41.0, 50.0]
    grid = pd.DataFrame({"m": [0.1, 0.1, 10.0], "n": [1.0, 10.0, 1.0], "average": [40.0, 41.0, 42.5]})
    assert "42.5" in [text.get_text() for text in plots.sweep(grid, "average").axes[0].texts]
    dots = pd.DataFrame({"pooling": ["cls", "mean", "mean"], "average": [40.0, 41.0, 43.0]})
    assert plots.sweep(dots, "average").axes[0].get_lines()[0].get_xdata().tolist() == [40.0, 42.0]
    with pytest.raises(ValueError, match="not over none"):
        plots.sweep(pd.DataFrame({"average": [1.0]}), "average")


def test_training_curve_marks_the_best_step() -> None:
    dev = [{"step": 10, "score": 20.0}, {"step": 20, "score": 45.0}, {"step": 30, "score": 40.0}]
    axes = plots.training_curves({"seed 0": dev}, "Spearman × 100").axes[0]
    line, marker = axes.get_lines()
    assert line.get_ydata().tolist() == [20.0, 45.0, 40.0]
    assert (marker.get_xdata()[0], marker.get_ydata()[0]) == (20, 45.0)


def test_agreement_has_a_point_a_row() -> None:
    table = pd.DataFrame({"toy": [10.0, 30.0, 50.0], "real": [12.0, 25.0, 60.0], "encoder": ["a", "a", "b"]})
    axes = plots.agreement(table, "toy", "real", "encoder").axes[0]
    assert sum(len(points.get_offsets()) for points in axes.collections) == pytest.approx(3)


def test_curves_have_a_panel_a_measurement_and_a_line_a_method() -> None:
    rows = [
        {"step": step, "method": name, "alignment": step / 100 + shift, "uniformity": -step / 50}
        for name, shift in (("MoCo", 0.1), ("SimCSE", 0.3))
        for step in (50, 100)
    ]
    figure = plots.curves(pd.DataFrame(rows), "step", ["alignment", "uniformity"], "method")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["alignment", "uniformity"]
    lines = [line.get_ydata().tolist() for line in figure.axes[0].get_lines() if len(line.get_ydata()) == 2]
    assert lines[:2] == [pytest.approx([0.6, 1.1]), pytest.approx([0.8, 1.3])]
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == ["MoCo", "SimCSE"]


def test_attention_is_shown_in_shares_of_attending_to_all_alike() -> None:
    weights = np.array([[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]])
    figure = plots.attention({"before": weights, "after": weights[::-1]}, ["[CLS]", "a", "dog"], "pseudo tokens")
    first, second = figure.axes[:2]
    np.testing.assert_allclose(first.collections[0].get_array().reshape(2, 3), weights * 3)
    np.testing.assert_allclose(second.collections[0].get_array().reshape(2, 3), weights[::-1] * 3)
    assert [label.get_text() for label in second.get_xticklabels()] == ["[CLS]", "a", "dog"]
    assert (first.get_ylabel(), second.get_ylabel()) == ("pseudo tokens", "")


def test_every_span_has_its_cell_and_the_best_one_is_framed() -> None:
    scores = np.array([[0.1, 0.4], [0.2, 0.9], [0.3, -np.inf]])  # of one word and of two, from each word on
    words = ["an", "aged", "horse"]
    figure = plots.span_scores({"before": scores, "after": scores - 0.5}, words)
    for axes, moved in zip(figure.axes, (0.0, 0.5), strict=True):
        drawn = axes.collections[0].get_array().reshape(3, 3)
        assert drawn.mask.tolist() == [[False, True, True], [False, False, True], [True, False, False]]
        np.testing.assert_allclose(drawn.compressed(), np.array([0.1, 0.4, 0.2, 0.9, 0.3]) - moved)
        (frame,) = axes.patches
        assert frame.get_xy() == (1, 2)  # from "aged" to "horse"
        assert axes.collections[0].get_clim() == pytest.approx((-0.4, 0.9))  # of both panels
        assert [label.get_text() for label in axes.get_xticklabels()] == words
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == words
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]


def test_a_text_with_one_span_is_drawn() -> None:
    (axes,) = plots.span_scores({"raw": np.array([[0.5]])}, ["horse"]).axes
    assert axes.collections[0].get_array().ravel().tolist() == [0.5]
    assert axes.patches[0].get_xy() == (0, 0)
