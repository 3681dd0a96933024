"""Numbers in prose come from records: nobody types one.

A chapter computes them in a cell and shows them in its text. Myst-nb formats a number; a text stays as it is:

    from experiments.numbers import glue
    glue(gain=STS.between("PaSeR", "raw mean").value)       # a cell with the tag remove-cell
    PaSeR gains {glue:text}`gain:.1f` points.               # in Markdown, anywhere on the page

The front pages run no code: `{{ paser }}` in index.md is a substitution, and README has marked places, which
`cd book && python -m experiments.numbers ../README.md` fills. Both take the numbers of `front`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments import records, runs

PLACE = re.compile(r"(<!-- number:(\w+) -->).*?(<!-- -->)")


def glue(**numbers: Any) -> None:
    """Name numbers that the text of a notebook shows, in the book and in JupyterLab (`_lab`)."""
    from myst_nb import glue as keep  # only the book needs it

    for name, value in numbers.items():
        value = value.item() if hasattr(value, "item") else value  # of NumPy's numbers the page would show the type
        keep(name, value, display=False)


def effects(claims: Mapping[str, str], sign: str = "", *, turned: bool = False, on: str = "tiny") -> dict[str, str]:
    """Return effects of the scorecard, on an encoder, as texts for `glue`, each with its 95% interval.

    `claims`: name -> the text of a claim. A name with `_ci` is that of the interval. `sign`: `+` to write the sign of
    positive effects, too. `turned`: whether the page tells of the claim's second side over its first.
    """
    tested = {claim.text: claim.found.get(on) for claim in records.get("scorecard/claims").results.claims}
    texts, side = {}, -1 if turned else 1
    for name, claim in claims.items():
        effect = tested[claim]
        low, high = sorted((side * effect.low, side * effect.high))
        texts[name] = minus(f"{side * effect.difference:{sign}z.1f}")
        texts[f"{name}_ci"] = minus(f"{low:z.1f} to {high:z.1f}")
    return texts


def minus(text: str) -> str:
    """Return a text of numbers with the minus sign of print for each hyphen."""
    return text.replace("-", "−")


def spread(values: Any, form: str = ".1f") -> str:
    """Return the least and the largest of some numbers, such as `0.3 to 0.8`, or one where they read alike."""
    return " to ".join(dict.fromkeys(f"{end:{form}}" for end in (min(values), max(values))))


def front() -> dict[str, str]:
    """Return the numbers of the front pages, name -> text."""
    claims = records.get("scorecard/claims").results.claims
    controls = [claim for claim in claims if claim.own]
    tests = records.get("leaderboard/sentences").results.columns["STS"]
    texts = records.get("leaderboard/texts").results.columns["STS"]
    gain = next(claim.found["tiny"] for claim in claims if claim.text == "PaSeR beats the raw mean")
    return {
        "claims": str(len(claims) - len(controls)),
        "controls": str(len(controls)),
        "paser": f"{tests.rows['PaSeR'].score:.1f}",
        "paser_gain": f"{gain.difference:.1f}",
        "paser_gain_interval": f"{gain.low:.1f} to {gain.high:.1f}",
        "common_words": f"{tests.rows['common words'].score:.1f}",
        "paser_gain_captions": f"{texts.between('PaSeR, captions and NLI', 'raw mean').value:.1f}",
        "paser_gain_wikipedia": f"{texts.between('PaSeR, Wikipedia', 'raw mean').value:.1f}",
        "paser_in_page": f"{runs.values(runs.runs('page/paser')).mean():.1f}",
    }


def fill(text: str, numbers: dict[str, str]) -> str:
    """Return a text with its marked places filled, such as `<!-- number:claims -->73<!-- -->`."""
    return PLACE.sub(lambda place: f"{place[1]}{numbers[place[2]]}{place[3]}", text)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(fill(path.read_text(encoding="utf-8"), front()), encoding="utf-8")
