"""Figures show what they are given, as SVG in colours that read on a light page and on a dark one."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

mpl.use("Agg")
from sentlab import plots
from sentlab.evaluation.sts import BINS, LEVELS, Geometry
from sentlab.plots.style import GREY, SCALE


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


def test_cosines_of_ones_own_are_drawn_by_gold_on_any_scale() -> None:
    gold = np.linspace(-10, 40, 60)
    cosines = np.random.default_rng(0).uniform(-1, 1, 60)
    counts = [np.histogram(part, BINS, (-1, 1))[0].tolist() for part in np.split(cosines, 5)]
    means = [part.mean() for part in np.split(cosines, 5)]
    alike = Geometry(0.1, -1.0, means, means, counts)
    figure = plots.cosine_by_gold({"array": cosines, "measured": alike, "list": cosines.tolist()}, gold)
    lines = [[line.get_xydata() for line in axes.get_lines()] for axes in figure.axes]
    for other in lines[1:]:
        assert all(np.allclose(a, b) for a, b in zip(lines[0], other, strict=True))
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["-10–0", "0–10", "10–20", "20–30", "30–40"]


def test_labels_of_points_that_lie_together_stand_apart() -> None:
    names = [f"encoder {i}" for i in range(13)]
    near = np.random.default_rng(0).normal(scale=0.02, size=(12, 2))
    found = {name: geometry(0, alignment=0.2 + x, uniformity=-2 + y) for name, (x, y) in zip(names, near, strict=False)}
    # in the corner, where its label would stick out
    found |= {"encoder 12": geometry(0, alignment=0.9, uniformity=-0.1)}
    figure = plots.alignment_uniformity(found, dict.fromkeys(names, 50.0), "Spearman × 100")
    figure.canvas.draw()
    axes = figure.axes[0]
    boxes = [Text.get_window_extent(label) for label in axes.texts]  # without the lines that lead to the points
    assert [box.count_overlaps(boxes) for box in boxes] == [1] * 13  # each with itself alone
    assert all(axes.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))
    points = axes.transData.transform(axes.collections[0].get_offsets())
    assert not any(box.contains(*point) for box in boxes for point in points)


def test_a_trajectory_has_an_arrow_a_step_from_a_ring_to_a_dot_with_a_name() -> None:
    rows = [
        {"step": step, "alignment": 0.1 * step, "uniformity": -1.0 - step**0.5, "dev": 60.0} for step in (4, 0, 1, 1)
    ]
    axes = plots.trajectory({"MoCo": rows, "raw": [{"step": 0, "alignment": 0.1, "uniformity": -1.0}]}).axes[0]
    arrows, ends, none, alone = axes.collections
    assert arrows.get_offsets().tolist() == [[-1.0, 0.0], [-2.0, 0.1]]  # each step once, in order
    assert [arrows.U.tolist(), arrows.V.tolist()] == [[-1.0, -1.0], pytest.approx([0.1, 0.3])]
    assert arrows.get_facecolor().tolist() == ends.get_edgecolor().tolist() == [[*plots.PALETTE[0], 1.0]]
    assert ends.get_offsets().tolist() == [[-1.0, 0.0], [-3.0, 0.4]]
    assert [to_hex(colour) for colour in ends.get_facecolor()] == ["#ffffff", to_hex(plots.PALETTE[0])]
    assert (len(none.get_offsets()), alone.get_offsets().tolist()) == (0, [[-1.0, 0.1]] * 2)  # one that stands still
    assert [text.get_text() for text in axes.texts] == ["MoCo, step 4", "raw, step 0"]
    assert axes.get_xlabel().startswith("uniformity")


def test_a_sweep_is_a_line_or_dots() -> None:
    depth = pd.DataFrame({"layers": [1, 1, 6], "average": [40.0, 42.0, 50.0]})
    assert plots.sweep(depth, "average").axes[0].get_lines()[0].get_ydata().tolist() == [41.0, 50.0]
    rates = pd.DataFrame({"learning rate": [1e-5, 1e-4], "average": [40.0, 42.0]})
    axes = plots.sweep(rates, "average").axes[0]
    assert (axes.get_xscale(), [tick.get_text() for tick in axes.get_xticklabels()]) == ("log", ["1e-05", "0.0001"])
    dots = pd.DataFrame({"pooling": ["cls", "mean", "mean"], "average": [40.0, 41.0, 43.0]})
    axes = plots.sweep(dots, "average", ("raw", 39.0)).axes[0]
    assert axes.get_lines()[0].get_xdata().tolist() == [40.0, 42.0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["raw"]


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


def test_every_span_has_its_cell_and_the_best_one_is_framed() -> None:
    scores = np.array([[0.1, 0.4], [0.2, 0.9], [0.3, -np.inf]])  # of one word and of two, from each word on
    words = ["an", "$5", "or$"]  # and no formula "5 or"
    figure = plots.span_map({"before": scores, "after": 2 * scores}, words)
    for axes, times in zip(figure.axes[:2], (1, 2), strict=True):
        drawn = axes.collections[0].get_array().reshape(2, 3)
        assert drawn.mask.tolist() == [[False, False, False], [False, False, True]]
        above = np.array([0.1, 0.2, 0.3, 0.4, 0.9]) - 0.3  # the median
        np.testing.assert_allclose(drawn.compressed(), times * above, atol=1e-12)
        (frame,) = axes.patches
        assert frame.get_xy() == (1, 1)  # two words from "$5" on
        assert axes.collections[0].get_clim() == pytest.approx((0.0, 1.2))  # of both panels
        assert [label.get_text() for label in axes.get_xticklabels()] == ["an", r"\$5", r"or\$"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2"]
    titles = [axes.get_title(loc="left") for axes in figure.axes[:2]]
    assert titles == [r"before: “\$5 or\$”", r"after: “\$5 or\$”"]


def test_notebooks_show_figures_as_svg_with_text_as_text() -> None:
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
    assert figure.svg() == shown.data["image/svg+xml"]


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
    for values, names in (["synonyms", "deletion"], ["synonyms", "deletion"]), ([32, 64], ["32.0", "64.0"]):
        table = pd.DataFrame({"setting": [None, *values], "score": [1.0, 2.0, 3.0]})
        labels = plots.sweep(table, "score").axes[0].get_yticklabels()
        assert [label.get_text() for label in labels] == ["none", *names]


def test_no_score_is_not_the_best_step() -> None:
    rows = [{"step": step, "score": score} for step, score in [(0, 50.0), (10, float("nan")), (20, 55.0)]]
    axes = plots.training_curves({"a": rows, "b": [{"step": 0, "score": float("nan")}]}, "score").axes[0]
    marks = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "o"]
    assert marks == [[[20.0, 55.0]]]
