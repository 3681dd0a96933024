"""The pictures of the methods against the package: the tokens and shapes that they show are those of a batch."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import sentlab
from sentlab.methods import PaSeR, Universal, universal

PICTURES = Path(__file__).resolve().parents[2] / "book" / "pictures"


def texts(name: str) -> list[str]:
    root = ElementTree.parse(PICTURES / f"{name}.svg").getroot()
    labels = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    return [label.replace("\u200b", "") for label in labels]


def test_paser_masks_and_asks_for_the_tokens_in_its_picture() -> None:
    encoder = sentlab.Encoder.from_pretrained("tiny")
    batch = PaSeR(encoder, decoder_layers=1).collate(["The old farmer sold his brown horse."])
    tokens = encoder.tokenizer.convert_ids_to_tokens
    target = tokens(batch["targets"][0])
    shown = texts("paser")
    whole, masked = shown[3:33:3], shown[4:33:3]
    assert (whole, masked) == (tokens(batch["input_ids"][0]), tokens(batch["masked_ids"][0]))
    said, read = shown.index("says") + 1, shown.index("has read, besides the signal") + 1
    assert shown[said : said + len(target)] == target
    assert shown[read : read + len(target)] == ["[CLS]", *target[:-1]]
    assert f"10 × {encoder.dim}" in shown


def test_universal_takes_the_turns_and_has_the_heads_in_its_picture() -> None:
    encoder = sentlab.Encoder.from_pretrained("tiny")
    pairs = sentlab.data.load("toy-phrases", "train")[:50]
    shown = texts("universal")
    turn = universal.task_rows(nli=sentlab.data.load("toy-nli-pairs", "train"), pi=pairs, ptc=pairs).turn
    assert [label.lower() for label in shown[1:9]] == list(turn) * 2
    heads = Universal(encoder, paraphrases=pairs).heads
    for number, (task, labels) in enumerate(universal.LABELS.items(), 1):
        width = heads[task].in_features
        assert f"W{number}: {width} × {len(labels)}" in shown
        place = shown.index(f"W{number}: {width} × {len(labels)}") + 1
        assert shown[place : place + len(labels)] == list(labels)
