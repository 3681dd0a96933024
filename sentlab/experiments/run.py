"""Run what a record's settings say, and write the results into it.

    python -m sentlab.experiments.run book/results/NAME.json ... [--again]
    accelerate launch --num_processes 4 -m sentlab.experiments.run ...    (on several GPUs)

Settings:
    encoder   source, pooling, max_length: as `Encoder.from_pretrained` takes them; what another record has trained is
              in `runs/NAME/encoder`
    method    name in `sentlab.methods` and its arguments, or `Whitening` or `Flow`; null: only evaluate the encoder.
              PaSeR's `phrases` are a list of kinds of chunks (null: RAKE), a `view` a list of names in `sentlab.text.views`
    words     `nltk` (WordNet's synonyms, NLTK's tagger and the roles that rules make of its tags) or `toy` (the toy
              world's), for views and chunks
    data      corpus to train on, by name, or `NAME/SPLIT`; the split is else `train`. For Universal: task -> corpus
    draw      `rows` and `seed`: how many rows of that corpus to take, at random; null: all of them
    train     `TrainConfig`; null for a map that is fitted
    dev       corpus whose `dev` split chooses the step to keep (Spearman x 100)
    watch     steps between two looks at alignment and uniformity on the dev corpus; null: none
    setups    set-ups of `sentlab.evaluation.mining` in which phrases in contexts are evaluated, the first of them on dev too; the
              default is `spans` and `full`
    test      corpora whose `test` split is evaluated, before and after training
    heads     of them, graded pairs on which a head is trained as well (`evaluate_relatedness`)
    poolings  sentence vectors that are evaluated, beside the encoder's own
    keep      true: a sweep keeps the encoders that it has trained, each in a folder beside its record, for comparisons
    say       corpora from whose `test` split PaSeR's decoder is asked for the phrases of sentences drawn at random, and
              then for those of the paper's table 7; null: nothing
    examples  papers' tables of examples, to be tried with the encoder: some of `paser 6` and `universal 1`
    threads   CPU threads: the same number gives the same weights, bit for bit

A record with an `over` beside its settings is a sweep: `python -m sentlab.experiments.sweep` runs it.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from accelerate import Accelerator

from sentlab import data, methods
from sentlab.data import Corpus, DuplicateQuestion, LabelledPair, RankingQuery, ScoredPair, published, toy
from sentlab.data.rows import PhraseInContext, PhrasePair, WordPair, WordPairInContext
from sentlab.encoder import Encoder
from sentlab.encoder.vector_maps import Flow, Whitening, postprocessed
from sentlab.evaluation.inputs import encode_groups
from sentlab.evaluation.metrics import cosine_similarity
from sentlab.evaluation.mining import evaluate_mining, mining_dev
from sentlab.evaluation.probes import evaluate_identification, evaluate_relatedness
from sentlab.evaluation.retrieval import evaluate_reranking, evaluate_retrieval, nearest
from sentlab.evaluation.sts import evaluate_sts, geometry, sts_dev, watch_geometry
from sentlab.evaluation.words import evaluate_in_context, evaluate_similarity
from sentlab.experiments import records
from sentlab.methods.universal import task_rows
from sentlab.text import phrases, roles, views
from sentlab.text.phrases import Phrase
from sentlab.training import TrainConfig, fit

SENTENCES_TO_SAY, BEAMS = 500, 4  # of the sentences drawn, and of the search
SETUPS = ("spans", "full")  # unless the settings name others
# the settings that decide what an encoder scores before training
RAW = ("encoder", "dev", "test", "setups", "heads", "threads")
_measured: dict[str, Any] = {}
GEOMETRY = ("stsb", "toy-sts")  # of the test corpora, the first that is there is laid out


def run(path: Path, *, folder: Path | None = None, progress: bool = True) -> records.Record:
    """Do one run and write its record; training goes on from its last checkpoint if it was interrupted.

    Of several processes each loads, measures and trains, on a GPU of its own, and the first one writes.

    Args:
        path: the record; its `settings` say what to do.
        folder: for checkpoints; None: `runs/NAME`, beside which the trained encoder is saved.
        progress: show progress bars.
    """
    record = records.read(path)
    settings = record.settings
    folder = folder or Path("runs") / record.name
    if settings.get("threads"):
        torch.set_num_threads(settings["threads"])
    began, processes = time.monotonic(), Accelerator()  # which chooses this process's GPU
    source = settings["encoder"]["source"]
    encoder = Encoder.from_pretrained(**settings["encoder"])
    record.encoder = {"source": source, "fingerprint": weights_fingerprint(encoder), "dim": encoder.dim}
    dev = remember(record, settings["dev"], "dev")
    tests = [remember(record, name, "test") for name in settings["test"]]
    poolings = list(dict.fromkeys([encoder.pooling, *settings.get("poolings", [])]))
    raw = json.dumps([record.encoder["fingerprint"], poolings, *(settings.get(key) for key in RAW)])
    if raw not in _measured:  # every run of a sweep begins with the same encoder
        _measured[raw] = measure(encoder, poolings, dev, tests, settings)
    record.results["before"], record.geometry["before"] = copy.deepcopy(_measured[raw])
    if settings.get("method"):
        corpus = to_train_on(record)
        if settings["method"]["name"] in ("Whitening", "Flow"):
            encoder, poolings = postprocessed(encoder, bound(settings, corpus), corpus), [encoder.pooling]
        else:
            torch.manual_seed(settings["train"]["seed"])
            method = bound(settings, corpus)(encoder)
            started, config = time.monotonic(), TrainConfig(**settings["train"])
            watch = watch_geometry(dev, settings["watch"]) if settings.get("watch") else None
            history = fit(
                method,
                corpus,
                config,
                dev_score(dev, settings),
                folder=folder,
                resume=True,
                progress=progress,
                on_step=watch,
            )
            began += time.monotonic() - started - history.seconds  # which counts what came before an interruption
            record.dev, record.seen, record.kept_step = history.dev, history.seen, history.kept_step
            learned = [encoder.pooling, *(["pseudo"] if encoder.pseudo is not None else [])]
            poolings = list(dict.fromkeys([*learned, *poolings]))
            if names := settings.get("say"):
                record.said = {name: said(method, remember(record, name, "test")) for name in names}
                record.said["paper"] = said_of_the_paper(method)
        measured = measure(encoder, poolings, dev, tests, settings)
        record.results["after"], record.geometry["after"] = measured
        if processes.is_main_process:
            encoder.save(folder / "encoder")
    record.examples = {name: EXAMPLES[name](encoder) for name in settings.get("examples", ())}
    several = processes.num_processes > 1
    launch = f"accelerate launch --num_processes {processes.num_processes}" if several else "python"
    records.stamp(record, f"{launch} -m sentlab.experiments.run {path}", time.monotonic() - began)
    record.device = f"{processes.num_processes} x {record.device}" if several else record.device
    if processes.is_main_process:
        record.save(path)
    return record


def to_train_on(record: records.Record) -> Any:
    """The corpus of the setting `data`, or the rows of several tasks."""

    def corpus(named: str) -> Any:
        name, _, split = named.partition("/")
        return remember(record, name, split or "train")

    named = record.settings["data"]
    if not isinstance(named, str):
        return task_rows(**{task: corpus(name) for task, name in named.items()})
    rows = corpus(named)
    if draw := record.settings.get("draw"):
        return Random(draw["seed"]).sample(rows.rows, draw["rows"])
    return rows


def bound(settings: dict[str, Any], corpus: Any) -> Any:
    """The method of the settings: a map to be fitted, or a class that waits for its encoder."""
    arguments = dict(settings["method"])
    name, in_toy_world = arguments.pop("name"), settings.get("words", "nltk") == "toy"
    if names := arguments.pop("view", None):
        synonyms = toy.synonyms if in_toy_world else views.wordnet_synonyms
        replace: views.View = partial(views.synonym_replacement, synonyms=synonyms)
        label = toy.roles if in_toy_world else roles.label_roles
        own: dict[str, views.View] = {
            "synonym_replacement": replace,
            "srl_guided": partial(views.srl_guided, roles=label),
        }
        arguments["view"] = views.compose(*(own.get(view) or getattr(views, view) for view in names))
    if kinds := arguments.pop("phrases", None):
        tag = toy.tag if in_toy_world else None
        arguments["phrases"] = partial(phrases.chunk_phrases, kinds=tuple(kinds), tag=tag)
    if name == "Universal":
        arguments |= {"tasks": list(corpus.corpora), "paraphrases": corpus.corpora.get("pi", ())}
    if name in ("Whitening", "Flow"):
        return {"Whitening": Whitening, "Flow": Flow}[name](**arguments)
    return partial(getattr(methods, name), **arguments)


def remember(record: records.Record, name: str, split: str) -> Any:
    """Load a corpus and note in the record what it was."""
    corpus = data.load(name, split)
    source = corpus.source.replace(os.environ.get("SENTLAB_DATA") or "\0", "SENTLAB_DATA")  # no path of this machine
    about = {"rows": len(corpus), "fingerprint": corpus.fingerprint, "source": source}
    record.data[f"{name}/{split}"] = about | {"left_out": corpus.left_out}
    return corpus


def measure(
    encoder: Encoder,
    poolings: Sequence[str],
    dev: Corpus[Any],
    tests: Sequence[Corpus[Any]],
    settings: Mapping[str, Any],
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, Any]]]:
    """Scores and geometry of each pooling, as a record keeps them."""
    trained_with = encoder.pooling
    pairs = {corpus.name: corpus for corpus in tests if isinstance(corpus[0], ScoredPair)}
    laid_out = next((pairs[name] for name in GEOMETRY if name in pairs), None)
    results: dict[str, dict[str, float]] = {}
    layout: dict[str, dict[str, Any]] = {}
    for pooling in poolings:
        encoder.pooling = pooling
        found = {f"{dev.name}-dev": dev_score(dev, settings)(encoder)}
        if pairs:
            found |= evaluate_sts(encoder, list(pairs.values())).scores
        if set(data.STS_TASKS) <= found.keys():
            found["average"] = sum(found[task] for task in data.STS_TASKS) / len(data.STS_TASKS)
        for corpus in tests:
            if isinstance(corpus[0], DuplicateQuestion | RankingQuery):
                ranked = isinstance(corpus[0], RankingQuery)
                result = (evaluate_reranking if ranked else evaluate_retrieval)(encoder, corpus)
                found |= {f"{corpus.name} map": result.map, f"{corpus.name} mrr@10": result.mrr}
            if isinstance(corpus[0], WordPair | PhrasePair | WordPairInContext):
                found |= evaluate_similarity(encoder, corpus).scores
            if isinstance(corpus[0], WordPairInContext):
                found[f"{corpus.name} in context"] = evaluate_in_context(encoder, corpus).scores[corpus.name]
            if isinstance(corpus[0], LabelledPair):
                train = data.load(corpus.name, "train")
                found[corpus.name] = evaluate_identification(encoder, train, corpus).accuracy
            if isinstance(corpus[0], PhraseInContext):
                for setup in settings.get("setups", SETUPS):
                    scores = evaluate_mining(encoder, corpus, setup).table().iloc[0].dropna()
                    found |= {f"{corpus.name} {setup} {name}": float(score) for name, score in scores.items()}
        found |= {f"{name} head": evaluate_relatedness(encoder, name).spearman for name in settings.get("heads", ())}
        results[pooling] = {name: round(score, 2) for name, score in found.items()}
        if laid_out is not None:
            layout[pooling] = {"corpus": laid_out.name, **asdict(geometry(encoder, laid_out))}
    encoder.pooling = trained_with
    return results, layout


def dev_score(corpus: Corpus[Any], settings: Mapping[str, Any]) -> Callable[[Encoder], float]:
    """What chooses the step to keep: encoder -> Spearman x 100."""
    if isinstance(corpus[0], PhraseInContext):
        return mining_dev(corpus, settings.get("setups", SETUPS)[0])
    return sts_dev(corpus)


def said(method: methods.PaSeR, corpus: Corpus[Any]) -> dict[str, int]:
    """How many phrases of sentences drawn at random the decoder says word by word."""
    texts = sorted({getattr(row, fields(row)[0].name) for row in corpus})  # the first text of each row
    drawn = Random(0).sample(texts, min(SENTENCES_TO_SAY, len(texts)))
    batches = [drawn[i : i + 50] for i in range(0, len(drawn), 50)]
    pairs = [pair for rows in batches for found in method.reconstruct(rows, beams=BEAMS) for pair in found]
    tokenizer = method.encoder.tokenizer
    asked = [tokenizer(phrase.text, add_special_tokens=False)["input_ids"] for phrase, _ in pairs]
    right = sum(tokenizer.decode(ids) == words for ids, (_, words) in zip(asked, pairs, strict=True))
    return {"sentences": len(drawn), "phrases": len(pairs), "exact": right, "beams": BEAMS}


def said_of_the_paper(method: methods.PaSeR) -> list[dict[str, str]]:
    """What the decoder says of the sentences of the paper's table 7, masked as there."""
    found = []
    for sentence, row in published.table("paser", 7).iterrows():
        before, after = re.split("_[_ ]*_|_", row["masked version"])  # the paper has a mask a token: "At _ _ _ dead"
        phrase = Phrase(sentence[len(before) : sentence.index(after)], len(before), sentence.index(after), 0.0)
        ((_, words),) = method.reconstruct([sentence], [[phrase]], beams=BEAMS)[0]
        found.append({"sentence": sentence, "masked": phrase.text, "said": words})
    return found


