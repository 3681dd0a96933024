"""The tables of the chapter "Paper and code": what paper, released code and sentlab make of a point.

`book/paper-and-code.toml` holds them and says how it is written.
"""

from __future__ import annotations

import html
import inspect
import re
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path
from pydoc import locate
from typing import Any, cast

import numpy as np
import pandas as pd
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from experiments import numbers, records, runs, tables
from experiments.search import combinations


class Page:
    """What the chapter shows, of a TOML file as explained above."""

    def __init__(self, path: str | Path) -> None:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        self.systems: dict[str, dict[str, Any]] = content["systems"]
        self.baselines: dict[str, str] = content["baselines"]
        self.items: list[dict[str, Any]] = content["items"]

    def progress(self) -> pd.DataFrame:
        """Return the tables and figures of the papers: where each is shown, and what is still to be run."""
        rows = []
        for item in self.items:
            there = [runs_there(name) for name in item.get("records", ())]
            count, wanted = (sum(side) for side in zip(*there, strict=True)) if there else (0, 0)
            runs = "" if count == wanted else f"{count} of {wanted} runs so far"
            rows.append(
                {
                    "paper": item["paper"],
                    "item": f'<a href="{item["chapter"]}.html">{item["item"]}</a>: {marked(item["what"])}',
                    "how": ", ".join(["executed"] * item.get("executed", False) + ["recorded"] * bool(there)),
                    "encoder": item.get("encoder", "tiny"),
                    "missing": "; ".join(filter(None, [runs, marked(item.get("missing", ""))])) or "nothing",
                }
            )
        return pd.DataFrame(rows)

    def table(self, system: str) -> str:
        """Return the rows of a system as HTML, with links to definitions and records."""
        nothing, rows = "–" if self.systems[system]["code_released"] else "none released", {}
        for row in self.systems[system]["rows"]:
            # `PaSeR.loss` of `sentlab.methods.paser.PaSeR.loss`
            short = {name: re.sub(r"^([a-z]\w*\.)+(?=\w)", "", name.removesuffix(".__init__")) for name in row["lines"]}
            links = ", ".join(f'<a href="#{name}">{label}</a>' for name, label in short.items())
            lines, names = changes(row)
            changed = [marked(line) for line in lines]
            changed += [f'<code class="record">{tables.linked(name, name)}</code>' for name in names]
            rows[marked(row["point"])] = {
                "the paper": marked(row["paper"]),
                "released code": marked(row.get("code", nothing)),
                "here": f"{marked(row['here'])}<br>{links}",
                "what it changes, recorded": "<br>".join(changed),
            }
        with pd.option_context("display.max_colwidth", None):
            return pd.DataFrame(rows).T.to_html(classes="points", border=0, escape=False)

    def baseline_notes(self) -> str:
        """Return how the baselines differ from their papers and code, in the words of their docstrings, as Markdown."""
        return "\n\n".join(f"**{name}**\n\n{differences(module)}" for name, module in self.baselines.items())

    def source(self) -> str:
        """Return the definitions that the tables link to, each folded, as HTML."""
        names = {name for system in self.systems.values() for row in system["rows"] for name in row["lines"]}
        return "".join(
            f'<details><summary id="{name}"><code>{name}</code></summary>'
            f"{highlight(definition(name), PythonLexer(), HtmlFormatter())}</details>"
            for name in sorted(names)
        )

    def counts(self) -> pd.DataFrame:
        """Count the points of each system, and those for which a record says what they change."""
        rows = []
        for name, system in self.systems.items():
            for row in system["rows"]:
                is_open = "Open" in row["paper"]
                measured = any("text" not in entry for entry in row.get("changes", ()))
                rows.append([name, 1, is_open, is_open and measured, measured])
        columns = ["system", "points", "the paper leaves something open", "of these measured", "measured in all"]
        return pd.DataFrame(rows, columns=columns).groupby("system", sort=False).sum().rename_axis(None)


def runs_there(name: str) -> tuple[int, int]:
    """Count the runs of a record that are finished, and those that it asks for."""
    record = records.get(name)
    if not hasattr(record, "runs"):
        return int(record.done), 1
    try:
        planned = record.planned()
    except records.NotRun:
        grids = getattr(record.settings, "grids", [])
        return 0, sum(len(combinations(grid)) for grid in grids) or len(record.settings.seeds)
    return sum(record.run_with(settings) is not None for settings in planned), len(planned)


def definition(name: str) -> str:
    """Return the source of a module, function or class by its dotted name, or the value of a constant."""
    thing = inspect.unwrap(cast("Any", locate(name)))  # of a cache, its function
    if thing is None:
        raise LookupError(f"{name} is not defined; book/paper-and-code.toml links to it")
    if inspect.ismodule(thing) or inspect.isfunction(thing) or inspect.isclass(thing):
        return textwrap.dedent(inspect.getsource(thing))
    return f"{name.rsplit('.', 1)[1]} = {thing!r}"


