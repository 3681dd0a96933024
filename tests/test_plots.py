"""Figures show what they are given; drawn on white, so that they read in dark mode too."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")
from sentlab import plots


def test_loss_curve_shows_every_value_on_a_white_ground() -> None:
    losses = [{"step": 10 * i, "mlm": 9.0 - i / 10} for i in range(1, 60)]
    figure = plots.training_losses(losses, "mlm", "masked-LM loss")
    dots, line = figure.axes[0].get_lines()
    assert dots.get_ydata().tolist() == [row["mlm"] for row in losses]
    assert line.get_ydata()[-1] == pytest.approx(np.mean([row["mlm"] for row in losses[-50:]]))
    assert figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_gold_levels_share_out_all_pairs() -> None:
    gold = np.repeat([0.0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.0], 30)
    cosines = {name: np.random.default_rng(i).uniform(0, 1, len(gold)) for i, name in enumerate(("before", "after"))}
    figure = plots.cosine_by_gold(gold, cosines)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == ["0–1", "1–2", "2–3", "3–4", "4–5"]


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
