"""The page "Paper and code": its definitions exist, its numbers are those of records, its checks hold."""

from __future__ import annotations

import json
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from experiments import paper_and_code, published, records, runs

BOOK = Path(__file__).resolve().parents[2] / "book"


@pytest.fixture(scope="module")
def page() -> paper_and_code.Page:
    return paper_and_code.Page(BOOK / "paper-and-code.toml")


def test_links_lead_to_definitions(page: paper_and_code.Page) -> None:
    links = set(re.findall(r'href="#((?:sentlab|experiments)[^"]+)"', "".join(map(page.table, page.systems))))
    assert len(links) > 40
    assert links == set(re.findall(r'<summary id="([^"]+)"', page.source()))


def test_changes_come_from_records(page: paper_and_code.Page) -> None:
    for system in page.systems.values():
        for row in system["rows"]:
            lines, names = paper_and_code.changes(row)
            assert bool(names) == bool(re.search(r"[+−]\d", "".join(lines))), row["point"]


def test_a_change_is_the_difference_of_the_means_with_its_noise() -> None:
    where = {"method.arguments.top_phrases": 1}
    entry = {
        "label": "1 phrase", "ours": {"record": "tiny-sts/paser"},
        "other": {"record": "tiny-paser/rake", "where": where},
    }  # fmt: skip
    sides = runs.runs("tiny-sts/paser"), runs.runs("tiny-paser/rake", where)
    ours, other = (pd.Series([run.results.after.own["average"] for run in side]) for side in sides)
    gain = f"{other.mean() - ours.mean():+.1f}".replace("-", "−")
    noise = 2 * (ours.var() / len(ours) + other.var() / len(other)) ** 0.5
    lines, names = paper_and_code.change(entry)
    assert lines == [f"1 phrase {gain} (noise\u00a0{noise:.1f})"]
    assert names == ["tiny-sts/paser", "tiny-paser/rake"]


def test_rates_are_whole_trials_that_differ_from_the_choice_in_the_rate_alone() -> None:
    (heading, *lines, noise), names = paper_and_code.change({"rates": "tiny-sts/ptbert-tokens", "heading": "on dev"})
    tried = {
        (trial.values["train.learning_rate"], trial.values["dropout"]): trial.dev
        for trial in records.get("tiny-sts/ptbert-tokens").results.trials
        if trial.steps == 2000
    }
    assert set(tried) == {(3e-4, 0.01), (1e-3, 0.01), (1e-4, 0.01), (3e-4, 0.005)}  # the first is what was chosen
    gains = {rate: tried[rate, 0.01] - tried[3e-4, 0.01] for rate in (1e-3, 1e-4)}
    assert lines == [f"at {rate:g} {gain:+.1f}".replace(" -", " −") for rate, gain in gains.items()]
    assert (heading, names, noise[:6]) == ("on dev:", ["tiny-sts/ptbert-tokens"], "noise\u00a0")


def test_noise_is_twice_a_standard_error() -> None:
    ours, other = pd.Series([1.0, 2.0, 3.0]), pd.Series([2.0, 4.0, 6.0])
    assert paper_and_code.noise_of_gap(ours, other) == pytest.approx(2 * (1 / 3 + 4 / 3) ** 0.5)
    assert paper_and_code.noise_of_gap(ours, other, paired=True) == pytest.approx(2 * 1 / 3**0.5)
    assert paper_and_code.noise_of_gap(ours, other[:1]) == pytest.approx(2.0)
    assert paper_and_code.noise_of_gap(ours[:1], other[:1]) is None


def test_every_table_and_figure_of_the_papers_is_shown_where_its_row_says(page: paper_and_code.Page) -> None:
    contents = (BOOK.parent / "_toc.yml").read_text(encoding="utf-8")
    for item in page.items:
        assert f"book/{item['chapter']}" in contents, item
        chapter = json.loads((BOOK / f"{item['chapter']}.ipynb").read_text(encoding="utf-8"))
        text = "".join(line for cell in chapter["cells"] for line in cell["source"])
        number = item["item"].split()[1]
        assert re.search(rf"(Tables?|Figures?|Fig\.) [^.]*?{number}\b", text.replace("(", "").replace(")", "")), item
    printed = {("paser", "PaSeR"), ("universal", "Universal"), ("ptbert", "PT-BERT"), ("slice", "SLICE")}
    for file, paper in printed:
        named = {item["item"] for item in page.items if item["paper"] == paper}
        assert {f"Table {number}" for number in published._tables(file)} <= named
    table = page.progress()
    assert len(table) == len(page.items)
    for item, missing in zip(page.items, table["missing"], strict=True):
        done = all(count == wanted for count, wanted in map(paper_and_code.runs_there, item.get("records", ())))
        assert (missing == "nothing") == (done and "missing" not in item)


def test_the_checks_of_the_chapter_hold() -> None:
    cells = json.loads((BOOK / "paper-and-code.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    with chdir(BOOK):
        exec("\n".join([code[0], next(source for source in code if "checks = {}" in source)]), names)
    loss, share, pooled, tokens, gradient = names["checks"].values()
    assert abs(loss) < 1e-5
    assert 0 < share < 1
    assert pooled == 0.0
    assert tokens > 1e-6
    assert gradient < 1e-12