def differences(module: str) -> str:
    """Return what a module's docstring says on how it differs from paper and code, as Markdown."""
    docstring = inspect.cleandoc(locate(module).__doc__ or "")
    return docstring[docstring.index("Differs from the") :].replace(":\n  - ", ":\n\n  - ")


def changes(row: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return what a choice changes: the lines of all entries, and the names of all records, each once."""
    parts = [change(entry) for entry in row.get("changes", ())] or [(["not measured"], [])]
    lines, names = (list(dict.fromkeys(item for part in side for item in part)) for side in zip(*parts, strict=True))
    return lines, names


def change(entry: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return what one entry says a choice changes: the other choice minus ours, with the noise to exceed.

    `entry`: one of these keys says of which kind it is. `text`: a line that no record changes. `other`: these runs
    against those of `ours`, both as for `scores`. `paired`: they belong together in order. `rates`: a search, whose
    whole trials differ in the learning rate from its choice, on dev. `williams`: the record of a comparison, in which
    `row` has spans of `ours` words, or of `others`.

    Returns:
        Lines such as `mean +4.1`, and the names of records.
    """
    if "text" in entry:
        return [entry["text"]], []
    noise, untrained = None, False
    if "rates" in entry:
        names, search, rate = [entry["rates"]], records.get(entry["rates"]), "train.learning_rate"
        chosen, whole = search.results.chosen, search.settings.length
        trials = [trial for trial in search.results.trials if trial.steps == whole]
        by_rate = {one.values[rate]: one.dev for one in trials if one.values | {rate: chosen[rate]} == chosen}
        base = by_rate.pop(chosen[rate])
        gains = {f"at {rate:g}": dev - base for rate, dev in by_rate.items()}
        noise = 2 * float(np.std([runs.dev_of(run) for run in runs.runs(entry["rates"])], ddof=1))
    elif "williams" in entry:
        names, made = [entry["williams"]], records.get(entry["williams"]).tables()
        by_size = {size: float(table.pearson[entry["row"]]) for setup, size, table in made if setup == "spans"}
        gains = {f"{size} words": by_size[size] - by_size[entry["ours"]] for size in entry["others"]}
    else:
        sides = entry["ours"], entry["other"]
        names = [side["record"] for side in sides]
        ours, other = (scores(side) for side in sides)
        gains = {entry["label"]: float(other.mean() - ours.mean())}
        untrained = any(side.get("when") == "before" for side in sides)  # which has no seed
        noise = noise_of_gap(ours, other, paired=entry.get("paired", False))
    lines = [f"{label} {numbers.minus(f'{gain:+.1f}')}" for label, gain in gains.items()]
    shown = "one seed" if noise is None else f"noise\u00a0{noise:.1f}"
    if not untrained:
        lines = [f"{lines[0]} ({shown})"] if len(lines) == 1 else [*lines, shown]
    return [*([f"{entry['heading']}:"] if "heading" in entry else []), *lines], names


def scores(which: Mapping[str, Any]) -> pd.Series:
    """Read one score of each run of a record.

    `which`: `record`, its name; `score`, a key of `runs.scores`; `vector`, a pooling; `when`, before or after training;
    `only`, positions of the runs that count; `where`, setting -> value of runs of a sweep that count.
    """
    several = runs.runs(which["record"], which.get("where"))
    several = [several[i] for i in which.get("only", range(len(several)))]
    score, vector, when = which.get("score", "average"), which.get("vector"), which.get("when", "after")
    return pd.Series([runs.scores(run, vector, when)[score] for run in several])


def noise_of_gap(ours: pd.Series, other: pd.Series, *, paired: bool = False) -> float | None:
    """Compute what a difference of means must exceed; None where each side has one run.

    It is twice the difference's standard error, or twice the deviation of the side with seeds.
    """
    if paired:
        return float(2 * (other - ours).std() / len(ours) ** 0.5)
    sides = [side for side in (ours, other) if len(side) > 1]
    if len(sides) == 2:
        return float(2 * sum(side.var() / len(side) for side in sides) ** 0.5)
    return float(2 * sides[0].std()) if sides else None


def marked(text: str) -> str:
    """Convert text with `code` and [links](#) to HTML."""
    text = re.sub("`(.+?)`", r"<code>\1</code>", html.escape(" ".join(text.split())))
    return re.sub(r"\[([^]]+)\]\((#.+?)\)", r'<a href="\2">\1</a>', text)
