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

- {encoder.dim} dimensions a vector; scaled to length 1: {encoder.normalize}
- pooling: {encoder.pooling}; after pooling: {post}
- max_length: {encoder.max_length} tokens; prompt before each text: {encoder.prompt!r}
- {config.model_type}, {config.num_hidden_layers} layers of {config.hidden_size}, {parameters:,} parameters

## Load it

```python
import sentlab

encoder = sentlab.Encoder.from_pretrained({name!r})
vectors = encoder.encode(["A man plays the guitar.", "Somebody makes music."])
```

In sentence-transformers, if `pooling` is not pseudo and no Flow follows it:

```python
from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer({name!r}).encode(["A man plays the guitar.", "Somebody makes music."])
```

## Training

```json
{trainings}
```
"""


def model_card(encoder: Encoder, name: str) -> str:
    """Return the README.md of an encoder that is saved in a folder `name`."""
    return CARD.format(
        mark=MARK,
        name=name,
        encoder=encoder,
        config=encoder.backbone.config,
        post=type(encoder.post).__name__ if encoder.post is not None else "nothing",
        parameters=sum(parameter.numel() for parameter in encoder.backbone.parameters()),
        trainings=json.dumps(encoder.trainings, indent=2, ensure_ascii=False),
    )


def training_note(settings: Mapping[str, Any], rows: Any, dev: Sequence[Mapping[str, float]], kept: int) -> dict:
    """Return what the card says of a training, from a history and its rows."""
    data = f"{len(rows):,} rows"
    if hasattr(rows, "fingerprint") and hasattr(rows, "split"):
        data = f"{rows.name} ({rows.split}), {data}, fingerprint {rows.fingerprint}"
    names = ("method", "steps", "batch_size", "learning_rate", "seed", "arithmetic")
    scores = {f"dev score at step {row['step']:g}": round(row["score"], 2) for row in dev if row["step"] in (0, kept)}
    return {"data": data} | {name: settings[name] for name in names} | scores | {"step that was kept": kept}
