"""Universal: words, phrases and sentences in one space, from three classifiers on pairs of vectors.

Li and Zhao (2020), "Learning Better Universal Representations from Pre-trained Contextualized Language Models". One
encoder reads both sides of a pair separately. A linear layer and a softmax on features of both vectors classify them:

  - `nli`: does a sentence entail another, contradict it or do neither (section 3.2)?
  - `pi` (paraphrase identification): is a phrase a paraphrase of another, or one of `negatives` drawn at random?
  - `ptc` (pairwise text classification): are two phrases, or words, equivalent, does one entail the other, or neither?

Every batch is of one task, and every second batch is of `nli` (section 3.3). `task_rows` puts the rows in this order.

Differs from the paper:
  - It draws negatives once, from the whole data set. Here they are drawn anew for each batch, from the second sides of
    all pairs. A phrase that is known to be a paraphrase of the target is never drawn.
  - It does not say which pairs of PPDB count as paraphrases in `pi`. Here all rows of the task do.
  - It builds all pairs first, 16 a batch. Here one of `pi` has B targets with a paraphrase and k negatives: B (1 + k).
  - Its optimiser is Adam (0.9, 0.98, 1e-9). `TrainConfig(betas=(0.9, 0.98), eps=1e-9, weight_decay=0)` is that one.

Differs from the released code:
  - None was released; where the paper is silent, SBERT (Reimers and Gurevych 2019) is followed. The heads have no bias.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentlab.data.rows import LabelledPair, PhrasePair
from sentlab.encoder import Encoder
from sentlab.encoder.inference import own_world
from sentlab.training import losses
from sentlab.training.checkpoint import digest
from sentlab.training.config import Tasks
from sentlab.training.losses import encode_in_parts

LABELS = {
    "nli": ("entailment", "neutral", "contradiction"),
    "pi": ("paraphrase", "other"),
    "ptc": ("equivalence", "entailment", "independent"),
}


def task_rows(**corpora: Sequence[LabelledPair] | Sequence[PhrasePair]) -> Tasks:
    """Order the rows of one, two or three tasks, with `nli` in every second batch and the others in turn between.

    Args:
        corpora: `nli=` rows of LabelledPair; `pi=` and `ptc=` rows of PhrasePair. All those of `pi` count as
            paraphrases, so leave out the ones whose relation is `independent`.

    Source: Universal, section 3.3.
    """
    others = [task for task in corpora if task != "nli"]
    alternating = [task for other in others for task in ("nli", other)]
    return Tasks(alternating if "nli" in corpora and others else list(corpora), **corpora)


class Negatives:
    """Draws `count` phrases that are not known to be paraphrases of a target, of pairs that are, in either direction.

    Only second sides are drawn, as a target's partner is one. Otherwise a negative could be known by its form, as a
    word among phrases. Source: Universal, section 3.2; Mikolov et al. (2013).
    """

    def __init__(self, pairs: Sequence[PhrasePair], count: int):
        known: dict[str, set[str]] = defaultdict(set)
        phrases: dict[str, str] = {}
        for pair in pairs:
            a, b = pair.phrase_a.casefold(), pair.phrase_b.casefold()
            known[a].add(b)
            known[b].add(a)
            phrases[b] = pair.phrase_b
        self.known, self.count, self.phrases = dict(known), count, list(phrases.values())
        self.fingerprint = digest([*pairs, count])  # for a checkpoint

    def draw(self, target: str, *known: str) -> list[str]:
        """Draw different phrases, with torch's global generator; `known` are further paraphrases of the target."""
        barred = {phrase.casefold() for phrase in (target, *known)} | self.known.get(target.casefold(), set())
        few = len(self.phrases) - len(barred) < self.count  # else enough are left, which takes no look at all of them
        if few and sum(phrase.casefold() not in barred for phrase in self.phrases) < self.count:
            raise ValueError(f"{self.count} negatives of {target!r} cannot be drawn: give more pairs, or ask for fewer")
        drawn: list[str] = []
        while len(drawn) < self.count:
            phrase = self.phrases[int(torch.randint(len(self.phrases), ()))]
            if phrase.casefold() not in barred:
                barred.add(phrase.casefold())
                drawn.append(phrase)
        return drawn


