"""Widgets that think: HTML in which an encoder runs on the reader's machine, without a network or a kernel.

Show one with `IPython.display.HTML`. A page may hold several. A page with JavaScript off shows a sentence instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

from sentlab.encoder import Encoder
from sentlab.methods import PaSeR

from experiments.maps import MapRecord
from experiments.page import ASSETS, export, name_in, packed

WITHOUT = "This picture needs JavaScript, which is off in this browser."
PAIRS = (
    ("paraphrase", "A man is playing a guitar.", "Someone plays the guitar."),
    ("negation", "The film was good.", "The film was not good."),
    ("word order", "The dog bit the man.", "The man bit the dog."),
    ("one word", "A woman is slicing an onion.", "A woman is slicing a potato."),
    ("unrelated", "A man is playing a guitar.", "The bank raised its interest rates."),
)


def compare(
    rows: Mapping[str, tuple[Encoder | str | Path, str]],
    pairs: Sequence[tuple[str, str, str]] = PAIRS,
    *,
    folder: str | Path | None = None,
) -> str:
    """Return a widget that shows the cosine of two sentences under several vectors, updated while one types.

    Args:
        rows: label -> encoder, or the path of its script (`experiments.page.export`), and pooling (`cls` or
            `mean`). The page fetches a script when a reader begins. Rows that share an encoder share its weights.
        pairs: label, first and second sentence of each example; the first is shown at the start.
        folder: beside the page. The first encoder is included, and the others are scripts in that folder, which the
            page fetches when a reader begins. None includes all of them, 2.3 MB for each encoder of the size of `tiny`.

    Example:
        >>> tiny = sentlab.Encoder.from_pretrained()
        >>> IPython.display.HTML(widgets.compare({"raw [CLS]": (tiny, "cls"), "raw mean": (tiny, "mean")}))
    """
    lines, included = _packing({label: model for label, (model, _) in rows.items()}, folder)
    for line, (_, pooling) in zip(lines, rows.values(), strict=True):
        line["pooling"] = pooling
    examples = [dict(zip(("label", "first", "second"), pair, strict=True)) for pair in pairs]
    return widget("compare", {"rows": lines, "pairs": examples}, included)


def spans(
    encoders: Mapping[str, Encoder],
    passage: str,
    phrase: str,
    *,
    longest: int = 20,
    weights: bool = True,
    folder: str | Path | None = None,
) -> str:
    """Return a widget that shows the similarity of a phrase with every span of a passage.

    The numbers are those of `sentlab.search.spans.span_scores` on whole words.

    Args:
        encoders: label -> encoder.
        passage, phrase: shown at the start.
        longest: words of the longest span that one can choose.
        weights: include the encoders; a later widget of the page with the same encoders needs them no more.
        folder: as in `compare`.
    """
    rows, included = _packing(encoders, folder)
    data = {"rows": rows, "passage": passage, "phrase": phrase, "longest": longest}
    return widget("spans", data, included if weights else ())


def bootstrap(gold: Sequence[float], cosines: Mapping[str, Sequence[float]]) -> str:
    """Return a widget that draws pairs again and again, and shows how far scores and differences of encoders move.

    Args:
        gold: the human score of each pair, (n,).
        cosines: label -> the cosine of each pair, (n,). Differences are from the first.
    """
    rows = [
        {"label": label, "cosines": [round(float(x), 5) for x, _ in zip(values, gold, strict=True)]}
        for label, values in cosines.items()
    ]
    return widget("bootstrap", {"gold": [float(x) for x in gold], "rows": rows})


def dropout(encoder: Encoder, sentence: str, others: Sequence[str]) -> str:
    """Return a widget that shows how far dropout moves a sentence's vector, beside the vectors of other sentences."""
    data = {"encoder": _key(encoder), "pooling": encoder.pooling, "sentence": sentence, "others": list(others)}
    return widget("dropout", data, [encoder])


def decoder(
    checkpoints: Mapping[str, PaSeR], sentence: str, chosen: Sequence[int], *, folder: str | Path | None = None
) -> str:
    """Return a widget in which PaSeR's decoder generates the words that a reader masks, from two sentence vectors.

    The words are those of `PaSeR.reconstruct` with one beam.

    Args:
        checkpoints: label -> the method at that time of its training, in order. The last is shown at the start.
        sentence: shown at the start.
        chosen: numbers of its words that are masked at the start.
        folder: as in `compare`, but all checkpoints are scripts, fetched when a reader asks.
    """
    rows, included = _packing(checkpoints, folder, first=False)
    return widget("decoder", {"rows": rows, "sentence": sentence, "chosen": list(chosen)}, included)


