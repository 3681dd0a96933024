"""The model card of a pre-trained encoder: every number in it comes from the run or is measured when it is written."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentlab import data
from sentlab.encoder import Encoder
from sentlab.evaluation.sts import evaluate_sts
from sentlab.files import replacing
from sentlab.training import History

LICENCES = {
    "wikipedia-core": "English Wikipedia, core articles; CC BY-SA 4.0",
    "english-novels": "English novels of 1838 to 1930; public domain",
    "openstax-biology": "Biology, OpenStax; CC BY 3.0",
}

CARD = """---
language: en
library_name: transformers
license: mit
---

# {name}: a raw BERT to learn with

{parameters:,} parameters: {layers} layers of {width}, {heads} heads, an uncased WordPiece vocabulary of {vocabulary:,},
up to {positions} tokens. Trained from {start} by masked-language modelling alone (Devlin et al. 2019, without
next-sentence prediction). It never saw an objective on sentences, so whatever its sentence vectors are good for comes
from the methods that are trained on top. It is made to be quick to train with, not to be good: for work, take a larger
encoder.

## Text

{texts}
| toy-world sentences of the training split (fingerprint `{toy}`) | made by this project; MIT |

{tokens:,} tokens in {sentences:,} sentences. Training saw {seen:,} tokens{repeats}.
Texts are lower-cased and shuffled by paragraph. Old novels and an encyclopedia know nothing of the present and much of
the prejudices of their time: expect both in the vectors.

## Training

`{command}`

{steps:,} steps of {sheet:,} tokens, in blocks of {lengths} tokens that begin with a sentence. 15% of the tokens are
masked (80% [MASK], 10% random, 10% left). AdamW has a peak learning rate of {rate:g}, {warmup:.0%} warm-up and {decay}.
Dropout is {trained_dropout:g} while pre-training (its configuration says {dropout:g}, for the methods). Arithmetic is
in bfloat16, and the seed is {seed}. The position vectors of a new model start as sinusoids. {hours:.1f} hours on
{device}; torch {torch}, transformers {transformers}. Kept in half precision.
`pretraining.json` holds all settings and losses.

Masked-LM loss (nats a masked token): {first:.2f} at the start, {last:.2f} over the last hundred steps.

![Masked-LM loss by step](loss.png)

## Sentence vectors, as they come

Spearman x 100 on the test sets, aggregation "all", maximum length 64; `toy-sts` is the project's own toy world.

{scores}
"""


def write_card(folder: Path, work: Path, history: History, command: str) -> None:
    """Write README.md and loss.png into the model's folder; STS needs SENTLAB_DATA or the hub.

    Args:
        folder: the exported model.
        work: where pre-training kept its state (`prepared.json`).
        history: of the pre-training.
        command: that made the model.
    """
    prepared = json.loads((work / "prepared.json").read_text(encoding="utf-8"))
    encoder = Encoder.from_pretrained(folder, max_length=64)
    config: Any = encoder.backbone.config
    losses = np.array([row["mlm"] for row in history.losses])
    settings = history.settings
    decay = settings["decay"]
    falling = "linear decay" if decay is None else f"linear decay over the last {decay:.0%}" if decay else "no decay"
    on_gpu = encoder.device.type == "cuda"
    texts = ["| text | licence |", "|---|---|"]
    texts += [f"| `{name}` | {LICENCES.get(name.split('.')[0], 'see its source')} |" for name in prepared["text"]]
    content = CARD.format(
        name=folder.name,
        start=f"`{settings['start']}`" if settings["start"] else "nothing",
        parameters=sum(p.numel() for p in encoder.parameters()),
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        heads=config.num_attention_heads,
        vocabulary=config.vocab_size,
        positions=config.max_position_embeddings,
        texts="\n".join(texts),
        toy=prepared["toy"],
        tokens=prepared["tokens"],
        sentences=prepared["sentences"],
        seen=settings["steps"] * settings["sheet"],
        repeats=", none twice" if settings["steps"] <= settings["rows"] else ", some of them more than once",
        command=command,
        steps=settings["steps"],
        sheet=settings["sheet"],
        lengths=", ".join(map(str, sorted(set(settings["lengths"])))),
        rate=settings["learning_rate"],
        warmup=settings["warmup"],
        decay=falling,
        trained_dropout=settings["dropout"],
        dropout=config.hidden_dropout_prob,
        seed=settings["seed"],
        hours=history.seconds / 3600,
        device=torch.cuda.get_device_name() if on_gpu else f"{torch.get_num_threads()} CPU thread(s)",
        torch=torch.__version__,
        transformers=version("transformers"),
        first=losses[0],
        last=losses[-10:].mean(),
        scores=_scores(encoder),
    )
    from sentlab import plots  # brings seaborn, which only this needs

    plots.training_losses(history.losses, ["mlm"], "masked-LM loss").savefig(folder / "loss.png", bbox_inches="tight")
    with replacing(folder / "README.md") as temporary:
        temporary.write_text(content, encoding="utf-8")


def _scores(encoder: Encoder) -> str:
    """The table of STS scores, or why there is none: hours of training are not lost for want of a test set."""
    tasks = [*data.STS_TASKS, "toy-sts"]
    lines = [f"| pooling | {' | '.join([*data.STS_TASKS, 'average of 7', 'toy-sts'])} |", "|---" * 10 + "|"]
    try:
        for pooling in ("cls", "mean"):
            encoder.pooling = pooling
            scores = evaluate_sts(encoder, tasks).scores
            seven = [scores[task] for task in data.STS_TASKS]
            row = [*seven, sum(seven) / len(seven), scores["toy-sts"]]
            lines.append(f"| {pooling} | {' | '.join(f'{value:.2f}' for value in row)} |")
    except FileNotFoundError as error:
        return f"Not measured, because a test set was not at hand: {str(error).splitlines()[0]}"
    return "\n".join(lines)
