"""The model card of a saved encoder: what it is, how it was trained, and lines of code that load it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sentlab.encoder.maps import Whitening

if TYPE_CHECKING:
    from sentlab.encoder import Encoder

MARK = "<!-- Written by sentlab, anew at each save. Remove this line to keep your own text. -->"
FRONT = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- sentence-similarity
- feature-extraction
- sentlab
---
"""
EXAMPLE = 'texts = ["A man plays the guitar.", "Somebody makes music."]'
TRANSFORMERS = """import torch
from transformers import AutoModel, AutoTokenizer

{example}
tokenizer, model = AutoTokenizer.from_pretrained({name!r}), AutoModel.from_pretrained({name!r}).eval()
batch = tokenizer({given}, truncation=True, max_length={max_length}, padding=True, return_tensors="pt")
with torch.no_grad():
    states = model(**batch, output_hidden_states=True).hidden_states
mask = batch["attention_mask"].unsqueeze(-1)
vectors = {pooled}
"""
MEAN = "(({tokens}) * mask).sum(1) / mask.sum(1)"
POOLED = {
    "cls": "states[-1][:, 0]",
    "mean": MEAN.format(tokens="states[-1]"),
    "max": "states[-1].masked_fill(mask == 0, -torch.inf).amax(1)",
    "last2": MEAN.format(tokens="(states[-2] + states[-1]) / 2"),
    "first_last": MEAN.format(tokens="(states[1] + states[-1]) / 2"),
    "embedding_last": MEAN.format(tokens="(states[0] + states[-1]) / 2"),
}
DOWNLOAD = "from huggingface_hub import hf_hub_download\n"
WHITEN = """
{download}from safetensors.torch import load_file

post = load_file({path})
vectors = vectors @ post["linear.weight"].T + post["linear.bias"]
"""
NORMALIZE = "vectors = torch.nn.functional.normalize(vectors, dim=1)\n"


def model_card(encoder: Encoder, name: str, *, hub: bool = False) -> str:
    """Return the README.md of an encoder that is saved in a folder `name`, or is a model of that name on the hub."""
    config: Any = encoder.backbone.config
    about = {
        "dimensions of a vector": encoder.dim,
        "max_length, in tokens": encoder.max_length,
        "pooling": encoder.pooling,
        "after pooling": type(encoder.post).__name__ if encoder.post is not None else "nothing",
        "vectors have length 1": "yes" if encoder.normalize else "no",
        "prompt before each text": repr(encoder.prompts[encoder.default_prompt_name])
        if encoder.default_prompt_name in encoder.prompts
        else "none",
        "architecture": f"{config.model_type}, {config.num_hidden_layers} layers of {config.hidden_size}",
        "parameters": f"{sum(p.numel() for p in encoder.backbone.parameters()):,}",
    }
    parts = [
        FRONT + MARK,
        f"# {_plain(name)}",
        "This encoder turns a text into a vector. Similar texts get similar vectors.",
        _table(about),
        "## Load it",
        "In sentlab:",
        _code(f"import sentlab\n\n{EXAMPLE}\nvectors = sentlab.Encoder.from_pretrained({name!r}).encode(texts)\n"),
        *_elsewhere(encoder, name, hub),
        "## Training",
        *([_table(training) for training in encoder.trainings] or ["sentlab has no record of a training."]),
    ]
    return "\n\n".join(parts) + "\n"


def training_note(settings: Mapping[str, Any], rows: Any, dev: Sequence[Mapping[str, float]], kept: int) -> dict:
    """Return what the card says of a training, from a history and its rows."""
    note: dict[str, Any] = {"method": settings["method"]}
    if hasattr(rows, "fingerprint") and hasattr(rows, "split"):
        note["data"] = f"{rows.name} ({rows.split}), {len(rows):,} rows, fingerprint {rows.fingerprint}"
    else:
        note["data"] = f"{len(rows):,} rows"
    note |= {name: settings[name] for name in ("steps", "batch_size", "learning_rate", "seed", "arithmetic")}
    scores = {int(row["step"]): row["score"] for row in dev}
    note |= (
        {f"dev score at step {step}": round(scores[step], 2) for step in sorted({min(scores), kept} & {*scores})}
        if scores
        else {}
    )
    return note | {"step that was kept": kept}


def _elsewhere(encoder: Encoder, name: str, hub: bool) -> list[str]:
    """How other packages load it, or why they cannot."""
    theirs = f"from sentence_transformers import SentenceTransformer\n\n{EXAMPLE}\n"
    theirs += f"vectors = SentenceTransformer({name!r}).encode(texts)\n"
    whitened = isinstance(encoder.post, Whitening)
    if encoder.pooling not in POOLED or (encoder.post is not None and not whitened):
        what = "pooling" if encoder.pooling not in POOLED else "post"
        return [f"Other packages do not know its {what}, so load it in sentlab alone."]
    prompt = encoder.prompts.get(encoder.default_prompt_name or "", "")
    ours = TRANSFORMERS.format(
        example=EXAMPLE,
        name=name,
        given=f"[{prompt!r} + text for text in texts]" if prompt else "texts",
        max_length=encoder.max_length,
        pooled=POOLED[encoder.pooling],
    )
    if whitened:
        file = "post/model.safetensors"
        path = f"hf_hub_download({name!r}, {file!r})" if hub else repr(f"{name}/{file}")
        ours += WHITEN.format(download=DOWNLOAD if hub else "", path=path)
    ours += NORMALIZE if encoder.normalize else ""
    return ["In sentence-transformers:", _code(theirs), "In transformers:", _code(ours)]


def _table(rows: Mapping[str, Any]) -> str:
    lines = [f"| {_plain(name)} | {_plain(value)} |" for name, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines])


def _code(lines: str) -> str:
    return f"```python\n{lines}```"


def _plain(value: Any) -> str:
    """A value as the text of one cell, in Markdown: on one line, and nothing of it is markup."""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value > 9999 else str(value)
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"[\\`*~|\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
