"""The record of `sentlab.experiments.sentence_map` as an interactive picture in plain HTML: no library, no network."""

from __future__ import annotations

import json
from pathlib import Path

from sentlab.experiments.records import Record

ASSETS = Path(__file__).parents[1] / "assets" / "layout"
WITHOUT = "Here is an interactive picture, for which the page must be allowed to run JavaScript."


def interactive_layout(record: Record) -> str:
    """Return HTML that holds all it needs: the points of every encoder, their style and their script.

    Hovering over a point, or going there with the arrow keys, shows its sentence. A click or Enter lists its
    neighbours under each encoder. Show it with `IPython.display.HTML`; a page can hold several.

    Args:
        record: of `sentlab.experiments.sentence_map`.

    Raises:
        ValueError: the record holds no layout.
    """
    if "rows" not in record.examples:
        raise ValueError(
            f"{record.name} holds no layout: run `python -m sentlab.experiments.sentence_map` on its file first"
        )
    found = record.examples
    content = {
        "topics": record.settings["topics"],
        "wordings": record.settings["wordings"],
        **{name: found[name] for name in ("texts", "topic", "scene")},
        "rows": [
            {"label": label, "numbers": record.results["layout"][label], **drawn}
            for label, drawn in found["rows"].items()
        ],
    }
    # no "<" in the data can end the element early
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    style, script = ((ASSETS / f"layout.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return (
        f'<div class="sentlab-layout"><style>{style}</style><p>{WITHOUT}</p>'
        f'<script type="application/json">{data}</script><script>{script}</script></div>'
    )
