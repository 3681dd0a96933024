"""Figures show what they are given, as SVG in colours that read on a light page and on a dark one."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

mpl.use("Agg")
from experiments import plots

from sentlab.evaluation.sts import BINS, LEVELS, Geometry
from sentlab.plots.style import GREY, SCALE


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


def test_a_map_has_a_panel_an_encoder_a_star_a_meaning_and_a_marker_a_level() -> None:
    table = pd.DataFrame({"meaning": ["dog", "dog", "car"], "level": ["word", "phrase", "word"]})
    points = np.array([[0.0, 10.0], [4.0, 30.0], [2.0, 20.0]])
    figure = plots.map_of_meanings({"before": points, "after": -points}, table)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    for axes, shown in zip(figure.axes, ([[0, 0], [1, 1], [0.5, 0.5]], [[1, 1], [0, 0], [0.5, 0.5]]), strict=True):
        rays, words, phrases = axes.collections
        middle = [0.5, 0.5]  # of both meanings
        np.testing.assert_allclose(rays.get_segments(), [[middle, place] for place in shown])
        np.testing.assert_allclose(words.get_offsets(), [shown[0], shown[2]])
        np.testing.assert_allclose(phrases.get_offsets(), [shown[1]])
        assert [text.get_text() for text in axes.texts] == ["dog", "car"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["word", "phrase"]


def test_no_line_and_no_level_is_dropped_where_there_are_many() -> None:
    runs = {f"run {i}": [{"step": 0, "score": 1.0}, {"step": 1, "score": 2.0 + i}] for i in range(9)}
    figure = plots.training_curves(runs, "dev")
    assert len(figure.axes[0].get_lines()) == 2 * 9  # a line and its best step
    table = pd.DataFrame({"meaning": ["dog"] * 4, "level": ["word", "phrase", "clause", "sentence"]})
    figure = plots.map_of_meanings({"raw": np.arange(8.0).reshape(4, 2)}, table)
    assert len(figure.legends[0].get_texts()) == 4


def test_planes_show_the_pairs_on_top_of_what_the_classifier_says() -> None:
    plane = np.linspace(0, 1, 9).reshape(3, 3)
    pairs = np.array([0.1, 0.5, -0.3]), np.array([0.2, -0.5, 0.9])
    figure = plots.pair_planes({"u,v": plane}, pairs, np.array([True, False, False]), {"u,v": 66.7})
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "[u; v]: 67% right"
    assert axes.images[0].get_array().tolist() == plane.tolist()
    different, alike = (dots.get_offsets().tolist() for dots in axes.collections if isinstance(dots, PathCollection))
    assert (alike, different) == ([[0.1, 0.2]], [[0.5, -0.5], [-0.3, 0.9]])
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["not alike", "alike"]


def geometry(seed: int, **values: float) -> Geometry:
    counts = np.random.default_rng(seed).integers(0, 9, (LEVELS, BINS)).tolist()
    point = {"alignment": 0.2, "uniformity": -2.0} | values
    return Geometry(**point, mean=[0.0] * LEVELS, variance=[0.1] * LEVELS, counts=counts)


def test_every_gold_level_has_its_density_in_a_row_and_its_mean() -> None:
    figure = plots.cosine_by_gold({name: geometry(i) for i, name in enumerate(("before", "after"))})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["0–1", "1–2", "2–3", "3–4", "4–5"]
    *densities, means = figure.axes[1].get_lines()
    assert [(round(min(line.get_ydata())), max(line.get_ydata())) for line in densities] == [
        (i, pytest.approx(i + 0.9)) for i in range(LEVELS)
    ]
    assert means.get_xydata().tolist() == [[0.0, i] for i in range(LEVELS)]


def test_an_empty_level_and_one_of_a_single_cosine_are_drawn() -> None:
    counts = np.zeros((LEVELS, BINS), dtype=int)
    counts[1, 90] = 1
    found = Geometry(0.1, -1.0, [np.nan, 0.81, *[np.nan] * 3], [np.nan] * LEVELS, counts.tolist())
    empty, one, *_ = plots.cosine_by_gold({"raw": found}).axes[0].get_lines()
    assert len(empty.get_xdata()) == 0
    assert one.get_xdata()[one.get_ydata().argmax()] == pytest.approx(0.81, abs=0.01)


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
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["gold 0–1", "between", "gold 4–5"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [LEVELS] * 3


def test_the_first_topics_have_a_colour_and_a_marker_and_their_scenes_a_line() -> None:
    topics, scenes = [name for name in "abcdef" for _ in range(4)], [i // 2 for i in range(24)]
    plane = np.random.default_rng(0).normal(size=(24, 2))
    planes = {"PCA": plane, "UMAP": -plane, "more": plane}
    figure = plots.topic_planes(planes, topics, scenes, columns=2)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["PCA", "UMAP", "more"]
    rest, lines, *dots = figure.axes[1].collections
    np.testing.assert_allclose(lines.get_segments(), -plane[:16].reshape(8, 2, 2))
    np.testing.assert_allclose(np.concatenate([group.get_offsets() for group in dots]), -plane[:16])
    np.testing.assert_allclose(rest.get_offsets(), -plane[16:])
    assert len({tuple(group.get_facecolors()[0]) for group in dots}) == 4
    assert len({group.get_paths()[0].vertices.tobytes() for group in dots}) == 4
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*"abcd", "other topics"]


def test_a_sweep_is_a_line_or_dots() -> None:
    depth = pd.DataFrame({"layers": [1, 1, 6], "average": [40.0, 42.0, 50.0]})
    axes = plots.sweep(depth, "average").axes[0]
    assert axes.get_lines()[0].get_ydata().tolist() == [41.0, 50.0]
    dots = pd.DataFrame({"pooling": ["cls", "mean", "mean"], "average": [40.0, 41.0, 43.0]})
    axes = plots.sweep(dots, "average", ("raw", 39.0)).axes[0]
    assert axes.get_lines()[0].get_xdata().tolist() == [40.0, 42.0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["raw"]
    for table, named in ((depth[["average"]], "none"), (depth.assign(seed=0), "layers, seed")):
        with pytest.raises(ValueError, match=f"over one setting, not over {named}"):
            plots.sweep(table, "average")


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
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["MoCo", "SimCSE"]


def test_curves_over_two_axes_share_their_scores() -> None:
    rows = [
        {"step": step, "minutes": step * pace, "dev": step / 10 + shift, "method": name}
        for name, pace, shift in (("MoCo", 0.1, 1.0), ("PaSeR", 0.5, 2.0))
        for step in (50, 100)
    ]
    figure = plots.curves(pd.DataFrame(rows), ["step", "minutes"], ["dev"], "method")
    steps, minutes = figure.axes
    assert [axes.get_xlabel() for axes in figure.axes] == ["step", "minutes"]
    assert steps.get_ylabel() == "dev"
    assert steps.get_ylim() == minutes.get_ylim()
    slow = [line for line in minutes.get_lines() if len(line.get_xdata()) == 2][1]
    assert slow.get_xdata().tolist() == pytest.approx([25, 50])
    assert slow.get_ydata().tolist() == pytest.approx([7, 12])


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
    figure = plots.span_scores({"before": scores, "after": 2 * scores}, words)
    for axes, times in zip(figure.axes, (1, 2), strict=True):
        drawn = axes.collections[0].get_array().reshape(3, 3)
        assert drawn.mask.tolist() == [[False, True, True], [False, False, True], [True, False, False]]
        above = np.array([0.1, 0.4, 0.2, 0.9, 0.3]) - 0.3  # the median
        np.testing.assert_allclose(drawn.compressed(), times * above, atol=1e-12)
        (frame,) = axes.patches
        assert frame.get_xy() == (1, 2)  # from "aged" to "horse"
        assert axes.collections[0].get_clim() == pytest.approx((0.0, 1.2))  # of both panels
        assert [label.get_text() for label in axes.get_xticklabels()] == words
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == words
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before: “aged horse”", "after: “aged horse”"]


def test_a_text_with_one_span_is_drawn() -> None:
    (axes,) = plots.span_scores({"raw": np.array([[0.5]])}, ["horse"]).axes
    assert axes.collections[0].get_array().ravel().tolist() == [0.0]  # it is the median
    assert axes.patches[0].get_xy() == (0, 0)


def test_notebooks_show_figures_as_svg_with_text_as_text(tmp_path: Path) -> None:
    figure = plots.training_curves(
        {"PaSeR": [{"step": 0, "score": 20.0}, {"step": 5, "score": 45.0}]}, "Spearman × 100"
    )
    shell = InteractiveShell.instance()
    with capture_output() as said:
        assert shell.display_formatter.format(figure) == ({}, {})  # shows itself
    (shown,) = said.outputs
    assert set(shown.data) == {"image/svg+xml", "text/plain"}
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", shown.data["image/svg+xml"])
    assert {"step", "Spearman × 100"} <= set(texts)
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8") == shown.data["image/svg+xml"]


Colour = tuple[float, float, float]
DARK = to_rgb("#121212")  # the page of the book in dark mode


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours by the Web Content Accessibility Guidelines, 1 to 21."""

    def luminance(colour: Colour) -> float:
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def in_dark_mode(colour: Colour) -> Colour:
    """What the book's style sheet makes of a picture's colour: `invert(0.93) hue-rotate(180deg)`."""
    inverted = 0.93 - 0.86 * np.array(colour)
    weights = np.array([0.213, 0.715, 0.072])
    return tuple(np.clip(2 * weights @ inverted - inverted, 0, 1))


