"""The model card of a saved encoder: what it is, how it was trained, and lines of code that load it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentlab.encoder import Encoder

MARK = "<!-- Written by sentlab, anew at each save. Remove this line to keep your own text. -->"
CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- sentence-similarity
- feature-extraction
- sentlab
---
{mark}

# {name}

This encoder turns a text into a vector. Similar texts get similar vectors.

- {dim} dimensions a vector, of length 1: {unit}
- pooling: {pooling}; after pooling: {post}
- max_length: {max_length} tokens; prompt before each text: {prompt!r}
- {kind}, {layers} layers of {width}, {parameters:,} parameters

## Load it

```python
import sentlab

encoder = sentlab.Encoder.from_pretrained({name!r})
vectors = encoder.encode(["A man plays the guitar.", "Somebody makes music."])
```

{elsewhere}

## Training

```json
{trainings}
```
"""
SENTENCE_TRANSFORMERS = """In sentence-transformers:

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer({name!r})
vectors = model.encode(["A man plays the guitar.", "Somebody makes music."])
```"""


def model_card(encoder: Encoder, name: str) -> str:
    """Return the README.md of an encoder that is saved in a folder `name`."""
    config: Any = encoder.backbone.config
    post = type(encoder.post).__name__ if encoder.post is not None else "nothing"
    alone = f"Other packages cannot load it: its {'pooling is pseudo' if post != 'Flow' else 'post is a Flow'}."
    return CARD.format(
        mark=MARK,
        name=name,
        dim=encoder.dim,
        max_length=encoder.max_length,
        pooling=encoder.pooling,
        post=post,
        unit="yes" if encoder.normalize else "no",
        prompt=encoder.prompt,
        kind=config.model_type,
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        parameters=sum(parameter.numel() for parameter in encoder.backbone.parameters()),
        elsewhere=alone if encoder.pooling == "pseudo" or post == "Flow" else SENTENCE_TRANSFORMERS.format(name=name),
        trainings=json.dumps(encoder.trainings, indent=2, ensure_ascii=False),
    )


def training_note(settings: Mapping[str, Any], rows: Any, dev: Sequence[Mapping[str, float]], kept: int) -> dict:
    """Return what the card says of a training, from a history and its rows."""
    note: dict[str, Any] = {"method": settings["method"], "data": f"{len(rows):,} rows"}
    if hasattr(rows, "fingerprint") and hasattr(rows, "split"):
        note["data"] = f"{rows.name} ({rows.split}), {len(rows):,} rows, fingerprint {rows.fingerprint}"
    note |= {name: settings[name] for name in ("steps", "batch_size", "learning_rate", "seed", "arithmetic")}
    scores = {int(row["step"]): row["score"] for row in dev}
    steps = sorted({min(scores), kept} & {*scores}) if scores else []
    return note | {f"dev score at step {step}": round(scores[step], 2) for step in steps} | {"step that was kept": kept}