class Universal(nn.Module):
    """Trains `encoder` on rows of `task_rows`.

    The heads start random, and random heads harm the encoder: `sentlab.train_heads_first` takes the place of `fit`.

    Args:
        encoder: trained in place. The paper pools with `mean`.
        pair_features: what the classifiers see of u and v. See `sentlab.training.losses.pair_features`.
        negatives: k for each target of `pi`, at least 1; 3 are mostly best (Table 3).
        tasks: one classifier is made for each. What `task_rows` returns says which, and has the paraphrases of `pi`.
        paraphrases: the pairs that `pi` draws its negatives from. That task needs them.

    Example:
        >>> rows = sentlab.task_rows(pi=paraphrases, ptc=paraphrases)
        >>> method = Universal(sentlab.Encoder.from_pretrained(pooling="mean"), tasks=rows)
        >>> heads, history = sentlab.train_heads_first(method, rows, sentlab.TrainConfig(steps=2), progress=False)
    """

    @own_world()
    def __init__(
        self,
        encoder: Encoder,
        *,
        pair_features: str = "u,v,|u-v|",
        negatives: int = 3,
        tasks: Sequence[str] | Tasks = ("nli", "pi", "ptc"),
        paraphrases: Sequence[PhrasePair] = (),
    ):
        super().__init__()
        if isinstance(tasks, Tasks):
            paraphrases, tasks = paraphrases or tasks.corpora.get("pi", ()), list(tasks.corpora)
        if "pi" in tasks and (negatives < 1 or not paraphrases):
            raise ValueError(f"pi draws {negatives=}, at least 1, from paraphrases=, its rows: pass both")
        self.encoder, self.pair_features = encoder, pair_features
        self.negatives = Negatives(paraphrases, negatives) if "pi" in tasks else None
        none = torch.zeros(0, encoder.backbone.config.hidden_size)
        width = losses.pair_features(none, none, pair_features).shape[1]
        self.heads = nn.ModuleDict({task: nn.Linear(width, len(LABELS[task]), bias=False) for task in tasks})
        self.to(encoder.device)

    def collate(self, rows: Sequence[tuple[str, Any]]) -> dict[str, Tensor]:
        """Tokenise a batch of one task from `task_rows`. The negatives of `pi` come from torch's global generator.

        Gives `input_ids` and `attention_mask` (N, L) of the N distinct texts, and of the P pairs `first` and `second`,
        row numbers (P,). Also `labels` (P,), places in `LABELS`; `task` (), the head's. P is B (1 + k) for `pi`.
        """
        (task,) = {name for name, _ in rows}
        texts: dict[str, int] = {}  # text -> its row
        places = []
        for first, second, label in (pair for _, row in rows for pair in self._pairs(task, row)):
            if label not in LABELS[task]:
                raise ValueError(f"{task} has no label {label!r}, as of {first!r}")
            numbers = [texts.setdefault(text, len(texts)) for text in (first, second)]
            places.append([*numbers, LABELS[task].index(label)])
        columns = torch.tensor(places, device=self.encoder.device).T  # (3, P)
        tensors = dict(zip(("first", "second", "labels"), columns, strict=True))
        return self.encoder.tokenize(list(texts)) | tensors | {"task": torch.tensor(list(self.heads).index(task))}

    def _pairs(self, task: str, row: Any) -> list[tuple[str, str, str]]:
        """The pairs of texts that a row gives, with their labels."""
        if task == "nli":
            return [(row.text_a, row.text_b, row.label)]
        if self.negatives is None or task == "ptc":
            return [(row.phrase_a, row.phrase_b, row.relation)]
        others = [(row.phrase_a, phrase, "other") for phrase in self.negatives.draw(row.phrase_a, row.phrase_b)]
        return [(row.phrase_a, row.phrase_b, "paraphrase"), *others]

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the batch's mean cross entropy under its task's name: `softmax(W [u; v; |u - v|])` (section 3.2)."""
        task = list(self.heads)[int(batch["task"])]
        vectors, _ = encode_in_parts(self.encoder, batch["input_ids"], batch["attention_mask"])  # (N, D)
        features = losses.pair_features(vectors[batch["first"]], vectors[batch["second"]], self.pair_features)  # (P, F)
        return {task: F.cross_entropy(self.heads[task](features).float(), batch["labels"])}

    def after_step(self) -> None: ...  # nothing changes between steps