def retrieved(encoder: Encoder) -> dict[str, list[str]]:
    """For each query of PaSeR's table 6, its three nearest among all the questions that the table holds."""
    table = published.table("paser", 6)
    texts = sorted({text for column in table for text in table[column]})
    found = nearest(encoder, table.index.unique(), texts)["text"]
    return {query: list(rows) for query, rows in found.groupby(level="query", sort=False)}


def compared(encoder: Encoder) -> list[float]:
    """The cosine of each pair of phrases in Universal's table 1, in its order."""
    pairs = published.table("universal", 1)["paraphrase"]
    u, v = encode_groups(encoder, list(pairs.index), list(pairs))
    return [round(float(cosine), 4) for cosine in cosine_similarity(u, v)]


EXAMPLES: dict[str, Callable[[Encoder], Any]] = {"paser 6": retrieved, "universal 1": compared}


def weights_fingerprint(encoder: Encoder) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the backbone's weights."""
    digest = hashlib.sha256()
    for name, value in sorted(encoder.backbone.state_dict().items()):
        digest.update(name.encode() + value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sentlab.experiments.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("records", nargs="+", type=Path, help="records to run")
    parser.add_argument("--again", action="store_true", help="also those that hold results already")
    asked = parser.parse_args()
    for path in asked.records:
        record = records.read(path)
        if record.over:
            parser.error(f"{path} is a sweep: python -m sentlab.experiments.sweep {path}")
        if asked.again or not record.done:
            record = run(path)
            if not Accelerator().is_main_process:
                continue
            for when, table in record.results.items():
                for pooling, row in table.items():
                    print(f"{record.name} {when} {pooling}: {row}")


if __name__ == "__main__":
    main()