def sentence_map(record: MapRecord) -> str:
    """Return a widget with the points of a record of the kind `map`, encoder by encoder.

    Hovering over a point, or going there with the arrow keys, shows its sentence. A click or Enter lists its
    neighbours under each encoder.
    """
    results = record.results
    rows = [
        {"label": label, "numbers": map_numbers(record, label), **drawing}
        for label, drawing in results["drawings"].items()
    ]
    data = record.settings.model_dump(include={"topics", "wordings"}) | {"rows": rows}
    return widget("map", data | {name: results[name] for name in ("texts", "topic", "scene")})


def map_numbers(record: MapRecord, label: str) -> dict[str, float]:
    """Return the numbers of an encoder of a map by the names that pictures and tables show."""
    names = {"same scene": "same_scene", "same topic": "same_topic"}
    names |= {"kept by PCA": "kept_by_pca", "kept by UMAP": "kept_by_umap"}
    return {shown: record.results["numbers"][label][name] for shown, name in names.items()}


def whole_page(title: str, *parts: str) -> str:
    """Return an HTML page with these widgets, to be opened from a disk or served from anywhere.

    Example:
        >>> page = widgets.whole_page("My encoder", widgets.compare(rows))
        >>> pathlib.Path("mine.html").write_text(page, encoding="utf-8")
    """
    view = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    style = "<style>body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem }</style>"
    head = f"{view}<title>{escape(title)}</title>{style}"
    return f"<!doctype html><html lang=en>{head}<h1>{escape(title)}</h1>{''.join(parts)}\n"


def widget(kind: str, data: Mapping[str, Any], models: Sequence[Encoder | PaSeR] = ()) -> str:
    """Return HTML that holds all it needs but scripts of encoders. What the data says cannot end an element early.

    Args:
        kind: a function of `widgets.js`, or the name of a script beside it that adds one.
        data: for that function.
        models: whose weights are included.
    """
    weights = {_key(model): _json(packed(model)) for model in models}
    parts = [f"(globalThis.sentlabEncoders ??= {{}})[{_json(key)}] ??= {packing};" for key, packing in weights.items()]
    sources = {path.stem: path.read_text(encoding="utf-8") for path in ASSETS.glob("*.js")}
    for name, function in (("encoder", "sentlabEncoder"), ("widgets", "sentlabWidgets")):
        parts.append(f"globalThis.{function} ??= (() => {{ {sources[name]}\nreturn {function}; }})();")
    if kind in sources:
        parts.append(sources[kind])
    place = f"sentlab-{uuid4().hex[:12]}"  # JupyterLab runs scripts without saying where they are
    parts.append(
        f"{{ const root = document.getElementById('{place}'); root.querySelector('p').remove();"
        f" root.onkeydown = event => event.stopPropagation();"  # JupyterLab has shortcuts of its own
        f" sentlabWidgets.{kind}(root, {_json(data)}); }}"
    )
    styles = [path for name in ("widgets", kind) if (path := ASSETS / f"{name}.css").exists()]
    style = "".join(path.read_text(encoding="utf-8") for path in styles)
    scripts = "".join(f"<script>{part}</script>" for part in parts)
    return f'<div class="sentlab-widget" id="{place}"><style>{style}</style><p>{WITHOUT}</p></div>{scripts}'


def _packing(
    models: Mapping[str, Any], folder: str | Path | None, *, first: bool = True
) -> tuple[list[dict[str, str]], list[Encoder | PaSeR]]:
    """What each row says of its model, and the models to include: all, or with a folder the first at most."""
    rows: list[dict[str, str]] = []
    included: dict[str, Encoder | PaSeR] = {}
    for label, model in models.items():
        if isinstance(model, str | Path):
            rows.append({"label": label, "encoder": name_in(model), "file": Path(model).as_posix()})
            continue
        rows.append({"label": label, "encoder": (key := _key(model))})
        if folder is None or (first and not included) or key in included:
            included[key] = model
        else:
            rows[-1]["file"] = export(model, Path(folder) / f"{key}.js", key).as_posix()
    return rows, list(included.values())


def _key(model: Encoder | PaSeR) -> str:
    """The name of a model's weights in a page: the same for the same weights."""
    if isinstance(model, Encoder):
        return model.fingerprint()
    digest = sha256(f"{model.encoder.fingerprint()} {model.m} {model.n}".encode())
    for weight in model.decoder.parameters():
        digest.update(weight.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