def test_colours_read_on_the_light_and_on_the_dark_page() -> None:
    assert contrast(to_rgb("white"), to_rgb("black")) == pytest.approx(21)
    assert in_dark_mode(to_rgb("white")) == pytest.approx(DARK, abs=0.002)
    assert contrast(in_dark_mode(to_rgb("black")), DARK) > 12
    for colour in map(to_rgb, [*plots.PALETTE, GREY]):
        grounds = contrast(colour, to_rgb("white")), contrast(colour, DARK), contrast(in_dark_mode(colour), DARK)
        assert min(grounds) >= 3, to_hex(colour)
    for colour in (SCALE(share)[:3] for share in np.linspace(0, 1, 11)):
        assert min(contrast(colour, to_rgb("white")), contrast(in_dark_mode(colour), DARK)) >= 3, to_hex(colour)


def test_a_sweep_keeps_the_runs_without_a_setting() -> None:
    table = pd.DataFrame({"view": [None, "synonyms", "deletion"], "score": [1.0, 2.0, 3.0]})
    names = [label.get_text() for label in plots.sweep(table, "score").axes[0].get_yticklabels()]
    assert names == ["none", "synonyms", "deletion"]
    numbers = pd.DataFrame({"dim": [None, 32, 64], "score": [1.0, 2.0, 3.0]})
    names = [label.get_text() for label in plots.sweep(numbers, "score").axes[0].get_yticklabels()]
    assert names == ["none", "32.0", "64.0"]


def test_no_score_is_not_the_best_step() -> None:
    rows = [{"step": step, "score": score} for step, score in [(0, 50.0), (10, float("nan")), (20, 55.0)]]
    axes = plots.training_curves({"a": rows, "b": [{"step": 0, "score": float("nan")}]}, "score").axes[0]
    marks = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "o"]
    assert marks == [[[20.0, 55.0]]]


def test_span_scores_of_tensors_are_drawn() -> None:
    scores = torch.tensor([[0.1, 0.5], [0.3, -torch.inf]])
    assert len(plots.span_scores({"a": scores}, ["one", "two"]).axes) >= 1
